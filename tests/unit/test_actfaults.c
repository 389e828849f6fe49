/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever fails or kills the daemon at whatever point of an action's way: in the end
 * all is done that was to be done, and nothing twice.
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elastic/holes.h"
#include "launcher/poolbook.h"
#include "launcher/slurmapi.h"
#include "snctl/nodeextra.h"
#include "tests/unit/actbed.h"
#include "tests/unit/actdaemon.h"

/* ---- the world ------------------------------------------------------------------------------- */

static void begin_world(uint32_t armed, enum how how)
{
	char cmd[80];

	memset(world, 0, sizeof(*world));
	world->ms = 1700000000000;
	world->armed = armed;
	world->how = how;
	for (int i = 0; i < JOBS; i++) {
		world->job[i] = (struct bed_job){ .state = JOB_RUNNING, .requeue = true,
			.nodes = "n2", .batch_host = "n2", .submit = now_s() - 1000, .begin = now_s() - 1000 };
	}
	strcpy(world->job[ZOMBIE].batch_host, "n0");
	strcpy(world->job[KEPT].batch_host, "n0");
	strcpy(world->job[PLAIN].batch_host, "n0");
	world->job[KEPT].requeue = false;
	world->job[WAITS] = (struct bed_job){ .state = JOB_PENDING, .requeue = true, .restarts = 1,
		.required = "n0", .submit = now_s() - 5, .begin = now_s() + REQUEUE_WAIT - 5 };
	world->job[FAILED] = (struct bed_job){ .state = JOB_PENDING, .requeue = true, .restarts = 1,
		.held = true, .launches = 1, .submit = now_s() - 5, .begin = now_s() + REQUEUE_WAIT - 5 };
	strcpy(world->job[MEMBER].comment, "supernode:member=3:0"); /* of WAITS before its requeue */
	world->node[LOST].down = world->node[LOST].drained = true;
	world->dp = 8;
	world->incarnation = OLD;
	strcpy(world->node[0].extra, "{\"pool\":{\"old\":{\"uid\":1,\"bytes\":4096,\"id\":7}},\"rack\":3}");
	strcpy(world->node[1].extra, "{\"pool\":{\"old\":{\"uid\":1,\"bytes\":4096,\"id\":7}}}");
	strcpy(world->node[2].extra, "{\"pool\":{\"old\":{\"uid\":1,\"bytes\":4096,\"id\":6}}}");
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'/* '%s'/.journal*", bed_dir, bed_dir);
	assert_int_equal(system(cmd), 0);
}

/* Without a daemon. */
static void pass_time(void)
{
	for (int i = 0; i < JOBS; i++)
		for (int k = 0; k < 6; k++)
			complete(&world->job[i]);
	live();
}

/* What was not on disk is lost with the machine. */
static void lose_unsynced(void)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" SN_JOURNAL_FILE, bed_dir);
	if (!stat(path, &st) && st.st_ino == world->synced_ino && st.st_size > world->synced)
		assert_int_equal(truncate(path, world->synced), 0);
}

#define CHECK(what) do { if (!(what)) { bad = #what; goto out; } } while (0)

static void check_world(uint32_t at, enum how how)
{
	static const char *const names[HOWS] = { "no fault", "kill before", "kill after", "crash", "fail", "fail after" };
	const struct bed_job *j = world->job;
	struct sn_journal_state state = { 0 };
	struct sn_journal journal;
	struct sn_err err, note;
	const char *bad = NULL;

	CHECK(j[ZOMBIE].requeued == 1 && j[ZOMBIE].restarts == 1);
	CHECK(j[ZOMBIE].state == JOB_RUNNING && j[ZOMBIE].started == 1 && !j[ZOMBIE].cancelled);
	CHECK(world->ms / 1000 - j[ZOMBIE].begin < 900);
	CHECK(j[KEPT].state == JOB_CANCELLED && j[KEPT].cancelled == 1 && !j[KEPT].requeued);
	CHECK(j[WAITS].state == JOB_RUNNING && j[WAITS].restarts == 1 && !*j[WAITS].required);
	CHECK(j[WAITS].updated == 1 && j[ZOMBIE].updated == 1);
	CHECK(j[MEMBER].state == JOB_CANCELLED && j[MEMBER].cancelled == 1 && !j[MEMBER].requeued);
	CHECK(j[CARED].state == JOB_RUNNING && j[CARED].requeued == 1 && !j[CARED].cancelled);
	CHECK(j[FAILED].state == JOB_RUNNING && j[FAILED].restarts == 1 && j[FAILED].released == 1);
	CHECK(j[PLAIN].state == JOB_RUNNING && !j[PLAIN].requeued && !j[PLAIN].cancelled);
	CHECK(world->node[ODD].drained && world->node[ODD].lost >= 1 && world->node[ODD].lost <= 2);
	CHECK(!strcmp(world->node[ODD].reason, "snelasticd: it is odd"));
	CHECK(!world->node[GOOD].lost && !world->node[LOST].lost);
	CHECK(world->dp == 4 && world->told == 1);
	/* One is deleted, another is made: on all of its nodes. */
	CHECK(!strcmp(world->node[0].extra, "{\"rack\":3}"));
	CHECK(!region_on(1, "old") && region_on(2, "old") == 6);
	CHECK(region_on(1, "new") > OLD && region_on(2, "new") == region_on(1, "new"));
	CHECK(world->made <= 1 && region_on(1, "new") <= world->incarnation);
	CHECK(!world->failures);
	sn_journal_init(&journal, bed_dir);
	CHECK(!sn_journal_load(&journal, &state, &note, &err));
	CHECK(!state.n && !state.damaged && !state.torn && !*note.text);
out:
	sn_journal_state_done(&state);
	if (bad)
		fail_msg("point %u (%s), %s: %s", at, world->at, names[how], bad);
}

static uint32_t count_points(void)
{
	begin_world(0, NOT);
	assert_int_equal(in_child(), 0);
	check_world(0, NOT);
	return world->points;
}

static void one_fault(void **state)
{
	uint32_t n = count_points(), hits = 0;

	(void)state;
	assert_int_equal(world->kinds, 1u << P_SYSTEM | 1u << P_ASK | 1u << P_ORDER | 1u << P_TELL);
	for (uint32_t at = 1; at <= n; at++) {
		for (enum how how = KILL_BEFORE; how < HOWS; how++) {
			int rc;

			begin_world(at, how);
			rc = in_child();
			if (!world->hit)
				fail_msg("point %u was not met", at);
			hits++;
			if (rc == KILLED) {
				if (how == CRASH)
					lose_unsynced();
				/* The standby, or the next, seconds later. */
				world->armed = 0;
				world->ms += 3000;
				pass_time();
				rc = in_child();
			}
			if (rc)
				fail_msg("point %u (%s), how %d: not quiet in the end", at, world->at, how);
			check_world(at, how);
		}
	}
	print_message("%u points, %u faults\n", n, hits);
}

/* The next one is killed, too, at any of its points, and the third one has a fault. */
static void several_faults(void **state)
{
	uint32_t n = count_points(), rng = 7, cases = 0;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		int rc = KILLED;
		enum how how = NOT;

		rng = rng * 1664525 + 1013904223;
		begin_world(1 + (rng >> 8) % n, (enum how)(KILL_BEFORE + (rng >> 4) % 3));
		how = world->how;
		for (int k = 0; k < 4; k++) {
			rc = in_child();
			if (rc != KILLED)
				break;
			cases++;
			if (how == CRASH)
				lose_unsynced();
			rng = rng * 1664525 + 1013904223;
			world->points = 0;
			world->armed = k < 2 ? 1 + (rng >> 8) % n : 0;
			how = world->how = (enum how)(KILL_BEFORE + (rng >> 4) % (HOWS - 1));
			world->ms += 1000;
		}
		if (rc)
			fail_msg("case %u (%s): not quiet in the end", i, world->at);
		check_world(i, world->how);
	}
	print_message("%u kills in 400 cases\n", cases);
}

/* For minutes, from any point on. */
static void slurmctld_away(void **state)
{
	(void)state;
	begin_world(0, NOT);
	world->no_slurm = true;
	assert_int_equal(in_child(), 0);
	check_world(0, NOT);
	begin_world(0, NOT);
	world->no_disk = true;
	assert_int_equal(in_child(), 0);
	check_world(0, NOT);
	/* Nothing was done while it could not be journalled, and that was said. */
	assert_true(world->events > 0);
}

/* It was not the first time: it waits longer; and a third time is for people. */
static void launches_that_fail_again(void **state)
{
	struct bed_job *j = &world->job[FAILED];

	(void)state;
	begin_world(0, NOT);
	j->launches = 2;
	assert_int_equal(in_child(), 0);
	check_world(0, NOT);
	assert_true(world->ms / 1000 - j->submit > sn_holes_release_wait(2));
	begin_world(0, NOT);
	j->launches = 3;
	assert_int_equal(in_child(), 0);
	assert_int_equal(j->state, JOB_PENDING);
	assert_true(j->held && !j->released && !j->updated);
}

static void held_and_let_go(void **state)
{
	struct bed_job *j = &world->job[WAITS];

	(void)state;
	begin_world(0, NOT);
	j->held = true;
	assert_int_equal(in_child(), 0);
	assert_int_equal(j->state, JOB_PENDING);
	assert_int_equal(j->updated, 0);
	assert_string_equal(j->required, "n0");
	j->held = false;
	assert_int_equal(in_child(), 0);
	check_world(0, NOT);
}

/* A zombie that is held: requeued, and stays so. */
static void a_zombie_that_is_held(void **state)
{
	struct bed_job *j = &world->job[ZOMBIE];

	(void)state;
	begin_world(0, NOT);
	j->held = true;
	assert_int_equal(in_child(), 0);
	assert_int_equal(j->requeued, 1);
	assert_int_equal(j->state, JOB_PENDING);
	assert_int_equal(j->updated, 0);
}

static uint32_t count_open(void)
{
	struct sn_journal_state state;
	struct sn_journal journal;
	struct sn_err err, note;
	uint32_t n;

	sn_journal_init(&journal, bed_dir);
	assert_int_equal(sn_journal_load(&journal, &state, &note, &err), 0);
	n = state.n;
	sn_journal_state_done(&state);
	return n;
}

static void dry_run(void **state)
{
	struct bed_world was;
	char path[64], line[600];
	uint32_t dry = 0, other = 0, n;
	FILE *f;

	(void)state;
	begin_world(0, NOT);
	world->dry_run = true;
	was = *world;
	assert_int_equal(in_child(), 0);
	assert_memory_equal(was.job, world->job, sizeof(was.job));
	assert_memory_equal(was.node, world->node, sizeof(was.node));
	assert_int_equal(world->told, 0);
	assert_int_equal(world->events, 5); /* each once */
	snprintf(path, sizeof(path), "%s/" SN_JOURNAL_FILE, bed_dir);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		dry += !strncmp(line, "{\"dry\":", 7);
		other += !strncmp(line, "{\"begin\":", 9);
	}
	fclose(f);
	assert_int_equal(dry, 5);
	assert_int_equal(other, 0);
	/* What a daemon has begun that was not in dry-run waits for the next such one. */
	n = count_points();
	for (uint32_t at = 1; at <= n; at += 3) {
		uint32_t before;

		begin_world(at, KILL_BEFORE);
		assert_int_equal(in_child(), KILLED);
		world->armed = 0;
		world->dry_run = true;
		before = count_open();
		was = *world;
		assert_int_equal(in_child(), 0);
		assert_int_equal(was.job[ZOMBIE].requeued, world->job[ZOMBIE].requeued);
		assert_int_equal(was.node[ODD].drained, world->node[ODD].drained);
		assert_int_equal(was.told, world->told);
		assert_int_equal(count_open(), before);
		world->dry_run = false;
		assert_int_equal(in_child(), 0);
		check_world(at, KILL_BEFORE);
	}
}

static int set_up(void **state)
{
	(void)state;
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* Errors are what this is about. */
	(void)sn_log_open("/dev/null", SN_LOG_ERROR, NULL);
	return world != MAP_FAILED && mkdtemp(bed_dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", bed_dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_fault), cmocka_unit_test(several_faults),
		cmocka_unit_test(slurmctld_away), cmocka_unit_test(launches_that_fail_again),
		cmocka_unit_test(held_and_let_go),
		cmocka_unit_test(a_zombie_that_is_held), cmocka_unit_test(dry_run),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
