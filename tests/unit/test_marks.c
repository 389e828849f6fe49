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
#include <unistd.h>

#include <cmocka.h>

#include "elastic/marks.h"

#define OTHERS "{\"pool\":{\"weights\":{\"uid\":1000,\"bytes\":4294967296,\"id\":7}},\"mine\":[1,{\"a\":null}]}"

static struct sn_cardmark mark(enum sn_cardhealth state, const char *why)
{
	struct sn_cardmark m = { .state = state, .at = 1732900000 };

	snprintf(m.why, sizeof(m.why), "%s", why);
	return m;
}

static char *put(const char *extra, uint64_t cards, const char *why)
{
	struct sn_cardmark all[64];
	struct sn_marks m = { .cards = cards, .card = all };
	struct sn_err err;
	char *text;

	for (int i = 0; i < 64; i++)
		all[i] = mark(SN_CARDHEALTH_SUSPECT, why);
	if (sn_marks_write(extra, &m, &text, NULL, &err))
		fail_msg("%s", err.text);
	return text;
}

static void marks_come_and_go(void **state)
{
	struct sn_cardbook book;
	struct sn_marks_seen seen;
	char *a, *b, *c;

	(void)state;
	a = put(OTHERS, 8 | 32, "slow");
	assert_non_null(strstr(a, "\"weights\""));
	assert_non_null(strstr(a, "\"mine\""));
	assert_int_equal(sn_cardbook_read(a, &book, NULL), 0);
	assert_true(book.unhealthy == (8 | 32) && !book.drained);
	assert_int_equal(sn_marks_read(a, &seen, NULL), 0);
	assert_true(seen.cards == 40 && seen.own == 40);
	/* Written again it is the same, to the letter: nothing is to be sent. */
	b = put(a, 8 | 32, "slow");
	assert_string_equal(a, b);
	free(b);
	b = put(a, 8, "slow");
	assert_int_equal(sn_marks_read(b, &seen, NULL), 0);
	assert_true(seen.cards == 8 && seen.own == 8);
	/* All gone: what others have put there is as before. */
	c = put(b, 0, NULL);
	assert_int_equal(sn_marks_read(c, &seen, NULL), 0);
	assert_true(!seen.cards && !seen.own);
	assert_null(strstr(c, "snelasticd"));
	assert_non_null(strstr(c, "\"weights\""));
	free(a);
	free(b);
	free(c);
	a = put(NULL, 1, "slow");
	b = put(a, 0, NULL);
	assert_string_equal(b, "");
	free(a);
	free(b);
}

static void what_others_do(void **state)
{
	struct sn_cardmark drain = { .at = 5, .by = "root", .why = "ECC" };
	struct sn_cardmark two[2] = { mark(SN_CARDHEALTH_SUSPECT, "slow"), mark(SN_CARDHEALTH_SUSPECT, "hot") };
	struct sn_marks m = { .card = two };
	struct sn_marks_gone gone;
	struct sn_marks_seen seen;
	struct sn_cardbook book;
	char *a, *b, *c;

	(void)state;
	a = put(NULL, 8, "slow");
	/* An administrator drains another card, and takes our mark away. */
	assert_int_equal(sn_cardbook_set(a, SN_CARDKIND_DRAIN, 1, &drain, &b, NULL), 0);
	assert_int_equal(sn_cardbook_set(b, SN_CARDKIND_HEALTH, 8, NULL, &c, NULL), 0);
	assert_int_equal(sn_marks_read(c, &seen, NULL), 0);
	assert_true(!seen.cards && seen.own == 8);
	free(a);
	/* What he took away is not written again by one who has not seen it yet. */
	m.cards = 8 | 2;
	assert_int_equal(sn_marks_write(c, &m, &a, &gone, NULL), 0);
	assert_int_equal(sn_marks_read(a, &seen, NULL), 0);
	assert_true(seen.cards == 2 && seen.own == 10 && gone.cards == 8);
	free(a);
	m.anew = 8;
	assert_int_equal(sn_marks_write(c, &m, &a, &gone, NULL), 0);
	assert_int_equal(sn_marks_read(a, &seen, NULL), 0);
	assert_true(seen.cards == 10 && seen.own == 10 && !gone.cards);
	free(a);
	/* His drain stays whatever we write. */
	a = put(c, 2, "hot");
	assert_int_equal(sn_cardbook_read(a, &book, NULL), 0);
	assert_true(book.drained == 1 && book.unhealthy == 2);
	free(a);
	free(b);
	free(c);
	/* slurmctld -c, or slurmd --extra: all is lost, and not by an administrator. */
	assert_int_equal(sn_marks_read("{\"rack\":7}", &seen, NULL), 0);
	assert_true(!seen.cards && !seen.own);
	assert_int_equal(sn_marks_read(NULL, &seen, NULL), 0);
}

static void domains(void **state)
{
	struct sn_marks m = { .supernode = true };
	struct sn_marks_seen seen;
	struct sn_cardmark by_root = { .at = 5, .by = "root", .why = "cable" }, is;
	char *a, *b, *c;

	(void)state;
	m.supernode_mark = mark(SN_CARDHEALTH_NONE, "all slow together");
	strcpy(m.supernode_mark.by, SN_MARKS_BY);
	assert_int_equal(sn_marks_write(NULL, &m, &a, NULL, NULL), 0);
	assert_int_equal(sn_marks_read(a, &seen, NULL), 0);
	assert_true(seen.supernode && seen.our_supernode && seen.own_supernode && !seen.unit);
	m.supernode = false;
	assert_int_equal(sn_marks_write(a, &m, &b, NULL, NULL), 0);
	assert_string_equal(b, "");
	free(b);
	/* One by hand is none of our business. */
	assert_int_equal(sn_cardbook_set(NULL, SN_CARDKIND_SUPERNODE, 0, &by_root, &b, NULL), 0);
	assert_int_equal(sn_marks_read(b, &seen, NULL), 0);
	assert_true(seen.supernode && !seen.our_supernode && !seen.own_supernode);
	assert_int_equal(sn_marks_write(b, &m, &c, NULL, NULL), 0);
	assert_string_equal(b, c);
	free(c);
	m.supernode = true;
	assert_int_equal(sn_marks_write(b, &m, &c, NULL, NULL), 0);
	assert_int_equal(sn_cardbook_find(c, SN_CARDKIND_SUPERNODE, 0, &is, NULL), 0);
	assert_string_equal(is.by, "root");
	/* Two that agree: it is his, so it is not missed when he takes it away. */
	assert_int_equal(sn_marks_read(c, &seen, NULL), 0);
	assert_true(seen.supernode && !seen.our_supernode && !seen.own_supernode);
	free(a);
	free(b);
	free(c);
}

static void extra_that_is_none(void **state)
{
	static const char *const bad[] = { "free text", "[1]", "7", "{\"a\":1" };
	struct sn_cardmark all[1] = { mark(SN_CARDHEALTH_SUSPECT, "slow") };
	struct sn_marks m = { .cards = 1, .card = all };
	struct sn_err err;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(sn_marks_write(bad[i], &m, &text, NULL, &err), -EINVAL);
		assert_null(text);
	}
}

/* Somebody's hand slipped: the marks are not there to be read, yet nobody has looked
 * at the card and resumed it. */
static void a_book_that_cannot_be_read_resumes_nothing(void **state)
{
	static const char *const bad[] = {
		"{\"cards\":[3],\"snelasticd\":{\"cards\":[3]}}",
		"{\"cards\":{\"3\":{},\"3\":{}},\"snelasticd\":{\"cards\":[3]}}",
	};
	struct sn_cardmark all[1] = { mark(SN_CARDHEALTH_SUSPECT, "slow") };
	struct sn_marks m = { .cards = 8, .card = all };
	struct sn_marks_gone gone = { 0 };
	struct sn_marks_seen seen;
	struct sn_err err;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(sn_marks_read(bad[i], &seen, &err), -EINVAL);
		assert_true(!seen.cards && !seen.own);
		assert_int_equal(sn_marks_write(bad[i], &m, &text, &gone, &err), -EINVAL);
		assert_false(gone.cards);
		assert_null(text);
	}
}

/* Reasons go before marks do. */
static void extra_that_is_full(void **state)
{
	struct sn_cardmark all[64];
	struct sn_marks m = { .cards = UINT64_MAX, .card = all };
	struct sn_marks_seen seen;
	struct sn_cardmark is;
	struct sn_err err;
	char *extra = malloc(16384), *text, *again;

	(void)state;
	for (int i = 0; i < 64; i++) {
		all[i] = mark(SN_CARDHEALTH_SUSPECT, "");
		memset(all[i].why, 'x', sizeof(all[i].why) - 1);
	}
	for (int size = 100; size < 16300; size += 900) {
		snprintf(extra, 16384, "{\"other\":\"%0*d\"}", size, 0);
		if (sn_marks_write(extra, &m, &text, NULL, &err)) {
			assert_true(size > 9000);
			m.cards = 1;
			assert_int_equal(sn_marks_write(extra, &m, &text, NULL, &err), 0);
			free(text);
			m.cards = UINT64_MAX;
			break;
		}
		assert_int_equal(sn_marks_read(text, &seen, NULL), 0);
		assert_true(seen.cards == UINT64_MAX && seen.own == UINT64_MAX);
		assert_int_equal(sn_cardbook_find(text, SN_CARDKIND_HEALTH, 7, &is, NULL), 0);
		assert_true(*is.why);
		assert_int_equal(sn_marks_write(text, &m, &again, NULL, &err), 0);
		assert_string_equal(text, again);
		free(text);
		free(again);
	}
	snprintf(extra, 16384, "{\"other\":\"%016368d\"}", 0);
	assert_int_equal(sn_marks_write(extra, &m, &text, NULL, &err), -E2BIG);
	assert_null(text);
	free(extra);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_come_and_go),
		cmocka_unit_test(what_others_do),
		cmocka_unit_test(domains),
		cmocka_unit_test(extra_that_is_none),
		cmocka_unit_test(a_book_that_cannot_be_read_resumes_nothing),
		cmocka_unit_test(extra_that_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
