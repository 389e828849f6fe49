/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aggregate.c - place a job, and keep --consolidate-segments.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/topology_supernode/aggregate.h"
#include "plugins/topology_supernode/model.h"

static bool is_wanted(const struct need *need)
{
#if SN_SLURM_AT_LEAST(25, 11)
	return need->segment &&
		need->topo_eval->job_ptr->bit_flags & CONSOLIDATE_SEGMENTS;
#else
	(void)need;
	return false;
#endif
}

static uint32_t segments_of(const struct need *need,
			    const struct sn_topo_supernode *sn)
{
	uint32_t n = sn->n_nodes / need->segment;

	return need->spread && n > 1 ? 1 : n;
}

/* Fabric around supernode s at a depth; SN_NONE: its chain is shorter. */
static uint32_t fabric_at(const struct sn_topo *topo, uint32_t s, uint32_t depth)
{
	uint32_t f = topo->supernode[s].fabric;

	while (f != SN_NONE && topo->fabric[f].depth > depth)
		f = topo->fabric[f].parent;
	return f != SN_NONE && topo->fabric[f].depth == depth ? f : SN_NONE;
}

/* room[f]: the segments that fabric f of this depth holds when idle. */
static bool find_room(const struct need *need, uint32_t depth, uint32_t segments,
		      uint32_t *room)
{
	const struct sn_topo *topo = model_topo();
	bool found = false;
	uint32_t s, f;

	memset(room, 0, topo->n_fabrics * sizeof(*room));
	for (s = 0; s < topo->n_supernodes; s++) {
		f = fabric_at(topo, s, depth);
		if (f == SN_NONE)
			continue;
		room[f] += segments_of(need, &topo->supernode[s]);
		found |= room[f] >= segments;
	}
	return found;
}

static bool is_better(const struct sn_score *a, const struct sn_score *b)
{
	uint32_t l;

	if (!a->degraded != !b->degraded)
		return !a->degraded;
	if (a->supernodes != b->supernodes)
		return a->supernodes < b->supernodes;
	for (l = 0; l < a->n_levels && l < b->n_levels; l++)
		if (a->fabrics[l] != b->fabrics[l])
			return a->fabrics[l] < b->fabrics[l];
	if (a->units != b->units)
		return a->units < b->units;
	if (a->weight != b->weight)
		return a->weight < b->weight;
	if (a->left_in_supernodes != b->left_in_supernodes)
		return a->left_in_supernodes < b->left_in_supernodes;
	return a->left_in_nodes < b->left_in_nodes;
}

static int place_in(const struct sn_place_state *state, uint32_t depth,
		    uint32_t fabric, const struct sn_place_request *request,
		    struct sn_place_node *node, struct sn_placement *best,
		    struct sn_err *err)
{
	const struct sn_topo *topo = model_topo();
	struct sn_place_state only = {
		.node = node, .supernode = state->supernode,
	};
	struct sn_placement placed = { 0 };
	uint32_t t;
	int rc;

	memcpy(node, state->node, topo->n_nodes * sizeof(*node));
	for (t = 0; t < topo->n_nodes; t++)
		if (fabric_at(topo, topo->node[t].supernode, depth) != fabric)
			node[t].flags |= SN_NODE_ABSENT;
	rc = sn_place(topo, &only, request, &placed, err);
	if (rc)
		return rc;
	if (!best->n_nodes || is_better(&placed.score, &best->score)) {
		sn_placement_done(best);
		*best = placed;
	} else {
		sn_placement_done(&placed);
	}
	return 0;
}

static int place_in_one(const struct need *need,
			const struct sn_place_state *state,
			const struct sn_place_request *request,
			uint32_t segments, struct sn_placement *ret,
			struct sn_err *err)
{
	const struct sn_topo *topo = model_topo();
	uint32_t depth = topo->fabric_levels, f;
	struct sn_place_node *node = calloc((size_t)topo->n_nodes + 1,
					    sizeof(*node));
	uint32_t *room = calloc((size_t)topo->n_fabrics + 1, sizeof(*room));
	int rc = node && room ? 0 : -ENOMEM;

	while (!rc && depth && !find_room(need, depth - 1, segments, room))
		depth--;
	if (!rc && !depth)
		rc = sn_place(topo, state, request, ret, err);
	for (f = 0; !rc && depth && f < topo->n_fabrics; f++)
		if (room[f] >= segments &&
		    place_in(state, depth - 1, f, request, node, ret,
			     err) == -ENOMEM)
			rc = -ENOMEM;
	if (!rc && !ret->n_nodes)
		rc = -ENOSPC;
	free(node);
	free(room);
	return rc;
}

int aggregate_place(const struct need *need, const struct sn_place_state *state,
		    const struct sn_place_request *request,
		    struct sn_placement *ret, struct sn_err *err)
{
	const struct sn_topo *topo = model_topo();
	uint32_t segments = request->world / request->atom, s;
	int rc;

	if (!is_wanted(need))
		return sn_place(topo, state, request, ret, err);
	for (s = 0; s < topo->n_supernodes; s++)
		if (segments_of(need, &topo->supernode[s]) >= segments)
			break;
	if (s == topo->n_supernodes)
		return place_in_one(need, state, request, segments, ret, err);
	rc = sn_place(topo, state, request, ret, err);
	if (!rc && ret->n_supernodes > 1) {
		sn_placement_done(ret);
		rc = sn_err_set(err, -ENOSPC,
				"%u segments of %u nodes have no room in one supernode now",
				segments, need->segment);
	}
	return rc;
}
