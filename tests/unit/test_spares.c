/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_spares.c - the spares of a job, found from its nodes and cards alone.
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

#include "gen.h"
#include "oracle.h"
#include "topology/spares.h"

#define NODES 64

static struct sn_topo *parse(const char *text)
{
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(text, strlen(text), "t.conf", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

static struct sn_layout layout_of(const char *spec)
{
	struct sn_layout l;
	struct sn_err err;

	if (sn_layout_parse(spec, 8, &l, &err))
		fail_msg("%s: %s", spec, err.text);
	return l;
}

static int find(const struct sn_topo *topo, const char *spec, uint32_t spares,
		const struct sn_spares_node *node, uint32_t n, uint32_t *ranks,
		bool *lost)
{
	struct sn_layout l = layout_of(spec);
	struct sn_err err = { "" };
	int rc = sn_spares_find(topo, &l, spares, node, n, ranks, lost, &err);

	assert_true(!rc || strlen(err.text) > 20);
	return rc;
}

#define N(list) (sizeof(list) / sizeof((list)[0]))

static void the_last_full_nodes_of_each_supernode(void **state)
{
	static const struct sn_spares_node node[] = {
		{ 0, 8 }, { 1, 8 }, { 3, 8 }, { 4, 4 }, { 6, 4 }, { 7, 4 },
	};
	struct sn_topo *topo = parse("SupernodeName=a Nodes=n[0-3]\nSupernodeName=b Nodes=n[4-7]\n");
	uint32_t ranks[N(node)];
	bool lost = true;

	(void)state;
	assert_int_equal(find(topo, "tp=4,dp=6", 1, node, N(node), ranks, &lost), 0);
	assert_false(lost);
	assert_int_equal(ranks[0], 8);
	assert_int_equal(ranks[1], 8);
	assert_int_equal(ranks[2], 0);
	assert_int_equal(ranks[3], 4);
	assert_int_equal(ranks[4], 4);
	assert_int_equal(ranks[5], 0);
	/* Two in each. */
	assert_int_equal(find(topo, "tp=4,dp=3", 2, node, N(node), ranks, &lost), 0);
	assert_false(lost);
	assert_int_equal(ranks[0], 8);
	assert_int_equal(ranks[1] + ranks[2], 0);
	assert_int_equal(ranks[3], 4);
	assert_int_equal(ranks[4] + ranks[5], 0);
	sn_topo_destroy(topo);
}

/* A node with fewer cards than the fullest cannot stand in for it. */
static void a_smaller_node_is_no_spare(void **state)
{
	static const struct sn_spares_node node[] = {
		{ 0, 3 }, { 1, 8 }, { 2, 8 }, { 3, 5 },
	};
	struct sn_topo *topo = parse("SupernodeName=a Nodes=n[0-3]\n");
	uint32_t ranks[N(node)];
	bool lost = true;

	(void)state;
	assert_int_equal(find(topo, "dp=16", 1, node, N(node), ranks, &lost), 0);
	assert_false(lost);
	assert_int_equal(ranks[0], 3);
	assert_int_equal(ranks[1], 8);
	assert_int_equal(ranks[2], 0);
	assert_int_equal(ranks[3], 5);
	sn_topo_destroy(topo);
}

static void none_without_spares(void **state)
{
	static const struct sn_spares_node node[] = { { 0, 8 }, { 2, 8 } };
	struct sn_topo *topo = parse("SupernodeName=a Nodes=n[0-3]\n");
	uint32_t ranks[N(node)];
	bool lost = true;

	(void)state;
	assert_int_equal(find(topo, "tp=8,dp=2", 0, node, N(node), ranks, &lost), 0);
	assert_false(lost);
	assert_int_equal(ranks[0] + ranks[1], 16);
	sn_topo_destroy(topo);
}

/* Of a unit alone, and of one that must hold whole blocks. */
static void units(void **state)
{
	static const struct sn_spares_node node[] = {
		{ 0, 8 }, { 2, 8 }, { 3, 8 },
	}, even[] = {
		{ 0, 8 }, { 1, 8 }, { 2, 8 }, { 4, 8 }, { 5, 8 },
	};
	struct sn_topo *topo = parse("SupernodeName=a Nodes=n[0-5]\nUnitName=u[0-2] Nodes=n[0-5]\n");
	uint32_t ranks[N(even)];
	bool lost = true;

	(void)state;
	/* n0 is the spare, for then the ranks are in one unit. */
	assert_int_equal(find(topo, "tp=8,dp=2", 1, node, N(node), ranks, &lost), 0);
	assert_false(lost);
	assert_int_equal(ranks[0], 0);
	assert_int_equal(ranks[1] + ranks[2], 16);
	/* Blocks of 16 in a unit: the one node of u1 has none. */
	assert_int_equal(find(topo, "tp=16,dp=2,tp_within=unit", 1, even, N(even),
			      ranks, &lost), 0);
	assert_false(lost);
	assert_int_equal(ranks[2], 0);
	assert_int_equal(ranks[0] + ranks[1] + ranks[3] + ranks[4], 32);
	sn_topo_destroy(topo);
}

static void spares_stand_in(void **state)
{
	struct sn_spares_node node[] = {
		{ 0, 8 }, { 1, 8 }, { 2, 8 }, { 4, 8 }, { 5, 8 },
	};
	struct sn_topo *topo = parse("SupernodeName=a Nodes=n[0-3]\nSupernodeName=b Nodes=n[4-7]\n");
	uint32_t ranks[N(node)];
	bool lost = false;

	(void)state;
	/* a: two and a spare; b: one and a spare, which has gone. */
	assert_int_equal(find(topo, "tp=8,dp=3", 1, node, 4, ranks, &lost), 0);
	assert_true(lost);
	assert_int_equal(ranks[0] + ranks[1] + ranks[2] + ranks[3], 24);
	/* A node with ranks has gone. */
	memmove(&node[1], &node[2], 3 * sizeof(*node));
	lost = false;
	assert_int_equal(find(topo, "tp=8,dp=3", 1, node, 4, ranks, &lost), 0);
	assert_true(lost);
	assert_int_equal(ranks[0], 8);
	assert_int_equal(ranks[1], 8);
	assert_int_equal(ranks[2] + ranks[3], 8);
	/* And the spare after it: b's cannot help an atom of two nodes. */
	assert_int_equal(find(topo, "tp=16", 1, &node[1], 2, ranks, &lost), -ENOSPC);
	assert_int_equal(find(topo, "tp=8,dp=3", 1, node, 2, ranks, &lost), -ENOSPC);
	sn_topo_destroy(topo);
}

static void nodes_out_of_order_are_refused(void **state)
{
	static const struct sn_spares_node node[] = { { 2, 8 }, { 0, 8 } },
		twice[] = { { 1, 8 }, { 1, 8 } }, odd[] = { { 9, 8 }, { 10, 8 } };
	struct sn_topo *topo = parse("SupernodeName=a Nodes=n[0-3]\n");
	uint32_t ranks[2];

	(void)state;
	assert_int_equal(find(topo, "tp=8", 1, node, 2, ranks, NULL), -EINVAL);
	assert_int_equal(find(topo, "tp=8", 1, twice, 2, ranks, NULL), -EINVAL);
	assert_int_equal(find(topo, "tp=8", 1, odd, 2, ranks, NULL), -EINVAL);
	sn_topo_destroy(topo);
}

static void the_most_there_can_be(void **state)
{
	struct sn_layout l = layout_of("tp=8,ep=64,etp=1,pp=6,dp=128");

	(void)state;
	assert_int_equal(sn_spares_most(&l, 1), 96);
	assert_int_equal(sn_spares_most(&l, 0), 0);
	assert_int_equal(sn_spares_most(&l, UINT32_MAX), SN_TOPO_NODES_MAX);
}

/* ---- what the engine places is found again ------------------------------------------- */

struct held {
	struct sn_spares_node node[NODES];
	bool spare[NODES];
	uint32_t n;
};

static void hold(const struct sn_placement *p, struct held *h)
{
	uint32_t i = 0, k = 0;

	memset(h, 0, sizeof(*h));
	while (i < p->n_nodes || k < p->n_spares) {
		bool spare = i == p->n_nodes ||
			(k < p->n_spares && p->spare[k].node < p->node[i].node);

		h->spare[h->n] = spare;
		h->node[h->n++] = (struct sn_spares_node) {
			spare ? p->spare[k].node : p->node[i].node,
			spare ? p->spare[k].cards : p->node[i].ranks,
		};
		spare ? k++ : i++;
	}
}

/* The cluster as if only the job's cards were there: ranks must be legal in it. */
static void check_legal(const struct gen_case *c, const struct held *h,
			const uint32_t *ranks, uint32_t spares)
{
	struct sn_place_node node[NODES];
	struct sn_place_state state = { .node = node };
	struct sn_place_request request = c->request;
	uint32_t all[NODES] = { 0 };
	char why[ORACLE_WHY] = "";
	struct oracle o;

	memset(node, 0, sizeof(node));
	for (uint32_t t = 0; t < c->topo.n_nodes; t++)
		node[t].flags = SN_NODE_ABSENT;
	for (uint32_t i = 0; i < h->n; i++) {
		uint64_t cards = (UINT64_C(1) << h->node[i].cards) - 1;

		node[h->node[i].node] = (struct sn_place_node) {
			.cards = cards, .free = cards, .max_ranks = UINT32_MAX,
		};
		all[h->node[i].node] = ranks[i];
	}
	request.use_spare_nodes = true;
	request.pool.per = SN_POOL_NONE;
	request.spares = spares;
	request.exact_nodes = 0;
	assert_int_equal(oracle_init(&o, &c->topo, &state, &request), 0);
	if (!oracle_legal(&o, all, why))
		fail_msg("case 0x%016llx: %s", (unsigned long long)c->seed, why);
	oracle_done(&o);
}

static uint32_t count_units(const struct gen_case *c, const struct held *h,
			    const uint32_t *ranks)
{
	bool seen[NODES] = { false };
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t u = c->topo.node[h->node[i].node].unit;

		if (!ranks[i])
			continue;
		if (u == SN_NONE || !seen[u])
			n++;
		if (u != SN_NONE)
			seen[u] = true;
	}
	return n;
}

static void lose_one(const struct gen_case *c, const struct held *h,
		     const struct sn_layout *l, struct gen_rng *rng)
{
	struct held left = *h;
	uint32_t gone = gen_pick(rng, h->n), ranks[NODES];
	struct sn_err err = { "" };
	bool lost = false;
	int rc;

	left.n--;
	memmove(&left.node[gone], &h->node[gone + 1],
		(h->n - gone - 1) * sizeof(*left.node));
	rc = sn_spares_find(&c->topo, l, c->request.spares, left.node, left.n,
			    ranks, &lost, &err);
	/* In another unit, the spare may not help. */
	if (rc == -ENOSPC && l->unit_block > l->node_block)
		return;
	if (rc)
		fail_msg("case 0x%016llx without node %u: %s",
			 (unsigned long long)c->seed, h->node[gone].node, err.text);
	assert_true(lost);
	check_legal(c, &left, ranks, 0);
}

static void what_is_placed_is_found(void **state)
{
	static const struct gen_limits small = {
		.supernodes = 5, .nodes_per_supernode = 7, .loose = 2,
		.nodes = 24, .world = 96,
	};
	struct gen_rng rng = { .state = 11 };
	uint32_t placed = 0, with_units = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct sn_placement p = { 0 };
		struct gen_case c;
		uint32_t ranks[NODES], n = 0, spares = 0;
		struct sn_err err = { "" };
		bool lost = true;
		struct held h;

		gen_case(&c, (UINT64_C(67) << 32) + seed, &small);
		c.request.spares = 1 + gen_pick(&rng, 2);
		if (c.layout.world != c.request.world ||
		    c.layout.unit_block != c.request.unit_block ||
		    sn_place(&c.topo, &c.state, &c.request, &p, NULL)) {
			gen_done(&c);
			continue;
		}
		hold(&p, &h);
		if (sn_spares_find(&c.topo, &c.layout, c.request.spares, h.node,
				   h.n, ranks, &lost, &err))
			fail_msg("case 0x%016llx: %s", (unsigned long long)seed, err.text);
		if (lost) {
			gen_print(stdout, &c);
			fail_msg("the rule does not find what was placed");
		}
		for (uint32_t i = 0; i < h.n; i++) {
			assert_true(!ranks[i] || ranks[i] == h.node[i].cards);
			n += ranks[i] > 0;
			spares += !ranks[i];
		}
		assert_int_equal(n, p.n_nodes);
		assert_int_equal(spares, p.n_spares);
		check_legal(&c, &h, ranks, c.request.spares);
		if (c.topo.n_units && p.exact)
			assert_true(count_units(&c, &h, ranks) <= p.score.units);
		with_units += c.topo.n_units > 0;
		placed++;
		lose_one(&c, &h, &c.layout, &rng);
		sn_placement_done(&p);
		gen_done(&c);
	}
	print_message("# %u placements, %u with units\n", placed, with_units);
	assert_true(placed > 300 && with_units > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_full_nodes_of_each_supernode),
		cmocka_unit_test(a_smaller_node_is_no_spare),
		cmocka_unit_test(none_without_spares),
		cmocka_unit_test(units),
		cmocka_unit_test(spares_stand_in),
		cmocka_unit_test(nodes_out_of_order_are_refused),
		cmocka_unit_test(the_most_there_can_be),
		cmocka_unit_test(what_is_placed_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
