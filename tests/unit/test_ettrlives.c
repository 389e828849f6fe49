/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_ettrlives.c - the account of random lives of jobs.
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

#include "topology/ettr.h"
#include "tests/unit/ettrbed.h"

/* ---- random lives ---- */

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* Whatever comes in whatever order: each card-second that was held is in one place,
 * and what is useful or lost stays so. */
static void test_conservation(void **state)
{
	(void)state;
	for (uint32_t life = 0; life < 3000; life++) {
		struct sn_ettr a, old;
		double now = T0, held_sum = 0, began = T0;
		uint32_t held = 0;

		seed = life * 77 + 1;
		sn_ettr_init(&a, now);
		for (int i = 0; i < 60; i++) {
			double pass = roll(4) ? roll(1000) / 8.0 : 0;
			struct sn_ettr_event e = {
				.kind = (enum sn_ettr_kind)roll(SN_ETTR_KINDS),
				.held = roll(64), .ranks = roll(64), .want = roll(64),
				.ends = roll(2), .well = roll(2),
				.fail = (enum sn_ettr_fail)roll(SN_ETTR_FAILS),
				.took = roll(3) ? 0 : roll(100),
			};

			now += pass;
			held_sum += pass * held;
			e.at = roll(10) ? now : now - roll(500);
			/* A time that is passed counts as the latest. */
			if (e.at < now) {
				sn_ettr_pass(&a, now);
			}
			e.covers = roll(2) ? 0 : now - roll(300);
			old = a;
			assert_int_equal(sn_ettr_event(&a, &e, NULL), 0);
			if (e.kind == SN_ETTR_CARDS)
				held = e.held;
			else if (e.kind == SN_ETTR_TO_QUEUE)
				held = 0;
			assert_near(a.held_sum, held_sum);
			assert_near(a.at - a.began, now - began);
			assert_whole(&a);
			assert_true(a.cards.useful >= old.cards.useful);
			assert_true(a.wall.useful >= old.wall.useful);
			for (int k = 0; k < SN_LOST_KINDS; k++)
				assert_true(a.cards.lost[k] >= old.cards.lost[k] &&
					    a.wall.lost[k] >= old.wall.lost[k]);
			assert_true(sn_ettr_ratio(&a) >= 0 && sn_ettr_ratio(&a) <= 1);
			assert_true(sn_ettr_ratio_open(&a) >= sn_ettr_ratio(&a));
			/* With no card idle both sums are the same but for the cards. */
			assert_true(a.wall.useful <= sn_ettr_wall(&a) + 1e-3);
		}
		ends(&a, now - T0 + 1, roll(2));
		assert_near(sn_ettr_open(&a.cards), 0);
		assert_near(sn_ettr_open(&a.wall), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
