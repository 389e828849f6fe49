#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl place: the contract's own example, states, and what does not fit.
. "$SN_SRCDIR/tests/cli/lib.sh"

contract_cluster
job=tp=8,ep=64,etp=1,pp=6,dp=128

# By arithmetic alone: 96 atoms of 64 ranks, 6 in each of 16 supernodes, on the
# first 48 of its 49 nodes.
awk 'BEGIN {
	printf "{\"feasible\": true, \"layout\": {\"tp\":8,\"cp\":1,\"ep\":64,\"etp\":1,\"pp\":6,\"dp\":128,\"world\":6144,\"order\":\"tp-cp-ep-dp-pp\"}, \"atom\": {\"ranks\":64,\"count\":96}, \"supernodes\": ["
	for (s = 0; s < 16; s++)
		printf "%s{\"name\":\"sn%02d\",\"atoms\":6,\"nodes\":\"n[%03d-%03d]\",\"cards\":384,\"left_free_cards\":8}", s ? "," : "", s + 1, 49 * s + 1, 49 * s + 48
	printf "], \"ranks\": ["
	for (r = 0; r < 6144; r++)
		printf "%s[\"n%03d\",%d]", r ? "," : "", 49 * int(r / 384) + int(r % 384 / 8) + 1, r % 8
	print "], \"spares\": [], \"score\": {\"supernodes\":16,\"fabrics\":[1,4],\"units\":112,\"nodes\":768,\"weight\":768,\"left_in_supernodes\":128,\"left_in_nodes\":0}}"
}' >want
run place --config topology.conf --cards 8 --parallel $job --json
[ "$status" -eq 0 ] && cmp -s out want
ok "the contract's example gives the contract's JSON" || show
cp out first
echo '{ }' >state.json
run place --config topology.conf --cards 8 --parallel $job --json --state state.json
cmp -s out first
ok "an empty state changes nothing" || show

run place --config topology.conf --cards 8 --parallel $job
[ "$status" -eq 0 ] && grep -q 'sn16' out && grep -q '6144 ranks in 96 atoms of 64' out &&
	! grep -q "$(printf '\033')" out
ok "the picture has no colours in a file" || show
[ "$(awk '{ if (length > w) w = length } END { print w }' out)" -le 140 ]
ok "the picture is not wide"

small_cluster
says "the fewest supernodes, the first in the file" \
'{"feasible": true, "layout": {"tp":4,"cp":1,"ep":1,"etp":4,"pp":1,"dp":2,"world":8,"order":"tp-cp-ep-dp-pp"}, "atom": {"ranks":4,"count":2}, "supernodes": [{"name":"sn1","atoms":2,"nodes":"n1","cards":8,"left_free_cards":24}], "ranks": [["n1",0],["n1",1],["n1",2],["n1",3],["n1",4],["n1",5],["n1",6],["n1",7]], "spares": [], "score": {"supernodes":1,"fabrics":[],"units":0,"nodes":1,"weight":1,"left_in_supernodes":24,"left_in_nodes":0}}' \
	place --config topology.conf --cards 8 --parallel tp=4,dp=2 --json

cat >state.json <<'EOF'
{"nodes": {"n[1-3]": {"free": 0}, "n4": {"down": true},
  "n5": {"free_cards": [1, 3, 4, 6, 7], "masked_cards": [4]},
  "n[6-8]": {"free": 0}}}
EOF
says "the k-th rank of a node takes its k-th free card, masked ones are passed over" \
'{"feasible": true, "layout": {"tp":2,"cp":1,"ep":1,"etp":2,"pp":1,"dp":2,"world":4,"order":"tp-cp-ep-dp-pp"}, "atom": {"ranks":2,"count":2}, "supernodes": [{"name":"sn2","atoms":2,"nodes":"n5","cards":4,"left_free_cards":0}], "ranks": [["n5",1],["n5",3],["n5",6],["n5",7]], "spares": [], "score": {"supernodes":1,"fabrics":[],"units":0,"nodes":1,"weight":1,"left_in_supernodes":0,"left_in_nodes":0}}' \
	place --config topology.conf --cards 8 --state state.json --parallel tp=2,dp=2 --json
no "what does not fit is said with numbers" '[0-9]' \
	place --config topology.conf --cards 8 --state state.json --parallel tp=2,dp=3
no "the same as JSON" '^{"feasible": false, "reason": ".*[0-9].*"}$' \
	place --config topology.conf --cards 8 --state state.json --parallel tp=2,dp=3 --json
[ "$(wc -l <out)" -eq 1 ]
ok "in one line"

says "whole spare nodes, card by card" \
'{"feasible": true, "layout": {"tp":8,"cp":1,"ep":1,"etp":8,"pp":1,"dp":1,"world":8,"order":"tp-cp-ep-dp-pp"}, "atom": {"ranks":8,"count":1}, "supernodes": [{"name":"sn1","atoms":1,"nodes":"n1","cards":8,"left_free_cards":24}], "ranks": [["n1",0],["n1",1],["n1",2],["n1",3],["n1",4],["n1",5],["n1",6],["n1",7]], "spares": [["n2",0],["n2",1],["n2",2],["n2",3],["n2",4],["n2",5],["n2",6],["n2",7]], "score": {"supernodes":1,"fabrics":[],"units":0,"nodes":1,"weight":1,"left_in_supernodes":24,"left_in_nodes":0}}' \
	place --config topology.conf --cards 8 --parallel tp=8 --spares 1 --json

echo '{"nodes": {"n[1-8]": {"free": 0}, "login1": {}}}' >state.json
run place --config topology.conf --cards 8 --state state.json --parallel tp=8 --json
[ "$status" -eq 0 ] && grep -q '"name":"login1"' out
ok "a node in no supernode is a loose one" || show

echo '{"nodes": {"n1": {"weight": 5}}}' >state.json
run place --config topology.conf --cards 8 --state state.json --parallel tp=8 --json
[ "$status" -eq 0 ] && grep -q '"nodes":"n2"' out
ok "a lighter node comes before the first" || show

echo '{"pool_free": {"sn1": "1G"}}' >state.json
run place --config topology.conf --cards 8 --state state.json --parallel tp=8 --pool 2G --json
[ "$status" -eq 0 ] && grep -q '"name":"sn2"' out
ok "the pool decides where it is short" || show
no "no pool has so much" 'pool' \
	place --config topology.conf --cards 8 --parallel tp=8 --pool 2T

echo '{"degraded": ["sn1"]}' >state.json
run place --config topology.conf --cards 8 --state state.json --parallel tp=8 --json
[ "$status" -eq 0 ] && grep -q '"name":"sn2"' out && ! grep -q 'degraded\|warnings' out
ok "a degraded supernode is avoided while a whole one fits" || show
run place --config topology.conf --cards 8 --state state.json --parallel tp=8,dp=8,tp_within=node --json
[ "$status" -eq 0 ] && grep -q '"degraded":4}, "warnings": \["supernode sn1 is used though its links are degraded: no whole ones had room"\]}$' out
ok "and used with a warning where none does" || show
run place --config topology.conf --cards 8 --state state.json --parallel tp=8,dp=8
[ "$status" -eq 0 ] && grep -q '^Warning: supernode sn1 is used though' out
ok "in words too" || show
echo 'DegradedDomains=sn2,nosuch' >supernode.conf
run place --config topology.conf --cards 8 --parallel tp=8,dp=5 --json
[ "$status" -eq 0 ] && grep -q '"supernode sn2 is used' out && grep -q 'no supernode or unit nosuch' err
ok "supernode.conf beside it may name them, and a slip there is told" || show
cat >topology.conf <<'EOF'
SupernodeName=sn1 Nodes=n[1-4] PowerLimit=20kW
SupernodeName=sn2 Nodes=n[5-8]
EOF
echo 'NodePower=6000 IdleNodePower=500' >supernode.conf
# 4 idle take 2 kW, each busy one 5.5 kW more: 3 of 4
run place --config topology.conf --cards 8 --parallel tp=32 --json
[ "$status" -eq 0 ] && grep -q '"name":"sn2"' out
ok "PowerLimit is a limit on nodes" || show
echo '{"nodes": {"n1": {"free": 4}, "n[5-8]": {"down": true}}}' >state.json
run place --config topology.conf --cards 8 --state state.json --parallel tp=4,dp=5 --json
[ "$status" -eq 0 ] && grep -q '"nodes":"n\[1-3\]"' out
ok "a node that is busy already can be shared" || show
no "what would draw too much is told" 'PowerLimit' \
	place --config topology.conf --cards 8 --state state.json --parallel tp=4,dp=6
rm supernode.conf
small_cluster

run place --config topology.conf --cards 64 --parallel tp=64 --json
[ "$status" -eq 0 ] && grep -q '\["n1",63\]' out
ok "64 cards a node" || show
finish
