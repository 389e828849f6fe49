/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plain.h - choose the nodes of a job without --parallel.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_PLAIN_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_PLAIN_H

#include "src/interfaces/topology.h"

/*
 * Choose nodes from topo_eval->node_map: with --segment=k whole segments of k
 * nodes, each inside a supernode; else the fewest supernodes, the narrowest
 * fabric and so on. What a job gets on them is counted by Slurm's own code.
 * A job without --segment that this finds no place for is left to Slurm's own
 * choice: what stock Slurm would run, runs. SLURM_SUCCESS or an error.
 */
int plain_eval(topology_eval_t *topo_eval);

/* What select/cons_tres is asked for in this thread: SELECT_MODE_…. */
void plain_set_mode(uint16_t mode);
uint16_t plain_mode(void);

#endif
