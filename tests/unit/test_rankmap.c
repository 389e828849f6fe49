/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_rankmap.c - rank maps: legal for every layout, in the promised order.
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

#include "topology/rankmap.h"

#define NODES_MAX 4096

static struct sn_layout parse(const char *spec)
{
	struct sn_layout l;
	struct sn_err err;

	if (sn_layout_parse(spec, 8, &l, &err))
		fail_msg("%s: %s", spec, err.text);
	return l;
}

static struct sn_rankmap build(const struct sn_layout *l,
			       const struct sn_rankmap_node *node, uint32_t n)
{
	struct sn_rankmap m;
	struct sn_err err;

	if (sn_rankmap_build(l, node, n, &m, &err))
		fail_msg("%s", err.text);
	assert_int_equal(m.world, l->world);
	return m;
}

/* Random nodes and counts for which a legal order exists. */
static uint32_t random_nodes(unsigned int *seed, const struct sn_layout *l,
			     struct sn_rankmap_node *node)
{
	uint32_t left = l->world / l->atom, n = 0, sn = 1000;

	while (left) {
		uint32_t atoms = 1 + (uint32_t)rand_r(seed) % left;
		uint32_t blocks = atoms * (l->atom / l->node_block);

		left -= atoms;
		sn -= 1 + (uint32_t)rand_r(seed) % 3;
		while (blocks) {
			uint32_t some = 1 + (uint32_t)rand_r(seed) %
					(blocks > 4 ? 4 : blocks);

			if (rand_r(seed) % 10 == 0)
				some = 0;
			node[n].supernode = sn;
			node[n++].ranks = some * l->node_block;
			blocks -= some;
			assert_true(n < NODES_MAX);
		}
	}
	return n;
}

/* Two ranks that share a group of the axis: the other coordinates agree. */
static bool same_group(const struct sn_coords *a, const struct sn_coords *b,
		       int axis)
{
	bool t = a->tp == b->tp, c = a->cp == b->cp, d = a->dp == b->dp;
	bool x = a->etp == b->etp, e = a->ep == b->ep, y = a->edp == b->edp;

	if (a->pp != b->pp)
		return false;
	return axis == 0 ? c && d : axis == 1 ? t && d :
	       axis == 2 ? e && y : x && y;
}

static void check_legal(const struct sn_layout *l, const struct sn_rankmap *m,
			const struct sn_rankmap_node *node, uint32_t n)
{
	enum sn_domain within[4] = { l->tp_within, l->cp_within,
				     l->etp_within, l->ep_within };
	uint32_t *count = calloc(n, sizeof(*count));

	for (uint32_t r = 0; r < l->world; r++) {
		assert_true(m->node[r] < n);
		/* ascending with the rank, without gaps */
		assert_int_equal(m->local[r], count[m->node[r]]++);
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(count[i], node[i].ranks);
	free(count);
	for (uint32_t a = 0; a < l->world; a++)
		for (uint32_t b = a + 1; b < l->world; b++) {
			struct sn_coords x, y;

			if (m->node[a] == m->node[b])
				continue;
			sn_layout_coords(l, a, &x);
			sn_layout_coords(l, b, &y);
			for (int axis = 0; axis < 4; axis++) {
				if (!same_group(&x, &y, axis) ||
				    within[axis] == SN_IN_ANY)
					continue;
				assert_true(within[axis] != SN_IN_NODE);
				assert_int_equal(node[m->node[a]].supernode,
						 node[m->node[b]].supernode);
			}
		}
}

/* Where every block is consecutive ranks, the map is plain rank order. */
static bool is_consecutive(const struct sn_layout *l)
{
	uint32_t *block = malloc(l->world * sizeof(*block));
	bool yes = true;

	for (int d = SN_IN_NODE; d <= SN_IN_SUPERNODE; d++) {
		assert_int_equal(sn_layout_blocks(l, (enum sn_domain)d, block), 0);
		for (uint32_t r = 1; r < l->world; r++)
			yes &= block[r] >= block[r - 1];
	}
	free(block);
	return yes;
}

static uint64_t edges_out(const struct sn_layout *l, const struct sn_rankmap *m,
			  const struct sn_rankmap_node *node)
{
	uint64_t n = 0;

	for (uint32_t a = 0; a < l->world; a++)
		for (uint32_t b = 0; b < l->world; b++) {
			struct sn_coords x, y;

			if (node[m->node[a]].supernode ==
			    node[m->node[b]].supernode)
				continue;
			sn_layout_coords(l, a, &x);
			sn_layout_coords(l, b, &y);
			if (x.tp != y.tp || x.cp != y.cp)
				continue;
			n += x.dp == y.dp && x.pp + 1 == y.pp;
			n += x.pp == y.pp && (x.dp + 1) % l->dp == y.dp &&
			     !(l->dp == 2 && x.dp == 1);
		}
	return n;
}

static void random_maps_are_legal(void **state)
{
	static const char *const in[] = { "node", "unit", "supernode", "any" };
	static struct sn_rankmap_node node[NODES_MAX];
	unsigned int seed = 4242, n_maps = 0, plain = 0, scattered = 0, better = 0;

	(void)state;
	for (int i = 0; i < 100000 && n_maps < 800; i++) {
		uint32_t v[6], n, order = (uint32_t)rand_r(&seed) % 3;
		struct sn_layout l;
		struct sn_rankmap m, a;
		char spec[256];

		for (int k = 0; k < 6; k++)
			v[k] = 1 + (uint32_t)rand_r(&seed) % 4;
		if (order == 2) {
			v[3] = 1;
			v[2] = v[0] * v[1] * v[5];
		}
		snprintf(spec, sizeof(spec),
			 "tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,%s,tp_within=%s,cp_within=%s,ep_within=%s",
			 v[0], v[1], v[2], v[3], v[4], v[5],
			 order == 0 ? "order=tp-cp-ep-dp-pp" :
			 order == 1 ? "order=tp-cp-ep-pp-dp" : "preset=vllm",
			 in[rand_r(&seed) % 3], in[rand_r(&seed) % 3],
			 in[rand_r(&seed) % 4]);
		if (sn_layout_parse(spec, 0, &l, NULL))
			continue;
		n = random_nodes(&seed, &l, node);
		m = build(&l, node, n);
		check_legal(&l, &m, node, n);
		if (is_consecutive(&l)) {
			for (uint32_t r = 1; r < l.world; r++)
				assert_true(m.node[r] >= m.node[r - 1]);
			plain++;
		} else {
			scattered++;
		}
		l.map = SN_MAP_AUTO;
		a = build(&l, node, n);
		check_legal(&l, &a, node, n);
		if (edges_out(&l, &a, node) < edges_out(&l, &m, node))
			better++;
		else /* no gain: contiguous */
			assert_memory_equal(a.node, m.node,
					    l.world * sizeof(*m.node));
		sn_rankmap_done(&a);
		sn_rankmap_done(&m);
		n_maps++;
	}
	assert_int_equal(n_maps, 800);
	assert_true(plain > 100 && scattered > 100 && better > 20);
}

/* Uneven nodes: 3, 5 and 8 free cards, tp=2 (so 2, 4 and 8 ranks). */
static void ranks_fill_uneven_nodes_in_order(void **state)
{
	static const struct sn_rankmap_node node[] = {
		{ 7, 2, 0 }, { 7, 4, 0 }, { 7, 8, 0 }, { 3, 2, 0 },
	};
	static const uint32_t want[] = { 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2,
					 2, 2, 3, 3 };
	struct sn_layout l = parse("tp=2,dp=8");
	struct sn_rankmap m = build(&l, node, 4);

	(void)state;
	assert_memory_equal(m.node, want, sizeof(want));
	assert_int_equal(m.local[5], 3);
	assert_int_equal(m.local[14], 0);
	sn_rankmap_done(&m);
	assert_null(m.node);
}

/* vLLM: stage 0 is ranks 0 1 4 5, stage 1 is 2 3 6 7. */
static void interleaved_atoms_go_to_their_supernodes(void **state)
{
	static const struct sn_rankmap_node two[] = {
		{ 0, 2, 0 }, { 0, 2, 0 }, { 1, 4, 0 },
	};
	static const struct sn_rankmap_node one[] = { { 0, 4, 0 }, { 0, 4, 0 } };
	static const uint32_t in_two[] = { 0, 0, 2, 2, 1, 1, 2, 2 };
	static const uint32_t in_one[] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	/* bound to a unit, an atom is not mixed with the other */
	static const uint32_t in_units[] = { 0, 0, 1, 1, 0, 0, 1, 1 };
	struct sn_layout l = parse("tp=2,pp=2,dp=2,ep=4,etp=1,preset=vllm");
	struct sn_rankmap m = build(&l, two, 3);

	(void)state;
	assert_memory_equal(m.node, in_two, sizeof(in_two));
	sn_rankmap_done(&m);
	m = build(&l, one, 2);
	assert_memory_equal(m.node, in_one, sizeof(in_one));
	sn_rankmap_done(&m);
	l = parse("tp=2,pp=2,dp=2,ep=4,etp=1,preset=vllm,ep_within=unit");
	m = build(&l, one, 2);
	assert_memory_equal(m.node, in_units, sizeof(in_units));
	sn_rankmap_done(&m);
}

/* Two supernodes of 2 atoms each. Contiguous, every one of the 16 pipeline edges
 * crosses; with both stages of a replica together none does, and the rings of
 * the 4 dp groups cross twice each. */
static void auto_keeps_pipelines_together(void **state)
{
	struct sn_layout l = parse("tp=2,pp=2,dp=8,ep=8,etp=1,map=auto");
	static const struct sn_rankmap_node node[] = {
		{ 0, 8, 0 }, { 0, 8, 0 }, { 1, 8, 0 }, { 1, 8, 0 },
	};
	struct sn_rankmap m = build(&l, node, 4);

	(void)state;
	/* atom 0 of stage 0 and atom 2 of stage 1 share a supernode */
	assert_int_equal(m.node[0], 0);
	assert_int_equal(m.node[16], 1);
	assert_int_equal(m.node[8], 2);
	assert_int_equal(m.node[24], 3);
	sn_rankmap_done(&m);
	l.map = SN_MAP_CONTIGUOUS;
	m = build(&l, node, 4);
	for (uint32_t r = 0; r < 32; r++)
		assert_int_equal(m.node[r], r / 8);
	sn_rankmap_done(&m);
}

static void illegal(const struct sn_layout *l,
		    const struct sn_rankmap_node *node, uint32_t n,
		    const char *want)
{
	struct sn_rankmap m = { .world = 77 };
	struct sn_err err = { "" };

	assert_int_equal(sn_rankmap_build(l, node, n, &m, &err), -EINVAL);
	if (!strstr(err.text, want))
		fail_msg("\"%s\" lacks \"%s\"", err.text, want);
	assert_int_equal(m.world, 77);
}

static void counts_without_a_legal_order_are_refused(void **state)
{
	struct sn_layout l = parse("tp=2,dp=8,ep=4,etp=1");
	static const struct sn_rankmap_node few[] = { { 0, 8, 0 }, { 0, 4, 0 } };
	static const struct sn_rankmap_node odd[] = { { 0, 7, 0 }, { 0, 9, 0 } };
	static const struct sn_rankmap_node cut[] = { { 0, 6, 0 }, { 1, 10, 0 } };
	static const struct sn_rankmap_node huge[] = {
		{ 0, UINT32_MAX, 0 }, { 0, 17, 0 },
	};

	(void)state;
	illegal(&l, few, 2, "12 ranks");
	illegal(&l, odd, 2, "7 ranks");
	illegal(&l, cut, 2, "6 ranks, which splits an atom of 4");
	illegal(&l, huge, 2, "4294967312 ranks"); /* 16 in 32 bits */
	illegal(&l, NULL, 0, "0 ranks");
}

/* As large as anybody asks for; how long it takes is bench's to say. */
static void a_large_map_is_in_order(void **state)
{
	struct sn_layout l = parse("tp=8,ep=64,etp=1,pp=8,dp=1600");
	uint32_t n = l.world / 8;
	struct sn_rankmap_node *node = calloc(n, sizeof(*node));
	struct sn_rankmap m;

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		node[i] = (struct sn_rankmap_node){ .supernode = i / 64, .ranks = 8 };
	m = build(&l, node, n);
	for (uint32_t r = 0; r < l.world; r++) {
		assert_int_equal(m.node[r], r / 8);
		assert_int_equal(m.local[r], r % 8);
	}
	sn_rankmap_done(&m);
	free(node);
}

/* Units 0 and 1 take turns, and each holds one block of 8 that must not leave
 * it: the block of ranks 0-7 fills unit 0's two nodes, not the first two. */
static void units_that_take_turns_keep_their_blocks(void **state)
{
	struct sn_layout l = parse("tp=2,cp=4,dp=2,cp_within=unit");
	static const struct sn_rankmap_node node[] = {
		{ 0, 4, 7 }, { 0, 4, 3 }, { 0, 4, 7 }, { 0, 4, 3 },
	};
	static const struct sn_rankmap_node cut[] = {
		{ 0, 4, 7 }, { 0, 6, 3 }, { 0, 2, 7 }, { 0, 4, 3 },
	};
	static const struct sn_rankmap_node apart[] = {
		{ 0, 4, SN_NONE }, { 0, 4, SN_NONE }, { 0, 8, 3 },
	};
	struct sn_rankmap m = build(&l, node, 4);

	(void)state;
	for (uint32_t r = 0; r < 16; r++)
		assert_int_equal(m.node[r], (r / 4 % 2) * 2 + r / 8);
	sn_rankmap_done(&m);
	illegal(&l, cut, 4, "a unit runs 10 ranks, which splits a block of 8");
	illegal(&l, apart, 3, "a unit runs 4 ranks, which splits a block of 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_maps_are_legal),
		cmocka_unit_test(ranks_fill_uneven_nodes_in_order),
		cmocka_unit_test(interleaved_atoms_go_to_their_supernodes),
		cmocka_unit_test(auto_keeps_pipelines_together),
		cmocka_unit_test(counts_without_a_legal_order_are_refused),
		cmocka_unit_test(a_large_map_is_in_order),
		cmocka_unit_test(units_that_take_turns_keep_their_blocks),
	};

	return cmocka_run_group_tests_name("rankmap", tests, NULL, NULL);
}
