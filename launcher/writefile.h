/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writefile.h - files in a directory of the user's own, each there whole or not
 * at all, whatever happens.
 *
 * The directory belongs to the user, is made closed to all others, and is
 * refused where others may write to it; nothing here follows a symbolic link in
 * it.
 */
#ifndef SN_LAUNCHER_WRITEFILE_H
#define SN_LAUNCHER_WRITEFILE_H

#include <stddef.h>

#include "topology/err.h"

/* Make the directory, with the parents that lack, and check that it is the
 * user's own. *ret_fd is a descriptor of it, yours to close. */
int sn_dir_make(const char *dir, int *ret_fd, struct sn_err *err);
/* The same for one that must be there: -ENOENT. */
int sn_dir_open(const char *dir, int *ret_fd, struct sn_err *err);

/* Write dir/name: a temporary file beside it, fsync, rename. The sentence says
 * what a full or read-only disk means. name has no slash. */
int sn_write_file(const char *dir, const char *name, const void *data,
		  size_t len, struct sn_err *err);

/* Read dir/name, at most max bytes; *ret_text is NUL-terminated and yours to
 * free. -ENOENT without a sentence's fuss where it is not there. */
int sn_read_file(const char *dir, const char *name, size_t max,
		 char **ret_text, size_t *ret_len, struct sn_err *err);

#endif
