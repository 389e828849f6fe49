/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep.h - what a job is to leave for others: SpareNodes, power, and supernodes
 * that are whole.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_KEEP_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_KEEP_H

#include "plugins/topology_supernode/need.h"

/*
 * Mark absent, of each supernode, the last SpareNodes nodes of those that are
 * wholly free, also of those that are not offered (another partition, a
 * reservation, -x).
 */
void keep_spares(struct need *need);

/* A node that is not offered: healthy and wholly free now? */
bool keep_stands_by(int node_inx);
/* One that is: do jobs have some of it in the time that the call is about? */
bool keep_is_partly(const topology_eval_t *topo_eval, int node_inx);

/*
 * Mark absent, of each supernode, the nodes that PowerLimit keeps idle whatever the
 * job, for a choice that is not the engine's: of those that draw nothing yet, all but
 * as many as may begin to, the required ones first, then in topology order.
 */
void keep_idle(struct need *need);

/* How much using a node wears the cluster out, for jobs of up to SmallJobCards
 * cards. */
enum keep_level {
	KEEP_LOOSE, /* it is in no supernode */
	KEEP_BROKEN, /* its supernode is broken into already */
	KEEP_WHOLE, /* every node of its supernode is wholly free */
	KEEP_LEVELS
};

/* Whether the job is that small. */
bool keep_is_small(const struct need *need);
/* level[n_nodes] of every node; NULL if there is no memory. free() it. */
uint8_t *keep_levels(const struct need *need);

#endif
