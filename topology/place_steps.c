/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_steps.c - which k supernodes, exactly, by points 3 to 7.
 *
 * A table over the supernodes in question, depth first in their fabrics, from
 * the last to the first. A state is what is still to come: t supernodes, a loss
 * (struct pl_leaf), nodes where their number is bound, and how many levels of
 * the supernode's fabrics are in use already, o. As k is the least possible,
 * the loss is less than the atoms of one supernode, which keeps the table
 * small, however large the cluster is.
 *
 * Costs have two parts that compare one after the other: distinct fabrics level
 * by level, packed like points 4 to 6 are, and those.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct cost {
	pl_cost fab, loc;
};

struct table {
	struct pl *p;
	struct pl_forest *f;
	uint32_t k, width, nodes, o; /* of t, loss, nodes, o: values - 1 */
	uint32_t *low, *high; /* [n + 1] of t */
	pl_cost *open; /* [levels + 1]: cost of opening all levels from o on */
	size_t size;
	struct cost *row; /* kept rows: see row_of() */
	uint32_t stride; /* every stride-th row is kept, and one stretch */
	uint32_t n_kept;
	uint32_t stretch; /* which one */
};

static const struct cost none = { PL_INF, PL_INF };

static bool less(const struct cost *a, const struct cost *b)
{
	return a->fab != b->fab ? a->fab < b->fab : a->loc < b->loc;
}

static bool same(const struct cost *a, const struct cost *b)
{
	return a->fab == b->fab && a->loc == b->loc;
}

static size_t at(const struct table *t, uint32_t k, uint32_t loss, uint32_t q,
		 uint32_t o)
{
	return (((size_t)k * (t->width + 1) + loss) * (t->nodes + 1) + q) *
	       (t->o + 1) + o;
}

/* Rows 0, stride, 2 stride, … are kept for good, those between only for one
 * stretch: memory of the square root of the rows. The last row is n. */
static struct cost *row_of(const struct table *t, uint32_t i)
{
	if (i % t->stride == 0)
		return t->row + (size_t)(i / t->stride) * t->size;
	return t->row + (size_t)(t->n_kept + i % t->stride) * t->size;
}

static const struct cost *value(const struct table *t, uint32_t i, uint32_t k,
				uint32_t loss, uint32_t q, uint32_t o)
{
	if (k < t->low[i] || k > t->high[i])
		return &none;
	return row_of(t, i) + at(t, k, loss, q, o);
}

/* What one way out of a state leads to: skip it (atoms 0), or use it. */
struct way {
	uint32_t k, loss, q, o;
	struct cost add;
};

static bool skip_way(const struct table *t, uint32_t i, const struct way *from,
		     struct way *to)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];

	if (leaf->must || from->loss < leaf->skip_loss)
		return false;
	*to = *from;
	to->add = (struct cost){ 0, 0 };
	to->loss -= leaf->skip_loss;
	if (to->o > leaf->share)
		to->o = leaf->share;
	return true;
}

/* gap: atoms less than it could host. */
static bool use_way(const struct table *t, uint32_t i, const struct way *from,
		    uint32_t gap, uint32_t nodes, struct way *to)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	uint32_t lost = leaf->use_loss + gap;
	pl_cost cost;

	if (!from->k || leaf->never || from->loss < lost || from->q < nodes ||
	    leaf->cap - gap < leaf->min)
		return false;
	cost = pl_cost_of(t->p, leaf->s, leaf->cap - gap, nodes);
	if (cost >= PL_INF)
		return false;
	to->k = from->k - 1;
	to->loss = from->loss - lost;
	to->q = from->q - nodes;
	to->o = leaf->share;
	to->add.fab = t->open[from->o];
	to->add.loc = cost + pl_left_cost(t->p, leaf->s);
	return true;
}

static uint32_t most_nodes(const struct table *t, uint32_t i)
{
	const struct pl_supernode *sn = &t->p->sn[t->f->leaf[i].s];

	return t->nodes && sn->profile ? sn->profile->q : 0;
}

static void consider(const struct table *t, uint32_t i, const struct way *to,
		     struct cost *best)
{
	const struct cost *v = value(t, i + 1, to->k, to->loss, to->q, to->o);
	struct cost c;

	if (v->fab >= PL_INF)
		return;
	c.fab = v->fab + to->add.fab;
	c.loc = v->loc + to->add.loc;
	if (less(&c, best))
		*best = c;
}

static void best_of(const struct table *t, uint32_t i, const struct way *from,
		    struct cost *best)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	uint32_t q_low = t->nodes ? 1 : 0, q_high = most_nodes(t, i);
	struct way to;

	*best = none;
	if (skip_way(t, i, from, &to))
		consider(t, i, &to, best);
	if (!from->k || leaf->never)
		return;
	for (uint32_t gap = 0; leaf->use_loss + gap <= from->loss &&
	     gap + leaf->min <= leaf->cap; gap++)
		for (uint32_t q = q_low; q <= q_high; q++)
			if (use_way(t, i, from, gap, q, &to))
				consider(t, i, &to, best);
}

static void fill_row(const struct table *t, uint32_t i)
{
	struct way w = { 0 };
	struct cost *row = row_of(t, i);

	for (w.k = t->low[i]; w.k <= t->high[i]; w.k++)
		for (w.loss = 0; w.loss <= t->width; w.loss++)
			for (w.q = 0; w.q <= t->nodes; w.q++)
				for (w.o = 0; w.o <= t->o; w.o++)
					best_of(t, i, &w,
						row + at(t, w.k, w.loss, w.q,
							 w.o));
}

/* How many of the leaves from i on are used, at least and at most. False: k of
 * them cannot be. */
static bool find_ranges(struct table *t)
{
	const struct pl_forest *f = t->f;
	uint32_t musts = 0, mays = 0;

	t->low[f->n] = t->high[f->n] = 0;
	for (uint32_t i = f->n; i--;) {
		musts += f->leaf[i].must;
		mays += !f->leaf[i].never;
		t->low[i] = musts;
		t->high[i] = mays < t->k ? mays : t->k;
	}
	if (musts > t->k || mays < t->k)
		return false;
	musts = mays = 0;
	for (uint32_t i = 0; i <= f->n; i++) {
		if (t->k > mays && t->k - mays > t->low[i])
			t->low[i] = t->k - mays;
		if (t->k - musts < t->high[i])
			t->high[i] = t->k - musts;
		if (i < f->n) {
			musts += f->leaf[i].must;
			mays += !f->leaf[i].never;
		}
	}
	return true;
}

static void fill_end(const struct table *t)
{
	struct cost *end = row_of(t, t->f->n);

	for (size_t s = 0; s < t->size; s++)
		end[s] = none;
	for (uint32_t o = 0; o <= t->o; o++)
		end[at(t, 0, 0, 0, o)] = (struct cost){ 0, 0 };
}

/* Fill all rows; the stretch kept at the end is the first. */
static struct cost solve(struct table *t)
{
	if (!find_ranges(t))
		return none;
	fill_end(t);
	for (uint32_t i = t->f->n; i--;)
		fill_row(t, i);
	t->stretch = 0;
	return *value(t, 0, t->k, t->width, t->nodes, 0);
}

static void fetch_stretch(struct table *t, uint32_t i)
{
	uint32_t b = i / t->stride, end = (b + 1) * t->stride;

	if (b == t->stretch)
		return;
	t->stretch = b;
	if (end > t->f->n)
		fill_end(t);
	for (uint32_t j = end < t->f->n ? end : t->f->n; j-- > b * t->stride;)
		fill_row(t, j);
}

/* Marks where the cheapest ways lead that use leaf i (or skip it). All states
 * of a row that are marked have the same k and o, as they have the same list. */
static bool step(const struct table *t, uint32_t i, const struct way *from,
		 bool using, const bool *now, bool *then)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	size_t n = (size_t)(t->width + 1) * (t->nodes + 1);
	uint32_t q_high = most_nodes(t, i);
	struct way w = *from, to;
	bool any = false;

	memset(then, 0, n * sizeof(*then));
	for (size_t s = 0; s < n; s++) {
		const struct cost *want;

		if (!now[s])
			continue;
		w.loss = (uint32_t)(s / (t->nodes + 1));
		w.q = (uint32_t)(s % (t->nodes + 1));
		want = value(t, i, w.k, w.loss, w.q, w.o);
		for (uint32_t gap = 0; gap <= (using ? t->width : 0); gap++)
			for (uint32_t q = 0; q <= (using ? q_high : 0); q++) {
				struct cost c = none;

				if (using && gap + leaf->min > leaf->cap)
					continue;
				if (using && !q != !t->nodes)
					continue;
				if (!(using ? use_way(t, i, &w, gap, q, &to) :
					      skip_way(t, i, &w, &to)))
					continue;
				consider(t, i, &to, &c);
				if (!same(&c, want))
					continue;
				then[(size_t)to.loss * (t->nodes + 1) + to.q] =
					true;
				any = true;
			}
	}
	return any;
}

/* The smallest list of leaves, depth first, of the solved table. */
static int walk(struct table *t, bool *used)
{
	size_t n = (size_t)(t->width + 1) * (t->nodes + 1);
	bool *mark = pl_alloc(2 * n, sizeof(*mark));
	bool *now = mark, *then = mark + n;
	struct way w = { .k = t->k };

	if (!mark)
		return -ENOMEM;
	now[n - 1] = true;
	for (uint32_t i = 0; i < t->f->n; i++) {
		uint32_t share = t->f->leaf[i].share;
		bool *old = now;

		fetch_stretch(t, i);
		used[i] = step(t, i, &w, true, now, then);
		if (!used[i])
			step(t, i, &w, false, now, then);
		w.k -= used[i];
		w.o = used[i] || w.o > share ? share : w.o;
		now = then;
		then = old;
	}
	free(mark);
	return 0;
}

static int by_supernode(const void *a, const void *b, void *arg)
{
	const struct pl_leaf *leaf = arg;
	uint32_t x = leaf[*(const uint32_t *)a].s;
	uint32_t y = leaf[*(const uint32_t *)b].s;

	return x < y ? -1 : x > y;
}

/* Fabrics take turns in topology order: ask for one supernode after the other
 * whether a cheapest choice has it. */
static int by_turns(struct table *t, const struct cost *want, bool *used)
{
	uint32_t n = t->f->n, *turn = pl_alloc(n, sizeof(*turn));

	if (!turn)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		turn[i] = i;
	qsort_r(turn, n, sizeof(*turn), by_supernode, t->f->leaf);
	for (uint32_t i = 0; i < n; i++) {
		struct pl_leaf *leaf = &t->f->leaf[turn[i]];
		struct cost c;

		if (!leaf->must && !leaf->never) {
			leaf->must = true;
			c = solve(t);
			leaf->must = same(&c, want);
			leaf->never = !leaf->must;
		}
		used[turn[i]] = leaf->must;
	}
	free(turn);
	return 0;
}

static int pick(struct table *t, const struct cost *want, uint64_t steps,
		struct pl_choice *ret)
{
	uint32_t n = t->f->n;
	bool *used = pl_alloc(n, sizeof(*used));
	bool turns = !t->f->ordered &&
		     steps * n <= 4 * (uint64_t)SN_PLACE_EXACT_WORK;
	int rc;

	if (!used)
		return -ENOMEM;
	if (!t->f->ordered && !turns)
		t->p->exact = false;
	rc = turns ? by_turns(t, want, used) : walk(t, used);
	ret->n = 0;
	for (uint32_t i = 0; i < n && !rc; i++)
		if (used[i])
			ret->pick[ret->n++].s = t->f->leaf[i].s;
	free(used);
	return rc;
}

static uint64_t count_steps(const struct table *t, uint64_t slack)
{
	const struct pl_forest *f = t->f;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct pl_leaf *leaf = &f->leaf[i];
		uint64_t gaps = leaf->cap - leaf->min;
		uint64_t states = (uint64_t)(t->high[i] - t->low[i] + 1);
		uint64_t q = most_nodes(t, i);

		if (slack < gaps)
			gaps = slack;
		states *= (slack + 1) * (t->nodes + 1) * (t->o + 1);
		if (states > UINT32_MAX)
			return UINT64_MAX;
		states *= (gaps + 1) * (q ? q : 1);
		if (states > UINT32_MAX)
			return UINT64_MAX;
		sum += states;
	}
	return sum;
}

/* Fewer domains at a level weigh more than any number below. Levels that do not
 * fit (dozens, of thousands of supernodes) are not looked at. */
static void set_open(struct table *t)
{
	uint32_t levels = t->f->levels, bits = 0;

	while (t->k >> bits)
		bits++;
	for (uint32_t o = levels; o--;) {
		uint32_t down = (o + 1) * bits;

		t->open[o] = t->open[o + 1];
		if (down < 127)
			t->open[o] += (pl_cost)1 << (126 - down);
		else
			t->p->exact = false;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct pl_pick *x = a, *y = b;

	return x->s < y->s ? -1 : x->s > y->s;
}

/* -ENOSPC there is none, -E2BIG the table is too large. */
int pl_steps(struct pl *p, struct pl_forest *f, uint32_t k, uint64_t slack,
	     struct pl_choice *ret)
{
	struct table t = {
		.p = p, .f = f, .k = k, .nodes = p->req->exact_nodes,
		.o = f->levels,
	};
	struct cost want;
	uint64_t steps;
	size_t rows;
	int rc = -ENOMEM;

	t.low = pl_alloc(f->n + 1, sizeof(*t.low));
	t.high = pl_alloc(f->n + 1, sizeof(*t.high));
	t.open = pl_alloc(f->levels + 1, sizeof(*t.open));
	if (!t.low || !t.high || !t.open)
		goto out;
	rc = -ENOSPC;
	if (!find_ranges(&t))
		goto out;
	rc = -E2BIG;
	steps = slack > UINT32_MAX ? UINT64_MAX : count_steps(&t, slack);
	if (steps > SN_PLACE_EXACT_WORK)
		goto out;
	t.width = (uint32_t)slack;
	t.size = at(&t, k, t.width, t.nodes, t.o) + 1;
	while ((uint64_t)t.stride * t.stride < f->n)
		t.stride++;
	t.stride = t.stride ? t.stride : 1;
	t.n_kept = f->n / t.stride + 1;
	rows = t.n_kept + t.stride;
	if (rows * (pl_cost)t.size * sizeof(*t.row) > 4 * (pl_cost)PL_LOCAL_BYTES)
		goto out;
	rc = -ENOMEM;
	t.row = malloc(rows * t.size * sizeof(*t.row));
	if (!t.row)
		goto out;
	set_open(&t);
	want = solve(&t);
	p->work += steps;
	rc = -ENOSPC;
	if (want.fab < PL_INF)
		rc = pick(&t, &want, steps, ret);
	if (!rc)
		qsort(ret->pick, ret->n, sizeof(*ret->pick), by_number);
out:
	free(t.low);
	free(t.high);
	free(t.open);
	free(t.row);
	return rc;
}
