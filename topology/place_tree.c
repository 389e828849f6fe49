/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_tree.c - which k supernodes, by fabrics alone, at any size.
 *
 * From the innermost fabrics out: for each domain and each number t of its
 * supernodes, the ways worth keeping: less loss (struct pl_leaf) or fewer
 * distinct fabrics. Inside an innermost domain the t largest are best; children
 * of one supernode are one such bag, as each counts as much as any other. So
 * point 3 is exact. Points 4 to 6 decide between ways that are equal in both,
 * by what the supernodes cost when full: exact where there is no slack.
 *
 * As the loss is bound by the slack, few ways survive at each t.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

struct way {
	pl_cost fab, loc;
	uint32_t loss;
	uint32_t left, left_way, right_way; /* where a join has it from */
};

struct list {
	struct way *way; /* loss rises, fab falls */
	uint32_t n, room;
};

/* The ways of a bag of leaves, or of two sets joined, by t. */
struct set {
	struct list *list; /* [most + 1] */
	uint32_t most;
	uint32_t *leaf; /* a bag: best first */
	struct set *a, *b; /* a join: of these */
	struct set *next; /* all sets, to free them */
};

struct tree {
	struct pl *p;
	const struct pl_forest *f;
	uint32_t k, slack;
	pl_cost *open; /* [levels + 1]: all levels from o on, once */
	struct set *sets;
	pl_fits *fits;
	void *arg;
};

static struct set *new_set(struct tree *t, uint32_t most)
{
	struct set *s = pl_alloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->list = pl_alloc((size_t)most + 1, sizeof(*s->list));
	if (!s->list) {
		free(s);
		return NULL;
	}
	s->most = most;
	s->next = t->sets;
	t->sets = s;
	return s;
}

static void free_sets(struct set *s)
{
	struct set *next;

	for (; s; s = next) {
		next = s->next;
		for (uint32_t i = 0; i <= s->most; i++)
			free(s->list[i].way);
		free(s->list);
		free(s->leaf);
		free(s);
	}
}

static bool dominates(const struct way *a, const struct way *b)
{
	if (a->loss > b->loss || a->fab > b->fab)
		return false;
	return a->loss < b->loss || a->fab < b->fab || a->loc <= b->loc;
}

/* Keep a way unless another is as good; drop those that it beats. */
static int add_way(struct list *l, const struct way *w)
{
	uint32_t at = 0, drop, end = l->n;

	while (at < end) {
		uint32_t mid = at + (end - at) / 2;

		if (l->way[mid].loss < w->loss)
			at = mid + 1;
		else
			end = mid;
	}
	if (at && dominates(&l->way[at - 1], w))
		return 0;
	if (at < l->n && dominates(&l->way[at], w))
		return 0;
	for (drop = at; drop < l->n && dominates(w, &l->way[drop]);)
		drop++;
	if (drop == at && l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 1;
		struct way *way = realloc(l->way, room * sizeof(*way));

		if (!way)
			return -ENOMEM;
		l->way = way;
		l->room = room;
	}
	memmove(l->way + at + 1, l->way + drop, (l->n - drop) * sizeof(*w));
	l->way[at] = *w;
	l->n = l->n - (drop - at) + 1;
	return 0;
}

static pl_cost full_cost(const struct pl *p, const struct pl_leaf *leaf)
{
	pl_cost cost = p->bound ? pl_large_cost(p, leaf->s, p->sn[leaf->s].cap) :
				  pl_cost_of(p, leaf->s, leaf->cap, 0);

	return cost + pl_left_cost(p, leaf->s);
}

struct ranked {
	const struct pl_leaf *leaf;
	pl_cost cost;
};

static int by_worth(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->leaf->must != y->leaf->must)
		return x->leaf->must ? -1 : 1;
	if (x->leaf->cap != y->leaf->cap)
		return x->leaf->cap > y->leaf->cap ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->leaf->s < y->leaf->s ? -1 : 1;
}

/*
 * A bag of n leaves (by index in leaf[], which the set takes over). each: what
 * every one costs in fabrics that no other shares.
 */
static int new_bag(struct tree *t, uint32_t *leaf, uint32_t n, pl_cost each,
		   struct set **ret)
{
	const struct pl_leaf *all = t->f->leaf;
	struct ranked *r = pl_alloc(n, sizeof(*r));
	struct set *s = new_set(t, n < t->k ? n : t->k);
	struct way w = { 0 };
	uint64_t loss = 0;
	uint32_t musts = 0;
	int rc = -ENOMEM;

	if (!r || !s) {
		free(leaf);
		free(r);
		return rc;
	}
	s->leaf = leaf;
	for (uint32_t i = 0; i < n; i++) {
		r[i].leaf = &all[leaf[i]];
		r[i].cost = full_cost(t->p, r[i].leaf);
		loss += r[i].leaf->skip_loss;
		musts += r[i].leaf->must;
	}
	qsort(r, n, sizeof(*r), by_worth);
	rc = 0;
	for (uint32_t i = 0; i <= s->most && !rc; i++) {
		if (i) {
			leaf[i - 1] = (uint32_t)(r[i - 1].leaf - all);
			loss += r[i - 1].leaf->use_loss;
			loss -= r[i - 1].leaf->skip_loss;
			w.loc += r[i - 1].cost;
			w.fab += each;
		}
		if (i < musts || loss > t->slack)
			continue;
		w.loss = (uint32_t)loss;
		rc = add_way(&s->list[i], &w);
	}
	free(r);
	*ret = s;
	return rc;
}

static uint64_t count_pairs(const struct tree *t, const struct set *a,
			    const struct set *b)
{
	uint64_t sum = 0, ways = 0;
	uint32_t j = 0;

	/* Of b those that are few enough beside i of a. */
	for (uint32_t i = a->most + 1; i--;) {
		for (; j <= b->most && i + j <= t->k; j++)
			ways += b->list[j].n;
		sum += a->list[i].n * ways;
	}
	return sum;
}

/* Of each list keep the way that loses least, the narrowest, and of those
 * between every other one. */
static void thin(struct set *s)
{
	for (uint32_t i = 0; i <= s->most; i++) {
		struct list *l = &s->list[i];
		uint32_t n = 0;

		for (uint32_t j = 0; j < l->n; j++)
			if (j % 2 == 0 || j + 1 == l->n)
				l->way[n++] = l->way[j];
		l->n = n;
	}
}

static uint32_t longest(const struct set *s)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i <= s->most; i++)
		if (s->list[i].n > most)
			most = s->list[i].n;
	return most;
}

/* Only for sets that no join refers to yet: those number their ways. */
static void limit_work(struct tree *t, struct set *a, struct set *b)
{
	/* Without tables there are several trees, and none is exact. */
	uint64_t most = PL_TREE_WORK / (t->p->greedy ? 2 : 1);
	uint64_t left = t->p->tree_work < most ? most - t->p->tree_work : 0;

	while (count_pairs(t, a, b) > left / 4) {
		uint32_t x = longest(a), y = longest(b);

		if (x <= 2 && y <= 2)
			break;
		t->p->exact = false;
		thin(x > y ? a : b);
	}
}

/* extra: what using any leaf of b costs. */
static int join(struct tree *t, struct set *a, struct set *b, pl_cost extra,
		struct set **ret)
{
	uint32_t most = a->most + b->most < t->k ? a->most + b->most : t->k;
	struct set *s = new_set(t, most);
	int rc = 0;

	if (!s)
		return -ENOMEM;
	limit_work(t, a, b);
	s->a = a;
	s->b = b;
	*ret = s;
	for (uint32_t i = 0; i <= a->most; i++) {
		const struct list *x = &a->list[i];

		if (!x->n)
			continue;
		for (uint32_t j = 0; j <= b->most && i + j <= most; j++) {
			const struct list *y = &b->list[j];

			for (uint32_t n = 0; n < x->n * y->n && !rc; n++) {
				struct way w = {
					.left = i,
					.left_way = n / y->n,
					.right_way = n % y->n,
				};
				const struct way *u = &x->way[w.left_way];
				const struct way *v = &y->way[w.right_way];

				if ((uint64_t)u->loss + v->loss > t->slack)
					continue;
				w.loss = u->loss + v->loss;
				w.fab = u->fab + v->fab + (j ? extra : 0);
				w.loc = u->loc + v->loc;
				t->p->tree_work++;
				rc = add_way(&s->list[i + j], &w);
			}
		}
	}
	return rc;
}

/* The end of the run of leaves from i on that share a domain at level d. */
static uint32_t run_end(const struct pl_forest *f, uint32_t i, uint32_t d)
{
	while (f->leaf[i].share > d)
		i++;
	return i + 1;
}

static int bag_of_run(struct tree *t, uint32_t from, uint32_t to,
		      struct set **ret)
{
	uint32_t *leaf = pl_alloc(to - from, sizeof(*leaf)), n = 0;

	if (!leaf)
		return -ENOMEM;
	for (uint32_t i = from; i < to; i++)
		if (!t->f->leaf[i].never)
			leaf[n++] = i;
	return new_bag(t, leaf, n, 0, ret);
}

/* Leaves from..to, whose common domain is at level d - 1; d == levels: they
 * differ in nothing. */
static int build(struct tree *t, uint32_t from, uint32_t to, uint32_t d,
		 struct set **ret)
{
	const struct pl_forest *f = t->f;
	struct set *all = NULL, *part;
	uint32_t *single, n_single = 0, end;
	pl_cost one = t->open[d] - (d < f->levels ? t->open[d + 1] : 0);
	int rc = 0;

	if (d == f->levels)
		return bag_of_run(t, from, to, ret);
	single = pl_alloc(to - from, sizeof(*single));
	if (!single)
		return -ENOMEM;
	for (uint32_t i = from; i < to; i = end) {
		end = run_end(f, i, d);
		if (end == i + 1 && !f->leaf[i].never)
			single[n_single++] = i;
	}
	/* Takes over single[]. */
	rc = new_bag(t, single, n_single, t->open[d], &all);
	for (uint32_t i = from; i < to && !rc; i = end) {
		end = run_end(f, i, d);
		if (end == i + 1)
			continue;
		rc = build(t, i, end, d + 1, &part);
		if (!rc)
			rc = join(t, all, part, one, &all);
	}
	*ret = all;
	return rc;
}

struct todo {
	const struct set *set;
	uint32_t n, way;
};

/* Which leaves a way of the whole has; stack: room for k. */
static void trace(const struct set *s, uint32_t n, uint32_t way,
		  const struct pl_leaf *leaf, struct todo *stack,
		  struct pl_choice *ret)
{
	uint32_t depth = 0;

	ret->n = 0;
	stack[depth++] = (struct todo){ s, n, way };
	while (depth) {
		struct todo w = stack[--depth];
		const struct way *x;

		if (w.set->leaf) {
			for (uint32_t i = 0; i < w.n; i++)
				ret->pick[ret->n++].s =
					leaf[w.set->leaf[i]].s;
			continue;
		}
		x = &w.set->list[w.n].way[w.way];
		if (x->left < w.n)
			stack[depth++] = (struct todo){ w.set->b,
							w.n - x->left,
							x->right_way };
		if (x->left)
			stack[depth++] = (struct todo){ w.set->a, x->left,
							x->left_way };
	}
}

/* The narrowest that fits. */
static int choose(struct tree *t, const struct set *all, struct pl_choice *ret)
{
	const struct list *l = &all->list[t->k];
	struct todo *stack;
	int rc = -ENOSPC;

	if (all->most < t->k || !l->n)
		return rc;
	stack = pl_alloc((size_t)t->k + 2, sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	/* fab falls along a list. */
	for (uint32_t i = l->n; i-- && rc == -ENOSPC;) {
		trace(all, t->k, i, t->f->leaf, stack, ret);
		pl_sort_picks(ret);
		rc = t->fits ? t->fits(t->arg, ret) : 0;
	}
	free(stack);
	return rc;
}

/* Joins take as many steps, or half of that, even if a list has but one way. */
static uint64_t least_pairs(const struct pl_forest *f, uint32_t k)
{
	uint32_t musts = 0;

	for (uint32_t i = 0; i < f->n; i++)
		musts += f->leaf[i].must;
	return f->levels && k > musts ?
		       (uint64_t)(k - musts) * (f->n - musts) : 0;
}

int pl_tree(struct pl *p, const struct pl_forest *f, uint32_t k,
	    uint64_t slack, pl_fits *fits, void *arg, struct pl_choice *ret)
{
	struct tree t = {
		.p = p, .f = f, .k = k, .fits = fits, .arg = arg,
		.slack = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX,
	};
	struct set *all = NULL;
	int rc;

	if (least_pairs(f, k) > PL_MANY_WORK / (p->greedy ? 2 : 1)) {
		p->exact = false;
		return pl_many(f, k, slack, fits, arg, ret);
	}
	t.open = pl_alloc(f->levels + 1, sizeof(*t.open));
	if (!t.open)
		return -ENOMEM;
	pl_forest_costs(p, f, k, 127, t.open);
	rc = build(&t, 0, f->n, 0, &all);
	if (!rc)
		rc = choose(&t, all, ret);
	free_sets(t.sets);
	free(t.open);
	return rc;
}
