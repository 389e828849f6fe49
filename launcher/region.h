/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region.h - pool regions on one node: made, found, taken away. Root only.
 *
 * Below PoolDir, everything is root's and only root may change it, so no path of
 * a user's is ever followed:
 *	PoolDir/NODE			0711
 *	PoolDir/NODE/job-5		what job 5 sees: a mount, its root 0700 and
 *					the user's; a job's own region, or one with
 *					a name, bound to here
 *	PoolDir/NODE/named/w.7		the region named w of incarnation 7; named/
 *					is 0700, so that jobs come in by job-5 only
 *	PoolDir/NODE/job-5.info		what it is; written first and removed last, so
 *					that a sweep finds what was begun
 * A region is its mount: nothing is left of it after a reboot but empty
 * directories, which the next sweep takes away. Each call holds a lock on
 * PoolDir/NODE, so that the steps of a job make one region.
 */
#ifndef SN_LAUNCHER_REGION_H
#define SN_LAUNCHER_REGION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/policy.h"

/* "w.7": a name and its incarnation, with the NUL */
#define SN_REGION_NAME_MAX 128

struct sn_region_node {
	int fd; /* PoolDir/NODE */
	char path[PATH_MAX / 2];
	uint32_t provider; /* enum sn_pool_provider */
	const char *program; /* the policy's; must outlive this */
	uint32_t seconds; /* for one call of it */
};

/* What a job asks for on this node. */
struct sn_region_ask {
	uint32_t job, uid, gid;
	uint64_t bytes;
	const char *name; /* NULL: its own */
	uint64_t incarnation; /* of the name */
	bool read_only;
};

struct sn_region {
	char path[PATH_MAX];
	uint64_t bytes; /* asked for, down to whole pages */
};

/*
 * Open PoolDir/NODE and lock it, waiting `seconds` at most. make false: -ENOENT
 * where it is not there. -EPERM where somebody else than root could change
 * something on the way, -ELOOP where a symbolic link is in it.
 */
int sn_region_open(const struct sn_policy *policy, const char *node, bool make,
		   struct sn_region_node *ret, struct sn_err *err);
void sn_region_close(struct sn_region_node *node);

/* The region that a job has here. -ENOENT; -EPERM another user's. */
int sn_region_find(struct sn_region_node *node, uint32_t job, uint32_t uid,
		   struct sn_region *ret, struct sn_err *err);
/* Make it, or find what another step has made. -ENOSPC the provider has none. */
int sn_region_make(struct sn_region_node *node, const struct sn_region_ask *ask,
		   struct sn_region *ret, struct sn_err *err);
/* Whatever there is of it; 0 if nothing. */
int sn_region_destroy(struct sn_region_node *node, uint32_t job,
		      struct sn_err *err);

/* One region that is here: a job's, or one with a name. */
struct sn_region_entry {
	uint32_t job; /* 0: a name */
	char name[SN_REGION_NAME_MAX]; /* "w.7" */
};
/* *ret is the caller's (free). Leftovers count, too. */
int sn_region_list(struct sn_region_node *node, struct sn_region_entry **ret,
		   size_t *ret_n, struct sn_err *err);
/* One that is mounted no more once no job of this node has it. */
int sn_region_forget(struct sn_region_node *node, const char *name,
		     struct sn_err *err);

#endif
