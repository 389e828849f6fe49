#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Soak: the base is preempted with a GraceTime, and its ranks save and exit with 0,
# which must not end the job; slurmctld is away when ranks are to be told to end, and
# none is killed before it was.
. "$(dirname "$0")/lib.sh"
. "$TESTS/ckpt.sh"

id=$(begin megatron mega 2)
ok "16 ranks as Megatron's" until_true 40 did mega 0 start 16
scontrol update PartitionName=main GraceTime=6
high=$(submit -p high -N4 --exclusive --no-requeue --wrap='sleep 2')
preempted() { grep -q 'the job is preempted' "$id.out"; }
ok "snrun waits for Slurm" until_true 60 preempted
ok "which requeues it: no end of the job" await "$id" PENDING 90
ok "whoever preempts ends" await "$high" "COMPLETED" 60
ok "it ends" end "$id"

# ---- slurmctld is away when ranks are to be told ---------------------------------------
scontrol update PartitionName=main GraceTime=0
sed -i 's/CheckpointHard=25/CheckpointHard=3/; s/CheckpointSoft=20/CheckpointSoft=2/' "$CL_DIR/etc/supernode.conf"
id=$(begin megatron away)
ok "16 ranks" until_true 40 did away 0 start 16
ok "what slurmctld knows is saved" state_saved "$id"
ctld_kill
# By hand: snctl asks slurmctld for the job.
printf '{"op":"shrink","dp":1}' >"$WORK/jobs/$id/control/x.tmp" && mv "$WORK/jobs/$id/control/x.tmp" "$WORK/jobs/$id/control/x.request"
taken() { [ -e "$WORK/jobs/$id/control/x.answer" ]; }
ok "it is asked to shrink" until_true 30 taken
ok "slurmctld is back" ctld_up
ok "the ranks save" until_true 60 did away 0 saved 16
is "all had been told" "$(count away 0 term)" 16
ok "it ends" end "$id"

finish
