/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_replace.c - where a job with --replaces may be.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/joblost.h"
#include "topology/replace.h"

#define N(list) (sizeof(list) / sizeof((list)[0]))

static struct sn_topo *two(void)
{
	static const char text[] = "SupernodeName=a Nodes=n[0-3] SpareNodes=1\nSupernodeName=b Nodes=n[4-7] SpareNodes=1\n";
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(text, strlen(text), "t.conf", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

static void as_many_as_were_lost_and_not_yet_replaced(void **state)
{
	static const uint32_t lost[] = { 2, 0 }, ill[] = { 1, 5 }, taken[] = { 3, 6, 7 };
	struct sn_topo *topo = two();
	uint32_t allow[2];

	(void)state;
	assert_int_equal(sn_replace_allow(topo, lost, NULL, 0, NULL, 0, allow), 2);
	assert_int_equal(allow[0], 2);
	assert_int_equal(allow[1], 0);
	assert_int_equal(sn_replace_allow(topo, lost, ill, 2, NULL, 0, allow), 4);
	assert_int_equal(allow[0], 3);
	assert_int_equal(allow[1], 1);
	/* b has two already where one would do. */
	assert_int_equal(sn_replace_allow(topo, lost, ill, 2, taken, 3, allow), 2);
	assert_int_equal(allow[0], 2);
	assert_int_equal(allow[1], 0);
	assert_int_equal(sn_replace_allow(topo, NULL, NULL, 0, taken, 3, allow), 0);
	sn_topo_destroy(topo);
}

/* a and b have four nodes of 8 cards each, of which the job had 3 and 2. */
static void no_more_than_lacks(void **state)
{
	static const uint32_t both[] = { 1, 1 }, two_of_a[] = { 2, 0 }, none[] = { 0, 0 };
	struct sn_topo *topo = two();
	uint32_t cards[2] = { 16, 8 };

	(void)state;
	/* No spare: both. */
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 8, 5), 2);
	/* A spare has made up for the one in a. */
	cards[0] = 24;
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 8, 5), 1);
	/* And for all. */
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 8, 4), 0);
	assert_int_equal(sn_replace_lack(topo, cards, none, 8, 8, 4), 0);
	/* Atoms of two nodes: half ones are made whole, first where it takes less. */
	cards[0] = 16;
	cards[1] = 8;
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 16, 2), 1);
	cards[0] = 0;
	assert_int_equal(sn_replace_lack(topo, cards, two_of_a, 8, 16, 1), 2);
	assert_int_equal(sn_replace_lack(topo, cards, (const uint32_t[]){ 2, 1 }, 8, 16, 1), 1);
	/* Smaller atoms: one node makes several. */
	cards[0] = 12;
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 4, 6), 1);
	/* They do not reach: as many as there are. */
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 8, 50), 2);
	assert_int_equal(sn_replace_lack(topo, cards, both, 8, 32, 1), 2);
	assert_int_equal(sn_replace_lack(topo, cards, both, 0, 8, 5), 2);
	sn_topo_destroy(topo);
}

static int place(const struct sn_topo *topo, struct sn_place_node *node,
		 uint32_t block, uint32_t atom, uint32_t world,
		 const uint32_t *allow, struct sn_placement *ret)
{
	const struct sn_place_state state = { .node = node };
	const struct sn_place_request request = {
		.world = world, .node_block = block, .unit_block = block,
		.atom = atom, .use_spare_nodes = true,
	};
	int rc = -ENOSPC, tries;

	sn_replace_restrict(topo, allow, node);
	for (tries = 0; tries < 8; tries++) {
		memset(ret, 0, sizeof(*ret));
		rc = sn_place(topo, &state, &request, ret, NULL);
		if (rc || sn_replace_fits(topo, allow, ret, node))
			return rc;
		sn_placement_done(ret);
	}
	return -ENOSPC;
}

static void offer(const struct sn_topo *topo, struct sn_place_node *node)
{
	for (uint32_t i = 0; i < topo->n_nodes; i++)
		node[i] = (struct sn_place_node){
			.cards = 255, .free = 255, .weight = 1, .max_ranks = 8,
		};
}

static void it_stays_where_nodes_were_lost(void **state)
{
	static const uint32_t allow[] = { 0, 2 };
	struct sn_topo *topo = two();
	struct sn_place_node node[8];
	struct sn_placement placed;

	(void)state;
	offer(topo, node);
	assert_int_equal(place(topo, node, 8, 8, 16, allow, &placed), 0);
	assert_int_equal(placed.n_nodes, 2);
	assert_int_equal(placed.node[0].node, 4);
	sn_placement_done(&placed);
	/* The last free node is the spare, and it may have it. */
	offer(topo, node);
	node[4].flags = node[5].flags = node[6].flags = SN_NODE_ABSENT;
	assert_int_equal(place(topo, node, 8, 8, 8, allow, &placed), 0);
	assert_int_equal(placed.node[0].node, 7);
	sn_placement_done(&placed);
	offer(topo, node);
	assert_int_equal(place(topo, node, 8, 8, 24, allow, &placed), -ENOSPC);
	sn_topo_destroy(topo);
}

/* Of nodes that are half free it would take two where one is allowed. */
static void it_takes_no_more_nodes_than_were_lost(void **state)
{
	static const uint32_t allow[] = { 1, 1 };
	struct sn_topo *topo = two();
	struct sn_place_node node[8];
	struct sn_placement placed;

	(void)state;
	offer(topo, node);
	for (int i = 0; i < 4; i++)
		node[i].free = 15;
	assert_int_equal(place(topo, node, 1, 8, 8, allow, &placed), 0);
	assert_int_equal(placed.n_nodes, 1);
	assert_int_equal(placed.node[0].node, 4);
	sn_placement_done(&placed);
	offer(topo, node);
	for (int i = 0; i < 8; i++)
		node[i].free = 15;
	assert_int_equal(place(topo, node, 1, 8, 8, allow, &placed), -ENOSPC);
	/* One in each is fine. */
	offer(topo, node);
	assert_int_equal(place(topo, node, 8, 8, 16, allow, &placed), 0);
	assert_int_equal(placed.n_supernodes, 2);
	sn_placement_done(&placed);
	sn_topo_destroy(topo);
}

static void what_a_job_has_lost(void **state)
{
	static const char comment[] = "supernode:parallel=tp=8,dp=4;spares=1;nodes=n[0-2,4,9]";
	static const struct sn_spares_node node[] = { { 4, 8 }, { 1, 8 } };
	struct sn_topo *topo = two();
	struct sn_joblost lost;

	(void)state;
	assert_int_equal(sn_joblost_find(topo, comment, node, 2, &lost, NULL), 0);
	assert_int_equal(lost.n, 2);
	assert_int_equal(lost.node[0], 0);
	assert_int_equal(lost.node[1], 2);
	assert_int_equal(lost.count[0], 2);
	assert_int_equal(lost.count[1], 0);
	sn_joblost_done(&lost);
	assert_int_equal(sn_joblost_find(topo, "supernode:parallel=tp=8 ;nodes=n1", node, 2,
					 &lost, NULL), -ENOENT);
	assert_int_equal(sn_joblost_find(topo, NULL, node, 2, &lost, NULL), -ENOENT);
	assert_int_equal(sn_joblost_find(topo, "supernode:parallel=tp=8;nodes=n[1-", node, 2,
					 &lost, NULL), -EINVAL);
	assert_null(lost.node);
	sn_topo_destroy(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_were_lost_and_not_yet_replaced),
		cmocka_unit_test(no_more_than_lacks),
		cmocka_unit_test(it_stays_where_nodes_were_lost),
		cmocka_unit_test(it_takes_no_more_nodes_than_were_lost),
		cmocka_unit_test(what_a_job_has_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
