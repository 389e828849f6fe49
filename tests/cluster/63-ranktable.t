#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun gives the ranks an HCCL rank table that says where they are, from a file and
# from a program; after a relaunch too; and starts none where it cannot be right.
. "$(dirname "$0")/lib.sh"
CL_NODES=4 CL_PER=2 CL_PODS=1 CL_UNIT=1 CL_CARDS=4
start_cluster
[ -x "$SN_BUILDDIR/launcher/snrun" ] || bail "snrun is built"

# policy LINE…: the site's supernode.conf from now on
policy()
{
	printf '%s\n' "CardGres=npu" "JobDir=$WORK/dir/%u-%j" "$@" >"$CL_DIR/etc/supernode.conf.new"
	mv "$CL_DIR/etc/supernode.conf.new" "$CL_DIR/etc/supernode.conf"
}
# Eight ranks on two supernodes, one node of each: a shell in an allocation.
coproc ALLOC { exec salloc -Q -N2 -w n001,n002 --parallel=tp=4,dp=2 bash 2>&1; }
# job NAME COMMAND: in that shell, each with a directory of its own
job()
{
	echo "export SUPERNODE_JOB_DIR=$WORK/dir/$1; { $2; } </dev/null >$WORK/$1.out 2>&1; : >$WORK/$1.done" >&"${ALLOC[1]}"
	until_true 60 test -e "$1.done"
}
# What the table says of a rank against what is: nothing if all eight agree.
wrong()
{
	grep '^table ' "$WORK/$1.out" | awk -v "generation=$2" '
		{ n++ }
		$3 != $8 || $4 != "s-" $9 || $5 != $10 || $6 != $11 || $12 != generation { print }
		END { if (n != 8) print n, "ranks" }'
}

{
	echo '{"nodes": {'
	for i in 1 2 3 4; do
		[ "$i" = 1 ] || echo ,
		printf '"n00%s": {"server_id": "s-n00%s", "cards": [' $i $i
		for c in 0 1 2 3; do
			[ "$c" = 0 ] || printf ', '
			printf '{"device_id": %s, "super_device_id": %s, "device_ip": "192.0.2.%s"}' \
				$c $(((i << 22) | ((c / 2) << 18) | ((c % 2) << 16) | c)) $((i * 16 + c))
		done
		printf ']}'
	done
	echo '}}'
} >inventory.json

policy "RankTable=1.2 Inventory=$WORK/inventory.json"
ok "snctl takes the inventory" snctl check
job file "snrun $TESTS/table.py"
is "a job with a table from a file" "$(wrong file 0)" ""
is "of two super pods" "$(awk '/^table /{ print $6 }' file.out | sort -u | tr '\n' ' ')" "sn1 sn2 "
is "the version is the site's" "$(awk '/^table /{ print $2 }' file.out | sort -u)" 1.2

# Twice the same address: refused before any rank starts, and no table is left.
sed 's/192.0.2.33/192.0.2.16/' inventory.json >double.json
policy "RankTable=1.2 Inventory=$WORK/double.json"
job double "snrun echo started; echo status \$?; ls $WORK/dir/double/ranktable.json"
like "an address that two cards have is refused" "$(cat double.out)" "card 0 of n001 and card 1 of n002 both have device_ip 192.0.2.16"
is "no rank was started" "$(grep -c started double.out)" 0
like "which is bad input" "$(cat double.out)" "status 2"
like "and there is no table" "$(cat double.out)" "ranktable.json.*No such file"
job dry "snrun --dry-run true; echo status \$?"
like "--dry-run says it too" "$(cat dry.out)" "both have device_ip 192.0.2.16"
like "with a status that is not 0" "$(cat dry.out)" "status 2"

policy "RankTable=2.0 Inventory=$WORK/inventory.json"
job generation "snrun echo started"
like "another generation's inventory is refused" "$(cat generation.out)" "RankTable=2.0 is for Ascend 950.*EI0014"

# A table of the user's own.
policy
echo '{"status": "completed", "server_li' >half.json
job half "export RANK_TABLE_FILE=$WORK/half.json; snrun sh -c 'echo \$RANK_TABLE_FILE'; unset RANK_TABLE_FILE"
like "a half-written table of the user's is told of" "$(cat half.out)" "RANK_TABLE_FILE is set and kept, though the run may break: half-written rank table: $WORK/half.json"
is "and kept" "$(grep -c "^$WORK/half.json" half.out)" 8
job stale "cd $WORK; export RANK_TABLE_FILE=$WORK/dir/file/ranktable.json; mkdir -p dir/file; cp $TESTS/../golden/ranktable/1.0.json dir/file/ranktable.json; snrun true; unset RANK_TABLE_FILE"
like "so is one of other ranks" "$(cat stale.out)" "has 4 ranks, and the job 8; it is of an earlier start"

# A program, asked once a node, and not again for a relaunch.
cat >program <<END2
#!/bin/sh
echo \$1 >>$WORK/asked
echo '{"server_id": "s-'\$1'", "cards": ['
for c in 0 1 2 3; do
	[ \$c = 0 ] || echo ,
	echo '{"device_id": '\$c', "device_ip": "198.51.100.'\$((\${1#n00} * 16 + c))'"}'
done
echo ']}'
END2
chmod +x program
policy "RankTable=1.0 InventoryProgram=$WORK/program"
cat >again <<END2
#!/bin/sh
[ "\$SUPERNODE_GENERATION" != 0 ] || exit 1
exec $TESTS/table.py
END2
chmod +x again
job program "snrun --max-restarts 2 $WORK/again"
is "a relaunch has a table of its generation" "$(grep '^table ' program.out | sed 's/ - is / sn is /' | awk '$3 != $8 || $4 != "s-" $9 || $5 != $10 || $12 != 1 { print } { n++ } END { if (n != 8) print n, "ranks" }')" ""
is "the program was asked once for each node" "$(sort asked | tr '\n' ' ')" "n001 n002 "

cp program answers
printf '#!/bin/sh\nexec sleep 300\n' >program
policy "RankTable=1.0 InventoryProgram=$WORK/program InventoryTimeout=1"
job hang "snrun echo started"
like "a program that hangs is killed and named" "$(cat hang.out)" "$WORK/program n00[12]: had not ended after 1 s and was killed"

# Without snrun there is no table, and nobody is told of one.
policy "RankTable=1.2 Inventory=$WORK/inventory.json"
job plain 'srun sh -c "echo table=\${RANK_TABLE_FILE-none} id=\$RANK_ID size=\$RANK_SIZE"'
is "plain srun: no table, but ids" "$(sort plain.out | head -n 1)" "table=none id=0 size=8"
alloc=$ALLOC_PID # gone with the process
echo exit >&"${ALLOC[1]}"
ok "the allocation ends" until_true 30 eval "! kill -0 $alloc 2>/dev/null"
# A node that is still ending it would be passed over for the next.
ok "and gives its nodes back" until_true 30 eval '[ -z "$(squeue -h)" ]'

# Ranks fail twice on a node, and a spare takes its place: the table says so, and the
# program is asked about it.
cp answers program
rm -f asked
policy "RankTable=1.0 InventoryProgram=$WORK/program"
cat >thrice <<END2
#!/bin/sh
[ "\$SUPERNODE_GENERATION" -ge 2 ] || exit 1
exec $TESTS/table.py
END2
chmod +x thrice
timeout 100 salloc -Q --parallel=tp=4 --spares=1 snrun --max-restarts 3 "$WORK/thrice" >spare.out 2>&1
is "after a swap the table has the spare" \
	"$(grep '^table ' spare.out | sed 's/ - is / sn is /' | awk '$3 != $8 || $4 != "s-" $9 || $5 != $10 || $12 != 2 { print } { n++ } END { if (n != 4) print n, "ranks" }')" ""
is "the program was asked about both nodes, once" "$(sort asked | tr '\n' ' ')" "n001 n003 "
like "the one that now runs is the second asked about" "s-$(tail -n 1 asked)" "^$(awk '/^table /{ print $4 }' spare.out | sort -u)\$"
finish
