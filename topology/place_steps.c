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
 * A cost is one number: distinct fabrics level by level, then points 4 to 6.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct table {
	struct pl *p;
	struct pl_forest *f;
	uint32_t k, width, nodes, o; /* of t, loss, nodes, o: values - 1 */
	uint32_t *low, *high; /* [n + 1] of t */
	pl_cost *open; /* see pl_forest_costs() */
	size_t size;
	pl_cost *row; /* kept rows: see row_of() */
	uint32_t stride; /* every stride-th row is kept, and one stretch */
	uint32_t n_kept;
	uint32_t stretch; /* which one */
	/* Of one leaf: what using it costs, by gap (atoms less than it could
	 * host) and nodes; and a scratch of [width + 1][nodes + 1]. */
	pl_cost *use, *best_use;
	uint32_t gaps, most; /* greatest values */
	bool uniform;
};

static size_t at(const struct table *t, uint32_t k, uint32_t loss, uint32_t q,
		 uint32_t o)
{
	return (((size_t)o * (t->k + 1) + k) * (t->width + 1) + loss) *
	       (t->nodes + 1) + q;
}

/* Rows 0, stride, 2 stride, … are kept for good, those between only for one
 * stretch: memory of the square root of the rows. The last row is n. */
static pl_cost *row_of(const struct table *t, uint32_t i)
{
	if (i % t->stride == 0)
		return t->row + (size_t)(i / t->stride) * t->size;
	return t->row + (size_t)(t->n_kept + i % t->stride) * t->size;
}

static bool in_range(const struct table *t, uint32_t i, uint32_t k)
{
	return k >= t->low[i] && k <= t->high[i];
}

static uint32_t most_nodes(const struct table *t, uint32_t i)
{
	const struct pl_supernode *sn = &t->p->sn[t->f->leaf[i].s];

	return t->nodes && pl_has_costs(sn) ? sn->profile->q : 0;
}

static uint32_t most_gaps(const struct pl_leaf *leaf, uint64_t width)
{
	uint32_t gaps = leaf->cap - leaf->min;

	return gaps < width ? gaps : (uint32_t)width;
}

static void set_use(struct table *t, uint32_t i)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	pl_cost left = pl_left_cost(t->p, leaf->s);
	pl_cost *to = t->use;

	t->gaps = most_gaps(leaf, t->width);
	t->most = most_nodes(t, i);
	for (uint32_t gap = 0; gap <= t->gaps; gap++)
		for (uint32_t q = 0; q <= t->most; q++, to++) {
			*to = PL_INF;
			if (t->uniform)
				*to = 0;
			else if (!q == !t->nodes)
				*to = pl_cost_of(t->p, leaf->s,
						 leaf->cap - gap, q);
			if (*to < PL_INF)
				*to += left;
		}
}

/* The best that using leaf i leads to, with k to come from it on; what opening
 * its fabrics costs not counted. */
static void set_best_use(const struct table *t, uint32_t i, uint32_t k)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	bool can = k && !leaf->never && in_range(t, i + 1, k - 1);
	pl_cost *out = t->best_use;

	for (uint32_t loss = 0; loss <= t->width; loss++) {
		uint32_t most = loss - leaf->use_loss;
		const pl_cost *from;

		for (uint32_t q = 0; q <= t->nodes; q++)
			out[q] = PL_INF;
		if (can && loss >= leaf->use_loss) {
			from = row_of(t, i + 1) + at(t, k - 1, 0, 0,
						     leaf->share);
			for (uint32_t gap = 0; gap <= t->gaps && gap <= most;
			     gap++) {
				const pl_cost *use =
					t->use + (size_t)gap * (t->most + 1);
				const pl_cost *rest = from +
					(size_t)(most - gap) * (t->nodes + 1);

				for (uint32_t q = 0; q <= t->nodes; q++)
					for (uint32_t y = 0;
					     y <= t->most && y <= q; y++) {
						pl_cost c = rest[q - y] + use[y];

						if (use[y] < PL_INF &&
						    c < out[q])
							out[q] = c;
					}
			}
		}
		out += t->nodes + 1;
	}
}

static void fill_row(struct table *t, uint32_t i)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	uint32_t top = i ? t->f->leaf[i - 1].share : 0;
	size_t n = (size_t)(t->width + 1) * (t->nodes + 1);
	size_t skip = (size_t)leaf->skip_loss * (t->nodes + 1);

	set_use(t, i);
	for (uint32_t k = t->low[i]; k <= t->high[i]; k++) {
		bool can = !leaf->must && in_range(t, i + 1, k);

		set_best_use(t, i, k);
		for (uint32_t o = 0; o <= top; o++) {
			uint32_t then = o < leaf->share ? o : leaf->share;
			pl_cost *out = row_of(t, i) + at(t, k, 0, 0, o);
			const pl_cost *next =
				row_of(t, i + 1) + at(t, k, 0, 0, then);

			for (size_t s = 0; s < n; s++) {
				pl_cost c = t->best_use[s] + t->open[o];

				if (c > PL_INF)
					c = PL_INF;
				if (can && s >= skip && next[s - skip] < c)
					c = next[s - skip];
				out[s] = c;
			}
		}
	}
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
	pl_cost *end = row_of(t, t->f->n);

	for (size_t s = 0; s < t->size; s++)
		end[s] = PL_INF;
	end[at(t, 0, 0, 0, 0)] = 0;
}

/* Fill all rows; the stretch kept at the end is the first. */
static pl_cost solve(struct table *t)
{
	if (!find_ranges(t))
		return PL_INF;
	fill_end(t);
	for (uint32_t i = t->f->n; i--;)
		fill_row(t, i);
	t->stretch = 0;
	return row_of(t, 0)[at(t, t->k, t->width, t->nodes, 0)];
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

/* Where the cheapest ways from one state lead that use leaf i. */
static bool step_use(const struct table *t, uint32_t i, uint32_t k,
		     uint32_t loss, uint32_t q, uint32_t o, bool *then)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	const pl_cost *next = row_of(t, i + 1), *use = t->use;
	pl_cost want = row_of(t, i)[at(t, k, loss, q, o)];
	uint32_t left;
	bool any = false;

	if (!k || leaf->never || loss < leaf->use_loss ||
	    !in_range(t, i + 1, k - 1))
		return false;
	left = loss - leaf->use_loss;
	for (uint32_t gap = 0; gap <= t->gaps && gap <= left; gap++)
		for (uint32_t y = 0; y <= t->most; y++, use++) {
			pl_cost c;

			if (y > q || *use >= PL_INF)
				continue;
			c = next[at(t, k - 1, left - gap, q - y, leaf->share)];
			if (c >= PL_INF || c + *use + t->open[o] != want)
				continue;
			then[(size_t)(left - gap) * (t->nodes + 1) + q - y] =
				true;
			any = true;
		}
	return any;
}

static bool step_skip(const struct table *t, uint32_t i, uint32_t k,
		      uint32_t loss, uint32_t q, uint32_t o, bool *then)
{
	const struct pl_leaf *leaf = &t->f->leaf[i];
	pl_cost want = row_of(t, i)[at(t, k, loss, q, o)], c;

	if (leaf->must || loss < leaf->skip_loss || !in_range(t, i + 1, k))
		return false;
	loss -= leaf->skip_loss;
	c = row_of(t, i + 1)[at(t, k, loss, q,
				o < leaf->share ? o : leaf->share)];
	if (c != want)
		return false;
	then[(size_t)loss * (t->nodes + 1) + q] = true;
	return true;
}

/* All states of a row that are marked have the same k and o, as they have the
 * same list so far; marks are by loss and nodes. */
static bool step(const struct table *t, uint32_t i, bool using, uint32_t k,
		 uint32_t o, const bool *now, bool *then)
{
	size_t n = (size_t)(t->width + 1) * (t->nodes + 1);
	bool any = false;

	memset(then, 0, n * sizeof(*then));
	for (size_t s = 0; s < n; s++) {
		uint32_t loss = (uint32_t)(s / (t->nodes + 1));
		uint32_t q = (uint32_t)(s % (t->nodes + 1));

		if (now[s] && (using ? step_use(t, i, k, loss, q, o, then) :
				       step_skip(t, i, k, loss, q, o, then)))
			any = true;
	}
	return any;
}

/* The smallest list of leaves, depth first, of the solved table. */
static int walk(struct table *t, bool *used)
{
	size_t n = (size_t)(t->width + 1) * (t->nodes + 1);
	bool *mark = pl_alloc(2 * n, sizeof(*mark));
	bool *now = mark, *then = mark + n;
	uint32_t k = t->k, o = 0;

	if (!mark)
		return -ENOMEM;
	now[n - 1] = true;
	for (uint32_t i = 0; i < t->f->n; i++) {
		uint32_t share = t->f->leaf[i].share;
		bool *old = now;

		fetch_stretch(t, i);
		set_use(t, i);
		used[i] = step(t, i, true, k, o, now, then);
		if (!used[i])
			step(t, i, false, k, o, now, then);
		k -= used[i];
		o = used[i] || o > share ? share : o;
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
static int by_turns(struct table *t, pl_cost want, bool *used)
{
	uint32_t n = t->f->n, *turn = pl_alloc(n, sizeof(*turn));

	if (!turn)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		turn[i] = i;
	qsort_r(turn, n, sizeof(*turn), by_supernode, t->f->leaf);
	for (uint32_t i = 0; i < n; i++) {
		struct pl_leaf *leaf = &t->f->leaf[turn[i]];

		if (!leaf->must && !leaf->never) {
			leaf->must = true;
			leaf->must = solve(t) == want;
			leaf->never = !leaf->must;
		}
		used[turn[i]] = leaf->must;
	}
	free(turn);
	return 0;
}

static int pick(struct table *t, pl_cost want, uint64_t steps,
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

/* Elementary steps of a solution; UINT64_MAX: too many by far. */
static uint64_t count_steps(const struct table *t, uint64_t slack)
{
	const struct pl_forest *f = t->f;
	uint64_t sum = 0;

	if (slack > SN_PLACE_EXACT_WORK)
		return UINT64_MAX;
	for (uint32_t i = 0; i < f->n; i++) {
		uint64_t gaps = most_gaps(&f->leaf[i], slack);
		uint64_t states = (uint64_t)(t->high[i] - t->low[i] + 1);
		uint64_t q = most_nodes(t, i);

		states *= (slack + 1) * (t->nodes + 1);
		if (states > UINT32_MAX)
			return UINT64_MAX;
		/* A gap is half out of reach of the losses, on average. */
		sum += states * ((gaps + 1) * (q ? q : 1) / 2 + 1 +
				 (i ? f->leaf[i - 1].share : 0));
	}
	return sum;
}

static int alloc_rows(struct table *t)
{
	uint32_t n = t->f->n, most = 0, nodes = 0;
	size_t rows;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t gaps = most_gaps(&t->f->leaf[i], t->width);

		if (gaps > most)
			most = gaps;
		if (most_nodes(t, i) > nodes)
			nodes = most_nodes(t, i);
	}
	t->size = at(t, t->k, t->width, t->nodes, t->o) + 1;
	t->stride = 1;
	while ((uint64_t)t->stride * t->stride < n)
		t->stride++;
	t->n_kept = n / t->stride + 1;
	rows = t->n_kept + t->stride;
	if (rows * (pl_cost)t->size * sizeof(*t->row) > PL_LOCAL_BYTES)
		return -E2BIG;
	t->row = malloc(rows * t->size * sizeof(*t->row));
	t->use = pl_alloc((size_t)(most + 1) * (nodes + 1), sizeof(*t->use));
	t->best_use = pl_alloc((size_t)(t->width + 1) * (t->nodes + 1),
			       sizeof(*t->best_use));
	return t->row && t->use && t->best_use ? 0 : -ENOMEM;
}

/* A number must hold the fabrics above all else. */
static bool costs_fit(const struct table *t)
{
	unsigned bits = 0;

	while (t->k >> bits)
		bits++;
	return t->p->cost_bits + (uint64_t)bits * t->f->levels <= 126;
}

int pl_steps(struct pl *p, struct pl_forest *f, uint32_t k, uint64_t slack,
	     bool uniform, struct pl_choice *ret)
{
	struct table t = {
		.p = p, .f = f, .k = k, .nodes = uniform ? 0 : p->bound,
		.o = f->levels, .uniform = uniform,
	};
	pl_cost want;
	uint64_t steps;
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
	steps = count_steps(&t, slack);
	if (steps > SN_PLACE_EXACT_WORK || !costs_fit(&t))
		goto out;
	t.width = (uint32_t)slack;
	rc = alloc_rows(&t);
	if (rc)
		goto out;
	pl_forest_costs(p, f, k, 126, t.open);
	want = solve(&t);
	p->work += steps;
	rc = want < PL_INF ? pick(&t, want, steps, ret) : -ENOSPC;
	if (!rc)
		pl_sort_picks(ret);
out:
	free(t.low);
	free(t.high);
	free(t.open);
	free(t.row);
	free(t.use);
	free(t.best_use);
	return rc;
}
