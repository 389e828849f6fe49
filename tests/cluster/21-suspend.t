#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs that are suspended for a better one: as few as will do. Slurm takes their
# cores, not their cards.
. "$(dirname "$0")/lib.sh"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PartitionName=low Nodes=ALL PriorityTier=1 OverSubscribe=FORCE:1 DefMemPerCPU=10
PartitionName=high Nodes=ALL PriorityTier=9 OverSubscribe=FORCE:1 PreemptMode=OFF DefMemPerCPU=10"
start_cluster
EP32=ep=32,dp=32
CORES=64
JOBS=

# hold NODES CORES ARGUMENT…: a job with so many cores of each node
hold()
{
	local n=${1//[!,]/} nodes=$1 cores=$2
	shift 2

	n=$((${#n} + 1))
	JOBS="$JOBS $(SN_STEP=no submit -p low -w "$nodes" -N $n --ntasks-per-node="$cores" "$@" "$TESTS/held.sh")"
}

none_waits()
{
	[ -z "$(squeue -h -t PENDING)" ]
}

suspended() # the numbers, in the order of hold, of the jobs that are
{
	local i=0 id are

	are=$(squeue -h -t SUSPENDED -o %i)
	for id in $JOBS; do
		i=$((i + 1))
		! grep -qx "$id" <<<"$are" || printf '%s ' "$i"
	done
}

are_suspended()
{
	[ "$(suspended)" = "$1" ]
}

no_jobs()
{
	[ -z "$(squeue -h)" ]
}

clear_all()
{
	scancel -u root
	until_true 60 no_jobs || fail "the cluster is empty again" "$(squeue)"
	JOBS=
}

# Every core of every node is busy: two jobs, one, three.
hold n001,n004 $CORES
hold n007,n010 $CORES
hold n002,n005,n008,n011 $CORES
hold n003,n006 $CORES
hold n009 $CORES
hold n012 $CORES
ok "six jobs on all cores" until_true 60 none_waits
id=$(submit_held -p high --parallel=$EP32)
ok "a better job runs" await_ranks "$id"
ok "one is suspended for it" until_true 30 are_suspended "3 "
ok "its groups are whole" check_ranks "$id" $EP32
release "$id"
ok "it ends" await "$id" COMPLETED
ok "and the other goes on" until_true 60 are_suspended ""
clear_all

# Cores are left on the nodes of the one job that has cards: nobody need stop.
hold n001,n004,n007,n010 $CORES
hold n002,n005,n008,n011 $((CORES / 2))
hold n003,n006,n009,n012 $CORES
ok "three jobs" until_true 60 none_waits
id=$(submit_held -p high --parallel=$EP32)
ok "a better job finds free cores" await_ranks "$id"
is "and nobody is suspended" "$(suspended)" ""
clear_all

# A suspended job keeps its cards, so there is no use in suspending it.
hold n001,n004,n007,n010 1 --gres=npu:8
hold n002 1 --gres=npu:1
hold n003 1 --gres=npu:8
ok "three jobs with cards" until_true 60 none_waits
# By both schedulers: see 20-preempt.t.
is_tried()
{
	[ "$(reason_of "$id")" != None ] && scontrol -o show job "$id" | grep -q 'Scheduler=Backfill'
}
id=$(submit_held -p high --parallel=$EP32)
ok "a better job is tried" until_true 60 is_tried
like "and waits" "$(state_of "$id") $(reason_of "$id") $(scontrol -o show job "$id" | grep -o ' Priority=[0-9]*')" '^PENDING (Resources|Priority) +Priority=[1-9]'
is "and nobody is suspended for nothing" "$(suspended)" ""
release ${JOBS##* }
ok "until a supernode's cards are free" await_ranks "$id"
clear_all
finish
