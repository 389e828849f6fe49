/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_ladder.c - the cheapest means that works, and none that does not.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/ladder.h"
#include "tests/unit/ladderbed.h"

static void the_rungs_in_turn(void **state)
{
	struct sn_failure f[3] = { node(0, 0), node(0, 1), node(0, 2) };
	struct bed b;

	(void)state;
	make(&b);
	assert_int_equal(run(&b, NULL, 0), SN_MEANS_IGNORE);
	assert_int_equal(run(&b, f, 1), SN_MEANS_SWAP);
	assert_int_equal(b.plan.use[0].spares, 1);
	assert_int_equal(b.plan.use[1].spares, 0);
	assert_int_equal(b.plan.dp, 8);
	assert_false(b.plan.safe_point);
	/* 64 ranks, 5 s and 100 s, and 60 card-seconds for each of 8 cards */
	assert_true(b.plan.cost == 64 * 105 + 480);
	assert_string_equal(b.plan.why, "swap: n007 in sn01 is lost; 1 spare takes over; "
			    "7200 card-seconds, 100 s since the safe point; next is move with 10240");
	/* two nodes of one supernode: the spare and a stand-in */
	assert_int_equal(run(&b, f, 2), SN_MEANS_REPLACE);
	assert_int_equal(b.plan.use[0].spares, 1);
	assert_int_equal(b.plan.use[0].spare_nodes, 1);
	assert_non_null(strstr(b.plan.why, "1 spare and 1 of the SpareNodes take over"));
	/* three: one atom fits elsewhere, two are hit */
	b.job.atoms_elsewhere = 2;
	assert_int_equal(run(&b, f, 3), SN_MEANS_MOVE);
	assert_int_equal(b.plan.atoms, 2);
	assert_int_equal(b.plan.use[0].spares + b.plan.use[0].spare_nodes, 0);
	b.job.atoms_elsewhere = 1;
	b.costs.horizon = 600;
	/* 40 - 24 cards left there: one atom, and two in the other one */
	assert_int_equal(run(&b, f, 3), SN_MEANS_SHRINK);
	assert_int_equal(b.plan.dp, 6);
	assert_non_null(strstr(b.plan.why, "dp goes from 8 to 6"));
	b.job.elastic = false;
	assert_int_equal(run(&b, f, 3), SN_MEANS_REQUEUE);
	b.job.can_requeue = false;
	assert_int_equal(run(&b, f, 3), SN_MEANS_GIVE_UP);
	assert_string_equal(b.plan.why, "give-up: n007 in sn01 is lost, with 2 more; nothing works");
	done(&b);
}

static void a_suspected_card_moves_nothing(void **state)
{
	struct sn_failure f[2] = { node(0, 0), node(1, 1) };
	struct bed b;

	(void)state;
	make(&b);
	f[0].kind = SN_FAIL_SUSPECT;
	f[0].cards = 1;
	assert_int_equal(run(&b, f, 1), SN_MEANS_MASK);
	assert_true(b.plan.probe && b.plan.cost == 0);
	assert_string_equal(b.plan.why, "mask: n007 in sn01 is suspected; it is masked and probed first");
	/* with another failure that one is dealt with, and the card probed */
	assert_int_equal(run(&b, f, 2), SN_MEANS_SWAP);
	assert_true(b.plan.probe);
	assert_int_equal(b.plan.use[0].spares, 0);
	assert_int_equal(b.plan.use[1].spares, 1);
	/* while a recovery is under way it does not hold that up */
	b.job.running = false;
	assert_int_equal(run(&b, f, 1), SN_MEANS_RESTART);
	done(&b);
}

static void a_sick_card_is_left_at_the_next_safe_point(void **state)
{
	struct sn_failure f = node(0, 0);
	struct bed b;

	(void)state;
	make(&b);
	f.kind = SN_FAIL_SICK;
	f.cards = 1;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_SWAP);
	assert_true(b.plan.safe_point);
	assert_true(b.plan.cost == 64 * (5 + 20) + 480); /* a checkpoint, no steps lost */
	/* rather a little smaller than a sick card in the domain */
	b.domain[0].spares = b.domain[0].spare_nodes = b.job.atoms_elsewhere = 0;
	b.domain[0].cards = 32;
	b.costs.slow = 0.001;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_SHRINK);
	assert_int_equal(b.plan.dp, 6);
	assert_true(b.plan.safe_point);
	/* at its smallest it runs on, unless a requeue is cheaper */
	b.job.dp = 4;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_MASK);
	assert_non_null(strstr(b.plan.why, "runs on"));
	b.costs.slow = 1;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_MASK); /* no better elsewhere */
	b.costs.slow = 1.5;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_REQUEUE);
	assert_true(b.plan.safe_point);
	b.costs.slow = 0.2;
	/* one that has nothing and cannot shrink, too */
	b.job.dp = 8;
	b.job.elastic = false;
	b.job.can_requeue = false;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_MASK);
	done(&b);
}

static void a_spare_that_is_lost_hurts_nobody_yet(void **state)
{
	struct sn_failure f[2] = { node(0, 9), node(0, 0) };
	struct bed b;

	(void)state;
	make(&b);
	f[0].spare = true;
	f[0].cards = 0;
	assert_int_equal(run(&b, f, 1), SN_MEANS_IGNORE);
	/* but it is not there to take over */
	assert_int_equal(run(&b, f, 2), SN_MEANS_REPLACE);
	assert_int_equal(b.plan.use[0].spares, 0);
	assert_int_equal(b.plan.use[0].spare_nodes, 1);
	/* nor are its cards there for a smaller job */
	b.job.allowed = 1u << SN_MEANS_SHRINK;
	b.domain[1].cards = 32;
	assert_int_equal(run(&b, f, 2), SN_MEANS_SHRINK);
	assert_int_equal(b.plan.dp, 6);
	done(&b);
}

static void a_node_that_comes_back_is_used_until_it_flaps(void **state)
{
	struct sn_failure f = node(0, 0);
	struct bed b;

	(void)state;
	make(&b);
	f.back = true;
	for (f.times = 1; f.times < 6; f.times++)
		assert_int_equal(run(&b, &f, 1), f.times < 3 ? SN_MEANS_RESTART : SN_MEANS_SWAP);
	b.costs.flaps = 0;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_RESTART);
	done(&b);
}

static void without_its_script_nothing_can_be_mended(void **state)
{
	struct sn_failure f = node(0, 0);
	struct bed b;

	(void)state;
	make(&b);
	f.kind = SN_FAIL_BATCH;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_REQUEUE);
	assert_string_equal(b.plan.why, "requeue: n007 in sn01 with the batch host is lost; its script is gone; "
			    "25600 card-seconds, 100 s since the safe point");
	for (int m = SN_MEANS_RESTART; m <= SN_MEANS_SHRINK; m++)
		assert_false(b.plan.option[m].can);
	b.job.can_requeue = false;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_GIVE_UP);
	done(&b);
}

static void a_whole_supernode(void **state)
{
	struct sn_failure f = { .kind = SN_FAIL_SUPERNODE, .domain = 1 };
	struct bed b;

	(void)state;
	make(&b);
	b.costs.horizon = 100;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_SHRINK); /* one atom fits elsewhere */
	assert_int_equal(b.plan.dp, 4);
	assert_non_null(strstr(b.plan.why, "all of sn02 is lost"));
	b.job.atoms_elsewhere = 2;
	b.costs.horizon = 3600;
	assert_int_equal(run(&b, &f, 1), SN_MEANS_MOVE);
	assert_int_equal(b.plan.atoms, 2);
	assert_int_equal(b.plan.use[1].spares + b.plan.use[1].spare_nodes, 0);
	done(&b);
}

static void a_job_that_fails_by_itself_is_not_restarted_for_ever(void **state)
{
	struct sn_failure f[2] = { { .kind = SN_FAIL_STEP }, node(0, 0) };
	struct bed b;

	(void)state;
	make(&b);
	for (b.job.restarts = 0; b.job.restarts < 5; b.job.restarts++)
		assert_int_equal(run(&b, f, 1), b.job.restarts < 3 ? SN_MEANS_RESTART : SN_MEANS_GIVE_UP);
	assert_non_null(strstr(b.plan.why, "restarts made no progress"));
	/* the loss of a node is not its own fault */
	assert_int_equal(run(&b, f, 2), SN_MEANS_SWAP);
	b.costs.no_progress = 0;
	assert_int_equal(run(&b, f, 1), SN_MEANS_RESTART);
	done(&b);
}

static bool fits_at_most(void *arg, uint32_t dp)
{
	return dp <= *(uint32_t *)arg;
}

static void sizes_are_legal(void **state)
{
	struct sn_failure f[2] = { node(0, 0), node(0, 1) };
	uint32_t fits;
	struct bed b;

	(void)state;
	make(&b);
	b.job.allowed = 1u << SN_MEANS_SHRINK;
	b.job.fits = fits_at_most;
	b.job.arg = &fits;
	for (uint32_t dp = 4; dp <= 12; dp += 2)
		for (uint32_t gbs = 0; gbs <= 240; gbs += 24)
			for (fits = 0; fits < 14; fits++) {
				uint32_t want = 0;

				b.job.dp = dp;
				b.job.sizes.gbs = gbs;
				b.job.sizes.mbs = gbs ? 2 : 0;
				if (gbs && gbs % (2 * dp))
					continue; /* not running with that */
				for (uint32_t s = 4; s < dp && s <= fits; s += 2)
					if (!gbs || gbs % (2 * s) == 0)
						want = s;
				assert_int_equal(run(&b, f, 2), want ? SN_MEANS_SHRINK : SN_MEANS_GIVE_UP);
				assert_int_equal(b.plan.dp, want ? want : dp);
			}
	done(&b);
}

static void several_jobs_share_what_is_left(void **state)
{
	struct sn_failure f[2] = { node(0, 0), node(1, 1) };
	uint32_t elsewhere = 3;
	struct bed b;

	(void)state;
	make(&b);
	b.domain[0].spares = b.domain[1].spares = 0;
	assert_int_equal(run(&b, f, 2), SN_MEANS_REPLACE);
	sn_ladder_take(&b.plan, b.domain, &elsewhere);
	assert_int_equal(b.domain[0].spare_nodes, 0);
	assert_int_equal(b.domain[1].spare_nodes, 0);
	assert_int_equal(elsewhere, 3);
	b.job.atoms_elsewhere = elsewhere;
	assert_int_equal(run(&b, f, 2), SN_MEANS_MOVE);
	sn_ladder_take(&b.plan, b.domain, &elsewhere);
	assert_int_equal(elsewhere, 1);
	done(&b);
}

static void two_cards_of_a_node_are_one_node_and_atoms_count_once(void **state)
{
	struct sn_failure f[4] = { node(0, 0), node(0, 0), node(0, 0), node(0, 1) };
	struct bed b;

	(void)state;
	make(&b);
	for (int i = 0; i < 3; i++) {
		f[i].kind = SN_FAIL_CARD;
		f[i].cards = 1;
	}
	assert_int_equal(run(&b, f, 3), SN_MEANS_SWAP);
	assert_int_equal(b.plan.use[0].spares, 1);
	/* two nodes of one atom */
	b.domain[0].spares = b.domain[0].spare_nodes = 0;
	assert_int_equal(run(&b, f, 4), SN_MEANS_MOVE);
	assert_int_equal(b.plan.atoms, 1);
	done(&b);
}

static void memory_survives_one_node(void **state)
{
	struct sn_failure f[2] = { node(0, 0), node(1, 9) };
	struct bed b;

	(void)state;
	make(&b);
	b.job.since_memory = 10;
	assert_int_equal(run(&b, f, 1), SN_MEANS_SWAP);
	assert_true(b.plan.cost == 64 * 15 + 480);
	assert_non_null(strstr(b.plan.why, "1440 card-seconds, 10 s since the safe point;"));
	/* but no requeue, with which regions end */
	assert_true(b.plan.option[SN_MEANS_REQUEUE].cost - 64 * (b.costs.requeue + 100) >= 0);
	b.job.allowed = 1u << SN_MEANS_REQUEUE;
	assert_int_equal(run(&b, f, 1), SN_MEANS_REQUEUE);
	assert_non_null(strstr(b.plan.why, " 100 s since the safe point"));
	b.job.allowed = 0;
	/* two, wherever they are: they may be neighbours */
	assert_int_equal(run(&b, f, 2), SN_MEANS_SWAP);
	assert_true(b.plan.cost == 64 * 105 + 2 * 480);
	/* a spare has nothing in its memory */
	f[1].spare = true;
	run(&b, f, 2);
	assert_non_null(strstr(b.plan.why, " 10 s since the safe point"));
	f[1] = (struct sn_failure){ .kind = SN_FAIL_SUPERNODE, .domain = 1, .name = "sn02", .cards = 32,
				    .atom = 2, .n_atoms = 2 };
	b.job.atoms_elsewhere = 2;
	run(&b, &f[1], 1);
	assert_non_null(strstr(b.plan.why, " 100 s since the safe point"));
	/* a card's node has its memory, and ranks that fail leave theirs */
	f[0].kind = SN_FAIL_CARD;
	f[1] = (struct sn_failure){ .kind = SN_FAIL_STEP };
	run(&b, f, 2);
	assert_non_null(strstr(b.plan.why, " 10 s since the safe point"));
	/* those on disk may be newer */
	b.job.since_safe = 3;
	run(&b, f, 1);
	assert_non_null(strstr(b.plan.why, " 3 s since the safe point"));
	done(&b);
}

static void bad_states_are_refused(void **state)
{
	struct sn_failure f = node(2, 0);
	struct bed b;

	(void)state;
	make(&b);
	assert_int_equal(sn_ladder(&b.job, &b.costs, &f, 1, &b.plan, &b.err), -EINVAL);
	f.domain = 0;
	f.kind = (enum sn_failure_kind)9;
	assert_int_equal(sn_ladder(&b.job, &b.costs, &f, 1, &b.plan, &b.err), -EINVAL);
	b.job.dp = 7;
	assert_int_equal(sn_ladder(&b.job, &b.costs, NULL, 0, &b.plan, &b.err), -EINVAL);
	assert_non_null(strstr(b.err.text, "dp=7 is no size of this job, which has 4 to 12 in steps of 2"));
	b.job.dp = 8;
	b.job.since_safe = NAN;
	assert_int_equal(sn_ladder(&b.job, &b.costs, NULL, 0, &b.plan, &b.err), -EINVAL);
	b.job.since_safe = -1;
	assert_int_equal(sn_ladder(&b.job, &b.costs, NULL, 0, &b.plan, &b.err), -EINVAL);
	b.job.since_safe = 1;
	b.job.since_memory = NAN;
	assert_int_equal(sn_ladder(&b.job, &b.costs, NULL, 0, &b.plan, &b.err), -EINVAL);
}

static void costs_are_the_sites(void **state)
{
	static const char *const bad[] = { "swap", "swap=", "swap=x", "swap=-1", "swop=1",
					   "=3", "swap=99999999999", "swap=1.5" };
	struct sn_ladder_costs c;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_ladder_costs_parse("", &c, &err), 0);
	assert_true(c.restart == 5 && c.slow == 0.2 && c.flaps == 3);
	assert_int_equal(sn_ladder_costs_parse(" Swap=7 slow=35  flaps=0 spare_node=9 no_progress=8 ", &c, &err), 0);
	assert_true(c.swap == 7 && c.slow == 0.35 && c.spare_node == 9 && c.restart == 5);
	assert_int_equal(c.flaps, 0);
	assert_int_equal(c.no_progress, 8);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(sn_ladder_costs_parse(bad[i], &c, &err), -EINVAL);
		assert_memory_equal(err.text, "ElasticCosts: ", 14);
	}
	assert_true(c.swap == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rungs_in_turn),
		cmocka_unit_test(a_suspected_card_moves_nothing),
		cmocka_unit_test(a_sick_card_is_left_at_the_next_safe_point),
		cmocka_unit_test(a_spare_that_is_lost_hurts_nobody_yet),
		cmocka_unit_test(a_node_that_comes_back_is_used_until_it_flaps),
		cmocka_unit_test(without_its_script_nothing_can_be_mended),
		cmocka_unit_test(a_whole_supernode),
		cmocka_unit_test(a_job_that_fails_by_itself_is_not_restarted_for_ever),
		cmocka_unit_test(sizes_are_legal),
		cmocka_unit_test(several_jobs_share_what_is_left),
		cmocka_unit_test(two_cards_of_a_node_are_one_node_and_atoms_count_once),
		cmocka_unit_test(memory_survives_one_node),
		cmocka_unit_test(bad_states_are_refused),
		cmocka_unit_test(costs_are_the_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
