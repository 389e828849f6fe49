/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_ckptwatch.c - the files of the checkpoint protocol, and when what was seen.
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/checkpoint.h"

static char dir[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/sn-ckpt-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Anew, so that it is another file, at that second of the file server's. */
static void put(const char *name, const char *text, time_t sec)
{
	struct timespec times[2] = { { sec, 0 }, { sec, 0 } };
	char path[128], temporary[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(temporary, sizeof(temporary), "%s/%s.new", dir, name);
	f = fopen(temporary, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	if (sec)
		assert_int_equal(utimensat(AT_FDCWD, temporary, times, 0), 0);
	assert_int_equal(rename(temporary, path), 0);
}

static void watch_for(struct sn_ckptwatch *watch, const char *option)
{
	struct sn_ckpt ckpt;
	struct sn_err err = { "" };

	if (sn_ckpt_parse(option, NULL, &ckpt, &err))
		fail_msg("%s", err.text);
	sn_ckptwatch_init(watch, &ckpt);
}

static void a_request_and_its_marker(void **state)
{
	struct sn_ckptstate s;
	struct sn_ckptwatch w;

	(void)state;
	put("checkpoint", "40\n", 1000);
	watch_for(&w, NULL);
	sn_ckptwatch_start(&w, dir, 10000);
	sn_ckptwatch_ask(&w, dir, 20000);
	assert_false(sn_ckptwatch_is_new(&w));
	sn_ckptwatch_look(&w, dir, 20500);
	assert_false(sn_ckptwatch_is_new(&w));
	sn_ckptwatch_state(&w, dir, 20500, &s);
	assert_true(s.since_safe == 10.5 && s.seconds < 0);
	assert_true(s.has_iteration && s.iteration == 40);
	/* The writer's clock is far behind. */
	put("checkpoint", "44\n", 900);
	sn_ckptwatch_look(&w, dir, 23500);
	assert_true(sn_ckptwatch_is_new(&w));
	sn_ckptwatch_state(&w, dir, 24500, &s);
	assert_true(s.since_safe == 1 && s.age == 1 && s.seconds == 3.5);
	assert_int_equal(s.iteration, 44);
	assert_true(sn_ckptwatch_progressed(&w, dir));
	sn_ckptwatch_stop(&w, dir, 25000);
	sn_ckptwatch_state(&w, dir, 26000, &s);
	assert_true(s.since_safe == 0 && s.age == 2.5);
}

static void age_is_by_the_servers_clock(void **state)
{
	struct sn_ckptstate s;
	struct sn_ckptwatch w;

	(void)state;
	put("checkpoint", "40\n", time(NULL) - 100);
	watch_for(&w, NULL);
	sn_ckptwatch_start(&w, dir, 1000);
	sn_ckptwatch_state(&w, dir, 6000, &s);
	assert_true(s.age >= 104 && s.age < 115);
	/* From the future: a clock that is wrong gives no age below nothing. */
	put("checkpoint", "41\n", time(NULL) + 1000);
	watch_for(&w, NULL);
	sn_ckptwatch_start(&w, dir, 1000);
	sn_ckptwatch_state(&w, dir, 1000, &s);
	assert_true(s.age == 0);
}

static void the_same_iteration_is_no_progress(void **state)
{
	struct sn_ckptwatch w;
	char option[128];

	(void)state;
	snprintf(option, sizeof(option), "megatron:%s", dir);
	put("latest_checkpointed_iteration.txt", "100", 0);
	watch_for(&w, option);
	sn_ckptwatch_start(&w, dir, 1000);
	put("latest_checkpointed_iteration.txt", "100", 0);
	sn_ckptwatch_stop(&w, dir, 2000);
	assert_false(sn_ckptwatch_progressed(&w, dir));
	sn_ckptwatch_start(&w, dir, 3000);
	assert_false(sn_ckptwatch_progressed(&w, dir));
	put("latest_checkpointed_iteration.txt", "110", 0);
	sn_ckptwatch_stop(&w, dir, 4000);
	assert_true(sn_ckptwatch_progressed(&w, dir));
	/* The file that is touched counts as ever. */
	sn_ckptwatch_start(&w, dir, 5000);
	put("progress", "", 0);
	assert_true(sn_ckptwatch_progressed(&w, dir));
}

static void a_torn_marker_is_waited_for(void **state)
{
	struct sn_ckptwatch w;
	char option[128];

	(void)state;
	snprintf(option, sizeof(option), "megatron:%s", dir);
	put("latest_checkpointed_iteration.txt", "100", 0);
	watch_for(&w, option);
	sn_ckptwatch_start(&w, dir, 1000);
	sn_ckptwatch_ask(&w, dir, 2000);
	put("latest_checkpointed_iteration.txt", "", 0);
	sn_ckptwatch_look(&w, dir, 2500);
	assert_false(sn_ckptwatch_is_new(&w));
	put("latest_checkpointed_iteration.txt", "104", 0);
	sn_ckptwatch_look(&w, dir, 3000);
	assert_true(sn_ckptwatch_is_new(&w));
}

static void a_pattern_has_to_settle(void **state)
{
	struct sn_ckptwatch w;
	char option[128];

	(void)state;
	snprintf(option, sizeof(option), "lightning:%s", dir);
	put("hpc_ckpt_9.ckpt", "old", 1000);
	watch_for(&w, option);
	sn_ckptwatch_start(&w, dir, 1000);
	sn_ckptwatch_ask(&w, dir, 2000);
	put("hpc_ckpt_10.ckpt", "half", 500);
	sn_ckptwatch_look(&w, dir, 2500);
	assert_false(sn_ckptwatch_is_new(&w));
	put("hpc_ckpt_10.ckpt", "half and more", 501);
	sn_ckptwatch_look(&w, dir, 3400);
	sn_ckptwatch_look(&w, dir, 3900);
	assert_false(sn_ckptwatch_is_new(&w));
	sn_ckptwatch_look(&w, dir, 4400);
	assert_true(sn_ckptwatch_is_new(&w));
	assert_true(w.seconds == 2.4);
	assert_int_equal(w.mark.version, 10);
	/* Whoever has ended writes no more. */
	sn_ckptwatch_ask(&w, dir, 5000);
	put("hpc_ckpt_11.ckpt", "new", 502);
	sn_ckptwatch_stop(&w, dir, 5100);
	assert_true(sn_ckptwatch_is_new(&w));
}

static void what_is_no_file_is_no_marker(void **state)
{
	struct sn_ckpt_mark mark;
	struct sn_ckptwatch w;
	char path[128];

	(void)state;
	watch_for(&w, NULL);
	snprintf(path, sizeof(path), "%s/checkpoint", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	sn_ckptfile_look(&w.ckpt, dir, &mark); /* and does not hang */
	assert_false(mark.there);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	sn_ckptfile_look(&w.ckpt, dir, &mark);
	assert_false(mark.there);
	sn_ckptfile_look(&w.ckpt, "/nonexistent", &mark);
	assert_false(mark.there);
}

static void progress_is_what_the_program_says(void **state)
{
	struct sn_ckptstate s;
	struct sn_ckptwatch w;

	(void)state;
	watch_for(&w, NULL);
	sn_ckptwatch_start(&w, dir, 1000);
	sn_ckptwatch_state(&w, dir, 1000, &s);
	assert_false(s.has_progress);
	assert_true(s.age < 0);
	put("checkpoint", "40\n", 0);
	sn_ckptwatch_stop(&w, dir, 1500);
	sn_ckptwatch_state(&w, dir, 2000, &s);
	assert_true(s.has_progress && s.progress == 40);
	put("progress", "iteration 57\n", 0);
	sn_ckptwatch_state(&w, dir, 2000, &s);
	assert_true(s.has_progress && s.progress == 57);
}

static void memory_is_another_safe_point(void **state)
{
	struct sn_ckptstate s;
	struct sn_ckptwatch w;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/memckpt", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	watch_for(&w, NULL);
	/* of before */
	put("memckpt/n1@has", "3 40 4 4\n", 0);
	w.generation = 3;
	sn_ckptwatch_start(&w, dir, 1000);
	sn_ckptwatch_look(&w, dir, 60000);
	sn_ckptwatch_state(&w, dir, 60000, &s);
	assert_true(s.since_safe == 59 && s.since_memory < 0);
	put("memckpt/n1@has", "3 42 2 4\n", 0);
	put("memckpt/n2@has", "3 44 2 4\n", 0);
	/* not looked at all the time */
	sn_ckptwatch_look(&w, dir, 60100);
	sn_ckptwatch_state(&w, dir, 61000, &s);
	assert_true(s.since_memory < 0);
	sn_ckptwatch_look(&w, dir, 63000);
	sn_ckptwatch_look(&w, dir, 70000); /* the same one */
	sn_ckptwatch_state(&w, dir, 71000, &s);
	assert_true(s.since_safe == 70 && s.since_memory == 8);
	assert_int_equal(s.memory, 42);
	put("memckpt/n1@has", "3 46 2 4\n", 0);
	sn_ckptwatch_look(&w, dir, 80000);
	sn_ckptwatch_state(&w, dir, 80500, &s);
	assert_true(s.since_memory == 0.5);
	assert_int_equal(s.memory, 44);
	sn_ckptwatch_stop(&w, dir, 81000);
	w.generation = 4;
	sn_ckptwatch_start(&w, dir, 82000);
	sn_ckptwatch_look(&w, dir, 90000);
	sn_ckptwatch_state(&w, dir, 90000, &s);
	/* they may have gone on from memory, so a requeue would cost all since 1000 */
	assert_true(s.since_memory < 0 && s.since_safe == 88);
	put("checkpoint", "50\n", 0);
	sn_ckptwatch_look(&w, dir, 95000);
	sn_ckptwatch_state(&w, dir, 96000, &s);
	assert_true(s.since_safe == 1);
	sn_ckptwatch_stop(&w, dir, 97000);
	sn_ckptwatch_start(&w, dir, 98000);
	sn_ckptwatch_state(&w, dir, 99000, &s);
	assert_true(s.since_safe == 1);
}

static void a_request_is_written(void **state)
{
	const struct sn_ckptask ask = { .request = 3, .generation = 2, .why = "resize",
					.exit = true, .soft = 5, .hard = 9 };
	struct sn_err err = { "" };
	char path[128], text[512] = "";
	FILE *f;

	(void)state;
	assert_int_equal(sn_ckptfile_ask(dir, &ask, &err), 0);
	snprintf(path, sizeof(path), "%s/checkpoint.request", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_string_equal(text, "{\"request\":3,\"generation\":2,\"why\":\"resize\",\"then\":\"exit\",\"soft\":5,\"hard\":9}");
	assert_true(sn_ckptfile_ask("/nonexistent/at/all", &ask, &err) < 0);
	assert_true(strlen(err.text) > 10);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_request_and_its_marker), T(age_is_by_the_servers_clock),
		T(the_same_iteration_is_no_progress), T(a_torn_marker_is_waited_for),
		T(a_pattern_has_to_settle), T(what_is_no_file_is_no_marker),
		T(progress_is_what_the_program_says), T(memory_is_another_safe_point),
		T(a_request_is_written),
	};

	return cmocka_run_group_tests_name("ckptwatch", tests, NULL, NULL);
}
