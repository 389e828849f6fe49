/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/progress.h"

static void a_line_says_what_how_much_and_how_long(void **state)
{
	char buf[128];

	(void)state;
	progress_format(buf, sizeof(buf), "reading the records", 0, 0, 3, 79);
	assert_string_equal(buf, "reading the records: 3 s");
	progress_format(buf, sizeof(buf), "reading the records", 1234, 6144, 12, 79);
	assert_string_equal(buf, "reading the records: 1234 of 6144, 12 s");
}

static void a_line_never_wraps(void **state)
{
	char buf[128];

	(void)state;
	progress_format(buf, sizeof(buf), "reading the records", 1234, 6144, 12, 19);
	assert_string_equal(buf, "reading the records");
	progress_format(buf, 8, "reading the records", 1234, 6144, 12, 79);
	assert_string_equal(buf, "reading");
	progress_format(buf, sizeof(buf), "x", UINT64_MAX, UINT64_MAX, UINT64_MAX, 200);
	assert_true(strlen(buf) < sizeof(buf));
}

/* Standard error of a test is no terminal, or is: both are well. */
static void ends_come_without_beginnings(void **state)
{
	(void)state;
	progress_end();
	progress_at(1, 2);
	progress_begin("one");
	progress_at(1, 2);
	progress_begin("another");
	progress_end();
	progress_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_what_how_much_and_how_long),
		cmocka_unit_test(a_line_never_wraps),
		cmocka_unit_test(ends_come_without_beginnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
