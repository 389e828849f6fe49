#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checkpoints in memory: a node is killed between two checkpoints on disk, and training
# goes on from an iteration that is newer than the last of them, read from the
# neighbour's region, with the end state of an uninterrupted run; with a spare, and at
# another size. A region that is too small harms nothing.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
. "$TESTS/resize.sh"
grep -qs '^#define HAVE_GCRYPT 1' "$SN_BUILDDIR/config.h" || skip_all "built without libgcrypt"
CL_NODES=4 CL_PER=4 CL_PODS=1 CL_UNIT=0 CL_POOL=1G
start_cluster
echo "JobDir=$WORK/jobs/%j RestartWait=3 NodePoll=200 ElasticPoll=1 ElasticWait=20" >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|node.*(down|DOWN|not resp)|[Kk]illing job|agent|REQUEST_TERMINATE|Nodes .* not responding|Kill task failed|step_signal|batch script missing'
TRAIN_RUN=snrun STEPS=100 STEP_MS=100 EVERY=30
batch_of() { scontrol -o show job "$1" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p'; }
# kill_one JOB: a node with ranks that is not the batch host
kill_one()
{
	local node

	node=$(sort -u "$WORK/jobs/$1/hostfile"* | grep -vx "$(batch_of "$1")" | head -n 1)
	nodes_down "$node" 2>/dev/null
	scontrol update "NodeName=$node" State=DOWN Reason=killed
	diag "$node is killed at step $(tail -n 1 "$2/steps" | cut -d' ' -f2)"
}
# What generation 1 began with
began() { awk -v w="$2" '$1 == 1 { print $w; exit }' "$1/begins"; }
disk() { sed -n 's/^generation 1 begins from memory, \([0-9]*\) on disk$/\1/p' "$WORK/$1.out"; }

id=$(submit_train tp=8,dp=2 one --spares=1 --pool=16M/node)
ok "16 ranks train" until_true 60 reached one 1
scancel "$id"
like "without the option nothing is kept in memory" "$(find "$WORK/jobs/$id" -name memckpt)" '^$'

TRAIN_ARGS='--memory-every 2'
id=$(submit_train tp=8,dp=2 two --spares=1 --pool=16M/node)
in_memory() { snctl elastic status "$1" --json | python3 -c 'import json, sys; s = json.load(sys.stdin); sys.exit(s.get("memory_iteration", 0) < 2 or "since_memory" not in s)'; }
ok "16 ranks train with checkpoints in memory, of which snrun knows" until_true 30 in_memory "$id"
ok "past the first on disk" until_true 60 reached two 34
kill_one "$id" two
ok "it goes on" until_true 60 reached two 1 1
is "from memory, where disk has step 30" "$(disk "$id")" 30
ok "that is newer" [ "$(began two 3)" -gt 30 ]
diag "generation 1 begins after step $(began two 3)"
ok "it ends well" await "$id" "COMPLETED COMPLETING" 90
ok "an uninterrupted run" run_here "$WORK/whole" tp=8,dp=2 $STEPS
is "has the same end state" "$(final two)" "$(final whole)"

# ---- another size: whoever is left reads all shards ---------------------------------
TRAIN_ARGS='--memory-every 2 --elastic'
id=$(submit_train tp=8,dp=2 three --elastic=min_dp=1 --pool=16M/node)
ok "a base and a member train" until_true 60 reached three 34
sed -i 's/ElasticWait=20/ElasticWait=1/' "$CL_DIR/etc/supernode.conf"
scontrol update NodeName="$(sinfo -h -N -o '%N %t' | awk '$2 ~ /idle/ { print $1 }' | paste -sd,)" State=DRAIN Reason=test
kill_one "$id" three
ok "it goes on" until_true 60 reached three 1 1
is "with eight ranks" "$(began three 2)" 8
is "from memory, where disk has step 30" "$(disk "$id")" 30
ok "that is newer" [ "$(began three 3)" -gt 30 ]
ok "it ends well" await "$id" "COMPLETED COMPLETING" 90
same_end "$id" three tp=8,dp=2

# ---- too small -------------------------------------------------------------------------
STEPS=20 STEP_MS=0
TRAIN_ARGS='--memory-every 1 --memory-size 64K'
id=$(submit_train tp=8 four --pool=128K/node)
ok "a region that is too small: it ends well" await "$id" "COMPLETED COMPLETING" 60
like "which is said with the numbers" "$(cat "$id.out")" 'region is too small for iteration [0-9]+: a shard has 65536 bytes, and [0-9]+ of [0-9]+ are left.*--pool=SIZE/node'
id=$(submit_train tp=8 five)
ok "so does a job without any" await "$id" "COMPLETED COMPLETING" 60
like "which is said" "$(cat "$id.out")" 'SUPERNODE_POOL_DIR is not set, submit with --pool=SIZE/node'
finish
