# SPDX-License-Identifier: GPL-2.0-or-later
# ckpt.sh - programs that save as frameworks do (ckpt-rank.sh), on a cluster with
# preemption. Sourced after lib.sh.
CL_NODES=4 CL_PER=4 CL_PODS=1 CL_UNIT=0
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF DefMemPerCPU=10"
start_cluster
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200 ElasticPoll=1 ElasticWait=20 CheckpointSoft=20 CheckpointHard=25" >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|step_signal|Kill task failed|batch script missing|Batch completion for job|Select plugin failed to set job resources'
elastic() { snctl elastic "$@" 2>&1; }
field() { elastic status "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2" 2>/dev/null; }
# begin MODE NAME [SECONDS [PATH]]: 16 ranks, a base and a member; its state is in NAME/
begin()
{
	mkdir "$2"
	printf '#!/bin/bash\nexec snrun --checkpoint=%s:%s %s/ckpt-rank.sh %s %s %s\n' \
		"$1" "${4:-$WORK/$2}" "$TESTS" "$1" "$WORK/$2" "${3:-0}" >"$2.sh"
	submit --parallel=tp=8,dp=2 --elastic=min_dp=1 "$2.sh"
}
# count NAME GENERATION WHAT: ranks that did
count() { awk -v g="$2" -v w="$3" '$1 == g && $3 == w { n[$2] = 1 } END { for (k in n) c++; print c + 0 }' "$1/events"; }
did() { [ "$(count "$1" "$2" "$3")" = "$4" ]; }
# What ranks did, one after the other: the ways that there were.
order() { awk -v g="$2" '$1 == g { s[$2] = s[$2] " " $3 } END { for (k in s) print substr(s[k], 2) }' "$1/events" | sort -u; }
queue_empty() { [ -z "$(squeue -h -o %T | grep -v COMPLETING)" ]; }
end() { scancel "$1"; until_true 30 queue_empty; }
