#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reservations: of whole nodes, of cores, of cards, MAINT and FLEX; with the
# groups whole inside and outside.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
start_cluster

reserve() # NAME FIELD…
{
	local name=$1
	shift

	scontrol create reservation "ReservationName=$name" StartTime=now Duration=60 Users=root "$@"
}

drop()
{
	scancel --reservation="$1" 2>/dev/null
	until_true 30 nothing_ends
	until_true 20 scontrol delete reservation "$1" 2>/dev/null
}

nodes()
{
	cards_said "$1" | cut -d' ' -f1 | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd' '
}

run() # WHAT WHERE LAYOUT OPTION…
{
	local what=$1 where=$2 layout=$3
	shift 3

	ID=$(submit_held "--parallel=$layout" "$@")
	ok "$what: runs" await_ranks "$ID" || { scancel "$ID" 2>/dev/null; return 0; }
	ok "$what: whole" check_ranks "$ID" "$layout"
	is "$what: its cards are Slurm's" "$(cards_said "$ID")" "$(cards_of "$ID")"
	[ -z "$where" ] || is "$what: where it should be" "$(nodes "$ID")" "$where"
	[ -n "${KEEP:-}" ] || vacate "$ID"
}

eight=tp=4,dp=2

# ---- whole nodes
ok "two nodes are reserved" reserve whole Nodes=n002,n004
run "inside" "n002:8" $eight --reservation=whole
run "inside, all of it" "n002:8 n004:8" tp=8,dp=2 --reservation=whole
refused "more than it has is refused, as ever" 'not available' --parallel=tp=8,dp=3 --reservation=whole
run "outside" "n001:8 n003:8 n005:8 n007:8" tp=8,dp=4
# 6 nodes are not reserved.
run "outside, beside it" "n001:8 n003:8 n005:8 n006:8 n007:8 n008:8" tp=8,dp=6
WAITING=$(submit_held --parallel=tp=8,dp=7 --time=10)
until_true 20 test "$(reason_of "$WAITING")" != None
like "outside, more than the rest waits" "$(state_of "$WAITING") $(reason_of "$WAITING")" '^PENDING (Resources|Priority|ReqNodeNotAvail)'
ok "and is not held" test "$(scontrol -o show job "$WAITING" | sed -n 's/.* Priority=\([0-9]*\).*/\1/p')" -gt 0
scancel "$WAITING"
drop whole

# ---- chosen by count: a reservation is a job without options to us
ok "three nodes by count" reserve count NodeCnt=3
like "they are in one supernode" "$(scontrol -o show reservation count)" 'Nodes=n\[00[1-4],00[3-6],00[5-8]\]'
run "inside it" "" tp=8,dp=3 --reservation=count
drop count

# ---- cores
ok "16 cores of a node" reserve cores Nodes=n001 CoreCnt=16
run "inside the cores" "n001:8" $eight --reservation=cores -w n001
run "16 ranks' cores and 8 cards: two CPUs each" "n001:8" $eight -c2 --reservation=cores
waits "more CPUs than it has" --parallel=$eight -c4 --reservation=cores
scancel "$WAITING"
# 48 cores of n001 are not reserved, and all cards.
run "outside, on the other cores" "n001:8" $eight -c6 -w n001
run "outside, CPUs only elsewhere" "n003:8" $eight -c8
# For now only: a job that wants the whole node waits, and is not held.
for kind in --parallel=$eight --gres=npu:8; do
	id=$(SN_STEP=no submit --exclusive -w n001 "$kind" "$TESTS/held.sh")
	until_true 20 eval '[ "$(reason_of "$id")" != None ]'
	ok "all of it is not held for it: ${kind%%=*}" test "$(scontrol -o show job "$id" | sed -n 's/.* Priority=\([0-9]*\).*/\1/p')" -gt 0
	scancel "$id"
done
drop cores

# ---- cards, where this Slurm can
if reserve cards Nodes=n001 TRES=gres/npu=4 >res.txt 2>&1; then
	pass "4 cards of a node"
	run "inside the cards" "n001:4" tp=4 --reservation=cards
	waits "more cards than it has" --parallel=tp=8 --reservation=cards
	scancel "$WAITING"
	run "outside, the other cards" "n001:4" tp=4 -w n001
	KEEP=yes run "outside, those of the node" "n001:4" tp=4 -w n001
	outside=$ID
	KEEP=yes run "and inside at once" "n001:4" tp=4 --reservation=cards
	is "on cards of their own" "$( (cards_of "$outside"; cards_of "$ID") | sort | uniq -d)" ""
	vacate "$outside" "$ID"
	run "outside, eight on a node that is not reserved" "n003:8" tp=8
	drop cards
else
	echo "ok $((TAP_N = TAP_N + 1)) - # SKIP reservations of cards: $(head -n 1 res.txt)"
fi

# ---- MAINT and FLEX
ok "maintenance of two nodes" reserve maint Nodes=n001,n003 Flags=MAINT
run "beside the maintenance" "n005:8 n007:8" tp=8,dp=2
run "in it" "n001:8" $eight --reservation=maint
drop maint
ok "a flexible one of two nodes" reserve flex Nodes=n001,n003 Flags=FLEX
run "inside the flexible one" "n001:8" $eight --reservation=flex -w n001
# FLEX: the job may use nodes outside it too.
run "and beyond it" "n001:8 n003:8 n005:8" tp=8,dp=3 --reservation=flex
drop flex

# ---- one that begins later: only what ends before it may run there
ok "one of all nodes in an hour" reserve later Nodes=ALL Flags=MAINT StartTime=now+60minutes
run "a short job runs before it" "n001:8" $eight --time=10
id=$(submit_held --parallel=$eight --time=300)
until_true 20 test "$(reason_of "$id")" != None
like "a long one waits for it" "$(state_of "$id") $(reason_of "$id")" 'PENDING (ReqNodeNotAvail|Resources|Reservation|Priority)'
ok "and is not held" test "$(scontrol -o show job "$id" | sed -n 's/.* Priority=\([0-9]*\).*/\1/p')" -gt 0
drop later
ok "it runs when that is gone" await_ranks "$id"
vacate "$id"
finish
