/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_fill.c - how many ranks each chosen node runs, which nodes are spares,
 * and the score of it all.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/place_internal.h"

/* A set of nodes that together hold whole unit blocks: a unit, or all nodes
 * where node blocks are all that counts. */
struct group {
	uint32_t first, n; /* in struct fill's node[] */
	uint32_t low, high, got; /* unit blocks */
	/* fill_in_order(), node blocks: what its first nodes have, how many
	 * nodes come yet, and what those can take. */
	uint32_t given, todo, room;
};

struct fill {
	struct pl *p;
	const struct pl_supernode *sn;
	bool *used; /* [sn->n_items] */
	struct node {
		uint32_t node, cap, got; /* node blocks */
		struct group *group;
	} *node; /* those used, group by group */
	uint32_t n;
	struct group *group;
	uint32_t n_groups;
	uint32_t m; /* node blocks that one node runs at most */
};

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int by_index(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

static void find_groups(struct fill *f)
{
	struct group *g = NULL;
	bool one = f->p->per_unit == 1;

	f->n = f->n_groups = 0;
	for (uint32_t i = 0; i < f->sn->n_items; i++) {
		const struct pl_item *it = &f->sn->item[i];

		if (f->used[i]) {
			if (!g) {
				g = &f->group[f->n_groups++];
				*g = (struct group){ .first = f->n };
			}
			f->node[f->n++] = (struct node){
				.node = it->node, .cap = it->cap,
			};
			g->n++;
		}
		if (it->last && !one)
			g = NULL;
	}
	if (one)
		qsort(f->node, f->n, sizeof(*f->node), by_index);
}

/* Whether the blocks fit if no node runs more than m and spares hold m. */
static bool m_fits(struct fill *f, uint32_t m, uint32_t blocks)
{
	uint32_t r = f->p->per_unit, spares = 0;
	uint64_t low = 0, high = 0;

	for (uint32_t i = 0; i < f->sn->n_items; i++)
		spares += !f->used[i] && f->sn->item[i].cap >= m;
	if (spares < f->p->req->spares)
		return false;
	for (uint32_t i = 0; i < f->n_groups; i++) {
		struct group *g = &f->group[i];
		uint32_t sum = 0;

		for (uint32_t j = g->first; j < g->first + g->n; j++)
			sum += min32(f->node[j].cap, m);
		g->low = (g->n + r - 1) / r;
		g->high = sum / r;
		if (g->low > g->high)
			return false;
		low += g->low;
		high += g->high;
	}
	return low <= blocks / r && blocks / r <= high;
}

static void set_range(const struct fill *f, struct group *g)
{
	uint32_t r = f->p->per_unit;

	g->low = (g->given + g->todo + r - 1) / r;
	g->high = (g->given + g->room) / r;
}

/* Nodes in order, each as far as the blocks of its group can still be whole and
 * all blocks find their place. */
static void fill_in_order(struct fill *f, uint32_t blocks)
{
	uint32_t want = blocks / f->p->per_unit;
	uint64_t low = 0, high = 0;

	for (uint32_t i = 0; i < f->n_groups; i++) {
		struct group *g = &f->group[i];

		for (uint32_t j = g->first; j < g->first + g->n; j++) {
			f->node[j].group = g;
			g->room += min32(f->node[j].cap, f->m);
		}
		g->todo = g->n;
		low += g->low;
		high += g->high;
	}
	qsort(f->node, f->n, sizeof(*f->node), by_index);
	for (uint32_t i = 0; i < f->n; i++) {
		struct node *node = &f->node[i];
		struct group *g = node->group;
		uint32_t given = g->given;

		low -= g->low;
		high -= g->high;
		g->todo--;
		g->room -= min32(node->cap, f->m);
		node->got = min32(node->cap, f->m);
		for (;; node->got--) {
			g->given = given + node->got;
			set_range(f, g);
			if (node->got == 1 ||
			    (g->low <= g->high && low + g->low <= want &&
			     want <= high + g->high))
				break;
		}
		low += g->low;
		high += g->high;
	}
}

static bool has_less(const void *arg, uint32_t a, uint32_t b)
{
	const struct group *x = (const struct group *)arg + a;
	const struct group *y = (const struct group *)arg + b;

	return (uint64_t)x->got * y->n < (uint64_t)y->got * x->n;
}

/* One unit block after the other to the group with the fewest per node. */
static int spread_groups(struct fill *f, uint32_t left)
{
	struct pl_heap h = {
		.index = pl_alloc(f->n_groups, sizeof(*h.index)),
		.before = has_less, .arg = f->group,
	};

	if (!h.index)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_groups; i++) {
		struct group *g = &f->group[i];

		g->got = g->low;
		left -= g->low;
		if (g->got < g->high)
			h.index[h.n++] = i;
	}
	pl_heap_build(&h);
	for (; left && h.n; left--) {
		struct group *g = &f->group[h.index[0]];

		g->got++;
		pl_heap_again(&h, g->got == g->high);
	}
	free(h.index);
	return 0;
}

/* The highest level at which every node can stand, then one more each for the
 * earlier ones that can. */
static void spread_nodes(struct fill *f, const struct group *g)
{
	uint32_t want = g->got * f->p->per_unit, level = 1, left;

	for (;; level++) {
		uint32_t sum = 0;

		for (uint32_t i = g->first; i < g->first + g->n; i++)
			sum += min32(min32(f->node[i].cap, f->m), level + 1);
		if (sum > want || level >= f->m)
			break;
	}
	left = want;
	for (uint32_t i = g->first; i < g->first + g->n; i++) {
		f->node[i].got = min32(min32(f->node[i].cap, f->m), level);
		left -= f->node[i].got;
	}
	for (uint32_t i = g->first; i < g->first + g->n && left; i++)
		if (f->node[i].got < min32(f->node[i].cap, f->m)) {
			f->node[i].got++;
			left--;
		}
}

static int fill_ranks(struct fill *f, uint32_t blocks)
{
	find_groups(f);
	for (f->m = SN_CARDS_MAX; f->m; f->m--)
		if (m_fits(f, f->m, blocks))
			break;
	if (!f->m)
		return -EINVAL; /* a bug: the table promised one */
	if (!f->p->req->exact_nodes) {
		fill_in_order(f, blocks);
		return 0;
	}
	if (spread_groups(f, blocks / f->p->per_unit))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_groups; i++)
		spread_nodes(f, &f->group[i]);
	qsort(f->node, f->n, sizeof(*f->node), by_index);
	return 0;
}

static int by_node(const void *a, const void *b)
{
	const struct sn_placed_spare *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* Late ones come after the others, degraded ones after those. */
static uint32_t turn_of(const struct pl *p, uint32_t node)
{
	uint32_t flags = p->state->node[node].flags;

	return (flags & SN_NODE_DEGRADED ? 2 : 0) +
	       (flags & SN_NODE_LATE ? 1 : 0);
}

static int by_turn(const void *a, const void *b, void *p)
{
	const struct sn_placed_spare *x = a, *y = b;
	uint32_t mine = turn_of(p, x->node), theirs = turn_of(p, y->node);

	return mine != theirs ? (mine > theirs ? 1 : -1) : by_node(a, b);
}

static void add_spares(struct fill *f, uint32_t cards, struct sn_placement *ret)
{
	struct sn_placed_spare *out = ret->spare + ret->n_spares;
	const struct pl_item *item = f->sn->item;
	uint32_t want = f->p->req->spares, n = 0, k = f->sn->n_items;

	/* Items may be unit by unit; the first in topology order are wanted. */
	for (uint32_t i = 0; i < k; i++)
		if (!f->used[i] &&
		    item[i].cap >= cards / f->p->req->node_block)
			out[n++] = (struct sn_placed_spare){ item[i].node,
							     cards };
	qsort_r(out, n, sizeof(*out), by_turn, f->p);
	qsort(out, min32(n, want), sizeof(*out), by_node);
	ret->n_spares += min32(n, want);
}

static int fill_supernode(struct fill *f, const struct pl_pick *pick,
			  struct sn_placement *ret)
{
	struct sn_placed_supernode *out = &ret->supernode[ret->n_supernodes++];
	uint32_t most = 0, rc;

	f->sn = &f->p->sn[pick->s];
	rc = pl_local_nodes(f->p, pick->s, pick->atoms, pick->nodes, f->used);
	if (!rc)
		rc = fill_ranks(f, pick->atoms * f->p->per_atom);
	if (rc)
		return (int)rc;
	*out = (struct sn_placed_supernode){
		.supernode = pick->s, .atoms = pick->atoms,
		.first = ret->n_nodes, .n = f->n,
		.left_free = f->sn->free -
			     (uint64_t)pick->atoms * f->p->req->atom,
	};
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t ranks = f->node[i].got * f->p->req->node_block;

		ret->node[ret->n_nodes++] =
			(struct sn_placed_node){ f->node[i].node, ranks };
		if (ranks > most)
			most = ranks;
	}
	if (f->p->req->spares)
		add_spares(f, most, ret);
	return 0;
}

static void count_fabrics(const struct pl *p, struct sn_placement *ret,
			  uint8_t *seen)
{
	const struct sn_topo *topo = p->topo;

	for (uint32_t i = 0; i < ret->n_supernodes; i++) {
		uint32_t s = ret->supernode[i].supernode, d;
		uint32_t f = topo->supernode[s].fabric;

		d = f < topo->n_fabrics ? topo->fabric[f].depth + 1 : 0;
		for (; d < topo->fabric_levels; d++)
			ret->score.fabrics[d]++;
		while (f < topo->n_fabrics && !seen[f]) {
			seen[f] = 1;
			ret->score.fabrics[topo->fabric[f].depth]++;
			f = topo->fabric[f].parent;
		}
	}
}

static void count_nodes(const struct pl *p, struct sn_placement *ret,
			uint8_t *seen)
{
	struct sn_score *score = &ret->score;

	for (uint32_t i = 0; i < ret->n_nodes; i++) {
		const struct sn_placed_node *n = &ret->node[i];
		const struct sn_place_node *node = &p->state->node[n->node];
		uint32_t u = p->topo->node[n->node].unit;

		score->weight += node->weight;
		score->degraded += !!(node->flags & SN_NODE_DEGRADED);
		score->left_in_nodes +=
			(uint32_t)__builtin_popcountll(node->free) - n->ranks;
		if (!p->topo->n_units)
			continue;
		if (u < p->topo->n_units && seen[u])
			continue;
		score->units++;
		if (u < p->topo->n_units)
			seen[u] = 1;
	}
	score->nodes = ret->n_nodes;
	score->supernodes = ret->n_supernodes;
	for (uint32_t i = 0; i < ret->n_supernodes; i++)
		score->left_in_supernodes += ret->supernode[i].left_free;
}

static int score(const struct pl *p, struct sn_placement *ret)
{
	const struct sn_topo *topo = p->topo;
	uint8_t *fabric = pl_alloc(topo->n_fabrics, 1);
	uint8_t *unit = pl_alloc(topo->n_units, 1);

	ret->score.n_levels = topo->fabric_levels;
	ret->score.fabrics = pl_alloc(topo->fabric_levels, sizeof(uint32_t));
	if (fabric && unit && ret->score.fabrics) {
		count_fabrics(p, ret, fabric);
		count_nodes(p, ret, unit);
	}
	free(fabric);
	free(unit);
	return fabric && unit && ret->score.fabrics ? 0 : -ENOMEM;
}

/* Leaves what it made to sn_placement_done() on failure too. */
int pl_fill(struct pl *p, const struct pl_choice *choice,
	    struct sn_placement *ret)
{
	struct fill f = { .p = p };
	uint64_t items = 0, spares = 0;
	uint32_t most = 0;
	int rc = -ENOMEM;

	for (uint32_t i = 0; i < choice->n; i++) {
		uint32_t n = p->sn[choice->pick[i].s].n_items;

		items += n;
		/* add_spares() sorts all candidates of the last in place. */
		spares = p->req->spares ? items : 0;
		if (n > most)
			most = n;
	}
	ret->supernode = pl_alloc(choice->n, sizeof(*ret->supernode));
	ret->node = pl_alloc(items, sizeof(*ret->node));
	ret->spare = pl_alloc(spares, sizeof(*ret->spare));
	f.used = pl_alloc(most, sizeof(*f.used));
	f.node = pl_alloc(most, sizeof(*f.node));
	f.group = pl_alloc(most, sizeof(*f.group));
	if (ret->supernode && ret->node && ret->spare && f.used && f.node &&
	    f.group)
		rc = 0;
	for (uint32_t i = 0; i < choice->n && !rc; i++)
		rc = fill_supernode(&f, &choice->pick[i], ret);
	free(f.used);
	free(f.node);
	free(f.group);
	return rc ? rc : score(p, ret);
}
