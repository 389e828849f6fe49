/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolask.h - have snelasticd make or delete a pool region with a name.
 */
#ifndef SNCTL_POOLASK_H
#define SNCTL_POOLASK_H

#include <stdbool.h>

#include "snctl/poolplan.h"
#include "topology/err.h"

struct poolask_done {
	uint32_t uid;
	uint64_t bytes; /* of each node */
	uint32_t nodes;
	char supernode[256];
	uint32_t waiting; /* jobs that want one that was deleted */
};

/* -EHOSTUNREACH: none answers, and the sentence is for who needs one; -ETIMEDOUT: nor
 * in time, and it may be done or not; -EPERM, -ENOENT, -EINVAL, -EBUSY: it does not,
 * and says why. */
int poolask(const char *config, bool create, const struct poolplan_ask *ask,
	    struct poolask_done *ret, struct sn_err *err);

#endif
