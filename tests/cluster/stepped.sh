#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stepped.sh - a test's batch job that runs its ranks anew whenever told, by a
# file step-JOB-K beside its output, and ends by go-JOB. What step K printed is
# in K's file JOB-K.step, whose last line is "exit CODE".
dir=${SN_LOCKS%/locks}
for ((k = 0, i = 0; i < 36000; i++)); do
	[ -e "$dir/go-$SLURM_JOB_ID" ] && exit 0
	if [ $k = 0 ] || [ -e "$dir/step-$SLURM_JOB_ID-$k" ]; then
		srun "$SN_TASK" >"$dir/$SLURM_JOB_ID-$k.new" 2>&1
		echo "exit $?" >>"$dir/$SLURM_JOB_ID-$k.new"
		mv "$dir/$SLURM_JOB_ID-$k.new" "$dir/$SLURM_JOB_ID-$k.step"
		k=$((k + 1))
	fi
	sleep 0.1
done
