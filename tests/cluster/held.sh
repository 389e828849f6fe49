#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# held.sh - a test's batch job: runs its ranks, then keeps its cards until told.
# With SN_STEP=no it only keeps them.
[ "${SN_STEP:-yes}" = no ] || srun "$SN_TASK"
echo held
# A job outlives no test by more than an hour.
for ((i = 0; i < 36000; i++)); do
	[ -e "${SN_LOCKS%/locks}/go-$SLURM_JOB_ID" ] && exit 0
	sleep 0.1
done
