/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_bound.c - an exact number of nodes, N, where tables are too large.
 *
 * Whatever k supernodes run A atoms on N nodes satisfies bounds, each of which
 * is a sum over them: their atoms are A at least, their nodes N, and, for each
 * x, as a node of c blocks holds at most x + max(c - x, 0), the sum of
 * max(c - x, 0) over their nodes is at least the blocks less N·x. So the fewest
 * supernodes that satisfy each bound for itself is no more than is needed, and
 * the narrowest ones that satisfy one bound are the narrowest of all if they
 * satisfy the others. Where those do not, wider ones are looked at, then the
 * same by a mixture of two bounds of which the best k do, then any k between two
 * mixtures, then more supernodes; 2 and 3 may not be the best then.
 *
 * pl_spread() decides whether chosen ones can, and how.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

#define MIX_BITS 18
#define MIX_PARTS 1024
#define TRIES 12 /* numbers of supernodes */
#define SPREADS 16 /* tries to share out, for one number of supernodes */

struct limit {
	uint64_t need;
	uint32_t *has; /* by leaf */
	uint32_t fewest; /* supernodes */
	bool met; /* by the best for bound.first */
};

struct bound {
	struct pl *p;
	struct pl_leaf *leaf; /* in topology order */
	uint32_t n, n_forced;
	struct limit *limit;
	uint32_t n_limits;
	struct limit mix;
	struct pl_span *span; /* by leaf, by need */
	struct pl_place *place;
	uint32_t *order;
	uint32_t *chosen; /* leaves */
	uint32_t *set; /* leaves */
	uint8_t *mark; /* by leaf */
	const struct limit *first; /* the one that needs most supernodes */
	const struct limit *by; /* what order[] is sorted by */
	uint32_t spreads;
};

static int by_worth(const void *a, const void *b, void *arg)
{
	const struct bound *w = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint32_t x = w->by->has[i], y = w->by->has[j];

	if (w->leaf[i].must != w->leaf[j].must)
		return w->leaf[i].must ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* As many of the best as meet the limit; 0: all together do not. */
static uint32_t sort_by(struct bound *w, const struct limit *l)
{
	uint64_t sum = 0;
	uint32_t k = 0;

	for (uint32_t i = 0; i < w->n; i++)
		w->order[i] = i;
	w->by = l;
	qsort_r(w->order, w->n, sizeof(*w->order), by_worth, w);
	while (k < w->n && (k < w->n_forced || sum < l->need))
		sum += l->has[w->order[k++]];
	return sum < l->need ? 0 : k;
}

static uint32_t room_over(const struct pl_supernode *sn, uint32_t x)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < sn->n_items; i++)
		if (sn->item[i].cap > x)
			sum += sn->item[i].cap - x;
	return sum;
}

static uint32_t most_nodes(const struct pl *p, const struct pl_supernode *sn)
{
	uint64_t n = sn->n_items - p->req->spares;

	if (n > sn->q_max)
		n = sn->q_max;
	if (n > (uint64_t)sn->cap * p->per_atom)
		n = (uint64_t)sn->cap * p->per_atom;
	return (uint32_t)n;
}

/* x: see above; of limit 0 and 1 the numbers of atoms and nodes. */
static int add_limit(struct bound *w, uint32_t x)
{
	const struct pl *p = w->p;
	uint64_t blocks = (uint64_t)p->atoms * p->per_atom;
	struct limit *l = &w->limit[w->n_limits];

	if (!w->n_limits)
		l->need = p->atoms;
	else if (w->n_limits == 1)
		l->need = p->bound;
	else if (blocks > (uint64_t)p->bound * x)
		l->need = blocks - (uint64_t)p->bound * x;
	else
		return 0;
	l->has = pl_alloc(w->n, sizeof(*l->has));
	if (!l->has)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct pl_supernode *sn = &p->sn[w->leaf[i].s];

		l->has[i] = !w->n_limits ? sn->cap :
			    w->n_limits == 1 ? most_nodes(p, sn) :
					       room_over(sn, x);
	}
	w->n_limits++;
	l->fewest = sort_by(w, l);
	return l->fewest ? 0 : -ENOSPC;
}

static int find_limits(struct bound *w)
{
	uint32_t most = 0, here;
	uint64_t musts = 0;
	int rc;

	for (uint32_t i = 0; i < w->n; i++) {
		musts += w->p->sn[w->leaf[i].s].n_must;
		here = pl_largest(&w->p->sn[w->leaf[i].s]);
		if (here > most)
			most = here;
	}
	if (musts > w->p->bound)
		return -ENOSPC;
	rc = add_limit(w, 0);
	if (!rc)
		rc = add_limit(w, 0);
	for (uint32_t x = 1; x <= most && !rc; x++)
		rc = add_limit(w, x);
	return rc;
}

/* Share atoms and nodes out over the chosen ones. */
static int spread(struct bound *w, struct pl_choice *c)
{
	uint64_t cap = 0;
	int rc = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		struct pl_span *span = &w->span[w->chosen[i]];

		if (!span->lo)
			rc = pl_span(w->p, c->pick[i].s, span);
		if (rc)
			return rc;
		if (!span->cap)
			return -ENOSPC;
		w->place[i] = (struct pl_place){
			.lo = span->lo, .hi = span->hi,
			.min = span->min, .cap = span->cap,
		};
		cap += span->cap;
	}
	if (cap < w->p->atoms)
		return -ENOSPC;
	rc = pl_spread(w->place, c->n, w->p->atoms, w->p->bound);
	for (uint32_t i = 0; i < c->n && !rc; i++) {
		c->pick[i].atoms = w->place[i].got;
		c->pick[i].nodes = w->place[i].nodes;
	}
	return rc;
}

/* The share of what a limit needs that k leaves have. */
static double share_of(const struct limit *l, const uint32_t *leaf, uint32_t k)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < k; i++)
		sum += l->has[leaf[i]];
	return (double)sum / (double)l->need;
}

/* The limit that they miss by most; NULL: they meet all. Sums are small enough
 * to be exact. */
static struct limit *worst(const struct bound *w, const uint32_t *leaf,
			   uint32_t k)
{
	struct limit *ret = NULL;
	double least = 1, x;

	for (uint32_t j = 0; j < w->n_limits; j++) {
		x = share_of(&w->limit[j], leaf, k);
		if (x >= least)
			continue;
		least = x;
		ret = &w->limit[j];
	}
	return ret;
}

static int fits(void *arg, struct pl_choice *c)
{
	struct bound *w = arg;

	for (uint32_t i = 0; i < c->n; i++)
		w->chosen[i] = w->p->sn[c->pick[i].s].leaf;
	if (worst(w, w->chosen, c->n) || w->spreads == SPREADS)
		return -ENOSPC;
	w->spreads++;
	return spread(w, c);
}

/* The narrowest k of those that meet a limit that fit. */
static int choose_by(struct bound *w, const struct limit *l, uint32_t k,
		     struct pl_choice *ret)
{
	struct pl_forest f = { 0 };
	uint64_t sum = 0, slack;
	uint32_t edge = 0; /* the least of the k best */
	int rc = -ENOMEM;

	sort_by(w, l);
	for (uint32_t i = 0; i < k; i++) {
		edge = l->has[w->order[i]];
		sum += edge;
	}
	if (sum < l->need)
		return -ENOSPC;
	slack = sum - l->need;
	for (uint32_t i = 0; i < w->n; i++) {
		struct pl_leaf *leaf = &w->leaf[w->order[i]];

		leaf->cap = l->has[w->order[i]];
		leaf->must = i < w->n_forced;
		leaf->use_loss = leaf->skip_loss = 0;
		leaf->never = false;
		if (leaf->must)
			continue;
		if (i >= k) {
			leaf->use_loss = edge - leaf->cap;
			leaf->never = k == w->n_forced ||
				      leaf->use_loss > slack;
		} else {
			leaf->skip_loss = leaf->cap - edge;
			leaf->must = leaf->skip_loss > slack;
		}
	}
	f.leaf = pl_alloc(w->n, sizeof(*f.leaf));
	if (!f.leaf)
		return rc;
	for (uint32_t i = 0; i < w->n; i++)
		if (!w->leaf[i].never)
			f.leaf[f.n++] = w->leaf[i];
	rc = pl_forest_build(&f, w->p->topo);
	if (!rc)
		rc = pl_tree(w->p, &f, k, slack, fits, w, ret);
	pl_forest_done(&f);
	for (uint32_t i = 0; i < w->n; i++)
		w->leaf[i].must = w->p->sn[w->leaf[i].s].forced;
	return rc;
}

/* Of a and b, so many of MIX_PARTS of a; each as a share of what is needed,
 * which rounding makes no harder to meet. */
static void mix(struct bound *w, const struct limit *a, const struct limit *b,
		uint32_t part)
{
	uint64_t x = (uint64_t)part << MIX_BITS;
	uint64_t y = (uint64_t)(MIX_PARTS - part) << MIX_BITS;

	w->mix.need = (uint64_t)MIX_PARTS << MIX_BITS;
	for (uint32_t i = 0; i < w->n; i++) {
		pl_cost u = (pl_cost)a->has[i] * x / a->need;
		pl_cost v = (pl_cost)b->has[i] * y / b->need;

		w->mix.has[i] = (uint32_t)((u < x ? u : x) + (v < y ? v : y));
	}
}

/* Between the k best by one mixture and those by the next, as many of equals
 * of each kind as meet all limits, in set[]. */
static bool blend(struct bound *w, const struct limit *first,
		  const struct limit *other, uint32_t part, uint32_t k)
{
	uint32_t *from = w->chosen, low = 0, high = 0, n = 0, mid;
	const struct limit *miss;

	mix(w, first, other, part + 1);
	sort_by(w, &w->mix);
	for (uint32_t i = 0; i < w->n; i++)
		w->mark[i] = 0;
	for (uint32_t i = 0; i < k; i++)
		w->mark[w->order[i]] = 1;
	mix(w, first, other, part);
	sort_by(w, &w->mix);
	for (uint32_t i = 0; i < k; i++)
		w->mark[w->order[i]] |= 2;
	/* Those of both, those of the first only, and in order[] of the other. */
	for (uint32_t i = 0; i < w->n; i++)
		if (w->mark[i] == 3)
			from[n++] = i;
	for (uint32_t i = 0, j = n; i < w->n; i++) {
		if (w->mark[i] == 1)
			from[j++] = i;
		else if (w->mark[i] == 2)
			w->order[high++] = i;
	}
	high++;
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		memcpy(w->set, from, k * sizeof(*from));
		memcpy(w->set + n, w->order, mid * sizeof(*from));
		miss = worst(w, w->set, k);
		if (!miss)
			return true;
		if (miss->met)
			high = mid;
		else
			low = mid;
	}
	return false;
}

enum how { NONE, BY_FIRST, BY_MIX, BY_SET };

/* Whether, and by what, k of the best meet all limits. */
static enum how probe(struct bound *w, uint32_t k)
{
	uint32_t low = 0, high = MIX_PARTS;
	const struct limit *first = w->first, *other;

	sort_by(w, first);
	for (uint32_t j = 0; j < w->n_limits; j++)
		w->limit[j].met = share_of(&w->limit[j], w->order, k) >= 1;
	other = worst(w, w->order, k);
	if (!other)
		return BY_FIRST;
	if (!first->met)
		return NONE;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		const struct limit *miss;

		mix(w, first, other, mid);
		sort_by(w, &w->mix);
		miss = worst(w, w->order, k);
		if (!miss)
			return BY_MIX;
		if (miss->met)
			low = mid;
		else
			high = mid;
	}
	return blend(w, first, other, low, k) ? BY_SET : NONE;
}

static int try_k(struct bound *w, uint32_t k, struct pl_choice *ret)
{
	enum how how = probe(w, k);
	int rc;

	if (how == NONE)
		return -ENOSPC;
	w->spreads = 0;
	ret->n = k;
	if (how == BY_SET) {
		for (uint32_t i = 0; i < k; i++)
			ret->pick[i].s = w->leaf[w->set[i]].s;
		pl_sort_picks(ret);
		return fits(w, ret);
	}
	rc = choose_by(w, w->first, k, ret);
	if (rc == -ENOSPC && how == BY_MIX) {
		w->spreads = 0;
		rc = choose_by(w, &w->mix, k, ret);
	}
	return rc;
}

/* The fewest, not under k and up to most, that probe() says may do. */
static uint32_t next_k(struct bound *w, uint32_t k, uint32_t most)
{
	uint32_t low = k, high = k, step = 1;

	if (probe(w, k) != NONE)
		return k;
	do {
		if (high == most)
			return most + 1;
		low = high;
		high = most - high < step ? most : high + step;
		step *= 2;
	} while (probe(w, high) == NONE);
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (probe(w, mid) == NONE)
			low = mid;
		else
			high = mid;
	}
	return high;
}

static int init(struct bound *w)
{
	struct pl *p = w->p;
	uint32_t n = p->topo->n_supernodes;

	w->leaf = pl_alloc(n, sizeof(*w->leaf));
	w->limit = pl_alloc(SN_CARDS_MAX + 2, sizeof(*w->limit));
	w->mix.has = pl_alloc(n, sizeof(*w->mix.has));
	w->span = pl_alloc(n, sizeof(*w->span));
	w->place = pl_alloc(n, sizeof(*w->place));
	w->order = pl_alloc(n, sizeof(*w->order));
	w->chosen = pl_alloc(n, sizeof(*w->chosen));
	w->set = pl_alloc(n, sizeof(*w->set));
	w->mark = pl_alloc(n, sizeof(*w->mark));
	if (!w->leaf || !w->limit || !w->mix.has || !w->span || !w->place ||
	    !w->order || !w->chosen || !w->set || !w->mark)
		return -ENOMEM;
	for (uint32_t s = 0; s < n; s++) {
		struct pl_supernode *sn = &p->sn[s];

		if (sn->forced && !sn->cap)
			return -ENOSPC;
		if (!sn->cap)
			continue;
		sn->leaf = w->n;
		w->leaf[w->n++] = (struct pl_leaf){ .s = s, .must = sn->forced };
		w->n_forced += sn->forced;
	}
	return w->n ? 0 : -ENOSPC;
}

static void done(struct bound *w)
{
	for (uint32_t j = 0; w->limit && j < w->n_limits; j++)
		free(w->limit[j].has);
	for (uint32_t i = 0; w->span && i < w->n; i++)
		pl_span_done(&w->span[i]);
	free(w->leaf);
	free(w->limit);
	free(w->mix.has);
	free(w->span);
	free(w->place);
	free(w->order);
	free(w->chosen);
	free(w->set);
	free(w->mark);
}

int pl_bound(struct pl *p, struct pl_choice *ret)
{
	struct bound w = { .p = p };
	uint32_t k, most;
	int rc;

	ret->pick = pl_alloc(p->topo->n_supernodes, sizeof(*ret->pick));
	rc = ret->pick ? init(&w) : -ENOMEM;
	/* What misses a limit cannot be, and no search is needed to say so. */
	if (!rc)
		rc = find_limits(&w);
	if (rc)
		goto out;
	p->exact = false;
	w.first = w.limit;
	for (uint32_t j = 1; j < w.n_limits; j++)
		if (w.limit[j].fewest > w.first->fewest)
			w.first = &w.limit[j];
	k = w.first->fewest;
	most = w.n < p->atoms ? w.n : p->atoms;
	if (most > p->bound)
		most = p->bound;
	rc = -ENOSPC;
	for (uint32_t i = 0; k <= most && i < TRIES && rc == -ENOSPC; i++) {
		k = next_k(&w, k, most);
		if (k <= most)
			rc = try_k(&w, k, ret);
		k += i < TRIES / 2 || k == most ? 1 : (most - k + 3) / 4;
	}
out:
	done(&w);
	return rc;
}
