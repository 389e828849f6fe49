/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_ettr.c - each second and each card-second of a job is in one place, the right
 * one.
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

/* Script 10 s, start 20 s, work 100 s of which a checkpoint holds 60, a loss, 5 s, start
 * 20 s, work 40 s and a good end. 16 cards held, 12 with ranks. */
static void test_a_life(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 16, 12, 16);
	do_event(&a, SN_ETTR_START, 10);
	do_event(&a, SN_ETTR_STEP, 30);
	do_event(&a, SN_ETTR_STEP, 40);
	safe(&a, 95, 90, 0, false);
	assert_near(a.wall.useful, 60);
	assert_near(a.wall.provisional, 5);
	fails(&a, 130, SN_ETTR_FAIL_NODE);
	cards(&a, 130, 12, 12, 16);
	do_event(&a, SN_ETTR_START, 135);
	assert_near(a.wall.lost[SN_LOST_REDONE], 40);
	do_event(&a, SN_ETTR_STEP, 155);
	ends(&a, 195, true);
	assert_whole(&a);
	assert_near(a.wall.useful, 60 + 40);
	assert_near(a.wall.lost[SN_LOST_SCRIPT], 10);
	assert_near(a.wall.lost[SN_LOST_STARTUP], 40);
	assert_near(a.wall.lost[SN_LOST_RESTART], 5);
	assert_near(a.cards.useful, 100 * 12);
	assert_near(a.cards.lost[SN_LOST_REDONE], 40 * 12);
	/* In the script all cards wait; then four have no ranks until the loss. */
	assert_near(a.cards.lost[SN_LOST_SCRIPT], 160);
	assert_near(a.idle, 120 * 4);
	assert_near(a.missing, 65 * 4);
	assert_near(sn_ettr_ratio(&a), 100.0 / 195);
	assert_int_equal(a.generations, 2);
	assert_int_equal(a.fails[SN_ETTR_FAIL_NODE], 1);
	/* From the loss to the first step. */
	assert_int_equal(sn_recoveries_count(&a.recoveries), 1);
	assert_near(a.recoveries.sum, 25);
	assert_int_equal(a.recoveries.n[6], 1); /* at most 30 s */
}

/* Asked to save and end; the time from there is the checkpoint's, and the work before
 * it is safe only when the file shows. */
static void test_a_resize(void **state)
{
	for (int saved = 0; saved < 2; saved++) {
		struct sn_ettr a;

		(void)state;
		sn_ettr_init(&a, T0);
		cards(&a, 0, 8, 8, 8);
		do_event(&a, SN_ETTR_START, 0);
		do_event(&a, SN_ETTR_STEP, 10);
		do_event(&a, SN_ETTR_STEP, 10.5);
		do_event(&a, SN_ETTR_ASK, 50);
		do_event(&a, SN_ETTR_STEP, 52); /* the step at hand */
		if (saved)
			safe(&a, 58, 0, 0, true);
		do_event(&a, SN_ETTR_END, 60);
		cards(&a, 60, 8, 4, 8);
		do_event(&a, SN_ETTR_START, 61);
		do_event(&a, SN_ETTR_STEP, 70);
		assert_whole(&a);
		assert_near(a.wall.lost[SN_LOST_CHECKPOINT], 10);
		assert_near(a.wall.useful, saved ? 40 : 0);
		assert_near(a.wall.lost[SN_LOST_REDONE], saved ? 0 : 40);
		assert_near(a.wall.lost[SN_LOST_RESTART], 1);
		assert_near(a.idle, 4 * 10);
		/* It is no failure. */
		assert_int_equal(sn_recoveries_count(&a.recoveries), 0);
	}
}

/* A request that does not end the ranks. */
static void test_save_and_go_on(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 8, 8, 8);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 10);
	do_event(&a, SN_ETTR_STEP, 10.5);
	do_event(&a, SN_ETTR_ASK, 50);
	safe(&a, 55, 0, 0, false);
	fails(&a, 75, SN_ETTR_FAIL_RANK);
	ends(&a, 76, false);
	assert_whole(&a);
	assert_near(a.wall.useful, 40);
	assert_near(a.wall.lost[SN_LOST_CHECKPOINT], 5);
	assert_near(a.wall.lost[SN_LOST_REDONE], 20);
}

/* A checkpoint of its own that is known to have stopped the ranks for 3 s. */
static void test_took(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 10);
	do_event(&a, SN_ETTR_STEP, 10.5);
	safe(&a, 40, 38, 3, false);
	assert_whole(&a);
	assert_near(a.wall.useful, 25);
	assert_near(a.wall.lost[SN_LOST_CHECKPOINT], 3);
	assert_near(a.wall.provisional, 2);
	/* More than there was cannot be taken. */
	safe(&a, 41, 0, 1000, false);
	assert_whole(&a);
	assert_near(a.wall.lost[SN_LOST_CHECKPOINT], 6);
	assert_near(a.wall.useful, 25);
}

/* After a failure the others save what they have; or the file was being flushed. */
static void test_late_safe_point(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 10);
	do_event(&a, SN_ETTR_STEP, 10.5);
	fails(&a, 50, SN_ETTR_FAIL_NODE);
	cards(&a, 50, 3, 3, 4);
	safe(&a, 52, 45, 0, true);
	do_event(&a, SN_ETTR_START, 53);
	assert_whole(&a);
	assert_near(a.wall.useful, 35);
	assert_near(a.cards.useful, 35 * 4); /* on the cards that it had then */
	assert_near(a.wall.lost[SN_LOST_REDONE], 5);
	assert_near(a.cards.lost[SN_LOST_REDONE], 5 * 4);
	assert_near(a.wall.lost[SN_LOST_RESTART], 3);
}

/* No progress file: work counts from the ranks' start. */
static void test_no_steps(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 5);
	safe(&a, 25, 0, 0, false);
	assert_near(a.wall.useful, 20);
	fails(&a, 30, SN_ETTR_FAIL_RANK);
	do_event(&a, SN_ETTR_START, 33);
	assert_near(a.wall.lost[SN_LOST_REDONE], 5);
	assert_int_equal(sn_recoveries_count(&a.recoveries), 1);
	assert_near(a.recoveries.last, 3);
	fails(&a, 37, SN_ETTR_FAIL_RANK);
	do_event(&a, SN_ETTR_START, 38);
	assert_near(a.wall.lost[SN_LOST_REDONE], 9);
	ends(&a, 50, true);
	assert_whole(&a);
	assert_near(a.wall.useful, 32);
	assert_near(a.wall.lost[SN_LOST_STARTUP], 0);
}

/* A program that touches its progress file with each checkpoint only, each 100 s: what
 * was work before the first is known by the second. */
static void test_rare_steps(void **state)
{
	struct sn_ettr a, b;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	assert_true(sn_ettr_wants_steps(&a));
	do_event(&a, SN_ETTR_STEP, 130);
	safe(&a, 130, 0, 0, false);
	assert_near(sn_ettr_open(&a.wall), 130);
	assert_true(sn_ettr_wants_steps(&a));
	b = a;
	do_event(&a, SN_ETTR_STEP, 230);
	safe(&a, 230, 0, 0, false);
	assert_false(sn_ettr_wants_steps(&a));
	assert_whole(&a);
	assert_near(a.wall.lost[SN_LOST_STARTUP], 30);
	assert_near(a.wall.useful, 200);
	fails(&a, 280, SN_ETTR_FAIL_NODE);
	do_event(&a, SN_ETTR_START, 285);
	do_event(&a, SN_ETTR_STEP, 415);
	assert_near(a.wall.lost[SN_LOST_STARTUP], 60);
	assert_near(a.wall.provisional, 100);
	safe(&a, 415, 0, 0, false);
	assert_whole(&a);
	assert_near(a.wall.useful, 300);
	assert_near(a.cards.useful, 1200);
	/* The first step after the failure was begun at 315. */
	assert_near(a.recoveries.last, 35);
	/* Without a second one: with its checkpoint, it was work. */
	fails(&b, 180, SN_ETTR_FAIL_NODE);
	do_event(&b, SN_ETTR_START, 185);
	assert_whole(&b);
	assert_near(b.wall.useful, 130);
	assert_near(b.wall.lost[SN_LOST_REDONE], 50);
	assert_near(sn_ettr_open(&b.wall), 0);
}

/* A second failure before the second step: there was a recovery between. */
static void test_fails_again(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	fails(&a, 10, SN_ETTR_FAIL_RANK);
	do_event(&a, SN_ETTR_START, 12);
	assert_near(a.recoveries.last, 2); /* no step was ever seen */
	fails(&a, 20, SN_ETTR_FAIL_RANK);
	a.shows_steps = true;
	do_event(&a, SN_ETTR_START, 21);
	do_event(&a, SN_ETTR_STEP, 30);
	fails(&a, 31, SN_ETTR_FAIL_RANK);
	assert_int_equal(sn_recoveries_count(&a.recoveries), 2);
	assert_near(a.recoveries.last, 10);
	do_event(&a, SN_ETTR_START, 33);
	assert_whole(&a);
	assert_near(a.wall.lost[SN_LOST_STARTUP], 9);
	assert_near(a.wall.lost[SN_LOST_REDONE], 10 + 8 + 1);
}

/* Where steps are shown, a generation that fails before the first was start-up. */
static void test_fails_at_start(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 10);
	do_event(&a, SN_ETTR_STEP, 10.5);
	fails(&a, 20, SN_ETTR_FAIL_NODE);
	fails(&a, 20.5, SN_ETTR_FAIL_NODE); /* the second node of it */
	do_event(&a, SN_ETTR_START, 21);
	fails(&a, 31, SN_ETTR_FAIL_NODE); /* another, during recovery */
	do_event(&a, SN_ETTR_START, 32);
	do_event(&a, SN_ETTR_STEP, 40);
	do_event(&a, SN_ETTR_STEP, 40.5);
	assert_whole(&a);
	assert_near(a.wall.lost[SN_LOST_STARTUP], 10 + 10 + 8);
	assert_int_equal(a.fails[SN_ETTR_FAIL_NODE], 2);
	/* One recovery, from the first failure on. */
	assert_int_equal(sn_recoveries_count(&a.recoveries), 1);
	assert_near(a.recoveries.last, 20);
}

/* Requeued: no cards are held while it waits, and the time counts as available. */
static void test_requeue(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 10);
	do_event(&a, SN_ETTR_STEP, 10.5);
	fails(&a, 50, SN_ETTR_FAIL_REQUEUE);
	do_event(&a, SN_ETTR_TO_QUEUE, 50);
	cards(&a, 100, 4, 4, 4);
	do_event(&a, SN_ETTR_TO_SCRIPT, 100);
	do_event(&a, SN_ETTR_START, 103);
	do_event(&a, SN_ETTR_STEP, 110);
	do_event(&a, SN_ETTR_STEP, 110.5);
	ends(&a, 150, true);
	assert_whole(&a);
	assert_near(a.held_sum, 4 * 100);
	assert_near(a.wall.lost[SN_LOST_WAIT], 50);
	assert_near(a.cards.lost[SN_LOST_WAIT], 0);
	assert_near(a.wall.lost[SN_LOST_REDONE], 40);
	assert_near(a.recoveries.last, 60);
	assert_near(sn_ettr_ratio(&a), 40.0 / 150);
	assert_near(a.missing, 0);
}

static void test_pause(void **state)
{
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 6, 4, 4);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 1);
	do_event(&a, SN_ETTR_STEP, 1.5);
	do_event(&a, SN_ETTR_ASK, 11);
	safe(&a, 12, 0, 0, true);
	do_event(&a, SN_ETTR_END, 12);
	do_event(&a, SN_ETTR_TO_PAUSE, 12);
	do_event(&a, SN_ETTR_START, 112);
	assert_whole(&a);
	assert_near(a.wall.useful, 10);
	assert_near(a.cards.lost[SN_LOST_PAUSE], 600);
	assert_near(a.idle, 12 * 2);
}

/* The clock goes back: nothing is counted twice, nothing is negative. */
static void test_clock(void **state)
{
	struct sn_ettr_event e = { .kind = SN_ETTR_STEP, .at = NAN };
	struct sn_ettr a, before;
	struct sn_err err;

	(void)state;
	sn_ettr_init(&a, T0);
	cards(&a, 0, 4, 4, 4);
	do_event(&a, SN_ETTR_START, 10);
	do_event(&a, SN_ETTR_STEP, 5);
	do_event(&a, SN_ETTR_STEP, -1000);
	safe(&a, -500, -900, -3, false);
	fails(&a, 0, SN_ETTR_FAIL_RANK);
	assert_whole(&a);
	assert_near(sn_ettr_wall(&a), 10);
	before = a;
	assert_int_equal(sn_ettr_event(&a, &e, &err), -EINVAL);
	e = (struct sn_ettr_event){ .kind = SN_ETTR_SAFE, .at = T0 + 20, .covers = INFINITY };
	assert_int_equal(sn_ettr_event(&a, &e, &err), -EINVAL);
	e = (struct sn_ettr_event){ .kind = SN_ETTR_KINDS, .at = T0 + 20 };
	assert_int_equal(sn_ettr_event(&a, &e, &err), -EINVAL);
	e = (struct sn_ettr_event){ .kind = SN_ETTR_FAIL, .at = T0 + 20, .fail = SN_ETTR_FAILS };
	assert_int_equal(sn_ettr_event(&a, &e, &err), -EINVAL);
	assert_memory_equal(&a, &before, sizeof(a));
}

static void test_check(void **state)
{
	struct sn_ettr good, a;
	struct sn_err err;

	(void)state;
	sn_ettr_init(&good, T0);
	cards(&good, 0, 4, 4, 4);
	do_event(&good, SN_ETTR_START, 10);
	do_event(&good, SN_ETTR_STEP, 20);
	sn_ettr_pass(&good, T0 + 50);
	assert_whole(&good);
	a = good;
	a.cards.useful += 100;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
	assert_non_null(strstr(err.text, "held"));
	a = good;
	a.wall.provisional -= 10;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
	a = good;
	a.cards.provisional = NAN;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
	a = good;
	a.cards.lost[0] = -1;
	a.cards.provisional += 1;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
	a = good;
	a.at = a.began - 1;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
	a = good;
	a.phase = SN_ETTR_PHASES;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
	a = good;
	a.held_sum = a.cards.useful = INFINITY;
	assert_int_equal(sn_ettr_check(&a, &err), -EINVAL);
}

static void test_say(void **state)
{
	char line[SN_ETTR_LINE], tiny[8];
	struct sn_ettr a;

	(void)state;
	sn_ettr_init(&a, T0);
	sn_ettr_say(&a, line, sizeof(line));
	assert_non_null(strstr(line, "ETTR 0.000 over 0 s"));
	cards(&a, 0, 10, 8, 10);
	do_event(&a, SN_ETTR_START, 0);
	do_event(&a, SN_ETTR_STEP, 3600);
	do_event(&a, SN_ETTR_STEP, 3600.5);
	ends(&a, 36000, true);
	sn_ettr_say(&a, line, sizeof(line));
	assert_string_equal(line, "ETTR 0.900 over 36000 s; 72.0 of 100.0 card-hours useful, 20.0 idle, 8.0 lost: 8.0 startup");
	sn_ettr_say(&a, tiny, sizeof(tiny));
	assert_int_equal(strlen(tiny), 7);
}

static void test_words(void **state)
{
	(void)state;
	for (int i = 0; i < SN_LOST_KINDS; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(sn_lost_name((enum sn_lost)i),
						sn_lost_name((enum sn_lost)k));
	for (int i = 0; i < SN_ETTR_PHASES; i++)
		assert_int_equal(sn_ettr_phase_find(sn_ettr_phase_name((enum sn_ettr_phase)i)), i);
	assert_int_equal(sn_ettr_phase_find("nonsense"), -1);
	assert_string_equal(sn_ettr_fail_name(SN_ETTR_FAIL_MEMBER), "member");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_a_resize),
		cmocka_unit_test(test_save_and_go_on),
		cmocka_unit_test(test_took),
		cmocka_unit_test(test_late_safe_point),
		cmocka_unit_test(test_no_steps),
		cmocka_unit_test(test_rare_steps),
		cmocka_unit_test(test_fails_again),
		cmocka_unit_test(test_fails_at_start),
		cmocka_unit_test(test_requeue),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_say),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
