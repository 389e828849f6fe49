#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What Slurm's own commands and variables say of the topology: scontrol show
# topology [name] [node], SLURM_TOPOLOGY_ADDR, and --exclusive=topo.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=a Nodes=n[001,004,007,010] SpareNodes=1
	SupernodeName=b Nodes=n[002,005,008]
	SupernodeName=c Nodes=n[003,006,009] PoolMemory=2T
	UnitName=u1 Nodes=n[001,007]
	UnitName=u2 Nodes=n[004,010]
	FabricName=pod1 Supernodes=a,b
	FabricName=core Fabrics=pod1
END
start_cluster
rm -f "$CL_TOPOLOGY"
VERSION=$(slurm_version_of "$SN_SLURM_PREFIX/sbin/slurmctld")
is_at_least() # 25.11
{
	[ "$(printf '%s\n' "$1" "$VERSION" | sort -V | head -n 1)" = "$1" ]
}

# Each line's KEY=NAME, in the order they are printed.
named() # ARGUMENT…
{
	show_topology "$@" 2>&1 | sed 's/ .*//' | paste -sd' '
}
all="SupernodeName=a SupernodeName=b SupernodeName=c SupernodeName=n011 SupernodeName=n012 UnitName=u1 UnitName=u2 FabricName=pod1 FabricName=core"
is "show topology: everything" "$(named)" "$all"
text=$(show_topology a)
like "a supernode: its nodes" "$text" '^SupernodeName=a Nodes=n\[001,004,007,010\] '
like "its fabric and spare" "$text" 'NodeCount=4 Fabric=pod1 SpareNodes=1'
is "and nothing else" "$(wc -l <<<"$text")" 1
like "its pool" "$(show_topology c)" 'PoolMemory=2T'
like "a unit" "$(show_topology u2)" '^UnitName=u2 Nodes=n\[004,010\] Supernode=a$'
like "a fabric has its supernodes' nodes" "$(show_topology pod1)" '^FabricName=pod1 Nodes=n\[001-002,004-005,007-008,010\] Fabric=core$'
is "a node: all that it is in" "$(named n004)" "SupernodeName=a UnitName=u2 FabricName=pod1 FabricName=core"
is "a node in no fabric" "$(named n006)" "SupernodeName=c"
like "a loose node" "$(show_topology n012)" '^SupernodeName=n012 Nodes=n012 NodeCount=1 Loose=yes$'
is "a loose node: only itself" "$(named n012)" "SupernodeName=n012"
like "no such name" "$(show_topology nosuch 2>&1)" 'named nosuch'
is "lines are cut where Slurm cuts them" "$(SLURM_TOPO_LEN=15 show_topology b)" "SupernodeName=b"
if is_at_least 25.11; then
	# More words: the topology's name and then the node.
	like "unit=" "$(scontrol show topology unit=b 2>&1)" '.'
fi

# Each task's address.
cat >address.sh <<-'END'
	#!/bin/sh
	echo "$SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"
END
chmod +x address.sh
timeout 60 srun -N11 -n11 -x n010 ./address.sh 2>&1 | sort >address.out
is "SLURM_TOPOLOGY_ADDR" "$(cat address.out)" "n001 core.pod1.a.u1.n001 fabric.fabric.supernode.unit.node
n002 core.pod1.b.n002 fabric.fabric.supernode.node
n003 c.n003 supernode.node
n004 core.pod1.a.u2.n004 fabric.fabric.supernode.unit.node
n005 core.pod1.b.n005 fabric.fabric.supernode.node
n006 c.n006 supernode.node
n007 core.pod1.a.u1.n007 fabric.fabric.supernode.unit.node
n008 core.pod1.b.n008 fabric.fabric.supernode.node
n009 c.n009 supernode.node
n011 n011 node
n012 n012 node"
id=$(submit -N1 -w n004 -n1 ./address.sh)
ok "a batch script ends" await "$id" COMPLETED
is "it has one, too" "$(cat "$WORK/$id.out")" "n004 core.pod1.a.u2.n004 fabric.fabric.supernode.unit.node"

# --exclusive=topo: the whole supernode, a loose node's is itself.
a=$(SN_STEP=no submit -N1 -w n011 --exclusive=topo "$TESTS/held.sh")
ok "a loose node for itself" await "$a" RUNNING
is "the rest is others'" "$(try -N10 --exclusive | sed 's/ .*//')" "a:3"
b=$(SN_STEP=no submit -N1 -w n005 --exclusive=topo "$TESTS/held.sh")
ok "b for itself" await "$b" RUNNING
is "b is nobody else's, a and c are" "$(try -N6 --exclusive)" "a:3 c:3"
waits "a node of b waits" -N1 -w n002
vacate "$WAITING"
scancel "$b"
ok "b is free" until_true 60 nothing_ends
is "and then it is others'" "$(try -N1 -w n002)" "b:1"
# Who is alone stays so when slurmctld starts anew, and by the new file's name.
b=$(SN_STEP=no submit -N1 -w n005 --exclusive=topo "$TESTS/held.sh")
ok "b for itself again" await "$b" RUNNING
sed -i 's/^SupernodeName=b/SupernodeName=bb/; s/=a,b$/=a,bb/' "$CL_DIR/etc/topology.conf"
ok "b has another name" scontrol reconfigure
ok "slurmctld answers" until_true 30 ctld_answers
is "show topology knows it" "$(named n005)" "SupernodeName=bb FabricName=pod1 FabricName=core"
waits "a node of it still waits" -N1 -w n002
vacate "$WAITING" "$a" "$b"
timeout 60 srun -N1 -w n002 ./address.sh >address.out 2>&1
is "the node has the new address" "$(cat address.out)" "n002 core.pod1.bb.n002 fabric.fabric.supernode.node"
finish
