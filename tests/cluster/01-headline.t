#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The job that the README shows: plain srun, and every group in one supernode.
. "$(dirname "$0")/lib.sh"
CL_NODES=32
start_cluster

id=$(submit_held "--parallel=$HEADLINE")
like "sbatch takes --parallel" "$id" '^[0-9]+$'
ok "all ranks run" await_ranks "$id"
ok "every group is inside its domain" check_ranks "$id" "$HEADLINE"
is "it uses the fewest supernodes" \
	"$("$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel "$HEADLINE" "$WORK/$id.out" | grep -o '[0-9]* supernodes')" \
	"2 supernodes"
# 2 supernodes of one pod, and the first of those.
is "in one pod, the first" \
	"$("$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel "$HEADLINE" --picture "$WORK/$id.out" | sed -n 's/^  \(sn[0-9]*\)  *64 ranks.*/\1/p' | tr '\n' ' ')" \
	"sn1 sn2 "
is "the ranks' cards are the cards that Slurm allocated" "$(cards_said "$id")" "$(cards_of "$id")"
is "nobody shares a card" "$(grep -c DOUBLE "$WORK/$id.out")" 0

# The other half of the cluster is free for the same again.
second=$(submit_held "--parallel=$HEADLINE")
ok "a second one runs beside it" await_ranks "$second"
ok "and is whole too" check_ranks "$second" "$HEADLINE"
is "without sharing a card" "$(cat "$WORK/$id.out" "$WORK/$second.out" | grep -c DOUBLE)" 0
third=$(submit_held "--parallel=$HEADLINE")
until_true 20 test "$(reason_of "$third")" != None
like "a third waits for resources" "$(state_of "$third") $(reason_of "$third")" '^PENDING (Resources|Priority)$'
release "$id"
ok "until one ends" await_ranks "$third"
ok "and is whole too" check_ranks "$third" "$HEADLINE"
release "$second" "$third"
ok "the jobs end well" await "$second" COMPLETED
ok "all of them" await "$third" COMPLETED

# The same layout in Megatron's other order, where the stages of a pipeline are neighbours.
other=tp=4,ep=4,etp=1,pp=2,dp=8,order=tp-cp-ep-pp-dp
id=$(submit_held "--parallel=$other")
ok "the other order runs" await_ranks "$id"
ok "and is whole" check_ranks "$id" "$other"
release "$id"
# TP wider than a node.
wide=tp=16,pp=2,dp=4
id=$(submit_held "--parallel=$wide")
ok "TP wider than a node runs" await_ranks "$id"
ok "and is whole" check_ranks "$id" "$wide"
release "$id"
# A job without --parallel.
ok "a plain job runs as ever" srun -N3 -n3 --gres=npu:1 true
finish
