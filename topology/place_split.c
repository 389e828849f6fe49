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
#include <string.h>

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

	return t->nodes && pl_has_costs(sn) ? sn->profile->q : 0;
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

/*
 * As many atoms as possible in the earlier ones. All cheapest ways that agree so
 * far are followed at once; they have the same gap left and differ in q.
 */
static int walk_atoms(const struct table *t)
{
	uint32_t g = t->gaps, low = t->nodes ? 1 : 0;
	bool *mark = pl_alloc(2 * (size_t)(t->nodes + 1), sizeof(*mark));
	bool *now = mark, *then = mark + t->nodes + 1, *swap;

	if (!mark)
		return -ENOMEM;
	now[t->nodes] = true;
	for (uint32_t i = 0; i < t->c->n; i++) {
		struct pl_pick *pick = &t->c->pick[i];
		uint32_t top = most_gap(t, i, g), high = most_nodes(t, i), x;
		bool found = false;

		memset(then, 0, t->nodes + 1);
		for (x = 0; x <= top; x++) {
			for (uint32_t q = 0; q <= t->nodes; q++)
				for (uint32_t y = low;
				     now[q] && y <= high && y <= q; y++)
					if (cost_of(t, i, g, q, x, y) ==
					    t->row[at(t, i, g, q)])
						found = then[q - y] = true;
			if (found)
				break;
		}
		pick->atoms = t->p->sn[pick->s].cap - x;
		g -= x;
		swap = now;
		now = then;
		then = swap;
	}
	free(mark);
	return 0;
}

/* Lists of one supernode by marks: the one with the earlier first difference,
 * and so the longer one of two that agree: what follows is elsewhere. */
static bool is_smaller(const struct pl_supernode *sn, const bool *a,
		       const bool *b)
{
	uint32_t first = SN_NONE;
	bool ret = false;

	for (uint32_t i = 0; i < sn->n_items; i++)
		if (a[i] != b[i] && sn->item[i].node < first) {
			first = sn->item[i].node;
			ret = a[i];
		}
	return ret;
}

/* With the atoms known, so many nodes for each that the list of all nodes is
 * the smallest of the cheapest. rest: [n + 1][nodes + 1] costs of what follows,
 * by the nodes left. */
static int walk_nodes(const struct table *t, const pl_cost *rest)
{
	uint32_t left = t->nodes;
	int rc = 0;

	for (uint32_t i = 0; i < t->c->n && !rc; i++) {
		struct pl_pick *pick = &t->c->pick[i];
		const struct pl_supernode *sn = &t->p->sn[pick->s];
		const pl_cost *next = rest + (size_t)(i + 1) * (t->nodes + 1);
		pl_cost want = rest[(size_t)i * (t->nodes + 1) + left];
		bool *used = pl_alloc(2 * (size_t)sn->n_items, sizeof(*used));
		bool *best = used + sn->n_items;
		uint32_t n = 0, take = 0;

		if (!used)
			return -ENOMEM;
		for (uint32_t y = 1; y <= most_nodes(t, i) && y <= left; y++) {
			pl_cost c = pl_cost_of(t->p, pick->s, pick->atoms, y);

			if (c >= PL_INF || next[left - y] >= PL_INF ||
			    c + next[left - y] != want)
				continue;
			rc = pl_local_nodes(t->p, pick->s, pick->atoms, y,
					    used);
			if (rc)
				break;
			if (n && t->p->work > pl_run_work(t->p)) {
				t->p->exact = false;
				break;
			}
			if (!n++ || is_smaller(sn, used, best)) {
				memcpy(best, used, sn->n_items);
				take = y;
			}
		}
		pick->nodes = take;
		left -= take;
		free(used);
	}
	return rc;
}

static int share_nodes(const struct table *t)
{
	size_t width = (size_t)t->nodes + 1;
	uint32_t n = t->c->n;
	pl_cost *rest = pl_alloc((n + 1) * width, sizeof(*rest));
	int rc;

	if (!rest)
		return -ENOMEM;
	for (size_t i = 0; i < (n + 1) * width; i++)
		rest[i] = PL_INF;
	rest[n * width] = 0;
	for (uint32_t i = n; i--;)
		for (uint32_t q = 1; q <= t->nodes; q++)
			for (uint32_t y = 1; y <= most_nodes(t, i) && y <= q;
			     y++) {
				struct pl_pick *pick = &t->c->pick[i];
				pl_cost c = pl_cost_of(t->p, pick->s,
						       pick->atoms, y);
				pl_cost r = rest[(i + 1) * width + q - y];

				if (c < PL_INF && r < PL_INF &&
				    c + r < rest[i * width + q])
					rest[i * width + q] = c + r;
			}
	rc = walk_nodes(t, rest);
	free(rest);
	return rc;
}

static int by_table(struct pl *p, struct pl_choice *c, uint64_t gaps)
{
	struct table t = { .p = p, .c = c, .nodes = p->bound };
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
		rc = walk_atoms(&t);
	else
		rc = -ENOSPC;
	if (!rc && t.nodes)
		rc = share_nodes(&t);
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

static int find_profiles(struct pl *p, const struct pl_choice *c, bool *ret)
{
	uint32_t *s = pl_alloc(c->n, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		s[i] = c->pick[i].s;
	rc = pl_local_profiles(p, s, c->n, ret);
	free(s);
	return rc;
}

int pl_split(struct pl *p, struct pl_choice *c)
{
	uint64_t gaps = 0, nodes = 0;
	bool known;
	int rc;

	for (uint32_t i = 0; i < c->n; i++) {
		c->pick[i].atoms = p->sn[c->pick[i].s].cap;
		c->pick[i].nodes = 0;
		gaps += c->pick[i].atoms;
		nodes += p->sn[c->pick[i].s].n_items;
	}
	gaps -= p->atoms;
	if (!gaps && !p->bound)
		return 0;
	if (nodes < p->bound)
		return -ENOSPC;
	rc = find_profiles(p, c, &known);
	if (rc)
		return rc;
	if (!known)
		p->exact = false;
	rc = p->bound && !known ? -E2BIG : by_table(p, c, gaps);
	if (rc == -E2BIG && !p->bound) {
		by_savings(p, c, gaps);
		rc = 0;
	}
	return rc;
}
