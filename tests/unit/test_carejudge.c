/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_carejudge.c - which nodes that do not answer may be taken out: never where it
 * may be the network, or slurmd alone, and never many at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/carejudge.h"

static const struct sn_care_others all = { true, 3, 3, { 0 } }, none = { true, 3, 0, { 0 } };
static const struct sn_care_others half = { true, 2, 1, { 0 } }, nobody_asked = { true, 0, 0, { 0 } };
static const struct sn_care_others no_such = { false, 0, 0, { 0 } };

static bool out(enum sn_care_witness witness, enum sn_node_word word,
		const struct sn_care_others *near, const struct sn_care_others *far)
{
	const char *why = sn_care_spare(witness, word, near, far);

	assert_true(!why || *why);
	return !why;
}

/* Whatever anybody says. */
static void test_answers(void **state)
{
	(void)state;
	for (int w = SN_WITNESS_NONE; w <= SN_WITNESS_LOST; w++) {
		assert_false(out((enum sn_care_witness)w, SN_NODE_ANSWERS, &all, &all));
		assert_false(out((enum sn_care_witness)w, SN_NODE_UNKNOWN, &all, &all));
	}
}

/* slurmd is being upgraded, and the job runs on. */
static void test_refuses(void **state)
{
	(void)state;
	assert_false(out(SN_WITNESS_NONE, SN_NODE_REFUSES, &all, &all));
	assert_true(out(SN_WITNESS_GONE, SN_NODE_REFUSES, &all, &all));
	assert_true(out(SN_WITNESS_ENDED, SN_NODE_REFUSES, &all, &all));
	assert_true(out(SN_WITNESS_LOST, SN_NODE_REFUSES, &all, &all));
	/* A packet filter may refuse for all. */
	assert_false(out(SN_WITNESS_LOST, SN_NODE_REFUSES, &none, &none));
}

/* The daemon's own network is gone: whoever says what. */
static void test_cut_off(void **state)
{
	(void)state;
	for (int w = SN_WITNESS_NONE; w <= SN_WITNESS_LOST; w++) {
		assert_false(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &none, &none));
		assert_false(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &all, &none));
		assert_false(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &all, &half));
		/* All others are known not to answer. */
		assert_false(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &all, &nobody_asked));
		/* There is nobody else to be asked. */
		assert_false(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &no_such, &no_such));
		assert_false(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &none, &no_such));
	}
}

/* A supernode's switch has gone, and its jobs run on: only their own word counts. */
static void test_switch(void **state)
{
	(void)state;
	assert_false(out(SN_WITNESS_NONE, SN_NODE_IS_SILENT, &none, &all));
	assert_false(out(SN_WITNESS_GONE, SN_NODE_IS_SILENT, &none, &all));
	assert_false(out(SN_WITNESS_NONE, SN_NODE_IS_SILENT, &half, &all));
	assert_false(out(SN_WITNESS_NONE, SN_NODE_IS_SILENT, &nobody_asked, &all));
	assert_true(out(SN_WITNESS_ENDED, SN_NODE_IS_SILENT, &none, &all));
	assert_true(out(SN_WITNESS_LOST, SN_NODE_IS_SILENT, &none, &all));
}

/* One node is dead. */
static void test_dead(void **state)
{
	(void)state;
	for (int w = SN_WITNESS_NONE; w <= SN_WITNESS_LOST; w++) {
		assert_true(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &all, &all));
		assert_true(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &no_such, &all));
		assert_true(out((enum sn_care_witness)w, SN_NODE_IS_SILENT, &all, &no_such));
	}
}

/* The less is said by others, the longer it must not answer. */
static void test_again(void **state)
{
	(void)state;
	for (int w = SN_WITNESS_NONE; w <= SN_WITNESS_LOST; w++) {
		assert_int_equal(sn_care_asks_again((enum sn_care_witness)w, SN_NODE_ANSWERS), 0);
		assert_true(sn_care_asks_again((enum sn_care_witness)w, SN_NODE_REFUSES) >= 2);
	}
	assert_int_equal(sn_care_asks_again(SN_WITNESS_LOST, SN_NODE_IS_SILENT), 0);
	assert_true(sn_care_asks_again(SN_WITNESS_ENDED, SN_NODE_IS_SILENT) >= 1);
	assert_true(sn_care_asks_again(SN_WITNESS_NONE, SN_NODE_IS_SILENT) >
		    sn_care_asks_again(SN_WITNESS_ENDED, SN_NODE_IS_SILENT));
}

static void test_limit(void **state)
{
	struct sn_care_limit l = { 0 };

	(void)state;
	assert_true(sn_care_one_more(&l, 2, NULL, 5000));
	assert_true(sn_care_one_more(&l, 2, NULL, 6000));
	assert_false(sn_care_one_more(&l, 2, NULL, 7000));
	assert_int_equal(l.over, 1);
	assert_false(sn_care_one_more(&l, 2, NULL, 64999));
	assert_int_equal(l.over, 2);
	assert_true(sn_care_one_more(&l, 2, NULL, 65000));
	assert_int_equal(l.over, 0);
	memset(&l, 0, sizeof(l));
	assert_false(sn_care_one_more(&l, 0, NULL, 5000));
	assert_int_equal(l.over, 1);
}

/* Only what dies with everything around it, seen by the job, and nothing elsewhere. */
static void test_whole(void **state)
{
	static const struct sn_care_others two = { true, 2, 2, { 0 } }, most = { true, 3, 2, { 0 } };
	static const struct sn_care_others one_answers = { true, 3, 1, { 0 } };
	static const struct sn_care_others *const elsewhere[] = { &none, &half, &nobody_asked, &no_such, &two, &most };

	(void)state;
	for (int w = SN_WITNESS_NONE; w <= SN_WITNESS_LOST; w++) {
		bool says = w >= SN_WITNESS_ENDED;

		assert_int_equal(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_IS_SILENT, &none, &all), says);
		/* All others of it are down, or known not to answer. */
		assert_int_equal(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_IS_SILENT, &nobody_asked, &all), says);
		/* Some of it lives; it is the only one; a host that is alive. */
		assert_false(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_IS_SILENT, &one_answers, &all));
		assert_false(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_IS_SILENT, &no_such, &all));
		assert_false(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_REFUSES, &none, &all));
		assert_false(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_UNKNOWN, &none, &all));
		/* The daemon is cut off, or may be in part. */
		for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
			assert_false(sn_care_is_whole((enum sn_care_witness)w, SN_NODE_IS_SILENT, &none, elsewhere[i]));
	}
}

/* A supernode counts as one node, and only one such a minute; the next one's nodes count
 * as any other's. */
static void test_limit_whole(void **state)
{
	struct sn_care_limit l = { 0 };
	int64_t now = 5000;
	int n = 0;

	(void)state;
	for (int i = 0; i < 384; i++)
		assert_true(sn_care_one_more(&l, 16, "a", now += 10));
	assert_int_equal(l.n, 1);
	for (int i = 0; i < 48; i++)
		n += sn_care_one_more(&l, 16, "b", now += 10);
	assert_int_equal(n, 15);
	assert_int_equal(l.over, 33);
	/* The rest of the first, also when nothing else is left. */
	assert_true(sn_care_one_more(&l, 16, "a", now));
	assert_false(sn_care_one_more(&l, 16, NULL, now));
	/* A minute from its first node on: anew, and then it may be another. */
	assert_true(sn_care_one_more(&l, 16, "b", 65010));
	assert_int_equal(l.n, 1);
	assert_true(sn_care_one_more(&l, 16, "b", 65011));
	assert_int_equal(l.n, 1);
	assert_true(sn_care_one_more(&l, 16, "a", 65012));
	assert_int_equal(l.n, 2);
	/* One that begins late in a minute has a minute of its own. */
	memset(&l, 0, sizeof(l));
	assert_true(sn_care_one_more(&l, 1, NULL, 1000));
	assert_false(sn_care_one_more(&l, 1, "a", 2000));
	assert_int_equal(l.over, 1);
	assert_true(sn_care_one_more(&l, 2, "a", 50000));
	assert_true(sn_care_one_more(&l, 2, "a", 62000)); /* n is that of the next minute */
	assert_int_equal(l.n, 0);
	for (int i = 0; i < 2; i++)
		assert_true(sn_care_one_more(&l, 2, "b", 62000));
	assert_false(sn_care_one_more(&l, 2, "b", 109999));
	assert_true(sn_care_one_more(&l, 2, "a", 109999));
	/* None at all. */
	memset(&l, 0, sizeof(l));
	assert_false(sn_care_one_more(&l, 0, "a", 5000));
}

/* ---- who is asked ---- */

static void make(struct sn_topo **topo, struct sn_view_nodes **nodes, uint32_t n)
{
	static const char text[] = "SupernodeName=a Nodes=n[1-4]\nSupernodeName=b Nodes=n[5-8]\nSupernodeName=c Nodes=n[9-12]\nSupernodeName=d Nodes=n13\n";
	struct sn_err err;
	char name[16];

	assert_int_equal(sn_topo_parse(text, strlen(text), "t", NULL, NULL, topo, &err), 0);
	*nodes = sn_view_nodes_new(n);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%u", i + 1);
		assert_int_equal(sn_view_node_set(&(*nodes)->node[i], name, name, "", "", NULL), 0);
		(*nodes)->node[i].port = 6818;
	}
	assert_int_equal(sn_view_nodes_seal(*nodes), 0);
}

static void check_picked(const struct sn_care_others *o, uint32_t n, uint32_t self, bool near)
{
	assert_int_equal(o->n, n);
	for (uint32_t i = 0; i < o->n; i++) {
		assert_int_not_equal(o->node[i], self);
		assert_int_equal(o->node[i] / 4 == self / 4, near);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(o->node[i], o->node[k]);
	}
}

static void test_pick(void **state)
{
	struct sn_care_others near, far;
	struct sn_view_nodes *nodes;
	struct sn_topo *topo;

	(void)state;
	make(&topo, &nodes, 13);
	for (uint32_t self = 0; self < 12; self++)
		for (uint32_t seed = UINT32_MAX - 20; seed != 20; seed++) {
			sn_care_pick(topo, nodes, self, seed, &near, &far);
			assert_true(near.any && far.any);
			check_picked(&near, 3, self, true);
			check_picked(&far, 3, self, false);
		}
	/* Those that are known not to answer are no help. */
	nodes->node[1].down = nodes->node[2].silent = true;
	nodes->node[3].port = 0;
	for (uint32_t i = 4; i < 12; i++)
		nodes->node[i].silent = i != 7;
	nodes->node[12].down = true;
	sn_care_pick(topo, nodes, 0, 7, &near, &far);
	assert_true(near.any && far.any);
	assert_int_equal(near.n, 0);
	assert_int_equal(far.n, 1);
	assert_int_equal(far.node[0], 7);
	/* A supernode of one. */
	sn_care_pick(topo, nodes, 12, 7, &near, &far);
	assert_true(!near.any && far.any);
	assert_int_equal(far.n, 2);
	sn_view_nodes_free(nodes);
	sn_topo_destroy(topo);
	/* Only one supernode. */
	make(&topo, &nodes, 4);
	sn_care_pick(topo, nodes, 0, 7, &near, &far);
	assert_true(near.any && !far.any);
	assert_int_equal(near.n, 3);
	sn_view_nodes_free(nodes);
	sn_topo_destroy(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_cut_off), cmocka_unit_test(test_switch),
		cmocka_unit_test(test_dead), cmocka_unit_test(test_again), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_whole), cmocka_unit_test(test_limit_whole),
		cmocka_unit_test(test_pick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
