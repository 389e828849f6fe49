#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun --preflight: each thing that can be wrong with one node is named, with
# what was expected and found, and a spare of its supernode takes its place.
. "$(dirname "$0")/lib.sh"
CL_NODES=8 CL_PER=4
CL_EXTRA="TaskProlog=$TESTS/preflight-prolog"
chmod +x "$TESTS/preflight-prolog" 2>/dev/null
start_cluster
PATH=$SN_BUILDDIR/launcher:$PATH
command -v snrun >/dev/null || bail "snrun is built"

# sn1 is n001 n003 n005 n007, sn2 the others; six of eight nodes run ranks, so each
# supernode has one spare.
LAYOUT=tp=8,dp=6
for n in "${CL_NAME[@]}"; do
	echo 24.1.0 >"$CL_DIR/nodes/$n/version"
done
cat >>"$CL_DIR/etc/supernode.conf" <<END
PreflightVersions="cat $CL_DIR/nodes/\$SLURMD_NODENAME/version; uname -r"
PreflightProgram="$WORK/sample"
PreflightTimeout=8 PreflightMemory=1M
END
cat >sample <<END
#!/bin/bash
if [ -e $CL_DIR/nodes/\$SLURMD_NODENAME/sample ]; then . $CL_DIR/nodes/\$SLURMD_NODENAME/sample; fi
END
chmod +x sample

# On a busy machine the network's speed is anyone's guess; the node that is slow
# here by purpose is so by far more.
echo "PreflightSlow=25" >>"$CL_DIR/etc/supernode.conf"

exec 5> >(exec salloc -Q -N8 --ntasks-per-node=8 --gres=npu:8 bash -s >salloc.out 2>&1)
# try NAME: the files of NAME say how it went
try()
{
	cat >&5 <<-END
		cd $WORK
		SUPERNODE_JOB_DIR=$WORK/job-$1 timeout 120 snrun --preflight --parallel=$LAYOUT sh -c 'echo rank \$SLURM_PROCID on \$SLURMD_NODENAME' >$1.out 2>$1.err </dev/null
		echo \$? >$1.rc.new; mv $1.rc.new $1.rc
	END
	until_true 150 test -s "$1.rc" || bail "preflight $1 ends" "$(cat salloc.out "$1.err" 2>&1)"
}
ranks_of() # NAME: the nodes that ran ranks
{
	sed -n 's/^rank [0-9]* on //p' "$1.out" | sort -u | tr '\n' ' '
}
json() # NAME EXPRESSION over d
{
	python3 -c "import json; d = json.load(open('$WORK/job-$1/preflight.json')); print($2)"
}
# named NAME NODE REGEX REPLACED-BY: exactly this node, by a sentence like this
named()
{
	is "$1: snrun runs the ranks" "$(cat "$1.rc") $(grep -c '^rank' "$1.out")" "0 48"
	like "$1: the node is named, with what was expected and found" "$(grep '^snrun: preflight: ' "$1.err")" "^snrun: preflight: $2: $3\$"
	is "$1: no other is" "$(grep -c '^snrun: preflight: ' "$1.err")" 1
	like "$1: a spare of its supernode takes its place" "$(cat "$1.err")" "^snrun: node $4 takes the place of $2\$"
	is "$1: nothing runs on it" "$(ranks_of "$1" | grep -c "$2 ")" 0
	diag "$1: $(grep preflight: "$1.err")"
}

begin=$(date +%s%N)
try well
diag "all is well, in $(json well "d['milliseconds']") ms; with the ranks $((($(date +%s%N) - begin) / 1000000)) ms"
is "well: exit 0, 48 ranks" "$(cat well.rc) $(grep -c '^rank' well.out)" "0 48"
is "well: nothing is said" "$(grep preflight well.err)" ""
is "well: on the first three nodes of each supernode" "$(ranks_of well)" "n001 n002 n003 n004 n005 n006 "
is "well: preflight.json" "$(json well "d['passed'], len(d['nodes']), d['faults'], all(n['bandwidth'] > 0 and n['latency_ns'] > 0 and n['memory'] > 1 << 20 and n['versions'][0] == '24.1.0' for n in d['nodes'].values())")" "True 8 [] True"
diag "median $(json well "d['median_latency_ns'], d['median_bandwidth']")"

echo 24.0.rc1 >"$CL_DIR/nodes/n003/version"
try version
named version n003 'the version by ".*/version": expected "24.1.0" as on 7 other nodes, found "24.0.rc1"' n007
is "version: in preflight.json of the last check it is no more" "$(json version "d['passed'], len(d['nodes'])")" "True 7"
echo 24.1.0 >"$CL_DIR/nodes/n003/version"

device=$CL_DIR/nodes/n002/dev/davinci5
if [ "$CL_MODE" = netns ]; then
	pid=$(node_first n002 | awk '{ print $1 }')
	device=/proc/$pid/root/dev/davinci5
fi
mv "$device" "$device.away"
try card
named card n002 'card: expected /.*/davinci5 of card 5, found No such file or directory' n008
mv "$device.away" "$device"

if [ "$CL_MODE" = netns ]; then
	# As a rank of an earlier run, which still listens for the others of card 3.
	echo "HcclIfBasePort=59000" >>"$CL_DIR/etc/supernode.conf"
	nsenter -t "$(node_first n003 | awk '{ print $1 }')" -n -p python3 -c '
import socket, time
s = socket.create_server(("", 59003))
print("listens", flush=True)
time.sleep(200)' >listener.out &
	listener=$!
	until_true 20 grep -qs listens listener.out
	try port
	named port n003 'port: expected port 59003 free for HCCL, found Address already in use' n007
	kill "$listener"
	sed -i /^HcclIfBasePort=/d "$CL_DIR/etc/supernode.conf"
fi

echo 'echo "loss is NaN"; exit 3' >"$CL_DIR/nodes/n001/sample"
try program
named program n001 "program: expected success of the site's program, found exit status 3: loss is NaN" n007
# The first node of the job, where rank 0 was.
rm "$CL_DIR/nodes/n001/sample"

# A node that does not answer at all: its task stands still.
echo 'kill -STOP $(awk "{ print \$4 }" /proc/$PPID/stat) $PPID; exec sleep 1000' >"$CL_DIR/nodes/n004/sample"
begin=$(date +%s)
try hang
named hang n004 'its own checks: expected an answer within 18 s, found none' n008
like "hang: it is not waited for longer" "$(($(date +%s) - begin))" '^([0-9]|[1-5][0-9])$'
is "hang: its step is gone" "$(squeue -h -s -o %j | grep -c preflight)" 0
# One whose program hangs says so itself.
echo 'exec sleep 1000' >"$CL_DIR/nodes/n004/sample"
try sleeps
named sleeps n004 "program: expected success of the site's program, found had not ended after [78] s and was killed" n008
rm "$CL_DIR/nodes/n004/sample"

if cc -shared -fPIC -o fake.so "$TESTS/preflight-fake.c" -ldl 2>cc.out; then
	printf 'export LD_PRELOAD=%s/fake.so\nexport FAKE_CLOCK_S=-7\n' "$WORK" >"$CL_DIR/nodes/n005/task-env"
	try clock
	named clock n005 'the clock: expected at most 1.000 s from the others, found [67]\.[0-9]* s behind' n007
	rm "$CL_DIR/nodes/n005/task-env"
	printf 'export LD_PRELOAD=%s/fake.so\nexport FAKE_SEND_MS=80\n' "$WORK" >"$CL_DIR/nodes/n006/task-env"
	try slow
	like "slow: the node is named by its latency" "$(grep 'preflight: n006' slow.err)" "n006: the network's latency: expected a round trip below 25 times the median, .* ms, found (8|9|1[0-9]{2})[0-9.]* ms"
	is "slow: and no other node" "$(grep '^snrun: preflight: ' slow.err | grep -vc 'preflight: n006')" 0
	like "slow: a spare takes its place" "$(cat slow.err)" '^snrun: node n008 takes the place of n006$'
	rm "$CL_DIR/nodes/n006/task-env"
else
	pass "a wrong clock, a slow network # SKIP no compiler"
fi

# Two bad nodes in one supernode, and one spare.
echo 1 >"$CL_DIR/nodes/n001/version"
echo 1 >"$CL_DIR/nodes/n005/version"
try none_left
like "none left: snrun ends" "$(cat none_left.rc)" '^[1-9]'
like "none left: it says why" "$(cat none_left.err)" 'no spare for node n00[15] is left in its supernode sn1'
is "none left: both were named" "$(grep -cE 'preflight: n00[15]: the version' none_left.err)" 2
is "none left: no rank ran" "$(grep -c '^rank' none_left.out)" 0
echo 24.1.0 >"$CL_DIR/nodes/n001/version"
echo 24.1.0 >"$CL_DIR/nodes/n005/version"

# By policy.
echo "Preflight=yes" >>"$CL_DIR/etc/supernode.conf"
echo "cd $WORK; SUPERNODE_JOB_DIR=$WORK/job-policy snrun --parallel=$LAYOUT true </dev/null; echo \$? >policy.rc.new; mv policy.rc.new policy.rc" >&5
ok "by policy: it ends" until_true 100 test -s policy.rc
is "by policy: the nodes are checked without the option" "$(cat policy.rc) $(json policy "d['passed']")" "0 True"

# What one generation records is the next one's timeouts: collectives of 250 s.
cat >slow-collective <<'END'
#!/bin/bash
[ "$SLURM_PROCID" = 0 ] || exit 0
records=$SUPERNODE_JOB_DIR/records
mkdir -p "$records"
if [ ! -e "$records/rank-0.jsonl" ]; then
	for comm in dp_0 tp_0; do
		echo "{\"rank\":0,\"gen\":0,\"comm\":\"$comm\",\"members\":\"0-47\",\"index\":0,\"took\":1000}"
		for i in {10..49}; do
			echo "{\"rank\":0,\"gen\":0,\"comm\":\"$comm\",\"seq\":$i,\"op\":\"all_reduce\",\"bytes\":104857600,\"arrive\":${i}000000000000,\"end\":${i}250000000000}"
		done
	done >"$records/rank-0.jsonl"
	exit 1
fi
echo "exec ${HCCL_EXEC_TIMEOUT-unset} comm ${SUPERNODE_COMM_TIMEOUT-unset} connect ${HCCL_CONNECT_TIMEOUT-unset} buffer ${HCCL_BUFFSIZE-unset}"
END
chmod +x slow-collective
echo "sed -i /^Preflight=yes/d $CL_DIR/etc/supernode.conf
cd $WORK; export SUPERNODE_JOB_DIR=$WORK/job-learn; snrun --max-restarts=1 --parallel=$LAYOUT ./slow-collective >learn.out 2>learn.err </dev/null
rm -r job-learn/records; HCCL_EXEC_TIMEOUT=7 snrun --max-restarts=1 --parallel=$LAYOUT ./slow-collective >learn2.out 2>&1 </dev/null
echo \$? >learn.rc.new; mv learn.rc.new learn.rc" >&5
ok "timeouts: it ends" until_true 100 test -s learn.rc
like "timeouts: ten times what is usual, in the next generation" "$(cat learn.out)" '^exec 2500 comm 2500 connect 1800 buffer unset$'
is "timeouts: timeouts.json" "$(python3 -c "
import json; d = json.load(open('job-learn/timeouts.json'))
print(d['suggest']['HCCL_EXEC_TIMEOUT'], d['suggest']['SUPERNODE_COMM_TIMEOUT'], d['suggest']['HCCL_CONNECT_TIMEOUT'], d['suggest']['HCCL_BUFFSIZE'], d['collectives'])")" "2500 2500 1800 120 32"
like "timeouts: the user's own stays" "$(cat learn2.out)" '^exec 7 comm 2500 '
echo exit >&5
exec 5>&-
no_jobs()
{
	[ -z "$(squeue -h)" ]
}
ok "the job ends" until_true 30 no_jobs

# The usual way: a job of --parallel with a spare node in each supernode.
echo 1 >"$CL_DIR/nodes/n003/version"
cat >usual.sh <<END
#!/bin/bash
SUPERNODE_JOB_DIR=$WORK/job-usual snrun --preflight sh -c 'echo rank \$RANK on \$SLURMD_NODENAME' 2>$WORK/usual.err
END
id=$(submit --parallel=tp=8,dp=3 --spares=1 usual.sh)
ok "usual: a batch job ends well" await "$id" COMPLETED
[ "$(state_of "$id")" = COMPLETED ] || diag "$(cat usual.err "$WORK/$id.out" 2>&1)"
is "usual: all ranks ran" "$(sed -n 's/^rank \([0-9]*\) on.*/\1/p' "$WORK/$id.out" | sort -n | tr '\n' ' ')" "$(seq -s ' ' 0 23) "
is "usual: the spare takes the bad node's place" "$(grep takes usual.err)" "snrun: node n007 takes the place of n003"
is "usual: nothing runs on it" "$(sed -n 's/.* on //p' "$WORK/$id.out" | sort -u | tr '\n' ' ')" "n001 n005 n007 "
diag "$(cat usual.err)"
finish
