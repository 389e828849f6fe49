# SPDX-License-Identifier: GPL-2.0-or-later
# SN_CHECK_LIBSLURM: what the live commands of snctl need, the public header
# and libslurm. After SN_CHECK_SLURM, whose SLURM_PREFIX it uses; without one,
# the compiler's own directories.
#
# A Slurm without development files has libslurm.so.N alone: then the header
# comes from the configured source, and the library is linked by its file name.
# -isystem, as Slurm's headers have prototypes that our warnings object to.
AC_DEFUN([SN_CHECK_LIBSLURM], [
have_libslurm=no
LIBSLURM_CPPFLAGS=
LIBSLURM_LIBS=
sn_save_CPPFLAGS=$CPPFLAGS
sn_save_LIBS=$LIBS
AS_IF([test -n "$SLURM_PREFIX" && test -f "$SLURM_PREFIX/include/slurm/slurm.h"],
  [AS_CASE([$SLURM_PREFIX], [/usr|/], [],
    [LIBSLURM_CPPFLAGS="-isystem $SLURM_PREFIX/include"])],
  [test -n "$SLURM_CPPFLAGS"],
  [LIBSLURM_CPPFLAGS=`echo " $SLURM_CPPFLAGS" | sed 's/ -I/ -isystem /g'`])
AS_IF([test -n "$SLURM_PREFIX"], [
  for d in "$SLURM_PREFIX"/lib "$SLURM_PREFIX"/lib64 "$SLURM_PREFIX"/lib/*-linux-gnu*; do
    AS_CASE([$d], [/usr/lib|/usr/lib64|/usr/lib/*], [sn_rpath=],
      [sn_rpath="-L$d -Wl,-rpath,$d "])
    AS_IF([test -f "$d/libslurm.so"], [LIBSLURM_LIBS="$sn_rpath-lslurm"; break])
    for f in "$d"/libslurm.so.*; do
      # libslurm.so.42 and not libslurm.so.42.0.0
      AS_CASE([$f], [*.so.*.*], [],
        [AS_IF([test -f "$f"], [LIBSLURM_LIBS="$sn_rpath$f"; break 2])])
    done
  done
], [LIBSLURM_LIBS=-lslurm])
CPPFLAGS="$CPPFLAGS $LIBSLURM_CPPFLAGS"
LIBS="$LIBSLURM_LIBS $LIBS"
AC_MSG_CHECKING([for libslurm])
AS_IF([test "x$with_slurm" != xno && test -n "$LIBSLURM_LIBS"], [
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>]],
    [[slurm_init(0); return !slurm_strerror(0);]])], [have_libslurm=yes])
])
AC_MSG_RESULT([$have_libslurm])
CPPFLAGS=$sn_save_CPPFLAGS
LIBS=$sn_save_LIBS
AS_IF([test $have_libslurm = no], [LIBSLURM_CPPFLAGS= LIBSLURM_LIBS=])
AC_SUBST([LIBSLURM_CPPFLAGS])
AC_SUBST([LIBSLURM_LIBS])
AM_CONDITIONAL([HAVE_LIBSLURM], [test $have_libslurm = yes])
])
