/* SPDX-License-Identifier: GPL-2.0-or-later */
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

#include "launcher/plan.h"

static const char two_supernodes[] =
	"SupernodeName=sn1 Nodes=n[1-6]\nSupernodeName=sn2 Nodes=n[7-12]\n"
	"UnitName=u[1-4] Nodes=n[1-12] NodesPerUnit=3\n";

static struct sn_topo *topology(void)
{
	struct sn_topo *topo = NULL;
	struct sn_err err;

	if (sn_topo_parse(two_supernodes, strlen(two_supernodes), "t", NULL,
			  NULL, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

static const uint32_t cards[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

/* Offers of "n1:8 n7:4 …", in the text's order. */
static uint32_t offers(const char *text, struct sn_plan_offer *offer)
{
	static char name[16][8];
	uint32_t n = 0, k;
	int len;

	while (sscanf(text, " %7[^:]:%u%n", name[n], &k, &len) == 2) {
		offer[n] = (struct sn_plan_offer){ name[n], NULL, cards, k };
		text += len;
		n++;
	}
	return n;
}

static int build(const char *spec, uint32_t spares, const char *text,
		 struct sn_plan *ret, struct sn_err *err)
{
	struct sn_topo *topo = topology();
	struct sn_plan_offer offer[16];
	struct sn_layout l;
	int rc;

	assert_int_equal(sn_layout_parse(spec, 8, &l, NULL), 0);
	rc = sn_plan_build(&l, spares, topo, offer, offers(text, offer), ret, err);
	sn_topo_destroy(topo);
	return rc;
}

static void plan_of(const char *spec, uint32_t spares, const char *text,
		    struct sn_plan *ret)
{
	struct sn_err err;

	if (build(spec, spares, text, ret, &err))
		fail_msg("%s on %s: %s", spec, text, err.text);
}

/* Every rank on one card of its own, all tables agree, spares last. */
static void consistent(const struct sn_plan *plan)
{
	uint32_t world = plan->layout.world, at = 0;

	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *node = &plan->node[i];

		assert_true(node->ranks <= node->n_cards);
		assert_true(node->supernode < plan->n_supernodes);
		if (i)
			assert_true(plan->node[i - 1].ranks || !node->ranks);
		if (!node->ranks)
			continue;
		assert_int_equal(node->first, at);
		for (uint32_t k = 0; k < node->ranks; k++) {
			uint32_t r = plan->rank_at[at + k];

			assert_true(r < world);
			assert_int_equal(plan->rank_node[r], i);
			assert_int_equal(plan->rank_local[r], k);
			assert_int_equal(plan->rank_card[r], node->card[k]);
			if (k)
				assert_true(r > plan->rank_at[at + k - 1]);
		}
		at += node->ranks;
	}
	assert_int_equal(at, world);
}

static void name_is(const struct sn_plan *plan, uint32_t i, const char *name)
{
	assert_true(i < plan->n_nodes);
	assert_string_equal(plan->node[i].name, name);
}

static void nodes_come_in_topology_order(void **state)
{
	struct sn_plan plan;

	(void)state;
	plan_of("tp=4,dp=4", 0, "n8:4 n2:8 n7:4", &plan);
	consistent(&plan);
	assert_int_equal(plan.n_nodes, 3);
	name_is(&plan, 0, "n2");
	name_is(&plan, 1, "n7");
	name_is(&plan, 2, "n8");
	assert_string_equal(plan.node[0].address, "n2");
	assert_int_equal(plan.n_supernodes, 2);
	assert_string_equal(plan.supernode[1], "sn2");
	assert_int_equal(plan.node[2].supernode, 1);
	assert_int_equal(plan.rank_node[15], 2);
	assert_int_equal(plan.generation, 0);
	sn_plan_done(&plan);
}

static void more_cards_than_ranks_are_spares(void **state)
{
	struct sn_plan plan;

	(void)state;
	/* An atom is 16 ranks: two nodes of each supernode, one spare in each. */
	plan_of("tp=8,ep=16,etp=1,dp=4", 1, "n1:8 n2:8 n3:8 n7:8 n8:8 n9:8", &plan);
	consistent(&plan);
	assert_int_equal(plan.n_nodes, 6);
	name_is(&plan, 0, "n1");
	name_is(&plan, 3, "n8");
	name_is(&plan, 4, "n3");
	name_is(&plan, 5, "n9");
	assert_int_equal(plan.node[5].ranks, 0);
	assert_int_equal(plan.node[5].supernode, 1);
	sn_plan_done(&plan);

	/* As many as can be: five nodes in sn1 alone would leave it without. */
	plan_of("tp=8,dp=5", SN_PLAN_MOST_SPARES, "n1:8 n2:8 n3:8 n4:8 n5:8 n7:8 n8:8", &plan);
	consistent(&plan);
	assert_int_equal(plan.n_nodes, 7);
	assert_int_not_equal(plan.node[5].supernode, plan.node[6].supernode);
	sn_plan_done(&plan);
}

static void what_does_not_fit_is_said(void **state)
{
	struct sn_plan plan;
	struct sn_err err;

	(void)state;
	assert_int_equal(build("tp=8,dp=2", 0, "n1:8", &plan, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "8 cards on 1 node"));
	assert_non_null(strstr(err.text, "16 ranks"));
	/* Each supernode has half an atom. */
	assert_int_equal(build("tp=8,ep=16,etp=1,dp=2", 0, "n1:8 n7:8", &plan, &err), -EINVAL);
	assert_non_null(strstr(err.text, "atom"));
	assert_int_equal(build("tp=8", 0, "n1:4 n2:4", &plan, &err), -EINVAL);
	assert_int_equal(build("tp=8,dp=2", 0, "n1:8 n1:8", &plan, &err), -EINVAL);
	assert_non_null(strstr(err.text, "twice"));
	assert_int_equal(build("tp=8,dp=2", 0, "n1:8 m1:8", &plan, &err), -EINVAL);
	assert_non_null(strstr(err.text, "m1"));
	/* More than enough cards, and no whole node block anywhere. */
	assert_int_equal(build("tp=8", 0, "n1:4 n2:7", &plan, &err), -ENOSPC);
}

static void a_spare_takes_the_failed_nodes_place(void **state)
{
	bool usable[16];
	struct sn_plan plan;
	uint32_t before[32], spare;

	(void)state;
	memset(usable, true, sizeof(usable));
	plan_of("tp=8,ep=16,etp=1,dp=4", 1, "n1:8 n2:8 n3:8 n7:8 n8:8 n9:8", &plan);
	memcpy(before, plan.rank_node, sizeof(before));
	spare = sn_plan_find_spare(&plan, 2, usable);
	assert_int_equal(spare, 5);
	assert_int_equal(sn_plan_swap(&plan, 2, spare, NULL), 0);
	consistent(&plan);
	assert_int_equal(plan.n_nodes, 5);
	name_is(&plan, 2, "n9");
	assert_string_equal(plan.node[2].origin, "n7");
	name_is(&plan, 4, "n3");
	assert_memory_equal(before, plan.rank_node, sizeof(before));
	/* The supernode's only spare is used; the other's is of no use here. */
	assert_int_equal(sn_plan_find_spare(&plan, 2, usable), SN_NONE);
	assert_int_equal(sn_plan_find_spare(&plan, 0, usable), 4);
	usable[4] = false;
	assert_int_equal(sn_plan_find_spare(&plan, 0, usable), SN_NONE);
	/* Twice at one place: the first of all stays the origin. */
	usable[4] = true;
	assert_int_equal(sn_plan_swap(&plan, 0, 4, NULL), 0);
	assert_string_equal(plan.node[0].origin, "n1");
	sn_plan_done(&plan);
}

static void swaps_that_would_split_are_refused(void **state)
{
	bool usable[16];
	struct sn_plan plan;

	(void)state;
	memset(usable, true, sizeof(usable));
	/* n3 shares u1 with n1 and n2, n4 is in u2. */
	plan_of("tp=16,tp_within=unit", 1, "n1:8 n2:8 n4:8", &plan);
	assert_int_equal(sn_plan_find_spare(&plan, 1, usable), SN_NONE);
	sn_plan_done(&plan);
	plan_of("tp=16,tp_within=unit", 1, "n1:8 n2:8 n3:8", &plan);
	assert_int_equal(sn_plan_find_spare(&plan, 1, usable), 2);
	sn_plan_done(&plan);
	/* Without units the nearer one is taken, and only one that is large enough. */
	plan_of("tp=8,dp=2", 1, "n1:8 n4:8 n5:8 n3:8", &plan);
	name_is(&plan, 0, "n1");
	name_is(&plan, 1, "n3");
	assert_string_equal(plan.node[sn_plan_find_spare(&plan, 1, usable)].name, "n4");
	assert_int_equal(sn_plan_swap(&plan, 0, 1, NULL), -EINVAL);
	sn_plan_drop(&plan, 2);
	assert_int_equal(plan.n_nodes, 3);
	name_is(&plan, 2, "n5");
	plan.node[2].n_cards = 7;
	assert_int_equal(sn_plan_find_spare(&plan, 1, usable), SN_NONE);
	sn_plan_done(&plan);
}

static void the_spares_cards_are_used(void **state)
{
	static const uint32_t odd[] = { 1, 3, 5, 7 };
	struct sn_topo *topo = topology();
	struct sn_plan_offer offer[] = {
		{ "n1", "10.0.0.1", cards, 4 }, { "n2", NULL, odd, 4 },
	};
	struct sn_layout l;
	struct sn_plan plan;

	(void)state;
	assert_int_equal(sn_layout_parse("tp=4", 8, &l, NULL), 0);
	assert_int_equal(sn_plan_build(&l, 1, topo, offer, 2, &plan, NULL), 0);
	sn_topo_destroy(topo);
	assert_string_equal(plan.node[0].address, "10.0.0.1");
	assert_int_equal(plan.rank_card[3], 3);
	assert_int_equal(sn_plan_swap(&plan, 0, 1, NULL), 0);
	assert_int_equal(plan.rank_card[3], 7);
	sn_plan_done(&plan);
}

static void ports_are_fresh(void **state)
{
	(void)state;
	for (uint32_t g = 0; g < 50; g++) {
		uint16_t port = sn_plan_port(17, 0, g);

		assert_true(port >= 61000);
		for (uint32_t h = 0; h < g; h++)
			assert_int_not_equal(port, sn_plan_port(17, 0, h));
		assert_int_not_equal(port, sn_plan_port(17, 1, g));
		assert_int_not_equal(port, sn_plan_port(18, 0, g));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_in_topology_order),
		cmocka_unit_test(more_cards_than_ranks_are_spares),
		cmocka_unit_test(what_does_not_fit_is_said),
		cmocka_unit_test(a_spare_takes_the_failed_nodes_place),
		cmocka_unit_test(swaps_that_would_split_are_refused),
		cmocka_unit_test(the_spares_cards_are_used),
		cmocka_unit_test(ports_are_fresh),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
