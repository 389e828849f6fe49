#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Soak: SN_FAULTS random faults (200) from the seed SN_SEED over elastic jobs that
# train: cards, ranks, nodes, the batch host, supernodes, snrun, snelasticd and
# slurmctld, and what users ask for. Every job must end as an uninterrupted run over
# the same sizes, no card be lost or doubled, nothing be left behind. SN_ONLY="rank
# batch" draws from these faults only. Prints fault, means, seconds to the next step.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
TOPO=$(mktemp)
for s in 1 2 3 4; do
	list=$(seq -f %03.0f "$s" 4 24 | paste -sd,)
	echo "SupernodeName=sn$s Nodes=n[$list] SpareNodes=1 PoolMemory=1G CardBandwidth=392G CardLatency=1u"
done >"$TOPO"
echo 'FabricName=pod1 Supernodes=sn[1-4] CardBandwidth=50G CardLatency=20u' >>"$TOPO"
CL_NODES=24 CL_PER=6 CL_CARDS=4 CL_UNIT=0 CL_PODS=1 CL_TOPOLOGY=$TOPO
# Nodes that nobody marks are found by Slurm itself.
CL_SLURMD_TIMEOUT=${SN_SLURMD_TIMEOUT:-20}
CL_EXTRA=MinJobAge=1000
start_cluster
rm -f "$TOPO"
cat >>"$CL_DIR/etc/supernode.conf" <<END
JobDir=$WORK/jobs/%j
RestartWait=3
NodePoll=300
ElasticPoll=2
ElasticWait=10
CheckpointHard=30
HealthHold=1
$(printf '%s\n' "${SN_POLICY:-}")
END
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
ok "snelasticd runs" start_elasticd -v || bail "and so the rest" "$(tail -n 5 "$CL_DIR/log/snelasticd.log")"
CL_ELASTICD=$(command -v snelasticd)
export STEPS=${SN_STEPS:-500} STEP_MS=${SN_STEP_MS:-120} EVERY=10
export WORK TESTS SN_SRCDIR SN_BUILDDIR CL_DIR CL_SLURM CL_NODES CL_PER CL_CARDS CL_ELASTICD CL_PLUGINS CL_MODE
seed=${SN_SEED:-$(date +%s)}
diag "seed $seed (SN_SEED=$seed draws the same again)"
# Of nodes that die with their steps, of steps and jobs that a killed slurmctld has lost, and
# of jobs that are requeued with their nodes.
LOG_ALLOW='Registered PENDING|comp_job_cnt underflow|requeue|Job/step already completing|[Oo]rphan|abort|Batch JobId|does not match|on wrong node|DOWN|Invalid node state|Can.t find parent|_job_complete|Kill|batch step received|Removing failed node|batch script missing|slurm_bufs_sendto.*failed|Step complete from|[Pp]rolog|[Ss]tep_partial_comp|_valid_agent_arg: node_count'
python3 -B "$TESTS/faults_drive.py" --seed "$seed" --faults "${SN_FAULTS:-200}" 6<&- |
	while IFS= read -r line; do printf '# %s\n' "$line"; done
is "no fault broke a rule" "${PIPESTATUS[0]}" 0
finish
