/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepnodes.h - a step's nodes in Slurm's order and in topology order.
 *
 * Slurm lists a step's nodes in the order of its node table. sn_rankmap_build()
 * wants them in topology order. Used where the ranks are given (slurmctld) and
 * where they are looked up again (slurmstepd), so that both agree.
 */
#ifndef SN_PLUGINS_COMMON_STEPNODES_H
#define SN_PLUGINS_COMMON_STEPNODES_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/hostlist.h"
#include "topology/rankmap.h"
#include "topology/topo.h"

struct sn_stepnodes {
	uint32_t n;
	uint32_t *topo_node; /* [n] Slurm's order -> node of the model */
	uint32_t *order; /* [n] topology order -> Slurm's order */
	uint32_t *position; /* [n] Slurm's order -> topology order */
	struct sn_rankmap_node *run; /* [n] in topology order */
};

/* tasks[i] is what node i of names runs. -ENOENT if a node is not in topo. */
int sn_stepnodes_make(const struct sn_topo *topo, const struct sn_names *names,
		      const uint16_t *tasks, struct sn_stepnodes *ret);
void sn_stepnodes_done(struct sn_stepnodes *nodes);

/* Add to a model of topology.conf the nodes that it does not name: they are
 * loose. -ENOMEM, -EINVAL. */
int sn_stepnodes_know(struct sn_topo *topo, const struct sn_names *names);

/* Does the map have the ranks as they come where each node in turn gets all of
 * its own? In turn by the topology's order, or by Slurm's node table. */
bool sn_stepnodes_in_turn(const struct sn_stepnodes *nodes,
			  const struct sn_rankmap *map, bool by_topology);

#endif
