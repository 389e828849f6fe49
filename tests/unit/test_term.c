/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/term.h"

static void columns_follow_the_widest_cell(void **state)
{
	static const char *const head[] = { "<NAME", ">N", "<LAST", NULL };
	struct table table;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	table_init(&table, head);
	/* "é" is one column and two bytes. */
	table_add(&table, "%s", "n\xc3\xa9");
	table_add(&table, "%d", 1000);
	table_add(&table, "x");
	table_add(&table, "%s", "longer");
	table_add(&table, "%d", 7);
	table_add(&table, "y");
	table_print(&table, f, 0);
	table_print(&table, f, 1);
	fclose(f);
	table_done(&table);
	assert_string_equal(text,
			    "NAME       N  LAST\n"
			    "n\xc3\xa9      1000  x\n"
			    "longer     7  y\n"
			    "NAME     N  LAST\n"
			    "n\xc3\xa9    1000  x\n"
			    "\xe2\x80\xa6 and 1 more\n");
	free(text);
}

static void json_strings_are_escaped(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	json_string(f, "a\"b\\c\n\x01\xc3\xa9");
	fclose(f);
	assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\"");
	free(text);
}

static void width_is_sane_whatever_the_environment(void **state)
{
	static const char *const values[] = { "", "0", "-5", "abc", "99999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		setenv("COLUMNS", values[i], 1);
		assert_in_range(term_width(), 20, 10000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_follow_the_widest_cell),
		cmocka_unit_test(json_strings_are_escaped),
		cmocka_unit_test(width_is_sane_whatever_the_environment),
	};

	return cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
