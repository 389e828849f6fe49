/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolleft.h - what the pools of supernodes have, and what a job holds of them.
 *
 * One arithmetic for all who do this sum: placement, snctl, the regions on the
 * nodes. Nothing is kept; it follows from the nodes' states and the jobs.
 *
 * PoolMemory is in equal parts in the nodes of its supernode, and the part of a
 * node that is gone is gone with it. What is left can then be less than nothing,
 * which counts as nothing: who has his share keeps it.
 *
 * A job holds what sn_poolshare_supernode() says of its ranks. Its spares hold
 * nothing until they run ranks. When one takes over the ranks of a node that the
 * job has lost, the job's other nodes there hold what they held, so the
 * supernode is charged as before.
 */
#ifndef SN_TOPOLOGY_POOLLEFT_H
#define SN_TOPOLOGY_POOLLEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/jobspec.h"
#include "topology/spares.h"
#include "topology/topo.h"

/* What is there of PoolMemory when that many of the supernode's nodes are;
 * rounded down; 0 without PoolMemory. */
uint64_t sn_poolleft_memory(const struct sn_topo_supernode *sn, uint32_t there);

/* *left, which may be UINT64_MAX, no limit, less what; 0 at least. */
void sn_poolleft_take(uint64_t *left, uint64_t what);

struct sn_poolleft_share {
	uint32_t ranks, nodes; /* nodes with ranks */
	uint64_t bytes, bandwidth;
};

/*
 * What a running job holds of each supernode: share[topo->n_supernodes], all of it
 * written. node[n_nodes] is what it holds now, in any order, a node once.
 *
 * lost[topo->n_supernodes] counts the nodes that it had at its start and has lost
 * since; NULL: nobody knows. Then, where a job with spares has lost nodes in one
 * of several supernodes and any may be the one, each is charged for the most
 * ranks that it can be running.
 *
 * ret_ranks (may be NULL): [n_nodes] as sn_spares_find() has it, and *ret_lost (may
 * be NULL) whether those are what the job was placed with. Where the job has lost
 * too much to run whole, every card counts. -EINVAL, -ENOMEM.
 */
int sn_poolleft_job(const struct sn_topo *topo, const struct sn_jobspec *spec,
		    const struct sn_spares_node *node, uint32_t n_nodes,
		    const uint32_t *lost, struct sn_poolleft_share *share,
		    uint32_t *ret_ranks, bool *ret_lost, struct sn_err *err);

#endif
