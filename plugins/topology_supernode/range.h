/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * range.h - place a job on a number of nodes that is only bounded.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_RANGE_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_RANGE_H

#include "topology/place.h"

/* How many numbers of nodes are tried where the best one is out of bounds. */
#define RANGE_TRIES 64

/*
 * sn_place() with at least min and at most max nodes that run ranks: the best
 * answer of those; among the RANGE_TRIES numbers next to the one that would be
 * best without bounds. With request->exact_nodes it is sn_place().
 */
int range_place(const struct sn_topo *topo, const struct sn_place_state *state,
		const struct sn_place_request *request, uint32_t min,
		uint32_t max, struct sn_placement *ret, struct sn_err *err);

#endif
