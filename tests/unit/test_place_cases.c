/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_place_cases.c - the interface contract's example, and what public bug
 * reports say that schedulers of such machines get wrong.
 *
 * A segment is an atom of whole nodes: one card a node here, one rank a node.
 * In the comments "6/6/6/6" is four supernodes with that many free nodes.
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

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Place and have the judge look at it. */
static int place(struct gen_case *c, struct sn_placement *p, struct sn_err *err)
{
	uint32_t *ranks = calloc(c->topo.n_nodes + 1, sizeof(*ranks));
	char why[ORACLE_WHY];
	struct oracle o;
	int rc;

	err->text[0] = '\0';
	memset(p, 0, sizeof(*p));
	assert_non_null(ranks);
	rc = sn_place(&c->topo, &c->state, &c->request, p, err);
	if (!rc) {
		assert_int_equal(oracle_init(&o, &c->topo, &c->state,
					     &c->request), 0);
		if (oracle_check_placement(&o, p, ranks, why))
			fail_msg("%s", why);
		assert_true(p->exact);
		oracle_done(&o);
	} else if (strlen(err->text) < 20) {
		fail_msg("no sentence says why not: '%s'", err->text);
	}
	free(ranks);
	return rc;
}

/* The only right answer: these supernodes, with so many atoms each. */
static void expect(struct gen_case *c, uint32_t n, const uint32_t *supernode,
		   const uint32_t *atoms)
{
	struct sn_placement p;
	struct sn_err err;
	uint32_t i;

	if (place(c, &p, &err))
		fail_msg("refused: %s", err.text);
	assert_int_equal(p.n_supernodes, n);
	for (i = 0; i < n; i++) {
		assert_int_equal(p.supernode[i].supernode, supernode[i]);
		assert_int_equal(p.supernode[i].atoms, atoms[i]);
	}
	sn_placement_done(&p);
}

static void expect_refused(struct gen_case *c, int rc)
{
	struct sn_placement p;
	struct sn_err err;

	assert_int_equal(place(c, &p, &err), rc);
}

#define EXPECT(c, supernodes, atoms) do { \
	static const uint32_t s_[] = supernodes, a_[] = atoms; \
	expect(c, N(s_), s_, a_); \
} while (0)
#define LIST(...) { __VA_ARGS__ }

static void case_of(struct gen_case *c, uint32_t n, const uint32_t *size,
		    uint32_t cards)
{
	gen_simple(c, n, size, cards);
}

#define CASE(c, cards, ...) do { \
	static const uint32_t size_[] = { __VA_ARGS__ }; \
	case_of(c, N(size_), size_, cards); \
} while (0)

/* 6/6/6/6 -N12 --segment=4: three segments inside supernodes, not 6+6. A job
 * that names a supernode's own nodes gets them. */
static void segments_stay_inside_supernodes(void **state)
{
	struct gen_case c;
	uint32_t i;

	(void)state;
	CASE(&c, 1, 6, 6, 6, 6);
	gen_segment(&c, 12, 4);
	EXPECT(&c, LIST(0, 1, 2), LIST(1, 1, 1));
	gen_segment(&c, 6, 6);
	for (i = 12; i < 18; i++)
		c.node[i].flags |= SN_NODE_REQUIRED;
	EXPECT(&c, LIST(2), LIST(1));
	gen_done(&c);
}

/* Supernodes of 6, 3/3/6/6, -N5 --segment=5; racks of 18, segments of 17 and
 * 18: never over two supernodes while a whole one is free. */
static void a_segment_never_leaks(void **state)
{
	struct gen_case c;
	uint32_t i;

	(void)state;
	CASE(&c, 1, 6, 6, 6, 6);
	for (i = 0; i < 3; i++)
		c.node[i].free = c.node[6 + i].free = 0;
	gen_segment(&c, 5, 5);
	EXPECT(&c, LIST(2), LIST(1));
	gen_done(&c);
	CASE(&c, 1, 18, 18, 18);
	c.node[0].free = 0;
	c.node[18].free = c.node[19].free = 0;
	gen_segment(&c, 17, 17);
	EXPECT(&c, LIST(0), LIST(1));
	gen_segment(&c, 18, 18);
	EXPECT(&c, LIST(2), LIST(1));
	gen_segment(&c, 36, 18);
	expect_refused(&c, -ENOSPC);
	gen_done(&c);
}

/* Node names that take turns between racks, one task a node: ranks 0-5 in one
 * rack and 6-11 in the other. */
static void ranks_do_not_alternate_between_supernodes(void **state)
{
	struct sn_layout layout = { .tp = 6, .cp = 1, .ep = 1, .etp = 1,
		.pp = 1, .dp = 2, .tp_within = SN_IN_SUPERNODE,
		.cp_within = SN_IN_SUPERNODE, .ep_within = SN_IN_SUPERNODE,
		.etp_within = SN_IN_SUPERNODE };
	struct sn_rankmap_node node[12];
	struct sn_placement p;
	struct sn_rankmap map;
	struct sn_err err;
	struct gen_case c;
	uint32_t i;

	(void)state;
	CASE(&c, 1, 6, 6);
	for (i = 0; i < 12; i++)
		snprintf(c.topo.node[i].name, 8, "n%02u",
			 i < 6 ? 2 * i + 1 : 2 * (i - 6) + 2);
	assert_true(gen_layout_finish(&layout));
	gen_segment(&c, 12, 6);
	assert_int_equal(place(&c, &p, &err), 0);
	assert_int_equal(p.n_nodes, 12);
	for (i = 0; i < 12; i++) {
		node[i].supernode = c.topo.node[p.node[i].node].supernode;
		node[i].ranks = p.node[i].ranks;
	}
	assert_int_equal(sn_rankmap_build(&layout, node, 12, &map, &err), 0);
	for (i = 0; i < 12; i++) {
		assert_int_equal(c.topo.node[p.node[map.node[i]].node].supernode,
				 i / 6);
		assert_int_equal(map.local[i], 0);
	}
	sn_rankmap_done(&map);
	sn_placement_done(&p);
	gen_done(&c);
}

/* No aligned aggregates: 2/6/6/1 -N12 runs, 4/4/3/3 -N6 runs, on the fewest
 * supernodes and with the least left over. */
static void any_supernodes_go_together(void **state)
{
	struct gen_case c;

	(void)state;
	CASE(&c, 1, 2, 6, 6, 1);
	gen_segment(&c, 12, 1);
	EXPECT(&c, LIST(1, 2), LIST(6, 6));
	gen_done(&c);
	CASE(&c, 1, 4, 4, 3, 3);
	gen_segment(&c, 6, 1);
	EXPECT(&c, LIST(2, 3), LIST(3, 3));
	gen_segment(&c, 7, 1);
	EXPECT(&c, LIST(0, 2), LIST(4, 3));
	gen_done(&c);
}

/* Many supernodes, all with fewer free nodes than a segment: a plain no, without
 * the search that such a case must not begin (it would not end). */
static void a_no_needs_no_search(void **state)
{
	uint32_t *size = malloc(4000 * sizeof(*size)), i;
	struct gen_case c;

	(void)state;
	assert_non_null(size);
	for (i = 0; i < 4000; i++)
		size[i] = 8;
	gen_simple(&c, 4000, size, 1);
	for (i = 0; i < c.topo.n_nodes; i++)
		if (i % 8 > 2)
			c.node[i].free = 0;
	gen_segment(&c, 400, 4);
	expect_refused(&c, -ENOSPC);
	gen_done(&c);
	free(size);
}

/* Supernodes that are incomplete, of odd sizes, without a usable card; a
 * request for nothing. */
static void odd_sizes_are_no_trouble(void **state)
{
	struct gen_case c;

	(void)state;
	CASE(&c, 1, 7, 3, 5, 1);
	gen_segment(&c, 9, 3);
	EXPECT(&c, LIST(0, 1), LIST(2, 1));
	gen_segment(&c, 12, 3);
	EXPECT(&c, LIST(0, 1, 2), LIST(2, 1, 1));
	gen_segment(&c, 15, 3);
	expect_refused(&c, -ENOSPC);
	gen_segment(&c, 0, 1);
	expect_refused(&c, -EINVAL);
	gen_segment(&c, 4, 0);
	expect_refused(&c, -EINVAL);
	gen_segment(&c, 4, 2);
	c.request.node_block = 0;
	expect_refused(&c, -EINVAL);
	gen_segment(&c, 4, 2);
	c.request.unit_block = 0;
	expect_refused(&c, -EINVAL);
	gen_done(&c);

	memset(&c, 0, sizeof(c)); /* a cluster of nothing */
	gen_segment(&c, 1, 1);
	expect_refused(&c, -ENOSPC);
}

/* Two supernodes fit: the one that leaves less is taken; and so for the nodes
 * in one. */
static void the_tighter_fit_is_taken(void **state)
{
	struct sn_placement p;
	struct sn_err err;
	struct gen_case c;

	(void)state;
	CASE(&c, 1, 6, 4, 5);
	gen_segment(&c, 4, 4);
	EXPECT(&c, LIST(1), LIST(1));
	gen_done(&c);
	CASE(&c, 8, 3);
	c.node[1].free = 0x3c;
	gen_segment(&c, 4, 4);
	c.request.node_block = c.request.unit_block = 4;
	assert_int_equal(place(&c, &p, &err), 0);
	assert_int_equal(p.n_nodes, 1);
	assert_int_equal(p.node[0].node, 1);
	assert_int_equal(p.score.left_in_nodes, 0);
	sn_placement_done(&p);
	gen_done(&c);
}

/* What greedy misses. Hosts with 2/4/3 free cards and pairs: 8 ranks are there,
 * and not a pair more. Units of 5/4/4 nodes and 8 nodes: the big one first
 * would need three nodes of another, 4+4 leaves none split; both are two units,
 * so the weights may decide for the two that the big one is not among. */
static void greedy_is_not_enough(void **state)
{
	struct sn_placement p;
	struct sn_err err;
	struct gen_case c;
	uint32_t i;

	(void)state;
	CASE(&c, 4, 3);
	c.node[0].free = 0x3;
	c.node[2].free = 0x7;
	gen_segment(&c, 8, 8);
	c.request.node_block = c.request.unit_block = 2;
	EXPECT(&c, LIST(0), LIST(1));
	gen_segment(&c, 10, 10);
	c.request.node_block = c.request.unit_block = 2;
	expect_refused(&c, -ENOSPC);
	gen_done(&c);

	CASE(&c, 1, 13);
	c.topo.n_units = 3;
	c.topo.unit = calloc(3, sizeof(*c.topo.unit));
	for (i = 0; i < 3; i++) {
		c.topo.unit[i].name = strdup("u1");
		c.topo.unit[i].name[1] += i;
		c.topo.unit[i].n_nodes = i ? 4 : 5;
	}
	for (i = 0; i < 13; i++) {
		c.topo.node[i].unit = i < 5 ? 0 : i < 9 ? 1 : 2;
		c.node[i].weight = i < 5 ? 2 : 1;
	}
	gen_segment(&c, 8, 8);
	assert_int_equal(place(&c, &p, &err), 0);
	assert_int_equal(p.score.units, 2);
	assert_int_equal(p.score.weight, 8);
	sn_placement_done(&p);
	/* Unit blocks of 4: one in each of the units, three in all. */
	gen_segment(&c, 12, 12);
	c.request.unit_block = 4;
	assert_int_equal(place(&c, &p, &err), 0);
	assert_int_equal(p.score.units, 3);
	sn_placement_done(&p);
	c.node[12].free = 0;
	expect_refused(&c, -ENOSPC);
	gen_done(&c);
}

/* 10 nodes in segments of 4: refused with the arithmetic, never held. */
static void a_remainder_is_refused(void **state)
{
	struct sn_placement p;
	struct sn_err err;
	struct gen_case c;

	(void)state;
	CASE(&c, 1, 6, 6, 6, 6);
	gen_segment(&c, 10, 4);
	assert_int_equal(place(&c, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "10"));
	assert_non_null(strstr(err.text, "4"));
	gen_done(&c);
}

/* A node whose health puts it last is not chosen while good ones are free; and
 * with one candidate left the rules are the same. */
static void one_candidate_is_judged_like_many(void **state)
{
	struct sn_placement p;
	struct sn_err err;
	struct gen_case c;

	(void)state;
	CASE(&c, 8, 3);
	c.node[0].weight = 100;
	gen_segment(&c, 16, 16);
	EXPECT(&c, LIST(0), LIST(1));
	assert_int_equal(place(&c, &p, &err), 0);
	assert_int_equal(p.node[0].node, 1);
	sn_placement_done(&p);
	/* Two cards are masked, and the other nodes gone. */
	c.node[0].free = 0x3f;
	c.node[1].flags = c.node[2].flags = SN_NODE_ABSENT;
	gen_segment(&c, 8, 8);
	expect_refused(&c, -ENOSPC);
	gen_segment(&c, 6, 6);
	EXPECT(&c, LIST(0), LIST(1));
	c.request.whole_nodes = true;
	expect_refused(&c, -ENOSPC);
	gen_done(&c);
}

/* interfaces.md: 16 supernodes of 49 nodes with a spare, TP8 EP64 PP6 DP128. */
static void the_contracts_example(void **state)
{
	static const char text[] =
		"SupernodeName=sn[01-16] Nodes=n[001-784] NodesPerSupernode=49 SpareNodes=1 PoolMemory=48T PoolBandwidth=20T PowerLimit=400kW Shape=full CardBandwidth=784G CardLatency=1u\n"
		"UnitName=u[001-112] Nodes=n[001-784] NodesPerUnit=7\n"
		"FabricName=pod[1-4] Supernodes=sn[01-16] MembersPerFabric=4 CardBandwidth=50G CardLatency=20u\n"
		"FabricName=core Fabrics=pod[1-4] CardBandwidth=25G CardLatency=30u\n";
	struct sn_place_state place_state = { 0 };
	struct sn_place_node *node;
	uint32_t *ranks, s, i;
	struct sn_jobspec spec = { .has_parallel = true };
	struct sn_place_request request;
	struct sn_rankmap_node map_node[768];
	struct sn_placement p;
	struct sn_rankmap map;
	struct sn_topo *topo;
	char why[ORACLE_WHY];
	struct oracle o;
	struct sn_err err;

	(void)state;
	if (sn_topo_parse(text, strlen(text), "topology.conf", NULL, NULL,
			  &topo, &err))
		fail_msg("%s", err.text);
	assert_int_equal(sn_layout_parse("tp=8,ep=64,etp=1,pp=6,dp=128", 8,
					 &spec.layout, &err), 0);
	sn_place_request_init(&request, &spec);
	assert_int_equal(request.world, 6144);
	assert_int_equal(request.atom, 64);
	assert_int_equal(request.node_block, 8);
	node = calloc(topo->n_nodes, sizeof(*node));
	ranks = calloc(topo->n_nodes, sizeof(*ranks));
	assert_non_null(node);
	assert_non_null(ranks);
	for (i = 0; i < topo->n_nodes; i++)
		node[i] = (struct sn_place_node){ .cards = 0xff, .free = 0xff,
			.weight = 1, .max_ranks = UINT32_MAX };
	place_state.node = node;
	if (sn_place(topo, &place_state, &request, &p, &err))
		fail_msg("%s", err.text);
	assert_int_equal(oracle_init(&o, topo, &place_state, &request), 0);
	if (oracle_check_placement(&o, &p, ranks, why))
		fail_msg("%s", why);

	assert_int_equal(p.score.supernodes, 16);
	assert_int_equal(p.score.n_levels, 2);
	assert_int_equal(p.score.fabrics[0], 1);
	assert_int_equal(p.score.fabrics[1], 4);
	assert_int_equal(p.score.units, 112);
	assert_int_equal(p.score.nodes, 768);
	assert_int_equal(p.score.weight, 768);
	assert_int_equal(p.score.left_in_supernodes, 128);
	assert_int_equal(p.score.left_in_nodes, 0);
	assert_int_equal(p.n_spares, 0);
	for (s = 0; s < 16; s++) {
		assert_int_equal(p.supernode[s].supernode, s);
		assert_int_equal(p.supernode[s].atoms, 6);
		assert_int_equal(p.supernode[s].n, 48);
		assert_int_equal(p.supernode[s].left_free, 8);
		for (i = 0; i < 48; i++) /* n001-n048 of n001-n049, and so on */
			assert_int_equal(p.node[48 * s + i].node, 49 * s + i);
	}
	for (i = 0; i < p.n_nodes; i++) {
		map_node[i].supernode = topo->node[p.node[i].node].supernode;
		map_node[i].ranks = p.node[i].ranks;
	}
	assert_int_equal(sn_rankmap_build(&spec.layout, map_node, p.n_nodes,
					  &map, &err), 0);
	if (oracle_check_rankmap(&o, &spec.layout, &p, &map, why))
		fail_msg("%s", why);
	assert_int_equal(map.node[0], 0);
	assert_int_equal(map.local[1], 1);
	sn_rankmap_done(&map);
	sn_placement_done(&p);
	oracle_done(&o);
	free(ranks);
	free(node);
	sn_topo_destroy(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_stay_inside_supernodes),
		cmocka_unit_test(a_segment_never_leaks),
		cmocka_unit_test(ranks_do_not_alternate_between_supernodes),
		cmocka_unit_test(any_supernodes_go_together),
		cmocka_unit_test(a_no_needs_no_search),
		cmocka_unit_test(odd_sizes_are_no_trouble),
		cmocka_unit_test(the_tighter_fit_is_taken),
		cmocka_unit_test(greedy_is_not_enough),
		cmocka_unit_test(a_remainder_is_refused),
		cmocka_unit_test(one_candidate_is_judged_like_many),
		cmocka_unit_test(the_contracts_example),
	};

	return cmocka_run_group_tests_name("place_cases", tests, NULL, NULL);
}
