#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# train-job.sh - a batch job that trains under plain srun until it is done; see
# train.sh. What ends a start is in $TRAIN_DIR/ended-GENERATION.
trap : TERM # meant for the ranks
for generation in 0 1 2; do
	TORCHELASTIC_RESTART_COUNT=$generation srun --kill-on-bad-exit=0 "$SNTRAIN" --parallel "$TRAIN_LAYOUT" \
		--state-dir "$TRAIN_DIR" --steps "$STEPS" --checkpoint-every "$EVERY" --step-ms "$STEP_MS" --meet 30
	rc=$?
	echo $rc >"$TRAIN_DIR/ended-$generation"
	[ $rc != 0 ] || exit 0
done
exit $rc
