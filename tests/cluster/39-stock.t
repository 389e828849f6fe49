#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same random jobs without --parallel under stock cons_tres with
# topology/block and under this suite: what ran there runs here.
. "$(dirname "$0")/lib.sh"
[ -n "${SN_SLURM_PREFIX:-}" ] && [ "$(id -u)" = 0 ] || skip_all "no Slurm, or not root"
command -v python3 >/dev/null || skip_all "python3 is not installed"
here=$(mktemp -d) || bail "cannot make a directory"
trap 'rm -rf "$here"' EXIT
SN_SEED=${SN_SEED:-$(date +%s)}
export SN_SEED
diag "seed $SN_SEED"
WORK= CL_DIR=
for kind in stock suite; do
	text=$("$TESTS/39-random.t" --outcomes "$here/$kind" $([ $kind = suite ] || echo stock) 2>&1)
	like "$kind: all were submitted" "$text" '^ok [0-9]+ - the jobs were run'
done
text=$(python3 -B "$TESTS/rnd_compare.py" "$here/stock" "$here/suite" 2>&1)
rc=$?
echo "$text" | grep '^#'
is "what ran under stock Slurm runs here" $rc 0
finish
