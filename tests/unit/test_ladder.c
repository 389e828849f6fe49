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

/* tp=8 on nodes of 8 cards, dp=8 of 4 to 12 in steps of 2: an atom of 16 ranks is
 * two nodes. Two supernodes with two atoms each. */
struct bed {
	struct sn_ladder_domain domain[2];
	struct sn_ladder_job job;
	struct sn_ladder_costs costs;
	struct sn_ladder_plan plan;
	struct sn_err err;
};

static void make(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	sn_ladder_costs_init(&b->costs);
	for (int d = 0; d < 2; d++)
		b->domain[d] = (struct sn_ladder_domain){
			.name = d ? "sn02" : "sn01", .cards = 40, .atoms = 2, .spares = 1,
			.spare_cards = 8, .spare_nodes = 1,
		};
	b->job = (struct sn_ladder_job){
		.sizes = { .min = 4, .want = 8, .max = 12, .step = 2, .replica = 8, .atom = 16, .atoms = 1 },
		.dp = 8, .elastic = true, .running = true, .can_checkpoint = true,
		.can_requeue = true, .since_safe = 100, .checkpoint = 20,
		.domain = b->domain, .n_domains = 2, .atoms_elsewhere = 1,
	};
}

static enum sn_means run(struct bed *b, const struct sn_failure *f, uint32_t n)
{
	if (b->plan.use)
		sn_ladder_plan_done(&b->plan);
	assert_int_equal(sn_ladder(&b->job, &b->costs, f, n, &b->plan, &b->err), 0);
	return b->plan.means;
}

static void done(struct bed *b)
{
	sn_ladder_plan_done(&b->plan);
}

static struct sn_failure node(uint32_t domain, uint32_t number)
{
	return (struct sn_failure){
		.kind = SN_FAIL_NODE, .domain = domain, .node = number, .name = "n007",
		.cards = 8, .atom = number / 2, .n_atoms = 1, .times = 1,
	};
}

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

/* ---- every small case, against the rules written down a second time --------------- */

/* What is known of a case without the engine: which means can be done. */
struct truth { bool can[SN_MEANS_KINDS]; };

static struct truth judge(const struct bed *b, const struct sn_failure *f, uint32_t n)
{
	struct truth t = { { false } };
	bool down = !b->job.running, suspect = false, sick = false, batch = false, enough = true;
	bool spares_do = true, any = false, step = false, lost = false;
	uint32_t cards[2], open_atoms = 0, all_atoms = 0, nodes[2] = { 0, 0 };

	for (uint32_t d = 0; d < 2; d++) {
		uint32_t leave = 0, spares = b->domain[d].spares, atoms = 0;
		bool whole = false;

		cards[d] = b->domain[d].cards;
		/* each failure is on a node of its own here, each node in an atom of its own */
		for (uint32_t i = 0; i < n; i++) {
			bool gone = f[i].kind == SN_FAIL_SICK || f[i].kind == SN_FAIL_CARD ||
				(f[i].kind == SN_FAIL_NODE && (!f[i].back || f[i].times >= 3)) ||
				f[i].kind == SN_FAIL_BATCH;

			if (f[i].kind == SN_FAIL_STEP || f[i].domain != d)
				continue;
			whole |= f[i].kind == SN_FAIL_SUPERNODE;
			if (f[i].spare) {
				spares -= gone && spares;
				cards[d] -= gone ? 8 : 0;
			} else if (gone) {
				leave++;
				atoms++;
				cards[d] -= f[i].cards;
			}
		}
		if (whole) {
			cards[d] = 0;
			enough = spares_do = false;
			any = true;
			open_atoms += b->domain[d].atoms;
			all_atoms += b->domain[d].atoms;
			continue;
		}
		any |= leave > 0;
		nodes[d] = leave > spares ? leave - spares : 0;
		spares_do &= leave <= spares;
		all_atoms += atoms < b->domain[d].atoms ? atoms : b->domain[d].atoms;
		if (leave > spares + b->domain[d].spare_nodes) {
			enough = false;
			open_atoms += atoms < b->domain[d].atoms ? atoms : b->domain[d].atoms;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		bool hits = f[i].kind == SN_FAIL_STEP || f[i].kind == SN_FAIL_SUPERNODE ||
			f[i].kind == SN_FAIL_BATCH || !f[i].spare;

		suspect |= hits && f[i].kind == SN_FAIL_SUSPECT;
		sick |= hits && f[i].kind == SN_FAIL_SICK;
		batch |= f[i].kind == SN_FAIL_BATCH;
		step |= f[i].kind == SN_FAIL_STEP;
		lost |= hits && f[i].kind != SN_FAIL_SUSPECT && f[i].kind != SN_FAIL_SICK &&
			f[i].kind != SN_FAIL_STEP;
	}
	down |= step || lost;
	t.can[SN_MEANS_GIVE_UP] = true;
	t.can[SN_MEANS_IGNORE] = !down && !suspect && !sick;
	t.can[SN_MEANS_RESTART] = down && !any && !(step && !lost && !sick && b->job.restarts >= 3);
	if (any && !batch) {
		uint32_t moving = enough ? all_atoms : open_atoms;

		t.can[SN_MEANS_SWAP] = spares_do;
		t.can[SN_MEANS_REPLACE] = enough && nodes[0] + nodes[1];
		t.can[SN_MEANS_MOVE] = moving && moving <= b->job.atoms_elsewhere;
		/* whole atoms of 16 cards; 2 of dp each */
		t.can[SN_MEANS_SHRINK] = b->job.elastic && b->job.dp > 4 &&
			(cards[0] / 16 + cards[1] / 16) * 2 >= 4;
	}
	t.can[SN_MEANS_REQUEUE] = b->job.can_requeue && (any || down) &&
		!(step && !lost && !sick && b->job.restarts >= 3);
	t.can[SN_MEANS_MASK] = !down && (suspect || (sick && !t.can[SN_MEANS_SWAP] &&
		!t.can[SN_MEANS_REPLACE] && !t.can[SN_MEANS_MOVE] && !t.can[SN_MEANS_SHRINK]));
	if (sick && (t.can[SN_MEANS_SWAP] || t.can[SN_MEANS_REPLACE] || t.can[SN_MEANS_MOVE] ||
		     t.can[SN_MEANS_SHRINK]))
		t.can[SN_MEANS_MASK] = false;
	return t;
}

static void check_case(struct bed *b, const struct sn_failure *f, uint32_t n)
{
	enum sn_means means = run(b, f, n);
	struct truth t = judge(b, f, n);
	const struct sn_ladder_plan *p = &b->plan;

	for (int m = 0; m < SN_MEANS_KINDS; m++)
		if (p->option[m].can != t.can[m])
			fail_msg("%s: %d, should be %d; %s", sn_means_name((enum sn_means)m),
				 p->option[m].can, t.can[m], p->why);
	assert_true(t.can[means]);
	for (int m = 0; m < SN_MEANS_KINDS; m++)
		if (t.can[m])
			assert_true(p->cost <= p->option[m].cost &&
				    (m >= (int)means || p->cost < p->option[m].cost));
	assert_true(p->dp >= 4 && p->dp <= 12 && p->dp % 2 == 0 && p->dp <= b->job.dp);
	assert_int_equal(p->dp < b->job.dp, means == SN_MEANS_SHRINK);
	for (uint32_t d = 0; d < 2; d++) {
		assert_true(p->use[d].spares <= b->domain[d].spares);
		assert_true(p->use[d].spare_nodes <= b->domain[d].spare_nodes);
		if (p->use[d].spare_nodes)
			assert_true(means == SN_MEANS_REPLACE || means == SN_MEANS_MOVE);
	}
	assert_true(p->atoms <= b->job.atoms_elsewhere);
	assert_int_equal(p->atoms > 0, means == SN_MEANS_MOVE);
	/* nobody is killed unwarned while all are alive */
	if (b->job.running && p->option[SN_MEANS_MASK].can)
		assert_true(p->safe_point || means == SN_MEANS_MASK || means == SN_MEANS_GIVE_UP);
	assert_true(strlen(p->why) > 10 && strlen(p->why) < SN_LADDER_WHY - 1);
	assert_null(strchr(p->why, '\n'));
}

static void every_small_case(void **state)
{
	static const struct { double horizon, spare, slow; } prices[] = {
		{ 3600, 60, 0.2 }, { 10, 60, 0.2 }, { 3600, 20000, 0.01 }, { 0, 0, 0 },
	};
	unsigned long cases = 0, chosen[SN_MEANS_KINDS] = { 0 };
	struct bed b;

	(void)state;
	make(&b);
	for (uint32_t set = 0; set < 4 * 2 * 2 * 3 * 2 * 2; set++) {
		uint32_t s = set;

		b.costs.horizon = prices[s % 4].horizon;
		b.costs.spare = b.costs.spare_node = prices[s % 4].spare;
		b.costs.slow = prices[s % 4].slow;
		s /= 4;
		b.domain[0].spares = s % 2;
		b.domain[0].cards = 32 + 8 * b.domain[0].spares;
		b.domain[0].spare_nodes = s / 2 % 2;
		b.job.atoms_elsewhere = s / 4 % 3;
		b.job.elastic = s / 12 % 2;
		b.job.running = s / 24 % 2;
		for (uint32_t which = 0; which < 9 * 9 * 2 * 2 * 2; which++) {
			struct sn_failure f[2];
			uint32_t w = which, n = 0;

			for (int i = 0; i < 2; i++, w /= 9) {
				struct sn_failure one = node(i ? which % 2 : 0, (uint32_t)i * 2);

				one.kind = (enum sn_failure_kind)(w % 9 < 7 ? w % 9 : SN_FAIL_NODE);
				one.spare = w % 9 == 7;
				if (w % 9 == 8)
					continue;
				if (one.kind == SN_FAIL_SUSPECT || one.kind == SN_FAIL_SICK ||
				    one.kind == SN_FAIL_CARD)
					one.cards = 1;
				one.back = which / 81 % 2;
				f[n++] = one;
			}
			b.job.dp = which / 162 % 2 ? 4 : 8;
			b.job.can_requeue = which / 324 % 2;
			b.job.restarts = which % 5;
			check_case(&b, f, n);
			chosen[b.plan.means]++;
			cases++;
		}
	}
	for (int m = 0; m < SN_MEANS_KINDS; m++)
		assert_true(chosen[m] > 50);
	assert_true(cases > 100000);
	done(&b);
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
		cmocka_unit_test(bad_states_are_refused),
		cmocka_unit_test(costs_are_the_sites),
		cmocka_unit_test(every_small_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
