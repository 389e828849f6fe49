/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_snmemplan.c - checkpoints in memory: what nodes tell each other.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/snmem_internal.h"

static void neighbours(void **state)
{
	const char *in[] = { "a", "a", "b", "a", "b", "c" };

	(void)state;
	assert_int_equal(mem_neighbour(in, 6, 0), 1);
	assert_int_equal(mem_neighbour(in, 6, 1), 3);
	assert_int_equal(mem_neighbour(in, 6, 3), 0);
	assert_int_equal(mem_neighbour(in, 6, 2), 4);
	assert_int_equal(mem_neighbour(in, 6, 4), 2);
	/* Alone in its supernode: the next node there is. */
	assert_int_equal(mem_neighbour(in, 6, 5), 0);
	assert_true(mem_neighbour(in, 1, 0) == SIZE_MAX);
}

static void the_last_complete_one(void **state)
{
	struct mem_id a[] = { { 7, 1, 3, 0 }, { 7, 1, 3, 1 }, { 6, 1, 3, 0 }, { 6, 0, 3, 2 }, { 5, 0, 2, 0 } };
	struct mem_id b[] = { { 7, 0, 3, 2 }, { 6, 1, 3, 1 }, { 6, 1, 3, 2 }, { 6, 1, 3, 0 }, { 5, 0, 2, 1 } };
	struct mem_list list[2] = {
		{ .session = 1, .server = { "n1", "1.2.3.4", "0123456789abcdef0123456789abcdef", 5 }, .shard = a, .n = 5 },
		{ .session = 1, .server = { "n2", "1.2.3.5", "0123456789abcdef0123456789abcdef", 6 }, .shard = b, .n = 5 },
	};
	const char *where[] = { "n2", "n1", "n1" };
	struct mem_decision d, again;
	struct mem_list back;
	char *text;

	(void)state;
	/* 7 is of two generations; 6 of generation 1 is whole. */
	assert_int_equal(mem_decide(list, 2, 1, where, 3, &d), 0);
	assert_true(d.found && d.id.iteration == 6 && d.id.generation == 1 && d.id.world == 3);
	assert_int_equal(d.at[0], 1); /* where it runs */
	assert_int_equal(d.at[1], 1);
	assert_int_equal(d.at[2], 1);
	text = mem_decision_format(&d);
	assert_int_equal(mem_decision_parse(text, &again), 0);
	assert_true(again.found && again.id.iteration == 6 && again.n_servers == 2);
	assert_string_equal(again.server[1].address, "1.2.3.5");
	mem_decision_done(&again);
	for (size_t n = strlen(text); n--;) {
		text[n] = '\0';
		assert_true(mem_decision_parse(text, &again) < 0);
	}
	free(text);
	mem_decision_done(&d);
	text = mem_list_format(&list[0]);
	assert_int_equal(mem_list_parse(text, &back), 0);
	assert_int_equal(back.n, 5);
	assert_int_equal(back.server.port, 5);
	mem_list_done(&back);
	for (size_t n = strlen(text); n--;) {
		text[n] = '\0';
		assert_true(mem_list_parse(text, &back) < 0);
	}
	free(text);
	list[0].n = list[1].n = 1;
	assert_int_equal(mem_decide(list, 2, 1, where, 3, &d), 0);
	assert_false(d.found);
	text = mem_decision_format(&d);
	assert_int_equal(mem_decision_parse(text, &again), 0);
	assert_false(again.found);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours), cmocka_unit_test(the_last_complete_one),
	};

	return cmocka_run_group_tests_name("snmemplan", tests, NULL, NULL);
}
