#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Gang scheduling in one tier: jobs take turns on cores, and a card is never
# given to two of them, not even while one is suspended.
. "$(dirname "$0")/lib.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA='PreemptMode=GANG
SchedulerTimeSlice=5
PartitionName=gang Nodes=ALL OverSubscribe=FORCE:2 DefMemPerCPU=10'
start_cluster
LAYOUT=tp=8,ep=16,etp=1,dp=2
SN1=n001,n003,n005,n007
export SN_STEP=no

# Cards of all jobs that run or are suspended, those given twice.
given_twice()
{
	local id

	for id in $(squeue -h -t RUNNING,SUSPENDED -o %i); do
		cards_of "$id"
	done | sort | uniq -d
}

is_suspended()
{
	[ -n "$(squeue -h -t SUSPENDED -o %i)" ]
}

turns() # have JOB and another changed places?
{
	[ "$(state_of "$1")" != "$2" ]
}

hold() # ARGUMENT…
{
	submit -p gang "$@" "$TESTS/held.sh"
}

# All cores of sn1, no cards.
cores=$(hold -w $SN1 -N4 --ntasks-per-node=64)
ok "a job has all cores of a supernode" await "$cores" RUNNING
one=$(hold --parallel=$LAYOUT -w n001)
two=$(hold --parallel=$LAYOUT)
three=$(hold --parallel=$LAYOUT)
four=$(hold --parallel=$LAYOUT)
ok "jobs with cards share its cores" until_true 60 is_suspended
for id in $one $two $three $four; do
	ok "job $id has its cards" await "$id" "RUNNING SUSPENDED"
done
is "in all as many cards as there are" "$(for id in $one $two $three $four; do cards_of "$id"; done | sort -u | wc -l)" 64
is "none twice" "$(given_twice)" ""
five=$(hold --parallel=$LAYOUT)
until_true 20 eval '[ "$(reason_of "$five")" != None ]'
like "one more waits for cards, though cores could be shared" "$(state_of "$five") $(reason_of "$five")" '^PENDING (Resources|Priority)$'
was=$(state_of "$cores")
ok "they take turns" until_true 30 turns "$cores" "$was"
is "still none twice" "$(given_twice)" ""
was=$(state_of "$cores")
ok "and back" until_true 30 turns "$cores" "$was"
is "still none twice, and one waits" "$(given_twice)$(state_of "$five")" PENDING
scancel "$two"
ok "when cards come free it starts" await "$five" "RUNNING SUSPENDED"
is "none twice in the end" "$(given_twice)" ""
finish
