/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topoapi.h - what topology_supernode.so offers to our other plugins.
 *
 * Slurm loads each plugin apart from the others, so the one that owns the
 * model exports a table, and the others look it up in the copy that Slurm has
 * already loaded. In slurmctld the model changes only under the node write
 * lock: hold the node read lock, as job_submit, step_start and eval_nodes do.
 */
#ifndef SN_PLUGINS_COMMON_TOPOAPI_H
#define SN_PLUGINS_COMMON_TOPOAPI_H

#include <stdint.h>

#include "src/common/bitstring.h"

#include "topology/jobspec.h"
#include "topology/policy.h"
#include "topology/topo.h"

#define SN_TOPOAPI_SYMBOL "sn_topoapi_table"
#define SN_TOPOAPI_VERSION 6

/* How a job may be placed, apart from its layout. */
struct sn_topoapi_ask {
	const struct sn_jobspec *spec;
	bitstr_t *nodes; /* of the node table; NULL: all */
	bitstr_t *required; /* the user's -w; NULL: none */
	uint32_t cpus_per_task;
	uint32_t min_nodes, max_nodes; /* -N; 0: free */
	bool whole_nodes;
};

struct sn_topoapi {
	uint32_t version;
	const struct sn_policy *(*policy)(void);
	/* NULL before topology.conf was read. Loose nodes are in it. */
	const struct sn_topo *(*topo)(void);
	/* The cards of one node that has some: the commonest number; *ret_most
	 * (may be NULL) is the greatest. 0: no node has any. */
	uint32_t (*cards_per_node)(uint32_t *ret_most);
	/* Node of the model for an index of Slurm's node table, or SN_NONE. */
	uint32_t (*topo_node)(uint32_t node_inx);
	/* Does it fit the cluster when every card is free? 0, or -ENOSPC with
	 * the reason. Says nothing about when. */
	int (*could_fit)(const struct sn_topoapi_ask *ask, struct sn_err *err);
	/* Which SELECT_MODE_… the eval_nodes calls that follow in this thread
	 * are for: Slurm does not tell a topology plugin. */
	void (*set_mode)(uint16_t mode);
	/* Under the node write lock: nodes came to the node table or left it. */
	void (*nodes_changed)(void);

	/* A pool region with a name: 0 it is the user's, and *ret_bytes its part
	 * on the node that has most; -ENOENT, -EPERM. */
	int (*region)(const char *name, uint32_t uid, uint64_t *ret_bytes,
		      struct sn_err *err);

	/* May a job of that owner and at least that many nodes replace nodes of
	 * job_id? 0, or a sentence: -EPERM, -ENOENT, -EINVAL, -ENOSPC. */
	int (*replaces)(uint32_t job_id, uint32_t owner, bool privileged,
			uint32_t min_nodes, struct sn_err *err);

	/* Call fn for each node with cards that no job which starts may get. */
	void (*each_masked)(void (*fn)(uint32_t node_inx, uint64_t masked,
				       void *arg), void *arg);
};

/* NULL if topology/supernode is not what Slurm has loaded. */
const struct sn_topoapi *sn_topoapi_find(void);

#endif
