# SPDX-License-Identifier: GPL-2.0-or-later
# resize.sh - for tests of jobs that change their size: what an uninterrupted run
# over the same sequence of sizes ends in. Sourced after train.sh.

# layout_of_dp LAYOUT DP: the same with another dp
layout_of_dp()
{
	printf '%s\n' "$1" | sed -E "s/(^|,)dp=[0-9]+/\1dp=$2/"
}

world_of() # LAYOUT: tp·cp·pp·dp
{
	printf '%s\n' "$1" | tr , '\n' | awk -F= '$1 ~ /^(tp|cp|pp|dp)$/ { if (!w) w = 1; w *= $2 } END { print w }'
}

# sizes_of JOB LAYOUT: from which step on it had which dp, as "STEP DP" lines, by
# what rank 0 of each generation says. What was trained and not kept does not count.
sizes_of()
{
	sed -nE 's/^generation [0-9]+: ([0-9]+) ranks begin after step ([0-9]+) of [0-9]+$/\2 \1/p' "$WORK/$1.out" |
		awk -v one="$(world_of "$(layout_of_dp "$2" 1)")" '
			{ while (n && step[n] >= $1) n--; if (!n || world[n] != $2) { n++; step[n] = $1; world[n] = $2 } }
			END { for (i = 1; i <= n; i++) print step[i], world[i] / one }'
}

# One run of processes of this host, to its end.
run_here() # STATE LAYOUT STEPS
{
	local state=$1 layout=$2 steps=$3 world port r pid rc=0
	local -a pids=()

	world=$(world_of "$layout")
	port=$("$SNTRAIN" --free-port)
	for ((r = 0; r < world; r++)); do
		env -u SUPERNODE_JOB_DIR RANK=$r WORLD_SIZE="$world" LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" \
			"$SNTRAIN" --elastic --state-dir "$state" --steps "$steps" --checkpoint-every "$steps" \
			--meet 60 --parallel "$layout" >>"$state.log" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=1
	done
	return $rc
}

# The end state of a run that has the sizes of standard input ("STEP DP" lines) one
# after the other.
right_state() # NAME LAYOUT
{
	local name=$1 layout=$2 step dp next='' last=''

	mkdir -p "$WORK/$name"
	while read -r step dp; do
		[ -z "$last" ] || [ "$step" = 0 ] || run_here "$WORK/$name" "$(layout_of_dp "$layout" "$last")" "$step" || return 1
		last=$dp next=$step
	done
	: "$next"
	run_here "$WORK/$name" "$(layout_of_dp "$layout" "$last")" "$STEPS" || return 1
	final "$name"
}

# same_end JOB NAME LAYOUT: the job's end state is that of its sequence of sizes
same_end()
{
	sizes_of "$1" "$3" >"$2.sizes"
	diag "job $1 had the sizes $(awk '{ printf "%sdp=%d from step %d", (NR > 1 ? ", " : ""), $2, $1 + 1 }' "$2.sizes")"
	is "job $1 ends as an uninterrupted run of these sizes" "$(final "$2")" "$(right_state "$2-right" "$3" <"$2.sizes")"
}

# What a job's files say must be whole: each rank once, each card once, ranks of a
# node and nodes of a supernode together.
plan_is_whole() # JOB DP
{
	python3 - "$WORK/jobs/$1" "$2" <<'PY'
import json, sys, itertools
d, dp = sys.argv[1], int(sys.argv[2])
plan = json.load(open(d + "/layout.json"))
groups = json.load(open(d + "/groups.json"))
world = plan["layout"]["world"]
assert plan["layout"]["dp"] == dp, plan["layout"]
ranks = [tuple(r) for r in plan["ranks"]]
assert len(ranks) == world == groups["world"], (len(ranks), world)
assert len(set(ranks)) == world, "a card has two ranks"
assert open(d + "/hostfile").read().split() == [n for n, c in ranks]
assert int(open(d + "/generation").read()) == plan["generation"]
for kind, lists in groups["groups"].items():
    if kind in ("tp", "dp", "pp"):
        assert sorted(itertools.chain(*lists)) == list(range(world)), kind
atom = plan["atom"]["ranks"]
for a in range(0, world, atom):
    assert len(set(plan["supernodes"][a:a + atom])) == 1, "an atom is split"
for of in (plan["supernodes"], [n for n, c in ranks]):
    runs = [k for k, g in itertools.groupby(of)]
    assert len(runs) == len(set(runs)), "ranks are interleaved"
PY
}
