#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl why is true: what it says fits starts when it is let go, what it says
# does not fit waits, the smaller job that it names starts, and one more does
# not.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=14 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA='PartitionName=right Nodes=n[002,005,008,011] DefMemPerCPU=10'
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=a Nodes=n[001,004,007,010] SpareNodes=1 PoolMemory=1T
	SupernodeName=b Nodes=n[002,005,008,011] PoolMemory=4T
	SupernodeName=c Nodes=n[003,006,009,012] PoolMemory=4T
END
CL_POLICY=PoolProvider=none # pools far larger than these nodes
start_cluster
rm -f "$CL_TOPOLOGY"
command -v snctl >/dev/null || skip_all "snctl is not built"
export SN_STEP=no

why() # JOB KEY: a value of the job's answer
{
	snctl why "$1" --json | sed -nE "s/.*\"$2\": ?(\"[^\"]*\"|\{[^}]*\}|[^,{}]*)[,}].*/\1/p" | tr -d '"'
}

# what WHAT yes|no ARGUMENT…: why's word of such a job, and slurmctld's. $JOB is
# it (if it waits), $TEXT what why said.
what()
{
	local what=$1 want=$2 said
	shift 2

	JOB=$(submit --hold --time=10 "$@" "$TESTS/held.sh") || { fail "$what" "$JOB"; return; }
	TEXT=$(snctl why "$JOB")
	said=$(why "$JOB" fits_now)
	is "why: $what" "$said" "$([ "$want" = yes ] && echo true || echo false)"
	scontrol release "$JOB"
	if [ "$want" = yes ]; then
		ok "so it is: $what" await "$JOB" RUNNING
		vacate "$JOB"
	else
		until_true 30 eval '[[ $(reason_of "$JOB") =~ ^(Resources|ReqNodeNotAvail.*|Reservation)$ ]]'
		like "so it is: $what" "$(state_of "$JOB") $(reason_of "$JOB")" '^PENDING (Resources|ReqNodeNotAvail.*|Reservation)$'
		scancel "$JOB"
	fi
}

# Two nodes of a, one of b and four cards of another of b are busy.
occupy a=2 b=1
first=$BUSY
second=$(submit --time=30 -w n005 --parallel=tp=4,dp=1 "$TESTS/held.sh")
ok "some nodes are busy" await "$second" RUNNING

# --parallel. a keeps one of its two free nodes; b has 4 + 16 cards, c 32, and
# 8 each of the loose nodes.
what "an atom of 32 in c" yes --parallel=tp=8,ep=32,etp=1,dp=4
what "two of 32" no --parallel=tp=8,ep=32,etp=1,dp=8
like "one would fit" "$TEXT" 'Smaller: dp=4 would fit now, of dp=8'
like "a: a spare kept, two busy" "$TEXT" '^a +16 +8 +8 +0 +24 +2 busy, 1 kept spare'
like "b: 20 cards, 16 in nodes of 8" "$TEXT" '^b +20 +16 +0 +0 +16 +1 busy, 1 short of cards'
like "c: room for one" "$TEXT" '^c +32 +32 +0 +1 +32 '
like "when the first job, which has no limit, ends" "$TEXT" 'Later: when running jobs end that have no time limit'
what "all that is free in nodes of 8" yes --parallel=tp=8,dp=9
what "one node more would be the spare" no --parallel=tp=8,dp=10
is "the largest dp" "$(sed -n 's/^Smaller: dp=\([0-9]*\) .*/\1/p' <<<"$TEXT")" 9
what "more whole nodes" no --exclusive --parallel=tp=8,dp=10
what "ranks of many CPUs, two atoms" no -c16 --parallel=tp=4,ep=16,etp=1,dp=8
like "c is short of CPUs" "$TEXT" '^c +32 +16 +0 +1 +16 +4 short of CPUs'
what "memory for 4 of them, twice" no --mem-per-cpu=600 --parallel=tp=4,ep=16,etp=1,dp=8
like "c is short of memory" "$TEXT" '^c +32 +16 +0 +1 +16 +4 short of memory'
what "-x takes c away" no -x n003 --parallel=tp=8,ep=32,etp=1,dp=4
like "one is excluded" "$TEXT" '^c .* 1 excluded'
what "-w where there is none" no -w n001 --parallel=tp=8,dp=2
what "partition right has 20 cards" no -p right --parallel=tp=4,ep=24,etp=1,dp=6
what "and 20 fit" yes -p right --parallel=tp=4,ep=20,etp=1,dp=5
what "a range of nodes" yes -N4-6 --parallel=tp=4,dp=8
what "one of two partitions" yes -p right,main --parallel=tp=8,ep=32,etp=1,dp=4

# The pool.
third=$(submit --time=20 -w n003 --pool=3T --parallel=tp=8,dp=1 "$TESTS/held.sh")
ok "a job has 3 of the 4T in c" await "$third" RUNNING
what "2T in c" no --pool=2T --parallel=tp=8,ep=24,etp=1,dp=3
like "the pool of c" "$TEXT" '^c .*pool 1T free'
like "when that job is at its limit" "$TEXT" "Later: at $(scontrol -o show job "$third" | sed -n 's/.* EndTime=\([^ ]*\).*/\1/p')"
vacate "$third"

# Segments and plain jobs.
what "two segments of 3" yes -N6 --segment=3
what "three segments of 3" no -N9 --segment=3
like "two of them could be" "$TEXT" 'takes 3 segments of 3 nodes, and there is room for 2'
like "that is 6 nodes" "$TEXT" 'Smaller: 6 nodes'
like "a has one node that is not a spare" "$TEXT" '^a +4 +1 +0 +2 busy, 1 kept spare'
what "nodes" yes -N9 --exclusive
what "one node more" no -N10 --exclusive
like "9 are usable" "$TEXT" 'takes 10 nodes, and 9 are usable'
like "and 9 would fit" "$TEXT" 'Smaller: 9 nodes'
what "on one more" no -N10 --gres=npu:8
like "b has 2 of 4" "$TEXT" '^b +4 +2 .*1 busy, 1 short of cards'
what "with more than one has left" no -N10 --mem=3990
like "n005 is short of memory" "$TEXT" '^b .*1 short of memory'
what "tasks" yes -n636
what "tasks, one too many" no -n637
# 26.05 has counted at submission how many nodes so many tasks need, and keeps to it.
if [[ $TEXT == *"wants 10 to 637 nodes"* ]]; then
	like "room for 9 of 10 nodes" "$TEXT" '10 atoms .* room for 9'
else
	is "the most tasks" "$(sed -n 's/^Smaller: \([0-9]*\) tasks .*/\1/p' <<<"$TEXT")" 636
fi

# A reservation of others. Not nobody's: 26.05 takes that user for none.
scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=daemon Nodes=n003 >/dev/null
what "a node of c is reserved" no --parallel=tp=8,ep=32,etp=1,dp=4
like "one is reserved" "$TEXT" '^c .* 1 reserved'
what "it goes without it" yes --parallel=tp=8,ep=24,etp=1,dp=3
scontrol delete ReservationName=r
scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Nodes=n003,n006 >/dev/null
what "in one's own reservation" yes --reservation=r --parallel=tp=8,dp=2
what "more than is in it" no --reservation=r --parallel=tp=8,dp=3
like "dp=2 would fit" "$TEXT" 'Smaller: dp=2 '
scontrol delete ReservationName=r

# Arrays: a task that runs, one that waits for its turn.
array=$(submit --time=10 --array=0-3%1 -N1 "$TESTS/held.sh")
ok "a task of an array runs" until_true 30 eval '[ -n "$(squeue -h -j "${array}_0" -t R -o %i)" ]'
like "the first runs" "$(snctl why "${array}_0")" 'does not pend'
like "the last has no record yet, and waits for its turn" "$(snctl why "${array}_3")" 'wants 1 node|it fits'
snctl why "${array}_7" >/dev/null 2>&1
is "there is no eighth" $? 1
vacate "$array"

# Heterogeneous: each fits alone, but not both at once.
het=$(submit --hold --time=10 -N5 --exclusive : -N5 --exclusive "$TESTS/held.sh")
like "components fit alone" "$(snctl why "$het" | grep -c 'Now: it fits')" '^2$'
like "but not together" "$(snctl why "$het")" 'All components together: they do not fit'
like "a component by its number" "$(snctl why "$het+1")" '^Job [0-9]+ .*wants 5 nodes'
scancel "$het"
het=$(submit --hold --time=10 -N5 --exclusive : -N4 --exclusive "$TESTS/held.sh")
like "smaller ones do" "$(snctl why "$het")" 'All components together: they fit'
scontrol release "$het"
ok "and start" until_true 60 eval '[ "$(state_of "$het" | uniq -c | tr -s " ")" = " 2 RUNNING" ]'
vacate "$het" "$first" "$second"

# slurmctld that has just started knows nothing of a node whose slurmd does not answer.
nodes_down n012
ctld_kill TERM
ok "slurmctld starts anew" eval 'ctld_up && until_true 30 ctld_answers'
deaf=$(submit --hold --time=10 -w n012 "$TESTS/held.sh")
like "a node not heard of is not called down" "$(snctl why "$deaf")" 'n012 is required, and it is not answering'
like "nor counted as such" "$(snctl why "$deaf" --json)" '"others":\{[^}]*"not answering":1'
scancel "$deaf"
finish
