# SPDX-License-Identifier: GPL-2.0-or-later
# suite.sh - build the suite outside its source and install it into a private
# prefix, doing again only what changed.

# Does any input of configure lie newer than it?
autogen_needed() # SRC
{
	[ -x "$1/configure" ] && [ -f "$1/Makefile.in" ] || return 0
	[ -n "$(find "$1" \( -name .git -o -name autom4te.cache \) -prune -o \
		\( -name configure.ac -o -name Makefile.am -o -name Makemodule.am -o -path '*/m4-local/*.m4' \) \
		-newer "$1/Makefile.in" -print -quit)" ]
}

# suite_autogen SRC LOGDIR
suite_autogen()
{
	autogen_needed "$1" || return 0
	[ -f "$1/configure.ac" ] && [ -w "$1" ] || die "cannot write to $1, where configure is to be made"
	say "suite: autogen.sh"
	quietly "$2/autoreconf.log" "suite: autogen.sh" "$1/autogen.sh" || die "autogen.sh failed; see $2/autoreconf.log"
	touch "$1/Makefile.in"
}

# suite_configure SRC BUILD ARGUMENT…: unless it was done with the same arguments
suite_configure()
{
	local src=$1 build=$2
	shift 2

	[ ! -f "$src/config.status" ] ||
		die "$src is configured in place, which forbids building it elsewhere; run 'make distclean' there first"
	if [ -f "$build/config.status" ] && [ "$(cat "$build/arguments" 2>/dev/null)" = "$src $*" ]; then
		return 0
	fi
	end_orphan "$build.configure.log"
	rm -rf "$build"
	mkdir -p "$build" || die "cannot make the directory $build"
	quietly "$build.configure.log" "suite: configure" in_dir "$build" "$src/configure" "$@" ||
		die "configure failed; see $build.configure.log"
	echo "$src $*" >"$build/arguments"
}

suite_slurm_arguments()
{
	[ -n "$SLURM_SOURCE" ] || return 0
	echo "--with-slurm=$SLURM_PREFIX"
	echo "--with-slurm-source=$SLURM_SOURCE"
}

# suite_install SRC DIR: DIR/build, DIR/prefix
suite_install()
{
	local src=$1 dir=$2 arguments

	suite_autogen "$src" "$dir/log"
	mapfile -t arguments < <(suite_slurm_arguments)
	suite_configure "$src" "$dir/build" --prefix="$dir/prefix" \
		--with-slurm-plugindir="$dir/prefix/lib/slurm" "${arguments[@]}"
	say "suite: make"
	quietly "$dir/log/make.log" "suite: make" make -C "$dir/build" -j"$(nproc)" ||
		die "the suite did not build; see $dir/log/make.log"
	# make install always installs everything; ask first whether anything is new.
	if [ ! -f "$dir/installed" ] || [ -n "$(find "$dir/build" -newer "$dir/installed" -type f -print -quit)" ]; then
		say "suite: make install"
		quietly "$dir/log/install.log" "suite: make install" make -C "$dir/build" install ||
			die "the suite could not be installed; see $dir/log/install.log"
		touch "$dir/installed"
	fi
}
