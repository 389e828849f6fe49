#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a job leaves for others: SpareNodes, and with SmallJobCards whole
# supernodes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=14 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=a Nodes=n[001,004,007,010] SpareNodes=1
	SupernodeName=b Nodes=n[002,005,008,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
start_cluster
rm -f "$CL_TOPOLOGY"

is "4 nodes: not the supernode with a spare" "$(try -N4)" "b:4"
is "the same in ranks" "$(try --parallel=tp=8,dp=4)" "b:4"
is "3 nodes do not touch it" "$(try -N3)" "a:3"
is "all but the spare" "$(try -N13)" "a:3 b:4 c:4 n013 n014"
a=$(SN_STEP=no submit --exclusive -N3 "$TESTS/held.sh")
ok "3 nodes are busy" await "$a" RUNNING
is "the spare is the last" "$(scontrol -o show job "$a" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')" "n[001,004,007]"
is "one more node is another's" "$(try -N1 --exclusive)" "n013"
scontrol update NodeName=n014 State=DRAIN Reason=test
waits "what takes the spare while another node is away waits" -N13
is "and is not held" "$(scontrol -o show job "$WAITING" | grep -c 'Priority=0 ')" 0
scontrol update NodeName=n014 State=RESUME
vacate "$WAITING" "$a"
refused "what cannot do without the spare is refused" '14 nodes are wanted, and of the 14 that it may use 1 is held back as SpareNodes .n010. .*so that 13 are left' -N14
refused "so is the spare by name" '-w n010 .* n010 is held back as one of the SpareNodes of a, the last 1 of its 4 nodes' -N1 -w n010
refused "and cards that only it would make enough" '14 nodes at least have the cards that are wanted' -n 105 --tres-per-task=gres/npu:1
id=$(SN_STEP=no submit --hold -N13 "$TESTS/held.sh")
like "a pending job cannot come to need it" "$(scontrol update "JobId=$id" NumNodes=14 2>&1)" '14 nodes are wanted'
scancel "$id"
refused "a segment that takes the spare everywhere" 'hold 2 of 4' -N12 --segment=4

# A reservation without the spare can be filled: the spare is left alone anyhow.
ok "a reservation" scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Nodes=n001,n004,n007
is "its nodes run a job" "$(try --reservation=r -N3)" "a:3"
scontrol delete ReservationName=r

# Small jobs: loose nodes, then a supernode that is broken into, then any.
echo SmallJobCards=8 >>"$CL_DIR/etc/supernode.conf"
ok "SmallJobCards" scontrol reconfigure
ok "slurmctld answers" until_true 20 ctld_answers
ok "all nodes are back" until_true 60 nodes_idle
hold() # ARGUMENT…: starts a job; $HELD is it
{
	HELD=$(SN_STEP=no submit "$@" "$TESTS/held.sh") && await "$HELD" RUNNING && HOLD="$HOLD $HELD"
}
HOLD=
hold -N1 --gres=npu:8
is "a small job takes a loose node" "$(spots "$HELD")" "n013"
hold -N1 --gres=npu:8
is "the next one the other" "$(spots "$HELD")" "n014"
hold -N2 --gres=npu:8
is "a large job takes a supernode" "$(spots "$HELD")" "a:2"
hold -N1 --gres=npu:8
is "a small one then what is broken into" "$(spots "$HELD")" "a:1"
hold -N1 --gres=npu:8
is "and then a whole one, not the spare" "$(spots "$HELD")" "b:1"
hold -N1 --gres=npu:4
is "and that one again" "$(spots "$HELD")" "b:1"
is "whole supernodes are left for large ones" "$(try -N4 --gres=npu:8)" "c:4"
# shellcheck disable=SC2086 # a list
vacate $HOLD
is "a job without cards is small" "$(try -n1)" "n013"
is "a job of more cards is not" "$(try -N2 --gres=npu:8)" "a:2"
is "nor one that takes whole nodes" "$(try -N2 --exclusive)" "a:2"
finish
