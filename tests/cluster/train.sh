# SPDX-License-Identifier: GPL-2.0-or-later
# train.sh - for tests that run the test trainer. Sourced after lib.sh.
#
#	STEPS STEP_MS EVERY	what it is told: steps, ms of each, checkpoints
#	TRAIN_ARGS		further options of it
#	TRAIN_RUN=snrun		start it by snrun, not by srun
SNTRAIN=$SN_BUILDDIR/tests/trainer/sntrain
export STEPS=30 STEP_MS=10 EVERY=5 TRAIN_ARGS='' TRAIN_RUN=srun TRAIN_OPTIONS='' SNTRAIN
[ -x "$SNTRAIN" ] || skip_all "$SNTRAIN is not built"

# submit_train LAYOUT NAME ARGUMENT…: a job that trains in $WORK/NAME and, should
# a start fail, starts again, twice at most.
submit_train()
{
	local layout=$1

	export TRAIN_DIR=$WORK/$2 TRAIN_LAYOUT=$layout
	shift 2
	mkdir -p "$TRAIN_DIR"
	submit "--parallel=$layout" "$@" "$TESTS/train-job.sh"
}

final() # NAME: the end state
{
	sed -n 's/^final state \([0-9a-f]*\) .*/\1/p' "$WORK/$1/final" 2>/dev/null
}

# reached NAME STEP [GENERATION]
reached()
{
	awk -v step="$2" -v generation="${3:-0}" '$1 == generation && $2 >= step { found = 1 } END { exit !found }' \
		"$WORK/$1/steps" 2>/dev/null
}
