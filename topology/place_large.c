/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_large.c - a supernode too large for place_table.c: by greedy choice.
 *
 * Units with the most unit blocks first, which gives the fewest units; in each,
 * the nodes that hold most first, the cheaper ones of equals, and the smallest
 * that does as the last one. Without units that is the fewest nodes, and the
 * least weight unless nodes that hold less, but weigh less too, could stand in;
 * with units there is at most one node more than needed in each unit used.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct node {
	const struct pl_item *item;
	uint32_t cap; /* at most m */
	bool aside; /* to be a spare */
};

struct group { /* a unit, or all nodes */
	uint32_t first, n;
	uint32_t blocks; /* unit blocks */
	uint32_t musts; /* nodes in it that have to be used */
};

struct large {
	const struct pl *p;
	const struct pl_supernode *sn;
	struct node *node, *by_cost;
	struct group *group;
	uint32_t n_groups;
	uint32_t *take; /* by unit */
	bool *used; /* by item */
};

static int by_size(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->item->must != y->item->must)
		return x->item->must ? -1 : 1;
	if (x->cap != y->cap)
		return x->cap > y->cap ? -1 : 1;
	if (x->item->cost != y->item->cost)
		return x->item->cost < y->item->cost ? -1 : 1;
	return x->item->node < y->item->node ? -1 : 1;
}

static int by_cost(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->item->cost != y->item->cost)
		return x->item->cost > y->item->cost ? -1 : 1;
	return x->item->node > y->item->node ? -1 : 1;
}

static int by_blocks(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (!x->musts != !y->musts)
		return x->musts ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

/* Of those in by_cost[] set the `left` dearest aside. */
static void put_aside(struct large *l, uint32_t n, uint32_t left)
{
	if (left)
		qsort(l->by_cost, n, sizeof(*l->by_cost), by_cost);
	for (uint32_t i = 0; i < left && i < n; i++)
		l->node[l->by_cost[i].item - l->sn->item].aside = true;
}

/* Set nodes that hold m aside as spares: the dearest, with unit blocks to keep
 * whole the dearest of as many as pl_spared_units() says in each unit. */
static int set_aside(struct large *l, uint32_t m, bool *ret)
{
	uint32_t left = l->p->req->spares, n = l->sn->n_items, k = 0, u = 0;
	bool units = left && l->p->per_unit > 1;
	int64_t blocks;
	int rc;

	*ret = true;
	if (units) {
		rc = pl_spared_units(l->p, l->sn, m, l->take, &blocks);
		*ret = !rc && blocks >= 0;
		if (!*ret)
			return rc;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct pl_item *it = &l->sn->item[i];

		l->node[i] = (struct node){
			.item = it, .cap = it->cap < m ? it->cap : m,
		};
		if (left && it->cap >= m && !it->must)
			l->by_cost[k++] = l->node[i];
		if (units && it->last) {
			put_aside(l, k, l->take[u++]);
			k = 0;
		}
	}
	if (!units) {
		*ret = k >= left;
		put_aside(l, k, left);
	}
	return 0;
}

static void find_groups(struct large *l)
{
	bool units = l->p->unit_cost || l->p->per_unit > 1;
	uint32_t n = 0, blocks = 0;
	struct group *g = NULL;

	l->n_groups = 0;
	for (uint32_t i = 0; i < l->sn->n_items; i++) {
		struct node node = l->node[i];

		if (!g) {
			g = &l->group[l->n_groups++];
			*g = (struct group){ .first = n };
			blocks = 0;
		}
		if (!node.aside) {
			l->node[n++] = node;
			g->n++;
			blocks += node.cap;
			g->blocks = blocks / l->p->per_unit;
			g->musts += node.item->must;
		}
		if (units && node.item->last)
			g = NULL;
	}
	for (uint32_t i = 0; i < l->n_groups; i++)
		qsort(l->node + l->group[i].first, l->group[i].n,
		      sizeof(*l->node), by_size);
	qsort(l->group, l->n_groups, sizeof(*l->group), by_blocks);
}

static void use(struct large *l, const struct node *node, uint32_t *count)
{
	bool *used = &l->used[node->item - l->sn->item];

	*count += !*used;
	*used = true;
}

/* Use nodes of a group for so many node blocks; 0 leaves it alone. */
static void fill_group(struct large *l, const struct group *g, uint32_t want,
		       uint32_t *count)
{
	const struct node *node = l->node + g->first;
	uint32_t i, last;

	for (i = 0; i < g->n; i++) {
		if (!node[i].item->must && node[i].cap >= want)
			break;
		if (!want && !node[i].item->must)
			return;
		use(l, &node[i], count);
		want -= node[i].cap < want ? node[i].cap : want;
	}
	if (i == g->n || !want)
		return;
	/* Of those that do for the rest the smallest, the first of equals. */
	for (last = i; i < g->n && node[i].cap >= want; i++)
		if (node[i].cap < node[last].cap)
			last = i;
	use(l, &node[last], count);
}

/* More nodes than are needed, each with a block of its own. */
static void use_more(struct large *l, uint32_t want, uint32_t *count)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < l->n_groups; g++)
		n += l->group[g].n;
	for (uint32_t i = 0; i < n && *count < want; i++)
		if (l->p->per_unit == 1)
			use(l, &l->node[i], count);
}

static int try_m(struct large *l, uint32_t atoms, uint32_t nodes, uint32_t m,
		 bool *ret)
{
	uint32_t left = atoms * (l->p->per_atom / l->p->per_unit), count = 0;
	uint32_t r = l->p->per_unit, later = 0; /* for groups with musts */
	int rc;

	memset(l->used, 0, l->sn->n_items);
	rc = set_aside(l, m, ret);
	if (rc || !*ret)
		return rc;
	find_groups(l);
	for (uint32_t i = 0; i < l->n_groups; i++)
		later += (l->group[i].musts + r - 1) / r;
	if (later > left)
		*ret = false;
	for (uint32_t i = 0; i < l->n_groups && *ret; i++) {
		struct group *g = &l->group[i];
		uint32_t least = (g->musts + r - 1) / r, take;

		later -= least;
		take = g->blocks < left - later ? g->blocks : left - later;
		*ret = take >= least;
		fill_group(l, g, take * r, &count);
		left -= take;
	}
	if (nodes)
		use_more(l, nodes, &count);
	*ret = *ret && !left && count <= l->sn->q_max &&
	       count <= atoms * l->p->per_atom && (!nodes || count == nodes);
	return 0;
}

static int try_all(const struct pl *p, uint32_t s, uint32_t atoms,
		   uint32_t nodes, bool *used, bool *ret)
{
	const struct pl_supernode *sn = &p->sn[s];
	struct large l = { .p = p, .sn = sn, .used = used };
	uint32_t m = pl_largest(sn), low = p->req->spares ? 1 : m;
	int rc = 0;

	l.node = pl_alloc(sn->n_items, sizeof(*l.node));
	l.by_cost = pl_alloc(sn->n_items, sizeof(*l.by_cost));
	l.group = pl_alloc(sn->n_items, sizeof(*l.group));
	l.take = pl_alloc(sn->n_items, sizeof(*l.take));
	*ret = false;
	if (!l.node || !l.by_cost || !l.group || !l.take)
		rc = -ENOMEM;
	for (; !rc && !*ret && m >= low && m; m--)
		rc = try_m(&l, atoms, nodes, m, ret);
	free(l.take);
	free(l.node);
	free(l.by_cost);
	free(l.group);
	return rc;
}

int pl_large_nodes(struct pl *p, uint32_t s, uint32_t atoms, uint32_t nodes,
		   bool *used)
{
	bool found;
	int rc = try_all(p, s, atoms, nodes, used, &found);

	p->exact = false;
	return rc ? rc : found ? 0 : -ENOSPC;
}

/* The most atoms that the choice above finds nodes for, up to sn->cap. */
int pl_large_cap(struct pl *p, uint32_t s)
{
	struct pl_supernode *sn = &p->sn[s];
	bool *used = pl_alloc(sn->n_items, sizeof(*used)), found;
	uint32_t low = 0, high = sn->cap, mid = high;
	int rc = used ? 0 : -ENOMEM;

	while (!rc && low < high) {
		rc = try_all(p, s, mid, 0, used, &found);
		if (!rc && found)
			low = mid;
		else
			high = mid - 1;
		mid = low + (high - low + 1) / 2;
	}
	sn->cap = low;
	sn->min = sn->n_must ? (sn->n_must + p->per_atom - 1) / p->per_atom : 1;
	if (sn->min > sn->cap)
		sn->cap = 0;
	free(used);
	return rc;
}

/* An estimate: as many of the nodes as of the atoms. */
pl_cost pl_large_cost(const struct pl *p, uint32_t s, uint32_t atoms)
{
	const struct pl_supernode *sn = &p->sn[s];
	uint64_t n = (uint64_t)atoms * sn->n_items;

	return (pl_cost)((n + sn->cap - 1) / sn->cap) << p->shift_nodes;
}

struct span { /* how many nodes a supernode can use for its atoms */
	uint32_t least, most;
};

/* Without a profile: as if neither units nor spares bound the nodes more. */
static bool guess_span(const struct pl *p, const struct pl_supernode *sn,
		       uint32_t atoms, struct span *ret)
{
	uint64_t want = (uint64_t)atoms * p->per_atom;
	uint32_t count[SN_CARDS_MAX + 1] = { 0 };

	ret->most = sn->n_items - p->req->spares;
	if (sn->q_max < ret->most)
		ret->most = sn->q_max;
	if (want < ret->most)
		ret->most = (uint32_t)want;
	ret->least = 0;
	for (uint32_t i = 0; i < sn->n_items; i++)
		count[sn->item[i].cap]++;
	for (uint32_t c = SN_CARDS_MAX; c && want; c--) {
		uint64_t n = (want + c - 1) / c;

		if (n > count[c])
			n = count[c];
		ret->least += (uint32_t)n;
		want -= n * c < want ? n * c : want;
	}
	if (ret->least < sn->n_must)
		ret->least = sn->n_must;
	return ret->least <= ret->most;
}

static bool find_span(const struct pl *p, const struct pl_pick *pick,
		      uint32_t atoms, struct span *ret)
{
	const struct pl_supernode *sn = &p->sn[pick->s];
	const struct pl_profile *f = sn->profile;
	const pl_cost *cost;
	uint32_t q, n;

	if (atoms < sn->min || atoms > sn->cap)
		return false;
	if (!pl_has_costs(sn))
		return guess_span(p, sn, atoms, ret);
	cost = f->cost + (size_t)atoms * (f->q + 1);
	for (q = 1; q <= f->q && cost[q] >= PL_INF; q++)
		;
	for (n = f->q; n && cost[n] >= PL_INF; n--)
		;
	*ret = (struct span){ q, n };
	return q <= n;
}

/* How much nearer to the bound one atom more or less in a pick gets. */
static int gain(const struct pl *p, const struct pl_pick *pick, int more,
		bool want_more_nodes)
{
	struct span now, then;

	if (!find_span(p, pick, pick->atoms, &now) ||
	    !find_span(p, pick, pick->atoms + (uint32_t)more, &then))
		return -2 * SN_CARDS_MAX * 1024;
	return want_more_nodes ? (int)then.most - (int)now.most :
				 (int)now.least - (int)then.least;
}

/* Move an atom where it gets nearer. False: none does. */
static bool move_atom(struct pl *p, struct pl_choice *c, bool want_more_nodes)
{
	struct pl_pick *from = NULL, *to = NULL;
	int best_from = 0, best_to = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		int less = gain(p, &c->pick[i], -1, want_more_nodes);
		int more = gain(p, &c->pick[i], 1, want_more_nodes);

		if (!from || less > best_from) {
			from = &c->pick[i];
			best_from = less;
		}
		if (!to || more > best_to) {
			to = &c->pick[i];
			best_to = more;
		}
	}
	if (!from || from == to || best_from + best_to <= 0)
		return false;
	from->atoms--;
	to->atoms++;
	return true;
}

/* Take the fewest nodes everywhere, then more in the earlier ones. */
static bool take_nodes(struct pl *p, struct pl_choice *c, uint64_t least)
{
	uint64_t left = p->bound - least;

	for (uint32_t i = 0; i < c->n; i++) {
		struct pl_pick *pick = &c->pick[i];
		const struct pl_supernode *sn = &p->sn[pick->s];
		const pl_cost *cost = NULL;
		struct span span;

		if (pl_has_costs(sn))
			cost = sn->profile->cost +
			       (size_t)pick->atoms * (sn->profile->q + 1);

		find_span(p, pick, pick->atoms, &span);
		pick->nodes = span.least;
		for (uint32_t q = span.least + 1;
		     q <= span.most && q - span.least <= left; q++)
			if (!cost || cost[q] < PL_INF)
				pick->nodes = q;
		left -= pick->nodes - span.least;
	}
	return !left;
}

/* How many nodes each chosen supernode uses, where that is too much for
 * tables; atoms are moved for it. */
int pl_large_spread(struct pl *p, struct pl_choice *c)
{
	uint64_t moves = 64 + SN_PLACE_EXACT_WORK / (c->n + 1) / 64;

	for (;;) {
		uint64_t least = 0, most = 0;
		struct span span;

		for (uint32_t i = 0; i < c->n; i++) {
			if (!find_span(p, &c->pick[i], c->pick[i].atoms, &span))
				return -ENOSPC;
			least += span.least;
			most += span.most;
		}
		if (least <= p->bound && p->bound <= most)
			return take_nodes(p, c, least) ? 0 : -ENOSPC;
		if (!moves-- || !move_atom(p, c, most < p->bound))
			return -ENOSPC;
	}
}
