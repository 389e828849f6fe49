/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeextra.h - change one thing in the `extra` of node records.
 *
 * Slurm has no compare-and-swap for it: each node is read, changed, written and
 * read again, and what somebody else has written in between is an error, not lost
 * in silence.
 */
#ifndef SNCTL_NODEEXTRA_H
#define SNCTL_NODEEXTRA_H

#include <stdint.h>

#include "topology/err.h"

/* From the old text (may be NULL) to the new one, *ret (free). */
typedef int (*nodeextra_fn)(void *ctx, const char *node, const char *extra,
			    char **ret, struct sn_err *err);

/*
 * Change the nodes' records, all of them or none: what `change` refuses is found
 * before the first is written, and what fails later is taken back as far as
 * slurmctld lets us. -EPERM: only root and SlurmUser may.
 */
int nodeextra_change(const char *const *node, uint32_t n, nodeextra_fn change,
		     void *ctx, struct sn_err *err);

/* Would it be refused? Nothing is written. */
int nodeextra_check(const char *const *node, uint32_t n, nodeextra_fn change,
		    void *ctx, struct sn_err *err);
/* Drain a whole node, unless it is drained already. */
int nodeextra_drain(const char *node, const char *reason, struct sn_err *err);

#endif
