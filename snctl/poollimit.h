/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poollimit.h - is there room for a region with a name, and may its owner have it?
 * Pure.
 */
#ifndef SNCTL_POOLLIMIT_H
#define SNCTL_POOLLIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

struct poollimit {
	const char *supernode; /* its name, for sentences */
	uint64_t want; /* bytes, all nodes together */
	uint64_t there; /* what of PoolMemory is there now */
	uint64_t held; /* of it, by jobs and by other regions */
	/* For users: */
	bool limited; /* the rest counts; false: root and SlurmUser ask */
	uint64_t memory; /* PoolMemory as configured */
	uint32_t percent, percent_user; /* PoolNamed, PoolNamedUser */
	uint32_t uid;
	uint64_t by_users, by_user; /* other regions hold: of users; of this one */
};

/* -ENOSPC: the pool has not so much left; -EDQUOT: more than the site lets users, or
 * this one, hold. */
int poollimit_check(const struct poollimit *limit, struct sn_err *err);

#endif
