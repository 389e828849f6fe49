/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/cardlist.h"

static void lists(void **state)
{
	static const struct { const char *text; uint64_t cards; const char *back; } good[] = {
		{ "3", 0x8, "3" }, { "0-3,5", 0x2f, "0-3,5" }, { "63", UINT64_C(1) << 63, "63" },
		{ "0-63", UINT64_MAX, "0-63" }, { "5,1,2", 0x26, "1-2,5" }, { "2,2", 0x4, "2" },
		{ "007", 0x80, "7" },
	};
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1-", "-1", "3-1", "64", "0-64", "a", "1a", "1 ", " 1",
		"1--2", "0x3", "99999999999999999999", "1-2-3",
	};
	char buf[SNCTL_CARDLIST_MAX];
	uint64_t cards = 7;
	struct sn_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(snctl_cards_parse(good[i].text, &cards, &err), 0);
		assert_true(cards == good[i].cards);
		snctl_cards_format(cards, buf);
		assert_string_equal(buf, good[i].back);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cards = 7;
		assert_int_equal(snctl_cards_parse(bad[i], &cards, &err), -EINVAL);
		assert_int_equal(cards, 7);
		assert_non_null(strstr(err.text, "0 to 63"));
	}
	snctl_cards_format(0, buf);
	assert_string_equal(buf, "-");
	/* the longest there is */
	snctl_cards_format(UINT64_C(0x5555555555555555), buf);
	assert_true(strlen(buf) < SNCTL_CARDLIST_MAX);
	assert_int_equal(snctl_cards_parse(buf, &cards, &err), 0);
	assert_true(cards == UINT64_C(0x5555555555555555));
	snctl_cards_format(UINT64_C(0xdb6db6db6db6db6d), buf);
	assert_int_equal(snctl_cards_parse(buf, &cards, &err), 0);
	assert_true(cards == UINT64_C(0xdb6db6db6db6db6d));
}

static void nodes_and_cards(void **state)
{
	static const char *const bad[] = { "n001", "n001:", ":3", "", ":", "n001:3:" };
	uint64_t cards;
	size_t colon;
	struct sn_err err;

	(void)state;
	assert_int_equal(snctl_cards_split("n[001-004,7]:0-3,5", &colon, &cards, &err), 0);
	assert_int_equal(colon, 12);
	assert_true(cards == 0x2f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(snctl_cards_split(bad[i], &colon, &cards, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(nodes_and_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
