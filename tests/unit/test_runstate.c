/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/runstate.h"
#include "launcher/writefile.h"

static char dir[] = "/tmp/sn-runstate-XXXXXX";

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

static void what_is_written_is_read(void **state)
{
	struct sn_runstate a = { .job = 4000000000u, .run = 2, .generation = 7,
				 .restarts = 3, .requeues = 1, .ended = true,
				 .srun_pid = 4711, .overlap = true, .unsure = true, .host = "n\"1",
				 .part = { { 12, 4712 }, { 13, 4713 } }, .n_parts = 2 }, b;

	(void)state;
	assert_int_equal(sn_runstate_read(dir, &b, NULL), -ENOENT);
	assert_int_equal(sn_runstate_write(dir, &a, NULL), 0);
	assert_int_equal(sn_runstate_read(dir, &b, NULL), 0);
	assert_int_equal(b.job, a.job);
	assert_int_equal(b.run, 2);
	assert_int_equal(b.generation, 7);
	assert_int_equal(b.restarts, 3);
	assert_int_equal(b.requeues, 1);
	assert_true(b.ended && b.overlap && b.unsure);
	assert_int_equal(b.srun_pid, 4711);
	assert_int_equal(b.n_parts, 2);
	assert_int_equal(b.part[1].job, 13);
	assert_int_equal(b.part[1].srun_pid, 4713);
	assert_string_equal(b.host, "n\"1");
}

static void damage_is_seen(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "{\"job\":1}", "null" };
	struct sn_runstate b;
	struct sn_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(sn_write_file(dir, SN_RUNSTATE_FILE, bad[i], strlen(bad[i]), NULL), 0);
		assert_int_equal(sn_runstate_read(dir, &b, &err), -EINVAL);
		assert_non_null(strstr(err.text, "damaged"));
	}
}

static void one_at_a_time(void **state)
{
	struct sn_err err;
	char want[64], holder[SN_RUNSTATE_HOST_MAX] = "?";
	int a, b;

	(void)state;
	assert_int_equal(sn_runstate_lock(dir, "host1", &a, holder, &err), 0);
	assert_string_equal(holder, "?");
	assert_true(a >= 0);
	/* A second description of the file, as another process has. */
	assert_int_equal(sn_runstate_lock(dir, "host2", &b, NULL, &err), -EBUSY);
	assert_int_equal(sn_runstate_lock(dir, "host2", &b, holder, &err), -EBUSY);
	assert_string_equal(holder, "host1");
	snprintf(want, sizeof(want), "process %ld on host1", (long)getpid());
	assert_non_null(strstr(err.text, want));
	assert_non_null(strstr(err.text, "SUPERNODE_JOB_DIR"));
	/* Nothing has been written yet, or something else. */
	assert_int_equal(ftruncate(a, 0), 0);
	assert_int_equal(sn_runstate_lock(dir, "host2", &b, holder, &err), -EBUSY);
	assert_string_equal(holder, "");
	close(a);
	assert_int_equal(sn_runstate_lock(dir, "host2", &b, NULL, &err), 0);
	close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(one_at_a_time),
	};

	return cmocka_run_group_tests_name("runstate", tests, make_dir, remove_dir);
}
