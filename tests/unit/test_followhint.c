/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_followhint.c - when slurmctld is asked, with hints of nodes and without.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/daemonbed.h"

#define MINUTE INT64_C(60000)

static void begin(uint32_t poll_ms, int64_t jobs_ms)
{
	bed_begin(2);
	bed.jobs_ms = jobs_ms;
	bed_start(bed_topo);
	bed.d->conf.policy.elasticd_poll = poll_ms;
	bed_settle();
}

/* Let time go by, with a hint every `hint_ms` (0: none). */
static void pass(int64_t ms, int64_t hint_ms)
{
	int64_t end = bed.ms + ms, hint = hint_ms ? bed.ms : INT64_MAX;

	while (bed.ms < end) {
		struct bed_timer *poll = &bed.timer[0];
		int64_t next;

		bed_run(0);
		bed_back(0);
		next = poll->at < hint ? poll->at : hint;
		if (next > end)
			break;
		if (next > bed.ms)
			bed.ms = next;
		if (next == hint) {
			follow_hint(bed.d);
			hint += hint_ms;
			continue;
		}
		poll->at = INT64_MAX;
		poll->fn(poll->ctx);
	}
	bed_run(0);
	bed_back(0);
	if (bed.ms < end)
		bed.ms = end;
}

static void a_hint_is_looked_at_at_once(void **state)
{
	uint32_t before;

	(void)state;
	begin(MINUTE, 1);
	pass(10 * MINUTE + MINUTE / 2, 0);
	before = bed.job_loads;
	follow_hint(bed.d);
	pass(1, 0);
	assert_int_equal(bed.job_loads, before + 1);
	/* slurmctld may hear of it a little later: again and again, for two seconds. */
	pass(2600, 0);
	assert_in_range(bed.job_loads - before, 8, 11);
	/* And that was it. */
	before = bed.job_loads;
	pass(MINUTE - 3000, 0);
	assert_int_equal(bed.job_loads, before);
	bed_end();
}

/* One that comes while slurmctld is asked may be of what it has not said yet. */
static void a_hint_amid_a_look(void **state)
{
	uint32_t before;

	(void)state;
	begin(MINUTE, 1);
	pass(10 * MINUTE, 0);
	follow_poll(bed.d);
	follow_hint(bed.d);
	bed_run(0);
	bed_back(0);
	before = bed.job_loads;
	pass(300, 0);
	assert_int_equal(bed.job_loads, before + 1);
	bed_end();
}

/* Of 5,000 jobs: 0.11 s for each look. */
static void hints_without_end_are_cheap(void **state)
{
	uint32_t before, nodes;

	(void)state;
	begin(1000, 110);
	pass(MINUTE, 0);
	before = bed.job_loads;
	nodes = bed.node_loads;
	pass(10 * MINUTE, 20);
	/* What the daemon may use of a core, and what may be at once. */
	assert_in_range((bed.job_loads - before) * 110, 1, 10 * MINUTE / 40 + 4 * 110);
	/* Nobody waits longer than without. */
	assert_true((bed.job_loads - before) * 110 > 10 * MINUTE / 45);
	assert_in_range(bed.node_loads - nodes, 500, 600 + 10 * MINUTE / 40 / 110 + 4);
	/* And what comes after a minute of silence is heard again. */
	pass(MINUTE + 500, 0);
	before = bed.job_loads;
	follow_hint(bed.d);
	pass(1000, 0);
	assert_true(bed.job_loads > before);
	bed_end();
}

/* A small cluster looks as often as it can be asked to. */
static void hints_without_end_of_a_few_jobs(void **state)
{
	uint32_t before;

	(void)state;
	begin(1000, 1);
	before = bed.job_loads;
	pass(MINUTE, 3);
	assert_in_range(bed.job_loads - before, 200, 241);
	bed_end();
}

/* What others ask for is not put off by them. */
static void hints_are_in_nobodys_way(void **state)
{
	uint32_t before;

	(void)state;
	begin(MINUTE, 110);
	pass(5 * MINUTE, 20);
	for (int i = 0; i < 50; i++) {
		before = bed.job_loads;
		follow_soon(bed.d);
		follow_hint(bed.d);
		pass(1000, 20);
		assert_true(bed.job_loads > before);
	}
	bed_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hint_is_looked_at_at_once),
		cmocka_unit_test(a_hint_amid_a_look),
		cmocka_unit_test(hints_without_end_are_cheap),
		cmocka_unit_test(hints_without_end_of_a_few_jobs),
		cmocka_unit_test(hints_are_in_nobodys_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
