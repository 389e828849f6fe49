/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_place_large.c - properties of placements too large for exhaustive search.
 *
 * Each answer is judged, and then rivals are made: other legal assignments, by
 * filling supernodes in random orders and by moving atoms of the answer about.
 * None may be better, and none may exist where the engine says no.
 * SN_BRUTE_CASES and SN_BRUTE_SEED as in test_place_brute.c.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen.h"
#include "oracle.h"

static const struct gen_limits large = {
	.supernodes = 24, .nodes_per_supernode = 20, .loose = 8, .nodes = 300,
	.world = 3000,
};

/* Supernodes of up to 1,000 nodes, which some products have. */
static const struct gen_limits wide = {
	.supernodes = 4, .nodes_per_supernode = 1000, .loose = 3, .nodes = 2000,
	.world = 8000,
};

/* Give supernode s `want` ranks; nodes, or units where blocks are bound to
 * them, are filled from a random one on. Returns whether they went in. */
static bool fill(struct oracle *o, struct gen_rng *rng, uint32_t s,
		 uint32_t want, uint32_t *ranks)
{
	const struct sn_topo_supernode *sn = &o->topo->supernode[s];
	bool units = o->request->unit_block > o->request->node_block;
	uint32_t start = gen_chance(rng, 50) ? 0 : gen_pick(rng, sn->n_nodes);
	uint32_t skip = gen_pick(rng, 3), most = UINT32_MAX;
	uint32_t i, k, from, to, first, unit, room, take;

	for (i = 0; i < sn->n_nodes; i++)
		ranks[sn->first_node + i] = 0;
	/* Even amounts on the nodes leave spares that can stand in for them. */
	if (o->request->spares && gen_chance(rng, 50))
		most = o->request->node_block * (1 + gen_pick(rng, 4));
	for (i = 0; i < sn->n_nodes && want; i++) {
		first = sn->first_node + (start + i) % sn->n_nodes;
		unit = o->topo->node[first].unit;
		if (ranks[first] || (skip == 2 && gen_chance(rng, 20)))
			continue;
		from = units && unit != SN_NONE ? sn->first_node : first;
		to = units && unit != SN_NONE ? from + sn->n_nodes : first + 1;
		room = 0;
		for (k = from; k < to; k++)
			if (o->topo->node[k].unit == unit)
				room += o->cap[k];
		room -= room % o->request->unit_block;
		room = room < want ? room : want;
		room = room < most ? room : most;
		for (k = from; k < to; k++) {
			if (o->topo->node[k].unit != unit)
				continue;
			take = o->cap[k] < room ? o->cap[k] : room;
			ranks[k] = take;
			room -= take;
			want -= take;
		}
	}
	return !want;
}

static uint32_t room_of(const struct oracle *o, uint32_t s)
{
	const struct sn_topo_supernode *sn = &o->topo->supernode[s];
	uint32_t i, sum = 0;

	for (i = 0; i < sn->n_nodes; i++)
		sum += o->cap[sn->first_node + i];
	return sum - sum % o->request->atom;
}

/* Fill the supernodes in a random order, or the roomiest first. */
static bool rival_from_nothing(struct oracle *o, struct gen_rng *rng,
			       uint32_t *ranks)
{
	uint32_t n = o->topo->n_supernodes, left = o->request->world, i, k, s;
	uint32_t *order = calloc(n, sizeof(*order)), take;
	bool roomy = gen_chance(rng, 50);

	assert_non_null(order);
	memset(ranks, 0, o->topo->n_nodes * sizeof(*ranks));
	for (i = 0; i < n; i++) {
		k = gen_pick(rng, i + 1);
		order[i] = order[k];
		order[k] = i;
	}
	for (i = 0; i < n && left; i++) {
		for (k = i + 1; roomy && k < n; k++)
			if (room_of(o, order[k]) > room_of(o, order[i])) {
				s = order[i];
				order[i] = order[k];
				order[k] = s;
			}
		take = room_of(o, order[i]);
		take = take < left ? take : left;
		while (take && !fill(o, rng, order[i], take, ranks)) {
			fill(o, rng, order[i], 0, ranks);
			take -= o->request->atom * (1 + take /
						    o->request->atom / 8);
		}
		left -= take;
	}
	free(order);
	return !left && oracle_legal(o, ranks, NULL);
}

/* Move atoms of one supernode of the answer to another, perhaps unused one. */
static bool rival_of(struct oracle *o, struct gen_rng *rng,
		     const uint32_t *answer, uint32_t *ranks)
{
	uint32_t from, to, i, moved, has = 0, gets = 0, tries = 0;
	const struct sn_topo_supernode *sn;

	memcpy(ranks, answer, o->topo->n_nodes * sizeof(*ranks));
	do {
		from = gen_pick(rng, o->topo->n_supernodes);
		sn = &o->topo->supernode[from];
		for (i = has = 0; i < sn->n_nodes; i++)
			has += answer[sn->first_node + i];
	} while (!has && ++tries < 1000);
	if (!has)
		return false;
	to = gen_pick(rng, o->topo->n_supernodes);
	if (to == from) /* the same atoms on other nodes */
		return fill(o, rng, from, has, ranks) &&
		       oracle_legal(o, ranks, NULL);
	moved = gen_chance(rng, 60) ? has : o->request->atom *
		(1 + gen_pick(rng, has / o->request->atom));
	sn = &o->topo->supernode[to];
	for (i = 0; i < sn->n_nodes; i++)
		gets += answer[sn->first_node + i];
	return fill(o, rng, from, has - moved, ranks) &&
	       fill(o, rng, to, gets + moved, ranks) &&
	       oracle_legal(o, ranks, NULL);
}

static bool fail_case(const struct gen_case *c, const char *why)
{
	gen_print(stdout, c);
	print_message("# %s\n", why);
	return false;
}

static bool not_beaten(struct gen_case *c, struct oracle *o,
		       const struct sn_placement *p, const uint32_t *answer,
		       const uint32_t *rival)
{
	struct oracle_key mine, theirs;
	char text[ORACLE_WHY];
	uint32_t i;
	int cmp;

	oracle_key(o, answer, &mine);
	oracle_key(o, rival, &theirs);
	if (!p->exact)
		mine.n = theirs.n = mine.n_firm;
	cmp = oracle_key_cmp(&theirs, &mine);
	if (!cmp && p->exact)
		cmp = oracle_first_cmp(o, rival, answer);
	if (cmp >= 0)
		return true;
	for (i = 0; i + 1 < mine.n && mine.v[i] == theirs.v[i];)
		i++;
	snprintf(text, sizeof(text), "a rival is better: number %u of the key "
		 "is %" PRIu64 ", the engine's is %" PRIu64, i, theirs.v[i],
		 mine.v[i]);
	for (i = 0; i < o->topo->n_nodes; i++)
		if (rival[i] != answer[i])
			print_message("# %s: rival %u, engine %u\n",
				      o->topo->node[i].name, rival[i],
				      answer[i]);
	return fail_case(c, text);
}

struct tally { uint64_t placed, exact, rivals, failed; };

static bool judge_rivals(struct gen_case *c, struct oracle *o,
			 struct gen_rng *rng, const struct sn_placement *p,
			 const uint32_t *answer, struct tally *tally)
{
	uint32_t *rival = calloc(c->topo.n_nodes + 1, sizeof(*rival)), i;
	bool ok = true;

	assert_non_null(rival);
	for (i = 0; i < 40 && ok; i++) {
		if (!answer || i % 2 ? !rival_from_nothing(o, rng, rival) :
				       !rival_of(o, rng, answer, rival))
			continue;
		tally->rivals++;
		ok = answer ? not_beaten(c, o, p, answer, rival) :
			      fail_case(c, "refused, but a rival is legal");
	}
	free(rival);
	return ok;
}

static bool judge(struct gen_case *c, struct gen_rng *rng, struct tally *tally)
{
	uint32_t *answer = calloc(c->topo.n_nodes + 1, sizeof(*answer));
	struct sn_placement p = { 0 }, again = { 0 };
	char why[ORACLE_WHY];
	struct sn_err err;
	struct oracle o;
	bool ok = true;
	int rc;

	assert_non_null(answer);
	assert_int_equal(oracle_init(&o, &c->topo, &c->state, &c->request), 0);
	rc = sn_place(&c->topo, &c->state, &c->request, &p, &err);
	if (rc && rc != (c->request.exact_nodes > c->request.world /
			 c->request.node_block ? -EINVAL : -ENOSPC))
		ok = fail_case(c, err.text);
	if (!rc && oracle_check_placement(&o, &p, answer, why))
		ok = fail_case(c, why);
	if (ok)
		ok = judge_rivals(c, &o, rng, &p, rc ? NULL : answer, tally);
	if (rc && !ok)
		print_message("# it says: %s\n", err.text);
	if (!rc) { /* the same state gives the same answer */
		tally->placed++;
		tally->exact += p.exact;
		assert_int_equal(sn_place(&c->topo, &c->state, &c->request,
					  &again, NULL), 0);
		assert_int_equal(again.n_nodes, p.n_nodes);
		assert_memory_equal(again.node, p.node,
				    p.n_nodes * sizeof(*p.node));
		sn_placement_done(&again);
		sn_placement_done(&p);
	}
	oracle_done(&o);
	free(answer);
	return ok;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void judge_many(const struct gen_limits *limits, uint64_t n)
{
	uint64_t seed = from_env("SN_BRUTE_SEED", 1);
	uint64_t most = from_env("SN_BRUTE_FAILURES", 1), i;
	struct tally tally = { 0 };

	print_message("# %" PRIu64 " cases from SN_BRUTE_SEED=%" PRIu64 "\n", n,
		      seed);
	for (i = 0; i < n && tally.failed < most; i++) {
		struct gen_rng rng = { .state = i };
		struct gen_case c;

		gen_case(&c, (seed << 32) + i, limits);
		tally.failed += !judge(&c, &rng, &tally);
		gen_done(&c);
	}
	print_message("# %" PRIu64 " of %" PRIu64 " were placed, %" PRIu64
		      " exactly, %" PRIu64 " rivals\n", tally.placed, i,
		      tally.exact, tally.rivals);
	assert_int_equal(tally.failed, 0);
	if (n >= 100) {
		assert_true(tally.placed * 100 >= n * 30);
		assert_true(tally.rivals > n);
	}
}

static void no_rival_is_better(void **state)
{
	(void)state;
	judge_many(&large, from_env("SN_BRUTE_CASES", 600) / 3);
}

static void nor_in_wide_supernodes(void **state)
{
	(void)state;
	judge_many(&wide, from_env("SN_BRUTE_CASES", 600) / 20);
}

/* -N is met wherever it can be, and on the fewest supernodes that have so many
 * nodes and cards, however wide they are. Atoms are one block here, so every
 * count between the fewest and the most nodes is legal. */
static void a_node_count_is_met_at_any_size(void **state)
{
	static const struct { uint32_t supernodes, nodes, world, block, exact; }
	job[] = {
		{ 20, 15, 640, 2, 160 }, { 16, 10, 1120, 4, 141 },
		{ 1, 200, 1600, 8, 200 }, { 1, 1000, 1600, 4, 201 },
		{ 1, 1000, 1600, 4, 399 }, { 1, 1000, 1600, 1, 300 },
		{ 4, 384, 2048, 1, 300 }, { 10, 128, 4096, 4, 700 },
		/* A hundred thousand of a million cards. */
		{ 2604, 48, 100000, 4, 14000 }, { 2604, 48, 100000, 4, 20000 },
		{ 1000, 48, 100000, 4, 14000 }, { 2604, 48, 100000, 1, 12600 },
		{ 2604, 48, 100000, 1, 14000 }, { 2604, 48, 100000, 1, 99999 },
		{ 2604, 48, 900000, 1, 124991 }, { 10000, 1, 20000, 2, 9999 },
	};
	struct sn_placement p;
	struct sn_err err;
	struct gen_case c;
	uint32_t *size, *ranks, i, k, fewest;
	char why[ORACLE_WHY];
	struct oracle o;

	(void)state;
	for (i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
		size = calloc(job[i].supernodes, sizeof(*size));
		assert_non_null(size);
		for (k = 0; k < job[i].supernodes; k++)
			size[k] = job[i].nodes;
		gen_simple(&c, job[i].supernodes, size, 8);
		gen_segment(&c, job[i].world, job[i].block);
		c.request.node_block = c.request.unit_block = job[i].block;
		c.request.exact_nodes = job[i].exact;
		if (sn_place(&c.topo, &c.state, &c.request, &p, &err))
			fail_msg("job %u: %s", i, err.text);
		assert_int_equal(oracle_init(&o, &c.topo, &c.state, &c.request),
				 0);
		ranks = calloc(c.topo.n_nodes, sizeof(*ranks));
		assert_non_null(ranks);
		if (oracle_check_placement(&o, &p, ranks, why))
			fail_msg("job %u: %s", i, why);
		oracle_done(&o);
		assert_int_equal(p.n_nodes, job[i].exact);
		fewest = (job[i].exact + job[i].nodes - 1) / job[i].nodes;
		k = (job[i].world + 8 * job[i].nodes - 1) / (8 * job[i].nodes);
		assert_int_equal(p.n_supernodes, fewest > k ? fewest : k);
		sn_placement_done(&p);
		gen_done(&c);
		free(ranks);
		free(size);
	}
}

/* What no nodes can do is refused for that, not for want of searching. */
static void a_node_count_that_cannot_be_is_refused(void **state)
{
	/* 8 ranks a node at most, and 124,992 nodes. */
	static const struct { uint32_t world, exact; } job[] = {
		{ 100000, 12499 }, { 200000, 124993 },
	};
	struct sn_placement p;
	struct sn_err err;
	struct gen_case c;
	uint32_t *size = calloc(2604, sizeof(*size)), i;

	(void)state;
	assert_non_null(size);
	for (i = 0; i < 2604; i++)
		size[i] = 48;
	gen_simple(&c, 2604, size, 8);
	for (i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
		gen_segment(&c, job[i].world, 1);
		c.request.exact_nodes = job[i].exact;
		assert_int_equal(sn_place(&c.topo, &c.state, &c.request, &p,
					  &err), -ENOSPC);
		assert_non_null(strstr(err.text, "which no choice of nodes"));
	}
	gen_done(&c);
	free(size);
}

static bool is_met(struct gen_case *c, struct sn_placement *p)
{
	uint32_t *ranks = calloc(c->topo.n_nodes, sizeof(*ranks));
	char why[ORACLE_WHY];
	struct oracle o;
	struct sn_err err;
	bool ok;

	assert_non_null(ranks);
	if (sn_place(&c->topo, &c->state, &c->request, p, &err)) {
		print_message("# %s\n", err.text);
		free(ranks);
		return false;
	}
	assert_int_equal(oracle_init(&o, &c->topo, &c->state, &c->request), 0);
	ok = !oracle_check_placement(&o, p, ranks, why);
	if (!ok)
		print_message("# %s\n", why);
	oracle_done(&o);
	free(ranks);
	return ok;
}

/* -w in supernodes of thousands of nodes, with weights of 32 bits, units, spares
 * and -N: the nodes named run ranks, and nothing is refused. */
static void required_nodes_are_met_at_any_size(void **state)
{
	static const uint32_t size[] = { 4000, 1500, 4000 };
	struct sn_placement p;
	struct gen_case c;
	uint32_t i, way;

	(void)state;
	for (way = 0; way < 8; way++) {
		gen_simple(&c, 3, size, 8);
		for (i = 0; i < c.topo.n_nodes; i++) {
			c.node[i].weight = i * 2654435761u;
			if (i % 3 == 0)
				c.node[i].free &= 0x3f;
			if (i < 4000 && i % 400 == 7)
				c.node[i].flags |= SN_NODE_REQUIRED;
		}
		if (way & 1) {
			c.topo.n_units = c.topo.n_nodes / 4;
			c.topo.unit = calloc(c.topo.n_units,
					     sizeof(*c.topo.unit));
			assert_non_null(c.topo.unit);
			for (i = 0; i < c.topo.n_nodes; i++) {
				c.topo.node[i].unit = i / 4;
				c.topo.unit[i / 4].n_nodes++;
			}
		}
		gen_segment(&c, 6400, 16);
		c.request.node_block = 2;
		c.request.unit_block = way & 1 ? 8 : 2;
		c.request.spares = way & 2 ? 3 : 0;
		c.request.exact_nodes = way & 4 ? 1200 : 0;
		assert_true(is_met(&c, &p));
		assert_int_equal(p.n_supernodes, 1);
		assert_int_equal(p.supernode[0].supernode, 0);
		if (way & 4)
			assert_int_equal(p.n_nodes, 1200);
		sn_placement_done(&p);
		gen_done(&c);
	}
}

/* Half the supernodes have 4 idle nodes, half 64 nodes with one card free: one
 * kind has too few nodes, the other too few cards. */
static void a_node_count_picks_supernodes_that_have_both(void **state)
{
	uint32_t size[1200], i;
	struct sn_placement p;
	struct gen_case c;

	(void)state;
	for (i = 0; i < 1200; i++)
		size[i] = i < 600 ? 4 : 64;
	gen_simple(&c, 1200, size, 8);
	for (i = 600 * 4; i < c.topo.n_nodes; i++)
		c.node[i].free = 1;
	gen_segment(&c, 9600, 1);
	c.request.exact_nodes = 9000;
	assert_true(is_met(&c, &p));
	assert_int_equal(p.n_nodes, 9000);
	/* Of x full ones and y others, what is over one rank a node needs
	 * 28x >= 600, so x is 22 at least, and 4x + 64y >= 9000. */
	assert_int_equal(p.n_supernodes, 22 + 140);
	sn_placement_done(&p);
	gen_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rival_is_better),
		cmocka_unit_test(nor_in_wide_supernodes),
		cmocka_unit_test(a_node_count_is_met_at_any_size),
		cmocka_unit_test(a_node_count_that_cannot_be_is_refused),
		cmocka_unit_test(required_nodes_are_met_at_any_size),
		cmocka_unit_test(a_node_count_picks_supernodes_that_have_both),
	};

	return cmocka_run_group_tests_name("place_large", tests, NULL, NULL);
}
