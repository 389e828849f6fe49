/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_victims.c - victims against every set of candidates, with the placement
 * engine in Slurm's place.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/place.h"
#include "topology/victims.h"

#define SUPERNODES 4
#define PER 4 /* nodes of a supernode, at most */
#define CARDS 4
#define NODES (SUPERNODES * PER)
#define JOBS 9

struct world {
	struct sn_topo topo;
	struct sn_topo_supernode supernode[SUPERNODES];
	struct sn_topo_node node[NODES];
	struct sn_place_node base[NODES]; /* every candidate gone */
	uint64_t held[JOBS][NODES]; /* cards of each candidate */
	struct sn_victim job[JOBS];
	struct sn_victim_part part[JOBS][SUPERNODES];
	uint32_t free_units[SUPERNODES];
	struct sn_place_request request;
	struct sn_victims_problem problem;
};

static unsigned int seed;

static uint32_t pick(uint32_t n)
{
	return (uint32_t)rand_r(&seed) % n;
}

static int place(struct world *w, const bool *gone, const bool *within,
		 struct sn_placement *ret)
{
	struct sn_place_node node[NODES];
	struct sn_place_state state = { .node = node };
	uint32_t j, n;

	memcpy(node, w->base, sizeof(node));
	for (n = 0; n < w->topo.n_nodes; n++) {
		for (j = 0; j < w->problem.n_jobs; j++)
			if (!gone[j])
				node[n].free &= ~w->held[j][n];
		if (within && !within[w->node[n].supernode])
			node[n].flags |= SN_NODE_ABSENT;
	}
	return sn_place(&w->topo, &state, &w->request, ret, NULL);
}

static int fits(void *arg, const bool *gone, const bool *within,
		struct sn_victims_fit *ret)
{
	struct world *w = arg;
	struct sn_placement placed = { 0 };
	int rc = place(w, gone, within, &placed);
	uint32_t i, j;

	for (i = 0; !rc && i < placed.n_nodes; i++)
		for (j = 0; j < w->problem.n_jobs; j++)
			if (w->held[j][placed.node[i].node])
				ret->hit[j] = true;
	for (i = 0; !rc && i < placed.n_supernodes; i++)
		ret->used[placed.supernode[i].supernode] = true;
	ret->supernodes = placed.n_supernodes;
	sn_placement_done(&placed);
	return rc;
}

static void make_topo(struct world *w, uint32_t n_supernodes, uint32_t per)
{
	uint32_t s, n;

	w->topo.supernode = w->supernode;
	w->topo.node = w->node;
	w->topo.n_supernodes = n_supernodes;
	w->topo.n_nodes = n_supernodes * per;
	for (s = 0; s < n_supernodes; s++) {
		w->supernode[s].first_node = s * per;
		w->supernode[s].n_nodes = per;
		w->supernode[s].fabric = SN_NONE;
	}
	for (n = 0; n < w->topo.n_nodes; n++) {
		w->node[n].supernode = n / per;
		w->node[n].unit = SN_NONE;
		w->base[n] = (struct sn_place_node){
			.cards = (1u << CARDS) - 1,
			.free = (1u << CARDS) - 1,
			.weight = 1,
			.max_ranks = UINT32_MAX,
		};
	}
}

/* Some cards of a node for a candidate, that no other one has. */
static void hold(struct world *w, uint32_t j, uint32_t n, uint32_t cards)
{
	uint64_t have = w->base[n].free, card;
	uint32_t i;

	for (i = 0; i < w->problem.n_jobs; i++)
		have &= ~w->held[i][n];
	while (cards-- && have) {
		card = have & -have;
		have &= ~card;
		w->held[j][n] |= card;
	}
}

/* Fill in what follows from held[]. */
static void make_problem(struct world *w, uint32_t max_calls)
{
	uint32_t j, n, s;

	for (n = 0; n < w->topo.n_nodes; n++)
		w->free_units[w->node[n].supernode] +=
			(uint32_t)__builtin_popcountll(w->base[n].free);
	for (j = 0; j < w->problem.n_jobs; j++) {
		w->job[j].part = w->part[j];
		for (s = 0; s < w->topo.n_supernodes; s++) {
			struct sn_victim_part part = { .supernode = s };

			for (n = 0; n < w->topo.n_nodes; n++)
				if (w->node[n].supernode == s)
					part.units += (uint32_t)
						__builtin_popcountll(w->held[j][n]);
			w->free_units[s] -= part.units;
			if (part.units)
				w->part[j][w->job[j].n_parts++] = part;
		}
	}
	w->problem.n_supernodes = w->topo.n_supernodes;
	w->problem.job = w->job;
	w->problem.free_units = w->free_units;
	w->problem.need = w->request.world;
	w->problem.max_calls = max_calls;
	w->problem.fits = fits;
	w->problem.arg = w;
}

static struct world *random_world(void)
{
	static const uint32_t atoms[] = { 1, 2, 4, 8, 16, 3, 6 };
	struct world *w = calloc(1, sizeof(*w));
	uint32_t per = 1 + pick(PER), j, i, n;

	assert_non_null(w);
	make_topo(w, 1 + pick(SUPERNODES), per);
	w->problem.n_jobs = pick(JOBS + 1);
	/* Jobs that cannot be preempted, and dead cards. */
	for (n = 0; n < w->topo.n_nodes; n++)
		if (!pick(3))
			w->base[n].free &= pick(1u << CARDS);
	for (j = 0; j < w->problem.n_jobs; j++) {
		uint32_t nodes = 1 + pick(3), first = pick(w->topo.n_nodes);

		for (i = 0; i < nodes; i++)
			hold(w, j, pick(4) ? (first + i) % w->topo.n_nodes :
			     pick(w->topo.n_nodes), 1 + pick(CARDS));
		w->job[j].priority = pick(3);
		w->job[j].lost = pick(100);
	}
	w->request.atom = atoms[pick(7)];
	w->request.node_block = w->request.atom % 2 ? 1 : 1 + pick(2);
	w->request.unit_block = w->request.node_block;
	w->request.world = w->request.atom * (1 + pick(4));
	make_problem(w, 100000);
	return w;
}

struct cost { uint64_t supernodes, jobs, priority, lost; };

static int compare(const struct cost *a, const struct cost *b)
{
	const uint64_t x[] = { a->supernodes, a->jobs, a->priority, a->lost };
	const uint64_t y[] = { b->supernodes, b->jobs, b->priority, b->lost };
	int i;

	for (i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* By looking at every set. */
static bool best_of_all(struct world *w, struct cost *ret)
{
	uint32_t set, j;
	bool found = false;

	for (set = 0; set < 1u << w->problem.n_jobs; set++) {
		struct sn_placement placed = { 0 };
		bool gone[JOBS];
		struct cost cost = { 0 };

		for (j = 0; j < w->problem.n_jobs; j++) {
			gone[j] = set >> j & 1;
			cost.jobs += gone[j];
			cost.priority += gone[j] ? w->job[j].priority : 0;
			cost.lost += gone[j] ? w->job[j].lost : 0;
		}
		if (place(w, gone, NULL, &placed))
			continue;
		cost.supernodes = placed.n_supernodes;
		sn_placement_done(&placed);
		if (!found || compare(&cost, ret) < 0)
			*ret = cost;
		found = true;
	}
	return found;
}

static struct cost cost_of(const struct sn_victims *v)
{
	return (struct cost){ v->supernodes, v->n_jobs, v->priority, v->lost };
}

/* The answer says what it is, and the job fits where it says. */
static void assert_holds(struct world *w, const struct sn_victims *v)
{
	struct sn_placement placed = { 0 };
	struct cost cost = { .supernodes = v->supernodes }, said = cost_of(v);
	uint32_t j;

	assert_int_equal(place(w, v->job, v->within, &placed), 0);
	assert_int_equal(placed.n_supernodes, v->supernodes);
	for (j = 0; j < w->problem.n_jobs; j++) {
		cost.jobs += v->job[j];
		cost.priority += v->job[j] ? w->job[j].priority : 0;
		cost.lost += v->job[j] ? w->job[j].lost : 0;
	}
	assert_int_equal(compare(&cost, &said), 0);
	sn_placement_done(&placed);
}

static void the_best_of_every_set(void **state)
{
	uint32_t i, fit = 0;

	(void)state;
	for (i = 0; i < 1500; i++) {
		struct sn_victims v = { 0 };
		struct cost best = { 0 }, got;
		struct world *w;
		bool can;

		seed = i + 1;
		w = random_world();
		can = best_of_all(w, &best);
		assert_int_equal(sn_victims_choose(&w->problem, &v),
				 can ? 0 : -ENOSPC);
		if (can) {
			fit += best.jobs > 0;
			assert_holds(w, &v);
			assert_true(v.exact);
			got = cost_of(&v);
			if (compare(&got, &best))
				fail_msg("seed %u: %u jobs in %u supernodes, but %u in %u will do",
					 i + 1, v.n_jobs, v.supernodes,
					 (unsigned)best.jobs,
					 (unsigned)best.supernodes);
		}
		sn_victims_done(&v);
		free(w);
	}
	assert_true(fit > 200);
}

/* With few questions: still the fewest supernodes, and no victim too many. */
static void few_questions(void **state)
{
	uint32_t i, inexact = 0, same = 0, fit = 0;

	(void)state;
	for (i = 0; i < 1500; i++) {
		struct sn_victims v = { 0 };
		struct cost best = { 0 };
		struct world *w;

		seed = i + 1;
		w = random_world();
		w->problem.max_calls = 24;
		if (best_of_all(w, &best)) {
			assert_int_equal(sn_victims_choose(&w->problem, &v), 0);
			assert_holds(w, &v);
			assert_true(v.calls <= 24);
			assert_int_equal(v.supernodes, best.supernodes);
			inexact += !v.exact;
			fit++;
			same += v.n_jobs == best.jobs;
			sn_victims_done(&v);
		}
		free(w);
	}
	assert_true(inexact > 0);
	assert_true(same > fit * 9 / 10);
}

/* Each of many supernodes is full of small jobs but one, which has two: they go. */
static void two_large_rather_than_many_small(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sn_victims v = { 0 };
	uint32_t j, n;

	(void)state;
	assert_non_null(w);
	make_topo(w, 3, 2);
	w->problem.n_jobs = 9;
	for (n = 0; n < 4; n++) {
		hold(w, n, n, 2);
		hold(w, n + 4, n, 2);
	}
	/* sn3: one job on both nodes. */
	hold(w, 8, 4, 4);
	hold(w, 8, 5, 4);
	for (j = 0; j < 9; j++)
		w->job[j].priority = j == 8 ? 1000 : 1;
	w->request.world = w->request.atom = 8;
	w->request.node_block = w->request.unit_block = 1;
	make_problem(w, 100);
	assert_int_equal(sn_victims_choose(&w->problem, &v), 0);
	assert_int_equal(v.n_jobs, 1);
	assert_true(v.job[8]);
	assert_true(v.within[2] && !v.within[0] && !v.within[1]);
	sn_victims_done(&v);
	free(w);
}

static int broken(void *arg, const bool *gone, const bool *within,
		  struct sn_victims_fit *ret)
{
	(void)arg;
	(void)gone;
	(void)within;
	(void)ret;
	return -EIO;
}

static void a_failing_question_ends_it(void **state)
{
	struct sn_victims_problem p = { .max_calls = 10, .fits = broken };
	struct sn_victims v = { 0 };

	(void)state;
	assert_int_equal(sn_victims_choose(&p, &v), -EIO);
	sn_victims_done(&v);
}

static int slow_calls;

static int slow(void *arg, const bool *gone, const bool *within,
		struct sn_victims_fit *ret)
{
	slow_calls++;
	return fits(arg, gone, within, ret);
}

static bool after_three(void *arg)
{
	(void)arg;
	return slow_calls >= 3;
}

/* When time is over, what has been found by then is the answer, and it holds. */
static void time_is_over(void **state)
{
	uint32_t i, inexact = 0;

	(void)state;
	for (i = 0; i < 300; i++) {
		struct sn_victims v = { 0 };
		struct cost best = { 0 };
		struct world *w;

		seed = i + 1;
		w = random_world();
		w->problem.fits = slow;
		w->problem.is_over = after_three;
		slow_calls = 0;
		if (best_of_all(w, &best)) {
			assert_int_equal(sn_victims_choose(&w->problem, &v), 0);
			assert_holds(w, &v);
			assert_true(v.calls <= 3);
			inexact += !v.exact;
		}
		sn_victims_done(&v);
		free(w);
	}
	assert_true(inexact > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_of_every_set),
		cmocka_unit_test(few_questions),
		cmocka_unit_test(two_large_rather_than_many_small),
		cmocka_unit_test(a_failing_question_ends_it),
		cmocka_unit_test(time_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
