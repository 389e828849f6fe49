/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_attachstate.c - what a job's snrun says of itself.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/attachstate.h"
#include "topology/topo.h"

static int parse(const char *text, struct sn_attach_state *ret, struct sn_err *err)
{
	struct json_object *o = json_tokener_parse(text);
	int rc = sn_attach_state_parse(o, 16, ret, err);

	json_object_put(o);
	return rc;
}

static void all_of_it(void **state)
{
	struct sn_attach_state s;

	(void)state;
	assert_int_equal(parse("{\"ok\": true, \"state\": \"running\", \"generation\": 3, \"restarts\": 1,"
			       "\"dp\": 6, \"ranks\": 20, \"min_dp\": 2, \"want_dp\": 8, \"cap_dp\": 7,"
			       "\"max_dp\": 12, \"elastic\": true, \"nodes\": \"n[2-3],n1\","
			       "\"on\": [[2, 8, 255], [1, 4, 240]], \"spares\": \"n9\","
			       "\"members\": [{\"job\": 5, \"dp\": 2, \"state\": \"pending\"},"
			       "{\"job\": 6, \"dp\": 0, \"state\": \"running\", \"replaces\": true}],"
			       "\"since_safe\": 17.5, \"since_memory\": 3.25, \"checkpoint_age\": 20, \"checkpoint_seconds\": 2,"
			       "\"progress\": 1200, \"requests\": 4, \"unknown\": [1]}", &s, NULL), 0);
	assert_int_equal(s.phase, SN_ATTACH_RUNNING);
	assert_int_equal(s.generation, 3);
	assert_int_equal(s.restarts, 1);
	assert_int_equal(s.dp, 6);
	assert_int_equal(s.min_dp, 2);
	assert_int_equal(s.want_dp, 8);
	assert_int_equal(s.cap_dp, 7);
	assert_int_equal(s.max_dp, 12);
	assert_true(s.elastic && s.can_checkpoint);
	assert_true(s.since_safe == 17.5 && s.since_memory == 3.25 && s.checkpoint_seconds == 2);
	assert_int_equal(s.progress, 1200);
	assert_int_equal(s.requests, 4);
	assert_int_equal(s.name.n, 3);
	assert_string_equal(s.name.name[2], "n1");
	assert_int_equal(s.node[1].first, 8);
	assert_int_equal(s.node[1].ranks, 8);
	assert_int_equal(s.node[2].first, 16);
	assert_int_equal(s.node[2].cards, 240);
	assert_int_equal(sn_attach_state_find(&s, "n1"), 2);
	assert_int_equal(sn_attach_state_find(&s, "n9"), SN_NONE);
	assert_string_equal(s.spare.name[0], "n9");
	assert_int_equal(s.pending, 1);
	assert_int_equal(s.running, 1);
	assert_int_equal(s.standins, 1);
	sn_attach_state_done(&s);
}

/* Before there is a plan, and where nothing is known. */
static void little_of_it(void **state)
{
	struct sn_attach_state s;

	(void)state;
	assert_int_equal(parse("{\"state\": \"starting\"}", &s, NULL), 0);
	assert_int_equal(s.phase, SN_ATTACH_STARTING);
	assert_true(s.since_safe < 0 && s.since_memory < 0 && s.checkpoint_seconds < 0 && !s.can_checkpoint);
	assert_int_equal(s.name.n, 0);
	sn_attach_state_done(&s);
	assert_int_equal(parse("{\"state\": \"pausing\"}", &s, NULL), 0);
	assert_int_equal(s.phase, SN_ATTACH_ENDING);
	sn_attach_state_done(&s);
	for (int i = SN_ATTACH_STARTING; i <= SN_ATTACH_ENDED; i++) {
		char text[64];

		snprintf(text, sizeof(text), "{\"state\": \"%s\"}", sn_attach_phase_name((enum sn_attach_phase)i));
		assert_int_equal(parse(text, &s, NULL), 0);
		assert_int_equal(s.phase, i);
		sn_attach_state_done(&s);
	}
}

static void what_cannot_be(void **state)
{
	static const struct { const char *text, *says; } bad[] = {
		{ "[]", "no object" },
		{ "{}", "state" },
		{ "{\"state\": \"asleep\"}", "asleep" },
		{ "{\"state\": \"running\", \"dp\": -1}", "dp" },
		{ "{\"state\": \"running\", \"dp\": \"4\"}", "dp" },
		{ "{\"state\": \"running\", \"elastic\": 1}", "elastic" },
		{ "{\"state\": \"running\", \"since_safe\": -3}", "since_safe" },
		{ "{\"state\": \"running\", \"since_safe\": 1e300}", "since_safe" },
		{ "{\"state\": \"running\", \"since_memory\": -1}", "since_memory" },
		{ "{\"state\": \"running\", \"nodes\": 7}", "nodes" },
		{ "{\"state\": \"running\", \"nodes\": \"n[1-\"}", "nodes" },
		{ "{\"state\": \"running\", \"nodes\": \"n[1-17]\"}", "nodes" }, /* the cluster has 16 */
		{ "{\"state\": \"running\", \"nodes\": \"n[0-4294967295]\"}", "nodes" },
		/* Nodes without ranks, more ranks than nodes, and other sums. */
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\"}", "ranks" },
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\", \"on\": [[2, 4, 15]]}", "entry 1 of 1" },
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\", \"on\": [[1, 4, 15]]}", "ranks" },
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\", \"on\": [[1, 9, 15]]}", "more than" },
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\", \"on\": [[1, 0, 15]]}", "entry 1" },
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\", \"on\": [[1, 8]]}", "entry 1" },
		{ "{\"state\": \"running\", \"ranks\": 8, \"nodes\": \"n1\", \"on\": {}}", "on" },
		{ "{\"state\": \"running\", \"members\": 3}", "members" },
		{ "{\"state\": \"running\", \"members\": [3]}", "entry 1" },
	};
	struct sn_attach_state s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sn_err err = { "" };

		assert_int_not_equal(parse(bad[i].text, &s, &err), 0);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
	}
}

/* A user says what it likes, and the daemon keeps it for each of its jobs. */
static void no_more_than_the_job_has(void **state)
{
	struct sn_attach_state s = { .name.n = 60, .spare.n = 4 };
	struct sn_err err = { "" };

	(void)state;
	assert_int_equal(sn_attach_state_fits(&s, 20000, 64, &err), 0);
	assert_int_equal(sn_attach_state_fits(&s, 20000, 63, &err), -EINVAL);
	assert_non_null(strstr(err.text, "names 64 nodes"));
	assert_non_null(strstr(err.text, "no more than 63"));
	assert_int_equal(sn_attach_state_fits(&s, 65536 + 64 * 64, 64, &err), 0);
	assert_int_equal(sn_attach_state_fits(&s, 65536 + 64 * 64 + 1, 64, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_the_job_has),
		cmocka_unit_test(all_of_it),
		cmocka_unit_test(little_of_it),
		cmocka_unit_test(what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
