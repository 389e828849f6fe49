/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h - the placement engine: which nodes a job gets, and how many ranks
 * each of them runs.
 *
 * What is promised, in lexicographic order (the interface contract's numbers):
 *  1 every atom in one supernode, every block in its domain, only free cards,
 *    the pool's share and the spares in each supernode used, SpareNodes kept;
 *  2 the fewest supernodes;
 *  3 the narrowest fabric: fewest distinct fabrics at the root level, then one
 *    level down, …; a supernode whose chain is shorter counts as itself;
 *  4 the fewest units (where the cluster has any; a node outside units counts
 *    as a unit of its own), then the fewest nodes;
 *  5 the lowest sum of node weights;
 *  6 the fewest free cards left by the ranks in the supernodes used, then in
 *    the nodes used (spares and SpareNodes count as left);
 *  7 the first in topology order: the lexicographically smallest list of
 *    supernodes, then as many atoms as possible in the earlier ones, then the
 *    lexicographically smallest list of nodes.
 * In 4 to 6, a node used is one that runs ranks of the job.
 *
 * Late nodes (SN_NODE_LATE: powered down, rebooting) come after all others: the
 * job is first placed as if they were absent, only that their free cards count
 * in 6. If it cannot be, all are tried alike in 1 to 4, and then, before 5, the
 * fewest late nodes used win.
 *
 * Degraded nodes (SN_NODE_DEGRADED: of a supernode or unit whose links are
 * degraded) are avoided in the same way, and more so, since a node is late for
 * minutes and slow links last as long as the job. So the job is placed without
 * either; else with late nodes; else with degraded and without late ones; else
 * with both. Where degraded ones take part they are like all others in 1 to 4,
 * and the fewest degraded nodes used win before the fewest late ones.
 *
 * The words of 1, precisely:
 * - A node serves unless it is absent, held back, kept idle, or, with whole_nodes,
 *   has a configured card that is not free. It holds min(free cards, max_ranks) /
 *   node_block whole node blocks. A unit holds whole unit blocks; with
 *   unit_block over node_block a node in no unit is a unit of its own.
 * - Held back are, unless use_spare_nodes, the last SpareNodes nodes of each
 *   supernode, in topology order, of those that are not late and have cards, all
 *   free, and of which nobody has a part (SN_NODE_PARTLY); all of them where there
 *   are fewer. An absent node is one of them if it is as healthy and free, and only
 *   not for this job (SN_NODE_STANDBY): in another partition, reserved, excluded.
 * - Spares: if the most ranks the job runs on one node of a supernode is m,
 *   `spares` further nodes that serve, each with min(free, max_ranks) >= m.
 *   Which ones does not enter 2 to 6: the first in topology order, late ones
 *   after the others, degraded ones after those, and both last.
 * - Pool, of each supernode used, with its a of A atoms, n nodes with ranks and
 *   c ranks: SN_POOL_TOTAL a·size/A (not rounded), _SUPERNODE size, _NODE
 *   n·size, _CARD c·size must be <= pool_free; bandwidth the same against
 *   bandwidth_free. SN_POOL_NAMED takes no size, and bandwidth as _TOTAL does.
 * - Power, of each supernode used: keep_idle of its nodes must run no job, this
 *   one's ranks and spares included. So of those that do not draw yet
 *   (SN_NODE_DRAWS) only so many serve as may begin to: the required ones, then
 *   those that hold most, then the first of equals, not late or degraded ones
 *   first. What a supernode can host, and so 2 and 3, is as exact as without;
 *   4 to 6 are the best among the nodes that serve, so ret->exact is false. With
 *   unit_block over node_block those serve that hold the most unit blocks
 *   together; for spares or exact_nodes another choice may host more.
 * - Each required node runs ranks (at least one node block).
 * - exact_nodes: exactly that many nodes run ranks.
 * - In 6, left are the free cards of all nodes but absent ones less the ranks.
 *
 * Ranks fill the nodes chosen in a supernode in order, each as far as its free
 * cards and the spares allow (so m is as large as it can be), but each at least
 * one node block, and each unit whole unit blocks. With exact_nodes they are
 * spread over them as evenly as cards and blocks allow, earlier nodes first.
 * Where units take turns in the nodes' order, rank order has to go unit by
 * unit, by their first nodes, for unit blocks to stay whole.
 *
 * 2 is exact at every size, and 3 as far as is said below. 4 to 7 are exact while
 * the tables for them stay within SN_PLACE_EXACT_WORK elementary steps, and
 * ret->exact says whether they did: idle clusters of a million cards do, and
 * busy ones of tens of thousands. Beyond:
 * - the supernodes are chosen by 2 and 3 alone, those that are cheapest when
 *   full deciding between equals, and the atoms are split over them exactly, or
 *   where even that is too much by what each atom saves. In each supernode the
 *   nodes are still the best for the atoms it gets. So, of nodes with c cards
 *   that are all free or not at all, at most one more than the fewest is used
 *   in each supernode.
 * - a supernode with more than about 4 million nodes times node blocks (2,000
 *   nodes of one block, 700 of eight; a tenth of that with required nodes), and
 *   those that are left when five times SN_PLACE_EXACT_WORK steps are done in
 *   all, choose nodes by a greedy rule: the fewest nodes without units; with
 *   units or spares at most one more than needed in each unit used; the weight
 *   is not the least.
 * - 3 weighs supernodes against fabrics in as many steps as supernodes in
 *   question times those to be chosen, and more where they differ much. It is
 *   exact up to 40 million of the former (a million cards in supernodes of
 *   48 x 8, six thousand supernodes of one node) and 20 million pairs of ways to
 *   choose; beyond, whole fabrics are taken by what they hold.
 * - exact_nodes that the best placement with any number of nodes does not
 *   happen to have, where the tables for it are too large (more than about 50
 *   nodes of 8 blocks in a supernode, or a hundred busy supernodes): a choice is
 *   found on the fewest supernodes that have both the atoms and the nodes, and 3
 *   is exact where the narrowest by one of both have the other too; 4 to 7 are
 *   not. Where an atom is more node blocks than one, where unit blocks or spares
 *   bind, there may be numbers of nodes that are legal and not found, and more
 *   supernodes than needed: -ENOSPC then says that the search was limited.
 *   It says so too of some that cannot be.
 *
 * Pure and deterministic: no I/O, no globals, no clock, no randomness; inputs
 * are not changed. Time is near-linear in nodes, and all searches are bounded
 * by numbers of steps: a tenth of a second to half of one at a million cards,
 * about one at worst (ten thousand supernodes of one busy node of 64 cards, two
 * passes for late nodes; twice that with degraded ones beside them).
 */
#ifndef SN_TOPOLOGY_PLACE_H
#define SN_TOPOLOGY_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/jobspec.h"
#include "topology/layout.h"
#include "topology/topo.h"

#define SN_CARDS_MAX 64 /* cards of one node */
#define SN_PLACE_EXACT_WORK (20u << 20)

#define SN_NODE_ABSENT (1u << 0) /* not offered: down, filtered, no such partition */
#define SN_NODE_LATE (1u << 1) /* powered down or rebooting */
#define SN_NODE_REQUIRED (1u << 2) /* the user's -w: must be in the answer */
#define SN_NODE_DEGRADED (1u << 3) /* its supernode's or unit's links are */
#define SN_NODE_DRAWS (1u << 4) /* runs a job already: draws its power; also if absent */
#define SN_NODE_PARTLY (1u << 5) /* has jobs, though its cards may be free: no SpareNode */
#define SN_NODE_STANDBY (1u << 6) /* absent for this job, yet healthy and wholly free */

struct sn_place_node {
	uint64_t cards; /* every configured card, bit c = card c */
	uint64_t free; /* free, healthy and unmasked; a subset of cards */
	uint32_t weight; /* Slurm's node weight */
	uint32_t max_ranks; /* what CPUs, memory, … allow; UINT32_MAX: no limit */
	uint32_t flags; /* SN_NODE_* */
};

struct sn_place_supernode {
	uint64_t pool_free; /* bytes; UINT64_MAX: no limit */
	uint64_t bandwidth_free; /* bytes/s of pool bandwidth; UINT64_MAX: no limit */
	uint32_t keep_idle; /* nodes of it that must run no job (PowerLimit) */
};

struct sn_place_request {
	uint32_t world, node_block, unit_block, atom; /* as in struct sn_layout */
	struct sn_pool pool; /* per SN_POOL_NONE: no pool wanted */
	uint32_t spares; /* nodes in each supernode used */
	uint32_t exact_nodes; /* -N: exactly that many nodes with ranks; 0: free.
			       * Over world / node_block it is -EINVAL. */
	bool use_spare_nodes; /* a replacement job may take SpareNodes */
	bool whole_nodes; /* --exclusive: only nodes whose every card is free */
};

struct sn_place_state {
	const struct sn_place_node *node; /* [topo->n_nodes] */
	const struct sn_place_supernode *supernode; /* [topo->n_supernodes], NULL: no limits */
};

struct sn_score {
	uint32_t supernodes;
	uint32_t n_levels; /* = topo->fabric_levels */
	uint32_t *fabrics; /* [n_levels], from the roots down */
	uint32_t units; /* 0 where none are configured */
	uint32_t nodes; /* with ranks; spares do not count */
	uint32_t degraded; /* of those, the degraded ones */
	uint64_t weight;
	uint64_t left_in_supernodes, left_in_nodes;
};

struct sn_placed_supernode {
	uint32_t supernode;
	uint32_t atoms;
	uint32_t first, n; /* its slice of sn_placement.node */
	uint64_t left_free; /* free cards that its ranks leave */
};

struct sn_placed_node {
	uint32_t node;
	uint32_t ranks; /* > 0, a multiple of node_block */
};

struct sn_placed_spare {
	uint32_t node;
	uint32_t cards; /* how many to reserve: the most the job takes on a node of this supernode */
};

struct sn_placement {
	struct sn_placed_supernode *supernode; /* in topology order */
	uint32_t n_supernodes;
	struct sn_placed_node *node; /* in topology order */
	uint32_t n_nodes;
	struct sn_placed_spare *spare; /* in topology order */
	uint32_t n_spares;
	struct sn_score score;
	bool exact;
};

void sn_place_request_init(struct sn_place_request *request,
			   const struct sn_jobspec *spec);

/*
 * 0 and *ret (owned by the caller: sn_placement_done), -EINVAL a request that
 * contradicts itself, -ENOSPC it does not fit this state, -ENOMEM. On -ENOSPC
 * err holds the reason with its numbers: what is wanted, what the best
 * supernode offers and what stands in the way (busy, masked, held back as
 * SpareNodes, pool, units).
 */
int sn_place(const struct sn_topo *topo, const struct sn_place_state *state,
	     const struct sn_place_request *request, struct sn_placement *ret,
	     struct sn_err *err);
void sn_placement_done(struct sn_placement *placement);

#endif
