/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rankmap.h - which rank runs on which node, as which of its cards.
 *
 * map=contiguous: atoms in rank order fill the chosen supernodes in topology
 * order, and inside one, ranks fill the chosen nodes in order, whole node
 * blocks at a time, cards in ascending order. Where atoms interleave (vllm with
 * pp > 1), whole unit blocks by their smallest rank, and in each whole node
 * blocks by theirs: for consecutive atoms that is rank order. Where blocks are
bound to units and the units take turns in the nodes' order, the nodes are filled
unit by unit, in the order of their first nodes, or unit blocks would be split.
 *
 * map=auto gives each supernode as many atoms, but perhaps others: of three
 * orders of the atoms (by number; pipeline-major, all stages of the first
 * replicas, then of the next; stage-major, all replicas of the first stage,
 * then of the next) it takes the one in which the fewest edges leave a
 * supernode, the first of these if they tie. Edges are those between
 * consecutive stages of each pp group and those of the ring of each dp group.
 *
 * It needs only how many ranks each node runs, so that the launcher and the
 * step hook of slurmctld, which see nothing but a step's task counts, come to
 * the same answer as the engine did.
 */
#ifndef SN_TOPOLOGY_RANKMAP_H
#define SN_TOPOLOGY_RANKMAP_H

#include <stdint.h>

#include "topology/err.h"
#include "topology/layout.h"
#include "topology/topo.h"

struct sn_rankmap_node {
	uint32_t supernode; /* any number that is equal for the same supernode */
	uint32_t ranks; /* how many it runs */
	uint32_t unit; /* likewise for the same unit; SN_NONE: in none, which is
			* a unit of its own */
};

struct sn_rankmap {
	uint32_t world;
	uint32_t *node; /* [world] rank -> position in the nodes given */
	uint32_t *local; /* [world] rank -> its number among that node's ranks, ascending */
};

/*
 * nodes are in topology order, those of one supernode together. -EINVAL with a
 * sentence where the counts do not sum to the world or would split an atom,
 * a unit block or a node block: then no legal order exists for these counts.
 */
int sn_rankmap_build(const struct sn_layout *layout,
		     const struct sn_rankmap_node *node, uint32_t n_nodes,
		     struct sn_rankmap *ret, struct sn_err *err);
void sn_rankmap_done(struct sn_rankmap *map);

#endif
