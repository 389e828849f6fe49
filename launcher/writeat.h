/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writeat.h - a file in a directory that is open already, there whole or not at all.
 *
 * What writefile.h does for snrun with sentences, libsnmem does for its shards and lists;
 * both do it by these two. 0 or -errno; a name has no slash.
 */
#ifndef SN_LAUNCHER_WRITEAT_H
#define SN_LAUNCHER_WRITEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* All n parts, one after the other: a temporary file beside it, rename. durable: fsync,
 * too, of the file before it has its name and of the directory after. -EINVAL: no name. */
int sn_write_at(int dir, const char *name, const struct iovec *part, int n, bool durable);

/* A regular file of at most max bytes; *ret (free) is NUL-terminated. A symbolic link is
 * not followed: -ELOOP. -EFBIG: another kind of file, or larger. */
int sn_read_at(int dir, const char *name, size_t max, char **ret, size_t *ret_len);

#endif
