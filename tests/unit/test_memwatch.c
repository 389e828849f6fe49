/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/memwatch.h"

static int parse(const char *text, uint64_t unit, struct sn_memwatch_card *ret,
		 uint32_t *n)
{
	return sn_memwatch_parse(text, unit, "p", ret, n, NULL);
}

static void lines_of_cards(void **state)
{
	struct sn_memwatch_card card[SN_MEMWATCH_CARDS];
	uint32_t n;

	(void)state;
	assert_int_equal(parse("0 10 100\n\n# more\n 7\t5 100\r\n", 1, card, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(card[1].card, 7);
	assert_int_equal(card[1].used, 5);
	/* nvidia-smi's csv, in MiB */
	assert_int_equal(parse("0, 1024, 81559\n1, 0, 81559\n", 1 << 20, card, &n), 0);
	assert_int_equal(card[0].used, UINT64_C(1) << 30);
	assert_int_equal(parse("", 1, card, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(parse("0 1\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 1 2 3\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 [N/A] 2\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 1.5 2\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 3 2\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 1 2\n0 1 2\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("64 1 2\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 1 99999999999999999999\n", 1, card, &n), -EINVAL);
	assert_int_equal(parse("0 1 9223372036854775807\n", 1 << 20, card, &n), -EINVAL);
}

static void advice_is_for_each_card_and_the_pool(void **state)
{
	static struct sn_memwatch watch;
	struct sn_memwatch_card card[2] = { { 0, 90, 100 }, { 5, 10, 100 } };
	struct sn_poolprog_usage pool = { 100, 86, 3, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0.5 };
	struct sn_policy policy;
	struct sn_buf text = { 0 };

	(void)state;
	sn_policy_init(&policy);
	assert_int_equal(sn_memwatch_init(&watch, &policy, 1, 0, NULL), 0);
	assert_true(sn_memwatch_sample(&watch, card, 2, &pool, 1));
	assert_int_equal(sn_memwatch_advice(&watch), SN_ADVICE_SWAP_OUT);
	assert_false(sn_memwatch_sample(&watch, card, 2, &pool, 2));
	sn_memwatch_write(&watch, "n1", 7, &text);
	assert_string_equal(text.text, "{\"node\":\"n1\",\"time\":7,\"advice\":\"swap-out\",\"cards\":["
			    "{\"card\":0,\"used\":90,\"total\":100,\"advice\":\"swap-out\"},"
			    "{\"card\":5,\"used\":10,\"total\":100,\"advice\":\"none\"}],"
			    "\"pool\":{\"advice\":\"swap-out\",\"used\":86,\"size\":100,\"hits\":3,\"bus_load\":0.5}}\n");
	sn_buf_done(&text);
	card[0].used = 60;
	assert_true(sn_memwatch_sample(&watch, card, 2, NULL, 3));
	assert_int_equal(sn_memwatch_advice(&watch), SN_ADVICE_SWAP_IN);
	policy.card_memory_low = 90;
	assert_int_equal(sn_memwatch_init(&watch, &policy, 1, 0, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_cards),
		cmocka_unit_test(advice_is_for_each_card_and_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
