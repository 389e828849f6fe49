# SPDX-License-Identifier: GPL-2.0-or-later
# live.sh - for tests that change what the daemons run by while jobs run.
# Sourced after lib.sh.

# next_step JOB K: its output, once it has ended
next_step()
{
	: >"$WORK/step-$1-$2"
	until_true 60 test -e "$WORK/$1-$2.step" || echo "step $2 of job $1 does not end"
	cat "$WORK/$1-$2.step"
}

check_step() # JOB K LAYOUT
{
	"$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --cards "$CL_CARDS" \
		--parallel "$3" "$WORK/$1-$2.step"
}

# Starts a job of stepped.sh and waits for its ranks. $STEPPED is it.
stepped() # ARGUMENT…
{
	STEPPED=$(submit "$@" "$TESTS/stepped.sh") && until_true 60 test -e "$WORK/$STEPPED-0.step" && return 0
	echo "job $STEPPED is $(state_of "$STEPPED") ($(reason_of "$STEPPED"))"
	return 1
}

nodes_of() # JOB
{
	scontrol -o show job "$1" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p'
}

# reconfigure: with standard input as topology.conf, until all daemons have it
reconfigure()
{
	cat >"$CL_DIR/etc/topology.conf"
	timeout 60 scontrol reconfigure && until_true 30 ctld_answers && until_true 60 nodes_idle && until_true 30 nodes_have_it
}

# Each slurmd keeps the text of what it took as good.
nodes_have_it()
{
	local name

	for name in "${CL_NAME[@]}"; do
		tail -n +2 "$CL_DIR/nodes/$name/spool/topology_supernode" 2>/dev/null | head -c -1 |
			cmp -s - "$CL_DIR/etc/topology.conf" || return 1
	done
}

