/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_local.c - inside one supernode: what hosting a atoms costs and which
 * nodes do it, exactly.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

static void table_for(const struct pl *p, uint32_t s, uint32_t atoms,
		      struct pl_table *t)
{
	const struct pl_supernode *sn = &p->sn[s];
	uint32_t q = UINT32_MAX;

	*t = (struct pl_table){
		.item = sn->item,
		.n = sn->n_items,
		.z = atoms * p->per_atom,
		.j = p->req->spares,
		.o = p->unit_cost != 0,
		.per_unit = p->per_unit,
		.m = pl_largest(sn),
		.assign = p->bound || sn->n_must,
		.unit_cost = p->unit_cost,
	};
	if (sn->q_max < sn->n_items)
		q = sn->q_max;
	if (p->bound) {
		if (p->bound < q)
			q = p->bound;
		if (sn->n_items < q)
			q = sn->n_items;
	}
	t->q = q == UINT32_MAX ? 0 : q;
	t->size = (size_t)(t->z + 1) * (t->j + 1) * (t->q + 1) * (t->o + 1);
}

static uint64_t table_steps(const struct pl *p, const struct pl_table *t)
{
	uint64_t steps = (uint64_t)t->n * t->size;

	if (t->assign) /* without fill_row_plain() */
		steps *= 3 * (uint64_t)t->m;
	else if (t->q)
		steps *= 6;
	return p->req->spares ? steps * t->m : steps;
}

static uint64_t hash_items(const struct pl_supernode *sn)
{
	uint64_t h = 14695981039346656037u + sn->n_items;

	for (uint32_t i = 0; i < sn->n_items; i++) {
		const struct pl_item *it = &sn->item[i];
		uint64_t x = (uint64_t)it->cost ^
			     (uint64_t)(it->cost >> 64) * 0x9e3779b97f4a7c15u;

		x ^= (uint64_t)it->cap << 56 | (uint64_t)it->last << 55 |
		     (uint64_t)it->must << 54;
		h = (h ^ x) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return h;
}

static bool same_items(const struct pl_supernode *sn,
		       const struct pl_profile *f)
{
	if (sn->n_items != f->n_items || sn->q_max != f->q_max)
		return false;
	for (uint32_t i = 0; i < sn->n_items; i++) {
		const struct pl_item *a = &sn->item[i], *b = &f->item[i];

		if (a->cost != b->cost || a->cap != b->cap ||
		    a->last != b->last || a->must != b->must)
			return false;
	}
	return true;
}

static pl_cost answer(const struct pl *p, const struct pl_table *t, uint32_t a,
		      uint32_t q)
{
	uint32_t z = a * p->per_atom;
	pl_cost best = PL_INF;

	if (p->bound)
		return pl_table_cost(t, z, q);
	for (q = 0; q <= t->q; q++) {
		pl_cost c = pl_table_cost(t, z, q);

		if (c < best)
			best = c;
	}
	return best;
}

static bool is_large(const struct pl *p, const struct pl_table *t)
{
	return (t->n + 1) * (pl_cost)t->size * sizeof(*t->row) >
		       PL_LOCAL_BYTES ||
	       table_steps(p, t) > SN_PLACE_EXACT_WORK;
}

/* Find the profile of s, or begin one; its costs come later. Sets sn->large
 * instead if its tables would be too large. */
static int find_profile(struct pl *p, uint32_t s)
{
	struct pl_supernode *sn = &p->sn[s];
	struct pl_profile **head, *f;
	struct pl_table t;
	uint32_t atoms;
	uint64_t hash;

	if (sn->profile || sn->large)
		return 0;
	atoms = pl_plain_atoms(p, sn);
	table_for(p, s, atoms, &t);
	sn->large = is_large(p, &t);
	if (sn->large)
		return 0;
	if (!p->bucket) {
		p->bucket = pl_alloc(p->topo->n_supernodes,
				     sizeof(*p->bucket));
		if (!p->bucket)
			return -ENOMEM;
		p->n_buckets = p->topo->n_supernodes;
	}
	hash = hash_items(sn);
	head = &p->bucket[hash % p->n_buckets];
	for (f = *head; f; f = f->next)
		if (f->hash == hash && same_items(sn, f))
			break;
	if (!f) {
		f = pl_alloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		*f = (struct pl_profile){
			.atoms = atoms, .q = p->bound ? t.q : 0,
			.item = sn->item, .n_items = sn->n_items,
			.q_max = sn->q_max, .steps = table_steps(p, &t),
			.hash = hash, .next = *head,
		};
		*head = f;
	}
	sn->profile = f;
	return 0;
}

static int fill_profile(struct pl *p, uint32_t s)
{
	struct pl_profile *f = p->sn[s].profile;
	size_t width, n;
	struct pl_table t;
	uint32_t most;

	if (!f || f->cost)
		return 0;
	width = (size_t)f->q + 1;
	n = (f->atoms + 1) * width;
	table_for(p, s, f->atoms, &t);
	t.row = pl_alloc(2 * t.size, sizeof(*t.row));
	f->cost = pl_alloc(n, sizeof(*f->cost));
	if (!t.row || !f->cost) {
		free(t.row);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		f->cost[i] = PL_INF;
	most = t.m;
	for (t.m = t.j ? 1 : most; t.m <= most; t.m++) {
		pl_table_solve(&t);
		for (size_t i = 0; i < n; i++) {
			pl_cost c = answer(p, &t, (uint32_t)(i / width),
					   (uint32_t)(i % width));

			if (c < f->cost[i])
				f->cost[i] = c;
		}
	}
	p->work += f->steps;
	free(t.row);
	return 0;
}

/* The profile of s unless it is too large or too much was done for others. */
int pl_local_profile(struct pl *p, uint32_t s)
{
	int rc = find_profile(p, s);

	if (rc || p->work > pl_profile_work(p))
		return rc;
	return fill_profile(p, s);
}

/* The profiles of n supernodes, or, if they would take too long, only which of
 * them are the same. *ret_all: all have costs. */
int pl_local_profiles(struct pl *p, const uint32_t *s, uint32_t n,
		      bool *ret_all)
{
	uint64_t steps = 0;
	int rc = 0;

	*ret_all = true;
	p->round++;
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct pl_profile *f;

		rc = find_profile(p, s[i]);
		f = p->sn[s[i]].profile;
		if (f && !f->cost && f->round != p->round) {
			f->round = p->round;
			steps += f->steps;
		}
		if (!f)
			*ret_all = false;
	}
	if (steps > pl_profile_work(p)) {
		*ret_all = false;
		return rc;
	}
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = fill_profile(p, s[i]);
	return rc;
}

struct search {
	struct pl *p;
	struct pl_table t;
	struct pl_item *item; /* a copy, to force and forbid nodes */
	uint32_t z, q_low, q_high;
	uint32_t m_low, m_high;
	pl_cost want;
	bool *used, *best;
	bool found;
};

/* In items' order the lists compare like their marks: earlier used first. */
static bool is_smaller(const bool *a, const bool *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i];
	return false;
}

/* The smallest list, in the order of the items, of the cheapest. only_test: no
 * list, just whether one costs what is wanted. */
static int search_lists(struct search *s, bool only_test)
{
	bool *t;
	int rc;

	s->found = false;
	for (s->t.m = s->m_high; s->t.m >= s->m_low && s->t.m; s->t.m--) {
		pl_table_solve(&s->t);
		/* Tests force nodes, so that fill_row_plain() cannot serve. */
		s->p->work += (only_test ? 4 : 1) * table_steps(s->p, &s->t) /
			      (s->t.j ? s->m_high : 1);
		for (uint32_t q = s->q_low; q <= s->q_high; q++) {
			pl_cost cost = pl_table_cost(&s->t, s->z, q);

			if (cost >= PL_INF || cost > s->want)
				continue;
			if (only_test) {
				s->found = true;
				return 0;
			}
			rc = pl_table_walk(&s->t, s->z, q, s->used);
			if (rc)
				return rc;
			if (s->found && cost == s->want &&
			    !is_smaller(s->used, s->best, s->t.n))
				continue;
			s->found = true;
			s->want = cost;
			t = s->used;
			s->used = s->best;
			s->best = t;
		}
	}
	return 0;
}

struct turn {
	uint32_t node, item;
};

static int by_node(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* Units take turns in the order of nodes, so that the table's order is not the
 * nodes'. Ask for one node after the other whether a cheapest set has it. */
static int search_by_node(struct search *s)
{
	struct turn *turn = pl_alloc(s->t.n, sizeof(*turn));
	int rc = 0;

	if (!turn)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->t.n; i++)
		turn[i] = (struct turn){ s->item[i].node, i };
	qsort(turn, s->t.n, sizeof(*turn), by_node);
	for (uint32_t i = 0; i < s->t.n && !rc; i++) {
		struct pl_item *it = &s->item[turn[i].item];

		if (it->must)
			continue;
		it->must = true;
		rc = search_lists(s, true);
		it->must = s->found;
		it->never = !s->found;
	}
	free(turn);
	return rc ? rc : search_lists(s, false);
}

static int find_nodes(struct search *s, const struct pl_supernode *sn)
{
	struct pl_table *t = &s->t;
	uint64_t all = 4 * t->n * table_steps(s->p, t);
	int rc = search_lists(s, false);

	if (rc || sn->ordered || !s->found)
		return rc;
	if (s->p->work + all <= pl_run_work(s->p))
		return search_by_node(s);
	s->p->exact = false;
	return 0;
}

static void *find_rows(struct pl *p, size_t size)
{
	if (size > p->rows_size) {
		free(p->rows);
		p->rows = malloc(size);
		p->rows_size = p->rows ? size : 0;
	}
	return p->rows;
}

int pl_local_nodes(struct pl *p, uint32_t s, uint32_t atoms, uint32_t nodes,
		   bool *used)
{
	struct pl_supernode *sn = &p->sn[s];
	struct search w = { .p = p };
	int rc;

	table_for(p, s, atoms, &w.t);
	if (p->greedy || is_large(p, &w.t))
		return pl_large_nodes(p, s, atoms, nodes, used);
	if (p->work + table_steps(p, &w.t) > pl_run_work(p)) {
		rc = pl_large_nodes(p, s, atoms, nodes, used);
		if (rc != -ENOSPC)
			return rc;
		/* A table has promised a choice that only a table finds. */
		if (p->work > 4 * pl_run_work(p))
			return p->bound ? -E2BIG : rc;
	}
	w.t.keep = true;
	w.z = w.t.z;
	w.q_low = w.q_high = nodes;
	if (!p->bound) {
		w.q_low = 0;
		w.q_high = w.t.q;
	}
	w.m_high = w.t.m;
	w.m_low = w.t.j ? 1 : w.t.m;
	w.want = PL_INF;
	w.t.row = find_rows(p, (w.t.n + 1) * w.t.size * sizeof(*w.t.row));
	w.item = pl_alloc(w.t.n, sizeof(*w.item));
	w.used = pl_alloc(w.t.n, sizeof(*w.used));
	w.best = pl_alloc(w.t.n, sizeof(*w.best));
	rc = -ENOMEM;
	if (w.t.row && w.item && w.used && w.best) {
		memcpy(w.item, sn->item, w.t.n * sizeof(*w.item));
		w.t.item = w.item;
		rc = find_nodes(&w, sn);
	}
	if (!rc && !w.found)
		rc = -EINVAL; /* a bug: a profile promised one */
	if (!rc)
		memcpy(used, w.best, w.t.n * sizeof(*used));
	free(w.item);
	free(w.used);
	free(w.best);
	return rc;
}
