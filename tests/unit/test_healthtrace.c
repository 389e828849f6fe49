/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_healthtrace.c - how soon and how rightly cards are marked; tests/bench/
 * bench_health prints the whole table, docs/health.md has it.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/bench/healthtrace.h"

static void a_fifth_slower_is_marked_within_three_samples(void **state)
{
	struct trace_result r = trace_slow_card(TRACE_GAUSS, 384, 0.2, 1000, 1);

	(void)state;
	assert_in_range(r.within3, 950, 1000);
	assert_int_equal(r.within20, 1000);
	/* 1 in 10^6; these begin anew 1,000 times */
	assert_in_range(r.others, 0, r.samples / 1000000);
}

static void healthy_cards_are_left_alone(void **state)
{
	uint64_t judged, wrong = trace_healthy(TRACE_GAUSS, 384, 2000000, 2, &judged);

	(void)state;
	assert_true(judged >= 2000000);
	assert_in_range(wrong, 0, 2);
}

/* No promise, but neither a flood. */
static void other_noise_marks_few(void **state)
{
	uint64_t judged;

	(void)state;
	for (int n = 0; n < TRACE_NOISES; n++)
		assert_in_range(trace_healthy((enum trace_noise)n, 384, 300000, 3, &judged), 0, 10);
	assert_in_range(trace_slow_card(TRACE_T3, 384, 0.2, 100, 1).within8, 95, 100);
	assert_in_range(trace_slow_card(TRACE_LOGNORMAL, 384, 0.2, 100, 1).within8, 95, 100);
	assert_in_range(trace_slow_card(TRACE_SPREAD, 384, 0.2, 100, 1).within8, 95, 100);
}

static void a_uniform_slowdown_is_the_domains(void **state)
{
	struct trace_uniform u = trace_uniform(384, 0.2, 100, 1);

	(void)state;
	assert_int_equal(u.domains, 100);
	assert_int_equal(u.cards, 0);
	assert_in_range(u.rows, 0, 1000);
}

static void memory_is_bounded(void **state)
{
	struct trace_load l = trace_load(100000, 4, 3, 1);

	(void)state;
	/* supernodes of 384 cards: a few more than 100,000 in nodes of 8 */
	assert_int_equal(l.samples, 1200000);
	assert_in_range(l.bytes, 1, 100000 * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifth_slower_is_marked_within_three_samples),
		cmocka_unit_test(healthy_cards_are_left_alone),
		cmocka_unit_test(other_noise_marks_few),
		cmocka_unit_test(a_uniform_slowdown_is_the_domains),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
