/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/power.h"

static const char conf[] =
	"SupernodeName=sn1 Nodes=n[1-8] PowerLimit=40kW\n"
	"SupernodeName=sn2 Nodes=n[9-16]\n";

static struct sn_topo *topo;

static int set_up(void **state)
{
	struct sn_err err = { "" };

	(void)state;
	if (sn_topo_parse(conf, sizeof(conf) - 1, "topology.conf", NULL, NULL,
			  &topo, &err))
		fail_msg("%s", err.text);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sn_topo_destroy(topo);
	return 0;
}

static void a_limit_is_a_number_of_nodes(void **state)
{
	struct sn_power p = sn_power_of(7000, 0);

	(void)state;
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), 5); /* 35 kW */
	assert_int_equal(sn_power_most(&p, &topo->supernode[1]), UINT32_MAX);
	/* 8 idle take 8 kW, each job 6 kW more: 32 / 6 */
	p = sn_power_of(7000, 1000);
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), 5);
	p = sn_power_of(8000, 0);
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), 5); /* just */
	p = sn_power_of(5000, 0);
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), UINT32_MAX);
	p = sn_power_of(9000, 5000); /* idle takes it all */
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), 0);
	p = sn_power_of(0, 5000);
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), UINT32_MAX);
	assert_false(sn_power_any(&p, topo));
	p = sn_power_of(4000, 4000);
	assert_int_equal(sn_power_most(&p, &topo->supernode[0]), UINT32_MAX);
}

static void the_engine_keeps_nodes_idle(void **state)
{
	struct sn_place_supernode supernode[2] = {
		{ UINT64_MAX, UINT64_MAX, 0 }, { UINT64_MAX, UINT64_MAX, 0 },
	};
	struct sn_place_node node[16];
	struct sn_place_state st = { node, supernode };
	struct sn_place_request r = {
		.world = 48, .node_block = 8, .unit_block = 8, .atom = 48,
	};
	struct sn_power p = sn_power_of(7000, 0);
	struct sn_placement placed;
	struct sn_err err = { "" };

	(void)state;
	assert_true(sn_power_any(&p, topo));
	sn_power_fill(&p, topo, supernode);
	assert_int_equal(supernode[0].keep_idle, 3);
	assert_int_equal(supernode[1].keep_idle, 0);
	for (int i = 0; i < 16; i++)
		node[i] = (struct sn_place_node){
			.cards = 0xff, .free = 0xff, .weight = 1,
			.max_ranks = UINT32_MAX,
			.flags = i < 8 ? 0 : SN_NODE_ABSENT,
		};
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "3 nodes kept idle by the PowerLimit"));
	r.world = r.atom = 40;
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), 0);
	assert_int_equal(placed.n_nodes, 5);
	sn_placement_done(&placed);
	/* Spares draw too. */
	r.spares = 1;
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), -ENOSPC);
	r.spares = 0;
	/* Two nodes run small jobs: those can be shared at no cost, the others
	 * are three. */
	node[6].flags = node[7].flags = SN_NODE_DRAWS;
	node[6].free = node[7].free = 0x0f;
	r.node_block = r.unit_block = 4;
	r.world = r.atom = 32;
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), 0);
	assert_int_equal(placed.n_nodes, 5);
	sn_placement_done(&placed);
	r.world = r.atom = 36;
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), -ENOSPC);
	/* More run already than may: no other begins. */
	for (int i = 0; i < 7; i++)
		node[i].flags = SN_NODE_DRAWS | SN_NODE_ABSENT;
	node[7].flags = 0;
	r.world = r.atom = 4;
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), -ENOSPC);
	node[7].flags = SN_NODE_REQUIRED;
	assert_int_equal(sn_place(topo, &st, &r, &placed, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "n8 is required, but the PowerLimit of sn1"));
}

/* The nodes that 24 ranks in units of 8 take, as bits. */
static uint32_t taken(const struct sn_topo *of, const uint32_t weight[6])
{
	struct sn_place_supernode supernode = { UINT64_MAX, UINT64_MAX, 3 };
	struct sn_place_node node[6];
	struct sn_place_state st = { node, &supernode };
	struct sn_place_request r = {
		.world = 24, .node_block = 1, .unit_block = 8, .atom = 8,
	};
	struct sn_placement placed;
	struct sn_err err = { "" };
	uint32_t bits = 0;

	for (int i = 0; i < 6; i++)
		node[i] = (struct sn_place_node){
			.cards = 0xff, .free = 0xff, .weight = weight[i],
			.max_ranks = UINT32_MAX,
		};
	if (sn_place(of, &st, &r, &placed, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < placed.n_nodes; i++)
		bits |= 1u << placed.node[i].node;
	sn_placement_done(&placed);
	return bits;
}

/* Which stay idle is part of the choice: of as many that hold as much, those that
 * weigh most, and else the last in topology order, whether in a unit or in none. */
static void who_stays_idle_follows_the_order(void **state)
{
	static const char text[] = "SupernodeName=s Nodes=n[1-6]\n"
		"UnitName=u1 Nodes=n2\nUnitName=u2 Nodes=n4\nUnitName=u3 Nodes=n5\n";
	struct sn_topo *of = NULL;

	(void)state;
	assert_int_equal(sn_topo_parse(text, sizeof(text) - 1, "t", NULL, NULL, &of,
				       NULL), 0);
	assert_int_equal(taken(of, (const uint32_t[]){ 1, 1, 1, 1, 1, 1 }), 7);
	assert_int_equal(taken(of, (const uint32_t[]){ 9, 9, 9, 1, 1, 1 }), 0x38);
	assert_int_equal(taken(of, (const uint32_t[]){ 1, 9, 1, 9, 9, 1 }), 0x25);
	sn_topo_destroy(of);
}

/* Of equals those of the unit that holds most: a job then needs fewer units. */
static void units_stay_together(void **state)
{
	static const char text[] = "SupernodeName=s Nodes=n[1-6]\nUnitName=u[1-3] Nodes=n[1-6] NodesPerUnit=2\n";
	struct sn_topo *of = NULL;

	(void)state;
	assert_int_equal(sn_topo_parse(text, sizeof(text) - 1, "t", NULL, NULL, &of,
				       NULL), 0);
	assert_int_equal(taken(of, (const uint32_t[]){ 9, 1, 9, 1, 1, 1 }), 0x32);
	sn_topo_destroy(of);
}

static void the_arithmetic_is_said(void **state)
{
	struct sn_power p = sn_power_of(7000, 250);
	char text[256];

	(void)state;
	sn_power_text(&p, &topo->supernode[0], text, sizeof(text));
	assert_string_equal(text, "PowerLimit=40kW of sn1 lets 5 of its 8 nodes run jobs at once (NodePower=7kW, IdleNodePower=250W)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_a_number_of_nodes),
		cmocka_unit_test(the_engine_keeps_nodes_idle),
		cmocka_unit_test(who_stays_idle_follows_the_order),
		cmocka_unit_test(units_stay_together),
		cmocka_unit_test(the_arithmetic_is_said),
	};

	return cmocka_run_group_tests_name("power", tests, set_up, tear_down);
}
