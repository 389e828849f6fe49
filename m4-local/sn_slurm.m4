# SPDX-License-Identifier: GPL-2.0-or-later
# SN_CHECK_SLURM: find the Slurm to build for.
#
# Plugins need Slurm's *configured source*, because its internal structures are
# not installed. --with-slurm-source takes either a source tree configured in
# place or the build directory of one configured outside; only config.h and the
# generated slurm/*.h must be there, no compiled object is used.
# --with-slurm says where Slurm is installed: the clients (libslurm) and the
# PluginDir that `make install` puts the plugins into.
AC_DEFUN([SN_CHECK_SLURM], [
AC_ARG_WITH([slurm],
  [AS_HELP_STRING([--with-slurm=PREFIX], [where Slurm is installed])],
  [], [with_slurm=])
AC_ARG_WITH([slurm-source],
  [AS_HELP_STRING([--with-slurm-source=DIR], [configured source (or build directory) of the same Slurm; without it no plugin is built])],
  [], [with_slurm_source=no])
AC_ARG_WITH([slurm-plugindir],
  [AS_HELP_STRING([--with-slurm-plugindir=DIR], [where the plugins are installed @<:@PREFIX/lib/slurm@:>@])],
  [], [with_slurm_plugindir=])

have_slurm=no
SLURM_VERSION=
AS_CASE([$with_slurm_source], [no|''], [], [
  sn_build=`cd "$with_slurm_source" 2>/dev/null && pwd`
  AS_IF([test -z "$sn_build"],
    [AC_MSG_ERROR([--with-slurm-source=$with_slurm_source: no such directory])])
  AS_IF([test ! -f "$sn_build/config.h" || test ! -f "$sn_build/slurm/slurm_version.h"],
    [AC_MSG_ERROR([--with-slurm-source=$with_slurm_source: not configured (no config.h and slurm/slurm_version.h); run Slurm's configure there first])])
  AC_MSG_CHECKING([for the Slurm source])
  AS_IF([test -f "$sn_build/src/slurmctld/slurmctld.h"], [sn_src=$sn_build],
    [sn_src=`sed -n 's/^abs_top_srcdir = //p' "$sn_build/Makefile" 2>/dev/null | head -n 1`
     sn_src=`cd "$sn_build" && cd "$sn_src" 2>/dev/null && pwd`])
  AS_IF([test ! -f "$sn_src/src/slurmctld/slurmctld.h"],
    [AC_MSG_ERROR([--with-slurm-source=$with_slurm_source: the source it was configured from was not found])])
  AC_MSG_RESULT([$sn_src])
  SLURM_VERSION=`sed -n 's/^#define SLURM_VERSION_STRING "\(.*\)"/\1/p' "$sn_build/config.h"`
  AC_MSG_CHECKING([for the Slurm version])
  AC_MSG_RESULT([$SLURM_VERSION])
  AS_CASE([$SLURM_VERSION], [24.11.*|25.05.*|25.11.*|26.05.*], [],
    [AC_MSG_ERROR([Slurm $SLURM_VERSION is not supported; 24.11, 25.05, 25.11 and 26.05 are])])
  SLURM_CPPFLAGS="-I$sn_build -I$sn_build/slurm -I$sn_src -I$sn_src/slurm"
  # Plugins are part of Slurm's own program, so "config.h" is Slurm's there,
  # and what its headers do is not ours to be warned of.
  SLURM_PLUGIN_CPPFLAGS="-isystem $sn_build -isystem $sn_build/slurm -isystem $sn_src -isystem $sn_src/slurm"
  have_slurm=yes
])
AS_IF([test -n "$with_slurm" && test "x$with_slurm" != xno], [
  sn_prefix=$with_slurm
  AS_IF([test ! -d "$sn_prefix"],
    [AC_MSG_ERROR([--with-slurm=$with_slurm: no such directory])])
], [sn_prefix=])
AS_IF([test -n "$with_slurm_plugindir"], [slurmplugindir=$with_slurm_plugindir],
  [test -n "$sn_prefix"], [
    # Installed Slurms keep their plugins in lib/slurm or, on Debian, in
    # lib/<triplet>/slurm-wlm.
    slurmplugindir=
    for d in "$sn_prefix"/lib/slurm "$sn_prefix"/lib64/slurm "$sn_prefix"/lib/*/slurm-wlm; do
      AS_IF([test -f "$d/select_cons_tres.so"], [slurmplugindir=$d; break])
    done
    AS_IF([test -z "$slurmplugindir"],
      [AC_MSG_ERROR([--with-slurm=$with_slurm: no select_cons_tres.so under it; name the directory by --with-slurm-plugindir])])
  ], [slurmplugindir='${libdir}/slurm'])
AC_SUBST([slurmplugindir])
AC_SUBST([SLURM_CPPFLAGS])
AC_SUBST([SLURM_PLUGIN_CPPFLAGS])
AC_SUBST([SLURM_SOURCE], [$sn_src])
AC_SUBST([SLURM_BUILD], [$sn_build])
AC_CONFIG_FILES([plugins/slurm-config/config.h:plugins/slurm-config.h.in])
AC_SUBST([SLURM_VERSION])
AC_SUBST([SLURM_PREFIX], [$sn_prefix])
AM_CONDITIONAL([HAVE_SLURM], [test "x$have_slurm" = xyes])
])

AC_DEFUN([SN_REPORT], [
AS_IF([test "x$have_slurm" = xyes],
  [AC_MSG_NOTICE([building everything, for Slurm $SLURM_VERSION; plugins go to $slurmplugindir])],
  [AC_MSG_NOTICE([without a Slurm source the plugins and snctl's live commands are left out; to have them, give --with-slurm=PREFIX --with-slurm-source=DIR, or run contrib/quickstart])])
AS_IF([test "x$have_mhd" = xno],
  [AC_MSG_NOTICE([without libmicrohttpd (libmicrohttpd-dev) snelasticd has no metrics over HTTP])])
AS_IF([test "x$have_gcrypt" = xno],
  [AC_MSG_NOTICE([without libgcrypt (libgcrypt20-dev) libsnmem keeps no copies of shards on other nodes])])
AS_IF([test "x$have_cmocka" = xno],
  [AC_MSG_NOTICE([without cmocka (libcmocka-dev) the unit tests are left out])])
])
