#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl groups verify: what the issue wants found among 10,240 ranks, files in
# every state, and the records of the C and the Python library.
. "$SN_SRCDIR/tests/cli/lib.sh"
if ! command -v python3 >/dev/null; then
	echo "1..0 # SKIP no python3 to write records"
	exit 0
fi
records() { # DIR ARGUMENT…
	rm -rf "$1"
	python3 "$SN_SRCDIR/tests/cli/records.py" groups.json "$@"
}
first() { # NAME TEXT DIR ARGUMENT…: status 1, and the first finding begins so
	name=$1 text=$2
	shift 2
	run groups verify "$@"
	[ "$status" -eq 1 ] && [ ! -s err ] && sed -n 2p out | grep -qF -- "1. $text"
	ok "$name" || show
}

# ---- a large job ----
large=tp=8,ep=64,etp=1,pp=10,dp=128
"$SNCTL" groups --parallel $large --json >groups.json
records large
cat >timed.py <<'EOF2'
import resource, subprocess, sys, time
begin = time.monotonic()
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("# 10240 files: %.2f s, of processor time %.2f s" % (time.monotonic() - begin, used.ru_utime + used.ru_stime), file=sys.stderr)
sys.exit(code)
EOF2
python3 timed.py "$SNCTL" groups verify large --parallel $large >out 2>err
status=$?
cat err
grep -q '^generation 1: 10240 of 10240 ranks, .* all agree$' out
ok "10,240 ranks agree" || show
# How long it took stands above, for whoever wants to know: the build and the
# machine decide it, so it is nothing to fail by.
[ "$status" -eq 0 ]
ok "which is exit status 0" || show
records large swap=100,5000
first "a swapped pair among 10,240" 'ranks 100 and 5000 are swapped: rank 100 (n0012) has [5000,5001,5002,5003,5004,5005,5006,5007] as tp_625' large
records large bytes=777
first "a size that differs" 'dp_1, all_reduce 2: rank 777 (n0097) has 8704 bytes, ranks 1, 9, 17, 25 and 123 more have 8192 bytes' large
records large cycle=3,9000,4001
first "a cycle of three communicators" 'a cycle: rank 3 (n0000) waits in ring_0 (broadcast 1) for rank 9000 (n1125), which waits in ring_1 (broadcast 1) for rank 4001 (n0500), which waits in ring_2 (broadcast 1) for rank 3 (n0000)' large
records large absent=8191
first "one that never arrived" 'rank 8191 (n1023) never arrived in world_0 (all_reduce 2), where ranks 0, 1, 2, 3 and 10235 more wait; the last it did there is all_reduce 1' large
rm -rf large

# ---- files ----
"$SNCTL" groups --parallel tp=2,dp=2 --json >groups.json
records job/records
printf '{"layout":{"tp":2,"dp":2,"order":"tp-cp-ep-dp-pp"},"ranks":[["n0000",0],["n0000",1],["n0000",2],["n0000",3]]}\n' >job/layout.json
says "a job's directory stands for its records" 'generation 1: 4 of 4 ranks, 19 communicators: all agree' groups verify job
says "the records' directory" 'generation 1: 4 of 4 ranks, 19 communicators: all agree' groups verify job/records
says "single files" 'generation 1: 4 of 4 ranks, 19 communicators: all agree' \
	groups verify job/records/rank-0.jsonl job/records/rank-1.jsonl job/records/rank-2.jsonl job/records/rank-3.jsonl
cat job/records/*.jsonl >one
says "all in one file" 'generation 1: 4 of 4 ranks, 19 communicators: all agree' groups verify one --layout job/layout.json
cp job/layout.json good.json
sed 's/n0000",3/n0001",3/' good.json >job/layout.json
first "a rank on another node than layout.json says" 'rank 3 runs on n0000, and the layout has it on n0001' job
sed 's/n0000/other/g' good.json >job/layout.json
says "names of hosts that are none of the job's nodes say nothing" 'generation 1: 4 of 4 ranks, 19 communicators: all agree' groups verify job
cp good.json job/layout.json
run groups verify job --parallel tp=4
[ "$status" -eq 1 ] && grep -q 'by the layout tp group 0 is \[0,1,2,3\]' out
ok "another layout than the job's" || show
# snrun's layout.json has the preset in its spec; by Megatron's rule these sizes are
# refused in that order, and their EP groups others.
vllm=tp=2,dp=2,pp=2,ep=4,etp=1,preset=vllm
"$SNCTL" groups --parallel $vllm --json >vllm.json
rm -rf vllm
python3 "$SN_SRCDIR/tests/cli/records.py" vllm.json vllm/records
printf '{"layout":{"tp":2,"cp":1,"pp":2,"dp":2,"ep":4,"etp":1,"edp":1,"world":8,"order":"tp-cp-ep-pp-dp","spec":"%s"}}\n' $vllm >vllm/layout.json
run groups verify vllm
[ "$status" -eq 0 ] && grep -q ': 8 of 8 ranks, .* all agree$' out
ok "the preset of snrun's layout.json counts" || show
printf '{"rank":2,"gen":1,"comm":"dp_0","seq":3,"op":"all_re' >>job/records/rank-2.jsonl
run groups verify job/records
[ "$status" -eq 0 ] && grep -q '^1 line was cut short and passed over$' out
ok "a line cut short" || show
rm job/records/rank-3.jsonl
first "no records of a rank" 'there are no records of rank 3' job/records
echo '{"v":1,"rank":0,"gen":2,"world":4,"host":"n0000","pid":99}' >>job/records/rank-0.jsonl
first "the newest generation counts" 'there are no records of rank 3' job/records
grep -q '2. there are no records of 2 of 4 ranks: 1,2 of generation 2, only of earlier ones' out
ok "and who has none of it is named" || show
run groups verify job/records --json
[ "$status" -eq 1 ] && python3 -c '
import json
d = json.load(open("out"))
assert d["agree"] is False and d["generation"] == 2 and d["world"] == 4
f = d["findings"][0]
assert f["kind"] == "missing" and f["ranks"] == [3] and f["text"].startswith("there are no")'
ok "as JSON" || show

refuse "no such directory" 'gone: No such file' groups verify gone
mkdir empty
refuse "no records" 'empty: has no records (rank-N.jsonl)' groups verify empty
refuse "no argument" 'a directory or files' groups verify
refuse "layout twice" 'give one' groups verify job --parallel tp=2 --layout x
echo 'nonsense' >bad.jsonl
refuse "no JSON" 'bad.jsonl:1: is no line of JSON' groups verify bad.jsonl
printf '{"rank":0}\n{"rank":0,"comm":"a","members":"9-1","index":0}\n' >bad.jsonl
refuse "no list of ranks" 'bad.jsonl:2: "9-1" is no list of ranks' groups verify bad.jsonl
mkfifo fifo
refuse "a pipe is not waited for" 'not a regular file' groups verify fifo
echo '[]' >bad.json
refuse "a bad layout.json" 'has no object "layout"' groups verify one --layout bad.json
run groups verify --help
[ "$status" -eq 0 ] && grep -q 'stall' out
ok "--help"

# ---- the Python module, with a stand-in for torch.distributed ----
cat >fake.py <<'EOF2'
import os, sys, types
import supernode_records

rank = int(os.environ["RANK"])
class Tensor:
    def __init__(self, n): self.n = n
    def numel(self): return self.n
    def element_size(self): return 4
class Group:
    def __init__(self, name, ranks): self.group_name, self.ranks = name, ranks
class Work:
    def wait(self): return True
dist = types.SimpleNamespace()
dist.group = types.SimpleNamespace(WORLD=Group("0", [0, 1, 2, 3]))
dist.get_process_group_ranks = lambda g: g.ranks
dist.get_world_size = lambda g=None: 4
dist.get_rank = lambda g=None: rank if rank in (g or dist.group.WORLD).ranks else -1
dist.all_reduce = lambda tensor, op=None, group=None, async_op=False: Work() if async_op else None
dist.barrier = lambda group=None: None
dist.send = lambda tensor, dst, group=None: None
dist.recv = lambda tensor, src=None, group=None: None
made = []
def new_group(ranks):
    made.append(0)
    return Group(str(len(made)), ranks) if rank in ranks else None
dist.new_group = new_group
supernode_records.install(dist=dist)
tp = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
dist.all_reduce(Tensor(8), group=tp)
dist.all_reduce(Tensor(8 + (rank == 3 and "bytes" in sys.argv)), async_op=True).wait()
if rank % 2: dist.recv(Tensor(2), rank - 1, group=tp)
else: dist.send(Tensor(2), rank + 1, group=tp)
for i in range(100):
    with supernode_records.recorder.comm("own", [0, 1, 2, 3]).op("barrier"):
        pass
if not (rank == 2 and "absent" in sys.argv):
    dist.barrier()
EOF2
four() {
	rm -rf pyjob
	mkdir pyjob
	cp groups.json pyjob
	for i in 0 1 2 3; do
		SUPERNODE_JOB_DIR=$dir/pyjob RANK=$i WORLD_SIZE=4 SLURMD_NODENAME=n$i PYTHONDONTWRITEBYTECODE=1 \
			PYTHONPATH=$SN_SRCDIR/contrib/python python3 fake.py "$@" || return 1
	done
}
four
run groups verify pyjob --parallel tp=2,dp=2 --stall 0
[ "$status" -eq 0 ] && grep -q ': 4 of 4 ranks, 6 communicators: all agree$' out
ok "four Python ranks agree" || show
grep -q '"comm":"group_1","kind":"tp","members":"0,1","index":1' pyjob/records/rank-1.jsonl
ok "a group's kind is known from groups.json" || sed 's/^/# /' pyjob/records/rank-1.jsonl
mode=$(umask 002 && SUPERNODE_JOB_DIR=$dir/new/7 RANK=0 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SN_SRCDIR/contrib/python \
	python3 -c 'import supernode_records as s; assert s.Recorder().path' && stat -c %a new/7)
[ "$mode" = 700 ] && [ -s new/7/records/rank-0.jsonl ]
ok "a job's directory that is not there yet is made, for the user alone"
four bytes
first "a size that differs in Python" 'group_0, all_reduce 1: rank 3 (n3) has 36 bytes, ranks 0, 1 and 2 have 32 bytes' pyjob
SNRECORD_BYTES=4096
export SNRECORD_BYTES
four
unset SNRECORD_BYTES
run groups verify pyjob --stall 0
[ "$status" -eq 0 ] && [ -s pyjob/records/rank-0.jsonl.1 ] &&
	[ "$(wc -c <pyjob/records/rank-0.jsonl)" -lt 8192 ]
ok "a file that turned over tells all" || show
finish
