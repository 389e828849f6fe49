#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# random-het.sh - a heterogeneous job of 39-random.t: each part's ranks by a
# step of their own.
for part in 0 1; do
	{
		echo "begin $SLURM_JOB_ID $SLURM_JOB_ID $part"
		srun --het-group=$part "$SN_TASK" || exit
		echo "end $SLURM_JOB_ID"
	} >"${SN_LOCKS%/locks}/$SLURM_JOB_ID.h$part.out" 2>&1
done
sleep "${SN_RANDOM_SECONDS_HELD:-0}"
