/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_span.c - how many nodes a supernode can use for its atoms, and which,
 * where tables would be too large.
 *
 * A set of nodes that takes b blocks in whole unit blocks can be any from the
 * fewest, the largest ones, up to b nodes: each further one takes a block from
 * another. Over units it is pl_spread(), over the greatest shares m that leave
 * spares the union.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct work {
	struct pl_large l;
	struct pl_place *place; /* by group */
	uint32_t *nodes; /* their lo and hi */
	uint64_t min, cap; /* unit blocks of all groups */
};

static int init(struct work *w, const struct pl *p, uint32_t s)
{
	const struct pl_supernode *sn = &p->sn[s];
	size_t room = 0;
	int rc = pl_large_init(&w->l, p, s);

	for (uint32_t i = 0; i < sn->n_items; i++)
		room += sn->item[i].cap;
	w->place = pl_alloc(sn->n_items, sizeof(*w->place));
	w->nodes = pl_alloc(2 * (room + sn->n_items), sizeof(*w->nodes));
	return rc || !w->place || !w->nodes ? -ENOMEM : 0;
}

static void done(struct work *w)
{
	pl_large_done(&w->l);
	free(w->place);
	free(w->nodes);
}

/* Required nodes are first in a group, then the largest. */
static void fill_place(const struct pl_large *l, const struct pl_large_group *g,
		       struct pl_place *place, uint32_t *lo, uint32_t *hi)
{
	const struct pl_large_node *node = l->node + g->first;
	uint32_t r = l->p->per_unit, count = 0;
	uint64_t sum = 0;

	*place = (struct pl_place){
		.lo = lo, .hi = hi, .cap = g->blocks,
		.min = (g->musts + r - 1) / r,
	};
	for (uint32_t b = 0; b <= g->blocks; b++) {
		uint64_t want = (uint64_t)b * r;

		while (count < g->n && (sum < want || count < g->musts))
			sum += node[count++].cap;
		lo[b] = count;
		hi[b] = want < g->n ? (uint32_t)want : g->n;
	}
}

static int find_places(struct work *w, uint32_t m, bool *ret)
{
	uint32_t *next = w->nodes;
	int rc = pl_large_groups(&w->l, m, w->l.p->per_unit > 1, ret);

	w->min = w->cap = 0;
	for (uint32_t i = 0; !rc && *ret && i < w->l.n_groups; i++) {
		const struct pl_large_group *g = &w->l.group[i];
		struct pl_place *place = &w->place[i];
		uint32_t n = g->blocks + 1;

		fill_place(&w->l, g, place, next, next + n);
		next += 2 * (size_t)n;
		if (place->min > place->cap)
			*ret = false;
		w->min += place->min;
		w->cap += place->cap;
	}
	return rc;
}

/* Of all groups together, with shares of up to m. */
static int add_m(struct work *w, uint32_t m, uint32_t *record,
		 struct pl_span *span)
{
	const struct pl *p = w->l.p;
	uint32_t per = p->per_atom / p->per_unit, n, *hi;
	bool ok;
	int rc = find_places(w, m, &ok);

	if (rc || !ok)
		return rc;
	n = w->l.n_groups;
	hi = record + w->cap + 1;
	rc = pl_sweep(w->place, n, w->cap, false, record);
	if (!rc)
		rc = pl_sweep(w->place, n, w->cap, true, hi);
	for (uint32_t a = 1; a <= span->cap && !rc; a++) {
		uint64_t b = (uint64_t)a * per;
		uint32_t most;

		if (b < w->min || b > w->cap)
			continue;
		most = hi[b] < w->l.sn->q_max ? hi[b] : w->l.sn->q_max;
		if (record[b] > most)
			continue;
		if (record[b] < span->lo[a])
			span->lo[a] = record[b];
		if (most > span->hi[a])
			span->hi[a] = most;
	}
	return rc;
}

/* Up to p->atoms, or what the pool allows. */
int pl_span(const struct pl *p, uint32_t s, struct pl_span *ret)
{
	const struct pl_supernode *sn = &p->sn[s];
	uint32_t atoms = pl_plain_atoms(p, sn), *record = NULL;
	struct work w = { 0 };
	size_t room = 0;
	int rc = init(&w, p, s);

	if (sn->pool_atoms < atoms)
		atoms = sn->pool_atoms;
	*ret = (struct pl_span){
		.lo = pl_alloc((size_t)atoms + 1, sizeof(*ret->lo)),
		.hi = pl_alloc((size_t)atoms + 1, sizeof(*ret->hi)),
		.cap = atoms,
	};
	for (uint32_t i = 0; i < sn->n_items; i++)
		room += sn->item[i].cap;
	record = pl_alloc(2 * (room + 1), sizeof(*record));
	if (rc || !ret->lo || !ret->hi || !record) {
		rc = -ENOMEM;
		goto out;
	}
	memset(ret->lo, 0xff, ((size_t)atoms + 1) * sizeof(*ret->lo));
	for (uint32_t m = pl_largest(sn); m && !rc; m--)
		if (pl_large_m(&w.l, m))
			rc = add_m(&w, m, record, ret);
	for (ret->min = 1; ret->min <= atoms; ret->min++)
		if (ret->lo[ret->min] <= ret->hi[ret->min])
			break;
	for (ret->cap = ret->min; ret->cap <= atoms; ret->cap++)
		if (ret->lo[ret->cap] > ret->hi[ret->cap])
			break;
	ret->cap = ret->cap > ret->min ? ret->cap - 1 : 0;
out:
	if (rc)
		ret->cap = 0;
	free(record);
	done(&w);
	return rc;
}

void pl_span_done(struct pl_span *span)
{
	free(span->lo);
	free(span->hi);
	*span = (struct pl_span){ 0 };
}

int pl_span_nodes(const struct pl *p, uint32_t s, uint32_t atoms,
		  uint32_t nodes, bool *used)
{
	uint64_t blocks = (uint64_t)atoms * (p->per_atom / p->per_unit);
	struct work w = { 0 };
	int rc = init(&w, p, s), spread = -ENOSPC;
	bool ok;

	memset(used, 0, p->sn[s].n_items * sizeof(*used));
	for (uint32_t m = pl_largest(&p->sn[s]); m && !rc && spread; m--) {
		if (!pl_large_m(&w.l, m))
			continue;
		rc = find_places(&w, m, &ok);
		if (rc || !ok || blocks < w.min || blocks > w.cap)
			continue;
		spread = pl_spread(w.place, w.l.n_groups, blocks, nodes);
		if (spread == -ENOMEM)
			rc = spread;
	}
	for (uint32_t i = 0; !rc && !spread && i < w.l.n_groups; i++) {
		const struct pl_large_node *node =
			w.l.node + w.l.group[i].first;

		for (uint32_t j = 0; j < w.place[i].nodes; j++)
			used[node[j].item - p->sn[s].item] = true;
	}
	done(&w);
	return rc ? rc : spread;
}
