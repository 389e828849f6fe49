#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# abi.t - each plugin exports what Slurm looks up in it, and nothing else.
#
# The lists in abi/SERIES/ are what we mean to export; what Slurm looks up is
# read from its own source. `abi.t --update-golden` writes the lists anew.
set -u
: "${SN_SRCDIR:?}" "${SN_BUILDDIR:?}"
: "${SN_SLURM_SOURCE:?}" "${SN_SLURM_VERSION:?}"
series=$(echo "$SN_SLURM_VERSION" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
golden=$SN_SRCDIR/tests/plugins/abi/$series
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

n=0 failed=0
result() { # status description
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"; failed=1; sed 's/^/# /' "$tmp/why"; fi
}

exports() {
	nm -D --defined-only "$SN_BUILDDIR/.libs/$1.so" | awk '{print $3}' | LC_ALL=C sort
}

# The names in the first syms array of an interface.
wanted() { # interface
	sed -n '/syms\[\] *= *{/,/};/p' "$SN_SLURM_SOURCE/src/interfaces/$1.c" |
		grep -o '"[a-z_0-9]*"' | tr -d '"' | LC_ALL=C sort -u
}

plugins="topology_supernode:topology select_supernode:select select_cons_tres_supernode:select
	job_submit_supernode:job_submit cli_filter_supernode:cli_filter gres_npu:gres spank_supernode:-"
if [ "${1:-}" = --update-golden ]; then
	mkdir -p "$golden"
	for p in $plugins; do exports "${p%%:*}" > "$golden/${p%%:*}"; done
	exit 0
fi
if [ ! -d "$golden" ]; then
	echo "1..0 # SKIP no lists for Slurm $series"
	exit 0
fi
for p in $plugins; do
	name=${p%%:*} interface=${p#*:}
	exports "$name" > "$tmp/have"
	diff "$golden/$name" "$tmp/have" > "$tmp/why"
	result $? "$name exports its list"
	if [ "$interface" != - ]; then
		wanted "$interface" > "$tmp/want"
		LC_ALL=C comm -23 "$tmp/want" "$tmp/have" > "$tmp/why"
		[ -s "$tmp/want" ] && [ ! -s "$tmp/why" ]
		result $? "$name has what Slurm's $interface.c looks up"
	fi
	# Slurm's error() and glibc's have one name; without slurm_xlator.h the
	# linker binds the latter, which ends the process.
	nm -D --undefined-only "$SN_BUILDDIR/.libs/$name.so" |
		awk '{print $NF}' | grep -xE '(error|fatal)@.*' > "$tmp/why"
	[ ! -s "$tmp/why" ]
	result $? "$name does not take the C library's error()"
done
# Its threads may run on while Slurm lets it go.
readelf -d "$SN_BUILDDIR/.libs/spank_supernode.so" > "$tmp/why" 2>&1
grep -q 'Flags:.*NODELETE' "$tmp/why"
result $? "spank_supernode is never unloaded"
echo "1..$n"
exit $failed
