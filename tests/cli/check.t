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

# The inventory.
rm -rf site && mkdir site
echo 'SupernodeName=sn[1-2] Nodes=n[1-4]' >site/topology.conf
golden=$SN_SRCDIR/tests/golden/ranktable
cp "$golden/a3-inventory.json" site/inventory.json
echo "RankTable=1.2 Inventory=$dir/site/inventory.json" >site/supernode.conf
says "an inventory that fits" "$dir/site/inventory.json: ok: 8 cards of 4 nodes for RankTable=1.2" \
	check --config site/topology.conf
! grep -q warning out
ok "no warnings of it" || show
says "as JSON" \
'{"files": [{"file":"site/topology.conf","ok":true,"supernodes":2,"nodes":4,"units":0,"fabrics":0,"fabric_levels":0},{"file":"site/supernode.conf","ok":true,"card_gres":"npu","small_job_cards":0},{"file":"'"$dir/site/inventory.json"'","ok":true,"rank_table":"1.2","nodes":4,"cards":8}], "warnings": []}' \
	check --config site/topology.conf --json
sed -i s/16777216/12582912/ site/inventory.json
refuse "the same id twice in a super pod" 'inventory.json: inventory: card 0 of n1 and card 0 of n2 both have super_device_id 12582912' \
	check --config site/topology.conf
cp "$golden/950-inventory.json" site/inventory.json
refuse "another generation's" 'Ascend 950, which refuses a table of version 1.2 (EI0014)' check --config site/topology.conf
echo 'RankTable=1.2' >site/supernode.conf
refuse "no inventory" 'give Inventory=PATH or InventoryProgram=PATH' check --config site/topology.conf
echo "RankTable=1.0 Inventory=$dir/site/%n.conf" >site/supernode.conf
for i in 1 2 3; do echo "address_0=192.0.2.$i" >site/n$i.conf; done
echo 'NodeName=n[1-4] Gres=npu:2' >site/slurm.conf
run check --config site/topology.conf
[ "$status" -eq 0 ] && grep -q 'site/%n.conf: warning: 1 node of topology.conf is not in it, the first is n4' out &&
	! grep -q 'topology.conf: warning: .*not in it' out
ok "nodes that lack are warned of" || show
grep -q 'site/%n.conf: warning: slurm.conf has Gres=npu:2, and 3 nodes have another number of cards here, the first is n1 with 1' out
ok "so are counts of cards" || show
echo 'address_0=192.0.2.1' >site/n2.conf
refuse "the same address twice" 'card 0 of n1 and card 0 of n2 both have device_ip 192.0.2.1' check --config site/topology.conf
cat >site/program <<'EOF'
#!/bin/sh
echo $1 >>"$0.asked"
echo '{"cards":[{"device_id":0,"device_ip":"192.0.2.'${1#n}'"}]}'
EOF
chmod +x site/program
echo "RankTable=1.0 InventoryProgram=$dir/site/program" >site/supernode.conf
rm site/slurm.conf
says "a program" "$dir/site/program: ok: 2 cards of 2 nodes for RankTable=1.0; asked about the first node of each supernode" \
	check --config site/topology.conf
[ "$(sort site/program.asked | tr '\n' ' ')" = 'n1 n3 ' ]
ok "is asked once for a supernode" || show
printf '#!/bin/sh\nsleep 300\n' >site/program
echo "RankTable=1.0 InventoryTimeout=1 InventoryProgram=$dir/site/program" >site/supernode.conf
refuse "one that hangs is named" 'site/program n[13]: had not ended after 1 s and was killed' check --config site/topology.conf
finish
