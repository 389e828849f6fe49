/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plugins/job_submit_supernode/tres.h"

static void cards_are_found_in_every_writing(void **state)
{
	const struct {
		const char *list, *type;
		uint64_t count;
	} good[] = {
		{ "gres/npu", "", 1 }, { "npu:8", "", 8 }, { "gres:npu:8", "", 8 },
		{ "gres/npu=8", "", 8 }, { "gres/npu:910b", "910b", 1 },
		{ "gres/npu:910b:4", "910b", 4 }, { "gres/npu:a=16", "a", 16 },
	};
	struct tres_cards cards;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(tres_find_cards(good[i].list, "npu", &cards));
		assert_string_equal(cards.type, good[i].type);
		assert_int_equal(cards.count, good[i].count);
		assert_null(cards.rest);
	}
}

static void the_others_are_kept(void **state)
{
	struct tres_cards cards;

	(void)state;
	assert_true(tres_find_cards("cpu:2,gres/npu:8,gres/nic:1", "npu", &cards));
	assert_string_equal(cards.rest, "cpu:2,gres/nic:1");
	assert_int_equal(cards.count, 8);
	free(cards.rest);
}

static void other_names_are_not_cards(void **state)
{
	const char *bad[] = { "", "gres/npux:8", "gres/np", "cpu:8", ",,", "gres/" };
	struct tres_cards cards;
	size_t i;

	(void)state;
	assert_false(tres_find_cards(NULL, "npu", &cards));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(tres_find_cards(bad[i], "npu", &cards));
		assert_null(cards.rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_are_found_in_every_writing),
		cmocka_unit_test(the_others_are_kept),
		cmocka_unit_test(other_names_are_not_cards),
	};

	return cmocka_run_group_tests_name("tres", tests, NULL, NULL);
}
