#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Soak: SN_OPS random operations (10000 for a night, 1000 by default) from the seed
# SN_SEED: submissions of all kinds, cancels, drained and resumed cards, nodes down
# and up, pool regions, reconfigurations, restarts and hard kills of slurmctld. After
# each a model that shares no code with the suite says who may hold which card and
# how much pool; no pending job is held, and snctl why is right about whether it fits
# now, in what the pools have left, too, and whom it would preempt.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0 CL_POOL=64G
CL_GRES_MORE=${SN_GRES_MORE-}
# Regions are only counted; no time of the health engine's passes in a run.
CL_POLICY="PoolProvider=none
HealthHold=31536000
HealthEscalateTime=31536000
HealthProbeTimeout=86400"
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MinJobAge=10
PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE DefMemPerCPU=10 PreemptMode=OFF
PartitionName=low Nodes=ALL PriorityTier=1 DefMemPerCPU=10
PartitionName=high Nodes=ALL PriorityTier=9 DefMemPerCPU=10 PreemptMode=OFF"
start_cluster
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
CL_HOSTS=$(with_hosts)
export WORK CL_DIR CL_HOSTS TESTS SN_SRCDIR
seed=${SN_SEED:-$(date +%s)}
diag "seed $seed (SN_SEED=$seed runs the same again)"
# Jobs of nodes that go down, and what is in flight when slurmctld is killed. And
# with preemption Slurm may find a job room on a node where another is just ending,
# on which it then starts none yet.
LOG_ALLOW='Registered PENDING|comp_job_cnt underflow|failed to set job resources, nodes|requeue|Job/step already completing|Orphan|orphan|abort|Batch JobId|does not match|on wrong node|DOWN|Invalid node state|not responding|Can.t find parent|_job_complete|Kill'
python3 -B "$TESTS/ops_drive.py" --seed "$seed" --ops "${SN_OPS:-1000}" 6<&- |
	while IFS= read -r line; do printf '# %s\n' "$line"; done
is "no operation broke a rule" "${PIPESTATUS[0]}" 0
finish
