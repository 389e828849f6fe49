#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# faults-job.sh - a batch job of 78-faults.t: it trains until it is done. An snrun
# that was killed is started again, as a user's script may do.
trap : TERM # meant for snrun and its ranks
for ((try = 0; try < 40; try++)); do
	snrun --max-restarts 100 "$SNTRAIN" --elastic --state-dir "$TRAIN_DIR" --steps "$STEPS" \
		--checkpoint-every "$EVERY" --step-ms "$STEP_MS" --payload 16 --meet 40 --grace 8
	rc=$?
	[ $rc = 137 ] || break
	echo "faults-job: snrun was killed"
done
# In the daemon's place, where it is not to be relied upon.
if [ $rc != 0 ] && [[ " ${SN_HELP:-} " == *" requeue "* ]] && tail -n 3 "$TRAIN_DIR.out" | grep -q 'hold no legal size'; then
	scontrol requeue "$SLURM_JOB_ID"
	sleep 60
fi
exit $rc
