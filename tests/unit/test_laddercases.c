/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_laddercases.c - every small case, against the rules written down a second time.
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
		cmocka_unit_test(every_small_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
