/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "topology/watermark.h"

static struct sn_watermark marks(uint32_t hold, uint32_t rest)
{
	struct sn_watermark mark;

	assert_int_equal(sn_watermark_init(&mark, 85, 70, hold, rest, NULL), 0);
	return mark;
}

static void high_then_low(void **state)
{
	struct sn_watermark mark = marks(1, 0);

	(void)state;
	assert_false(sn_watermark_sample(&mark, 84, 100, 1));
	assert_true(sn_watermark_sample(&mark, 85, 100, 2));
	assert_int_equal(mark.advice, SN_ADVICE_SWAP_OUT);
	assert_false(sn_watermark_sample(&mark, 99, 100, 3));
	assert_false(sn_watermark_sample(&mark, 71, 100, 4));
	assert_int_equal(mark.advice, SN_ADVICE_SWAP_OUT);
	assert_true(sn_watermark_sample(&mark, 70, 100, 5));
	assert_int_equal(mark.advice, SN_ADVICE_SWAP_IN);
	assert_false(sn_watermark_sample(&mark, 10, 100, 6));
	assert_true(sn_watermark_sample(&mark, 90, 100, 7));
}

static void an_empty_memory_has_nothing_to_take_back(void **state)
{
	struct sn_watermark mark = marks(1, 0);

	(void)state;
	assert_false(sn_watermark_sample(&mark, 0, 100, 1));
	assert_int_equal(mark.advice, SN_ADVICE_NONE);
}

static void one_sample_is_no_sample(void **state)
{
	struct sn_watermark mark = marks(3, 0);

	(void)state;
	assert_false(sn_watermark_sample(&mark, 90, 100, 1));
	assert_false(sn_watermark_sample(&mark, 90, 100, 2));
	assert_false(sn_watermark_sample(&mark, 80, 100, 3));
	assert_false(sn_watermark_sample(&mark, 90, 100, 4));
	assert_false(sn_watermark_sample(&mark, 90, 100, 5));
	assert_true(sn_watermark_sample(&mark, 90, 100, 6));
}

static void an_advice_rests(void **state)
{
	struct sn_watermark mark = marks(1, 60);

	(void)state;
	/* The first one need not wait. */
	assert_true(sn_watermark_sample(&mark, 90, 100, 1000));
	assert_false(sn_watermark_sample(&mark, 10, 100, 1059));
	assert_true(sn_watermark_sample(&mark, 10, 100, 1060));
}

/* A job that obeys at once swings between both marks: told at most once in
 * `rest` seconds. */
static void nobody_is_told_to_and_fro(void **state)
{
	struct sn_watermark mark = marks(2, 30);
	unsigned int told = 0;

	(void)state;
	for (uint64_t t = 0; t < 3000; t++)
		told += sn_watermark_sample(&mark, (t / 5) % 2 ? 95 : 50, 100, t);
	assert_in_range(told, 2, 101);
	/* and one that hangs at the mark is told once */
	mark = marks(2, 0);
	told = 0;
	for (uint64_t t = 0; t < 3000; t++)
		told += sn_watermark_sample(&mark, 84 + t % 2 * 2, 100, t);
	assert_int_equal(told, 0);
	for (uint64_t t = 0; t < 3000; t++)
		told += sn_watermark_sample(&mark, 86 - t % 3, 100, t);
	assert_in_range(told, 0, 1);
}

static void no_total_says_nothing(void **state)
{
	struct sn_watermark mark = marks(1, 0);

	(void)state;
	assert_false(sn_watermark_sample(&mark, 5, 0, 1));
	assert_true(sn_watermark_sample(&mark, UINT64_MAX, UINT64_MAX, 2));
}

static void marks_must_be_in_order(void **state)
{
	struct sn_watermark mark;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_watermark_init(&mark, 70, 85, 1, 0, &err), -EINVAL);
	assert_int_equal(sn_watermark_init(&mark, 70, 70, 1, 0, &err), -EINVAL);
	assert_int_equal(sn_watermark_init(&mark, 101, 70, 1, 0, &err), -EINVAL);
	assert_string_equal(sn_advice_name(SN_ADVICE_SWAP_OUT), "swap-out");
	assert_string_equal(sn_advice_name(SN_ADVICE_SWAP_IN), "swap-in");
	assert_string_equal(sn_advice_name(SN_ADVICE_NONE), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(high_then_low),
		cmocka_unit_test(an_empty_memory_has_nothing_to_take_back),
		cmocka_unit_test(one_sample_is_no_sample),
		cmocka_unit_test(an_advice_rests),
		cmocka_unit_test(nobody_is_told_to_and_fro),
		cmocka_unit_test(no_total_says_nothing),
		cmocka_unit_test(marks_must_be_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
