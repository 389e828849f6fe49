/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * range.c - place a job on a number of nodes that is only bounded: -N min-max,
 * or a partition's MaxNodes.
 *
 * The engine knows two cases, any number and an exact one. Mostly the best
 * number lies within the bounds; else the numbers from that bound on are tried.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "plugins/topology_supernode/range.h"

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Points 2 to 4 as far as the units: what more nodes may not make worse. */
static int compare_domains(const struct sn_score *a, const struct sn_score *b)
{
	int c = compare(a->supernodes, b->supernodes);
	uint32_t level;

	for (level = 0; !c && level < a->n_levels; level++)
		c = compare(a->fabrics[level], b->fabrics[level]);
	return c ? c : compare(a->units, b->units);
}

static int compare_scores(const struct sn_score *a, const struct sn_score *b)
{
	int c = compare_domains(a, b);

	if (!c)
		c = compare(a->nodes, b->nodes);
	if (!c)
		c = compare(a->weight, b->weight);
	if (!c)
		c = compare(a->left_in_supernodes, b->left_in_supernodes);
	return c ? c : compare(a->left_in_nodes, b->left_in_nodes);
}

static void keep_better(struct sn_placement *best, struct sn_placement *found,
			bool *any)
{
	if (!*any || compare_scores(&found->score, &best->score) < 0) {
		if (*any)
			sn_placement_done(best);
		*best = *found;
		*any = true;
	} else {
		sn_placement_done(found);
	}
}

static int try_numbers(const struct sn_topo *topo,
		       const struct sn_place_state *state,
		       const struct sn_place_request *request, uint32_t from,
		       uint32_t to, const struct sn_score *ideal,
		       struct sn_placement *ret, struct sn_err *err)
{
	struct sn_place_request exact = *request;
	struct sn_placement found;
	int rc = -ENOSPC, step = from <= to ? 1 : -1, tries;
	bool any = false;

	for (tries = 0; tries < RANGE_TRIES; tries++, from += (uint32_t)step) {
		exact.exact_nodes = from;
		memset(&found, 0, sizeof(found));
		/* The sentence of the first number is the one to tell. */
		rc = sn_place(topo, state, &exact, &found, tries ? NULL : err);
		if (!rc) {
			keep_better(ret, &found, &any);
			/* Counting up, the rest has more nodes only. */
			if (step > 0 && !compare_domains(&ret->score, ideal))
				break;
		} else if (rc == -ENOMEM) {
			break;
		}
		if (from == to)
			break;
	}
	if (any && rc == -ENOMEM) {
		sn_placement_done(ret);
		return rc;
	}
	return any ? 0 : rc;
}

int range_place(const struct sn_topo *topo, const struct sn_place_state *state,
		const struct sn_place_request *request, uint32_t min,
		uint32_t max, struct sn_placement *ret, struct sn_err *err)
{
	uint32_t most = request->world / (request->node_block ?
					  request->node_block : 1);
	struct sn_placement best = { 0 };
	int rc = sn_place(topo, state, request, &best, err);

	if (rc)
		return rc;
	if (request->exact_nodes ||
	    (best.n_nodes >= min && best.n_nodes <= max)) {
		*ret = best;
		return 0;
	}
	if (max > most)
		max = most;
	if (min > max)
		rc = sn_err_set(err, -ENOSPC,
				"%u ranks, %u of which share a node, run on at most %u nodes, and at least %u are wanted",
				request->world, request->node_block, most, min);
	else if (best.n_nodes < min)
		rc = try_numbers(topo, state, request, min, max, &best.score,
				 ret, err);
	else
		rc = try_numbers(topo, state, request, max, min ? min : 1,
				 &best.score, ret, err);
	sn_placement_done(&best);
	return rc;
}
