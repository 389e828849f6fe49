/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_parts.c - a plan over the cards of several Slurm jobs.
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

#include "launcher/parts.h"
#include "launcher/stepenv.h"

static const char conf[] =
	"SupernodeName=sn1 Nodes=n[1-6]\nSupernodeName=sn2 Nodes=n[7-12]\n";

static const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const uint32_t low[] = { 0, 1, 4, 5 }, high[] = { 2, 3, 6, 7 };

static void plan_of(const char *spec, const struct sn_plan_offer *offer,
		    uint32_t n, struct sn_plan *ret)
{
	struct sn_topo *topo = NULL;
	struct sn_layout l;
	struct sn_err err;

	if (sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, &err) ||
	    sn_layout_parse(spec, 8, &l, &err) ||
	    sn_plan_build(&l, SN_PLAN_MOST_SPARES, topo, offer, n, ret, &err))
		fail_msg("%s", err.text);
	sn_topo_destroy(topo);
}

/* Each rank is in one part, and what the part's texts say is what the plan says. */
static void check(const struct sn_plan *plan, const struct sn_holding *holding,
		  uint32_t n)
{
	uint32_t world = plan->layout.world, n_parts, seen = 0;
	bool *has = calloc(world, sizeof(*has));
	struct sn_part *part;
	struct sn_err err;

	if (sn_parts_make(plan, holding, n, &part, &n_parts, &err))
		fail_msg("%s", err.text);
	for (uint32_t p = 0; p < n_parts; p++) {
		struct sn_stepenv_rank *said = calloc(part[p].n_ranks, sizeof(*said));
		char *text = sn_part_ranks(plan, &part[p]);
		char *hosts = sn_part_hostfile(plan, &part[p]), *line = hosts;

		assert_int_equal(holding[part[p].holding].job, part[p].job);
		if (sn_stepenv_ranks_parse(text, said, part[p].n_ranks, &err))
			fail_msg("%s", err.text);
		for (uint32_t t = 0; t < part[p].n_ranks; t++) {
			uint32_t r = part[p].rank[t];
			const struct sn_plan_node *node = &plan->node[plan->rank_node[r]];
			size_t len = strcspn(line, "\n");
			bool mine = false;

			assert_true(!t || r > part[p].rank[t - 1]);
			assert_false(has[r]);
			has[r] = true;
			seen++;
			assert_int_equal(said[t].rank, r);
			assert_int_equal(said[t].local, plan->rank_local[r]);
			assert_int_equal(said[t].local_world, node->ranks);
			assert_true(strlen(node->name) == len && !strncmp(node->name, line, len));
			line += len + 1;
			for (uint32_t i = 0; i < holding[part[p].holding].n; i++) {
				const struct sn_plan_offer *o = &holding[part[p].holding].offer[i];

				for (uint32_t c = 0; c < o->n_cards; c++)
					mine |= !strcmp(o->name, node->name) &&
						o->card[c] == plan->rank_card[r];
			}
			assert_true(mine);
		}
		assert_int_equal(*line, '\0');
		free(said);
		free(text);
		free(hosts);
	}
	assert_int_equal(seen, world);
	sn_parts_done(part, n_parts);
	free(has);
}

static void a_base_and_two_members(void **state)
{
	const struct sn_plan_offer base[] = { { "n1", NULL, all, 8 }, { "n7", NULL, all, 8 } };
	const struct sn_plan_offer one[] = { { "n2", NULL, all, 8 } };
	const struct sn_plan_offer two[] = { { "n8", NULL, all, 8 }, { "n3", NULL, all, 8 } };
	const struct sn_holding holding[] = { { 10, base, 2 }, { 11, one, 1 }, { 12, two, 2 } };
	struct sn_plan_offer *offer;
	struct sn_plan plan;
	uint32_t n;

	(void)state;
	assert_int_equal(sn_parts_merge(holding, 3, &offer, &n, NULL), 0);
	assert_int_equal(n, 5);
	plan_of("tp=8,dp=5", offer, n, &plan);
	/* sn1 first, whoever holds its nodes */
	assert_string_equal(plan.node[plan.rank_node[8]].name, "n2");
	check(&plan, holding, 3);
	sn_plan_done(&plan);
	/* A part less. */
	plan_of("tp=8,dp=3", offer, n, &plan);
	check(&plan, holding, 3);
	sn_plan_done(&plan);
	free(offer);
}

static void two_jobs_on_one_node(void **state)
{
	const struct sn_plan_offer base[] = { { "n1", "10.0.0.1", low, 4 }, { "n2", NULL, all, 8 } };
	const struct sn_plan_offer more[] = { { "n1", "10.0.0.1", high, 4 } };
	const struct sn_holding holding[] = { { 10, base, 2 }, { 11, more, 1 } };
	struct sn_part *part;
	struct sn_plan_offer *offer;
	struct sn_plan plan;
	uint32_t n;
	char *text;

	(void)state;
	assert_int_equal(sn_parts_merge(holding, 2, &offer, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(offer[0].n_cards, 8);
	assert_string_equal(offer[0].address, "10.0.0.1");
	plan_of("tp=4,dp=4", offer, n, &plan);
	check(&plan, holding, 2);
	assert_int_equal(sn_parts_make(&plan, holding, 2, &part, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(part[1].n_nodes, 1);
	text = sn_part_ranks(&plan, &part[1]);
	assert_string_equal(text, "2:2:8:2,6:6:8:2");
	free(text);
	sn_parts_done(part, n);
	sn_plan_done(&plan);
	free(offer);
}

static void what_cannot_be_is_refused(void **state)
{
	const struct sn_plan_offer base[] = { { "n1", NULL, all, 8 }, { "n2", NULL, all, 8 } };
	const struct sn_plan_offer twice[] = { { "n2", NULL, high, 4 } };
	const struct sn_holding holding[] = { { 10, base, 2 }, { 11, twice, 1 } };
	const struct sn_holding less[] = { { 10, base, 1 } };
	struct sn_plan_offer *offer;
	struct sn_part *part;
	struct sn_plan plan;
	struct sn_err err = { "" };
	uint32_t n;

	(void)state;
	assert_int_equal(sn_parts_merge(holding, 2, &offer, &n, &err), -EINVAL);
	assert_non_null(strstr(err.text, "card 2 of node n2 is in two"));
	plan_of("tp=8,dp=2", base, 2, &plan);
	assert_int_equal(sn_parts_make(&plan, less, 1, &part, &n, &err), -EINVAL);
	assert_non_null(strstr(err.text, "node n2"));
	sn_plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_base_and_two_members),
		cmocka_unit_test(two_jobs_on_one_node),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
