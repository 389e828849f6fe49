/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/cardbook.h"
#include "launcher/poolbook.h"

static const struct sn_cardmark drain = { .by = "root", .at = 1732900000, .why = "ECC errors" };
static const struct sn_cardmark health = {
	.state = SN_CARDHEALTH_QUARANTINED, .at = 1732900001, .why = "20 % slow",
};

static char *set(const char *extra, enum sn_cardkind kind, uint64_t cards,
		 const struct sn_cardmark *mark)
{
	char *text = NULL;
	struct sn_err err;

	if (sn_cardbook_set(extra, kind, cards, mark, &text, &err))
		fail_msg("%s", err.text);
	return text;
}

static struct sn_cardbook book(const char *extra)
{
	struct sn_cardbook ret;
	struct sn_err err;

	if (sn_cardbook_read(extra, &ret, &err))
		fail_msg("%s", err.text);
	return ret;
}

static void what_is_written_is_read(void **state)
{
	struct sn_cardmark got;
	struct sn_cardbook is;
	char *a = set(NULL, SN_CARDKIND_DRAIN, 0x8000000000000009, &drain);
	char *b = set(a, SN_CARDKIND_HEALTH, 0x28, &health);

	(void)state;
	assert_non_null(strstr(a, "\"3\":{\"drain\":{\"by\":\"root\",\"at\":1732900000,\"why\":\"ECC errors\"}}"));
	is = book(b);
	assert_true(is.drained == 0x8000000000000009);
	assert_true(is.unhealthy == 0x28);
	assert_true(is.masked == 0x8000000000000029);
	assert_false(is.degraded_supernode || is.degraded_unit);
	assert_int_equal(sn_cardbook_find(b, SN_CARDKIND_DRAIN, 63, &got, NULL), 0);
	assert_string_equal(got.by, "root");
	assert_string_equal(got.why, "ECC errors");
	assert_int_equal(got.at, 1732900000);
	assert_int_equal(sn_cardbook_find(b, SN_CARDKIND_HEALTH, 5, &got, NULL), 0);
	assert_int_equal(got.state, SN_CARDHEALTH_QUARANTINED);
	assert_string_equal(got.why, "20 % slow");
	assert_int_equal(sn_cardbook_find(b, SN_CARDKIND_DRAIN, 5, &got, NULL), -ENOENT);
	assert_int_equal(sn_cardbook_find(NULL, SN_CARDKIND_DRAIN, 5, &got, NULL), -ENOENT);
	free(a);
	free(b);
}

static void each_mark_goes_by_itself(void **state)
{
	char *a = set(NULL, SN_CARDKIND_DRAIN, 0x18, &drain);
	char *b = set(a, SN_CARDKIND_HEALTH, 0x08, &health);
	char *c = set(b, SN_CARDKIND_DRAIN, 0x08, NULL);
	char *d = set(c, SN_CARDKIND_HEALTH, 0xff, NULL);
	char *e = set(d, SN_CARDKIND_DRAIN, 0xff, NULL);

	(void)state;
	/* the engine's own stays when the administrator's goes */
	assert_true(book(c).unhealthy == 0x08 && book(c).drained == 0x10);
	assert_true(book(d).masked == 0x10);
	assert_string_equal(e, "");
	free(a);
	free(b);
	free(c);
	free(d);
	free(e);
}

static void domains(void **state)
{
	struct sn_cardmark got;
	char *a = set(NULL, SN_CARDKIND_SUPERNODE, 0, &drain);
	char *b = set(a, SN_CARDKIND_UNIT, 0, &drain);
	char *c = set(b, SN_CARDKIND_SUPERNODE, 0, NULL);
	char *d = set(c, SN_CARDKIND_UNIT, 0, NULL);

	(void)state;
	assert_true(book(a).degraded_supernode && !book(a).degraded_unit);
	assert_true(book(b).degraded_supernode && book(b).degraded_unit);
	assert_true(!book(b).masked);
	assert_true(!book(c).degraded_supernode && book(c).degraded_unit);
	assert_int_equal(sn_cardbook_find(c, SN_CARDKIND_UNIT, 0, &got, NULL), 0);
	assert_string_equal(got.why, "ECC errors");
	assert_string_equal(d, "");
	free(a);
	free(b);
	free(c);
	free(d);
}

static void others_keep_what_is_theirs(void **state)
{
	const char *theirs = "{\"note\":\"a/b\",\"big\":9007199254740993,"
		"\"cards\":{\"2\":{\"serial\":\"x\"}},\"degraded\":{\"rack\":1}}";
	struct sn_poolbook_entry w = { "w", 1000, 4096, 7 }, got;
	char *a = set(theirs, SN_CARDKIND_DRAIN, 0xc, &drain), *b, *c;

	(void)state;
	assert_true(book(theirs).masked == 0);
	assert_true(book(a).masked == 0xc);
	assert_non_null(strstr(a, "9007199254740993"));
	assert_non_null(strstr(a, "\"serial\":\"x\""));
	assert_int_equal(sn_poolbook_write(a, &w, &b, NULL), 0);
	assert_true(book(b).masked == 0xc);
	c = set(b, SN_CARDKIND_DRAIN, 0xc, NULL);
	assert_int_equal(sn_poolbook_find(c, "w", &got, NULL), 0);
	free(b);
	w.bytes = 0;
	assert_int_equal(sn_poolbook_write(c, &w, &b, NULL), 0);
	assert_string_equal(b, theirs);
	free(a);
	free(b);
	free(c);
}

/* A card is rather masked in error than given out in error. */
static void marks_that_make_no_sense_count(void **state)
{
	const uint64_t all = UINT64_MAX; /* it cannot be told which */
	const struct { const char *extra; uint64_t masked; int rc; } cases[] = {
		{ "{\"cards\": {\"3\": {\"drain\": {}}}}", 0x8, 0 },
		{ "{\"cards\": {\"3\": {\"drain\": {\"by\": 7, \"at\": -1, \"why\": []}}}}", 0x8, 0 },
		{ "{\"cards\": {\"3\": {\"drain\": true}, \"4\": {\"health\": {\"state\": \"odd\"}}}}", 0x18, -EINVAL },
		{ "{\"cards\": {\"3\": 1, \"0\": {\"health\": 0}}}", 0x9, -EINVAL },
		{ "{\"cards\": {\"64\": {\"drain\": {}}, \"-1\": 1, \"03\": 1, \"\": 1, \"5\": {\"drain\": {}}}}", 0x20, -EINVAL },
		{ "{\"cards\": {\"3\": {\"drain\": null}, \"4\": null, \"5\": {}}}", 0, 0 },
		{ "{\"cards\": 5}", all, -EINVAL },
		{ "{\"cards\": [3, 4]}", all, -EINVAL },
		{ "{\"cards\": \"3\", \"degraded\": {}}", all, -EINVAL },
		{ "{\"card\\u0073\": false}", all, -EINVAL },
		{ "{\"cards\": {", all, -EINVAL },
		{ "{\"cards\": {\"3\": {\"drain\": {}}, \"3\": {}}}", all, -EINVAL },
		{ "\"cards\"", all, -EINVAL },
		{ "{\"cards\": null}", 0, 0 },
		{ "{\"degraded\": 5}", 0, -EINVAL },
		{ "{\"degraded\": {\"unit\": 5}}", 0, -EINVAL },
		{ "{\"degraded\": {\"supernode\": \"yes\", \"unit\": {}}}", 0, -EINVAL },
		{ "{\"degraded\": {\"unit\": null}}", 0, 0 },
		{ "rack 5", 0, 0 },
		{ "", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_cardbook got;
		struct sn_err err = { "" };

		assert_int_equal(sn_cardbook_read(cases[i].extra, &got, &err), cases[i].rc);
		assert_true(got.masked == cases[i].masked);
		assert_true(!cases[i].rc == !err.text[0]);
		assert_int_equal(got.unreadable, cases[i].masked == all);
		assert_int_equal(!!strstr(err.text, "all cards of the node are masked"),
				 cases[i].masked == all);
		assert_true(got.drained == cases[i].masked || !got.unreadable);
		/* without room for a sentence, too */
		(void)sn_cardbook_read(cases[i].extra, &got, NULL);
		assert_true(got.masked == cases[i].masked);
	}
}

static void they_can_be_taken_away(void **state)
{
	const char *odd = "{\"cards\":{\"3\":1,\"4\":{\"drain\":true},\"5\":{\"health\":[]}}}";
	struct sn_cardmark got;
	char *a = set(odd, SN_CARDKIND_DRAIN, 0x38, NULL);
	char *b = set(a, SN_CARDKIND_HEALTH, 0x38, NULL);

	(void)state;
	assert_int_equal(sn_cardbook_find(odd, SN_CARDKIND_DRAIN, 3, &got, NULL), 0);
	assert_string_equal(got.by, "");
	assert_string_equal(b, "");
	free(a);
	assert_int_equal(sn_cardbook_find("{\"cards\":5}", SN_CARDKIND_DRAIN, 3, &got, NULL), 0);
	assert_int_equal(sn_cardbook_find("{\"cards\":5}", SN_CARDKIND_HEALTH, 3, &got, NULL), -ENOENT);
	/* or overwritten */
	a = set(odd, SN_CARDKIND_DRAIN, 0x18, &drain);
	assert_true(book("{}").masked == 0);
	assert_int_equal(sn_cardbook_find(a, SN_CARDKIND_DRAIN, 3, &got, NULL), 0);
	assert_string_equal(got.by, "root");
	free(a);
	free(b);
}

static void what_is_not_written(void **state)
{
	struct sn_cardmark bad[] = { drain, drain, drain, drain, drain };
	struct sn_cardmark stateless = health;
	char *text = NULL;
	struct sn_err err;

	(void)state;
	strcpy(bad[0].why, "two\nlines");
	bad[1].why[0] = '\0';
	strcpy(bad[2].why, "\xff");
	bad[3].by[0] = '\0';
	bad[4].at = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(sn_cardbook_set(NULL, SN_CARDKIND_DRAIN, 1, &bad[i], &text, &err), -EINVAL);
	stateless.state = SN_CARDHEALTH_NONE;
	assert_int_equal(sn_cardbook_set(NULL, SN_CARDKIND_HEALTH, 1, &stateless, &text, &err), -EINVAL);
	/* nor over what is not ours */
	assert_int_equal(sn_cardbook_set("rack 5", SN_CARDKIND_DRAIN, 1, &drain, &text, &err), -EINVAL);
	assert_int_equal(sn_cardbook_set("{\"cards\": 5}", SN_CARDKIND_DRAIN, 1, &drain, &text, &err), -EINVAL);
	assert_int_equal(sn_cardbook_set("[]", SN_CARDKIND_UNIT, 1, NULL, &text, &err), -EINVAL);
	assert_null(text);
}

static void a_reason_is_cut(void **state)
{
	char text[300], why[SN_CARDBOOK_WHY_MAX];
	struct sn_cardmark long_one = drain;
	char *extra;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + 99, "\xc3\xa9", 2); /* would be cut in two */
	text[299] = '\0';
	sn_cardbook_why(why, text);
	assert_int_equal(strlen(why), 99);
	sn_cardbook_why(why, "a\tb\x80");
	assert_string_equal(why, "a?b?");
	/* the longest on every card of a node with 64 */
	memset(long_one.why, 'y', SN_CARDBOOK_WHY_MAX - 1);
	extra = set(NULL, SN_CARDKIND_DRAIN, UINT64_MAX, &long_one);
	assert_true(book(extra).masked == UINT64_MAX);
	/* and no further */
	memset(text, 'z', sizeof(text));
	free(extra);
	extra = malloc(20000);
	assert_non_null(extra);
	strcpy(extra, "{\"note\":\"");
	memset(extra + 9, 'n', 16200);
	strcpy(extra + 16209, "\"}");
	{
		struct sn_err err;
		char *more = NULL;

		assert_int_equal(sn_cardbook_set(extra, SN_CARDKIND_DRAIN, 0xf, &drain, &more, &err), -E2BIG);
		assert_non_null(strstr(err.text, "16384"));
		assert_null(more);
	}
	free(extra);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(each_mark_goes_by_itself),
		cmocka_unit_test(domains),
		cmocka_unit_test(others_keep_what_is_theirs),
		cmocka_unit_test(marks_that_make_no_sense_count),
		cmocka_unit_test(they_can_be_taken_away),
		cmocka_unit_test(what_is_not_written),
		cmocka_unit_test(a_reason_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
