#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Dynamic nodes come and go with jobs running and waiting. Where topology.conf
# names them they join their supernode, else they are loose; Slurm gives the place
# of a deleted node in its table to another, and that one is what it is.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/live.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_SELECT=select/cons_tres_supernode # Slurm has dynamic nodes with no other name
CL_EXTRA='MaxNodeCount=20
TreeWidth=65533'
# A node that registers is not known yet; jobs that are over had nodes that went.
LOG_ALLOW='lookup failure for node|be delete because|failed to delete node|unable to find node|Invalid node [nx]0|Node count mismatch'
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=sn1 Nodes=n[001-004]
	SupernodeName=sn2 Nodes=n[005-008]
	SupernodeName=sn3 Nodes=n[011-014]
	SupernodeName=sn4 Nodes=n015
END
start_cluster
rm -f "$CL_TOPOLOGY"
if [ "$CL_MODE" != netns ]; then
	pass "the rest is left out: dynamic nodes need a network each"
	finish
fi
LAYOUT=tp=8,ep=32,etp=1,dp=4

# Behind the static nodes and the bridge's own address.
i=$((CL_NODES + 1))
for name in n011 n012 n013 n014 n015 x01; do
	CL_NAME[i]=$name
	echo "$(node_address $i) $name" >>"$CL_DIR/etc/hosts"
	i=$((i + 1))
done
for name in "${CL_NAME[@]}"; do : >"$CL_DIR/log/$name.out"; done

state() # NODE
{
	sinfo -h -N -n "$1" -o %t 2>/dev/null | sort -u
}

is_there()
{
	[[ $(state "$1") =~ ^(idle|plnd)$ ]]
}

has_come() # and may be at work already
{
	[[ $(state "$1") =~ ^(idle|plnd|mix|alloc)$ ]]
}

is_gone()
{
	! scontrol show node "$1" >/dev/null 2>&1
}

come() # NODE…: slurmd -Z
{
	local name i

	for name; do
		for i in "${!CL_NAME[@]}"; do
			[ "${CL_NAME[i]}" != "$name" ] ||
				SN_DYNAMIC="Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=4000 Gres=npu:8" node_up "$i"
		done
	done
	for name; do
		until_true 40 has_come "$name" || { echo "$name does not come: $(state "$name")"; tail -n 5 "$CL_DIR/log/$name".*; return 1; }
	done
}

go() # NODE…
{
	nodes_down "$@"
	scontrol delete nodename="$(IFS=,; echo "$*")" || return 1
	for name; do until_true 20 is_gone "$name" || return 1; done
}

topology_of() # NODE
{
	show_topology "$1" 2>/dev/null | sed -n 's/^SupernodeName=\([^ ]*\) .*\(Loose=yes\).*/\1 \2/p; t; s/^SupernodeName=\([^ ]*\) .*/\1/p' | tr '\n' ' '
}

priority_of()
{
	scontrol -o show job "$1" | sed -n 's/.* Priority=\([0-9]*\) .*/\1/p'
}

# waits_free WHAT JOB
waits_free()
{
	like "$1" "$(state_of "$2") $(priority_of "$2")" '^PENDING [1-9]'
}

spare=$(SN_STEP=no submit --parallel=tp=8,dp=2 --spares=1 "$TESTS/held.sh")
ok "a job with a spare runs" await "$spare" RUNNING
is "and has it, under the plugin's second name too" "$(nodes_of "$spare")" "n[001-003]"
release "$spare"
await "$spare" COMPLETED

stepped "--parallel=$LAYOUT"
first=$STEPPED step=0
all_is_well() # WHEN
{
	step=$((step + 1))
	next_step "$first" "$step" >/dev/null
	ok "$1: the running job's next step is right" check_step "$first" "$step" "$LAYOUT"
}
stepped "--parallel=$LAYOUT"
second=$STEPPED
is "two jobs hold two supernodes" "$(nodes_of "$first") $(nodes_of "$second")" "n[001-004] n[005-008]"
third=$(submit_held "--parallel=$LAYOUT")
until_true 20 eval '[ "$(reason_of "$third")" != None ]'
waits_free "a third waits" "$third"
pid=$(ctld_pid)

# ---- they come --------------------------------------------------------------------
ok "three of a supernode's four nodes come" come n013 n011 n014
is "they are where topology.conf has them" "$(topology_of n013)$(topology_of n011)" "sn3 sn3 "
all_is_well "nodes have come"
waits_free "the third still waits" "$third"
ok "a node of no supernode comes" come x01
is "it is loose" "$(topology_of x01)" "x01 Loose=yes "
loose=$(submit_held --parallel=tp=8,ep=16,etp=1,dp=2)
ok "16 ranks run in the new supernode" await_ranks "$loose"
like "and not on the loose node" "$(nodes_of "$loose")" '^n\[?01'
release "$loose"
await "$loose" COMPLETED
ok "the fourth node comes" come n012
ok "the third job runs" await_ranks "$third"
is "in the new supernode" "$(nodes_of "$third")" "n[011-014]"
ok "every group whole" check_ranks "$third" "$LAYOUT"
fourth=$(submit_held --parallel=tp=8,dp=1)
ok "a small job runs on the loose node" await_ranks "$fourth"
is "the only one that is free" "$(nodes_of "$fourth")" x01

# ---- they go ------------------------------------------------------------------------
like "a node in use is not deleted" "$(scontrol delete nodename=x01 2>&1)" 'busy|in use|failed'
release "$fourth"
await "$fourth" COMPLETED
until_true 20 is_there x01
ok "an idle one is" go x01
is "no topology has it" "$(topology_of x01)" ""
all_is_well "a node has gone"
# n015 gets the place that x01 had in the node table.
ok "another comes in its place" come n015
is "it is in its own supernode" "$(topology_of n015)" "sn4 "
five=$(submit_held --parallel=tp=8,dp=1)
ok "a job runs there" await_ranks "$five"
is "on that node" "$(nodes_of "$five")" n015
ok "and has its name and cards" check_ranks "$five" tp=8,dp=1
release "$five"
await "$five" COMPLETED

# ---- a job that waits for nodes that go -----------------------------------------------
three=$(submit_held --parallel=tp=8,ep=32,etp=1,dp=12)
until_true 20 eval '[ "$(reason_of "$three")" != None ]'
waits_free "one for three supernodes waits" "$three"
release "$third"
await "$third" COMPLETED
until_true 20 is_there n014
ok "one supernode goes" go n011 n012 n013 n014
is "it has no nodes" "$(topology_of n011)" ""
all_is_well "a supernode has gone"
is "slurmctld is the same process" "$(ctld_pid)" "$pid"

# ---- a restart --------------------------------------------------------------------------
ctld_kill TERM
ok "slurmctld starts again" ctld_up
# Before that, a step would wait for them for minutes.
registered()
{
	! scontrol -o show node | grep -q SlurmdStartTime=None
}
ok "all nodes have registered" until_true 60 registered
ok "dynamic nodes are still there" is_there n015
all_is_well "slurmctld has started again"
ok "the supernode comes back" come n011 n012 n013 n014
is "whole" "$(topology_of n012)" "sn3 "
waits_free "the job for three supernodes still waits" "$three"
release "$first" "$second"
await "$first" COMPLETED; await "$second" COMPLETED
ok "the one for three supernodes runs" await_ranks "$three"
ok "whole" check_ranks "$three" tp=8,ep=32,etp=1,dp=12
finish
