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
	uint32_t unit, unit_blocks; /* what the unit's usable nodes hold */
	uint32_t weight;
	bool must;
};

static int less(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_unit(const struct fresh *a, const struct fresh *b)
{
	int rc = less(b->unit_blocks, a->unit_blocks);

	return rc ? rc : less(a->unit, b->unit);
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

static uint32_t find_fresh(const struct pl *p, uint32_t s, struct fresh *fresh,
			   uint32_t *unit_blocks)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint32_t n = 0;

	for (uint32_t i = t->first_node; i < t->first_node + t->n_nodes; i++) {
		const struct sn_place_node *node = &p->state->node[i];
		uint32_t u = p->topo->node[i].unit;
		uint32_t cap = pl_usable(p, i) ? pl_blocks(p, i) : 0;

		if (!cap)
			continue;
		if (u < p->topo->n_units)
			unit_blocks[u] += cap;
		if (node->flags & SN_NODE_DRAWS)
			continue;
		fresh[n++] = (struct fresh){
			.node = i, .cap = cap, .unit = u,
			.turn = (node->flags & SN_NODE_DEGRADED ? 2 : 0) +
				(node->flags & SN_NODE_LATE ? 1 : 0),
			.weight = node->weight,
			.must = node->flags & SN_NODE_REQUIRED,
		};
	}
	for (uint32_t i = 0; i < n; i++)
		fresh[i].unit_blocks = fresh[i].unit < p->topo->n_units ?
			unit_blocks[fresh[i].unit] : fresh[i].cap;
	return n;
}

int pl_keep_idle(struct pl *p, uint32_t s)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint32_t keep = p->state->supernode ? p->state->supernode[s].keep_idle : 0;
	uint32_t still = 0, may, n, *unit_blocks;
	struct fresh *fresh;

	if (!keep)
		return 0;
	for (uint32_t i = t->first_node; i < t->first_node + t->n_nodes; i++)
		still += !(p->state->node[i].flags & SN_NODE_DRAWS);
	may = still > keep ? still - keep : 0;
	fresh = pl_alloc(t->n_nodes, sizeof(*fresh));
	unit_blocks = pl_alloc(p->topo->n_units, sizeof(*unit_blocks));
	if (!fresh || !unit_blocks) {
		free(fresh);
		free(unit_blocks);
		return -ENOMEM;
	}
	n = find_fresh(p, s, fresh, unit_blocks);
	if (n > may)
		qsort(fresh, n, sizeof(*fresh),
		      p->per_unit > 1 ? by_unit_worth : by_worth);
	for (uint32_t i = may; i < n; i++)
		p->held[fresh[i].node] = PL_HELD_IDLE;
	free(fresh);
	free(unit_blocks);
	return 0;
}
