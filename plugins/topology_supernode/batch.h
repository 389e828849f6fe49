/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * batch.h - the nodes that Slurm offers, a few at a time and already in the cache.
 *
 * What is read of a node lies at the end of a chain of six pointers, and of ten
 * thousand nodes none of it is in the cache: one after the other, waiting for
 * memory is most of what the suite takes for a small job. So the chains of a
 * batch are walked side by side first, a link at a time.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_BATCH_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_BATCH_H

#include "src/interfaces/topology.h"

#define BATCH_NODES 32

/* The next nodes of topo_eval->node_map from *inx on, which is moved behind them.
 * Returns how many, 0 at the end. */
int batch_next(const topology_eval_t *topo_eval, int *inx,
	       int ret[BATCH_NODES]);

#endif
