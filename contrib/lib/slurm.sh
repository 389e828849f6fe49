# SPDX-License-Identifier: GPL-2.0-or-later
# slurm.sh - find a Slurm together with its source, or build one.
#
# The plugins need the *configured* source of the very Slurm that loads them.
# In order of preference:
#   1 --slurm-source DIR: built from it (or only configured, where the same
#     version is installed; or taken as it is, where DIR is a build directory
#     that has been installed);
#   2 an installed slurmctld of the version that Debian 13 ships, whose source
#     is Debian's source package: only configured, nothing is compiled;
#   3 that source package built into the cache, once.
#
# Result, in variables:
#   SLURM_PREFIX   where it is installed (bin, sbin, lib below it)
#   SLURM_SOURCE   its configured source or build directory
#   SLURM_PLUGINS  the directory of its own plugins
#   SLURM_VERSION  e.g. 24.11.5
#   SLURM_WHENCE   a word for people

SN_SLURM_RELEASE=24.11.5
SN_SLURM_SUITE=trixie
SN_SLURM_SRCPKG=slurm-wlm
SLURM_WHY= # why there is none

slurm_version_of()
{
	"$1" -V 2>/dev/null </dev/null | sed -n 's/^slurm[a-z-]* \([0-9.]*\).*/\1/p'
}

slurm_plugins_of()
{
	local dir

	for dir in "$1"/lib/slurm "$1"/lib64/slurm "$1"/lib/*/slurm-wlm "$1"/lib/*/slurm; do
		[ -f "$dir/select_cons_tres.so" ] && echo "$dir" && return
	done
	return 1
}

# ---- Debian's source package ------------------------------------------------

# The machine's own Debian archive, asked for Debian 13's sources: the first
# entry of its sources for its own release, with type and suite changed. Thus a
# mirror, a proxy and keys that work here go on working, and no host is named.
derive_sources()
{
	local dir=$1 codename file

	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | tr -d '"')
	codename="${codename:-none} stable oldstable"
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -f "$file" ] || continue
		grep -v '^#' "$file" | awk -v suites="$codename" -v want="$SN_SLURM_SUITE" '
			BEGIN { RS = ""; FS = "\n"; n = split(suites, s, " ") }
			{
				hit = off = 0; deb = 0
				for (i = 1; i <= NF; i++) {
					line = $i
					if (line ~ /^[Ee]nabled:[ \t]*(no|false)/) off = 1
					if (line ~ /^[Tt]ypes:/ && line ~ /deb/) deb = 1
					if (line ~ /^[Ss]uites:/)
						for (k = 1; k <= n; k++)
							if ((line " ") ~ ("[ \t]" s[k] "[ \t]")) hit = 1
				}
				if (!hit || !deb || off) next
				for (i = 1; i <= NF; i++) {
					if ($i ~ /^[ \t]/ && skip) continue
					skip = ($i ~ /^([Tt]ypes|[Ss]uites|[Cc]omponents|[Aa]rchitectures|[Ee]nabled):/)
					if (!skip) print $i
				}
				print "Types: deb-src\nSuites: " want "\nComponents: main"
				exit
			}' >"$dir/debian.sources"
		[ -s "$dir/debian.sources" ] && return 0
	done
	rm -f "$dir/debian.sources"
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
		awk -v suites="$codename" -v want="$SN_SLURM_SUITE" '
		BEGIN { n = split(suites, s, " ") }
		/^[ \t]*deb[ \t]/ {
			line = $0; options = ""
			sub(/^[ \t]*deb[ \t]+/, "", line)
			if (match(line, /^\[[^]]*\][ \t]*/)) {
				options = substr(line, 1, RLENGTH)
				line = substr(line, RLENGTH + 1)
				gsub(/arch=[^] \t]*/, "", options)
				if (options ~ /^\[[ \t]*\]/) options = ""
			}
			split(line, word, /[ \t]+/)
			for (k = 1; k <= n; k++)
				if (word[2] == s[k]) {
					print "deb-src " options word[1] " " want " main"
					exit
				}
		}' >"$dir/debian.list"
	[ -s "$dir/debian.list" ]
}

private_apt()
{
	local top=$1 tool=$2
	shift 2

	"$tool" -q -o Dir::Etc::SourceList=/dev/null \
		-o Dir::Etc::SourceParts="$top/parts" \
		-o Dir::State::Lists="$top/lists" -o Dir::Cache="$top/cache" \
		-o APT::Sandbox::User=root -o APT::Get::List-Cleanup=false "$@"
}

# Some mirrors serve the .orig tarball and not its .dsc: apt-get source then
# fails and yet leaves the tarball. So its result is not asked, but the
# tarball's checksum, which stands in the index that apt has verified.
slurm_download() # DIR: leaves DIR/orig.tar.*; sets SLURM_WHY on failure
{
	local dir=$1 apt=$1/apt name sum version got

	mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial" ||
		return 1
	SLURM_WHY="this machine's apt sources name no Debian archive"
	derive_sources "$apt/parts" || return 1
	SLURM_WHY="Debian 13's source index cannot be had through this machine's apt sources"
	quietly "$dir/apt.log" "index of Debian 13's sources" \
		private_apt "$apt" apt-get update || return 1
	private_apt "$apt" apt-cache showsrc "$SN_SLURM_SRCPKG" >"$dir/showsrc" 2>>"$dir/apt.log"
	version=$(sed -n 's/^Version: //p' "$dir/showsrc" | grep -m1 "^${SN_SLURM_RELEASE}[-+~]")
	SLURM_WHY="Debian 13 no longer has Slurm $SN_SLURM_RELEASE (it has $(sed -n 's/^Version: //p' "$dir/showsrc" | head -n 1))"
	[ -n "$version" ] || return 1
	# Checksums-Sha256 lines: " SUM SIZE NAME".
	read -r sum name <<-END
		$(awk -v v="$version" '/^Version: / { on = ($2 == v) }
			/^Checksums-Sha256:/ { sha = on; next } /^[^ ]/ { sha = 0 }
			sha && $3 ~ /\.orig\.tar\.[a-z0-9]+$/ { print $1, $3; exit }' "$dir/showsrc")
	END
	SLURM_WHY="Debian's source index has no checksum for $SN_SLURM_SRCPKG $version"
	[ -n "$name" ] || return 1
	quietly "$dir/apt.log" "source of Slurm $SN_SLURM_RELEASE" in_dir "$dir" \
		private_apt "$apt" apt-get source --download-only "$SN_SLURM_SRCPKG=$version" 2>/dev/null
	SLURM_WHY="the source package of Slurm $version could not be downloaded (see $dir/apt.log)"
	[ -f "$dir/$name" ] || return 1
	got=$(sha256sum <"$dir/$name")
	SLURM_WHY="$dir/$name does not have the checksum that Debian's index gives; it was removed"
	[ "${got%% *}" = "$sum" ] || { rm -f "$dir/$name"; return 1; }
	mv "$dir/$name" "$dir/orig.tar.${name##*.tar.}"
}

# slurm_unpack DIR: DIR/src, whole or not at all
slurm_unpack()
{
	local dir=$1 tarball

	[ -f "$dir/src/META" ] && [ -f "$dir/src/configure" ] && return 0
	tarball=$(ls "$dir"/orig.tar.* 2>/dev/null | head -n 1)
	if [ -z "$tarball" ]; then
		slurm_download "$dir" || return 1
		tarball=$(ls "$dir"/orig.tar.*)
	fi
	end_orphan "$dir/unpack.log"
	rm -rf "$dir/src" "$dir/src.new"
	mkdir "$dir/src.new" || return 1
	SLURM_WHY="$tarball does not unpack (see $dir/unpack.log)"
	quietly "$dir/unpack.log" "unpacking" \
		tar -xf "$tarball" --strip-components=1 -C "$dir/src.new" ||
		{ rm -f "$tarball"; return 1; }
	mv "$dir/src.new" "$dir/src"
}

# ---- configure and build ----------------------------------------------------

# autoconf's last word in config.log tells a finished run from a killed one. The source
# must still be where it was, at SRC if that is given: a cache may have been moved, or
# the source; headers are read from there, and make would go there.
slurm_is_configured() # BUILD [SRC]
{
	local src

	[ -f "$1/config.h" ] && [ -f "$1/slurm/slurm_version.h" ] &&
		grep -qx 'configure: exit 0' "$1/config.log" 2>/dev/null || return 1
	src=$(sed -n 's/^abs_top_srcdir = //p' "$1/Makefile" 2>/dev/null | head -n 1)
	[ -f "${src:-/nowhere}/META" ] && [ "$src" -ef "${2:-$src}" ]
}

slurm_is_built() # DIR SRC
{
	[ -f "$1/built" ] && slurm_is_configured "$1/build" "$2"
}

slurm_configure() # SRC BUILD ARGUMENT…
{
	local src=$1 build=$2
	shift 2

	slurm_is_configured "$build" "$src" && return 0
	say "slurm: configuring"
	end_orphan "$build.configure.log"
	rm -rf "$build"
	mkdir -p "$build" || return 1
	SLURM_WHY="Slurm's configure failed (see $build.configure.log)"
	quietly "$build.configure.log" "slurm: configure" in_dir "$build" \
		"$src/configure" --disable-dependency-tracking "$@"
}

# slurm_build DIR SRC: DIR/build and DIR/prefix. A stamp marks the end, so that
# a killed build goes on where it stopped.
slurm_build()
{
	local dir=$1 src=$2

	SLURM_PREFIX=$dir/prefix
	SLURM_SOURCE=$dir/build
	if ! slurm_is_built "$dir" "$src"; then
		rm -f "$dir/built"
		end_orphan "$dir/make.log"
		end_orphan "$dir/install.log"
		need_space "$dir" 1600 "building Slurm"
		slurm_configure "$src" "$dir/build" --prefix="$dir/prefix" \
			--sysconfdir="$dir/prefix/etc" --enable-multiple-slurmd || return 1
		say "slurm: building (once, 3 to 6 minutes on 2 cores)"
		SLURM_WHY="Slurm did not build (see $dir/make.log)"
		quietly "$dir/make.log" "slurm: make" \
			make -C "$dir/build" -j"$(nproc)" || return 1
		SLURM_WHY="Slurm did not install (see $dir/install.log)"
		quietly "$dir/install.log" "slurm: make install" \
			make -C "$dir/build" install || return 1
		date >"$dir/built"
		# Objects and archives are a gigabyte and of no further use; the
		# configured headers stay.
		[ -n "${SN_KEEP_OBJECTS:-}" ] || find "$dir/build" "$dir/prefix" -type f \
			\( -name '*.o' -o -name '*.lo' -o -name '*.a' -o -path '*/build/*.so*' \) -delete
	fi
	SLURM_VERSION=$(slurm_version_of "$dir/prefix/sbin/slurmctld")
	SLURM_PLUGINS=$(slurm_plugins_of "$dir/prefix")
	SLURM_WHY="the Slurm below $dir does not run; remove that directory to build it anew"
	[ -n "$SLURM_VERSION" ] && [ -n "$SLURM_PLUGINS" ]
}

slurm_supported()
{
	case $1 in
	24.11.*|25.05.*|25.11.*|26.05.*) ;;
	*) return 1 ;;
	esac
}

# An installed Slurm: sets SLURM_PREFIX, _VERSION, _PLUGINS.
slurm_installed()
{
	local ctld

	ctld=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v slurmctld) || return 1
	SLURM_VERSION=$(slurm_version_of "$ctld")
	SLURM_PREFIX=$(dirname "$(dirname "$(readlink -f "$ctld")")")
	[ -x "$SLURM_PREFIX/sbin/slurmd" ] && [ -x "$SLURM_PREFIX/bin/sbatch" ] || return 1
	SLURM_PLUGINS=$(slurm_plugins_of "$SLURM_PREFIX")
}

# The Slurm that `make install` in this build directory has installed.
slurm_installed_from() # BUILD
{
	slurm_is_configured "$1" || return 1
	SLURM_PREFIX=$(sed -n 's/^prefix = //p' "$1/Makefile" 2>/dev/null | head -n 1)
	[ -n "$SLURM_PREFIX" ] && [ -x "$SLURM_PREFIX/sbin/slurmctld" ] &&
		[ -x "$SLURM_PREFIX/sbin/slurmd" ] && [ -x "$SLURM_PREFIX/bin/sbatch" ] || return 1
	SLURM_VERSION=$(slurm_version_of "$SLURM_PREFIX/sbin/slurmctld")
	SLURM_PLUGINS=$(slurm_plugins_of "$SLURM_PREFIX")
}

# slurm_provide [SOURCE]: all of the above; 1 with SLURM_WHY where none is had.
slurm_provide()
{
	mkdir -p "$SN_CACHE" || die "cannot make the directory $SN_CACHE"
	exec 8>"$SN_CACHE/lock" || die "cannot write to $SN_CACHE"
	flock -n 8 || { say "slurm: waiting for another run that builds it"; flock 8; }
	slurm_provide_locked "$@"
	set -- $?
	exec 8>&-
	[ "$1" = 0 ] || SLURM_PREFIX='' SLURM_SOURCE='' SLURM_VERSION='' SLURM_PLUGINS=''
	return "$1"
}

slurm_provide_locked()
{
	local given=${1:-} src version dir

	if [ -n "$given" ]; then
		given=$(cd "$given" 2>/dev/null && pwd) ||
			die "--slurm-source $1: no such directory"
		src=$given
		if [ ! -f "$src/META" ]; then # a build directory
			src=$(sed -n 's/^abs_top_srcdir = //p' "$given/Makefile" 2>/dev/null | head -n 1)
			src=$(cd "$given" && cd "${src:-/nowhere}" 2>/dev/null && pwd)
		fi
		[ -f "$src/META" ] && [ -f "$src/configure" ] ||
			die "--slurm-source $given: not Slurm's source (no META and configure there)"
		version=$(awk '$1 == "Version:" { print $2; exit }' "$src/META")
		slurm_supported "$version" ||
			die "--slurm-source $given is Slurm $version; supported are 24.11, 25.05, 25.11 and 26.05"
		if slurm_installed_from "$given" && [ "$SLURM_VERSION" = "$version" ]; then
			SLURM_WHENCE="the one installed from $given"
			SLURM_SOURCE=$given
			return
		fi
		dir=$SN_CACHE/given-$version-$(printf %s "$src" | cksum | cut -d' ' -f1)
		if slurm_installed && [ "$SLURM_VERSION" = "$version" ]; then
			SLURM_WHENCE="the installed one"
			SLURM_SOURCE=$dir/configured
			slurm_configure "$src" "$dir/configured" --prefix="$SLURM_PREFIX"
			return
		fi
		# configure refuses to build outside a tree that is configured inside
		if [ -f "$src/config.status" ]; then
			mkdir -p "$dir/src.new" && cp -a "$src/." "$dir/src.new" &&
				rm -rf "$dir/src" && mv "$dir/src.new" "$dir/src" || return 1
			src=$dir/src
			quietly "$dir/clean.log" "cleaning the copy" make -C "$src" distclean || true
		fi
		mkdir -p "$dir"
		SLURM_WHENCE="built from $given"
		slurm_build "$dir" "$src"
		return
	fi
	dir=$SN_CACHE/slurm-$SN_SLURM_RELEASE
	mkdir -p "$dir" || die "cannot make the directory $dir"
	if slurm_installed; then
		if [ "$SLURM_VERSION" = "$SN_SLURM_RELEASE" ]; then
			SLURM_WHENCE="the installed one"
			SLURM_SOURCE=$dir/configured
			slurm_is_configured "$SLURM_SOURCE" "$dir/src" && return 0
			slurm_unpack "$dir" &&
				slurm_configure "$dir/src" "$SLURM_SOURCE" --prefix="$SLURM_PREFIX" \
					--sysconfdir=/etc/slurm
			return
		fi
		say "slurm: the installed $SLURM_VERSION is left alone: its source is not known here (--slurm-source DIR names it)"
	fi
	SLURM_WHENCE="built from Debian 13's source package"
	slurm_is_built "$dir" "$dir/src" || slurm_unpack "$dir" || return 1
	slurm_build "$dir" "$dir/src"
}
