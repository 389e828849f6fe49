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

static int by_size(const void *a, const void *b)
{
	const struct pl_large_node *x = a, *y = b;

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
	const struct pl_large_node *x = a, *y = b;

	if (x->item->cost != y->item->cost)
		return x->item->cost > y->item->cost ? -1 : 1;
	return x->item->node > y->item->node ? -1 : 1;
}

static int by_blocks(const void *a, const void *b)
{
	const struct pl_large_group *x = a, *y = b;

	if (!x->musts != !y->musts)
		return x->musts ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

/* Of those in by_cost[] set the `left` dearest aside. */
static void put_aside(struct pl_large *l, uint32_t n, uint32_t left)
{
	if (left)
		qsort(l->by_cost, n, sizeof(*l->by_cost), by_cost);
	for (uint32_t i = 0; i < left && i < n; i++)
		l->node[l->by_cost[i].item - l->sn->item].aside = true;
}

/* Set nodes that hold m aside as spares: the dearest, with unit blocks to keep
 * whole the dearest of as many as pl_spared_units() says in each unit. */
static int set_aside(struct pl_large *l, uint32_t m, bool *ret)
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

		l->node[i] = (struct pl_large_node){
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

static void find_groups(struct pl_large *l, bool units)
{
	uint32_t n = 0, blocks = 0;
	struct pl_large_group *g = NULL;

	l->n_groups = 0;
	for (uint32_t i = 0; i < l->sn->n_items; i++) {
		struct pl_large_node node = l->node[i];

		if (!g) {
			g = &l->group[l->n_groups++];
			*g = (struct pl_large_group){ .first = n };
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

static void use(struct pl_large *l, const struct pl_large_node *node, uint32_t *count)
{
	bool *used = &l->used[node->item - l->sn->item];

	*count += !*used;
	*used = true;
}

/* Use nodes of a group for so many node blocks; 0 leaves it alone. */
static void fill_group(struct pl_large *l, const struct pl_large_group *g, uint32_t want,
		       uint32_t *count)
{
	const struct pl_large_node *node = l->node + g->first;
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

int pl_large_groups(struct pl_large *l, uint32_t m, bool units, bool *ret)
{
	int rc = set_aside(l, m, ret);

	if (!rc && *ret)
		find_groups(l, units);
	return rc;
}

bool pl_large_m(const struct pl_large *l, uint32_t m)
{
	if (!m || (!l->p->req->spares && m < pl_largest(l->sn)))
		return false;
	for (uint32_t i = 0; i < l->sn->n_items; i++)
		if (l->sn->item[i].cap == m)
			return true;
	return false;
}

static int try_m(struct pl_large *l, uint32_t atoms, uint32_t m, bool *ret)
{
	uint32_t left = atoms * (l->p->per_atom / l->p->per_unit), count = 0;
	uint32_t r = l->p->per_unit, later = 0; /* for groups with musts */
	int rc;

	memset(l->used, 0, l->sn->n_items);
	rc = pl_large_groups(l, m, l->p->unit_cost || r > 1, ret);
	if (rc || !*ret)
		return rc;
	for (uint32_t i = 0; i < l->n_groups; i++)
		later += (l->group[i].musts + r - 1) / r;
	if (later > left)
		*ret = false;
	for (uint32_t i = 0; i < l->n_groups && *ret; i++) {
		struct pl_large_group *g = &l->group[i];
		uint32_t least = (g->musts + r - 1) / r, take;

		later -= least;
		take = g->blocks < left - later ? g->blocks : left - later;
		*ret = take >= least;
		fill_group(l, g, take * r, &count);
		left -= take;
	}
	*ret = *ret && !left && count <= l->sn->q_max &&
	       count <= atoms * l->p->per_atom;
	return 0;
}

int pl_large_init(struct pl_large *l, const struct pl *p, uint32_t s)
{
	uint32_t n = p->sn[s].n_items;

	*l = (struct pl_large){ .p = p, .sn = &p->sn[s] };
	l->node = pl_alloc(n, sizeof(*l->node));
	l->by_cost = pl_alloc(n, sizeof(*l->by_cost));
	l->group = pl_alloc(n, sizeof(*l->group));
	l->take = pl_alloc(n, sizeof(*l->take));
	return l->node && l->by_cost && l->group && l->take ? 0 : -ENOMEM;
}

void pl_large_done(struct pl_large *l)
{
	free(l->take);
	free(l->node);
	free(l->by_cost);
	free(l->group);
}

static int try_all(const struct pl *p, uint32_t s, uint32_t atoms, bool *used,
		   bool *ret)
{
	struct pl_large l;
	int rc = pl_large_init(&l, p, s);

	*ret = false;
	l.used = used;
	for (uint32_t m = pl_largest(l.sn); m && !rc && !*ret; m--)
		if (pl_large_m(&l, m))
			rc = try_m(&l, atoms, m, ret);
	pl_large_done(&l);
	return rc;
}

int pl_large_nodes(struct pl *p, uint32_t s, uint32_t atoms, uint32_t nodes,
		   bool *used)
{
	struct pl_span span;
	bool found = false;
	int rc = 0;

	p->exact = false;
	if (!nodes)
		rc = try_all(p, s, atoms, used, &found);
	if (rc || found)
		return rc;
	if (nodes)
		return pl_span_nodes(p, s, atoms, nodes, used);
	/* With fewer nodes, in more units. */
	rc = pl_span(p, s, &span);
	if (!rc && (atoms < span.min || atoms > span.cap))
		rc = -ENOSPC;
	if (!rc)
		rc = pl_span_nodes(p, s, atoms, span.lo[atoms], used);
	pl_span_done(&span);
	return rc;
}

/* The atoms that the choice above finds nodes for. */
int pl_large_cap(struct pl *p, uint32_t s)
{
	struct pl_supernode *sn = &p->sn[s];
	struct pl_span span;
	int rc = pl_span(p, s, &span);

	sn->cap = span.cap;
	sn->min = span.min;
	pl_span_done(&span);
	return rc;
}

/* An estimate: as many of the nodes as of the atoms. */
pl_cost pl_large_cost(const struct pl *p, uint32_t s, uint32_t atoms)
{
	const struct pl_supernode *sn = &p->sn[s];
	uint64_t n = (uint64_t)atoms * sn->n_items;

	return (pl_cost)((n + sn->cap - 1) / sn->cap) << p->shift_nodes;
}
