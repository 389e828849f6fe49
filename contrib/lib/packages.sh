# SPDX-License-Identifier: GPL-2.0-or-later
# packages.sh - the Debian packages that the build, the private cluster and the
# tests need. python3 whole, as python3-minimal has no json module. Proved in clean Debian 12 and 13 roots by tests/clean-root.

SN_PACKAGES="autoconf automake libtool pkg-config gcc libc6-dev make
	libmunge-dev munge libjson-c-dev libhwloc-dev libcmocka-dev libsqlite3-dev libmicrohttpd-dev libgcrypt20-dev
	iproute2 util-linux python3"

packages_missing()
{
	local package

	# shellcheck disable=SC2086 # a list of words
	for package in $SN_PACKAGES; do
		dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || echo "$package"
	done
}

apt_quiet()
{
	DEBIAN_FRONTEND=noninteractive apt-get -y -q \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
		-o APT::Install-Recommends=false "$@"
}

# packages_install LOGDIR
packages_install()
{
	local missing package failed=

	command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
		{ packages_by_command; return; }
	missing=$(packages_missing | tr '\n' ' ')
	if [ -z "$missing" ]; then
		say "packages: all installed"
		return
	fi
	say "packages: installing $missing"
	quietly "$1/apt-update.log" "apt-get update" apt_quiet update ||
		die "apt-get update failed; see $1/apt-update.log"
	# shellcheck disable=SC2086
	if ! quietly "$1/apt-install.log" "apt-get install" apt_quiet install $missing; then
		# One at a time, to name the one that cannot be had.
		for package in $missing; do
			apt_quiet install "$package" >>"$1/apt-install.log" 2>&1 </dev/null ||
				failed="$failed $package"
		done
		[ -z "$failed" ] ||
			die "these packages could not be installed:$failed; see $1/apt-install.log"
	fi
	missing=$(packages_missing | tr '\n' ' ')
	[ -z "$missing" ] || die "still not installed after apt-get install: $missing"
	say "packages: installed"
}

# Another distribution: nothing is installed there, but say at once what lacks.
packages_by_command()
{
	local word lacks=

	for word in autoconf automake libtoolize pkg-config gcc make munged ip unshare python3; do
		command -v "$word" >/dev/null || lacks="$lacks $word"
	done
	for word in json-c munge sqlite3; do
		pkg-config --exists "$word" 2>/dev/null || lacks="$lacks $word.pc"
	done
	[ -z "$lacks" ] ||
		die "this is not Debian, so install by hand what provides:$lacks"
	say "packages: not Debian, but all commands are there"
}
