/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_place.c - the placement engine on cases whose answer is plain.
 *
 * What is right in general is judged by exhaustive search in
 * test_place_brute.c; here is what that does not reach: refusals and their
 * sentences, how ranks fill nodes, sizes beyond the tables, huge numbers.
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

struct world {
	struct sn_topo *topo;
	struct sn_place_node *node;
	struct sn_place_supernode *supernode;
	struct sn_place_state state;
	struct sn_place_request req;
	struct sn_placement got;
	struct sn_err err;
};

static void set_free(struct world *w, uint32_t node, uint32_t n)
{
	w->node[node].free = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

static void begin(struct world *w, const char *conf, uint32_t cards)
{
	memset(w, 0, sizeof(*w));
	if (sn_topo_parse(conf, strlen(conf), "t.conf", NULL, NULL, &w->topo,
			  &w->err))
		fail_msg("%s", w->err.text);
	w->node = calloc(w->topo->n_nodes, sizeof(*w->node));
	w->supernode = calloc(w->topo->n_supernodes, sizeof(*w->supernode));
	assert_non_null(w->node);
	assert_non_null(w->supernode);
	for (uint32_t i = 0; i < w->topo->n_nodes; i++) {
		set_free(w, i, cards);
		w->node[i].cards = w->node[i].free;
		w->node[i].weight = 1;
		w->node[i].max_ranks = UINT32_MAX;
	}
	for (uint32_t s = 0; s < w->topo->n_supernodes; s++)
		w->supernode[s] = (struct sn_place_supernode){ UINT64_MAX,
							       UINT64_MAX, 0 };
	w->state = (struct sn_place_state){ w->node, w->supernode };
}

static void want(struct world *w, uint32_t block, uint32_t atom, uint32_t n)
{
	w->req.node_block = w->req.unit_block = block;
	w->req.atom = atom;
	w->req.world = atom * n;
}

static int place(struct world *w)
{
	sn_placement_done(&w->got);
	memset(&w->err, 0, sizeof(w->err));
	return sn_place(w->topo, &w->state, &w->req, &w->got, &w->err);
}

static void end(struct world *w)
{
	sn_placement_done(&w->got);
	sn_placement_done(NULL);
	sn_topo_destroy(w->topo);
	free(w->node);
	free(w->supernode);
}

/* "node:ranks …" of what was placed. */
static const char *ranks(const struct world *w)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < w->got.n_nodes && n < sizeof(text) - 32; i++)
		n += (size_t)sprintf(text + n, "%s%s:%u", i ? " " : "",
				     w->topo->node[w->got.node[i].node].name,
				     w->got.node[i].ranks);
	return text;
}

static void contradictions_are_refused(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n[1-4]\n", 8);
	want(&w, 8, 16, 1);
	w.req.world = 24;
	assert_int_equal(place(&w), -EINVAL);
	assert_non_null(strstr(w.err.text, "16 or 32"));
	want(&w, 8, 16, 1);
	w.req.unit_block = 12;
	assert_int_equal(place(&w), -EINVAL);
	want(&w, 8, 16, 1);
	w.req.exact_nodes = 3;
	assert_int_equal(place(&w), -EINVAL);
	assert_non_null(strstr(w.err.text, "2 at most"));
	memset(&w.req, 0, sizeof(w.req));
	assert_int_equal(place(&w), -EINVAL);
	want(&w, 1, 1, SN_WORLD_MAX);
	w.req.world++;
	assert_int_equal(place(&w), -EINVAL);
	want(&w, 8, 16, 1);
	w.node[2].free = 1u << 9;
	assert_int_equal(place(&w), -EINVAL);
	assert_non_null(strstr(w.err.text, "n3"));
	/* Nothing is left behind, and no err is no trouble. */
	assert_null(w.got.node);
	assert_int_equal(sn_place(w.topo, &w.state, &w.req, &w.got, NULL),
			 -EINVAL);
	end(&w);
}

static void a_refusal_has_the_numbers(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=a Nodes=a[1-4] SpareNodes=1\n"
	      "SupernodeName=b Nodes=b[1-4]\n", 8);
	set_free(&w, 4, 7);
	want(&w, 8, 16, 4);
	assert_int_equal(place(&w), -ENOSPC);
	assert_non_null(strstr(w.err.text, "4 atoms of 16 cards"));
	assert_non_null(strstr(w.err.text, "room for 2"));
	assert_non_null(strstr(w.err.text, "a 1 (32 of 32 cards free)"));
	assert_non_null(strstr(w.err.text, "b 1 (31 of 32 cards free)"));
	assert_non_null(strstr(w.err.text, "1 of 64 cards are busy or masked"));
	assert_non_null(strstr(w.err.text, "1 node held back as SpareNodes"));
	/* A required node that cannot serve is the whole reason. */
	want(&w, 8, 16, 1);
	w.node[3].flags = SN_NODE_REQUIRED;
	assert_int_equal(place(&w), -ENOSPC);
	assert_non_null(strstr(w.err.text, "a4"));
	assert_non_null(strstr(w.err.text, "SpareNodes"));
	w.node[3].flags = 0;
	w.node[4].flags = SN_NODE_REQUIRED;
	assert_int_equal(place(&w), -ENOSPC);
	assert_non_null(strstr(w.err.text, "b1"));
	assert_non_null(strstr(w.err.text, "7 are free"));
	/* The pool. */
	w.node[4].flags = 0;
	w.supernode[0].pool_free = 6;
	w.supernode[1].pool_free = 7;
	w.req.pool = (struct sn_pool){ .per = SN_POOL_TOTAL, .size = 8 };
	assert_int_equal(place(&w), -ENOSPC);
	assert_non_null(strstr(w.err.text,
			       "the memory pool is short in 2 supernodes (8 in all is wanted; the most they have free is 7, b)"));
	end(&w);
}

static void ranks_fill_in_order(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n[1-4]\n", 8);
	want(&w, 2, 20, 1);
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:8 n3:4");
	/* -N spreads evenly, the earlier ones first. */
	w.req.exact_nodes = 4;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:6 n2:6 n3:4 n4:4");
	w.req.exact_nodes = 3;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:6 n3:6");
	/* A spare as large as the largest share. */
	w.req.exact_nodes = 0;
	w.req.spares = 1;
	set_free(&w, 1, 6);
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:6 n3:6");
	assert_int_equal(w.got.n_spares, 1);
	assert_int_equal(w.got.spare[0].node, 3);
	assert_int_equal(w.got.spare[0].cards, 8);
	/* Here only a smaller share leaves one. */
	set_free(&w, 3, 6);
	set_free(&w, 2, 8);
	assert_int_equal(place(&w), 0);
	assert_int_equal(w.got.n_nodes, 3);
	assert_true(w.got.spare[0].cards <= 8);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(w.got.node[i].node != w.got.spare[0].node);
	end(&w);
}

/* "SpareNodes holds back the last healthy wholly free nodes of a supernode in the
 * file's order", whoever asks. */
static void spare_nodes_are_the_last_free_ones(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n[1-4] SpareNodes=1\n", 8);
	want(&w, 8, 24, 1);
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:8 n3:8");
	/* One in use is none, though its cards are free. */
	w.node[3].flags = SN_NODE_PARTLY;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:8 n4:8");
	/* One that is down is none either; one that only this job may not have is. */
	want(&w, 8, 16, 1);
	w.node[3].flags = SN_NODE_ABSENT;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:8");
	want(&w, 8, 24, 1);
	assert_int_equal(place(&w), -ENOSPC);
	w.node[3].flags = SN_NODE_ABSENT | SN_NODE_STANDBY;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n1:8 n2:8 n3:8");
	/* But not if a later one is. */
	w.node[3].flags = 0;
	w.node[0].flags = SN_NODE_ABSENT | SN_NODE_STANDBY;
	assert_int_equal(place(&w), -ENOSPC);
	w.req.use_spare_nodes = true;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "n2:8 n3:8 n4:8");
	end(&w);
}

static void late_nodes_come_last(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=a Nodes=a[1-2]\n"
	      "SupernodeName=b Nodes=b[1-2]\n", 8);
	w.node[0].flags = SN_NODE_LATE;
	want(&w, 8, 8, 2);
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "b1:8 b2:8");
	want(&w, 8, 8, 4);
	assert_int_equal(place(&w), 0);
	assert_int_equal(w.got.n_nodes, 4);
	/* Any weight is better than one more late node. */
	want(&w, 8, 8, 1);
	w.node[1].flags = w.node[2].flags = w.node[3].flags = SN_NODE_ABSENT;
	assert_int_equal(place(&w), 0);
	assert_string_equal(ranks(&w), "a1:8");
	end(&w);
}

static void odd_sizes_do_no_harm(void **state)
{
	struct sn_topo none = { .n_nodes = 0 };
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n1\n", 1);
	want(&w, 1, 1, 1);
	assert_int_equal(place(&w), 0);
	assert_int_equal(w.got.score.supernodes, 1);
	sn_placement_done(&w.got);
	assert_int_equal(sn_place(&none, &w.state, &w.req, &w.got, &w.err),
			 -ENOSPC);
	w.node[0].cards = w.node[0].free = 0;
	assert_int_equal(place(&w), -ENOSPC);
	set_free(&w, 0, 64);
	w.node[0].cards = UINT64_MAX;
	want(&w, 64, 64, 1);
	assert_int_equal(place(&w), 0);
	want(&w, 65, 65, 1);
	assert_int_equal(place(&w), -ENOSPC);
	want(&w, 1, SN_WORLD_MAX, 1);
	assert_int_equal(place(&w), -ENOSPC);
	want(&w, 1, 1, 1);
	w.req.spares = UINT32_MAX;
	assert_int_equal(place(&w), -ENOSPC);
	w.req.spares = 0;
	w.node[0].max_ranks = 0;
	assert_int_equal(place(&w), -ENOSPC);
	end(&w);
}

static void huge_weights_add_up(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n[1-40]\n", 8);
	for (uint32_t i = 0; i < 40; i++)
		w.node[i].weight = UINT32_MAX - i % 2;
	want(&w, 8, 8, 20);
	assert_int_equal(place(&w), 0);
	assert_true(w.got.score.weight == 20 * (uint64_t)(UINT32_MAX - 1));
	end(&w);
}

/* More than its tables take: fewest nodes all the same. */
static void one_supernode_may_be_huge(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n[1-30000]\n", 8);
	for (uint32_t i = 0; i < 30000; i += 2)
		set_free(&w, i, 3);
	want(&w, 1, 11, 9000);
	assert_int_equal(place(&w), 0);
	assert_false(w.got.exact);
	assert_int_equal(w.got.score.nodes, 99000 / 8);
	w.req.spares = 2;
	assert_int_equal(place(&w), 0);
	assert_int_equal(w.got.score.nodes, 99000 / 8);
	assert_int_equal(w.got.n_spares, 2);
	/* Every card, and one atom more. */
	want(&w, 1, 11, 15000);
	w.req.spares = 0;
	assert_int_equal(place(&w), 0);
	assert_int_equal(w.got.score.left_in_supernodes, 0);
	want(&w, 1, 11, 15001);
	assert_int_equal(place(&w), -ENOSPC);
	assert_non_null(strstr(w.err.text, "room for 15000"));
	end(&w);
}

/* 1,000 single nodes each a supernode of its own. */
static void loose_nodes_are_fast(void **state)
{
	struct world w;
	char name[16];

	(void)state;
	begin(&w, "SupernodeName=s Nodes=n1\n", 8);
	for (int i = 0; i < 999; i++) {
		sprintf(name, "x%03d", i);
		assert_int_equal(sn_topo_add_loose(w.topo, name, NULL), 0);
	}
	free(w.node);
	w.node = calloc(1000, sizeof(*w.node));
	assert_non_null(w.node);
	for (uint32_t i = 0; i < 1000; i++) {
		set_free(&w, i, 8);
		w.node[i].cards = w.node[i].free;
		w.node[i].weight = 1 + i % 3;
		w.node[i].max_ranks = UINT32_MAX;
	}
	w.state = (struct sn_place_state){ w.node, NULL };
	want(&w, 8, 8, 600);
	assert_int_equal(place(&w), 0);
	assert_int_equal(w.got.score.supernodes, 600);
	/* 334 of weight 1, the rest of weight 2. */
	assert_int_equal(w.got.score.weight, 334 + 2 * 266);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(a_refusal_has_the_numbers),
		cmocka_unit_test(ranks_fill_in_order),
		cmocka_unit_test(spare_nodes_are_the_last_free_ones),
		cmocka_unit_test(late_nodes_come_last),
		cmocka_unit_test(odd_sizes_do_no_harm),
		cmocka_unit_test(huge_weights_add_up),
		cmocka_unit_test(one_supernode_may_be_huge),
		cmocka_unit_test(loose_nodes_are_fast),
	};

	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
