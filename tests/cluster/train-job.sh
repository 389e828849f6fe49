#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# train-job.sh - a batch job that trains until it is done; see train.sh. Under
# plain srun it starts again itself, and what ended a start is in
# $TRAIN_DIR/ended-GENERATION; with TRAIN_RUN=snrun that is snrun's work.
# shellcheck disable=SC2086 # TRAIN_ARGS and TRAIN_OPTIONS are words
trap : TERM # meant for the ranks
train=("$SNTRAIN" --state-dir "$TRAIN_DIR" --steps "$STEPS" --checkpoint-every "$EVERY" --step-ms "$STEP_MS" --meet 30 $TRAIN_ARGS)
[ "${TRAIN_RUN:-srun}" = srun ] || exec snrun --max-restarts 5 $TRAIN_OPTIONS "${train[@]}"
for generation in 0 1 2; do
	TORCHELASTIC_RESTART_COUNT=$generation srun --kill-on-bad-exit=0 "${train[@]}" --parallel "$TRAIN_LAYOUT"
	rc=$?
	echo $rc >"$TRAIN_DIR/ended-$generation"
	[ $rc != 0 ] || exit 0
done
exit $rc
