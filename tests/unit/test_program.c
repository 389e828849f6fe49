/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/program.h"
#include "tests/unit/tables.h"

static const struct sn_program_limits limits = { .at_once = 4, .seconds = 20, .bytes = 1000 };

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
	const struct sn_program_limits short_one = { .at_once = 1, .seconds = 1, .bytes = 1000 };
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
	const struct sn_program_limits short_one = { .at_once = 1, .seconds = 1, .bytes = 1000 };
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
	const struct sn_program_limits wide = { .at_once = 8, .seconds = 60, .bytes = 1000 };
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

static void each_can_be_by_itself(void **state)
{
	const struct sn_program_limits by_itself = { .at_once = 100, .seconds = 2, .bytes = 100, .each = true };
	static char script[100][64];
	static const char *argv[100][4];
	struct sn_program p[100];
	double began = seconds();
	struct sn_err err;

	(void)state;
	memset(p, 0, sizeof(p));
	for (int i = 0; i < 100; i++) {
		snprintf(script[i], sizeof(script[i]), i % 50 == 7 ? "sleep 300" : i % 3 ? "echo answer %d" : "exit %d",
			 i);
		argv[i][0] = i == 8 ? "nowhere" : "/bin/sh";
		argv[i][1] = "-c";
		argv[i][2] = script[i];
		p[i].argv = argv[i];
	}
	assert_int_not_equal(sn_programs_run(p, 100, &by_itself, &err), 0);
	for (int i = 0; i < 100; i++) {
		int want = i == 8 ? -EINVAL : i % 50 == 7 ? -ETIME : i % 3 || !i ? 0 : -ECHILD;

		assert_int_equal(p[i].rc, want);
		if (!want && i)
			assert_int_equal(atoi(p[i].out + 7), i);
		assert_true(want ? !p[i].out && *p[i].err.text : !!p[i].out);
	}
	/* those that hang do so together */
	assert_true(seconds() - began < 15);
	sn_programs_done(p, 100);
}

/* ---- bare ---- */

static int ask(const char *script, uint32_t seconds_, char **ret, struct sn_err *err)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	size_t len;

	*ret = NULL;
	return sn_program_ask(argv, seconds_, 1000, ret, &len, err);
}

static void a_bare_one_gets_nothing_of_the_caller(void **state)
{
	char script[200], *text;
	struct sn_err err;
	int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

	(void)state;
	assert_true(fd > 2);
	assert_int_equal(setenv("SN_TEST_SECRET", "x", 1), 0);
	snprintf(script, sizeof(script), "cat; echo \"[$SN_TEST_SECRET]\"; [ -e /proc/self/fd/%d ] || echo closed; echo told >&2", fd);
	assert_int_equal(ask(script, 10, &text, &err), 0);
	assert_string_equal(text, "[]\nclosed\n");
	free(text);
	close(fd);
	assert_int_equal(ask("echo no room >&2; exit 3", 10, &text, &err), -ECHILD);
	assert_string_equal(err.text, "/bin/sh: exit status 3: no room");
	assert_int_equal(ask("exec sleep 300", 1, &text, &err), -ETIME);
	assert_string_equal(err.text, "/bin/sh: had not ended after 1 s and was killed");
	assert_null(text);
}

/* Hold on to the process that writes its number into file: once killed, it is its
 * tracer's to bury, and to the one that started it as if it did not die. */
static pid_t hold(const char *file, int *ret_ready)
{
	int ready[2];
	pid_t tracer;

	assert_int_equal(pipe(ready), 0);
	tracer = fork();
	assert_true(tracer >= 0);
	if (!tracer) {
		int pid = 0, i;

		alarm(60);
		for (i = 0; i < 500 && !pid; i++) {
			FILE *f = fopen(file, "r");

			if (!f || fscanf(f, "%d\n", &pid) != 1)
				pid = 0;
			if (f)
				fclose(f);
			usleep(10000);
		}
		if (!pid || ptrace(PTRACE_SEIZE, pid, NULL, NULL) ||
		    write(ready[1], "y", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	*ret_ready = ready[0];
	return tracer;
}

static void one_that_does_not_die_is_left(void **state)
{
	char file[] = "/tmp/sn-program-XXXXXX", script[200], c;
	struct sn_err err;
	char *out;
	time_t begin = time(NULL);
	int fd = mkstemp(file), ready, rc;
	pid_t tracer;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	tracer = hold(file, &ready);
	snprintf(script, sizeof(script), "echo $$ >%s; exec sleep 30", file);
	rc = ask(script, 2, &out, &err);
	unlink(file);
	if (read(ready, &c, 1) != 1) {
		close(ready);
		waitpid(tracer, NULL, 0);
		print_message("# nobody may trace here: not tried\n");
		return;
	}
	close(ready);
	assert_int_equal(rc, -ETIME);
	/* and it had to be left, or this shows nothing */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	assert_true(time(NULL) - begin < 15);
	kill(tracer, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void a_program_that_others_may_change_is_not_run(void **state)
{
	char file[] = "/tmp/sn-program-XXXXXX";
	const char *argv[] = { file, NULL };
	struct sn_err err;
	char *text;
	size_t len;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	close(fd);
	assert_int_equal(chmod(file, 0777), 0);
	if (!geteuid()) {
		assert_int_equal(sn_program_ask(argv, 5, 1000, &text, &len, &err), -EINVAL);
		assert_non_null(strstr(err.text, "others than root"));
	}
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(sn_program_ask(argv, 5, 1000, &text, &len, &err), -EINVAL);
	unlink(file);
	assert_int_equal(sn_program_ask(argv, 5, 1000, &text, &len, &err), -ENOENT);
	argv[0] = "sh";
	assert_int_equal(sn_program_ask(argv, 5, 1000, &text, &len, &err), -EINVAL);
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
		cmocka_unit_test(each_can_be_by_itself),
		cmocka_unit_test(a_bare_one_gets_nothing_of_the_caller),
		cmocka_unit_test(one_that_does_not_die_is_left),
		cmocka_unit_test(a_program_that_others_may_change_is_not_run),
	};

	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
