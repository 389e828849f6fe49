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
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/runprog.h"

static int run(const char *script, uint32_t seconds, char **ret, struct sn_err *err)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)script, NULL };
	size_t len;

	*ret = NULL;
	return sn_runprog(argv, seconds, ret, &len, err);
}

static void the_answer_is_whole(void **state)
{
	struct sn_err err;
	char *text;

	(void)state;
	assert_int_equal(run("echo one; echo two >&2; echo three", 10, &text, &err), 0);
	assert_string_equal(text, "one\nthree\n");
	free(text);
	/* no environment, no input */
	assert_int_equal(setenv("SN_TEST_SECRET", "x", 1), 0);
	assert_int_equal(run("cat; echo \"[$SN_TEST_SECRET]\"", 10, &text, &err), 0);
	assert_string_equal(text, "[]\n");
	free(text);
}

static void a_failure_is_told(void **state)
{
	struct sn_err err;
	char *text;

	(void)state;
	assert_int_equal(run("echo no room >&2; exit 3", 10, &text, &err), -ECHILD);
	assert_non_null(strstr(err.text, "status 3: no room"));
	assert_int_equal(run("kill -9 $$", 10, &text, &err), -ECHILD);
	assert_non_null(strstr(err.text, "signal 9"));
}

static void one_that_hangs_is_killed_with_its_children(void **state)
{
	char file[] = "/tmp/sn-runprog-XXXXXX", script[200], text[32] = "";
	struct sn_err err;
	char *out;
	time_t begin = time(NULL);
	int fd = mkstemp(file), i;
	pid_t child;

	(void)state;
	assert_true(fd >= 0);
	snprintf(script, sizeof(script), "sleep 300 & echo $! >%s; wait", file);
	assert_int_equal(run(script, 1, &out, &err), -ETIME);
	assert_true(time(NULL) - begin < 10);
	assert_non_null(strstr(err.text, "1 seconds"));
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	child = (pid_t)atoi(text);
	for (i = 0; i < 100 && !kill(child, 0); i++) {
		char stat[64];
		FILE *f;
		int c = 0;

		/* dead and not yet reaped by process 1 is dead */
		snprintf(stat, sizeof(stat), "/proc/%d/stat", child);
		f = fopen(stat, "r");
		if (f) {
			(void)!fscanf(f, "%*d (%*[^)]) %c", (char *)&c);
			fclose(f);
		}
		if (c == 'Z' || !f)
			break;
		usleep(20000);
	}
	assert_in_range(i, 0, 99);
	/* closed output is no way out */
	assert_int_equal(run("exec >&- 2>&-; sleep 300", 1, &out, &err), -ETIME);
	close(fd);
	unlink(file);
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
	char file[] = "/tmp/sn-runprog-XXXXXX", script[200], c;
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
	rc = run(script, 2, &out, &err);
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

static void too_much_is_too_much(void **state)
{
	struct sn_err err;
	char *text;

	(void)state;
	assert_int_equal(run("while :; do echo 0123456789012345678901234567890123456789; done", 20, &text, &err), -EFBIG);
}

static void a_program_that_others_may_change_is_not_run(void **state)
{
	char file[] = "/tmp/sn-runprog-XXXXXX";
	char *argv[] = { file, NULL };
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
		assert_int_equal(sn_runprog(argv, 5, &text, &len, &err), -EINVAL);
		assert_non_null(strstr(err.text, "others than root"));
	}
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(sn_runprog(argv, 5, &text, &len, &err), -EINVAL);
	unlink(file);
	assert_int_equal(sn_runprog(argv, 5, &text, &len, &err), -ENOENT);
	argv[0] = (char *)"sh";
	assert_int_equal(sn_runprog(argv, 5, &text, &len, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answer_is_whole),
		cmocka_unit_test(a_failure_is_told),
		cmocka_unit_test(one_that_hangs_is_killed_with_its_children),
		cmocka_unit_test(one_that_does_not_die_is_left),
		cmocka_unit_test(too_much_is_too_much),
		cmocka_unit_test(a_program_that_others_may_change_is_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
