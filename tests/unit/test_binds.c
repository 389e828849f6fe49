/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launcher/binds.h"

static void is(const char *list, char separator, const char *a, const char *b,
	       const char *want, const char *left)
{
	const char *path[] = { a, NULL, b, "" }, *out = "x";
	char *got = sn_binds_join(list, separator, path, 4, &out);

	assert_string_equal(got, want);
	if (left)
		assert_string_equal(out, left);
	else
		assert_null(out);
	free(got);
}

static void lists(void **state)
{
	(void)state;
	is(NULL, ',', "/a", "/b", "/a,/b", NULL);
	is("", ',', "/a", NULL, "/a", NULL);
	is("/x:/y:ro", ',', "/a", NULL, "/x:/y:ro,/a", NULL);
	/* What is there already stays once, also where it says more. */
	is("/a:/a:ro,/b", ',', "/a", "/b", "/a:/a:ro,/b", NULL);
	is("/ab", ',', "/a", NULL, "/ab,/a", NULL);
	is(NULL, ':', "/a", "/a", "/a", NULL);
	is(NULL, ':', NULL, NULL, "", NULL);
}

static void paths_that_no_list_can_hold(void **state)
{
	(void)state;
	is(NULL, ',', "/a b", "/c", "/c", "/a b");
	is(NULL, ',', "/a,b", NULL, "", "/a,b");
	is(NULL, ',', "/a:b", NULL, "", "/a:b");
	is("/l", ',', "a", NULL, "/l", "a");
	assert_false(sn_bind_usable("/a\nb"));
	assert_false(sn_bind_usable("/a\\040b"));
	assert_false(sn_bind_usable("/a\"b"));
	assert_false(sn_bind_usable(""));
	assert_true(sn_bind_usable("/home/u/.supernode/42"));
	assert_true(sn_bind_usable("/h\xc3\xa4user"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(paths_that_no_list_can_hold),
	};

	return cmocka_run_group_tests_name("binds", tests, NULL, NULL);
}
