/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/refusals.h"

static uint32_t due(struct sn_refusals *r, int64_t now, uint64_t *ret_more)
{
	char source[64];
	uint32_t n = 0, more;

	while (sn_refusals_due(r, now, source, &more)) {
		assert_true(*source);
		*ret_more += more;
		n++;
	}
	return n;
}

static void once_and_once_a_minute(void **state)
{
	struct sn_refusals r = { 0 };
	uint64_t more = 0;

	(void)state;
	assert_true(sn_refusals_add(&r, "user 7", 0));
	for (int i = 1; i < 1000; i++)
		assert_false(sn_refusals_add(&r, "user 7", i));
	/* Another is told of at once. */
	assert_true(sn_refusals_add(&r, "user 8", 1000));
	assert_int_equal(due(&r, SN_REFUSALS_MS - 1, &more), 0);
	assert_int_equal(due(&r, SN_REFUSALS_MS, &more), 1);
	assert_int_equal(more, 999);
	assert_int_equal(due(&r, SN_REFUSALS_MS, &more), 0);
	/* After a minute of rest it is as at first. */
	assert_int_equal(due(&r, 2 * SN_REFUSALS_MS, &more), 0);
	assert_true(sn_refusals_add(&r, "user 7", 2 * SN_REFUSALS_MS));
}

/* Whatever comes from wherever: few events, and all are counted. */
static void a_flood(void **state)
{
	struct sn_refusals r = { 0 };
	uint64_t told = 0, more = 0, all = 0, rng = 1;
	char source[100];
	int64_t ms = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		rng = rng * 6364136223846793005u + 1442695040888963407u;
		snprintf(source, sizeof(source), "%060d%u", 0, (uint32_t)(rng >> 40) % (i % 2 ? 5 : 5000));
		ms += (rng >> 33) % 5;
		all++;
		told += sn_refusals_add(&r, i % 3 ? source : source + 58, ms);
		if (i % 100 == 0)
			told += due(&r, ms, &more);
	}
	assert_true(told <= (SN_REFUSALS_MAX + 1) * (uint64_t)(ms / SN_REFUSALS_MS + 2));
	told = 0;
	for (int i = 1; i < 3; i++)
		due(&r, ms + i * SN_REFUSALS_MS, &more);
	assert_true(more <= all && more >= all - (SN_REFUSALS_MAX + 1) * (uint64_t)(ms / SN_REFUSALS_MS + 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_and_once_a_minute),
		cmocka_unit_test(a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
