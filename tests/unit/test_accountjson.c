/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_accountjson.c - an account goes on where the file left it, and a bad one is none.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/accountjson.h"

static void event(struct sn_ettr *a, enum sn_ettr_kind kind, double at, uint32_t held)
{
	const struct sn_ettr_event e = {
		.kind = kind, .at = 1.7e9 + at, .held = held, .ranks = held, .want = 64,
		.fail = SN_ETTR_FAIL_NODE,
	};

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static void make(struct sn_ettr *a, bool at_work)
{
	sn_ettr_init(a, 1.7e9);
	event(a, SN_ETTR_CARDS, 0.123, 64);
	event(a, SN_ETTR_START, 3, 0);
	event(a, SN_ETTR_STEP, 9.5, 0);
	event(a, SN_ETTR_SAFE, 33.25, 0);
	event(a, SN_ETTR_FAIL, 40, 0);
	event(a, SN_ETTR_CARDS, 40, 56);
	if (!at_work)
		return;
	event(a, SN_ETTR_START, 41.5, 0);
	event(a, SN_ETTR_STEP, 50, 0);
	sn_ettr_pass(a, 1.7e9 + 60.75);
}

/* Read back and gone on with, it comes to the same as one that never was a file. */
static void test_round(void **state)
{
	(void)state;
	for (int work = 0; work < 2; work++) {
		struct sn_account_file file = { .job = 42, .requeues = 3 }, back;
		struct sn_err err = { "" };
		char *text;

		make(&file.account, work);
		text = sn_account_format(&file);
		assert_non_null(text);
		assert_true(strlen(text) < SN_ACCOUNT_MAX / 4);
		memset(&back, 0xff, sizeof(back));
		if (sn_account_parse(text, &back, &err))
			fail_msg("%s: %s", err.text, text);
		free(text);
		assert_int_equal(back.job, 42);
		assert_int_equal(back.requeues, 3);
		for (int i = 0; i < 2; i++) {
			struct sn_ettr *a = i ? &back.account : &file.account;

			event(a, SN_ETTR_SAFE, 70, 0);
			event(a, SN_ETTR_FAIL, 75, 0);
			event(a, SN_ETTR_START, 80, 0);
			event(a, SN_ETTR_STEP, 90, 0);
		}
		assert_int_equal(back.account.phase, file.account.phase);
		assert_int_equal(back.account.generations, file.account.generations);
		assert_int_equal(back.account.fails[0], file.account.fails[0]);
		assert_true(fabs(back.account.cards.useful - file.account.cards.useful) < 0.1);
		assert_true(fabs(back.account.held_sum - file.account.held_sum) < 0.1);
		assert_true(fabs(back.account.missing - file.account.missing) < 0.1);
		assert_memory_equal(back.account.recoveries.n, file.account.recoveries.n,
				    sizeof(back.account.recoveries.n));
		for (int k = 0; k < SN_LOST_KINDS; k++)
			assert_true(fabs(back.account.cards.lost[k] -
					 file.account.cards.lost[k]) < 0.1);
		assert_true(fabs(back.account.recoveries.sum -
				 file.account.recoveries.sum) < 0.1);
	}
}

static void bad(const char *from, const char *to, const char *says)
{
	struct sn_account_file file = { .job = 42 }, back = { .job = 7 };
	struct sn_err err = { "" };
	char *text, *at, other[8192];

	make(&file.account, true);
	text = sn_account_format(&file);
	at = strstr(text, from);
	assert_non_null(at);
	snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	free(text);
	assert_int_equal(sn_account_parse(other, &back, &err), -EINVAL);
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say %s", err.text, says);
	assert_int_equal(back.job, 7);
}

static void test_bad(void **state)
{
	struct sn_account_file back;

	(void)state;
	bad("\"job\":42", "\"job\":-1", "job");
	bad("\"job\":42", "\"job\":5000000000", "job");
	bad("\"job\":42", "\"job\":\"42\"", "job");
	bad("\"phase\":\"work\"", "\"phase\":\"play\"", "phase");
	bad("\"phase\":\"work\"", "\"phase\":[]", "phase");
	bad("\"held_cards\":56", "\"held_cards\":-56", "held_cards");
	bad("\"idle\":", "\"idel\":", "idle");
	bad("\"redone\":", "\"undone\":", "redone");
	bad("\"idle\":0.000", "\"idle\":NaN", "idle");
	bad("\"idle\":0.000", "\"idle\":99999", "held");
	bad("\"missing\":", "\"missing\":-", "below 0");
	bad("\"lost\":{", "\"lost\":[],\"x\":{", "lost");
	bad("\"n\":[", "\"n\":[1,", "n");
	bad("\"stepped\":true", "\"stepped\":1", "stepped");
	bad("\"account\":{", "\"a\":{", "began");
	assert_int_equal(sn_account_parse("", &back, NULL), -EINVAL);
	assert_int_equal(sn_account_parse("{", &back, NULL), -EINVAL);
	assert_int_equal(sn_account_parse("[1]", &back, NULL), -EINVAL);
	assert_int_equal(sn_account_parse("null", &back, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
