#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --spares=N: nodes that the job holds and no rank runs on, N in each supernode
# used; the ranks are those of the layout, on the other nodes.
. "$(dirname "$0")/lib.sh"
. "$TESTS/where.sh"
# The node table interleaves supernodes: n001 is in a, n002 in b, n003 in c.
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001,004,007,010]
	SupernodeName=b Nodes=n[002,005,008,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
CL_NODES=12 CL_TOPOLOGY=$TOPO CL_CARDS=4
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1 DefMemPerCPU=10
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF DefMemPerCPU=10
PartitionName=few Nodes=ALL DefMemPerCPU=10 MaxNodes=4
PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE DefMemPerCPU=10"
start_cluster
rm -f "$TOPO"

nodes_held() # JOB: "n001:4 n002:4 …"
{
	cards_of "$1" | awk '{ n[$1]++ } END { for (i in n) print i ":" n[i] }' | sort | tr '\n' ' ' | sed 's/ $//'
}

nodes_used() # JOB: where its ranks say they are
{
	cards_said "$1" | awk '{ n[$1]++ } END { for (i in n) print i ":" n[i] }' | sort | tr '\n' ' ' | sed 's/ $//'
}

engine() # ARGUMENT…: nodes with ranks, spares, as snctl place has them
{
	snctl place --config "$CL_DIR/etc/topology.conf" --cards "$CL_CARDS" "$@" --json |
		sed -E 's/.*"ranks": \[(.*)\], "spares": \[(.*)\], "score".*/\1\n\2/' |
		while read -r list; do
			grep -oE '"n[0-9]+"' <<<"$list" | tr -d '"' | sort | uniq -c | awk '{ printf "%s%s:%s", n++ ? " " : "", $2, $1 } END { print "" }'
		done
}

no_doubles()
{
	is "$1" "$(cat "$WORK"/*.out | grep -c DOUBLE)" 0
}

# ---- placed ---------------------------------------------------------------------

id=$(submit_held --parallel=tp=4,dp=3 --spares=1)
ok "a job with a spare runs its ranks" await_ranks "$id"
ok "in the layout's order" check_ranks "$id" tp=4,dp=3
is "it holds the engine's nodes and its spare" "$(nodes_held "$id")" \
	"$(engine --parallel tp=4,dp=3 --spares 1 | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ *//;s/ $//')"
is "the ranks are on the others" "$(nodes_used "$id")" "$(engine --parallel tp=4,dp=3 --spares 1 | head -n 1)"
is "one supernode, all of it" "$(spots "$id")" "a:4"
show=$(scontrol -o show job "$id")
# Cards are accounted by slurmdbd alone.
like "the spare is accounted" "$show" 'AllocTRES=cpu=16,mem=160M,node=4,'
like "it is 12 tasks" "$show" ' NumTasks=12 '
like "the record names the option" "$show" 'AdminComment=supernode:parallel=[^ ]*;spares=1'
rest=$(SN_STEP=no submit -N1 -w n010 --gres=npu:1 "$TESTS/held.sh")
until_true 20 eval '[ "$(reason_of "$rest")" != None ]'
like "nobody else gets the spare's cards" "$(state_of "$rest") $(reason_of "$rest")" '^PENDING'
like "snctl counts the cards" "$(snctl show jobs | grep "^ *$id ")" ' 16 +4 +1 +1 +tp=4,'
like "snctl map shows the spare" "$(snctl map)" '^a +AAAA AAAA AAAA ~~~~$'
like "and names it in JSON" "$(snctl map --json)" '"spares":\["n010"\]'
release "$id"
ok "until the job ends" await "$rest" RUNNING
vacate "$rest"

# Three supernodes, a spare in each.
id=$(submit_held --parallel=tp=4,ep=3,etp=4,dp=9 --spares=1)
ok "three atoms of three nodes run" await_ranks "$id"
ok "whole" check_ranks "$id" tp=4,ep=3,etp=4,dp=9
is "with a spare in each supernode" "$(spots "$id")" "a:4 b:4 c:4"
is "which has no rank" "$(cards_said "$id" | cut -d' ' -f1 | sort -u | tr '\n' ' ')" \
	"n001 n002 n003 n004 n005 n006 n007 n008 n009 "
vacate "$id"

# Busy cards: a spare needs as many as the fullest node with ranks has.
busy=$(SN_STEP=no submit -N2 -w n001,n010 --gres=npu:2 "$TESTS/held.sh")
ok "two cards of two nodes are busy" await "$busy" RUNNING
id=$(submit_held -x "$(nodes_in b | paste -sd,),$(nodes_in c | paste -sd,)" --parallel=tp=2,dp=3 --spares=1)
ok "a job around busy cards runs" await_ranks "$id"
ok "whole" check_ranks "$id" tp=2,dp=3
is "its fullest node has a stand-in" "$(nodes_held "$id")" "n001:2 n004:4 n007:4"
is "and runs ranks" "$(nodes_used "$id" | tr ' ' '\n' | cut -d: -f2 | sort | tr '\n' ' ')" "2 4 "
is "its cards are Slurm's" "$(comm -13 <(cards_of "$id") <(cards_said "$id"))" ""
vacate "$id" "$busy"
no_doubles "no card had two ranks"

# ---- how ranks are started ----------------------------------------------------------

cat >each.sh <<-'END'
	#!/bin/bash
	srun "$SN_TASK" >"$SN_LOCKS/../plain" 2>&1
	srun -n 12 "$SN_TASK" >"$SN_LOCKS/../ntasks" 2>&1
	srun -N 3 -n 12 "$SN_TASK" >"$SN_LOCKS/../nodes" 2>&1
	srun -N 4 -n 12 "$SN_TASK" >"$SN_LOCKS/../all" 2>&1
	srun -m cyclic "$SN_TASK" >"$SN_LOCKS/../cyclic" 2>&1
	srun -N 4 -n 4 --ntasks-per-node=1 hostname >"$SN_LOCKS/../helper" 2>&1
	srun bash -c 'echo "$SLURM_PROCID $MASTER_ADDR $GROUP_RANK $GROUP_WORLD_SIZE $TP_RANK $SUPERNODE_COUNT"' | sort -n
	env
END
id=$(submit -W --parallel=tp=4,dp=3 --spares=1 each.sh | tail -n 1)
for way in plain ntasks nodes; do
	ok "srun ($way) starts the layout's ranks" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" \
		--cards "$CL_CARDS" --parallel tp=4,dp=3 "$way"
	is "srun ($way): none on the spare" "$(grep -c n010 "$way")" 0
done
for way in all cyclic; do
	like "srun ($way) would use the spare, and does not run" "$(cat "$way")" 'spare.*snrun'
	is "srun ($way): not one task" "$(grep -c '^rank ' "$way")" 0
done
is "a helper may run on every node" "$(sort -u helper | wc -l)" 4
is "ranks know where they are" "$(grep -E '^[0-9]+ n[0-9]+ ' "$WORK/$id.out" | sed -n '1p;5p;12p')" \
	"0 n001 0 3 0 1
4 n001 1 3 0 1
11 n001 2 3 3 1"
like "the script knows the tasks" "$(cat "$WORK/$id.out")" '^SLURM_NTASKS=12$'

timeout 60 salloc -Q --parallel=tp=4,dp=3 --spares=1 srun "$SN_TASK" >salloc.out 2>&1
ok "srun in salloc's shell" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" \
	--cards "$CL_CARDS" --parallel tp=4,dp=3 salloc.out
is "none on the spare" "$(grep -c n010 salloc.out)" 0
like "an srun that allocates is refused, with the way out" \
	"$(timeout 60 srun --parallel=tp=4 --spares=1 true 2>&1)" 'sbatch or salloc'

# ---- what cannot be -------------------------------------------------------------------

refused "spares that no supernode has room for" 'spare' --parallel=tp=4,ep=4,etp=4,dp=4 --spares=1
refused "spares in a heterogeneous job" 'heterogeneous' --parallel=tp=4 --spares=1 : --parallel=tp=4
refused "more spares than nodes" 'spare' --parallel=tp=4 --spares=4
like "but three" "$(try --parallel=tp=4 --spares=3)" '^a:4$'
like "-N counts nodes with ranks" "$(try -N 3 --parallel=tp=2,dp=4 --spares=1)" '^a:4$'
like "a partition's MaxNodes counts all" "$(try -p few --parallel=tp=4,dp=3 --spares=1)" '^a:4$'
like "whole nodes" "$(try -p whole --parallel=tp=4,dp=2 --spares=1)" '^a:3$'
like "test-only finds a place" "$(sbatch --test-only --parallel=tp=4,dp=3 --spares=1 "$TESTS/held.sh" 2>&1)" \
	'to start at .* on nodes n\[001,004,007,010\]'

# What Slurm gives is what the engine chooses, whatever is busy.
state_now() # JOB: without it
{
	local sep=
	printf '{"nodes": {'
	for node in "${CL_NAME[@]}"; do
		busy=$(cards_of "$1" | sed -n "s/^$node //p")
		printf '%s"%s": {"free_cards": [%s]}' "$sep" "$node" \
			"$(seq 0 $((CL_CARDS - 1)) | grep -vxF "${busy:-none}" | paste -sd,)"
		sep=,
	done
	echo '}}'
}

RANDOM=${SN_SEED:-67}
LAYOUTS=(tp=1,dp=5 tp=2,dp=3 tp=2,ep=2,etp=2,dp=4 tp=4,dp=4 tp=4,ep=2,etp=4,dp=4 tp=1,ep=7,dp=14 tp=8,dp=2)
for ((i = 0; i < 6; i++)); do
	list=$(printf '%s\n' "${CL_NAME[@]}" | awk -v seed=$RANDOM 'BEGIN { srand(seed) } rand() < 0.4' | paste -sd,)
	list=${list:-n001}
	hold=$(SN_STEP=no submit -w "$list" -N "$(echo "$list" | tr , '\n' | wc -l)" --gres=npu:$((1 + RANDOM % 3)) "$TESTS/held.sh")
	await "$hold" RUNNING >/dev/null || break
	layout=${LAYOUTS[RANDOM % 7]} spares=$((1 + RANDOM % 2))
	state_now "$hold" >state.json
	want=$(engine --state state.json --parallel "$layout" --spares $spares)
	id=$(SN_STEP=no submit "--parallel=$layout" --spares=$spares "$TESTS/held.sh")
	if [ -n "$want" ]; then
		await "$id" RUNNING >/dev/null
	else
		until_true 20 eval '[ "$(reason_of "$id")" != None ]'
	fi
	is "$layout with $spares beside $list: as the engine says" "$(nodes_held "$id")" \
		"$(tr ' ' '\n' <<<"$want" | grep . | sort | tr '\n' ' ' | sed 's/ $//')"
	vacate "$id" "$hold"
done

# One whose spare is busy waits, and snctl says for what.
occupy a=1 b=1 c=1
waits "without a free spare it waits" --parallel=tp=4,ep=3,etp=4,dp=3 --spares=1
text=$(snctl why "$WAITING")
like "snctl why names the spares" "$text" 'with 1 spare node in each'
like "and what is short" "$text" 'Now: it does not fit: .*spare'
like "and that it will fit" "$text" 'Later: (at .* when|when running jobs end)'
ok "its nodes can be bounded" scontrol update JobId="$WAITING" NumNodes=3
like "which counts those with ranks" "$(scontrol -o show job "$WAITING")" ' NumNodes=[34]-4 '
like "and are less than asked for" "$(scontrol update JobId="$WAITING" NumNodes=2 2>&1)" 'contradicts'
scancel "$BUSY"
ok "when there is one it runs" await "$WAITING" RUNNING
is "with the spare" "$(spots "$WAITING")" "a:4"
vacate "$WAITING"

# A new layout for one that waits.
id=$(submit_held -H --parallel=tp=4,dp=1 --spares=1)
ok "a waiting job takes another layout" scontrol update JobId="$id" Comment=--parallel=tp=4,dp=3
scontrol release "$id"
ok "and runs it" await_ranks "$id"
ok "whole" check_ranks "$id" tp=4,dp=3
is "with its spare" "$(spots "$id")" "a:4"
vacate "$id"

# ---- preemption ------------------------------------------------------------------------

low=$(SN_STEP=no submit -p low -w n007 --gres=npu:1 "$TESTS/held.sh")
other=$(SN_STEP=no submit -p low -w n002 --gres=npu:1 "$TESTS/held.sh")
ok "a job that may be preempted" await "$low" RUNNING
ok "and another" await "$other" RUNNING
id=$(submit_held -p high -x "$(nodes_in b | paste -sd,),$(nodes_in c | paste -sd,)" --parallel=tp=4,dp=3 --spares=1)
ok "one goes for a spare" await_ranks "$id"
is "the job is whole" "$(spots "$id")" "a:4"
is "the other stays" "$(state_of "$other")" RUNNING
vacate "$id" "$low" "$other"

# ---- requeued ---------------------------------------------------------------------------

id=$(submit_held --parallel=tp=4,dp=3 --spares=1)
ok "a job to requeue" await_ranks "$id"
: >"$WORK/$id.out"
requeue "$id"
ok "it runs again" await_ranks "$id"
ok "whole" check_ranks "$id" tp=4,dp=3
is "with its spare" "$(spots "$id")" "a:4"
like "as 12 tasks" "$(scontrol -o show job "$id")" ' NumTasks=12 .*AllocTRES=cpu=16,'
vacate "$id"

# ---- nodes that are lost ------------------------------------------------------------------

. "$TESTS/live.sh"
lost() # NAME
{
	nodes_down "$1"
	scontrol update NodeName="$1" State=DOWN Reason=test
}

step_is_whole() # WHAT K LAYOUT NODES
{
	next_step "$STEPPED" "$2" >/dev/null
	ok "$1" check_step "$STEPPED" "$2" "$3"
	is "$1, on its nodes" "$(sed -nE 's/^rank [0-9]+ node ([^ ]+) .*/\1/p' "$WORK/$STEPPED-$2.step" | sort -u | tr '\n' ' ')" "$4"
}

stepped --parallel=tp=4,dp=2 --spares=2 || bail "a job that will lose nodes runs"
is "two nodes, two spares" "$(spots "$STEPPED")" "a:4"
ok "slurmctld saves its state" state_saved "$STEPPED"
held=$(cards_of "$STEPPED")
ctld_kill
ok "a new slurmctld" ctld_up
until_true 30 nodes_idle
is "knows the cards" "$(cards_of "$STEPPED")" "$held"
like "and the tasks" "$(scontrol -o show job "$STEPPED")" ' NumTasks=8 '
lost n010
ok "a lost spare leaves it running" state_is "$STEPPED" RUNNING
step_is_whole "the next step is as before" 1 tp=4,dp=2 "n001 n004 "
lost n004
ok "a lost node with ranks, too" state_is "$STEPPED" RUNNING
step_is_whole "a spare stands in" 2 tp=4,dp=2 "n001 n007 "
lost n007
ok "and the last spare" state_is "$STEPPED" RUNNING
next_step "$STEPPED" 3 >/dev/null
like "then it says what is missing" "$(cat "$WORK/$STEPPED-3.step")" 'nodes that the job has left cannot run its 8 ranks'
is "and runs nothing" "$(grep -c '^rank ' "$WORK/$STEPPED-3.step")" 0
release "$STEPPED"
ok "it ends" await "$STEPPED" COMPLETED
LOG_ALLOW='Removing failed node n0(04|07|10) from JobId'
finish
