/* SPDX-License-Identifier: GPL-2.0-or-later */
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

#include "launcher/jobdirempty.h"
#include "launcher/jobdirsweep.h"
#include "launcher/runstate.h"
#include "launcher/writefile.h"

#define DAY 86400

static char base[64];
static const char *cluster = "";
static uint32_t alive; /* the job that has not ended */

static const char *at(const char *name)
{
	static char path[8][256];
	static unsigned int turn;

	turn = (turn + 1) % 8;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", base, name);
	return path[turn];
}

static bool there(const char *name)
{
	struct stat st;

	return !lstat(at(name), &st);
}

static void put(const char *dir, const char *name, const char *text)
{
	assert_int_equal(sn_write_file(dir, name, text, strlen(text), NULL), 0);
}

/* A directory as snrun leaves it, so many days ago. */
static void make(const char *name, uint32_t job, int days)
{
	struct sn_runstate state = { .job = job, .submitted = 1000 + job, .ended = true };
	struct timespec when[2] = { { time(NULL) - days * DAY, 0 }, { 0, 0 } };
	const char *dir = at(name);
	char sub[300];
	int fd;

	assert_int_equal(sn_dir_make(dir, &fd, NULL), 0);
	put(dir, "layout.json", "{}");
	put(dir, "hostfile.17", "n1");
	put(dir, "progress", "12");
	put(dir, "checkpoint", "");
	put(dir, ".ranktable.json.4711", "half");
	put(dir, "lock", "process 1");
	snprintf(sub, sizeof(sub), "%s/records", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	put(sub, "rank-0.jsonl", "{}");
	snprintf(sub, sizeof(sub), "%s/control", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	put(sub, "x.request", "{}");
	assert_int_equal(sn_runstate_write(dir, &state, NULL), 0);
	when[1] = when[0];
	assert_int_equal(utimensat(fd, SN_RUNSTATE_FILE, when, 0), 0);
	close(fd);
}

static bool ended(void *ctx, uint32_t job, int64_t submitted)
{
	(void)ctx;
	assert_int_equal(submitted, 1000 + job);
	return job != alive;
}

static uint32_t sweep_at(const char *pattern, uint32_t most)
{
	const struct sn_jobdir_sweep ask = {
		.pattern = at(pattern), .user = "ann", .home = "/home/ann", .host = "h", .cluster = cluster,
		.own = 99, .days = 30, .most = most, .now = time(NULL), .ended = ended,
	};

	return sn_jobdir_sweep(&ask);
}

static uint32_t sweep(void)
{
	return sweep_at("%j", 64);
}

static int begin(void **state)
{
	(void)state;
	alive = 0;
	strcpy(base, "/tmp/sn-sweep-XXXXXX");
	return mkdtemp(base) ? 0 : -1;
}

static int end(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", base);
	return system(cmd);
}

static void what_ended_long_ago_goes(void **state)
{
	(void)state;
	make("1", 1, 31);
	make("2", 2, 29);
	make("99", 99, 40);
	assert_int_equal(sweep(), 1);
	assert_false(there("1"));
	assert_true(there("2/layout.json"));
	assert_true(there("99/layout.json"));
}

static void a_job_that_lives_keeps_its_own(void **state)
{
	int lock;

	(void)state;
	make("1", 1, 31);
	alive = 1;
	assert_int_equal(sweep(), 0);
	alive = 0;
	cluster = "another";
	assert_int_equal(sweep(), 0);
	cluster = "";
	assert_int_equal(sn_runstate_lock(at("1"), "h", &lock, NULL, NULL), 0);
	assert_int_equal(sweep(), 0);
	assert_true(there("1/layout.json"));
	close(lock);
	assert_int_equal(sweep(), 1);
}

static void what_is_not_ours_stays(void **state)
{
	(void)state;
	make("1", 1, 31);
	put(at("1"), "weights.bin", "dear");
	put(at("1/records"), "mine", "x");
	make("2", 2, 31);
	put(at("2"), "checkpoint", "may be the checkpoint itself");
	assert_int_equal(mkdir(at("3"), 0700), 0); /* no snrun was here */
	put(at("3"), "layout.json", "{}");
	make("4", 5, 31); /* of another job */
	make("05", 5, 31); /* no number of a job */
	make("6x", 6, 31);
	make("7", 7, 31); /* others may write to it */
	assert_int_equal(chmod(at("7"), 0777), 0);
	assert_int_equal(sweep(), 2);
	assert_true(there("1/weights.bin") && there("1/records/mine"));
	assert_false(there("1/layout.json") || there("1/control") || there("1/snrun.json"));
	assert_true(there("2/checkpoint"));
	assert_true(there("3/layout.json"));
	assert_true(there("4/layout.json") && there("05/layout.json"));
	assert_true(there("6x/layout.json") && there("7/layout.json"));
	assert_int_equal(sweep(), 0);
}

static void no_link_is_followed(void **state)
{
	(void)state;
	make("elsewhere", 1, 31);
	assert_int_equal(symlink(at("elsewhere"), at("1")), 0);
	make("2", 2, 31);
	assert_int_equal(unlink(at("2/layout.json")), 0);
	assert_int_equal(symlink(at("elsewhere/layout.json"), at("2/layout.json")), 0);
	make("3", 3, 31);
	assert_int_equal(unlink(at("3/records/rank-0.jsonl")), 0);
	assert_int_equal(rmdir(at("3/records")), 0);
	assert_int_equal(symlink(at("elsewhere/records"), at("3/records")), 0);
	assert_int_equal(sweep(), 2);
	assert_true(there("1") && there("2/layout.json") && there("3/records"));
	assert_true(there("elsewhere/layout.json") && there("elsewhere/records/rank-0.jsonl"));
}

static void patterns(void **state)
{
	(void)state;
	make("sn-ann-1.d", 1, 31);
	make("sn-ann-2", 2, 31);
	make("3", 3, 31);
	assert_int_equal(sweep_at("sn-%u-%j.d", 64), 1);
	assert_false(there("sn-ann-1.d"));
	assert_int_equal(sweep_at("%j/x", 64), 0);
	assert_int_equal(sweep_at("%j-%j", 64), 0);
	assert_int_equal(sweep_at("%%j", 64), 0);
	assert_int_equal(sweep_at("none/%j", 64), 0);
	make("4", 4, 31);
	make("5", 5, 31);
	assert_int_equal(sweep_at("%j", 2), 2);
	assert_int_equal(sweep_at("%j", 2), 1);
}

static void empty(const char *name, time_t before)
{
	int fd = open(at(name), O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	sn_jobdir_empty(fd, before);
	close(fd);
}

static void a_new_job_of_the_number(void **state)
{
	(void)state;
	make("1", 1, 0);
	put(at("1"), "weights.bin", "dear");
	empty("1", 0);
	assert_false(there("1/layout.json") || there("1/snrun.json") || there("1/progress"));
	assert_true(there("1/lock") && there("1/weights.bin"));
}

/* Some of it may be this job's own already. */
static void what_is_younger_stays(void **state)
{
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	static const char *const names[] = { "layout.json", "generation", "records/rank-0.jsonl" };
	char path[256];

	(void)state;
	make("1", 1, 0);
	put(at("1"), "generation", "7");
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", at("1"), names[i]);
		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	}
	empty("1", 1000);
	assert_true(there("1/layout.json") && there("1/generation") && there("1/records/rank-0.jsonl"));
	empty("1", 1001);
	assert_false(there("1/layout.json") || there("1/generation") || there("1/records/rank-0.jsonl"));
	assert_true(there("1/snrun.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_ended_long_ago_goes, begin, end),
		cmocka_unit_test_setup_teardown(a_job_that_lives_keeps_its_own, begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_ours_stays, begin, end),
		cmocka_unit_test_setup_teardown(no_link_is_followed, begin, end),
		cmocka_unit_test_setup_teardown(patterns, begin, end),
		cmocka_unit_test_setup_teardown(a_new_job_of_the_number, begin, end),
		cmocka_unit_test_setup_teardown(what_is_younger_stays, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
