# SPDX-License-Identifier: GPL-2.0-or-later
# common.sh - what the scripts share: progress lines, one-sentence errors,
# long commands with their output kept for the case that they fail.
#
# Sourced by bash scripts that `set -u`. SN_PROG names the script in messages.

SN_T0=${SN_T0:-$(date +%s)}
SN_CACHE=${SN_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/slurm-supernode}

# A line per phase, with the seconds since the script began.
say()
{
	printf '[%4ds] %s\n' $(($(date +%s) - SN_T0)) "$*"
}

die()
{
	printf '%s: %s\n' "${SN_PROG:-slurm-supernode}" "$*" >&2
	exit 1
}

usage_error()
{
	printf '%s: %s (see --help)\n' "${SN_PROG:-slurm-supernode}" "$*" >&2
	exit 2
}

# quietly LOG LABEL COMMAND…: run it with its output in LOG. On a terminal the
# label counts the seconds; elsewhere a line every 30 s shows that it lives.
# On failure the end of LOG is shown and the command's code returned.
quietly()
{
	local log=$1 label=$2 pid rc start now next
	shift 2

	end_orphan "$log"
	start=$(date +%s)
	next=$((start + 30))
	# A process group of its own, for stop_child and end_orphan; without the
	# scripts' locks, which must not outlive them.
	set -m
	"$@" >"$log" 2>&1 </dev/null 7>&- 8>&- &
	pid=$!
	set +m
	note_pid "$log.pid" "$pid"
	SN_CHILD=$pid
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		now=$(date +%s)
		if [ -t 1 ]; then
			[ "$now" -gt $((start + 1)) ] &&
				printf '\r[%4ds] %s … %ds ' $((now - SN_T0)) "$label" $((now - start))
		elif [ "$now" -ge "$next" ]; then
			say "$label … $((now - start)) s"
			next=$((now + 30))
		fi
	done
	wait "$pid"
	rc=$?
	SN_CHILD=
	rm -f "$log.pid"
	[ -t 1 ] && printf '\r\033[K'
	if [ "$rc" -ne 0 ]; then
		printf -- '--- the end of %s:\n' "$log" >&2
		tail -n 25 "$log" >&2
	fi
	return "$rc"
}

# For quietly, whose command runs in a process of its own anyway; a subshell
# around quietly would keep the scripts' locks after a hard kill.
in_dir()
{
	cd "$1" && "${@:2}"
}

# For a script's INT and TERM traps: end what quietly runs, with its children.
SN_CHILD=
stop_child()
{
	[ -z "$SN_CHILD" ] || kill -TERM -- "-$SN_CHILD" 2>/dev/null
}

# What a run that was killed hard left working, recognised by its log's name. Not
# the caller itself, should it have been given the log that its own caller writes.
end_orphan()
{
	local pid

	pid=$(pid_of "$1.pid") && [ "$pid" != "$BASHPID" ] && kill -KILL -- "-$pid" 2>/dev/null
	rm -f "$1.pid"
}

# need_space DIR MEGABYTES WHAT
need_space()
{
	local dir=$1 free

	while [ ! -d "$dir" ]; do
		dir=$(dirname "$dir")
	done
	free=$(df -Pk "$dir" | awk 'NR == 2 { print int($4 / 1024) }')
	[ "$free" -ge "$2" ] ||
		die "$3 needs about $2 MB below $dir and only $free MB are free there"
}

# until_true SECONDS COMMAND…: poll a condition, never sleep and hope.
until_true()
{
	local end=$((SECONDS + $1))
	shift

	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# The field of /proc/PID/stat that tells one process from a later one with the
# same number: its start time in clock ticks. Nothing if there is none.
proc_start()
{
	local line

	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
	line=${line##*) }
	# shellcheck disable=SC2086 # the fields
	set -- $line
	[ "$1" != Z ] || return 1
	echo "${20}"
}

# note_pid FILE PID, pid_of FILE: a pid file that survives reboots and reused
# numbers: it holds the boot's id and the process's start time.
note_pid()
{
	local start

	start=$(proc_start "$2") || return 1
	echo "$2 $start $(cat /proc/sys/kernel/random/boot_id)" >"$1.new" &&
		mv "$1.new" "$1"
}

pid_of()
{
	local pid start boot here

	{ read -r pid start boot <"$1"; } 2>/dev/null || return 1
	read -r here </proc/sys/kernel/random/boot_id
	[ "$boot" = "$here" ] && [ "$(proc_start "$pid")" = "$start" ] && echo "$pid"
}

# end_pid FILE [SECONDS]: end the noted process, kindly and then not.
end_pid()
{
	local pid

	pid=$(pid_of "$1") || { rm -f "$1"; return 0; }
	kill "$pid" 2>/dev/null
	until_true "${2:-5}" gone "$1" || kill -KILL "$pid" 2>/dev/null
	until_true 5 gone "$1"
	rm -f "$1"
}

gone()
{
	! pid_of "$1" >/dev/null
}
