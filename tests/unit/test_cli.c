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

#include "snctl/cli.h"

static const char *config, *words_of;
static uint32_t cards;
static bool json;

static int parse(const char *line, const char **args, uint32_t *n_args,
		 struct sn_err *err)
{
	static const struct cli_opt opts[] = {
		{ "config", "FILE", CLI_STRING, &config, "", true, 0, 0 },
		{ "cards", "N", CLI_UINT, &cards, "", false, 1, 64 },
		{ "options", "OPTIONS", CLI_WORDS, &words_of, "", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "test", .usage = "…", .about = "…", .opts = opts,
		.max_args = 2,
	};
	static char copy[256];
	char *argv[16] = { (char *)"test" }, *save = NULL;
	int argc = 1;

	config = words_of = NULL;
	cards = 0;
	json = false;
	strcpy(copy, line);
	for (char *word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	return cli_parse(&cli, argc, argv, args, n_args, err);
}

static void options_may_be_anywhere_and_have_two_forms(void **state)
{
	const char *args[2];
	uint32_t n;

	(void)state;
	assert_int_equal(parse("one --config=a=b --cards 7 --json two", args, &n, NULL), 0);
	assert_string_equal(config, "a=b");
	assert_int_equal(cards, 7);
	assert_true(json);
	assert_int_equal(n, 2);
	assert_string_equal(args[0], "one");
	assert_string_equal(args[1], "two");
	assert_int_equal(parse("--config -x -- --json", args, &n, NULL), 0);
	assert_string_equal(config, "-x");
	assert_false(json);
	assert_int_equal(n, 1);
}

/* As the user guide has it: snrun --srun-options "--container-image=IMAGE" … */
static void options_for_another_program_are_a_value(void **state)
{
	const char *args[2];
	uint32_t n;

	(void)state;
	assert_int_equal(parse("--config x --options --mpi=pmix one", args, &n, NULL), 0);
	assert_string_equal(words_of, "--mpi=pmix");
	assert_int_equal(n, 1);
	assert_int_equal(parse("--config x --options=--json", args, &n, NULL), 0);
	assert_string_equal(words_of, "--json");
	assert_false(json);
}

static void slips_are_named_with_what_would_be_right(void **state)
{
	static const char *const bad[][2] = {
		{ "--confg x", "--config" },
		{ "--config x --colour", "--colour" },
		{ "--config x -j", "-j" },
		{ "--config", "needs a value" },
		{ "--config --json", "needs a value" },
		{ "--config x --options", "needs a value" },
		{ "--config x --config y", "twice" },
		{ "--config x --json=1", "no value" },
		{ "--config x --cards 0", "--cards" },
		{ "--config x --cards 65", "--cards" },
		{ "--config x --cards -1", "--cards" },
		{ "--config x --cards 8x", "--cards" },
		{ "--config x --cards 18446744073709551617", "--cards" },
		{ "--config x a b c", "\"c\"" },
		{ "--json", "--config" },
		/* No abbreviations: a new option must not change old scripts. */
		{ "--conf x", "--conf" },
	};
	const char *args[2];
	uint32_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sn_err err = { "" };

		assert_int_equal(parse(bad[i][0], args, &n, &err), -EINVAL);
		if (!strstr(err.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.text);
	}
}

static void nearest_is_near(void **state)
{
	static const char *const words[] = { "supernodes", "units", "jobs" };

	(void)state;
	assert_string_equal(cli_nearest("suprenodes", words, 3, sizeof(*words)), "supernodes");
	assert_string_equal(cli_nearest("unit", words, 3, sizeof(*words)), "units");
	assert_null(cli_nearest("fabrics", words, 3, sizeof(*words)));
	assert_null(cli_nearest("", words, 3, sizeof(*words)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_may_be_anywhere_and_have_two_forms),
		cmocka_unit_test(options_for_another_program_are_a_value),
		cmocka_unit_test(slips_are_named_with_what_would_be_right),
		cmocka_unit_test(nearest_is_near),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
