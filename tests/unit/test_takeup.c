/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_takeup.c - with which generation an snrun goes on, and whether ranks of an earlier
 * one may still run.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/jobdirempty.h"
#include "launcher/orders.h"
#include "launcher/snrun.h"
#include "launcher/writefile.h"

static char dir[] = "/tmp/test_takeup-XXXXXX";
static struct snrun run;
static bool gone; /* slurmctld says that the steps of before are */

/* ---- what takeup.c calls ------------------------------------------------------------- */

void snrun_say(const char *fmt, ...)
{
	(void)fmt;
}

int64_t snrun_now_ms(void)
{
	return 0;
}

int snrun_wait_signal(int64_t ms)
{
	(void)ms;
	return 0;
}

void snrun_warn_steps(const struct sn_runstate *state, uint32_t seconds)
{
	(void)state, (void)seconds;
}

bool snrun_end_steps(const struct sn_runstate *state)
{
	(void)state;
	return gone;
}

/* ---- tests ----------------------------------------------------------------------------- */

/* What the snrun before has left, NULL: none was; and how often the job was requeued by now. */
static void take_up(const struct sn_runstate *before, const char *requeues)
{
	struct sn_err err;
	int fd;

	assert_int_equal(sn_dir_open(dir, &fd, &err), 0);
	sn_jobdir_empty(fd, 0);
	close(fd);
	if (before)
		assert_int_equal(sn_runstate_write(dir, before, &err), 0);
	setenv("SLURM_RESTART_COUNT", requeues, 1);
	memset(&run, 0, sizeof(run));
	run.job.id = 7;
	strcpy(run.dir, dir);
	strcpy(run.host, "n001");
	gone = true;
	assert_int_equal(snrun_prepare(&run, &err), 0);
	if (run.lock >= 0)
		close(run.lock);
}

static void nothing_was_before(void **state)
{
	const struct sn_runstate others = { .job = 6, .generation = 3 };

	(void)state;
	take_up(NULL, "0");
	assert_false(run.unsure);
	take_up(&others, "0");
	assert_int_equal(run.state.generation, 0);
	assert_false(run.unsure);
}

static void one_has_come_to_its_end(void **state)
{
	const struct sn_runstate before = { .job = 7, .run = 2, .generation = 3, .ended = true };

	(void)state;
	take_up(&before, "0");
	assert_int_equal(run.state.run, 3);
	assert_int_equal(run.state.generation, 0);
	assert_false(run.state.overlap);
	assert_false(run.unsure);
}

/* As where it was stopped, and slurmctld knew of no step that it could end. */
static void one_has_ended_before_its_ranks(void **state)
{
	const struct sn_runstate before = {
		.job = 7, .run = 2, .generation = 3, .ended = true, .unsure = true,
	};

	(void)state;
	take_up(&before, "0");
	assert_int_equal(run.state.run, 3);
	assert_int_equal(run.state.generation, 0);
	assert_false(run.state.overlap);
	assert_true(run.unsure);
}

/* Also where slurmctld says that there is no step. */
static void one_was_killed(void **state)
{
	const struct sn_runstate before = { .job = 7, .run = 2, .generation = 3, .srun_pid = 1 };

	(void)state;
	take_up(&before, "0");
	assert_int_equal(run.state.run, 2);
	assert_int_equal(run.state.generation, 4);
	assert_false(run.state.overlap);
	assert_true(run.unsure);
}

static void the_job_was_requeued(void **state)
{
	const struct sn_runstate before = { .job = 7, .generation = 3, .ended = true };

	(void)state;
	take_up(&before, "1");
	assert_int_equal(run.state.generation, 4);
	assert_int_equal(run.state.requeues, 1);
	assert_true(run.unsure);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	int fd;

	(void)state;
	if (!sn_dir_open(dir, &fd, NULL)) {
		sn_jobdir_empty(fd, 0);
		unlinkat(fd, "lock", 0);
		close(fd);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_was_before),
		cmocka_unit_test(one_has_come_to_its_end),
		cmocka_unit_test(one_has_ended_before_its_ranks),
		cmocka_unit_test(one_was_killed),
		cmocka_unit_test(the_job_was_requeued),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
