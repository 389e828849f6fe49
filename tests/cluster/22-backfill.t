#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Start times that backfill foretells: by what a supernode has free then, and how many
# of them come true (SN_BACKFILL=50 for a long run, with many jobs of all kinds).
# A minute is Slurm's shortest time, so what is to come true waits on nodes of its own
# while the rest is tested.
. "$(dirname "$0")/lib.sh"
CL_NODES=20 CL_PER=4 CL_PODS=0 CL_UNIT=0
N=${SN_BACKFILL:-0}
# All of a long run's jobs are looked at when the last one has started.
CL_EXTRA="MinJobAge=86400
PartitionName=early Nodes=n[001-012] DefMemPerCPU=10
PartitionName=late Nodes=n[013-020] DefMemPerCPU=10"
export SBATCH_PARTITION=early
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=sn1 Nodes=n[001,004,007,010] PoolMemory=1T
	SupernodeName=sn2 Nodes=n[002,005,008,011] PoolMemory=1T
	SupernodeName=sn3 Nodes=n[003,006,009,012] PoolMemory=1T
	SupernodeName=sn[4-5] Nodes=n[013-020] NodesPerSupernode=4
END
CL_POLICY=PoolProvider=none # pools far larger than these nodes
start_cluster
rm -f "$CL_TOPOLOGY"
SN3=n003,n006,n009,n012

# hold NODES CARDS MINUTES: prints the job's number
hold()
{
	local n=${1//[!,]/}

	SN_STEP=no submit -w "$1" -N $((${#n} + 1)) "--gres=npu:$2" --time="$3" "$TESTS/held.sh"
}

none_waits() # [PARTITION]
{
	[ -z "$(squeue -h -t PENDING -p "${1:-early}")" ]
}

no_jobs()
{
	[ -z "$(squeue -h -p early)" ]
}

time_of() # JOB StartTime|EndTime: seconds, or nothing
{
	local t

	t=$(scontrol -o show job "$1" | sed -n "s/.* $2=\([0-9][^ ]*\).*/\1/p")
	[ -z "$t" ] || date -d "$t" +%s
}

is_foretold()
{
	local id

	for id; do
		[ "$(state_of "$id")" != PENDING ] || [ -n "$(time_of "$id" StartTime)" ] || return 1
	done
}

# When a job is foretold to start: with the end of BLOCKER (and so many seconds),
# and not long after.
starts_after() # WHAT JOB BLOCKER [SECONDS]
{
	local start end

	start=$(time_of "$2" StartTime) end=$(($(time_of "$3" EndTime) + ${4:-0}))
	if [ "${start:-0}" -ge "${end:-1}" ] && [ "$start" -le $((end + 90)) ]; then
		pass "$1"
	else
		fail "$1" "foretold $start, the job it waits for ends $end ($((${start:-0} - ${end:-0})))"
	fi
}

# late ARGUMENT…: a job that takes nearly the minute that it says
late()
{
	submit -p late --time=1 "$@" --wrap='exec sleep 56'
}
late -w n013,n014,n015,n016 -N4 --gres=npu:8 >/dev/null

# Halves of sn1 and sn2 are free after 10 minutes, but a supernode after 20 (sn3),
# and the next one after 30 (sn1).
a=$(hold n001,n004 8 10)
b=$(hold n007,n010 8 30)
c=$(hold n002,n005 8 10)
d=$(hold n008,n011 8 40)
e=$(hold $SN3 8 20)
ok "all nodes are busy" until_true 60 none_waits
p1=$(submit --parallel=ep=32,dp=32 --time=60 "$TESTS/held.sh")
p2=$(submit -N4 --segment=4 --gres=npu:8 --time=60 "$TESTS/held.sh")
p3=$(submit --parallel=ep=32,dp=32 --time=60 "$TESTS/held.sh")
p4=$(submit --parallel=ep=16,dp=16 --time=5 "$TESTS/held.sh")
p5=$(submit -N3 --gres=npu:8 --time=5 "$TESTS/held.sh")
ok "five jobs know when they start" until_true 90 is_foretold "$p1" "$p2" "$p3" "$p4" "$p5"
starts_after "--parallel: when the first whole supernode is free" "$p1" "$e"
starts_after "--segment: with the next one" "$p2" "$b"
starts_after "--parallel again: with the last" "$p3" "$d"
starts_after "a small one fills a gap of the right size" "$p4" "$a"
starts_after "a plain job, in the nodes that the small one leaves" "$p5" "$a" 300
# Not before the last of the long ones has ended.
says=$(sbatch --test-only --parallel=ep=32,dp=96 --time=5 "$TESTS/held.sh" 2>&1 | sed -n 's/.* to start at \([^ ]*\).*/\1/p')
ok "--test-only says so too" test "$(date -d "${says:-1970-01-01}" +%s)" -ge "$(time_of "$d" EndTime)"
held=$(for p in $p1 $p2 $p3 $p4 $p5; do
	scontrol -o show job "$p" | grep -E ' Priority=0 |Reason=(JobHeld|BadConstraints)'
done)
is "none is held" "$held" ""
# Half a minute after the others.
late -w n017,n018,n019,n020 -N4 --gres=npu:8 >/dev/null
scancel -p early -u root
ok "an empty cluster" until_true 60 no_jobs

# ---- the pool ------------------------------------------------------------------

# Cards are free everywhere, the pool of no supernode is before 20 minutes.
pooled() # NODE MINUTES
{
	SN_STEP=no submit --parallel=ep=8,dp=8 --pool=800G -w "$1" --time="$2" "$TESTS/held.sh"
}
a=$(pooled n001 30)
b=$(pooled n002 20)
c=$(pooled n003 40)
ok "three jobs with most of the pools" until_true 60 none_waits
p1=$(SN_STEP=no submit --parallel=ep=8,dp=8 --pool=500G --time=5 "$TESTS/held.sh")
ok "one that wants more than is left knows when it starts" until_true 90 is_foretold "$p1"
starts_after "when the first of them ends" "$p1" "$b"
p2=$(SN_STEP=no submit --parallel=ep=8,dp=8 --pool=200G --time=5 "$TESTS/held.sh")
ok "what is left is enough for another" await "$p2" RUNNING
release "$c"
ok "the first starts once a pool is free" await "$p1" RUNNING
ok "the other nodes are busy, too" none_waits late
# They fill the two supernodes, but for the last.
for what in "--parallel=ep=32,dp=32" "-N2 --segment=2 --gres=npu:8" "--parallel=ep=16,dp=16" "-N1 --gres=npu:8"; do
	# shellcheck disable=SC2086 # words
	id=$(late $what) && ids="${ids:-}${ids:+ }$id"
	WHAT[id]=$what
done
scancel -p early -u root
ok "an empty cluster after pools" until_true 60 no_jobs

# ---- do they come true? ----------------------------------------------------------

# Jobs that run for their whole time; what does not fit waits.
RANDOM=${SN_SEED:-1}
one_of()
{
	local i=$((RANDOM % $#))

	eval "echo \"\${$((i + 1))}\""
}
if [ "$N" -gt 0 ]; then
	for nodes in n001,n004 n007,n010 n002,n005 n008,n011 n003,n006 n009,n012; do
		hold "$nodes" 8 "$(one_of 1 2)" >/dev/null
	done
	ok "all nodes are busy again" until_true 60 none_waits
	for ((i = 0; i < N; i++)); do
		what=$(one_of "--parallel=ep=32,dp=32" "--parallel=ep=16,dp=16" "--parallel=tp=4,ep=8,etp=1,dp=4" \
			"-N2 --segment=2 --gres=npu:8" "-N2 --gres=npu:8" "-N1 --gres=npu:4")
		# shellcheck disable=SC2086 # words
		id=$(SN_STEP=no submit $what --time=1 "$TESTS/held.sh") && ids="$ids $id"
		WHAT[id]=$what
	done
fi
# The last waits for the second minute, or for a node of the first; that it is told is enough.
# shellcheck disable=SC2086
ok "those that wait know when they start" until_true 120 is_foretold $ids
if [ "$N" = 0 ]; then
	set -- $ids
	ok "and the fourth, which has no room with them, a minute later" \
		test "$(time_of "$4" StartTime)" -ge $(($(time_of "$3" StartTime) + 30))
	scancel "$4"
	ids="$1 $2 $3"
fi
set -- $ids
for id in $ids; do
	FORETOLD[id]=$(time_of "$id" StartTime)
done
all_started()
{
	none_waits && none_waits late
}
until_true $((120 + N * 60)) all_started
true_ones=0 early=0
for id in $ids; do
	start=$(time_of "$id" StartTime)
	late=$((${start:-0} - FORETOLD[id]))
	# Slurm ends jobs up to half a minute after their time, and starts the
	# next ones in rounds.
	if [ "$late" -ge -60 ] && [ "$late" -le 90 ]; then
		true_ones=$((true_ones + 1))
	else
		[ "$late" -ge -60 ] || early=$((early + 1))
		diag "job $id (${WHAT[id]}): $late s after its time; on $(scontrol -o show job "$id" | sed -n 's/.* NodeList=\([^ ]*\).*/\1/p')"
	fi
done
diag "$true_ones of $# start times came true, $early jobs were earlier, $(($# - true_ones - early)) later"
ok "most of $# came true" test $((true_ones * 4)) -ge $(($# * 3))
scancel -u root
until_true 60 no_jobs
finish
