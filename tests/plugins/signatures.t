#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# signatures.t - each plugin's functions have the types that Slurm calls.
#
# Slurm finds them by name, so a wrong type would be found by a crash. Here the
# table of functions is taken from Slurm's own source and filled with ours, and
# the compiler compares.
set -u
: "${SN_SRCDIR:?}" "${SN_BUILDDIR:?}"
: "${SN_SLURM_SOURCE:?}" "${SN_PLUGIN_CPPFLAGS:?}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

# The struct that ends in "} NAME;", from its typedef on.
table() { # file name
	awk -v end="} $2;" '
		/^typedef struct/ { text = ""; on = 1 }
		on { text = text $0 "\n" }
		on && index($0, end) == 1 { printf "%s", text; exit }
	' "$1"
}

check() { # plugin interface struct [change]
	src=$SN_SLURM_SOURCE/src/interfaces/$2.c
	{
		for c in plugin later; do
			[ ! -f "$SN_SRCDIR/plugins/$1/$c.c" ] || echo "#include \"plugins/$1/$c.c\""
		done
		table "$src" "$3"
		echo "extern $3 sn_check;"
		echo "$3 sn_check = {"
		sed -n '/syms\[\] *= *{/,/};/p' "$src" | grep -o '"[a-z_0-9]*"' |
		tr -d '"' | while read -r name; do
			case $name in
			plugin_id|plugin_type|supports_*) echo "	(void *)&$name," ;;
			*) echo "	$name," ;;
			esac
		done
		echo "};"
	} > "$tmp/check.c"
	[ -z "${4:-}" ] || sed -i "$4" "$tmp/check.c"
	# shellcheck disable=SC2086
	(cd "$SN_BUILDDIR" && ${CC:-cc} -DHAVE_CONFIG_H $SN_PLUGIN_CPPFLAGS \
		-I"$SN_SRCDIR" -std=gnu11 -fsyntax-only \
		-Werror=incompatible-pointer-types -Werror=int-conversion \
		"$tmp/check.c") > "$tmp/why" 2>&1
}

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"; failed=1; sed 's/^/# /' "$tmp/why" | head -20; fi
}

check topology_supernode topology slurm_topo_ops_t
result $? "topology/supernode has the types of $SN_SLURM_VERSION"
check select_supernode select slurm_select_ops_t
result $? "select/supernode"
check job_submit_supernode job_submit slurm_submit_ops_t
result $? "job_submit/supernode"
check cli_filter_supernode cli_filter cli_filter_ops_t
result $? "cli_filter/supernode"
check gres_npu gres slurm_gres_ops_t
result $? "gres/npu"
# The check itself must be able to fail.
! check gres_npu gres slurm_gres_ops_t 's/^	gres_p_get_devices,/	gres_p_step_hardware_init,/'
result $? "a wrong type is found"
echo "1..$n"
exit $failed
