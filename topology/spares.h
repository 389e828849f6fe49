/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spares.h - which of a job's nodes are its spares.
 *
 * Slurm knows nodes and cards of a job, not what they are for. But whoever
 * knows those, the layout and topology.conf comes here to the same answer:
 * slurmctld, srun's filter, snrun, snctl.
 *
 * A job that was placed with --spares=N holds in each supernode used as many
 * cards as its ranks there need, and N nodes more with as many as the fullest
 * of the others. So the spares are N of the nodes that hold the most cards of
 * the job there, and every other node runs one rank on each card. Which N:
 * those that leave ranks in the fewest units, and unit blocks whole; of such
 * the last in topology order. Nothing else could differ between them.
 *
 * When nodes have been lost, spares stand in: the engine places the layout on
 * what is left, keeping as many spares in each supernode as can be.
 */
#ifndef SN_TOPOLOGY_SPARES_H
#define SN_TOPOLOGY_SPARES_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/layout.h"
#include "topology/topo.h"

struct sn_spares_node {
	uint32_t node; /* of the model */
	uint32_t cards; /* that the job holds there */
};

/*
 * ret_ranks[i]: how many ranks node[i] runs, 0 for a spare. nodes come in
 * topology order, each once; spares is the job's N, 0 is fine. *ret_lost (may be
 * NULL): not all that the job was placed with is there. -ENOSPC: what is left
 * does not hold the layout; -EINVAL nodes out of order; -ENOMEM.
 */
int sn_spares_find(const struct sn_topo *topo, const struct sn_layout *layout,
		   uint32_t spares, const struct sn_spares_node *node,
		   uint32_t n_nodes, uint32_t *ret_ranks, bool *ret_lost,
		   struct sn_err *err);

/* The most nodes that spares can add to those with ranks: N for each atom, as
 * no supernode is used without one. */
uint32_t sn_spares_most(const struct sn_layout *layout, uint32_t spares);

#endif
