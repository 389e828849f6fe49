/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h - a caller-owned sentence that says what went wrong.
 *
 * Every function of the core returns 0 or -errno and takes, last, a struct
 * sn_err that it fills only on failure. NULL is allowed. The text is one
 * sentence for a user: what was read, where, the numbers, and what would be
 * right. The core never logs and never exits; adapters turn the code into
 * ESLURM_*, ESPANK_* or an exit code.
 */
#ifndef SN_TOPOLOGY_ERR_H
#define SN_TOPOLOGY_ERR_H

#include <stdarg.h>

#define SN_ERR_SIZE 1024

struct sn_err {
	char text[SN_ERR_SIZE]; /* NUL-terminated; cut at a whole character */
};

/* Format into err (unless NULL) and return code, so that a failure is a line:
 *	return sn_err_set(err, -EINVAL, "tp=%u does not divide %u", tp, n);
 * Control characters and bytes that are no UTF-8, which came with user text, are
 * replaced by '?'. */
int sn_err_set(struct sn_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "prefix" before the text that is already there; returns code. */
int sn_err_prefix(struct sn_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
