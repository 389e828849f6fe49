/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_checkpoint.c - presets of the checkpoint protocol, and what a marker says.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/checkpoint.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char *megatron[] = { "python", "pretrain.py", "--save", "/old", "--save=/ckpt/run 1/", NULL };

static struct sn_ckpt parsed(const char *text, char *const *command)
{
	struct sn_ckpt ckpt;
	struct sn_err err = { "" };

	if (sn_ckpt_parse(text, command, &ckpt, &err))
		fail_msg("%s: %s", text ? text : "(none)", err.text);
	return ckpt;
}

static void presets_are_what_the_frameworks_do(void **state)
{
	struct sn_ckpt c = parsed(NULL, megatron);

	(void)state;
	assert_string_equal(c.preset->name, "plain");
	assert_string_equal(c.marker, "");
	assert_int_equal(c.signal, SIGTERM);
	assert_true(c.exits);

	c = parsed("megatron:/ckpt", NULL);
	assert_string_equal(c.marker, "/ckpt/latest_checkpointed_iteration.txt");
	assert_int_equal(c.signal, SIGTERM);
	assert_true(c.exits && !c.gasp && !c.pattern);

	/* It saves in the handler and trains on. */
	c = parsed("lightning:/logs", NULL);
	assert_string_equal(c.marker, "/logs/hpc_ckpt_*.ckpt");
	assert_int_equal(c.signal, SIGUSR1);
	assert_true(!c.exits && c.pattern);

	c = parsed("nvrx:/ckpt/latest_checkpointed_iteration.txt", NULL);
	assert_string_equal(c.marker, "/ckpt/latest_checkpointed_iteration.txt");
	assert_int_equal(c.hard, 1800);

	/* No signal reaches it, and it saves when others fail. */
	c = parsed("mindio:/ckpt", NULL);
	assert_int_equal(c.signal, 0);
	assert_true(c.gasp);
	assert_int_equal(c.hard, 900);
}

static void the_command_says_where(void **state)
{
	char *nvrx[] = { "t.py", "--ft-checkpoint-iteration-file=/i.txt", "--save", "/s", NULL };
	char *cut[] = { "t.py", "--save", NULL };
	struct sn_err err = { "" };
	struct sn_ckpt c = parsed("megatron", megatron);

	(void)state;
	assert_string_equal(c.marker, "/ckpt/run 1/latest_checkpointed_iteration.txt");
	c = parsed("nvrx", nvrx);
	assert_string_equal(c.marker, "/i.txt");
	/* What the user says stands over it. */
	c = parsed("megatron:/mine", megatron);
	assert_string_equal(c.marker, "/mine/latest_checkpointed_iteration.txt");
	assert_int_equal(sn_ckpt_parse("megatron", cut, &c, &err), -ENOENT);
	assert_non_null(strstr(err.text, "megatron:DIR"));
	assert_non_null(strstr(err.text, "--save"));
	assert_int_equal(sn_ckpt_parse("lightning", NULL, &c, NULL), -ENOENT);
}

static void files_are_as_before(void **state)
{
	struct sn_ckpt c = parsed("/ckpt/latest", NULL);

	(void)state;
	assert_string_equal(c.preset->name, "plain");
	assert_string_equal(c.marker, "/ckpt/latest");
	c = parsed("done", NULL);
	assert_string_equal(c.marker, "done");
	/* A colon in a path is one. */
	c = parsed("/ckpt/a:b", NULL);
	assert_string_equal(c.marker, "/ckpt/a:b");
	c = parsed("/ckpt/a,b", NULL);
	assert_string_equal(c.marker, "/ckpt/a,b");
	c = parsed("plain:/ckpt/step-*.pt,soft=5,hard=70,signal=USR2", NULL);
	assert_true(c.pattern);
	assert_int_equal(c.number, SN_CKPT_IN_NAME);
	assert_int_equal(c.soft, 5);
	assert_int_equal(c.hard, 70);
	assert_int_equal(c.signal, SIGUSR2);
	c = parsed("lightning:/c/epoch=*-step=*.ckpt,signal=SIGHUP", NULL);
	assert_string_equal(c.marker, "/c/epoch=*-step=*.ckpt");
	assert_int_equal(c.number, SN_CKPT_IN_NAME);
	assert_int_equal(c.signal, SIGHUP);
	c = parsed("plain,signal=none", NULL);
	assert_int_equal(c.signal, 0);
	assert_string_equal(c.marker, "");
}

static void slips_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "megatrn:/ckpt", "megatrn" }, { "megatron:", "colon" },
		{ "plain,soft=0", "soft=" }, { "plain,hard=x", "hard=" },
		{ "plain,signal=KILL", "signal=KILL" }, { "plain,signal=", "signal=" },
		{ "plain,soft=10,hard=5", "hard=5" }, { "/c*/x", "*" },
		{ "plain:/c*/x*", "*" },
	};
	char *longest = malloc(SN_CKPT_PATH_MAX + 200);

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct sn_err err = { "" };
		struct sn_ckpt c;

		if (sn_ckpt_parse(bad[i].text, NULL, &c, &err) != -EINVAL ||
		    !strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
	}
	memset(longest, 'a', SN_CKPT_PATH_MAX + 199);
	longest[SN_CKPT_PATH_MAX + 199] = '\0';
	for (size_t n = SN_CKPT_PATH_MAX + 199; n > SN_CKPT_PATH_MAX - 30; n--) {
		struct sn_ckpt c;
		int rc;

		longest[n] = '\0';
		rc = sn_ckpt_parse(longest, NULL, &c, NULL);
		assert_int_equal(rc, n < SN_CKPT_PATH_MAX ? 0 : -EINVAL);
	}
	free(longest);
}

static void limits_are_the_larger_or_the_users(void **state)
{
	static const struct {
		const char *text;
		uint32_t conf_soft, conf_hard, soft, hard;
	} want[] = {
		{ "plain", 120, 600, 120, 600 },
		{ "mindio:/c", 120, 600, 180, 900 },
		{ "mindio:/c", 300, 3600, 300, 3600 },
		{ "mindio:/c,hard=60", 120, 600, 60, 60 },
		{ "plain,soft=700", 120, 600, 700, 700 },
		{ "plain,soft=1,hard=2", 120, 600, 1, 2 },
		{ "plain", 120, 3, 3, 3 }, /* a site's word, too */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		struct sn_ckpt c = parsed(want[i].text, NULL);
		uint32_t soft, hard;

		sn_ckpt_limits(&c, want[i].conf_soft, want[i].conf_hard, &soft, &hard);
		assert_int_equal(soft, want[i].soft);
		assert_int_equal(hard, want[i].hard);
	}
}

static void names_are_fitted(void **state)
{
	static const struct {
		const char *pattern, *name;
		uint64_t n; /* 0: it does not fit */
	} want[] = {
		{ "hpc_ckpt_*.ckpt", "hpc_ckpt_3.ckpt", 3 },
		{ "hpc_ckpt_*.ckpt", "hpc_ckpt_12.ckpt", 12 },
		{ "hpc_ckpt_*.ckpt", "hpc_ckpt_12.ckpt.tmp", 0 },
		{ "hpc_ckpt_*.ckpt", "hpc_ckpt_12.ckp", 0 },
		{ "epoch=*-step=*.ckpt", "epoch=3-step=1200.ckpt", 1200 },
		{ "*.ckpt", "epoch=3-step=1200.ckpt", 1200 },
		{ "*", "7", 7 }, { "**", "7", 7 }, { "a*b*c", "abbc", UINT64_MAX },
		{ "*", "last", UINT64_MAX }, { "a", "a", UINT64_MAX }, { "a", "b", 0 },
		{ "a*", "a", UINT64_MAX }, { "*aab", "aaab", UINT64_MAX },
		{ "step-*", "step-999999999999999", 999999999999999 },
		{ "step-*", "step-1000000000000000", UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		uint64_t n = 0;
		bool fits = sn_ckpt_fits(want[i].pattern, want[i].name, &n);

		if (fits != (want[i].n != 0) || (fits && n != want[i].n))
			fail_msg("%s %s: %d %llu", want[i].pattern, want[i].name, fits,
				 (unsigned long long)n);
	}
}

static struct sn_ckpt_mark mark_of(const char *option, const char *text)
{
	struct sn_ckpt c = parsed(option, NULL);
	struct sn_ckpt_mark mark = { .sec = 5 };

	sn_ckpt_read(&c, "", text, strlen(text), &mark);
	return mark;
}

static void torn_markers_do_not_count(void **state)
{
	struct sn_ckpt_mark m = mark_of("megatron:/c", "1200");

	(void)state;
	assert_true(m.there && m.has_iteration && m.iteration == 1200);
	m = mark_of("megatron:/c", " 1200\n");
	assert_true(m.there && m.iteration == 1200);
	/* Megatron opens it for writing first, and so it is empty for a moment. */
	assert_false(mark_of("megatron:/c", "").there);
	assert_false(mark_of("megatron:/c", "release").there);
	assert_false(mark_of("megatron:/c", "12 00").there);
	m = mark_of("plain", "");
	assert_true(m.there && !m.has_iteration);
	m = mark_of("plain", "step 40 of 100\n7\n");
	assert_true(m.there && m.has_iteration && m.iteration == 40);
	m = mark_of("plain", "\n7\n");
	assert_true(m.there && !m.has_iteration);
}

static void a_checkpoint_is_new(void **state)
{
	struct sn_ckpt_mark none = { .there = false };
	struct sn_ckpt_mark a = { .there = true, .has_iteration = true, .iteration = 100,
				  .ino = 7, .size = 3, .sec = 1000 };
	struct sn_ckpt_mark b = a;

	(void)state;
	assert_false(sn_ckpt_is_new(&none, &none));
	assert_true(sn_ckpt_is_new(&none, &a));
	assert_false(sn_ckpt_is_new(&a, &b));
	assert_false(sn_ckpt_is_new(&a, &none));
	/* The server's clock went back; what was saved is the same iteration. */
	b.sec = 10;
	assert_true(sn_ckpt_is_new(&a, &b));
	b = a;
	b.nsec = 1;
	assert_true(sn_ckpt_is_new(&a, &b));
	/* On a file system with whole seconds. */
	b = a;
	b.iteration = 101;
	assert_true(sn_ckpt_is_new(&a, &b));
}

static void the_last_of_a_pattern(void **state)
{
	struct sn_ckpt_mark none = { .there = false };
	struct sn_ckpt_mark a = { .there = true, .version = 9, .sec = 2000 };
	struct sn_ckpt_mark b = { .there = true, .version = 10, .sec = 1000 };

	(void)state;
	assert_true(sn_ckpt_later(&none, &a));
	assert_false(sn_ckpt_later(&a, &none));
	assert_true(sn_ckpt_later(&a, &b));
	assert_false(sn_ckpt_later(&b, &a));
	b.version = 9;
	assert_true(sn_ckpt_later(&b, &a));
	assert_false(sn_ckpt_later(&a, &a));
}

static void what_would_be_lost(void **state)
{
	struct sn_ckpt_mark mark = { .there = true, .sec = 1000, .nsec = 500000000 };

	(void)state;
	assert_true(sn_ckpt_since_safe(9000, 1000, 0, true) == 8);
	assert_true(sn_ckpt_since_safe(9000, 1000, 7000, true) == 2);
	/* One of the generation before: these ranks began with it. */
	assert_true(sn_ckpt_since_safe(9000, 8000, 7000, true) == 1);
	assert_true(sn_ckpt_since_safe(9000, 8000, 7000, false) == 0);
	assert_true(sn_ckpt_since_safe(9000, 9500, 0, true) == 0);
	assert_true(sn_ckpt_age(&mark, 1003, 0) == 2.5);
	assert_true(sn_ckpt_age(&mark, 900, 0) == 0);
	mark.there = false;
	assert_true(sn_ckpt_age(&mark, 1003, 0) == 0);
}

static void signals_have_names(void **state)
{
	(void)state;
	assert_string_equal(sn_ckpt_signal_name(SIGUSR1), "SIGUSR1");
	assert_string_equal(sn_ckpt_signal_name(0), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_are_what_the_frameworks_do),
		cmocka_unit_test(the_command_says_where),
		cmocka_unit_test(files_are_as_before),
		cmocka_unit_test(slips_are_refused),
		cmocka_unit_test(limits_are_the_larger_or_the_users),
		cmocka_unit_test(names_are_fitted),
		cmocka_unit_test(torn_markers_do_not_count),
		cmocka_unit_test(a_checkpoint_is_new),
		cmocka_unit_test(the_last_of_a_pattern),
		cmocka_unit_test(what_would_be_lost),
		cmocka_unit_test(signals_have_names),
	};

	return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
