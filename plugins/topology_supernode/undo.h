/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * undo.h - put back what Slurm's counting changes in a try that fails.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_UNDO_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_UNDO_H

#include "src/interfaces/topology.h"

#include "topology/place.h"

struct undo_node;

struct undo {
	bitstr_t *node_map;
	struct undo_node *node;
	uint32_t n;
};

/* Remember the nodes of a placement. -ENOMEM. */
int undo_save(struct undo *undo, const topology_eval_t *topo_eval,
	      const struct sn_placement *placed);
void undo_all(struct undo *undo, topology_eval_t *topo_eval);
void undo_done(struct undo *undo);

#endif
