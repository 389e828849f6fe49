/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/stepevent.h"

static struct sn_event parse(const char *line)
{
	struct sn_event event;

	if (!sn_event_parse(line, &event))
		fail_msg("%s: not understood", line);
	return event;
}

static void ranks_that_fail(void **state)
{
	struct sn_event e;

	(void)state;
	e = parse("srun: error: n003: tasks 8-15: Exited with exit code 3");
	assert_int_equal(e.kind, SN_EVENT_EXIT);
	assert_int_equal(e.rank, 8);
	assert_int_equal(e.code, 3);
	assert_string_equal(e.nodes, "n003");
	e = parse("srun: error: n[001,003]: tasks 7,9-11: Exited with exit code 93");
	assert_int_equal(e.rank, 7);
	assert_int_equal(e.code, 93);
	assert_string_equal(e.nodes, "n[001,003]");
	e = parse("srun: error: n001: task 1023: Killed");
	assert_int_equal(e.kind, SN_EVENT_SIGNAL);
	assert_int_equal(e.rank, 1023);
	assert_false(e.out_of_memory);
	e = parse("srun: error: n001: task 0: Segmentation fault (core dumped)");
	assert_int_equal(e.kind, SN_EVENT_SIGNAL);
	e = parse("srun: error: n001: task 4: Out Of Memory");
	assert_true(e.out_of_memory);
}

static void nodes_that_are_lost(void **state)
{
	struct sn_event e;

	(void)state;
	e = parse("srun: error: Node failure on n[007-008]");
	assert_int_equal(e.kind, SN_EVENT_NODE);
	assert_string_equal(e.nodes, "n[007-008]");
	e = parse("srun: error: Task launch for StepId=17.2 failed on node n007: Communication connection failure");
	assert_int_equal(e.kind, SN_EVENT_NODE);
	assert_string_equal(e.nodes, "n007");
	e = parse("srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 12");
	assert_int_equal(e.kind, SN_EVENT_NODE_NUMBER);
	assert_int_equal(e.number, 12);
	e = parse("srun: error: Aborting, io error and missing step on node 3");
	assert_int_equal(e.number, 3);
	e = parse("srun: error: Aborting, step missing and io error on node 4");
	assert_int_equal(e.number, 4);
}

static void all_else_is_passed_over(void **state)
{
	static const char *const lines[] = {
		"", "srun: Force Terminated StepId=1.1", "srun: error: ",
		"n003: task 5: Killed", "srun: error: n003: task : Killed",
		"srun: error: n003: task 5", "srun: error: Node failure on ",
		"srun: error: n003: tasks 99999999999999: Killed",
		"srun: error: n003: task 1: Exited with exit code x",
		"srun: error: n003: task 1: Exited with exit code 999",
		"slurmstepd: error: *** STEP 1.0 ON n001 CANCELLED AT 2026 ***",
		"srun: error: io error with slurmstepd on node x",
	};
	char big[600] = "srun: error: Node failure on n";
	struct sn_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (sn_event_parse(lines[i], &e))
			fail_msg("\"%s\" is taken for an event", lines[i]);
	memset(big + strlen(big), '7', 500);
	assert_false(sn_event_parse(big, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_that_fail),
		cmocka_unit_test(nodes_that_are_lost),
		cmocka_unit_test(all_else_is_passed_over),
	};

	return cmocka_run_group_tests_name("stepevent", tests, NULL, NULL);
}
