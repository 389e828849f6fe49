# SPDX-License-Identifier: GPL-2.0-or-later
# lib.sh - TAP, and a private cluster, for the tests in this directory.
#
#	. "$(dirname "$0")/lib.sh"
#	CL_NODES=8 start_cluster
#	ok "it does" command…
#	finish
#
# Every test has a directory, network, ports and munged of its own, so that
# several may run at once; all of it goes when the test ends, however it ends.
# The logs of a failed test stay in $SN_BUILDDIR/tests/cluster/NAME.logs.
#
# Needs root, and $SN_SLURM_PREFIX (make check-cluster sets it); else skips.
set -u
TEST=$(basename "$0" .t)
TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SN_SRCDIR=${SN_SRCDIR:-$(cd "$TESTS/../.." && pwd)}
SN_BUILDDIR=${SN_BUILDDIR:-$SN_SRCDIR}
SN_PROG=$TEST
. "$SN_SRCDIR/contrib/lib/common.sh"
. "$SN_SRCDIR/contrib/lib/slurm.sh"
. "$SN_SRCDIR/contrib/lib/cluster.sh"

HEADLINE=tp=8,ep=32,etp=1,pp=2,dp=8
TAP_N=0 TAP_FAILED=0 WORK=

# ---- TAP -----------------------------------------------------------------------

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass()
{
	TAP_N=$((TAP_N + 1))
	echo "ok $TAP_N - $1"
}

fail()
{
	TAP_N=$((TAP_N + 1)) TAP_FAILED=$((TAP_FAILED + 1))
	echo "not ok $TAP_N - $1"
	shift
	[ $# -eq 0 ] || diag "$*"
	return 1
}

# ok WHAT COMMAND…: it must succeed; its output is shown if it does not.
ok()
{
	local what=$1 text
	shift

	if text=$("$@" 2>&1); then pass "$what"; else fail "$what" "$text"; fi
}

is() # WHAT GOT WANTED
{
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got:    $2
wanted: $3"; fi
}

like() # WHAT TEXT EXTENDED-REGEX
{
	if printf '%s\n' "$2" | grep -Eqi -- "$3"; then pass "$1"; else fail "$1" "got: $2
which does not match: $3"; fi
}

skip() # WHAT WHY
{
	TAP_N=$((TAP_N + 1))
	echo "ok $TAP_N - $1 # SKIP $2"
}

skip_all()
{
	echo "1..0 # SKIP $*"
	exit 0
}

# No use to go on.
bail()
{
	fail "$@"
	echo "1..$TAP_N"
	exit 0
}

finish()
{
	[ -z "$WORK" ] || log_is_clean
	echo "1..$TAP_N"
	exit 0 # the lines above say what failed
}

# ---- the cluster ---------------------------------------------------------------

clean_up()
{
	trap '' EXIT INT TERM HUP
	[ -n "$WORK" ] || return 0
	cluster_stop
	if [ "$TAP_FAILED" -gt 0 ] || [ "${1:-0}" != 0 ]; then
		rm -rf "$SN_BUILDDIR/tests/cluster/$TEST.logs"
		mkdir -p "$SN_BUILDDIR/tests/cluster/$TEST.logs" &&
			cp -r "$CL_DIR/log" "$CL_DIR/etc" "$WORK"/*.out "$WORK"/*.step "$SN_BUILDDIR/tests/cluster/$TEST.logs/" 2>/dev/null
		diag "logs are in $SN_BUILDDIR/tests/cluster/$TEST.logs"
	else
		rm -rf "$SN_BUILDDIR/tests/cluster/$TEST.logs"
	fi
	rm -rf "$WORK"
	WORK=
}

# A test that is killed hard cannot clean up; this can.
watchdog()
{
	setsid bash -c '
		. "$1/contrib/lib/common.sh"; . "$1/contrib/lib/cluster.sh"
		while kill -0 "$2" 2>/dev/null; do sleep 1; done
		CL_DIR=$3 CL_SLURM=$4 CL_SLURM_PLUGINS=/
		if [ -d "$CL_DIR" ]; then cluster_init; cluster_stop; rm -rf "${CL_DIR%/*}"; fi
		' - "$SN_SRCDIR" $$ "$CL_DIR" "$CL_SLURM" >/dev/null 2>&1 </dev/null &
}

# Our plugins as the build left them, side by side as the loader wants them.
collect_plugins() # DIR
{
	local file

	if [ -n "${SN_PLUGINS:-}" ]; then
		ln -s "$SN_PLUGINS"/*.so "$1"
	else
		for file in "$SN_BUILDDIR"/.libs/*.so "$SN_BUILDDIR"/plugins/.libs/*.so "$SN_BUILDDIR"/plugins/*/.libs/*.so; do
			case ${file##*/} in
			*_supernode.so | gres_npu.so) [ -f "$file" ] && ln -s "$file" "$1" ;;
			esac
		done
	fi
	[ -e "$1/topology_supernode.so" ]
}

# start_cluster [stock]: with the CL_* parameters of contrib/lib/cluster.sh
start_cluster()
{
	[ "$(id -u)" = 0 ] || skip_all "a private cluster needs root"
	[ -n "${SN_SLURM_PREFIX:-}" ] ||
		skip_all "no Slurm: configure --with-slurm=PREFIX --with-slurm-source=DIR, or run contrib/quickstart"
	[ -x "$SN_SLURM_PREFIX/sbin/slurmctld" ] && [ -x "$SN_SLURM_PREFIX/sbin/slurmd" ] ||
		skip_all "no slurmctld and slurmd in $SN_SLURM_PREFIX/sbin"
	command -v munged >/dev/null || skip_all "munged is not installed"
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/snt-XXXXXX") || bail "cannot make a directory"
	trap 'clean_up $?' EXIT
	trap 'exit 130' INT TERM HUP
	CL_DIR=$WORK/cluster CL_SLURM=$SN_SLURM_PREFIX CL_SLURM_PLUGINS=$(slurm_plugins_of "$SN_SLURM_PREFIX")
	CL_PLUGINS=
	if [ "${1:-}" != stock ]; then
		mkdir "$WORK/plugins"
		CL_PLUGINS=$WORK/plugins
		collect_plugins "$CL_PLUGINS" || { rm -rf "$WORK"; WORK=''; skip_all "the plugins are not built"; }
	fi
	CL_NET=${SN_NET:-auto}
	cluster_init
	PATH=$SN_BUILDDIR/launcher:$SN_BUILDDIR/snctl:$SN_BUILDDIR/elastic:$SN_BUILDDIR:$PATH
	export SN_TASK=$TESTS/task.sh SN_LOCKS=$WORK/locks
	mkdir "$SN_LOCKS"
	cd "$WORK" || exit 1
	watchdog
	cluster_start || bail "the cluster starts" "$CL_WHY"
	pass "a cluster of $CL_NODES nodes is up ($CL_MODE)"
}

# start_elasticd [OPTION…]: snelasticd beside this cluster's slurmctld; its log is
# $CL_DIR/log/snelasticd.log. It ends with the cluster, or by stop_elasticd [SIGNAL].
start_elasticd()
{
	CL_ELASTICD=$(command -v snelasticd) || CL_WHY="snelasticd is not built"
	[ -n "$CL_ELASTICD" ] && elasticd_up "$@" && return 0
	echo "$CL_WHY"
	return 1
}

stop_elasticd() # [SIGNAL]
{
	local pid

	pid=$(pid_of "$CL_DIR/run/elasticd") || return 0
	kill "-${1:-TERM}" "$pid"
	until_true 20 gone "$CL_DIR/run/elasticd"
}

# Errors in slurmctld's log that a healthy run has anyway are left out: those of
# killed steps, of nodes that are asked before they have started or have read a changed
# slurm.conf, and what tests provoke by purpose (a regex in LOG_ALLOW).
log_is_clean()
{
	local text

	text=$(grep -aE 'error:|fatal:' "$CL_DIR/log/slurmctld.log" |
		grep -vE "${LOG_ALLOW:-^$}" |
		grep -vE 'cannot create (http|url)_parser context|Abandon tree forward|appears to have a different slurm.conf|not responding|_slurm_rpc_(requeue|kill_job|update_job|complete)|state file|Trying backup state|Node ping apparently hung|slurm_receive_msgs|Unable to (send|contact)|Socket timed out|High latency for 1000 calls|Zero Bytes were transmitted|slurm_send_node_msg: .*missing socket error|Connection refused|Communication connection|SRUN_[A-Z_]*\) failed|Invalid job id|Invalid user id' | head -n 8)
	is "slurmctld's log is without errors" "$text" ""
}

# show_topology [SUPERNODE|UNIT|FABRIC|NODE]: from 25.05 on the first word is the name
# of a whole topology, and what is wanted of it is said by its kind.
show_topology()
{
	case $(scontrol --version) in
	*\ 24.*) scontrol show topology "$@" ;;
	*)
		case ${1:-} in
		'') scontrol show topology ;;
		[nx][0-9]*) scontrol show topology "node=$1" ;;
		*) scontrol show topology "unit=$1" ;;
		esac
		;;
	esac
}

# ---- jobs ----------------------------------------------------------------------

# submit ARGUMENT…: prints the job's number; its output is $WORK/NUMBER.out
submit()
{
	local text

	text=$(timeout 60 sbatch --parsable --output="$WORK/%j.out" "$@" 2>&1) || {
		# One word, as it may end up as a file's name.
		printf 'refused:%s\n' "$text" | tr ' /\n' '_' | cut -c1-200
		return 1
	}
	printf '%s\n' "${text##*$'\n'}"
}

# A job that starts one task per rank, which prints where it is (task.sh), and
# then holds its allocation until $WORK/go-NUMBER exists, or `release all`.
submit_held()
{
	submit "$@" "$TESTS/held.sh"
}

release()
{
	local id

	for id; do
		[[ ! $id =~ ^[0-9]+$ ]] || : >"$WORK/go-$id"
	done
}

state_of()
{
	scontrol -o show job "$1" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p'
}

reason_of()
{
	scontrol -o show job "$1" 2>/dev/null | sed -n 's/.* Reason=\([^ ]*\).*/\1/p'
}

state_is()
{
	[[ " $2 " == *" $(state_of "$1") "* ]]
}

# Until the job's state is one of the words; fails after 60 s.
await() # JOB "STATE…"
{
	until_true "${3:-60}" state_is "$1" "$2" && return 0
	scontrol show job "$1" 2>&1 | grep -E 'JobState|Reason'
	return 1
}

# Slurm lets a requeued job wait for two minutes; do not.
# Not in this very second: a requeue revokes what was signed before its end.
start_now() # JOB
{
	scontrol update "JobId=$1" StartTime=now+2 2>/dev/null
}

requeue() # JOB
{
	scontrol requeue "$1" 2>/dev/null && until_true 10 start_now "$1"
}

# slurmctld writes its state some seconds late, and kill -9 loses what is not
# written; so have it written what it knows now. The running job's comment tells:
# it may be written at once, or with what comes after.
state_saved() # JOB
{
	local word=saved-$RANDOM-$RANDOM-$RANDOM

	scontrol update "JobId=$1" "Comment=$word" || return 1
	until_true 30 grep -qsaF "$word" "$CL_DIR/state/job_state"
}

# Until the step of a held job has printed all its ranks.
await_ranks() # JOB
{
	until_true 60 grep -qs '^held$' "$WORK/$1.out" && return 0
	echo "job $1 is $(state_of "$1") ($(reason_of "$1")) and its ranks did not all report:"
	tail -n 5 "$WORK/$1.out" 2>/dev/null
	return 1
}

check_ranks() # JOB LAYOUT
{
	"$TESTS/check-ranks" --topology "${TOPOLOGY:-$CL_DIR/etc/topology.conf}" --cards "$CL_CARDS" \
		--parallel "$2" "$WORK/$1.out"
}

# The cards that Slurm says the job has, one "node card" a line.
cards_of()
{
	scontrol show job -d "$1" |
		sed -n 's/^ *Nodes=\([^ ]*\) .*GRES=\(.*\)$/\1 \2/p' |
		while read -r nodes gres; do
			for node in $(scontrol show hostnames "$nodes"); do
				printf '%s\n' "$gres" | grep -oE 'IDX:[0-9,-]+' | head -n 1 | cut -c5- | tr , '\n' |
					while IFS=- read -r lo hi; do
						seq -f "$node %.0f" "$lo" "${hi:-$lo}"
					done
			done
		done | sort
}

cards_said() # what the ranks of the job say they have
{
	sed -nE 's/^rank [0-9]+ node ([^ ]+) card ([0-9]+) .*/\1 \2/p' "$WORK/$1.out" | sort
}
