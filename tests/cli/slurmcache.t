#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A configured Slurm in the cache is taken again as long as its source is where it was.
set -u
. "$SN_SRCDIR/tests/cli/lib.sh"
SN_CACHE=$dir/cache
. "$SN_SRCDIR/contrib/lib/common.sh"
. "$SN_SRCDIR/contrib/lib/slurm.sh"

# A source whose configure leaves what Slurm's does, and counts its runs.
make_source()
{
	mkdir -p "$1"
	echo 'Version: 24.11.5' >"$1/META"
	cat >"$1/configure" <<'END'
#!/bin/sh
src=$(dirname "$0")
echo run >>"$src/runs"
mkdir -p slurm
: >config.h
: >slurm/slurm_version.h
echo "abs_top_srcdir = $PWD/../$(basename "$src")" >Makefile
echo 'configure: exit 0' >config.log
END
	chmod +x "$1/configure"
}

runs()
{
	wc -l <"$1/runs" 2>/dev/null || echo 0
}

mkdir -p c
make_source "$dir/c/src"
slurm_configure "$dir/c/src" "$dir/c/build" >log && slurm_is_configured "$dir/c/build"
ok "configured"
slurm_configure "$dir/c/src" "$dir/c/build" >log && [ "$(runs c/src)" -eq 1 ]
ok "once"
ln -s "$dir/c" link
slurm_configure "$dir/link/src" "$dir/link/build" >log && [ "$(runs c/src)" -eq 1 ]
ok "also by another name of the same directory"

mv c moved
! slurm_is_configured "$dir/moved/build"
ok "a build whose source is gone is none"
slurm_configure "$dir/moved/src" "$dir/moved/build" >log &&
	[ "$(runs moved/src)" -eq 2 ] && slurm_is_configured "$dir/moved/build" "$dir/moved/src"
ok "and is configured anew"

make_source "$dir/moved/other"
! slurm_is_configured "$dir/moved/build" "$dir/moved/other" &&
	slurm_configure "$dir/moved/other" "$dir/moved/build" >log && [ "$(runs moved/other)" -eq 1 ]
ok "so is one of another source that is there, too"

date >moved/built
slurm_is_built "$dir/moved" "$dir/moved/other" && ! slurm_is_built "$dir/moved" "$dir/moved/src"
ok "what was built counts with its own source only"
echo 'configure: exit 1' >moved/build/config.log
! slurm_is_configured "$dir/moved/build"
ok "a configure that failed is none"
finish
