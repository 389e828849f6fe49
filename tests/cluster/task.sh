#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# task.sh - one rank of a test's job: says where it is and, with $SN_LOCKS, that
# nobody else has its card. The lock is the kernel's and goes with the process,
# so a killed rank leaves nothing behind.
card=${ASCEND_RT_VISIBLE_DEVICES:-}
if [ -n "${SN_LOCKS:-}" ]; then
	exec 9>>"$SN_LOCKS/$SLURMD_NODENAME.$card"
	# 99 and nothing else: a flock that is killed with its job failed, too.
	flock -n -E 99 9
	[ $? -ne 99 ] || echo "DOUBLE $SLURMD_NODENAME card $card job $SLURM_JOB_ID rank $SLURM_PROCID"
fi
echo "rank $SLURM_PROCID node $SLURMD_NODENAME card $card supernode ${SUPERNODE_NAME:--}"
[ "${SN_TASK_SECONDS:-0}" = 0 ] || exec sleep "$SN_TASK_SECONDS"
