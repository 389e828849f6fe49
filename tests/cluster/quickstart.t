#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What contrib/quickstart says to a wrong call. Starts nothing.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

refuses() # WHAT CODE REGEX ARGUMENT…
{
	local what=$1 code=$2 regex=$3 text rc
	shift 3

	text=$(XDG_CACHE_HOME=$work timeout 60 "${AS[@]}" "$here/contrib/quickstart" "$@" 2>&1 </dev/null)
	rc=$?
	n=$((n + 1))
	if [ "$rc" = "$code" ] && [ "$(printf '%s\n' "$text" | wc -l)" = 1 ] && printf '%s\n' "$text" | grep -Eq -- "$regex"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		printf '%s\n' "exit code $rc, wanted $code, and one line that matches $regex:" "$text" | sed 's/^/# /'
	fi
}

AS=(env)
refuses "an unknown option" 2 'unknown option "--nope"' --nope
refuses "a word too many" 2 'unknown option "start"' start
refuses "an option without its value" 2 '--nodes needs a value' --nodes
refuses "nodes that are no whole supernodes" 2 '--nodes 20: a multiple of 8 from 16 to 1024' --nodes 20
refuses "too few nodes" 2 '--nodes 8:' --nodes=8
refuses "too many nodes" 2 '--nodes 2048:' --nodes 2048
refuses "nodes that are no number" 2 '--nodes x:' --nodes x
refuses "an unknown net" 2 '--net token: auto, netns or loopback' --net token
if [ "$(id -u)" = 0 ]; then
	refuses "a directory that Slurm cannot name" 2 'letters, digits' --dir "$work/a b"
	: >"$work/file"
	refuses "a directory below a file" 1 "cannot make the directory $work/file/x" --dir "$work/file/x"
	refuses "status without a cluster" 1 'not running' --status
	refuses "stop without a cluster is no error" 0 'stopped' --stop
	if command -v setpriv >/dev/null && chmod 755 "$work" &&
		setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$here/contrib/quickstart"; then
		AS=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		refuses "not root" 1 'must run as root'
	fi
else
	refuses "not root" 1 'must run as root'
fi
echo "1..$n"
