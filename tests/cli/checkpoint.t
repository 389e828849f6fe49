#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The program's side of the checkpoint protocol in Python: requests by signal and by
# file, of this generation only; marker and progress; MindIO's controller is asked.
. "$SN_SRCDIR/tests/cli/lib.sh"
if ! command -v python3 >/dev/null; then
	echo "1..0 # SKIP no python3"
	exit 0
fi
PYTHONPATH=$SN_SRCDIR/contrib/python PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
unset SUPERNODE_JOB_DIR SUPERNODE_GENERATION RANK SLURM_PROCID
ask() { printf '{"request":%s,"generation":%s,"why":"%s","then":"exit","soft":5,"hard":9}' "$1" "$2" "${3:-resize}" >job/checkpoint.request; }
mkdir job

python3 -c '
import supernode_checkpoint as c
a = c.Request(every=0)
assert not a.wanted()
a.done(3); a.progress(3)
assert c.watch(print) is None'
ok "outside a job nothing happens"

SUPERNODE_JOB_DIR=$PWD/job SUPERNODE_GENERATION=2
export SUPERNODE_JOB_DIR SUPERNODE_GENERATION
python3 -c '
import os, signal, supernode_checkpoint as c
a = c.Request(every=0)
assert not a.wanted()
os.kill(os.getpid(), signal.SIGTERM)
assert a.wanted() and a.wanted()
a.progress(39)
a.done(40)
assert not a.wanted()' && [ "$(cat job/checkpoint) $(cat job/progress)" = "40 39" ]
ok "by SIGTERM; the marker and progress"
RANK=3 python3 -c '
import supernode_checkpoint as c
c.Request(every=0).done(41)' && [ "$(cat job/checkpoint)" = 40 ]
ok "rank 0 writes the marker alone"
ask 7 1
python3 -c '
import supernode_checkpoint as c
assert not c.Request(every=0).wanted()'
ok "a request to another generation is none"
ask 7 2
python3 -c '
import supernode_checkpoint as c
a = c.Request(every=0)
assert a.wanted()
a.done(50)
assert not a.wanted()'
ok "one to this is, once"
for text in '' '{' '[]' '7' '{"request":"x"}'; do
	printf %s "$text" >job/checkpoint.request
	python3 -c '
import supernode_checkpoint as c
assert not c.Request(every=0).wanted()' || break
done
ok "what is none is not taken for one"

mkdir -p mindio_ttp && cat >mindio_ttp/controller_ttp.py <<'EOF2'
def tft_notify_controller_dump():
    open("dumped", "a").write("x")
    return 0
EOF2
: >mindio_ttp/__init__.py
PYTHONPATH=$PYTHONPATH:$PWD
ask 8 2 failure
python3 -c '
import os, time, supernode_checkpoint as c
c.watch_mindio(every=0.01)
time.sleep(0.3)
assert not os.path.exists("dumped")
open("job/.new", "w").write(open("job/checkpoint.request").read().replace("failure", "resize").replace("8", "9"))
os.rename("job/.new", "job/checkpoint.request")
for i in range(500):
    if os.path.exists("dumped"):
        break
    time.sleep(0.01)
time.sleep(0.1)
assert open("dumped").read() == "x"'
ok "MindIO is asked once, and not after a failure"
RANK=1 python3 -c '
import supernode_checkpoint as c
assert c.watch_mindio() is None'
ok "by rank 0 alone"

# ---- libsnmem ----
python3 -c '
import supernode_memckpt as m
for library in (None, "/nonexistent.so"):
    c = m.MemoryCheckpoint(library=library, region=None)
    assert c.iteration is None and c.error and not c.save(1, b"x")'
ok "without a region nothing happens"
SNMEM_LIBRARY=$(ls "$SN_BUILDDIR"/.libs/libsnmem.so.0 2>/dev/null)
if [ -z "$SNMEM_LIBRARY" ]; then
	skip "a shard is saved and read" "no shared library is built"
else
	export SNMEM_LIBRARY
	mkdir -m 700 region && chmod 700 job
	echo '{"nodes":[{"name":"n1","address":"127.0.0.1","supernode":"a","ranks":1}],"ranks":[["n1",0]]}' >job/layout.json
	cat >mem.py <<'EOF2'
import os, sys, supernode_memckpt as m
def start(generation):
    return m.MemoryCheckpoint(tag="t", region="region", job_dir=os.getcwd() + "/job", node="n1",
                              rank=0, world=1, local_rank=0, generation=generation, wait=20)
c = start(0)
assert c.iteration is None and not c.error, c.error
assert c.save(1, b"one") and c.save(2, bytearray(b"two")) and c.wait(), c.error
assert not c.save(2, b"again")
c.close()
c = start(1)
assert (c.iteration, c.world) == (2, 1), (c.iteration, c.error)
assert c.load(0) == b"two"
try:
    c.load(1)
    sys.exit(1)
except OSError:
    pass
c.close()
EOF2
	# A library built with sanitizers wants theirs first, and Python itself leaks.
	asan=$(ldd "$SNMEM_LIBRARY" | awk '/libasan/ { print $3 }')
	LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0 python3 mem.py
	ok "a shard is saved and read"
fi
finish
