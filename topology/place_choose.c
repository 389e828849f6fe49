/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_choose.c - how many supernodes, and which.
 *
 * The fewest supernodes k follow from sums of the largest. Which ones is a
 * table (place_steps.c) where that is small enough, else place_tree.c, or with an
 * exact number of nodes place_bound.c.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

static int by_cap(const void *a, const void *b, void *arg)
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

struct ranking {
	uint32_t *order; /* leaves: forced ones, then by falling cap */
	uint32_t n, n_forced;
	uint64_t min; /* atoms that the forced ones host at least */
};

static int rank_leaves(const struct pl_forest *f, struct ranking *ret)
{
	*ret = (struct ranking){ .n = f->n };
	ret->order = pl_alloc(f->n, sizeof(*ret->order));
	if (!ret->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n; i++) {
		ret->order[i] = i;
		ret->n_forced += f->leaf[i].must;
		if (f->leaf[i].must)
			ret->min += f->leaf[i].min;
	}
	qsort_r(ret->order, f->n, sizeof(*ret->order), by_cap, f->leaf);
	return 0;
}

/* The fewest supernodes that hold the atoms; 0: all together do not. */
static uint32_t fewest(const struct pl *p, const struct pl_forest *f,
		       const struct ranking *r)
{
	uint64_t sum = 0;
	uint32_t k = 0;

	while (k < r->n && (k < r->n_forced || sum < p->atoms))
		sum += f->leaf[r->order[k++]].cap;
	return sum < p->atoms || r->min > p->atoms ? 0 : k;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x > y ? -1 : x < y;
}

/* Not fewer than k that have as many nodes as are asked for. UINT32_MAX: all
 * together do not; 0: out of memory. */
static uint32_t fewest_by_nodes(const struct pl *p, uint32_t k)
{
	uint32_t n = p->topo->n_supernodes, *nodes = pl_alloc(n, sizeof(*nodes));
	uint32_t ret = UINT32_MAX;
	uint64_t sum = 0;

	if (!nodes)
		return 0;
	for (uint32_t s = 0; s < n; s++)
		if (p->sn[s].cap)
			nodes[s] = p->sn[s].n_items < p->sn[s].q_max ?
				   p->sn[s].n_items : p->sn[s].q_max;
	qsort(nodes, n, sizeof(*nodes), by_number);
	for (uint32_t i = 0; i < n && ret == UINT32_MAX; i++) {
		sum += nodes[i];
		if (sum >= p->bound)
			ret = i + 1 > k ? i + 1 : k;
	}
	free(nodes);
	return ret;
}

/* Keep the leaves that a choice of k can use, with what they lose. */
static uint64_t set_losses(const struct pl *p, struct pl_forest *f,
			   const struct ranking *r, uint32_t k)
{
	uint32_t edge = 0; /* cap of the smallest that is not forced */
	uint64_t sum = 0, slack;

	for (uint32_t i = 0; i < k; i++) {
		edge = f->leaf[r->order[i]].cap;
		sum += edge;
	}
	slack = sum - p->atoms;
	for (uint32_t i = 0; i < r->n; i++) {
		struct pl_leaf *leaf = &f->leaf[r->order[i]];

		leaf->use_loss = leaf->skip_loss = 0;
		leaf->must = p->sn[leaf->s].forced;
		leaf->never = false;
		if (leaf->must)
			continue;
		if (i >= k) {
			leaf->use_loss = edge - leaf->cap;
			leaf->never = k == r->n_forced ||
				      leaf->use_loss > slack;
		} else {
			leaf->skip_loss = leaf->cap - edge;
			leaf->must = leaf->skip_loss > slack;
		}
	}
	return slack;
}

/* The leaves that are in question, and their profiles (ret_all: with costs). */
static int sift(struct pl *p, const struct pl_forest *all,
		struct pl_forest *ret, bool *ret_all)
{
	uint32_t *s = pl_alloc(all->n, sizeof(*s));
	int rc = -ENOMEM;

	*ret = (struct pl_forest){ 0 };
	ret->leaf = pl_alloc(all->n, sizeof(*ret->leaf));
	if (s && ret->leaf) {
		for (uint32_t i = 0; i < p->topo->n_supernodes; i++)
			if (p->sn[i].cap && !all->leaf[p->sn[i].leaf].never) {
				s[ret->n] = i;
				ret->leaf[ret->n++] = all->leaf[p->sn[i].leaf];
			}
		rc = pl_local_profiles(p, s, ret->n, ret_all);
	}
	free(s);
	return rc ? rc : pl_forest_build(ret, p->topo);
}

/* All in question host the same at the same cost: then it makes no difference
 * to how atoms and nodes are split which of them are used. */
static bool is_uniform(const struct pl *p, const struct pl_forest *f)
{
	const struct pl_leaf *a = f->leaf;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct pl_leaf *b = &f->leaf[i];

		if (a->cap != b->cap || a->min != b->min ||
		    p->sn[a->s].large || p->sn[b->s].large ||
		    p->sn[a->s].profile != p->sn[b->s].profile)
			return false;
	}
	return true;
}

static int choose_k(struct pl *p, struct pl_forest *all,
		    const struct ranking *r, uint32_t k, struct pl_choice *ret)
{
	uint64_t slack = set_losses(p, all, r, k);
	struct pl_forest f;
	bool uniform, known;
	int rc;

	ret->n = k;
	rc = sift(p, all, &f, &known);
	uniform = !rc && is_uniform(p, &f);
	if (uniform)
		slack = 0;
	if (!rc && !known && !uniform)
		p->exact = false;
	if (!rc)
		rc = p->bound && !known ? -E2BIG :
		     pl_steps(p, &f, k, slack, uniform, ret);
	if (rc == -E2BIG && !p->bound) {
		p->exact = false;
		rc = pl_tree(p, &f, k, slack, NULL, NULL, ret);
	}
	pl_forest_done(&f);
	return rc ? rc : pl_split(p, ret);
}

int pl_choose(struct pl *p, struct pl_choice *ret)
{
	struct pl_forest all = { 0 };
	struct ranking r = { 0 };
	uint32_t n = p->topo->n_supernodes, k, most;
	int rc = -ENOMEM;

	all.leaf = pl_alloc(n, sizeof(*all.leaf));
	ret->pick = pl_alloc(n, sizeof(*ret->pick));
	if (!all.leaf || !ret->pick)
		goto out;
	for (uint32_t s = 0; s < n; s++) {
		struct pl_supernode *sn = &p->sn[s];

		rc = -ENOSPC;
		if (sn->forced && !sn->cap)
			goto out;
		if (!sn->cap)
			continue;
		sn->leaf = all.n;
		all.leaf[all.n++] = (struct pl_leaf){
			.s = s, .cap = sn->cap, .min = sn->min,
			.must = sn->forced,
		};
	}
	rc = rank_leaves(&all, &r);
	if (rc)
		goto out;
	k = fewest(p, &all, &r);
	/* More than the fewest are looked at only for a number of nodes that
	 * the fewest cannot give. */
	most = p->bound ? all.n : k;
	if (most > p->atoms)
		most = p->atoms;
	if (p->bound && most > p->bound)
		most = p->bound;
	if (k && p->bound) {
		k = fewest_by_nodes(p, k);
		if (!k) {
			rc = -ENOMEM;
			goto out;
		}
	}
	rc = -ENOSPC;
	for (; k && k <= most && rc == -ENOSPC; k++) {
		if (p->bound && p->work > pl_run_work(p))
			rc = -E2BIG;
		else
			rc = choose_k(p, &all, &r, k, ret);
	}
out:
	pl_forest_done(&all);
	free(r.order);
	return rc;
}
