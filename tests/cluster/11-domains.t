#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Supernodes of every size, nodes that move between them, and loose nodes: more
# cases from public bug reports (6, 8 and 11).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=18 CL_PER=6 CL_PODS=0 CL_UNIT=0
# 5, 3, 7 and 1 node, and two loose ones.
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=a Nodes=n[001,003,005,007,009]
	SupernodeName=b Nodes=n[002,004,006]
	SupernodeName=c Nodes=n[008,010-015]
	SupernodeName=d Nodes=n016
END
start_cluster
rm -f "$CL_TOPOLOGY"
before=$(ctld_pid)

# 6. No size makes it stumble.
is "6: 3 nodes: the supernode of 3" "$(try -N3)" "b:3"
is "6: 5 nodes: the supernode of 5" "$(try -N5)" "a:5"
is "6: 7 nodes" "$(try -N7 --segment=7)" "c:7"
is "6: 8 nodes: what leaves the fewest over" "$(try -N8)" "a:5 b:3"
is "6: 1 node: the supernode of one" "$(try -N1)" "d:1"
is "6: everything" "$(try -N18)" "a:5 b:3 c:7 d:1 n017 n018"
is "6: segments of 3 in 5, 3 and 7" "$(try -N12 --segment=3)" "a:3 b:3 c:6"
is "6: single nodes as segments" "$(try -N9 --segment=1)" "b:3 c:6"
for n in 0 0-0 0-3; do
	sbatch --test-only "-N$n" --wrap true >/dev/null 2>&1
	srun --test-only "-N$n" true >/dev/null 2>&1
done
refused "6: no segment of 8 in 7" 'largest supernode.* 7 nodes' -N8 --segment=8
refused "6: nor of 65000" 'largest supernode.* 7 nodes' -N65000 --segment=65000
is "6: slurmctld is the same process" "$(ctld_pid)" "$before"

# 11. A node that moves is in its new supernode, and only there.
sed -i -e 's/^SupernodeName=b .*/SupernodeName=b Nodes=n[002,004,006,009]/' \
	-e 's/^SupernodeName=a .*/SupernodeName=a Nodes=n[001,003,005,007]/' "$CL_DIR/etc/topology.conf"
ok "11: reconfigure" scontrol reconfigure
ok "11: slurmctld answers" until_true 20 ctld_answers
ok "11: all nodes are back" until_true 60 nodes_idle
is "11: 4 nodes with the moved one" "$(try -N4 -w n009)" "b:4"
is "11: the old supernode is without it" "$(try -N4 -w n001)" "a:4"
is "11: 5 nodes need another supernode" "$(try -N5 --segment=5)" "c:5"
refused "11: segments of 4 fit once in each of three" 'hold 3 of 4 nodes' -N16 --segment=4
finish
