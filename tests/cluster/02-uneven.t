#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes with 3, 5 and 8 free cards: whole TP groups on each, no more and no less.
. "$(dirname "$0")/lib.sh"
CL_NODES=3 CL_PER=3 CL_PODS=0 CL_UNIT=0
start_cluster

a=$(SN_STEP=no submit -N1 -w n001 --gres=npu:5 "$TESTS/held.sh")
b=$(SN_STEP=no submit -N1 -w n002 --gres=npu:3 "$TESTS/held.sh")
ok "5 cards of n001 are busy" await "$a" RUNNING
ok "3 cards of n002 are busy" await "$b" RUNNING
busy=$( (cards_of "$a"; cards_of "$b") | sort)

nodes_of()
{
	cards_said "$1" | awk '{ n[$1]++ } END { for (i in n) print i ":" n[i] }' | sort | tr '\n' ' '
}

run() # LAYOUT NODES: one job alone on the free cards
{
	local id

	id=$(submit_held "--parallel=$1")
	ok "$1 runs" await_ranks "$id" || return
	ok "$1: every TP group on one node" check_ranks "$id" "$1"
	is "$1 takes $2" "$(nodes_of "$id")" "$2 "
	is "$1: its cards are Slurm's" "$(cards_said "$id")" "$(cards_of "$id")"
	is "$1: none of them was busy" "$(comm -12 <(cards_said "$id") <(echo "$busy"))" ""
	release "$id"
	await "$id" COMPLETED
}

# The fewest nodes, then the least left over on them.
run tp=2 n001:2
run tp=2,dp=2 n002:4
run tp=2,dp=4 n003:8
# 7 groups of two: 1 + 2 + 4, though 16 cards are free.
run tp=2,dp=7 "n001:2 n002:4 n003:8"

id=$(submit_held --parallel=tp=2,dp=8)
like "8 groups of two are accepted" "$id" '^[0-9]+$'
until_true 20 test "$(reason_of "$id")" != None
like "and wait, for one card is left alone on two nodes" "$(state_of "$id") $(reason_of "$id")" '^PENDING (Resources|Priority)$'
release "$a"
ok "until the busy cards are free" await_ranks "$id"
ok "and are whole" check_ranks "$id" tp=2,dp=8
release "$id" "$b"
ok "the end" await "$id" COMPLETED

# Two jobs side by side on one node's cards.
x=$(submit_held --parallel=tp=2,dp=2)
y=$(submit_held --parallel=tp=4)
ok "one of two runs" await_ranks "$x"
ok "and the other" await_ranks "$y"
is "on different cards" "$(cat "$WORK/$x.out" "$WORK/$y.out" | grep -c DOUBLE)" 0
is "the first one's cards are Slurm's" "$(cards_said "$x")" "$(cards_of "$x")"
is "the second one's cards are Slurm's" "$(cards_said "$y")" "$(cards_of "$y")"
release "$x" "$y"
finish
