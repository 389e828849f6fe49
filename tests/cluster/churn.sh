#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# churn.sh - a job of 06-churn.t: one line before and one after its ranks, so
# that whole runs can be told from those cut short.
echo "begin $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}"
srun "$SN_TASK" || exit
echo "end $SLURM_JOB_ID"
