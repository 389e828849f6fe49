/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_power.c - which nodes of a supernode stay idle for its PowerLimit.
 *
 * Of those that draw nothing yet, only so many serve as may begin to. To take
 * those that hold most loses nothing that could be hosted: any choice of as many
 * nodes is matched by nodes that hold no less. Only where unit blocks are larger
 * than node blocks it depends on which nodes stand together: then a dynamic
 * programme over the units finds the choice that holds most unit blocks.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/place_internal.h"

/* A unit's usable nodes, or one that is in none. */
struct unit {
	uint64_t weight;
	uint32_t blocks, turn, first;
	uint32_t drawn; /* of blocks, on nodes that draw already */
};

/* A node that would begin to draw. */
struct fresh {
	struct unit of;
	uint32_t node, cap;
	uint32_t turn; /* late, degraded */
	uint64_t weight;
	bool must, take;
};

/* What a choice of nodes is worth: most unit blocks, fewest late and degraded
 * ones, fewest units, least weight. */
struct worth {
	int64_t blocks; /* < 0: a required node is left out */
	uint64_t turn, units, weight;
};

static int less(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_worth(const void *x, const void *y)
{
	const struct fresh *a = x, *b = y;
	int rc = less(b->take, a->take);

	if (!rc)
		rc = less(b->must, a->must);
	if (!rc)
		rc = less(b->cap, a->cap);
	if (!rc)
		rc = less(a->turn, b->turn);
	/* Point 4 asks for few units: nodes of the fullest ones, and together. */
	if (!rc)
		rc = less(b->of.blocks, a->of.blocks);
	if (!rc)
		rc = less(a->of.turn, b->of.turn);
	if (!rc)
		rc = less(a->of.weight, b->of.weight);
	if (!rc)
		rc = less(a->of.first, b->of.first);
	if (!rc)
		rc = less(a->weight, b->weight);
	return rc ? rc : less(a->node, b->node);
}

static int by_unit(const void *x, const void *y)
{
	const struct fresh *a = x, *b = y;
	int rc = less(a->of.first, b->of.first);

	return rc ? rc : by_worth(x, y);
}

static bool better(const struct worth *a, const struct worth *b)
{
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks;
	if (a->turn != b->turn)
		return a->turn < b->turn;
	if (a->units != b->units)
		return a->units < b->units;
	return a->weight < b->weight;
}

static void add_node(struct unit *unit, const struct fresh *node, bool draws)
{
	if (!unit->blocks)
		unit->first = node->node;
	unit->blocks += node->cap;
	unit->drawn += draws ? node->cap : 0;
	unit->turn += node->turn;
	unit->weight += node->weight;
}

static uint32_t find_fresh(const struct pl *p, uint32_t s, struct fresh *fresh,
			   struct unit *unit)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint32_t n = 0;

	for (uint32_t i = t->first_node; i < t->first_node + t->n_nodes; i++) {
		const struct sn_place_node *node = &p->state->node[i];
		bool draws = node->flags & SN_NODE_DRAWS;
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
			add_node(&unit[u], &one, draws);
		if (!draws)
			fresh[n++] = one;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = p->topo->node[fresh[i].node].unit;

		if (u < p->topo->n_units)
			fresh[i].of = unit[u];
		else
			add_node(&fresh[i].of, &fresh[i], false);
	}
	return n;
}

/* One unit's nodes, n of them, weighed against what best[m] has of the units
 * before it with at most m nodes, 0 <= m <= may; how many it gets in pick[m]. */
static void add_unit(const struct pl *p, const struct fresh *node, uint32_t n,
		     uint32_t drawn, uint32_t may, struct worth *best,
		     uint32_t *pick)
{
	for (uint32_t m = may + 1; m-- > 0;) {
		struct worth found = { .blocks = -1 }, mine = { 0 };
		uint32_t caps = drawn;

		pick[m] = 0;
		for (uint32_t k = 0; k <= n && k <= m; k++) {
			struct worth sum = best[m - k];

			if (k) {
				caps += node[k - 1].cap;
				mine.turn += node[k - 1].turn;
				mine.weight += node[k - 1].weight;
			}
			if (sum.blocks < 0 || (k < n && node[k].must))
				continue;
			sum.blocks += caps / p->per_unit;
			sum.turn += mine.turn;
			sum.units += k > 0;
			sum.weight += mine.weight;
			if (found.blocks < 0 || better(&sum, &found)) {
				found = sum;
				pick[m] = k;
			}
		}
		best[m] = found;
	}
}

/* Sets take of at most may nodes; of none where required ones do not fit, or
 * where it is too much work. */
static int choose_units(struct pl *p, struct fresh *fresh, uint32_t n, uint32_t may)
{
	uint64_t steps = (uint64_t)n * (may + 1);
	struct worth *best;
	uint32_t *pick, *end, units = 0;

	if (steps > SN_PLACE_EXACT_WORK)
		return 0;
	best = pl_alloc(may + 1, sizeof(*best));
	pick = pl_alloc(steps, sizeof(*pick));
	end = pl_alloc(n, sizeof(*end));
	if (!best || !pick || !end) {
		free(best);
		free(pick);
		free(end);
		return -ENOMEM;
	}
	qsort(fresh, n, sizeof(*fresh), by_unit);
	for (uint32_t i = 0, first = 0; i < n; i++) {
		if (i + 1 < n && fresh[i + 1].of.first == fresh[i].of.first)
			continue;
		add_unit(p, &fresh[first], i + 1 - first, fresh[i].of.drawn, may, best,
			 &pick[(size_t)units * (may + 1)]);
		first = end[units++] = i + 1;
	}
	for (uint32_t m = may; best[may].blocks >= 0 && units-- > 0;) {
		uint32_t first = units ? end[units - 1] : 0;
		uint32_t k = pick[(size_t)units * (may + 1) + m];

		for (uint32_t i = first; i < first + k; i++)
			fresh[i].take = true;
		m -= k;
	}
	free(best);
	free(pick);
	free(end);
	return 0;
}

int pl_keep_idle(struct pl *p, uint32_t s)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint32_t keep = p->state->supernode ? p->state->supernode[s].keep_idle : 0;
	uint32_t still = 0, may, n;
	struct fresh *fresh;
	struct unit *unit;
	int rc = 0;

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
	if (n > may) {
		p->exact = false; /* another choice may be better in 4 to 7 */
		if (p->per_unit > 1)
			rc = choose_units(p, fresh, n, may);
		qsort(fresh, n, sizeof(*fresh), by_worth);
	}
	for (uint32_t i = may; i < n; i++)
		p->held[fresh[i].node] = PL_HELD_IDLE;
	free(fresh);
	free(unit);
	return rc;
}
