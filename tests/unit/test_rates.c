/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "elastic/rates.h"

static const struct sn_rate rate = { 60, 12 };
static struct sn_rates *r;

static int make(void **state)
{
	(void)state;
	r = calloc(1, sizeof(*r));
	return !r;
}

static int drop(void **state)
{
	(void)state;
	free(r);
	return 0;
}

static void so_much_at_once_and_so_much_a_minute(void **state)
{
	uint32_t taken = 0, first = 0, missed = 7;
	int64_t now = 1000000;

	(void)state;
	for (int i = 0; i < 60; i++)
		assert_int_equal(sn_rates_take(r, 5, &rate, now, &missed), SN_RATE_TAKEN);
	assert_int_equal(missed, 0);
	assert_int_equal(sn_rates_take(r, 5, &rate, now, NULL), SN_RATE_FIRST);
	assert_int_equal(sn_rates_take(r, 5, &rate, now, NULL), SN_RATE_OVER);
	/* Ten minutes of a hundred a second: told of once. */
	for (int i = 0; i < 60000; i++) {
		enum sn_rate_word word = sn_rates_take(r, 5, &rate, now += 10, &missed);

		taken += word == SN_RATE_TAKEN;
		first += word == SN_RATE_FIRST;
	}
	assert_in_range(taken, 119, 121);
	assert_int_equal(first, 0);
	/* Still for long enough: how many it were, and all is as at first. */
	now += 300000;
	assert_int_equal(sn_rates_take(r, 5, &rate, now, &missed), SN_RATE_TAKEN);
	assert_int_equal(missed, 2 + 60000 - taken);
	for (int i = 0; i < 59; i++) {
		assert_int_equal(sn_rates_take(r, 5, &rate, now, &missed), SN_RATE_TAKEN);
		assert_int_equal(missed, 0);
	}
	assert_int_equal(sn_rates_take(r, 5, &rate, now, NULL), SN_RATE_FIRST);
}

static void one_is_not_the_others(void **state)
{
	(void)state;
	for (uint64_t key = 1; key <= 3000; key++)
		for (int i = 0; i < 60; i++)
			assert_int_equal(sn_rates_take(r, key, &rate, 1000, NULL), SN_RATE_TAKEN);
	for (uint64_t key = 1; key <= 3000; key++)
		assert_int_equal(sn_rates_take(r, key, &rate, 1000, NULL), SN_RATE_FIRST);
	/* The clock that stands, or goes back, gives nothing. */
	assert_int_equal(sn_rates_take(r, 7, &rate, 900, NULL), SN_RATE_OVER);
	/* None at all. */
	assert_int_equal(sn_rates_take(r, 9999, &(struct sn_rate){ 0, 12 }, 1000, NULL), SN_RATE_FIRST);
}

/* More than there is room for: whoever causes most is remembered. */
static void too_many_to_remember(void **state)
{
	uint32_t taken = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		sn_rates_take(r, 5, &rate, 1000, NULL);
	for (uint64_t key = 100; key < 100 + 4 * SN_RATES_MAX; key++) {
		assert_int_equal(sn_rates_take(r, key, &rate, 1000, NULL), SN_RATE_TAKEN);
		taken += sn_rates_take(r, 5, &rate, 1000, NULL) == SN_RATE_TAKEN;
	}
	assert_int_equal(taken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(so_much_at_once_and_so_much_a_minute, make, drop),
		cmocka_unit_test_setup_teardown(one_is_not_the_others, make, drop),
		cmocka_unit_test_setup_teardown(too_many_to_remember, make, drop),
	};

	return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
