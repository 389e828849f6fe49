/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runprog.h - run a site's program, for a limited time and a limited answer.
 */
#ifndef SN_LAUNCHER_RUNPROG_H
#define SN_LAUNCHER_RUNPROG_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_RUNPROG_MAX (64u << 10) /* bytes of its answer */

/*
 * Run argv[0], an absolute path, in a process group of its own, with no other
 * environment than PATH and no open files but its output. *ret_text (free) is
 * what it wrote on standard output, NUL-terminated.
 *
 * -ETIME it did not end in `seconds`: its group is killed. -ECHILD it failed:
 * err has its status and the first line of its standard error. -EFBIG it wrote
 * too much. -EINVAL no absolute path, or others than root may change it.
 */
int sn_runprog(char *const argv[], uint32_t seconds, char **ret_text,
	       size_t *ret_len, struct sn_err *err);
/* The same for an answer of up to max bytes. Threads may call both. */
int sn_runprog_sized(char *const argv[], uint32_t seconds, size_t max,
		     char **ret_text, size_t *ret_len, struct sn_err *err);

#endif
