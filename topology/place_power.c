/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_power.c - which nodes of a supernode stay idle for its PowerLimit.
 *
 * Of those that draw nothing yet, only so many serve as may begin to. To take
 * those that hold most loses nothing that could be hosted: any choice of as many
 * nodes is matched by nodes that hold no less. Only where unit blocks are larger
 * than node blocks it depends on which nodes stand together; then whole units are
 * taken, the largest first.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/place_internal.h"

struct fresh {
	uint32_t node, cap;
	uint32_t turn; /* late, degraded */
	uint32_t weight;
	bool must;
	/* Of the unit's usable nodes, where it is in none its own: what they hold, the
	 * sum of turns and of weights, the first. */
	struct whole {
		uint64_t weight;
		uint32_t blocks, turn, first;
	} unit;
};

static int less(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* Units of the same worth come in topology order, and their nodes together. */
static int by_unit(const struct fresh *a, const struct fresh *b)
{
	int rc = less(b->unit.blocks, a->unit.blocks);

	if (!rc)
		rc = less(a->unit.turn, b->unit.turn);
	if (!rc && a->unit.weight != b->unit.weight)
		rc = a->unit.weight < b->unit.weight ? -1 : 1;
	return rc ? rc : less(a->unit.first, b->unit.first);
}

static int compare(const struct fresh *a, const struct fresh *b, bool units)
{
	int rc = less(b->must, a->must);

	if (!rc && units)
		rc = by_unit(a, b);
	if (!rc)
		rc = less(b->cap, a->cap);
	if (!rc)
		rc = less(a->turn, b->turn);
	if (!rc)
		rc = by_unit(a, b);
	if (!rc)
		rc = less(a->weight, b->weight);
	return rc ? rc : less(a->node, b->node);
}

static int by_worth(const void *a, const void *b)
{
	return compare(a, b, false);
}

static int by_unit_worth(const void *a, const void *b)
{
	return compare(a, b, true);
}

static void add(struct whole *unit, const struct fresh *node)
{
	if (!unit->blocks)
		unit->first = node->node;
	unit->blocks += node->cap;
	unit->turn += node->turn;
	unit->weight += node->weight;
}

static uint32_t find_fresh(const struct pl *p, uint32_t s, struct fresh *fresh,
			   struct whole *unit)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint32_t n = 0;

	for (uint32_t i = t->first_node; i < t->first_node + t->n_nodes; i++) {
		const struct sn_place_node *node = &p->state->node[i];
		uint32_t u = p->topo->node[i].unit;
		struct fresh one = {
			.node = i, .cap = pl_usable(p, i) ? pl_blocks(p, i) : 0,
			.turn = (node->flags & SN_NODE_DEGRADED ? 2 : 0) +
				(node->flags & SN_NODE_LATE ? 1 : 0),
			.weight = node->weight,
			.must = node->flags & SN_NODE_REQUIRED,
		};

		if (!one.cap)
			continue;
		if (u < p->topo->n_units)
			add(&unit[u], &one);
		if (!(node->flags & SN_NODE_DRAWS))
			fresh[n++] = one;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = p->topo->node[fresh[i].node].unit;

		if (u < p->topo->n_units)
			fresh[i].unit = unit[u];
		else
			add(&fresh[i].unit, &fresh[i]);
	}
	return n;
}

int pl_keep_idle(struct pl *p, uint32_t s)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint32_t keep = p->state->supernode ? p->state->supernode[s].keep_idle : 0;
	uint32_t still = 0, may, n;
	struct fresh *fresh;
	struct whole *unit;

	if (!keep)
		return 0;
	for (uint32_t i = t->first_node; i < t->first_node + t->n_nodes; i++)
		still += !(p->state->node[i].flags & SN_NODE_DRAWS);
	may = still > keep ? still - keep : 0;
	fresh = pl_alloc(t->n_nodes, sizeof(*fresh));
	unit = pl_alloc(p->topo->n_units, sizeof(*unit));
	if (!fresh || !unit) {
		free(fresh);
		free(unit);
		return -ENOMEM;
	}
	n = find_fresh(p, s, fresh, unit);
	if (n > may)
		qsort(fresh, n, sizeof(*fresh),
		      p->per_unit > 1 ? by_unit_worth : by_worth);
	for (uint32_t i = may; i < n; i++)
		p->held[fresh[i].node] = PL_HELD_IDLE;
	free(fresh);
	free(unit);
	return 0;
}
