/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobdir.h - where a job's files go: $SUPERNODE_JOB_DIR, from supernode.conf's
 * JobDir. snrun and the SPANK plugin come to the same directory by it.
 */
#ifndef SN_LAUNCHER_JOBDIR_H
#define SN_LAUNCHER_JOBDIR_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

/*
 * Write pattern into buf with %j, %u, %h and %% in their places. user and home
 * may be NULL where the pattern does not name them. -EINVAL: another letter
 * behind a "%", or the result is no absolute path or has a "..", as root uses it
 * too; -ENAMETOOLONG: it does not fit.
 */
int sn_jobdir_expand(const char *pattern, uint32_t job, const char *user,
		     const char *home, char *buf, size_t size,
		     struct sn_err *err);

#endif
