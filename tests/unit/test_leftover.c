/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_leftover.c - which processes are ended before a generation starts, and how.
 *
 * Real processes, this program again: deaf ones ignore SIGTERM.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/leftover.h"

#define LONG_MS 60000 /* that no process takes that hears SIGTERM */

static char dir[64]; /* of this run of the test only */

/* One that waits, with these variables, of which any may be NULL. Ready when it returns. */
static pid_t start(bool deaf, const char *job_dir, const char *ranks)
{
	char a[128], b[128], *env[3] = { NULL };
	char *argv[] = { "test_leftover", deaf ? "deaf" : "waits", NULL };
	int ready[2], n = 0;
	pid_t pid;
	char c;

	snprintf(a, sizeof(a), "SUPERNODE_JOB_DIR=%s", job_dir ? job_dir : "");
	snprintf(b, sizeof(b), "SUPERNODE_RANKS=%s", ranks ? ranks : "");
	if (job_dir)
		env[n++] = a;
	if (ranks)
		env[n++] = b;
	assert_return_code(pipe(ready), errno);
	pid = fork();
	assert_return_code(pid, errno);
	if (!pid) {
		dup2(ready[1], STDOUT_FILENO);
		close(ready[0]);
		close(ready[1]);
		execve("/proc/self/exe", argv, env);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* The signal that has ended it. */
static int ended_by(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static bool lives(pid_t pid)
{
	return !waitpid(pid, NULL, WNOHANG);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ended_by(pid);
}

static struct sn_leftover_end end_leftover(const char *ranks, uint32_t wait_ms)
{
	const struct sn_leftover what = { dir, ranks, wait_ms };
	struct sn_leftover_end ret;

	assert_int_equal(sn_leftover_end(&what, &ret), 0);
	return ret;
}

static void test_none(void **state)
{
	struct sn_leftover_end ret = end_leftover("plan:7.0.1", LONG_MS);

	(void)state;
	assert_int_equal(ret.told, 0);
	assert_int_equal(ret.killed, 0);
	assert_int_equal(ret.left, 0);
}

/* Of this job, of another generation or another run of snrun's. */
static void test_told(void **state)
{
	pid_t before = start(false, dir, "plan:7.0.0"), run = start(false, dir, "plan:7.1.1"),
	      longer = start(false, dir, "plan:7.0.10");
	struct sn_leftover_end ret = end_leftover("plan:7.0.1", LONG_MS);

	(void)state;
	assert_int_equal(ret.told, 3);
	assert_int_equal(ret.killed, 0);
	assert_int_equal(ret.left, 0);
	assert_int_equal(ended_by(before), SIGTERM);
	assert_int_equal(ended_by(run), SIGTERM);
	assert_int_equal(ended_by(longer), SIGTERM);
}

static void test_deaf(void **state)
{
	pid_t deaf = start(true, dir, "plan:7.0.0"), hears = start(false, dir, "plan:7.0.0");
	struct sn_leftover_end ret = end_leftover("plan:7.0.1", 300);

	(void)state;
	assert_int_equal(ret.told, 2);
	assert_int_equal(ret.killed, 1);
	assert_int_equal(ret.left, 0);
	assert_int_equal(ended_by(deaf), SIGKILL);
	assert_int_equal(ended_by(hears), SIGTERM);
}

/* A job that a rank has submitted: its script and snrun inherit the rank's variables, and
 * with them the directory. */
static void test_submitted(void **state)
{
	pid_t rank = start(false, dir, "plan:7.0.0"), of[2] = {
		start(false, dir, "plan:70.0.0"), start(false, dir, "plan:6.0.0"),
	};

	(void)state;
	assert_int_equal(end_leftover("plan:7.0.1", LONG_MS).told, 1);
	assert_int_equal(ended_by(rank), SIGTERM);
	for (size_t i = 0; i < 2; i++) {
		assert_true(lives(of[i]));
		end(of[i]);
	}
}

/* Other parts of this generation; steps that users start beside it, of which none has
 * the plan's order; other jobs; what is no rank. */
static void test_others_live(void **state)
{
	char longer[80], shorter[80];
	pid_t pid[7];

	(void)state;
	snprintf(longer, sizeof(longer), "%s0", dir);
	snprintf(shorter, sizeof(shorter), "%.*s", (int)strlen(dir) - 1, dir);
	pid[0] = start(false, dir, "plan:7.0.1");
	pid[1] = start(false, dir, "layout");
	pid[2] = start(false, dir, NULL);
	pid[3] = start(false, NULL, "plan:7.0.0");
	pid[4] = start(false, longer, "plan:7.0.0");
	pid[5] = start(false, shorter, "plan:7.0.0");
	pid[6] = start(false, NULL, NULL);
	assert_int_equal(end_leftover("plan:7.0.1", LONG_MS).told, 0);
	for (size_t i = 0; i < 7; i++)
		assert_true(lives(pid[i]));
	for (size_t i = 0; i < 7; i++)
		end(pid[i]);
}

/* The variables of a zombie are gone with its memory; nobody waits for it. */
static void test_zombie(void **state)
{
	pid_t pid = start(false, dir, "plan:7.0.0");
	siginfo_t info;

	(void)state;
	kill(pid, SIGKILL);
	assert_return_code(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), errno);
	assert_int_equal(end_leftover("plan:7.0.1", LONG_MS).told, 0);
	assert_int_equal(ended_by(pid), SIGKILL);
}

/* As root: another user's is not ours, whatever it says. */
static void test_other_user(void **state)
{
	struct sn_leftover_end ret;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	pid = start(false, dir, "plan:7.0.0");
	assert_return_code(seteuid(65534), errno);
	ret = end_leftover("plan:7.0.1", LONG_MS);
	assert_return_code(seteuid(0), errno);
	assert_int_equal(ret.told, 0);
	assert_true(lives(pid));
	end(pid);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_deaf),
		cmocka_unit_test(test_submitted),
		cmocka_unit_test(test_others_live),
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_other_user),
	};

	if (argc == 2) {
		if (!strcmp(argv[1], "deaf"))
			signal(SIGTERM, SIG_IGN);
		alarm(120); /* nothing is left of a test that failed */
		if (write(STDOUT_FILENO, "r", 1) != 1)
			return 1;
		for (;;)
			pause();
	}
	snprintf(dir, sizeof(dir), "/none/test_leftover-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
