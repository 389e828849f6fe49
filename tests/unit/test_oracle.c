/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_oracle.c - who judges the judge: answers known by hand, and answers
 * spoilt in one place, which must not pass.
 */
#include "config.h"

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

static const struct gen_limits limits = {
	.supernodes = 4, .nodes_per_supernode = 5, .loose = 2, .nodes = 9,
	.world = 48, .effort = 1e5,
};

/* A placement as an engine would write it that found these ranks. */
static void answer(struct oracle *o, const uint32_t *ranks,
		   const struct oracle_key *key, struct sn_placement *ret)
{
	const struct sn_topo *topo = o->topo;
	uint32_t s, i, kind, k = 2;

	memset(ret, 0, sizeof(*ret));
	ret->exact = true;
	ret->supernode = calloc(topo->n_supernodes, sizeof(*ret->supernode));
	ret->node = calloc(topo->n_nodes, sizeof(*ret->node));
	ret->spare = calloc(topo->n_nodes, sizeof(*ret->spare));
	ret->score.fabrics = calloc(topo->fabric_levels + 1, sizeof(uint32_t));
	assert_true(ret->supernode && ret->node && ret->spare);
	for (s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		struct sn_placed_supernode *ps = &ret->supernode[ret->n_supernodes];
		uint32_t sum = 0, most = 0, spares = o->request->spares;
		bool taken[64] = { false };

		ps->first = ret->n_nodes;
		for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
			ps->left_free += o->free[i] - ranks[i];
			if (!ranks[i])
				continue;
			sum += ranks[i];
			most = ranks[i] > most ? ranks[i] : most;
			ret->node[ret->n_nodes].node = i;
			ret->node[ret->n_nodes++].ranks = ranks[i];
		}
		if (!sum) {
			ps->left_free = 0;
			continue;
		}
		ps->supernode = s;
		ps->atoms = sum / o->request->atom;
		ps->n = ret->n_nodes - ps->first;
		ret->n_supernodes++;
		for (kind = 0; kind < 4; kind++)
			for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
				if (!ranks[i] && o->room[i] >= most && spares &&
				    oracle_kind(&o->state->node[i]) == kind &&
				    !(kind & ~key->v[0])) {
					taken[i] = true;
					spares--;
				}
		for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
			if (taken[i])
				ret->spare[ret->n_spares++] =
					(struct sn_placed_spare){ i, most };
	}
	ret->score.supernodes = key->v[1];
	for (i = 0; i < topo->fabric_levels; i++)
		ret->score.fabrics[i] = key->v[k++];
	ret->score.n_levels = topo->fabric_levels;
	ret->score.units = key->v[k++];
	ret->score.nodes = key->v[k++];
	ret->score.degraded = key->v[k++];
	k++; /* late nodes are not in it */
	ret->score.weight = key->v[k++];
	ret->score.left_in_supernodes = key->v[k++];
	ret->score.left_in_nodes = key->v[k++];
}

static void answer_done(struct sn_placement *p)
{
	free(p->supernode);
	free(p->node);
	free(p->spare);
	free(p->score.fabrics);
}

/* Spoils p in the k-th way and returns true, or there is no such way here. */
static bool spoil(struct oracle *o, struct sn_placement *p, uint32_t k)
{
	uint32_t i;

	switch (k) {
	case 0:
		p->node[0].ranks++;
		return true;
	case 1:
		p->node[p->n_nodes - 1].ranks = 0;
		return true;
	case 2: /* one node gives a block to another: ranks keep their sum */
		if (p->supernode[0].n < 2 ||
		    p->node[0].ranks <= o->request->node_block)
			return false;
		p->node[1].ranks += o->request->node_block;
		p->node[0].ranks -= o->request->node_block;
		return p->node[1].ranks > o->cap[p->node[1].node];
	case 3: /* the ranks of a node go to one that may not run any */
		for (i = 0; i < o->topo->n_nodes; i++)
			if (!o->cap[i] && o->topo->node[i].supernode ==
					  p->supernode[0].supernode)
				p->node[0].node = i;
		return !o->cap[p->node[0].node] &&
		       (p->n_nodes < 2 || p->node[0].node < p->node[1].node);
	case 4:
		if (p->n_supernodes < 2)
			return false;
		p->supernode[0].supernode = p->supernode[1].supernode;
		return true;
	case 5:
		p->supernode[0].atoms++;
		return true;
	case 6:
		p->supernode[0].left_free++;
		return true;
	case 7:
		p->n_spares--;
		return p->n_spares != UINT32_MAX;
	case 8:
		if (!p->n_spares)
			return false;
		p->spare[0].cards++;
		return true;
	case 9:
		if (!p->n_spares)
			return false;
		p->spare[0].node = p->node[0].node;
		return true;
	case 10:
		p->score.units++;
		return true;
	case 11:
		p->score.nodes++;
		return true;
	case 12:
		p->score.weight--;
		return true;
	case 13:
		p->score.left_in_supernodes++;
		return true;
	case 14:
		p->score.left_in_nodes++;
		return true;
	case 15:
		if (!p->score.n_levels)
			return false;
		p->score.fabrics[p->score.n_levels - 1]++;
		return true;
	case 16:
		p->score.n_levels++;
		return true;
	default:
		p->n_nodes--;
		return true;
	}
}

static void a_spoilt_placement_does_not_pass(void **state)
{
	uint32_t ranks[64], check[64], k, seen[18] = { 0 };
	struct sn_placement p;
	struct oracle_key key;
	char why[ORACLE_WHY];
	struct gen_case c;
	struct oracle o;
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 400; seed++) {
		gen_case(&c, seed, &limits);
		assert_int_equal(oracle_init(&o, &c.topo, &c.state, &c.request),
				 0);
		for (k = 0; oracle_search(&o, ranks, &key) && k < 18; k++) {
			answer(&o, ranks, &key, &p);
			if (oracle_check_placement(&o, &p, check, why))
				fail_msg("seed %d: %s", (int)seed, why);
			assert_memory_equal(ranks, check, 4 * c.topo.n_nodes);
			if (spoil(&o, &p, k)) {
				seen[k]++;
				if (!oracle_check_placement(&o, &p, check, why)) {
					gen_print(stdout, &c);
					fail_msg("spoilt by %u, it passes", k);
				}
			}
			answer_done(&p);
		}
		oracle_done(&o);
		gen_done(&c);
	}
	for (k = 0; k < 18; k++)
		assert_true(seen[k]);
}

/* tp=2 cp=1 ep=2 etp=1 dp=2 pp=2 on two nodes of 4: atoms [0,1] [2,3] … */
static void a_spoilt_map_does_not_pass(void **state)
{
	static const uint32_t size[] = { 1, 1 };
	struct sn_layout layout = { .tp = 2, .cp = 1, .ep = 2, .etp = 1,
		.pp = 2, .dp = 2, .tp_within = SN_IN_NODE,
		.cp_within = SN_IN_SUPERNODE, .ep_within = SN_IN_SUPERNODE,
		.etp_within = SN_IN_SUPERNODE };
	uint32_t node[8] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	uint32_t local[8] = { 0, 1, 2, 3, 0, 1, 2, 3 };
	struct sn_rankmap map = { .world = 8, .node = node, .local = local };
	uint32_t ranks[2] = { 4, 4 };
	struct sn_placement p;
	struct oracle_key key;
	char why[ORACLE_WHY];
	struct gen_case c;
	struct oracle o;

	(void)state;
	gen_simple(&c, 2, size, 4);
	assert_true(gen_layout_finish(&layout));
	assert_int_equal(layout.node_block, 2);
	assert_int_equal(layout.atom, 2);
	gen_segment(&c, 8, 2);
	assert_int_equal(oracle_init(&o, &c.topo, &c.state, &c.request), 0);
	oracle_key(&o, ranks, &key);
	answer(&o, ranks, &key, &p);
	assert_int_equal(oracle_check_rankmap(&o, &layout, &p, &map, why), 0);
	local[1] = 0; /* two ranks on one card */
	assert_int_equal(oracle_check_rankmap(&o, &layout, &p, &map, why), -1);
	local[1] = 1;
	node[0] = node[1] = 1; /* atoms change places, but for map=auto */
	node[4] = node[5] = 0;
	memcpy(local, (uint32_t[8]){ 0, 1, 0, 1, 2, 3, 2, 3 }, sizeof(local));
	assert_int_equal(oracle_check_rankmap(&o, &layout, &p, &map, why), -1);
	layout.map = SN_MAP_AUTO;
	assert_int_equal(oracle_check_rankmap(&o, &layout, &p, &map, why), 0);
	node[1] = 0; /* a tp group over two nodes */
	node[4] = 1;
	memcpy(local, (uint32_t[8]){ 0, 0, 1, 2, 1, 3, 2, 3 }, sizeof(local));
	assert_int_equal(oracle_check_rankmap(&o, &layout, &p, &map, why), -1);
	answer_done(&p);
	oracle_done(&o);
	gen_done(&c);
}

/* facts: tp8 ep64 etp1 ties 64 ranks, etp8 ties 512; cp before tp strides. */
static void blocks_are_those_of_the_papers_examples(void **state)
{
	struct sn_layout y = { .tp = 8, .cp = 1, .ep = 64, .etp = 1, .pp = 6,
		.dp = 128, .tp_within = SN_IN_NODE,
		.cp_within = SN_IN_SUPERNODE, .ep_within = SN_IN_SUPERNODE,
		.etp_within = SN_IN_SUPERNODE };

	(void)state;
	assert_true(gen_layout_finish(&y));
	assert_int_equal(y.world, 6144);
	assert_int_equal(y.node_block, 8);
	assert_int_equal(y.atom, 64);
	assert_int_equal(y.dp_step, 8);
	y.etp = 8;
	assert_true(gen_layout_finish(&y));
	assert_int_equal(y.atom, 512);
	assert_int_equal(oracle_group(&y, ORACLE_EP, 504), 0);
	assert_int_equal(oracle_group(&y, ORACLE_EP, 505), 1);
}

/* sn1 and sn2 share a root of one level, sn3 and sn4 are two levels down in
 * one pod: both pairs have one root, but below it sn1 and sn2 stand for
 * themselves, so the later pair is narrower. */
static void a_short_chain_counts_as_itself(void **state)
{
	static const uint32_t size[] = { 1, 1, 1, 1 };
	uint32_t ranks[4], first[4] = { 1, 1, 0, 0 };
	struct oracle_key key, other;
	struct gen_case c;
	struct oracle o;

	(void)state;
	gen_simple(&c, 4, size, 1);
	c.topo.n_fabrics = 3;
	c.topo.fabric_levels = 2;
	c.topo.fabric = calloc(3, sizeof(*c.topo.fabric));
	assert_non_null(c.topo.fabric);
	c.topo.fabric[0].parent = c.topo.fabric[1].parent = SN_NONE;
	c.topo.fabric[2].parent = 1;
	c.topo.fabric[2].depth = 1;
	c.topo.supernode[0].fabric = c.topo.supernode[1].fabric = 0;
	c.topo.supernode[2].fabric = c.topo.supernode[3].fabric = 2;
	gen_segment(&c, 2, 1);
	assert_int_equal(oracle_init(&o, &c.topo, &c.state, &c.request), 0);
	assert_true(oracle_search(&o, ranks, &key));
	assert_memory_equal(ranks, ((uint32_t[4]){ 0, 0, 1, 1 }), sizeof(ranks));
	oracle_key(&o, first, &other);
	assert_int_equal(key.v[2], 1);
	assert_int_equal(key.v[3], 1);
	assert_int_equal(other.v[2], 1);
	assert_int_equal(other.v[3], 2);
	oracle_done(&o);
	gen_done(&c);
}

/* So a printed case can be replayed, and the model made by hand is the one that
 * the parser would have made. */
static void a_printed_topology_parses_to_the_same(void **state)
{
	struct sn_topo *topo;
	struct gen_case c;
	struct sn_err err;
	uint64_t seed;
	size_t len;
	char *text;
	uint32_t i;
	FILE *out;

	(void)state;
	for (seed = 0; seed < 400; seed++) {
		gen_case(&c, seed, &limits);
		out = open_memstream(&text, &len);
		assert_non_null(out);
		gen_print_topology(out, &c.topo);
		fclose(out);
		if (sn_topo_parse(text, len, "printed", NULL, NULL, &topo, &err))
			fail_msg("%s\n%s", err.text, text);
		for (i = 0; i < c.topo.n_supernodes; i++)
			if (c.topo.supernode[i].loose)
				assert_int_equal(sn_topo_add_loose(topo,
					c.topo.supernode[i].name, &err), 0);
		assert_int_equal(topo->n_nodes, c.topo.n_nodes);
		assert_int_equal(topo->n_supernodes, c.topo.n_supernodes);
		assert_int_equal(topo->n_units, c.topo.n_units);
		assert_int_equal(topo->n_fabrics, c.topo.n_fabrics);
		assert_int_equal(topo->fabric_levels, c.topo.fabric_levels);
		for (i = 0; i < topo->n_nodes; i++) {
			assert_string_equal(topo->node[i].name,
					    c.topo.node[i].name);
			assert_int_equal(topo->node[i].unit, c.topo.node[i].unit);
			assert_int_equal(topo->node[i].supernode,
					 c.topo.node[i].supernode);
		}
		for (i = 0; i < topo->n_supernodes; i++) {
			struct sn_topo_supernode *a = &topo->supernode[i];
			struct sn_topo_supernode *b = &c.topo.supernode[i];

			assert_string_equal(a->name, b->name);
			assert_int_equal(a->first_node, b->first_node);
			assert_int_equal(a->n_nodes, b->n_nodes);
			assert_int_equal(a->fabric, b->fabric);
			assert_int_equal(a->loose, b->loose);
			assert_int_equal(a->spare_nodes, b->spare_nodes);
		}
		for (i = 0; i < topo->n_fabrics; i++) {
			assert_int_equal(topo->fabric[i].parent,
					 c.topo.fabric[i].parent);
			assert_int_equal(topo->fabric[i].depth,
					 c.topo.fabric[i].depth);
		}
		sn_topo_destroy(topo);
		free(text);
		gen_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spoilt_placement_does_not_pass),
		cmocka_unit_test(a_spoilt_map_does_not_pass),
		cmocka_unit_test(blocks_are_those_of_the_papers_examples),
		cmocka_unit_test(a_short_chain_counts_as_itself),
		cmocka_unit_test(a_printed_topology_parses_to_the_same),
	};

	return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
