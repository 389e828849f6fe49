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
 * satisfy the others. That is so nearly always, as the bounds agree on which
 * supernodes are good. Where they do not, mixtures of two bounds are tried,
 * then more supernodes; 2 and 3 may not be the best then.
 *
 * pl_spread() decides whether chosen ones can, and how.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

#define MIX_BITS 24
#define MIX_PARTS 16

struct limit {
	uint64_t need;
	uint32_t *has; /* by leaf */
	uint32_t fewest; /* supernodes */
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
	const struct limit *by; /* what order[] is sorted by */
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

/* A required node has to be used, however little it holds. */
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
	int rc;

	for (uint32_t i = 0; i < w->n; i++) {
		here = pl_largest(&w->p->sn[w->leaf[i].s]);
		if (here > most)
			most = here;
	}
	rc = add_limit(w, 0);
	if (!rc)
		rc = add_limit(w, 0);
	for (uint32_t x = 1; x <= most && !rc; x++)
		rc = add_limit(w, x);
	return rc;
}

/* The narrowest k that meet a limit, in ret->pick and chosen[]. */
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
		rc = pl_tree(w->p, &f, k, slack, ret);
	pl_forest_done(&f);
	for (uint32_t i = 0; i < w->n; i++)
		w->leaf[i].must = w->p->sn[w->leaf[i].s].forced;
	for (uint32_t i = 0; i < ret->n && !rc; i++)
		w->chosen[i] = w->p->sn[ret->pick[i].s].leaf;
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

/* The limit that the chosen ones miss by most; NULL: they meet all. */
static struct limit *worst(const struct bound *w, uint32_t k)
{
	struct limit *ret = NULL;
	double least = 1;

	for (uint32_t j = 0; j < w->n_limits; j++) {
		struct limit *l = &w->limit[j];
		uint64_t sum = 0;

		for (uint32_t i = 0; i < k; i++)
			sum += l->has[w->chosen[i]];
		if (sum < l->need && (double)sum / (double)l->need < least) {
			least = (double)sum / (double)l->need;
			ret = l;
		}
	}
	return ret;
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

static int try_by(struct bound *w, const struct limit *l, uint32_t k,
		  struct pl_choice *ret)
{
	int rc = choose_by(w, l, k, ret);

	return rc ? rc : spread(w, ret);
}

static int try_k(struct bound *w, uint32_t k, struct pl_choice *ret)
{
	static const uint32_t parts[] = { 8, 12, 4, 14, 2, 15, 1 };
	struct limit *first = &w->limit[0], *other;
	int rc;

	for (uint32_t j = 1; j < w->n_limits; j++)
		if (w->limit[j].fewest > first->fewest)
			first = &w->limit[j];
	rc = try_by(w, first, k, ret);
	if (rc != -ENOSPC)
		return rc;
	other = worst(w, k);
	if (!other || other == first)
		other = first == w->limit ? &w->limit[1] : w->limit;
	rc = try_by(w, other, k, ret);
	for (uint32_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (rc != -ENOSPC)
			break;
		mix(w, first, other, parts[i]);
		rc = try_by(w, &w->mix, k, ret);
	}
	return rc;
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
	if (!w->leaf || !w->limit || !w->mix.has || !w->span || !w->place ||
	    !w->order || !w->chosen)
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
}

int pl_bound(struct pl *p, struct pl_choice *ret)
{
	struct bound w = { .p = p };
	uint32_t k = w.n_forced, most, step = 1;
	int rc;

	ret->pick = pl_alloc(p->topo->n_supernodes, sizeof(*ret->pick));
	rc = ret->pick ? init(&w) : -ENOMEM;
	/* What misses a limit cannot be, and no search is needed to say so. */
	if (!rc)
		rc = find_limits(&w);
	if (rc)
		goto out;
	p->exact = false;
	for (uint32_t j = 0; j < w.n_limits; j++)
		if (w.limit[j].fewest > k)
			k = w.limit[j].fewest;
	most = w.n < p->atoms ? w.n : p->atoms;
	if (most > p->bound)
		most = p->bound;
	rc = -ENOSPC;
	while (k <= most && rc == -ENOSPC) {
		rc = try_k(&w, k, ret);
		if (k < most && k + step > most)
			k = most;
		else
			k += step;
		step *= 2;
	}
out:
	done(&w);
	return rc;
}
