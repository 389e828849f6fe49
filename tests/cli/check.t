#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl check: counts, warnings, and where the files are looked for.
. "$SN_SRCDIR/tests/cli/lib.sh"

contract_cluster
says "counts" 'topology.conf: ok: 16 supernodes, 784 nodes, 112 units, 5 fabrics in 2 levels' \
	check --config topology.conf
! grep -q warning out
ok "no warnings of a plain cluster" || show
says "counts as JSON" \
'{"files": [{"file":"topology.conf","ok":true,"supernodes":16,"nodes":784,"units":112,"fabrics":5,"fabric_levels":2}], "warnings": []}' \
	check --config topology.conf --json

mkdir site
mv topology.conf site/
SLURM_CONF=$dir/site/slurm.conf
export SLURM_CONF
run check
[ "$status" -eq 0 ] && grep -q '/site/topology.conf: ok' out
ok "beside slurm.conf" || show
unset SLURM_CONF

echo 'CardGres=gpu' >site/supernode.conf
run check --config site/topology.conf
[ "$status" -eq 0 ] && grep -q 'site/supernode.conf: ok.*CardGres=gpu' out
ok "supernode.conf beside it is read too" || show
echo 'CardGress=gpu' >site/supernode.conf
refuse "and refused by its name" 'supernode.conf:1:.*CardGres' check --config site/topology.conf

contract_cluster
mkdir slurm
mv topology.conf slurm/
cat >slurm/slurm.conf <<'EOF'
# comment
ClusterName=c
TopologyPlugin=topology/supernode
SelectType=select/supernode
JobSubmitPlugins=supernode
GresTypes=npu
NodeName=DEFAULT CPUs=4
NodeName=n[001-400] Gres=npu:8
Include more.conf
EOF
echo 'NodeName=n[401-784] Gres=npu:8' >slurm/more.conf
echo 'required spank_supernode.so' >slurm/plugstack.conf
for i in 0 1 2 3 4 5 6 7; do
	echo "Name=npu File=/dev/davinci$i"
done >slurm/gres.conf
run check --config slurm/topology.conf
[ "$status" -eq 0 ] && ! grep -q warning out
ok "a slurm.conf with the same nodes" || show
echo 'NodeName=n[401-780],x[1-3]' >slurm/more.conf
sed -i s/^TopologyPlugin.*/TopologyPlugin=topology-block/ slurm/slurm.conf
run check --config slurm/topology.conf
[ "$status" -eq 0 ] && grep -q 'warning: 4 nodes are not in slurm.conf, the first is n781 of supernode sn16' out
ok "nodes that slurm.conf does not know" || show
grep -q 'warning: 3 nodes of slurm.conf are in no supernode, the first is x1' out
ok "nodes that topology.conf does not know" || show
grep -q 'warning: slurm.conf has TopologyPlugin=topology-block' out
ok "another topology plugin" || show

cat >topology.conf <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
SupernodeName=sn2 Nodes=n[5-7]
UnitName=u1 Nodes=n[1-4]
EOF
run check --config topology.conf
[ "$status" -eq 0 ] && [ "$(grep -c 'topology.conf: warning: ' out)" -eq 2 ]
ok "what is legal but odd is only warned of" || show
finish
