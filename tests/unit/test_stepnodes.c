/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/common/jobopts.h"
#include "plugins/common/stepnodes.h"

static struct sn_topo *topology(void)
{
	const char *text = "SupernodeName=a Nodes=n[1,3,5]\nSupernodeName=b Nodes=n[6,2,4]\n";
	struct sn_topo *topo;

	assert_int_equal(sn_topo_parse(text, strlen(text), "t", NULL, NULL,
				       &topo, NULL), 0);
	return topo;
}

static void nodes_come_in_the_order_of_the_topology(void **state)
{
	struct sn_topo *topo = topology();
	struct sn_names names = { NULL, 0, 0 };
	struct sn_stepnodes nodes;
	const uint16_t tasks[] = { 10, 20, 30, 60 };

	(void)state;
	assert_int_equal(sn_hostlist_expand("n[1-3,6]", &names, NULL), 0);
	assert_int_equal(sn_stepnodes_make(topo, &names, tasks, &nodes), 0);
	/* Slurm's n1 n2 n3 n6 are n1 n3 | n6 n2 in the file. */
	assert_int_equal(nodes.n, 4);
	assert_int_equal(nodes.order[0], 0);
	assert_int_equal(nodes.order[1], 2);
	assert_int_equal(nodes.order[2], 3);
	assert_int_equal(nodes.order[3], 1);
	assert_int_equal(nodes.position[1], 3);
	assert_int_equal(nodes.run[1].ranks, 30);
	assert_int_equal(nodes.run[2].ranks, 60);
	assert_int_equal(nodes.run[0].supernode, nodes.run[1].supernode);
	assert_int_not_equal(nodes.run[1].supernode, nodes.run[2].supernode);
	sn_stepnodes_done(&nodes);
	sn_names_done(&names);
	sn_topo_destroy(topo);
}

static void an_unknown_node_is_refused(void **state)
{
	struct sn_topo *topo = topology();
	struct sn_names names = { NULL, 0, 0 };
	struct sn_stepnodes nodes;
	const uint16_t tasks[] = { 1, 1 };

	(void)state;
	assert_int_equal(sn_hostlist_expand("n1,x", &names, NULL), 0);
	assert_int_equal(sn_stepnodes_make(topo, &names, tasks, &nodes), -ENOENT);
	sn_names_done(&names);
	sn_topo_destroy(topo);
}

static void an_unknown_node_is_loose_once_known(void **state)
{
	struct sn_topo *topo = topology();
	struct sn_names names = { NULL, 0, 0 };
	struct sn_stepnodes nodes;
	const uint16_t tasks[] = { 1, 1 };

	(void)state;
	assert_int_equal(sn_hostlist_expand("x,n1", &names, NULL), 0);
	assert_int_equal(sn_stepnodes_know(topo, &names), 0);
	assert_int_equal(sn_stepnodes_make(topo, &names, tasks, &nodes), 0);
	assert_int_equal(nodes.order[0], 1);
	assert_int_equal(nodes.order[1], 0);
	sn_stepnodes_done(&nodes);
	sn_names_done(&names);
	sn_topo_destroy(topo);
}

/* n1 n2 n3 of which n1 and n3 are one supernode. */
static void ranks_are_in_turn_or_not(void **state)
{
	struct sn_topo *topo = topology();
	struct sn_names names = { NULL, 0, 0 };
	struct sn_stepnodes nodes;
	const uint16_t tasks[] = { 1, 2, 1 };
	uint32_t by_topology[] = { 0, 1, 2, 2 }, by_table[] = { 0, 2, 2, 1 };
	uint32_t by_neither[] = { 0, 2, 1, 2 };
	struct sn_rankmap map = { .world = 4 };

	(void)state;
	assert_int_equal(sn_hostlist_expand("n[1-3]", &names, NULL), 0);
	assert_int_equal(sn_stepnodes_make(topo, &names, tasks, &nodes), 0);
	map.node = by_topology;
	assert_true(sn_stepnodes_in_turn(&nodes, &map, true));
	assert_false(sn_stepnodes_in_turn(&nodes, &map, false));
	map.node = by_table;
	assert_false(sn_stepnodes_in_turn(&nodes, &map, true));
	assert_true(sn_stepnodes_in_turn(&nodes, &map, false));
	map.node = by_neither;
	assert_false(sn_stepnodes_in_turn(&nodes, &map, true));
	assert_false(sn_stepnodes_in_turn(&nodes, &map, false));
	sn_stepnodes_done(&nodes);
	sn_names_done(&names);
	sn_topo_destroy(topo);
}

static void options_are_found_among_others(void **state)
{
	char other[] = "FOO=1", alike[] = SN_JOBOPT_PREFIX "parallelx=1";
	char parallel[] = SN_JOBOPT_PREFIX "parallel=tp=8,dp=2";
	char pool[] = SN_JOBOPT_PREFIX "pool=1G";
	char *env[] = { other, alike, NULL, parallel, pool };
	struct sn_jobspec_text text;

	(void)state;
	assert_false(sn_jobopts_find(NULL, 0, &text));
	assert_false(sn_jobopts_find(env, 2, &text));
	assert_true(sn_jobopts_find(env, 5, &text));
	assert_string_equal(text.parallel, "tp=8,dp=2");
	assert_string_equal(text.pool, "1G");
	assert_null(text.spares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_in_the_order_of_the_topology),
		cmocka_unit_test(an_unknown_node_is_refused),
		cmocka_unit_test(an_unknown_node_is_loose_once_known),
		cmocka_unit_test(ranks_are_in_turn_or_not),
		cmocka_unit_test(options_are_found_among_others),
	};

	return cmocka_run_group_tests_name("stepnodes", tests, NULL, NULL);
}
