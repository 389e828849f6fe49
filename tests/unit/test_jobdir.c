/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/jobdir.h"

static int expand(const char *pattern, char *buf, size_t size,
		  struct sn_err *err)
{
	return sn_jobdir_expand(pattern, 1234, "ann", "/home/ann", buf, size,
				err);
}

static void letters_are_replaced(void **state)
{
	char buf[64];

	(void)state;
	assert_int_equal(expand("%h/.supernode/%j", buf, sizeof(buf), NULL), 0);
	assert_string_equal(buf, "/home/ann/.supernode/1234");
	assert_int_equal(expand("/x/%u%%..y/%j", buf, sizeof(buf), NULL), 0);
	assert_string_equal(buf, "/x/ann%..y/1234");
}

static void what_is_no_safe_path_is_refused(void **state)
{
	const char *bad[] = { "", "x/%j", "/a/../b", "/a/..", "/%x", "/%", "../%j" };
	struct sn_err err;
	char buf[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(expand(bad[i], buf, sizeof(buf), &err), -EINVAL);
		assert_non_null(strstr(err.text, "JobDir="));
	}
	assert_int_equal(sn_jobdir_expand("/%u", 1, NULL, NULL, buf, sizeof(buf), &err), -EINVAL);
	assert_non_null(strstr(err.text, "name is not known"));
	/* A hostile home directory is a path like any other. */
	assert_int_equal(sn_jobdir_expand("%h/x", 1, "a", "/home/../etc", buf, sizeof(buf), &err), -EINVAL);
}

static void what_does_not_fit_is_refused(void **state)
{
	char buf[12];

	(void)state;
	assert_int_equal(expand("/123456789/", buf, sizeof(buf), NULL), 0);
	assert_int_equal(expand("/1234567890/", buf, sizeof(buf), NULL), -ENAMETOOLONG);
	assert_int_equal(expand("/12345678/%j", buf, sizeof(buf), NULL), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_are_replaced),
		cmocka_unit_test(what_is_no_safe_path_is_refused),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests_name("jobdir", tests, NULL, NULL);
}
