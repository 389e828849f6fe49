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

#include "topology/degraded.h"

static const char conf[] =
	"SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4\n"
	"UnitName=u[1-4] Nodes=n[1-8] NodesPerUnit=2\n";

struct world {
	struct sn_topo *topo;
	struct sn_degraded degraded;
	struct sn_place_node node[9];
	struct sn_place_state state;
};

static void set_up(struct world *w)
{
	struct sn_err err = { "" };

	memset(w, 0, sizeof(*w));
	if (sn_topo_parse(conf, sizeof(conf) - 1, "topology.conf", NULL, NULL,
			  &w->topo, &err))
		fail_msg("%s", err.text);
	assert_int_equal(sn_topo_add_loose(w->topo, "n9", &err), 0);
	assert_int_equal(sn_degraded_init(w->topo, &w->degraded, &err), 0);
	for (int i = 0; i < 9; i++)
		w->node[i] = (struct sn_place_node){
			.cards = 0xff, .free = 0xff, .weight = 1,
			.max_ranks = UINT32_MAX,
		};
	w->state.node = w->node;
}

static void tear_down(struct world *w)
{
	sn_degraded_done(&w->degraded);
	sn_topo_destroy(w->topo);
}

static uint32_t marked(const struct world *w)
{
	uint32_t bits = 0;

	for (int i = 0; i < 9; i++)
		if (w->node[i].flags & SN_NODE_DEGRADED)
			bits |= 1u << i;
	return bits;
}

static void names_mark_all_nodes_of_the_domain(void **state)
{
	struct sn_err err = { "" };
	struct world w;

	(void)state;
	set_up(&w);
	assert_false(w.degraded.any);
	sn_degraded_mark(&w.degraded, w.topo, w.node);
	assert_int_equal(marked(&w), 0);
	assert_int_equal(sn_degraded_add(&w.degraded, w.topo, "u2,sn2", &err), 0);
	sn_degraded_mark(&w.degraded, w.topo, w.node);
	assert_int_equal(marked(&w), 0xfc);
	assert_true(sn_degraded_is(&w.degraded, w.topo, 2));
	assert_false(sn_degraded_is(&w.degraded, w.topo, 0));
	tear_down(&w);
	/* A loose node is a supernode of its own. */
	set_up(&w);
	assert_int_equal(sn_degraded_add(&w.degraded, w.topo, "n9", &err), 0);
	sn_degraded_mark(&w.degraded, w.topo, w.node);
	assert_int_equal(marked(&w), 0x100);
	tear_down(&w);
}

static void an_unknown_name_is_told_and_the_others_count(void **state)
{
	struct sn_err err = { "" };
	struct world w;

	(void)state;
	set_up(&w);
	assert_int_equal(sn_degraded_add(&w.degraded, w.topo, "sn7,u1", &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "sn7"));
	assert_int_equal(w.degraded.unit[0], 1);
	assert_true(w.degraded.any);
	assert_int_equal(sn_degraded_add(&w.degraded, w.topo, "sn[1-", &err),
			 -EINVAL);
	assert_int_equal(w.degraded.supernode[0], 0);
	tear_down(&w);
}

static void any_node_speaks_for_its_domain(void **state)
{
	struct world w;

	(void)state;
	set_up(&w);
	sn_degraded_add_node(&w.degraded, w.topo, 3, false, true);
	sn_degraded_add_node(&w.degraded, w.topo, 8, false, true); /* in no unit */
	sn_degraded_mark(&w.degraded, w.topo, w.node);
	assert_int_equal(marked(&w), 0x0c);
	sn_degraded_add_node(&w.degraded, w.topo, 5, true, false);
	sn_degraded_mark(&w.degraded, w.topo, w.node);
	assert_int_equal(marked(&w), 0xfc);
	tear_down(&w);
}

static void place(struct world *w, uint32_t ranks, uint32_t spares,
		  struct sn_placement *ret)
{
	struct sn_place_request r = {
		.world = ranks, .node_block = 8, .unit_block = 8, .atom = 8,
		.spares = spares,
	};
	struct sn_err err = { "" };

	sn_degraded_mark(&w->degraded, w->topo, w->node);
	if (sn_place(w->topo, &w->state, &r, ret, &err))
		fail_msg("%s", err.text);
}

static void what_is_used_is_warned_of(void **state)
{
	struct sn_placement p;
	char text[256];
	struct world w;

	(void)state;
	set_up(&w);
	assert_int_equal(sn_degraded_add(&w.degraded, w.topo, "sn1,u3", NULL), 0);
	place(&w, 16, 0, &p); /* u4 is whole */
	assert_int_equal(p.node[0].node, 6);
	assert_int_equal(p.score.degraded, 0);
	assert_int_equal(sn_degraded_warning(&w.degraded, w.topo, &p, text,
					     sizeof(text)), 0);
	assert_string_equal(text, "");
	sn_placement_done(&p);
	place(&w, 24, 0, &p); /* also at the price of a supernode more */
	assert_int_equal(p.score.supernodes, 2);
	assert_int_equal(p.score.degraded, 0);
	sn_placement_done(&p);
	w.node[8].flags = SN_NODE_ABSENT;
	place(&w, 24, 0, &p); /* u3's n5 and u4 */
	assert_int_equal(p.score.degraded, 1);
	assert_int_equal(sn_degraded_warning(&w.degraded, w.topo, &p, text,
					     sizeof(text)), 1);
	assert_string_equal(text, "unit u3 is used though its links are degraded: no whole ones had room");
	sn_placement_done(&p);
	w.node[8].flags = 0;
	place(&w, 72, 0, &p);
	assert_int_equal(p.score.degraded, 6);
	assert_int_equal(sn_degraded_warning(&w.degraded, w.topo, &p, text,
					     sizeof(text)), 2);
	assert_string_equal(text, "supernode sn1 and unit u3 are used though their links are degraded: no whole ones had room");
	/* Cut, but whole in memory. */
	assert_int_equal(sn_degraded_warning(&w.degraded, w.topo, &p, text, 10), 2);
	assert_string_equal(text, "supernode");
	sn_placement_done(&p);
	/* A spare in a degraded unit counts. */
	w.node[7].flags = w.node[8].flags = SN_NODE_ABSENT;
	place(&w, 8, 1, &p);
	assert_int_equal(sn_degraded_warning(&w.degraded, w.topo, &p, text,
					     sizeof(text)), 1);
	sn_placement_done(&p);
	tear_down(&w);
}

static void a_node_that_boots_is_better_than_slow_links(void **state)
{
	struct sn_placement p;
	struct world w;

	(void)state;
	set_up(&w);
	assert_int_equal(sn_degraded_add(&w.degraded, w.topo, "sn1", NULL), 0);
	for (int i = 4; i < 8; i++)
		w.node[i].flags = SN_NODE_LATE;
	place(&w, 16, 0, &p);
	assert_int_equal(p.node[0].node, 4);
	sn_placement_done(&p);
	/* None fits without the degraded ones: then without those that boot. */
	for (int i = 5; i < 8; i++)
		w.node[i].flags = SN_NODE_ABSENT;
	w.node[8].flags = SN_NODE_ABSENT;
	place(&w, 16, 0, &p);
	assert_int_equal(p.node[0].node, 0);
	sn_placement_done(&p);
	tear_down(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_mark_all_nodes_of_the_domain),
		cmocka_unit_test(an_unknown_name_is_told_and_the_others_count),
		cmocka_unit_test(any_node_speaks_for_its_domain),
		cmocka_unit_test(what_is_used_is_warned_of),
		cmocka_unit_test(a_node_that_boots_is_better_than_slow_links),
	};

	return cmocka_run_group_tests_name("degraded", tests, NULL, NULL);
}
