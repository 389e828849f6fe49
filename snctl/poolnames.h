/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolnames.h - the pool regions with names of a live cluster, put together from
 * the books of their nodes.
 */
#ifndef SNCTL_POOLNAMES_H
#define SNCTL_POOLNAMES_H

#include "launcher/poolbook.h"
#include "snctl/live.h"

struct pool_name {
	struct sn_poolbook_entry entry; /* bytes: of all its nodes */
	uint32_t supernode;
	uint32_t *node; /* [n_nodes], of the model */
	uint32_t n_nodes;
	uint32_t running, waiting; /* jobs that want it */
};

struct pool_names {
	struct pool_name *name;
	uint32_t n;
};

/* -EINVAL: a node's book cannot be read. */
int pool_names_load(const struct live *live, struct pool_names *ret,
		    struct sn_err *err);
void pool_names_done(struct pool_names *names);
struct pool_name *pool_names_find(const struct pool_names *names,
				  const char *name);
/* Is it a job with --pool=name:NAME of that owner? */
bool pool_name_has_job(const struct pool_name *name, const struct live_job *job);

#endif
