#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs that are preempted: those that leave one usable supernode, no more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/preempt.sh"
LOW="-p %s" HIGH="-p high"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1 DefMemPerCPU=10
PartitionName=cancel Nodes=ALL PriorityTier=1 PreemptMode=CANCEL DefMemPerCPU=10
PartitionName=hard Nodes=ALL PriorityTier=1 PreemptMode=OFF DefMemPerCPU=10
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF DefMemPerCPU=10"
start_cluster
# One job in each supernode, each all of it.
for nodes in $SN1 $SN2 $SN3; do hold low "$nodes" 8; done
all_run
like "--test-only: it could start at once" "$(sbatch --test-only -p high --parallel=$EP32 "$TESTS/held.sh" 2>&1)" 'to start at .* using 32 processors'
is "--test-only: and nobody has gone" "$(victims)" ""
id=$(submit_held -p high --parallel=$EP32)
ok "one of three: it runs" await_ranks "$id"
is "one of three: one victim" "$(victims | wc -w)" 1
ok "one of three: whole" check_ranks "$id" $EP32
like "one of three: the victim waits to run again" "$(for v in $JOBS; do state_of "$v"; done | sort | tr '\n' ' ')" '^PENDING RUNNING RUNNING $'
clear_all

# Two have to go, but three or four elsewhere; Slurm itself begins with small jobs.
for nodes in n001 n004 n007 n010 n002,n005 n008,n011 n003,n006 n009 n012; do hold low "$nodes" 8; done
wins "two victims" "5 6 " $SN2 --parallel=$EP32
clear_all

# The one victim would be in a supernode that has a job nobody may touch.
hold hard n001 8
for nodes in n004,n007,n010 n002 n005 n008,n011 n003,n006 n009,n012; do hold low "$nodes" 8; done
wins "a job that stays" "6 7 " $SN3 --parallel=$EP32
clear_all

# Cards partly busy: most supernodes have crumbs.
hold low $SN1 4
hold low $SN1 4
hold low n002 1
hold low n011 2
hold low $SN3 1
wins "cards partly busy" "5 " $SN3 --parallel=$EP32
clear_all

# Half of a supernode's cards are free already, and half of them will do.
hold low $SN1 8
hold low n002,n005 6
hold low n008,n011 6
hold hard $SN3 7
wins "a part of a supernode" "[23] " "" --parallel=ep=16,dp=16
clear_all

# Two supernodes: two atoms, one victim in one and two in the other.
hold low $SN1 8
hold low n002,n005 8
hold low n008,n011 8
for nodes in n003 n006 n009 n012; do hold low "$nodes" 8; done
wins "two supernodes" "1 2 3 " "" --parallel=ep=32,dp=64
clear_all

# Jobs that are cancelled, and one without --parallel.
for nodes in n001 n004 n007 n010 n002,n005 n008,n011 n003,n006 n009 n012; do hold cancel "$nodes" 8; done
wins "segments, cancelled" "5 6 " "" -N4 --segment=4 --gres=npu:8 --ntasks-per-node=1
set -- $JOBS
is "they are over" "$(state_of "$5") $(state_of "$6")" "PREEMPTED PREEMPTED"
clear_all

# Nothing would help: nobody goes.
hold hard n001 1
hold hard n002 1
hold hard n003 1
for nodes in n004,n007,n010 n005,n008,n011 n006,n009,n012; do hold low "$nodes" 8; done
all_run
id=$(submit_held -p high --parallel=$EP32)
# By both schedulers. The main one gives the reason and may come seconds after a
# submission (batch_sched_delay), behind a first backfill; backfill comes again.
is_tried()
{
	[ "$(reason_of "$id")" != None ] && scontrol -o show job "$id" | grep -q 'Scheduler=Backfill'
}
ok "in vain: it is tried" until_true 60 is_tried
like "in vain: it waits" "$(state_of "$id") $(reason_of "$id") $(scontrol -o show job "$id" | grep -o ' Priority=[0-9]*')" '^PENDING (Resources|Priority) +Priority=[1-9]'
is "in vain: nobody goes" "$(victims)" ""
clear_all
finish
