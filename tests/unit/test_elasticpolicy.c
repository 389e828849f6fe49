/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "topology/elasticpolicy.h"

static bool may(const struct sn_elastic_policy *p, const char *account, enum sn_means means)
{
	return sn_elastic_allowed(sn_elastic_policy_find(p, account)) >> means & 1;
}

static void nothing_said_forbids_nothing(void **state)
{
	static const char *const empty[] = { "", "  ", ";", " ; ;", "default:all" };
	struct sn_elastic_policy p;

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
		memset(&p, 0xff, sizeof(p));
		assert_int_equal(sn_elastic_policy_parse(empty[i], &p, NULL), 0);
		for (int m = 0; m < SN_MEANS_KINDS; m++)
			assert_true(may(&p, "any", (enum sn_means)m));
		assert_false(sn_elastic_policy_find(&p, NULL)->off);
	}
}

static void each_means_can_be_forbidden(void **state)
{
	struct sn_elastic_policy p;
	char text[64];

	(void)state;
	for (int m = SN_MEANS_RESTART; m <= SN_MEANS_REQUEUE; m++) {
		snprintf(text, sizeof(text), "account=a:no-%s", sn_means_name((enum sn_means)m));
		assert_int_equal(sn_elastic_policy_parse(text, &p, NULL), 0);
		for (int k = 0; k < SN_MEANS_KINDS; k++) {
			assert_int_equal(may(&p, "a", (enum sn_means)k), k != m);
			assert_true(may(&p, "b", (enum sn_means)k));
		}
	}
}

static void accounts_and_the_others(void **state)
{
	struct sn_elastic_policy p;

	(void)state;
	assert_int_equal(sn_elastic_policy_parse(" account = x:off", &p, NULL), -EINVAL);
	assert_int_equal(sn_elastic_policy_parse(
		"account=Research, guests : no-requeue , No-Shrink;account=prod:all; default:off;", &p, NULL), 0);
	assert_int_equal(p.n, 3);
	assert_false(may(&p, "research", SN_MEANS_SHRINK));
	assert_false(may(&p, "GUESTS", SN_MEANS_REQUEUE));
	assert_true(may(&p, "guests", SN_MEANS_SWAP));
	assert_false(sn_elastic_policy_find(&p, "research")->off);
	assert_false(sn_elastic_policy_find(&p, "prod")->off);
	assert_true(may(&p, "prod", SN_MEANS_SHRINK));
	assert_true(sn_elastic_policy_find(&p, "other")->off);
	assert_true(sn_elastic_policy_find(&p, "")->off);
	assert_true(sn_elastic_policy_find(&p, "researc")->off);
}

static void bad_ones_are_told_and_the_old_stays(void **state)
{
	static const struct { const char *text, *says; } bad[] = {
		{ "research", "want account=NAME" },
		{ "account=a", "want account=NAME" },
		{ "account=a:b:c", "want account=NAME" },
		{ "user=a:off", "a rule is for account=NAME" },
		{ "account=a:no-ignore", "\"no-ignore\": want off" },
		{ "account=a:no-mask", "want off" },
		{ "account=a:no-give-up", "want off" },
		{ "account=a:shrink", "\"shrink\": want off" },
		{ "account=a:", "\"\": want off" },
		{ "account=a:off,", "\"\": want off" },
		{ "account=:off", "account \"\": want a name" },
		{ "account=a b:off", "account \"a b\": want a name" },
		{ "account=a,A:off", "account A is named twice" },
		{ "account=a:off;account=a:all", "account a is named twice" },
		{ "default:off;default:all", "default is there twice" },
	};
	struct sn_elastic_policy p;
	struct sn_err err;
	char many[2048] = "account=";

	(void)state;
	assert_int_equal(sn_elastic_policy_parse("account=a:off", &p, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(sn_elastic_policy_parse(bad[i].text, &p, &err), -EINVAL);
		assert_memory_equal(err.text, "ElasticPolicy: ", 15);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
	}
	for (int i = 0; i <= SN_ELASTIC_RULES_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sa%d", i ? "," : "", i);
	strcat(many, ":off");
	assert_int_equal(sn_elastic_policy_parse(many, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "more than 64 accounts"));
	assert_int_equal(p.n, 1);
	assert_true(sn_elastic_policy_find(&p, "a")->off);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_said_forbids_nothing),
		cmocka_unit_test(each_means_can_be_forbidden),
		cmocka_unit_test(accounts_and_the_others),
		cmocka_unit_test(bad_ones_are_told_and_the_old_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
