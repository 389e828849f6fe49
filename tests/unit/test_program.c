/* SPDX-License-Identifier: GPL-2.0-or-later */
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/program.h"
#include "tests/unit/tables.h"

static const struct sn_program_limits limits = { 4, 20, 1000 };

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* sh -c script, as one program. */
static int run(const char *script, const struct sn_program_limits *how,
	       struct sn_program *ret, struct sn_err *err)
{
	static const char *argv[4];

	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	memset(ret, 0, sizeof(*ret));
	memset(err, 0, sizeof(*err));
	ret->argv = argv;
	ret->about = "n001";
	return sn_programs_run(ret, 1, how, err);
}

static void what_it_prints_is_taken(void **state)
{
	struct sn_program p;
	struct sn_err err;

	(void)state;
	assert_int_equal(run("echo hello; echo complaint >&2", &limits, &p, &err), 0);
	assert_string_equal(p.out, "hello\n");
	assert_int_equal(p.len, 6);
	sn_programs_done(&p, 1);
	assert_int_equal(run("cat; :", &limits, &p, &err), 0); /* stdin is empty */
	assert_int_equal(p.len, 0);
	sn_programs_done(&p, 1);
}

static void one_that_hangs_is_killed_with_its_children(void **state)
{
	const struct sn_program_limits short_one = { 1, 1, 1000 };
	char *dir = tables_dir(), script[1200], path[1100];
	struct sn_program p;
	struct sn_err err;
	double began = seconds();
	FILE *f;
	int pid = 0, rc = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/pid", dir);
	snprintf(script, sizeof(script), "trap '' TERM; sleep 300 & echo $! >%s; wait", path);
	assert_int_equal(run(script, &short_one, &p, &err), -ETIME);
	assert_non_null(strstr(err.text, "/bin/sh n001: had not ended after 1 s and was killed"));
	assert_true(seconds() - began < 15);
	assert_null(p.out);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	/* A killed orphan is there until somebody reaps it. */
	for (int i = 0; i < 1000 && !(rc = kill(pid, 0)); i++) {
		char stat[64], state_of = 0;

		snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
		f = fopen(stat, "r");
		if (f && fscanf(f, "%*d %*s %c", &state_of) != 1)
			state_of = 0;
		if (f)
			fclose(f);
		if (!f || state_of == 'Z')
			break;
		usleep(10000);
		if (i == 999)
			fail_msg("child %d lives", pid);
	}
	tables_rmdir(dir);
}

static void a_child_that_holds_the_pipe_is_not_waited_for(void **state)
{
	struct sn_program p;
	struct sn_err err;
	double began = seconds();

	(void)state;
	assert_int_equal(run("echo told; sleep 300 &", &limits, &p, &err), 0);
	assert_string_equal(p.out, "told\n");
	assert_true(seconds() - began < 10);
	sn_programs_done(&p, 1);
}

static void one_that_closes_its_output_and_runs_on_is_killed(void **state)
{
	const struct sn_program_limits short_one = { 1, 1, 1000 };
	struct sn_program p;
	struct sn_err err;

	(void)state;
	assert_int_equal(run("exec >&- 2>&-; sleep 300", &short_one, &p, &err), -ETIME);
}

static void one_that_prints_without_end_is_killed(void **state)
{
	struct sn_program p;
	struct sn_err err;

	(void)state;
	assert_int_equal(run("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", &limits, &p, &err), -EFBIG);
	assert_non_null(strstr(err.text, "n001: printed more than 1000 bytes"));
	assert_null(p.out);
	/* The limit itself is no error. */
	assert_int_equal(run("printf %01000d 1", &limits, &p, &err), 0);
	assert_int_equal(p.len, 1000);
	sn_programs_done(&p, 1);
	assert_int_equal(run("printf %01001d 1", &limits, &p, &err), -EFBIG);
}

static void failures_are_named(void **state)
{
	const char *nowhere[] = { "/nowhere/inventory", "n001", NULL };
	const char *relative[] = { "inventory", "n001", NULL };
	struct sn_program p;
	struct sn_err err;

	(void)state;
	assert_int_equal(run("echo no card >&2; echo more >&2; exit 3", &limits, &p, &err), -ECHILD);
	assert_string_equal(err.text, "/bin/sh n001: exit status 3: no card");
	assert_int_equal(run("kill -SEGV $$", &limits, &p, &err), -ECHILD);
	assert_non_null(strstr(err.text, "n001: died of signal 11"));
	p = (struct sn_program){ .argv = nowhere, .about = "n001" };
	assert_int_equal(sn_programs_run(&p, 1, &limits, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/inventory: cannot be run"));
	p = (struct sn_program){ .argv = relative, .about = "n001" };
	assert_int_equal(sn_programs_run(&p, 1, &limits, &err), -EINVAL);
}

static void many_run_together_each_with_its_answer(void **state)
{
	const struct sn_program_limits wide = { 8, 60, 1000 };
	static char script[40][64];
	static const char *argv[40][4];
	struct sn_program p[40];
	struct sn_err err;

	(void)state;
	memset(p, 0, sizeof(p));
	for (int i = 0; i < 40; i++) {
		snprintf(script[i], sizeof(script[i]), "echo answer %d", i);
		argv[i][0] = "/bin/sh";
		argv[i][1] = "-c";
		argv[i][2] = script[i];
		p[i].argv = argv[i];
		p[i].about = "n";
	}
	assert_int_equal(sn_programs_run(p, 40, &wide, &err), 0);
	for (int i = 0; i < 40; i++)
		assert_int_equal(atoi(p[i].out + 7), i);
	sn_programs_done(p, 40);
	/* One failure ends all, however long the others would take. */
	for (int i = 0; i < 40; i++)
		snprintf(script[i], sizeof(script[i]), i == 5 ? "exit 1" : "sleep 300");
	assert_int_equal(sn_programs_run(p, 40, &wide, &err), -ECHILD);
	assert_int_equal(p[5].rc, -ECHILD);
	assert_int_equal(p[0].rc, -ECANCELED);
	assert_int_equal(p[39].rc, -ECANCELED);
	sn_programs_done(p, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_prints_is_taken),
		cmocka_unit_test(one_that_hangs_is_killed_with_its_children),
		cmocka_unit_test(a_child_that_holds_the_pipe_is_not_waited_for),
		cmocka_unit_test(one_that_closes_its_output_and_runs_on_is_killed),
		cmocka_unit_test(one_that_prints_without_end_is_killed),
		cmocka_unit_test(failures_are_named),
		cmocka_unit_test(many_run_together_each_with_its_answer),
	};

	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
