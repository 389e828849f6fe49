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

#include "launcher/poolbook.h"

static const struct sn_poolbook_entry w = { "w", 1000, UINT64_C(4) << 30, 7 };

static char *write_entry(const char *extra, const struct sn_poolbook_entry *entry)
{
	char *text = NULL;
	struct sn_err err;

	if (sn_poolbook_write(extra, entry, &text, &err))
		fail_msg("%s", err.text);
	return text;
}

static void what_is_written_is_read(void **state)
{
	struct sn_poolbook_entry got;
	char *one = write_entry(NULL, &w), *two;
	struct sn_poolbook_entry kv = { "kv.cache", 0, 4096, 8 };

	(void)state;
	assert_int_equal(sn_poolbook_find(one, "w", &got, NULL), 0);
	assert_string_equal(got.name, "w");
	assert_int_equal(got.uid, 1000);
	assert_int_equal(got.bytes, UINT64_C(4) << 30);
	assert_int_equal(got.id, 7);
	assert_int_equal(sn_poolbook_find(one, "v", &got, NULL), -ENOENT);
	two = write_entry(one, &kv);
	assert_int_equal(sn_poolbook_find(two, "w", &got, NULL), 0);
	assert_int_equal(sn_poolbook_find(two, "kv.cache", &got, NULL), 0);
	assert_int_equal(got.uid, 0);
	free(one);
	free(two);
}

static void others_keep_what_is_theirs(void **state)
{
	const char *theirs = "{\"cards\":{\"masked\":[3]},\"note\":\"a/b\",\"big\":9007199254740993}";
	struct sn_poolbook_entry gone = w;
	char *with = write_entry(theirs, &w), *without;

	(void)state;
	assert_non_null(strstr(with, "\"cards\":{\"masked\":[3]}"));
	assert_non_null(strstr(with, "\"note\":\"a/b\""));
	assert_non_null(strstr(with, "9007199254740993"));
	gone.bytes = 0;
	without = write_entry(with, &gone);
	assert_string_equal(without, theirs);
	free(with);
	with = write_entry(NULL, &w);
	free(without);
	without = write_entry(with, &gone);
	assert_string_equal(without, "");
	free(with);
	free(without);
	/* removing what is not there changes nothing */
	without = write_entry(theirs, &gone);
	assert_string_equal(without, theirs);
	free(without);
}

static void bad_books(void **state)
{
	static const char *const bad[] = {
		"{\"pool\": 1}", "{\"pool\": {\"w\": 1}}", "{\"pool\": {\"../w\": {\"uid\":1,\"bytes\":1,\"id\":1}}}",
		"{\"pool\": {\"w\": {\"uid\":-1,\"bytes\":1,\"id\":1}}}", "{\"pool\": {\"w\": {\"uid\":1,\"id\":1}}}",
		"{\"pool\": {\"w\": {\"uid\":1.5,\"bytes\":1,\"id\":1}}}", "\"pool\"", "{\"pool\": {",
		"{\"pool\": {\"w\": {\"uid\":4294967295,\"bytes\":1,\"id\":1}}}",
	};
	struct sn_poolbook_entry *all;
	struct sn_err err;
	char *text;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = '\0';
		assert_int_equal(sn_poolbook_read(bad[i], &all, &n, &err), -EINVAL);
		assert_non_null(strstr(err.text, "extra"));
	}
	/* text of somebody's that is no JSON is not written over */
	assert_int_equal(sn_poolbook_write("rack 5", &w, &text, &err), -EINVAL);
	assert_int_equal(sn_poolbook_write("[1]", &w, &text, &err), -EINVAL);
	assert_int_equal(sn_poolbook_read("rack 5", &all, &n, &err), 0);
	assert_int_equal(n, 0);
}

static void it_does_not_grow_for_ever(void **state)
{
	struct sn_poolbook_entry entry = w;
	char *extra = NULL, *more;
	int i, rc = 0;

	(void)state;
	for (i = 0; i < 10000 && !rc; i++) {
		entry.name[0] = (char)('a' + i % 26);
		entry.name[1] = (char)('a' + i / 26 % 26);
		entry.name[2] = (char)('a' + i / 676);
		entry.name[3] = '\0';
		rc = sn_poolbook_write(extra, &entry, &more, NULL);
		if (!rc) {
			free(extra);
			extra = more;
		}
	}
	assert_int_equal(rc, -E2BIG);
	assert_true(i > 100);
	free(extra);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(others_keep_what_is_theirs),
		cmocka_unit_test(bad_books),
		cmocka_unit_test(it_does_not_grow_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
