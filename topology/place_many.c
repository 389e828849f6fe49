/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_many.c - which k supernodes, of too many for place_tree.c.
 *
 * Its joins take as many steps as supernodes times k, which is minutes where
 * tens of thousands of them are in question. Here whole fabrics are taken, those
 * that hold most first, as long as the best of the others make up for what that
 * loses: legal, and narrow, but not always the narrowest.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct domain { /* innermost fabric */
	uint32_t first, n; /* leaves */
	uint32_t root; /* its first leaf */
	uint64_t holds, root_holds;
};

struct many {
	const struct pl_forest *f;
	uint32_t k;
	uint64_t slack, lost; /* lost: if none is used */
	struct domain *domain;
	uint32_t n_domains;
	uint32_t *rank; /* leaves, best first */
	bool *used;
};

static int by_worth(const void *a, const void *b, void *arg)
{
	const struct pl_leaf *leaf = arg;
	const struct pl_leaf *x = &leaf[*(const uint32_t *)a];
	const struct pl_leaf *y = &leaf[*(const uint32_t *)b];

	if (x->must != y->must)
		return x->must ? -1 : 1;
	if (x->cap != y->cap)
		return x->cap > y->cap ? -1 : 1;
	return x->s < y->s ? -1 : x->s > y->s;
}

static int by_holds(const void *a, const void *b)
{
	const struct domain *x = a, *y = b;

	if (x->root_holds != y->root_holds)
		return x->root_holds > y->root_holds ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->holds != y->holds)
		return x->holds > y->holds ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static void find_domains(struct many *w)
{
	const struct pl_forest *f = w->f;
	uint32_t share = 0, root = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		struct domain *d;

		if (!i || share < f->levels)
			w->domain[w->n_domains++] =
				(struct domain){ .first = i };
		d = &w->domain[w->n_domains - 1];
		if (!share)
			root = i;
		d->root = root;
		d->n++;
		if (!f->leaf[i].never)
			d->holds += f->leaf[i].cap;
		share = f->leaf[i].share;
	}
	for (uint32_t i = 0, j; i < w->n_domains; i = j) {
		uint64_t sum = 0;

		for (j = i; j < w->n_domains &&
			    w->domain[j].root == w->domain[i].root; j++)
			sum += w->domain[j].holds;
		for (uint32_t d = i; d < j; d++)
			w->domain[d].root_holds = sum;
	}
	qsort(w->domain, w->n_domains, sizeof(*w->domain), by_holds);
}

static void use(struct many *w, uint32_t i, uint32_t *left, uint64_t *lost)
{
	const struct pl_leaf *leaf = &w->f->leaf[i];

	if (!*left || w->used[i] || leaf->never)
		return;
	w->used[i] = true;
	*lost += leaf->use_loss;
	*lost -= leaf->skip_loss;
	--*left;
}

/* The first g domains as a whole, and the best of the others. */
static bool take(struct many *w, uint32_t g)
{
	const struct pl_forest *f = w->f;
	uint64_t lost = w->lost;
	uint32_t left = w->k;

	memset(w->used, 0, f->n * sizeof(*w->used));
	for (uint32_t i = 0; i < f->n && f->leaf[w->rank[i]].must; i++)
		use(w, w->rank[i], &left, &lost);
	for (uint32_t d = 0; d < g; d++)
		for (uint32_t i = 0; i < w->domain[d].n; i++)
			use(w, w->domain[d].first + i, &left, &lost);
	for (uint32_t i = 0; i < f->n; i++)
		use(w, w->rank[i], &left, &lost);
	return !left && lost <= w->slack;
}

static void list(const struct many *w, struct pl_choice *ret)
{
	ret->n = 0;
	for (uint32_t i = 0; i < w->f->n; i++)
		if (w->used[i])
			ret->pick[ret->n++].s = w->f->leaf[i].s;
	pl_sort_picks(ret);
}

static int choose(struct many *w, pl_fits *fits, void *arg,
		  struct pl_choice *ret)
{
	uint32_t low = 0, high = w->n_domains + 1;
	int rc = -ENOSPC;

	/* The best k alone lose nothing. */
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (take(w, mid))
			low = mid;
		else
			high = mid;
	}
	for (;; low /= 2) {
		if (take(w, low)) {
			list(w, ret);
			rc = fits ? fits(arg, ret) : 0;
		}
		if (!low || rc != -ENOSPC)
			return rc;
	}
}

int pl_many(const struct pl_forest *f, uint32_t k, uint64_t slack,
	    pl_fits *fits, void *arg, struct pl_choice *ret)
{
	struct many w = {
		.f = f, .k = k, .slack = slack,
		.domain = pl_alloc(f->n, sizeof(*w.domain)),
		.rank = pl_alloc(f->n, sizeof(*w.rank)),
		.used = pl_alloc(f->n, sizeof(*w.used)),
	};
	int rc = -ENOMEM;

	if (w.domain && w.rank && w.used) {
		for (uint32_t i = 0; i < f->n; i++) {
			w.rank[i] = i;
			w.lost += f->leaf[i].skip_loss;
		}
		qsort_r(w.rank, f->n, sizeof(*w.rank), by_worth, f->leaf);
		find_domains(&w);
		rc = choose(&w, fits, arg, ret);
	}
	free(w.domain);
	free(w.rank);
	free(w.used);
	return rc;
}
