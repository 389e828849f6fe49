/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_split.c - how many atoms each chosen supernode hosts.
 *
 * The chosen ones together hold fewer atoms too many than one of them holds
 * (else it would not be needed), so a table over these gaps is small. Where it
 * is not, atoms are taken off one by one where that saves most.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/place_internal.h"

struct table {
	struct pl *p;
	struct pl_choice *c;
	uint32_t gaps, nodes; /* greatest values */
	size_t size;
	pl_cost *row; /* [c->n + 1][size] */
};

static size_t at(const struct table *t, uint32_t i, uint32_t gap, uint32_t q)
{
	return i * t->size + (size_t)gap * (t->nodes + 1) + q;
}

static uint32_t most_nodes(const struct table *t, uint32_t i)
{
	const struct pl_supernode *sn = &t->p->sn[t->c->pick[i].s];

	return t->nodes && sn->profile ? sn->profile->q : 0;
}

/* What supernode i with a gap and q nodes and all after it cost. */
static pl_cost cost_of(const struct table *t, uint32_t i, uint32_t left_gap,
		       uint32_t left_q, uint32_t gap, uint32_t q)
{
	uint32_t s = t->c->pick[i].s;
	pl_cost cost, rest;

	rest = t->row[at(t, i + 1, left_gap - gap, left_q - q)];
	if (rest >= PL_INF)
		return PL_INF;
	cost = pl_cost_of(t->p, s, t->p->sn[s].cap - gap, q);
	return cost >= PL_INF ? PL_INF : cost + rest;
}

static uint32_t most_gap(const struct table *t, uint32_t i, uint32_t left)
{
	const struct pl_supernode *sn = &t->p->sn[t->c->pick[i].s];

	return sn->cap - sn->min < left ? sn->cap - sn->min : left;
}

static void fill_row(const struct table *t, uint32_t i)
{
	uint32_t low = t->nodes ? 1 : 0, high = most_nodes(t, i);

	for (uint32_t g = 0; g <= t->gaps; g++)
		for (uint32_t q = 0; q <= t->nodes; q++) {
			uint32_t top = most_gap(t, i, g);
			pl_cost best = PL_INF, c;

			for (uint32_t x = 0; x <= top; x++)
				for (uint32_t y = low; y <= high && y <= q;
				     y++) {
					c = cost_of(t, i, g, q, x, y);
					if (c < best)
						best = c;
				}
			t->row[at(t, i, g, q)] = best;
		}
}

/* As many atoms as possible, then as many nodes, in the earlier ones. */
static void walk(const struct table *t)
{
	uint32_t g = t->gaps, q = t->nodes, low = t->nodes ? 1 : 0;

	for (uint32_t i = 0; i < t->c->n; i++) {
		struct pl_pick *pick = &t->c->pick[i];
		pl_cost want = t->row[at(t, i, g, q)];
		uint32_t top = most_gap(t, i, g), high = most_nodes(t, i);
		bool found = false;

		for (uint32_t x = 0; x <= top && !found; x++)
			for (uint32_t y = high < q ? high : q;
			     y + 1 > low && !found; y--) {
				found = cost_of(t, i, g, q, x, y) == want;
				if (!found)
					continue;
				pick->atoms = t->p->sn[pick->s].cap - x;
				pick->nodes = y;
				g -= x;
				q -= y;
				break;
			}
	}
}

static int by_table(struct pl *p, struct pl_choice *c, uint64_t gaps)
{
	struct table t = { .p = p, .c = c, .nodes = p->req->exact_nodes };
	uint64_t most = gaps, steps;
	int rc = 0;

	if (gaps > UINT32_MAX / 2)
		return -E2BIG;
	t.gaps = (uint32_t)gaps;
	t.size = (size_t)(gaps + 1) * (t.nodes + 1);
	if (most > p->atoms)
		most = p->atoms;
	if ((pl_cost)t.size * (c->n + 1) * sizeof(*t.row) > PL_LOCAL_BYTES)
		return -E2BIG;
	steps = (uint64_t)t.size * c->n * (most + 1);
	if (t.nodes)
		steps *= t.nodes;
	if (steps > SN_PLACE_EXACT_WORK)
		return -E2BIG;
	t.row = malloc(t.size * (c->n + 1) * sizeof(*t.row));
	if (!t.row)
		return -ENOMEM;
	for (size_t i = 0; i < t.size; i++)
		t.row[at(&t, c->n, 0, 0) + i] = PL_INF;
	t.row[at(&t, c->n, 0, 0)] = 0;
	for (uint32_t i = c->n; i--;)
		fill_row(&t, i);
	if (t.row[at(&t, 0, t.gaps, t.nodes)] < PL_INF)
		walk(&t);
	else
		rc = -ENOSPC;
	free(t.row);
	p->work += steps;
	return rc;
}

/* What one atom less in a pick saves. */
static pl_cost saving(const struct pl *p, const struct pl_pick *pick)
{
	pl_cost more, less;

	if (pick->atoms <= p->sn[pick->s].min)
		return 0;
	more = pl_cost_of(p, pick->s, pick->atoms, 0);
	less = pl_cost_of(p, pick->s, pick->atoms - 1, 0);
	return less < more ? more - less : 0;
}

static void by_savings(struct pl *p, struct pl_choice *c, uint64_t gaps)
{
	bool each = gaps * c->n <= SN_PLACE_EXACT_WORK;

	p->exact = false;
	for (; gaps && each; gaps--) {
		struct pl_pick *best = NULL;
		pl_cost most = 0, x;

		for (uint32_t i = c->n; i--;) {
			x = saving(p, &c->pick[i]);
			if (x > most) {
				most = x;
				best = &c->pick[i];
			}
		}
		if (!best)
			break;
		best->atoms--;
	}
	/* None saves anything: the last ones host less. */
	for (uint32_t i = c->n; i-- && gaps;) {
		uint64_t x = c->pick[i].atoms - p->sn[c->pick[i].s].min;

		if (x > gaps)
			x = gaps;
		c->pick[i].atoms -= (uint32_t)x;
		gaps -= x;
	}
}

int pl_split(struct pl *p, struct pl_choice *c)
{
	uint64_t gaps = 0;
	int rc;

	for (uint32_t i = 0; i < c->n; i++) {
		c->pick[i].atoms = p->sn[c->pick[i].s].cap;
		c->pick[i].nodes = 0;
		gaps += c->pick[i].atoms;
	}
	gaps -= p->atoms;
	if (!gaps && !p->req->exact_nodes)
		return 0;
	rc = by_table(p, c, gaps);
	if (rc != -E2BIG)
		return rc;
	by_savings(p, c, gaps);
	return p->req->exact_nodes ? pl_large_spread(p, c) : 0;
}
