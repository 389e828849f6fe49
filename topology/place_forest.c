/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_forest.c - the supernodes in question, depth first in their fabrics.
 *
 * Levels at which every choice of k supernodes counts the same are left out:
 * those with one domain, those whose domains hold one supernode each, and those
 * that divide the supernodes as the level below does.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct sorting {
	uint32_t n, levels;
	const uint32_t *dom; /* by supernode in question, topology order */
	const uint32_t *first; /* by domain: its first supernode */
	uint32_t *index;
};

static int compare(const struct sorting *w, uint32_t a, uint32_t b)
{
	for (uint32_t d = 0; d < w->levels; d++) {
		uint32_t x = w->first[w->dom[(size_t)a * w->levels + d]];
		uint32_t y = w->first[w->dom[(size_t)b * w->levels + d]];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return a < b ? -1 : a > b;
}

static int by_fabric(const void *a, const void *b, void *arg)
{
	return compare(arg, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* The domain of supernode s at each level: its fabrics, then itself. */
static void find_chain(const struct sn_topo *topo, uint32_t s, uint32_t *dom)
{
	uint32_t levels = topo->fabric_levels;
	uint32_t f = topo->supernode[s].fabric;

	for (uint32_t d = 0; d < levels; d++)
		dom[d] = topo->n_fabrics + s;
	while (f < topo->n_fabrics && topo->fabric[f].depth < levels) {
		dom[topo->fabric[f].depth] = f;
		if (!topo->fabric[f].depth)
			break;
		f = topo->fabric[f].parent;
	}
}

/* Depth first, so that a domain's supernodes are one run. */
static uint32_t count_domains(const struct pl_forest *f, const uint32_t *dom,
			      uint32_t levels, uint32_t d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += !i || dom[(size_t)i * levels + d] !=
			   dom[(size_t)(i - 1) * levels + d];
	return n;
}

static void keep_levels(struct pl_forest *f, uint32_t levels)
{
	uint32_t below = f->n, kept = 0;
	uint32_t *level = f->level;

	for (uint32_t d = levels; d--;) {
		uint32_t n = count_domains(f, f->dom, levels, d);

		if (n > 1 && n < below)
			level[kept++] = d;
		if (n < below)
			below = n;
	}
	/* From the roots down. */
	for (uint32_t i = 0; i < kept / 2; i++) {
		uint32_t t = level[i];

		level[i] = level[kept - 1 - i];
		level[kept - 1 - i] = t;
	}
	for (uint32_t i = 0; i < f->n; i++)
		for (uint32_t d = 0; d < kept; d++)
			f->dom[(size_t)i * kept + d] =
				f->dom[(size_t)i * levels + level[d]];
	f->levels = kept;
}

static void find_shares(struct pl_forest *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const uint32_t *a = f->dom + (size_t)i * f->levels, *b;
		uint32_t d = 0;

		if (i + 1 < f->n) {
			b = a + f->levels;
			while (d < f->levels && a[d] == b[d])
				d++;
		}
		f->leaf[i].share = d;
	}
}

static int sort_leaves(struct pl_forest *f, const struct sn_topo *topo)
{
	uint32_t levels = topo->fabric_levels;
	size_t n_dom = (size_t)topo->n_fabrics + topo->n_supernodes;
	uint32_t *first = pl_alloc(n_dom, sizeof(*first));
	uint32_t *index = pl_alloc(f->n, sizeof(*index));
	uint32_t *dom = pl_alloc((size_t)f->n * levels, sizeof(*dom));
	struct pl_leaf *leaf = pl_alloc(f->n, sizeof(*leaf));
	struct sorting w = { f->n, levels, dom, first, index };
	int rc = -ENOMEM;

	if (!first || !index || !dom || !leaf)
		goto out;
	memset(first, 0xff, n_dom * sizeof(*first));
	f->ordered = true;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t *chain = dom + (size_t)i * levels;

		find_chain(topo, f->leaf[i].s, chain);
		for (uint32_t d = 0; d < levels; d++)
			if (first[chain[d]] == SN_NONE)
				first[chain[d]] = i;
		index[i] = i;
	}
	for (uint32_t i = 1; i < f->n && f->ordered; i++)
		f->ordered = compare(&w, i - 1, i) < 0;
	if (!f->ordered)
		qsort_r(index, f->n, sizeof(*index), by_fabric, &w);
	for (uint32_t i = 0; i < f->n; i++) {
		leaf[i] = f->leaf[index[i]];
		memcpy(f->dom + (size_t)i * levels,
		       dom + (size_t)index[i] * levels,
		       levels * sizeof(*dom));
	}
	memcpy(f->leaf, leaf, f->n * sizeof(*leaf));
	rc = 0;
out:
	free(first);
	free(index);
	free(dom);
	free(leaf);
	return rc;
}

/* leaf[].s and n are given, in topology order. */
int pl_forest_build(struct pl_forest *f, const struct sn_topo *topo)
{
	uint32_t levels = topo->fabric_levels;
	int rc;

	f->dom = pl_alloc((size_t)f->n * levels, sizeof(*f->dom));
	f->level = pl_alloc(levels, sizeof(*f->level));
	if (!f->dom || !f->level)
		return -ENOMEM;
	rc = sort_leaves(f, topo);
	if (rc)
		return rc;
	keep_levels(f, levels);
	find_shares(f);
	return 0;
}

/* Fewer domains at a level weigh more than any number below. Levels that do not
 * fit (dozens, of thousands of supernodes) are not looked at. */
void pl_forest_costs(struct pl *p, const struct pl_forest *f, uint32_t k,
		     unsigned top, pl_cost *open)
{
	unsigned bits = 0;

	while (k >> bits)
		bits++;
	open[f->levels] = 0;
	for (uint32_t o = f->levels; o--;) {
		uint64_t down = (uint64_t)(o + 1) * bits;

		open[o] = open[o + 1];
		if (down <= top)
			open[o] += (pl_cost)1 << (top - down);
		else
			p->exact = false;
	}
}

void pl_forest_done(struct pl_forest *f)
{
	free(f->leaf);
	free(f->dom);
	free(f->level);
	*f = (struct pl_forest){ 0 };
}

static int by_number(const void *a, const void *b)
{
	const struct pl_pick *x = a, *y = b;

	return x->s < y->s ? -1 : x->s > y->s;
}

void pl_sort_picks(struct pl_choice *c)
{
	qsort(c->pick, c->n, sizeof(*c->pick), by_number);
}
