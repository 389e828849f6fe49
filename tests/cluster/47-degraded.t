#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Degraded supernodes and units are used when nothing else fits; PowerLimit is a limit on
# nodes for every job.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/live.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=a Nodes=n[001-004]
	SupernodeName=b Nodes=n[005-008]
	UnitName=u[1-4] Nodes=n[001-008] NodesPerUnit=2
END
start_cluster
rm -f "$CL_TOPOLOGY"
export SN_STEP=no

hosts_of() # JOB
{
	scontrol show hostnames "$(nodes_of "$1")" | paste -sd,
}

# on WHAT NODES ARGUMENT…: such a job starts there; $JOB is it
on()
{
	local what=$1 nodes=$2
	shift 2

	JOB=$(submit --time=10 "$@" "$TESTS/held.sh")
	ok "$what: it starts" await "$JOB" RUNNING || return
	is "$what: where" "$(hosts_of "$JOB")" "$nodes"
}

waits() # WHAT ARGUMENT…
{
	local what=$1
	shift

	JOB=$(submit --time=10 "$@" "$TESTS/held.sh")
	until_true 30 eval '[ "$(reason_of "$JOB")" = Resources ]'
	is "$what: it waits" "$(state_of "$JOB") $(reason_of "$JOB")" "PENDING Resources"
}

no_jobs()
{
	[ -z "$(squeue -h)" ]
}

vacate()
{
	scancel -u root && until_true 60 no_jobs || fail "the cluster is empty again" "$(squeue)"
}

mark() # NODE [supernode|unit]
{
	local text="{\"site\": 7${2:+, \"degraded\": {\"$2\": {\"by\": \"root\", \"at\": 1, \"why\": \"link\"}}}}"

	scontrol update "nodename=$1" "extra=$text"
}

# ---- degraded ---------------------------------------------------------------------

on "nothing is degraded" n001 --parallel=tp=8
vacate
ok "any node of it speaks for a supernode" mark n003 supernode
on "a layout" n005 --parallel=tp=8
on "a plain job" n006 -N1 --gres=npu:8
on "whole nodes" n007 -N1 --exclusive --gres=npu:8
on "more than the whole one has left: one supernode rather than two" n001,n002,n003 --parallel=tp=8,dp=3
vacate
on "a supernode's worth of segments" n005,n006,n007,n008 -N4 --segment=4 --gres=npu:8
on "and one more" n001,n002,n003,n004 -N4 --segment=4 --gres=npu:8
vacate
ok "a unit" mark n007 unit
like "show supernodes" "$(snctl show supernodes --json | tr -d ' \n')" '"a"[^}]*"links":"degraded".*"b"[^}]*"links":"unitsdegraded"'
like "show units" "$(snctl show units)" '^u4 .* degraded'
JOB=$(submit --hold --parallel=tp=8,dp=4 "$TESTS/held.sh")
like "why warns" "$(snctl why "$JOB")" "^Warning: unit u4 is used though its links are degraded: no whole ones had room"
scancel "$JOB"
JOB=$(submit --hold --parallel=tp=8,dp=2 "$TESTS/held.sh")
is "and of nothing where there is a whole one" "$(snctl why "$JOB" --json | grep -c warnings)" 0
scancel "$JOB"
on "the other unit of b" n005,n006 --parallel=tp=8,dp=2
vacate
on "the fewest supernodes, and in them the fewest that are degraded" n005,n006,n007 --parallel=tp=8,dp=3
vacate
run=$(submit --time=10 -w n001 --gres=npu:1 "$TESTS/held.sh")
ok "a job runs" await "$run" RUNNING
ok "slurmctld has saved that" state_saved "$run"
until_true 60 eval 'squeue -h -o %i >/dev/null'
ctld_kill
ok "and is back" ctld_up
until_true 60 nodes_idle
vacate
on "it knows the marks" n005 --parallel=tp=8
vacate
ok "b is whole again" mark n007
ok "a is whole again" mark n003
on "nothing is degraded any more" n001 --parallel=tp=8
vacate
echo 'DegradedDomains=a,u3,nosuch' >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='DegradedDomains=a,u3,nosuch: there is no supernode or unit nosuch, ignoring it|PowerLimit'
cp "$CL_DIR/etc/topology.conf" "$WORK/topology.old"
reconfigure <"$WORK/topology.old"
on "supernode.conf says so of a supernode and a unit" n007,n008 --parallel=tp=8,dp=2
on "and there is nothing else" n005,n006 --parallel=tp=8,dp=2
vacate
on "all of the cluster" n001,n002,n003,n004,n005,n006,n007,n008 --parallel=tp=8,dp=8
vacate

# ---- power ------------------------------------------------------------------------

# 4 idle nodes take 1 kW, each busy one 5.75 kW more: 3 of 4.
sed -i '/^DegradedDomains/d' "$CL_DIR/etc/supernode.conf"
echo 'NodePower=6000 IdleNodePower=250' >>"$CL_DIR/etc/supernode.conf"
sed 's/^\(SupernodeName=a .*\)/\1 PowerLimit=20kW/' "$WORK/topology.old" >"$WORK/topology.new"
# A limit that comes while a job waits may go again.
on "a node is busy" n007 -N1 --gres=npu:8
all=$(submit --time=10 -N8 --gres=npu:8 "$TESTS/held.sh")
seen() # after this second
{
	local at

	at=$(scontrol -o show job "$all" | sed -nE 's/.* LastSchedEval=([^ ]*).*/\1/p')
	[ "$(date -d "$at" +%s 2>/dev/null || echo 0)" -gt "$1" ]
}
ok "all nodes are waited for" until_true 60 seen 0
reconfigure <"$WORK/topology.new"
ok "and looked for again under the limit" until_true 60 seen "$(date +%s)"
like "the job is not held for it" "$(squeue -h -j "$all" -o '%T %r %Q')" '^PENDING (None|Resources|Priority) [1-9]'
scancel "$all"
vacate
on "one node" n001 --parallel=tp=8
on "two more, one of them half" n003,n004 --parallel=tp=4,ep=12,etp=1,dp=3
half=$JOB
waits "no fourth node of a" -w n002 --parallel=tp=8
like "show supernodes" "$(snctl show supernodes)" '^a .* ok +3 +3$'
text=$(snctl why "$JOB")
like "why says so" "$text" 'node n002 is required, but the PowerLimit of a keeps it idle'
like "and the arithmetic" "$text" '^Power: PowerLimit=20kW of a lets 3 of its 4 nodes run jobs at once \(NodePower=6kW, IdleNodePower=250W\); 3 do, so 0 more may begin'
scancel "$JOB"
waits "nor for a plain job" -w n002 -N1 --gres=npu:1
scancel "$JOB"
waits "nor for one that Slurm itself places" -w n002 -N1 --spread-job
scancel "$JOB"
on "a node that draws already can be shared" n004 --parallel=tp=4 -w n004
scancel "$half" "$JOB"
until_true 60 eval '[ "$(squeue -h -o %i | wc -l)" = 1 ]'
on "elsewhere there is room" n005,n006,n007,n008 --parallel=tp=8,ep=32,etp=1,dp=4
on "room again" n003,n004 -N2 --gres=npu:8
waits "and none" -N1 --gres=npu:8
like "why of a plain job" "$(snctl why "$JOB" --json)" '"fits_now": false.*"power": \[\{"supernode":"a","most_busy_nodes":3,"busy_nodes":3\}\]'
scancel "$JOB"
vacate
on "a spare draws too, so a has no room for four" n005,n006,n007,n008 --parallel=tp=8,ep=24,etp=1,dp=3 --spares=1
vacate
text=$(sbatch --parallel=tp=8,ep=32,etp=1,dp=4 -x "n[005-008]" "$TESTS/held.sh" 2>&1)
like "what can never fit is told, with the arithmetic" "$text" 'PowerLimit=20kW of a lets 3 of its 4 nodes run jobs at once \(NodePower=6kW, IdleNodePower=250W\)'
text=$(sbatch -N8 --gres=npu:8 "$TESTS/held.sh" 2>&1)
like "without a layout too" "$text" '-N 8 can never fit: .* 7 can run jobs at once; PowerLimit=20kW of a'
on "seven are as many as there may be" n001,n002,n003,n005,n006,n007,n008 -N7 --gres=npu:8
vacate
finish
