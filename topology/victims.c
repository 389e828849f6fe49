/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * victims.c - which running jobs have to go so that a job can start.
 */
#include "topology/victims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One candidate for the answer. */
struct set {
	bool *job, *within;
	uint32_t n;
	uint64_t priority, lost;
};

struct search {
	const struct sn_victims_problem *p;
	uint32_t supernodes; /* the number to reach */
	uint32_t calls;
	uint64_t steps; /* sets looked at */
	int rc; /* of fits(), once it failed for another reason */
	struct set best, at; /* at: the one being worked on */
	bool *gone;
	struct sn_victims_fit fit;
	uint32_t *order; /* [n_jobs] */
	uint64_t *units; /* [n_supernodes] free with the jobs chosen so far */
};

/* ---- sets ------------------------------------------------------------------------- */

static int set_init(struct set *set, const struct sn_victims_problem *p)
{
	set->job = calloc((size_t)p->n_jobs + 1, sizeof(bool));
	set->within = calloc((size_t)p->n_supernodes + 1, sizeof(bool));
	return set->job && set->within ? 0 : -ENOMEM;
}

static void set_done(struct set *set)
{
	free(set->job);
	free(set->within);
}

static void set_copy(struct set *to, const struct set *from,
		     const struct sn_victims_problem *p)
{
	memcpy(to->job, from->job, p->n_jobs * sizeof(bool));
	memcpy(to->within, from->within, p->n_supernodes * sizeof(bool));
	to->n = from->n;
	to->priority = from->priority;
	to->lost = from->lost;
}

static bool set_is_better(const struct set *a, const struct set *b)
{
	if (a->n != b->n)
		return a->n < b->n;
	if (a->priority != b->priority)
		return a->priority < b->priority;
	return a->lost < b->lost;
}

/* ---- questions -------------------------------------------------------------------- */

static bool is_out(const struct search *s)
{
	return s->rc || s->calls >= s->p->max_calls ||
		s->steps > (uint64_t)s->p->max_calls * SN_VICTIMS_STEPS ||
		(s->calls && s->p->is_over && s->p->is_over(s->p->arg));
}

/* Does it fit, in as few supernodes as it should? Then at becomes what of the
 * candidates that are gone has to go. */
static bool ask(struct search *s, const bool *gone, const bool *within,
		struct set *at)
{
	const struct sn_victims_problem *p = s->p;
	uint32_t j;
	int rc;

	if (is_out(s))
		return false;
	memset(s->fit.hit, 0, p->n_jobs * sizeof(bool));
	memset(s->fit.used, 0, p->n_supernodes * sizeof(bool));
	s->fit.supernodes = 0;
	s->calls++;
	rc = p->fits(p->arg, gone, within, &s->fit);
	if (rc && rc != -ENOSPC)
		s->rc = rc;
	if (rc || (s->supernodes && s->fit.supernodes > s->supernodes))
		return false;
	if (!s->supernodes)
		s->supernodes = s->fit.supernodes;
	at->n = 0;
	at->priority = at->lost = 0;
	for (j = 0; j < p->n_jobs; j++) {
		at->job[j] = gone[j] && s->fit.hit[j];
		if (!at->job[j])
			continue;
		at->n++;
		at->priority += p->job[j].priority;
		at->lost += p->job[j].lost;
	}
	memcpy(at->within, s->fit.used, p->n_supernodes * sizeof(bool));
	return true;
}

static void keep_better(struct search *s)
{
	if (set_is_better(&s->at, &s->best))
		set_copy(&s->best, &s->at, s->p);
}

/* ---- making a set smaller ---------------------------------------------------------- */

static uint64_t units_within(const struct sn_victim *job, const bool *within)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < job->n_parts; i++)
		if (within[job->part[i].supernode])
			n += job->part[i].units;
	return n;
}

/* Should a go rather than b? */
static bool goes_first(const struct sn_victims_problem *p, const bool *within,
		       uint32_t a, uint32_t b)
{
	uint64_t ua = units_within(&p->job[a], within);
	uint64_t ub = units_within(&p->job[b], within);

	if (ua != ub)
		return ua > ub;
	if (p->job[a].priority != p->job[b].priority)
		return p->job[a].priority < p->job[b].priority;
	if (p->job[a].lost != p->job[b].lost)
		return p->job[a].lost < p->job[b].lost;
	return a < b;
}

static void sift(struct search *s, const bool *within, uint32_t i, uint32_t n)
{
	uint32_t *o = s->order, child, t;

	for (; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n &&
		    goes_first(s->p, within, o[child], o[child + 1]))
			child++;
		if (!goes_first(s->p, within, o[i], o[child]))
			return;
		t = o[i];
		o[i] = o[child];
		o[child] = t;
	}
}

/* The jobs of a set, those that should go first; a heap sort, as qsort() has no
 * room for what the order depends on. */
static uint32_t sort_jobs(struct search *s, const struct set *set)
{
	uint32_t n = 0, i, t;

	for (i = 0; i < s->p->n_jobs; i++)
		if (set->job[i])
			s->order[n++] = i;
	for (i = n / 2; i-- > 0;)
		sift(s, set->within, i, n);
	for (i = n; i-- > 1;) {
		t = s->order[0];
		s->order[0] = s->order[i];
		s->order[i] = t;
		sift(s, set->within, 0, i);
	}
	return n;
}

/* Let only as many of the sorted jobs go as needed, by halving. */
static void shrink_to_prefix(struct search *s, const bool *within)
{
	uint32_t high = sort_jobs(s, &s->at), low = 0, i;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		memset(s->gone, 0, s->p->n_jobs * sizeof(bool));
		for (i = 0; i < mid; i++)
			s->gone[s->order[i]] = true;
		if (ask(s, s->gone, within, &s->at))
			high = mid;
		else
			low = mid + 1;
		if (is_out(s))
			return;
	}
}

/* Spare whom it fits without, from the end of the order. */
static void shrink_one_by_one(struct search *s, const bool *within)
{
	uint32_t i = sort_jobs(s, &s->at);

	while (i-- > 0 && !is_out(s)) {
		if (!s->at.job[s->order[i]])
			continue;
		memcpy(s->gone, s->at.job, s->p->n_jobs * sizeof(bool));
		s->gone[s->order[i]] = false;
		(void)ask(s, s->gone, within, &s->at);
	}
}

/* at fits within; take from it what need not go. */
static void shrink(struct search *s, const bool *within)
{
	if (s->at.n > 8)
		shrink_to_prefix(s, within);
	shrink_one_by_one(s, within);
	keep_better(s);
}

/* ---- supernodes -------------------------------------------------------------------- */

/* How many have to go at least to free what the job needs in supernode sn. */
static uint32_t least_victims(struct search *s, uint32_t sn)
{
	const struct sn_victims_problem *p = s->p;
	uint64_t have = p->free_units[sn];
	uint32_t n = 0, k, j, i;

	memset(s->at.within, 0, p->n_supernodes * sizeof(bool));
	s->at.within[sn] = true;
	memset(s->at.job, 0, p->n_jobs * sizeof(bool));
	for (j = 0; j < p->n_jobs; j++)
		for (i = 0; i < p->job[j].n_parts; i++)
			if (p->job[j].part[i].supernode == sn)
				s->at.job[j] = true;
	n = sort_jobs(s, &s->at);
	if (!p->need)
		return n ? 1 : 0;
	for (k = 0; k < n && have < p->need; k++)
		have += units_within(&p->job[s->order[k]], s->at.within);
	return have < p->need ? UINT32_MAX : k;
}

struct rank {
	uint64_t key;
	uint32_t supernode;
};

static int by_key(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->supernode < b->supernode ? -1 : 1;
}

/* A job that goes into one supernode: each of them by itself, those first where
 * the fewest would have to go. */
static int search_each(struct search *s)
{
	const struct sn_victims_problem *p = s->p;
	struct rank *rank = calloc((size_t)p->n_supernodes + 1, sizeof(*rank));
	bool *all = calloc((size_t)p->n_jobs + 1, sizeof(bool));
	bool *within = calloc((size_t)p->n_supernodes + 1, sizeof(bool));
	int rc = rank && all && within ? 0 : -ENOMEM;
	uint32_t i;

	for (i = 0; !rc && i < p->n_supernodes; i++)
		rank[i] = (struct rank){ least_victims(s, i), i };
	if (!rc) {
		qsort(rank, p->n_supernodes, sizeof(*rank), by_key);
		memset(all, true, p->n_jobs * sizeof(bool));
	}
	for (i = 0; !rc && i < p->n_supernodes && !is_out(s); i++) {
		if (rank[i].key > s->best.n)
			break;
		within[rank[i].supernode] = true;
		if (ask(s, all, within, &s->at))
			shrink(s, within);
		within[rank[i].supernode] = false;
	}
	free(rank);
	free(all);
	free(within);
	return rc;
}

/* Jobs that hold something in sn, for each thousand units it can offer. */
static uint64_t crowd(const struct sn_victims_problem *p, uint32_t sn)
{
	uint64_t jobs = 0, units = p->free_units[sn];
	uint32_t j, i;

	for (j = 0; j < p->n_jobs; j++)
		for (i = 0; i < p->job[j].n_parts; i++)
			if (p->job[j].part[i].supernode == sn) {
				jobs++;
				units += p->job[j].part[i].units;
			}
	return units ? jobs * 1000 / units : UINT64_MAX;
}

/* A job that goes into several: the least crowded that will do. */
static int search_prefix(struct search *s)
{
	const struct sn_victims_problem *p = s->p;
	struct rank *rank = calloc((size_t)p->n_supernodes + 1, sizeof(*rank));
	bool *all = calloc((size_t)p->n_jobs + 1, sizeof(bool));
	bool *within = calloc((size_t)p->n_supernodes + 1, sizeof(bool));
	int rc = rank && all && within ? 0 : -ENOMEM;
	uint32_t low = s->supernodes, high = p->n_supernodes, mid, i;

	for (i = 0; !rc && i < p->n_supernodes; i++)
		rank[i] = (struct rank){ crowd(p, i), i };
	if (!rc) {
		qsort(rank, p->n_supernodes, sizeof(*rank), by_key);
		memset(all, true, p->n_jobs * sizeof(bool));
	}
	while (!rc && low < high && !is_out(s)) {
		mid = (low + high) / 2;
		for (i = 0; i < p->n_supernodes; i++)
			within[rank[i].supernode] = i < mid;
		if (ask(s, all, within, &s->at))
			high = mid;
		else
			low = mid + 1;
	}
	for (i = 0; !rc && i < p->n_supernodes; i++)
		within[rank[i].supernode] = i < high;
	if (!rc && ask(s, all, within, &s->at))
		shrink(s, within);
	free(rank);
	free(all);
	free(within);
	return rc;
}

/* ---- every set that may be better ---------------------------------------------------- */

/* Could the job fit where so much is free? */
static bool is_enough(const struct search *s)
{
	uint64_t sum = 0;
	uint32_t i;

	if (!s->p->need)
		return true;
	for (i = 0; i < s->p->n_supernodes; i++) {
		if (s->supernodes > 1)
			sum += s->units[i];
		else if (s->units[i] > sum)
			sum = s->units[i];
	}
	return sum >= s->p->need;
}

static void let_go(struct search *s, uint32_t j, bool go)
{
	const struct sn_victim *job = &s->p->job[j];
	uint32_t i;

	s->gone[j] = go;
	for (i = 0; i < job->n_parts; i++) {
		if (go)
			s->units[job->part[i].supernode] += job->part[i].units;
		else
			s->units[job->part[i].supernode] -= job->part[i].units;
	}
}

/* All sets of `left` more jobs from j on, that beat the best. */
static void try_sets(struct search *s, uint32_t j, uint32_t left,
		     struct set *so_far)
{
	const struct sn_victims_problem *p = s->p;

	s->steps++;
	if (is_out(s) || !set_is_better(so_far, &s->best))
		return;
	if (!left) {
		if (is_enough(s) && ask(s, s->gone, NULL, &s->at))
			keep_better(s);
		return;
	}
	for (; j + left <= p->n_jobs && !is_out(s); j++) {
		struct set next = *so_far;

		next.priority += p->job[j].priority;
		next.lost += p->job[j].lost;
		let_go(s, j, true);
		try_sets(s, j + 1, left - 1, &next);
		let_go(s, j, false);
	}
}

/* True if there is no better set than the best. */
static bool search_all(struct search *s)
{
	const struct sn_victims_problem *p = s->p;
	uint32_t n, i;

	memset(s->gone, 0, p->n_jobs * sizeof(bool));
	for (i = 0; i < p->n_supernodes; i++)
		s->units[i] = p->free_units[i];
	for (n = 0; n <= s->best.n && !is_out(s); n++) {
		struct set so_far = { .n = n };

		try_sets(s, 0, n, &so_far);
	}
	return !is_out(s);
}

/* ---- the answer --------------------------------------------------------------------- */

static int search_init(struct search *s, const struct sn_victims_problem *p)
{
	*s = (struct search){ .p = p };
	s->gone = calloc((size_t)p->n_jobs + 1, sizeof(bool));
	s->fit.hit = calloc((size_t)p->n_jobs + 1, sizeof(bool));
	s->fit.used = calloc((size_t)p->n_supernodes + 1, sizeof(bool));
	s->order = calloc((size_t)p->n_jobs + 1, sizeof(*s->order));
	s->units = calloc((size_t)p->n_supernodes + 1, sizeof(*s->units));
	if (!s->gone || !s->fit.hit || !s->fit.used || !s->order || !s->units ||
	    set_init(&s->best, p) || set_init(&s->at, p))
		return -ENOMEM;
	return 0;
}

static void search_done(struct search *s)
{
	free(s->gone);
	free(s->fit.hit);
	free(s->fit.used);
	free(s->order);
	free(s->units);
	set_done(&s->best);
	set_done(&s->at);
}

static void hand_over(struct search *s, bool exact, struct sn_victims *ret)
{
	*ret = (struct sn_victims){
		.job = s->best.job,
		.within = s->best.within,
		.n_jobs = s->best.n,
		.supernodes = s->supernodes,
		.priority = s->best.priority,
		.lost = s->best.lost,
		.calls = s->calls,
		.exact = exact,
	};
	s->best.job = s->best.within = NULL;
}

int sn_victims_choose(const struct sn_victims_problem *problem,
		      struct sn_victims *ret)
{
	struct search s;
	bool exact;
	int rc = search_init(&s, problem);

	if (rc)
		goto out;
	memset(s.gone, true, problem->n_jobs * sizeof(bool));
	if (!ask(&s, s.gone, NULL, &s.at)) {
		rc = s.rc ? s.rc : -ENOSPC;
		goto out;
	}
	set_copy(&s.best, &s.at, problem);
	shrink(&s, NULL);
	rc = s.supernodes > 1 ? search_prefix(&s) : search_each(&s);
	exact = !rc && search_all(&s);
	if (!rc && s.rc)
		rc = s.rc;
	if (!rc)
		hand_over(&s, exact, ret);
out:
	search_done(&s);
	return rc;
}

void sn_victims_done(struct sn_victims *victims)
{
	free(victims->job);
	free(victims->within);
	*victims = (struct sn_victims){ 0 };
}
