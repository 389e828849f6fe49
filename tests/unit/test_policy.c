/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "topology/policy.h"

static int parse(const char *text, struct sn_policy *policy, struct sn_err *err)
{
	memset(err, 0, sizeof(*err));
	return sn_policy_parse(text, strlen(text), "supernode.conf", policy, err);
}

static void an_empty_file_is_the_defaults(void **state)
{
	struct sn_policy policy;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse("", &policy, &err), 0);
	assert_string_equal(policy.card_gres, "npu");
	assert_int_equal(policy.small_job_cards, 0);
}

static void keys_of_any_case_comments_and_several_on_a_line(void **state)
{
	struct sn_policy policy;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse("# site\n\n  cardgres=gpu\tSMALLJOBCARDS=16#x\r\n",
			       &policy, &err), 0);
	assert_string_equal(policy.card_gres, "gpu");
	assert_int_equal(policy.small_job_cards, 16);
}

static void a_slip_is_named_with_its_line_and_the_nearest_key(void **state)
{
	struct sn_policy policy;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse("\nCardGress=npu\n", &policy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "supernode.conf:2: CardGress"));
	assert_non_null(strstr(err.text, "CardGres "));
	assert_int_equal(parse("SmallCards=1", &policy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "mean SmallJobCards"));
}

static void bad_values_are_refused_and_nothing_is_changed(void **state)
{
	const char *bad[] = {
		"CardGres=", "CardGres", "CardGres=a/b", "SmallJobCards=-1",
		"SmallJobCards=", "SmallJobCards=1x", "=npu",
		"SmallJobCards=99999999999999999999", "CardGres=npu cardgres=gpu",
		"CardGres=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
	};
	struct sn_policy policy;
	struct sn_err err;
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		memset(&policy, 0x5a, sizeof(policy));
		assert_int_equal(parse(bad[n], &policy, &err), -EINVAL);
		assert_non_null(strstr(err.text, "supernode.conf:1: "));
		assert_int_equal(policy.small_job_cards, 0x5a5a5a5a);
	}
	assert_int_equal(sn_policy_parse("a\0b", 3, "f", &policy, &err), -EINVAL);
}

static void test_types(void **state)
{
	struct sn_policy policy;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse("Vendor=Nvidia JobDir=\"/a b/#%j\" # not \"\n", &policy, &err), 0);
	assert_int_equal(policy.vendor, SN_VENDOR_NVIDIA);
	assert_string_equal(policy.job_dir, "/a b/#%j");
	assert_int_equal(parse("JobDir= CardGres=gpu", &policy, &err), 0);
	assert_string_equal(policy.job_dir, "");
	assert_int_equal(sn_policy_vendor(&policy), SN_VENDOR_NVIDIA);
	assert_int_equal(parse("\nVendor=amd", &policy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "supernode.conf:2: Vendor=amd: want one of auto|ascend"));
	assert_int_equal(parse("Vendor=", &policy, &err), -EINVAL);
	assert_int_equal(parse("JobDir=\"/a\nSmallJobCards=1", &policy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "supernode.conf:1: JobDir: the opening quote"));
	assert_int_equal(parse("JobDir=\"/a\"b", &policy, &err), -EINVAL);
}

static void lists_of_words(void **state)
{
	const char *good[] = {
		"TaskEnv=A=1", "TaskEnv=\"A=1  _b2=x=y,z C=\"", "TaskEnv=",
		"CardPci=0000:81:00.0", "CardPci=\"81:00.0 10000:0a:1f.7\"",
	};
	const char *bad[] = {
		"TaskEnv=A", "TaskEnv=\"A=1 B\"", "TaskEnv=1A=2", "TaskEnv==2",
		"TaskEnv=\"A-B=1\"", "CardPci=81:00", "CardPci=0000:81:00.8",
		"CardPci=0000:81:00.0x", "CardPci=\"0000:81:00.0 x\"",
		"CardPci=000:81:00.0", "CardPci=0000-81-00.0",
	};
	struct sn_policy policy;
	struct sn_err err;
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(good) / sizeof(good[0]); n++)
		if (parse(good[n], &policy, &err))
			fail_msg("%s", err.text);
	assert_string_equal(policy.card_pci, "81:00.0 10000:0a:1f.7");
	for (n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		if (parse(bad[n], &policy, &err) != -EINVAL)
			fail_msg("%s", bad[n]);
	assert_int_equal(parse("\nTaskEnv=\"A=1 B\"", &policy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "supernode.conf:2: TaskEnv: \"B\": want NAME=VALUE"));
}

static void rank_table_and_inventory(void **state)
{
	struct sn_policy policy;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse("", &policy, &err), 0);
	assert_int_equal(policy.rank_table, SN_RANK_TABLE_NONE);
	assert_string_equal(policy.inventory, "");
	assert_string_equal(policy.inventory_program, "");
	assert_int_equal(policy.inventory_timeout, 20);
	assert_int_equal(parse("RankTable=1.0", &policy, &err), 0);
	assert_int_equal(policy.rank_table, SN_RANK_TABLE_1_0);
	assert_int_equal(parse("RankTable=1.2", &policy, &err), 0);
	assert_int_equal(policy.rank_table, SN_RANK_TABLE_1_2);
	assert_int_equal(parse("ranktable=2.0 Inventory=/s/%n.json\nInventoryTimeout=3",
			       &policy, &err), 0);
	assert_int_equal(policy.rank_table, SN_RANK_TABLE_2_0);
	assert_string_equal(policy.inventory, "/s/%n.json");
	assert_int_equal(policy.inventory_timeout, 3);
	assert_int_equal(parse("RankTable=1.1", &policy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "none|1.0|1.2|2.0"));
	assert_int_equal(parse("InventoryTimeout=0", &policy, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(lists_of_words),
		cmocka_unit_test(rank_table_and_inventory),
		cmocka_unit_test(an_empty_file_is_the_defaults),
		cmocka_unit_test(keys_of_any_case_comments_and_several_on_a_line),
		cmocka_unit_test(a_slip_is_named_with_its_line_and_the_nearest_key),
		cmocka_unit_test(bad_values_are_refused_and_nothing_is_changed),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
