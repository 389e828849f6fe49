/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spares.c - which of a job's nodes are its spares.
 *
 * Why the rule of spares.h finds what was placed: let m be the most cards that
 * the job holds on a node of a supernode; N+1 nodes at least hold m. If some
 * other N nodes were the spares and the fullest node with ranks ran only m' < m,
 * then of the cards of each of those N+1 nodes m-m' would run nothing, and there
 * would be fewer left than there are ranks.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place.h"
#include "topology/spares.h"

/* Of units times spares in one supernode; beyond, the engine is asked. */
#define TABLE_MAX (16u << 20)

struct unit {
	uint32_t unit; /* SN_NONE: a node in none, a unit of its own */
	uint32_t cards, full; /* all its cards, nodes with the most */
};

struct finder {
	const struct sn_topo *topo;
	const struct sn_layout *layout;
	uint32_t spares;
	const struct sn_spares_node *node;
	uint32_t n_nodes;
	uint32_t *ranks;
	struct unit *unit; /* [n_nodes] those of one supernode */
	uint32_t n_units;
	uint32_t *unit_of; /* [n_nodes] into unit */
};

uint32_t sn_spares_most(const struct sn_layout *layout, uint32_t spares)
{
	uint64_t most = layout->atom ?
		(uint64_t)spares * (layout->world / layout->atom) : 0;

	return most < SN_TOPO_NODES_MAX ? (uint32_t)most : SN_TOPO_NODES_MAX;
}

/* ---- by the rule ----------------------------------------------------------------- */

static uint32_t supernode_of(const struct finder *f, uint32_t i)
{
	return f->topo->node[f->node[i].node].supernode;
}

static void list_units(struct finder *f, uint32_t first, uint32_t end,
		       uint32_t most)
{
	f->n_units = 0;
	for (uint32_t i = first; i < end; i++) {
		uint32_t unit = f->topo->node[f->node[i].node].unit;
		uint32_t u = unit == SN_NONE ? f->n_units : 0;

		while (u < f->n_units && f->unit[u].unit != unit)
			u++;
		if (u == f->n_units)
			f->unit[f->n_units++] = (struct unit) { .unit = unit };
		f->unit[u].cards += f->node[i].cards;
		f->unit[u].full += f->node[i].cards == most;
		f->unit_of[i] = u;
	}
}

/* Units that still have ranks once `spares` full nodes are taken out of one;
 * UINT32_MAX: they cannot be. */
static uint32_t cost_of(const struct finder *f, const struct unit *unit,
			uint32_t spares, uint32_t most)
{
	uint32_t block = f->layout->unit_block ? f->layout->unit_block : 1;
	uint32_t left = unit->cards - spares * most;

	if (spares > unit->full || left % block)
		return UINT32_MAX;
	return left > 0;
}

/* The first of the cheapest ways to take them out of the units: as few as can
 * be out of the earlier ones. take[unit]. */
static int share_out(struct finder *f, uint32_t most, uint32_t *take)
{
	size_t width = (size_t)f->spares + 1;
	uint32_t *best, left = f->spares;
	bool found;

	if (((size_t)f->n_units + 1) * width > TABLE_MAX)
		return -ENOENT;
	best = malloc(((size_t)f->n_units + 1) * width * sizeof(*best));
	if (!best)
		return -ENOMEM;
	/* best[u][k]: the cost of taking k out of units u and later. */
	for (size_t k = 0; k < width; k++)
		best[f->n_units * width + k] = k ? UINT32_MAX : 0;
	for (uint32_t u = f->n_units; u-- > 0; ) {
		for (uint32_t k = 0; k < width; k++) {
			uint32_t *at = &best[u * width + k];

			*at = UINT32_MAX;
			for (uint32_t t = 0; t <= k && t <= f->unit[u].full; t++) {
				uint32_t rest = best[(u + 1) * width + k - t];
				uint32_t cost = cost_of(f, &f->unit[u], t, most);

				if (rest != UINT32_MAX && cost != UINT32_MAX &&
				    rest + cost < *at)
					*at = rest + cost;
			}
		}
	}
	found = best[left] != UINT32_MAX;
	for (uint32_t u = 0; found && u < f->n_units; u++) {
		uint32_t cost;

		for (take[u] = 0; ; take[u]++) {
			uint32_t rest = best[(u + 1) * width + left - take[u]];

			cost = cost_of(f, &f->unit[u], take[u], most);
			if (rest != UINT32_MAX && cost != UINT32_MAX &&
			    rest + cost == best[u * width + left])
				break;
		}
		left -= take[u];
	}
	free(best);
	return found ? 0 : -ENOENT;
}

static int take_out(struct finder *f, uint32_t first, uint32_t end,
		    uint32_t most)
{
	uint32_t *take;
	int rc;

	list_units(f, first, end, most);
	take = calloc((size_t)f->n_units + 1, sizeof(*take));
	rc = take ? share_out(f, most, take) : -ENOMEM;
	for (uint32_t i = end; !rc && i-- > first; ) {
		if (f->node[i].cards != most || !take[f->unit_of[i]])
			continue;
		f->ranks[i] = 0;
		take[f->unit_of[i]]--;
	}
	free(take);
	return rc;
}

/* Without units it does not matter which, so it is the last. */
static void take_last(struct finder *f, uint32_t first, uint32_t end,
		      uint32_t most)
{
	uint32_t left = f->spares;

	for (uint32_t i = end; left && i-- > first; ) {
		if (f->node[i].cards != most)
			continue;
		f->ranks[i] = 0;
		left--;
	}
}

static int find_in(struct finder *f, uint32_t first, uint32_t end,
		   uint64_t *world)
{
	uint32_t most = 0, full = 0;
	uint64_t cards = 0;

	for (uint32_t i = first; i < end; i++) {
		uint32_t c = f->node[i].cards;

		if (c > most) {
			most = c;
			full = 0;
		}
		full += c == most;
		cards += c;
		f->ranks[i] = c;
	}
	if (!most || full <= f->spares)
		return -ENOENT;
	cards -= (uint64_t)f->spares * most;
	if (cards % (f->layout->atom ? f->layout->atom : 1))
		return -ENOENT;
	*world += cards;
	if (!f->spares)
		return 0;
	if (f->topo->n_units)
		return take_out(f, first, end, most);
	take_last(f, first, end, most);
	return 0;
}

/* -ENOENT: not what any placement gives. */
static int find_by_rule(struct finder *f)
{
	uint64_t world = 0;
	uint32_t first, end;
	int rc = 0;

	for (first = 0; !rc && first < f->n_nodes; first = end) {
		for (end = first + 1; end < f->n_nodes &&
		     supernode_of(f, end) == supernode_of(f, first); end++)
			;
		rc = find_in(f, first, end, &world);
	}
	if (!rc && world != f->layout->world)
		rc = -ENOENT;
	return rc;
}

/* ---- after a loss ---------------------------------------------------------------- */

static void take_placement(struct finder *f, const struct sn_placement *placed)
{
	uint32_t i = 0;

	memset(f->ranks, 0, f->n_nodes * sizeof(*f->ranks));
	for (uint32_t k = 0; k < placed->n_nodes; k++) {
		while (f->node[i].node != placed->node[k].node)
			i++;
		f->ranks[i] = placed->node[k].ranks;
	}
}

static int place_again(struct finder *f, struct sn_place_node *offer,
		       struct sn_err *err)
{
	const struct sn_place_state state = { .node = offer };
	struct sn_place_request request = {
		.world = f->layout->world,
		.node_block = f->layout->node_block,
		.unit_block = f->layout->unit_block,
		.atom = f->layout->atom,
		.use_spare_nodes = true,
	};
	struct sn_placement placed = { 0 };
	uint32_t keep = f->spares < f->n_nodes ? f->spares : f->n_nodes;
	int rc;

	do {
		request.spares = keep;
		rc = sn_place(f->topo, &state, &request, &placed, err);
	} while (rc == -ENOSPC && keep-- > 0);
	if (!rc)
		take_placement(f, &placed);
	sn_placement_done(&placed);
	return rc;
}

static int stand_in(struct finder *f, struct sn_err *err)
{
	struct sn_place_node *offer = calloc((size_t)f->topo->n_nodes + 1,
					     sizeof(*offer));
	int rc;

	if (!offer)
		return sn_err_set(err, -ENOMEM, "no memory for %u nodes",
				  f->topo->n_nodes);
	for (uint32_t t = 0; t < f->topo->n_nodes; t++)
		offer[t].flags = SN_NODE_ABSENT;
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		uint32_t c = f->node[i].cards;
		uint64_t cards = c >= SN_CARDS_MAX ? UINT64_MAX :
			(UINT64_C(1) << c) - 1;

		offer[f->node[i].node] = (struct sn_place_node) {
			.cards = cards, .free = cards, .weight = 1,
			.max_ranks = UINT32_MAX,
		};
	}
	rc = place_again(f, offer, err);
	free(offer);
	if (rc == -ENOSPC)
		sn_err_prefix(err, rc, "the %u nodes that the job has left cannot run its %u ranks: ",
			      f->n_nodes, f->layout->world);
	return rc;
}

static int check_order(const struct finder *f, struct sn_err *err)
{
	for (uint32_t i = 0; i < f->n_nodes; i++)
		if (f->node[i].node >= f->topo->n_nodes ||
		    (i && f->node[i].node <= f->node[i - 1].node))
			return sn_err_set(err, -EINVAL,
					  "node number %u of the job's %u is not in topology order",
					  i + 1, f->n_nodes);
	return 0;
}

int sn_spares_find(const struct sn_topo *topo, const struct sn_layout *layout,
		   uint32_t spares, const struct sn_spares_node *node,
		   uint32_t n_nodes, uint32_t *ret_ranks, bool *ret_lost,
		   struct sn_err *err)
{
	struct finder f = {
		.topo = topo, .layout = layout, .spares = spares,
		.node = node, .n_nodes = n_nodes, .ranks = ret_ranks,
		.unit = calloc((size_t)n_nodes + 1, sizeof(*f.unit)),
		.unit_of = calloc((size_t)n_nodes + 1, sizeof(*f.unit_of)),
	};
	bool lost = false;
	int rc;

	if (!f.unit || !f.unit_of)
		rc = sn_err_set(err, -ENOMEM, "no memory for %u nodes", n_nodes);
	else
		rc = check_order(&f, err);
	if (!rc)
		rc = find_by_rule(&f);
	if (rc == -ENOENT) {
		lost = true;
		rc = stand_in(&f, err);
	} else if (rc == -ENOMEM) {
		sn_err_set(err, rc, "no memory for %u nodes", n_nodes);
	}
	free(f.unit);
	free(f.unit_of);
	if (!rc && ret_lost)
		*ret_lost = lost;
	return rc;
}
