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
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "elastic/lead.h"

static char dir[] = "/tmp/sn-lead-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void only_one(void **state)
{
	struct sn_lead a, b;
	struct sn_err err;

	(void)state;
	sn_lead_init(&a, dir, "one");
	sn_lead_init(&b, dir, "two");
	assert_string_not_equal(a.id, b.id);
	assert_int_equal(sn_lead_check(&a, &err), -ESTALE);
	assert_int_equal(sn_lead_take(&a, &err), 0);
	assert_int_equal(sn_lead_check(&a, &err), 0);
	assert_int_equal(sn_lead_take(&b, &err), -EBUSY);
	assert_non_null(strstr(err.text, "one"));
	sn_lead_give(&a);
	assert_int_equal(sn_lead_take(&b, &err), 0);
	assert_int_equal(b.term, a.term + 1);
	assert_int_equal(sn_lead_check(&a, &err), -ESTALE);
	sn_lead_give(&b);
}

/* However it ends. */
static void a_killed_one_is_followed(void **state)
{
	struct sn_lead a, b;
	struct sn_err err;
	int fd[2], status;
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		sn_lead_init(&a, dir, "killed");
		c = sn_lead_take(&a, NULL) ? 'n' : 'y';
		if (write(fd[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(fd[0], &c, 1), 1);
	assert_int_equal(c, 'y');
	sn_lead_init(&b, dir, "next");
	assert_int_equal(sn_lead_take(&b, &err), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(sn_lead_take(&b, &err), 0);
	sn_lead_give(&b);
	close(fd[0]);
	close(fd[1]);
}

/* Somebody cleans up the directory, and another daemon starts: the first must
 * notice that it is not alone. */
static void a_lost_lock_is_seen(void **state)
{
	char path[128];
	struct sn_lead a, b;
	struct sn_err err;

	(void)state;
	sn_lead_init(&a, dir, "one");
	sn_lead_init(&b, dir, "two");
	assert_int_equal(sn_lead_take(&a, &err), 0);
	snprintf(path, sizeof(path), "%s/" SN_LEAD_LOCK, dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sn_lead_check(&a, &err), -ESTALE);
	assert_int_equal(sn_lead_take(&b, &err), 0);
	assert_int_equal(sn_lead_check(&a, &err), -ESTALE);
	assert_int_equal(sn_lead_check(&b, &err), 0);
	sn_lead_give(&a);
	/* A name that was written over, as when a lock was lost on the server. */
	snprintf(path, sizeof(path), "%s/" SN_LEAD_FILE, dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sn_lead_check(&b, &err), -ESTALE);
	sn_lead_give(&b);
}

static void foreign_directories(void **state)
{
	struct sn_lead a;
	struct sn_err err;

	(void)state;
	sn_lead_init(&a, "/proc/nowhere", "one");
	assert_true(sn_lead_take(&a, &err) < 0);
	assert_non_null(strstr(err.text, "/proc/nowhere"));
	assert_int_equal(chmod(dir, 0777), 0);
	sn_lead_init(&a, dir, "one");
	assert_int_equal(sn_lead_take(&a, &err), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_one),
		cmocka_unit_test(a_killed_one_is_followed),
		cmocka_unit_test(a_lost_lock_is_seen),
		cmocka_unit_test(foreign_directories),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
