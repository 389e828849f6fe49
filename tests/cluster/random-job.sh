#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# random-job.sh - a job of 39-random.t: its ranks between two marks, so that
# whole runs can be told from those cut short.
echo "begin $SLURM_JOB_ID ${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID} 0"
if [ "${SN_RANDOM_STEP:-no}" = yes ]; then srun "$SN_TASK" || exit; fi
sleep "${SN_RANDOM_SECONDS_HELD:-0}"
echo "end $SLURM_JOB_ID"
