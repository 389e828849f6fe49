/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolplan.h - a pool region with a name, before it is made and before it is taken
 * away: where it goes, how large, and whether it may be.
 *
 * The same for snelasticd and, where there is none, for snctl itself. What a plan
 * says is true of the snapshot it was made from: between that and the writing jobs
 * start. So snelasticd asks poolplan_check() again once the records are written; a job
 * that starts after that finds the region counted.
 */
#ifndef SNCTL_POOLPLAN_H
#define SNCTL_POOLPLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/poolbook.h"
#include "snctl/live.h"
#include "snctl/poolnames.h"

struct poolplan_ask {
	const char *name;
	const char *size; /* as typed: "400G" of the whole, "50G/node" */
	const char *supernode, *nodes; /* NULL: by the job; all of them */
	uint32_t job; /* in whose supernode, for whose owner; 0: none */
	bool has_uid;
	uint32_t uid; /* whose it shall be */
	uint32_t by; /* who asks */
	bool limited; /* he is neither root nor SlurmUser; then: */
	uint32_t percent, percent_user; /* PoolNamed, PoolNamedUser */
	uint32_t slurm_uid;
};

struct poolplan {
	struct sn_poolbook_entry entry; /* bytes: of each node; 0: take it away */
	char *supernode;
	char **node; /* [n] names */
	uint32_t n;
	bool exists; /* it is there as it shall be: nothing is to be written */
	bool limited; /* leave room in the records for what is not users' */
	uint32_t waiting; /* jobs that want it and do not run */
};
void poolplan_done(struct poolplan *plan);

/* -EINVAL, -ENOENT (no such supernode or job), -EEXIST another of that name, -EPERM
 * not for this user; and as poolplan_check(). */
int poolplan_create(const struct live *live, const struct pool_names *names,
		    const struct poolplan_ask *ask, struct poolplan *ret,
		    struct sn_err *err);
/* Room and limits, with all that is there but the region itself: as
 * poollimit_check(). */
int poolplan_check(const struct live *live, const struct pool_names *names,
		   const struct poolplan_ask *ask, const struct poolplan *plan,
		   struct sn_err *err);
/* -ENOENT; -EPERM not his; -EBUSY jobs have it. */
int poolplan_drop(const struct live *live, const struct pool_names *names,
		  const struct poolplan_ask *ask, struct poolplan *ret,
		  struct sn_err *err);
/* Into the nodes' records, all or none, as nodeextra_change(). */
int poolplan_write(struct poolplan *plan, struct sn_err *err);

#endif
