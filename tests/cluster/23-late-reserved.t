#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes that are powered down, or are to be rebooted, come last; reservations keep supernodes for their
# own jobs and from others.
. "$(dirname "$0")/lib.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA="SuspendProgram=/bin/true
RebootProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=86400
SuspendTimeout=1
ResumeTimeout=300"
# A node that is asked to power down cannot be pinged.
LOG_ALLOW='power|boot|not responding'
start_cluster
SN1=n001,n003,n005,n007 SN2=n002,n004,n006,n008

nodes_of() # JOB: those that Slurm gave it
{
	scontrol show hostnames "$(scontrol -o show job "$1" | sed -n 's/.* NodeList=\([^ ]*\).*/\1/p')" | tr '\n' ',' | sed 's/,$//'
}

runs_on() # WHAT NODES ARGUMENT…
{
	local what=$1 nodes=$2
	shift 2

	id=$(SN_STEP=no submit "$@" "$TESTS/held.sh")
	ok "$what: it starts" await "$id" "RUNNING CONFIGURING" || return
	is "$what: where" "$(nodes_of "$id")" "$nodes"
}

no_jobs()
{
	[ -z "$(squeue -h)" ]
}

vacate()
{
	scancel "$@" && until_true 60 eval '[ "$(squeue -h | wc -l)" = 1 ]'
}

clear_all()
{
	scancel -u root
	until_true 60 no_jobs || fail "the cluster is empty again" "$(squeue)"
}

# ---- reservations -----------------------------------------------------------------

scontrol create reservation=mine nodes=$SN1 starttime=now duration=60 users=root >/dev/null ||
	fail "a reservation"
runs_on "not for others, first as it is" $SN2 --parallel=ep=32,dp=32 --time=5
other=$(SN_STEP=no submit --parallel=ep=16,dp=16 --time=5 "$TESTS/held.sh")
inside=$(SN_STEP=no submit --reservation=mine --parallel=ep=32,dp=32 --time=5 "$TESTS/held.sh")
ok "inside: it runs" await "$inside" RUNNING
is "inside: in the reserved supernode" "$(nodes_of "$inside")" $SN1
is "another waits" "$(state_of "$other")" PENDING
release "$id"
ok "until the other supernode has room" await "$other" RUNNING
clear_all
scontrol delete reservation=mine

# Maintenance of a supernode that begins soon: a longer job goes to the other.
scontrol create reservation=soon nodes=$SN1 starttime=now+30minutes duration=60 users=root flags=maint >/dev/null
runs_on "longer than the time left" $SN2 --parallel=ep=32,dp=32 --time=60
runs_on "shorter" $SN1 --parallel=ep=32,dp=32 --time=5
clear_all
scontrol delete reservation=soon

# Some cards' worth of nodes: the whole group goes where it is whole.
scontrol create reservation=one nodes=n003 starttime=now duration=60 users=root >/dev/null
runs_on "a reserved node breaks the first supernode" $SN2 -N4 --segment=4 --gres=npu:8
clear_all
scontrol delete reservation=one

# ---- to be rebooted ----------------------------------------------------------------

# With one card busy, n001 would be the best for seven ranks, and stays usable
# until it is idle.
one=$(SN_STEP=no submit -w n001 --gres=npu:1 "$TESTS/held.sh")
ok "a card of n001 is busy" await "$one" RUNNING
runs_on "seven ranks beside it" n001 --parallel=ep=7,dp=7
vacate "$id"
ok "n001 is to be rebooted" scontrol reboot n001
like "once it is idle" "$(scontrol -o show node n001)" 'State=MIXED[^ ]*REBOOT_REQUESTED'
runs_on "seven ranks: not on it" n003 --parallel=ep=7,dp=7
vacate "$id"
runs_on "a plain job: not on it" n003 -N1 --gres=npu:7
vacate "$id"
runs_on "where only it is left, on it" n001 --parallel=ep=7,dp=7 -x n[002-008]
ok "it is not rebooted after all" scontrol cancel_reboot n001
clear_all

# ---- powered down -----------------------------------------------------------------

is_down()
{
	scontrol -o show node n001 | grep -q 'POWERED_DOWN'
}
ok "n001 powers down" scontrol update nodename=n001 state=POWER_DOWN_FORCE
ok "it is powered down" until_true 60 is_down
runs_on "one node: not the one without power, first as it is" n003 --parallel=ep=8,dp=8
clear_all
runs_on "a supernode: the one with power" $SN2 --parallel=ep=32,dp=32
runs_on "three nodes fit without it" n003,n005,n007 --parallel=ep=24,dp=24
clear_all
runs_on "a plain job too" n003 -N1 --gres=npu:8
clear_all
runs_on "two supernodes: first the one with power" $SN2 --parallel=ep=32,dp=32
runs_on "and the last supernode is used all the same" $SN1 --parallel=ep=32,dp=32
clear_all
finish
