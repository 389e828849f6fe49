/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_daemonmarks.c - the marks in nodes' records, and reports.
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

/* Nodes that Slurm has and topology.conf has not come with the first poll, into a
 * topology that the engine knows already. */
static void nodes_that_topology_conf_has_not(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= BED_NODES; n++) {
		bed_begin(n);
		bed_start("SupernodeName=sn1 Nodes=n1\n");
		bed_fault(0, 1);
		bed_settle();
		assert_int_equal(bed.d->topo->n_nodes, n);
		for (uint32_t i = 0; i < n; i++)
			bed_fault(i, 2);
		bed_settle();
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(bed_book(i).unhealthy, i ? 4 : 6);
		assert_int_equal(bed.d->n_dirty, 0);
		bed_end();
	}
}

/* ---- who wrote what, in any order ------------------------------------------------------- */

static size_t cards_shown(const char *nodes)
{
	char request[4200];

	snprintf(request, sizeof(request), "{\"nodes\": \"%s\"}", nodes);
	return json_object_array_length(json_object_object_get(bed_ask(op_health_show, request), "cards"));
}

/* What is asked for twice is shown once, and more than there is cannot be asked for. */
static void health_show_costs_no_more_than_the_cluster(void **state)
{
	struct json_object *cards;
	char many[4096] = "n1";

	(void)state;
	bed_begin(BED_NODES);
	bed_start(bed_topo);
	bed_fault(1, 3);
	bed_settle();
	assert_int_equal(cards_shown(""), 1);
	assert_int_equal(cards_shown("n2"), BED_CARDS);
	assert_int_equal(cards_shown("n[1-8]"), BED_NODES * BED_CARDS);
	assert_int_equal(cards_shown("n2,n2,n[1-2],n2"), 2 * BED_CARDS);
	while (strlen(many) < 4000)
		strcat(many, ",n1");
	assert_null(json_object_object_get(bed_ask(op_health_show, "{\"nodes\": \"n[1-4000000]\"}"), "cards"));
	cards = json_object_new_object();
	json_object_object_add(cards, "nodes", json_object_new_string(many));
	assert_null(json_object_object_get(bed_ask(op_health_show, json_object_to_json_string(cards)), "cards"));
	assert_string_equal(json_object_get_string(json_object_object_get(bed.answer, "code")), "invalid");
	json_object_put(cards);
	bed_end();
}

static bool in_force(void)
{
	struct json_object *cards = json_object_object_get(bed_ask(op_health_show, "{}"), "cards");

	return json_object_get_boolean(json_object_object_get(json_object_array_get_idx(cards, 0), "in_force"));
}

/* Somebody's own text where the marks go: then the whole node is drained, once. */
static void extra_that_takes_no_mark(void **state)
{
	(void)state;
	bed_begin(2);
	bed_start(bed_topo);
	bed_settle();
	bed_set_extra(0, strdup("rack 5"));
	bed_fault(0, 3);
	assert_false(in_force());
	bed_settle();
	assert_int_equal(bed.drained[0], 1);
	assert_string_equal(bed.extra[0], "rack 5");
	assert_false(in_force());
	assert_int_equal(bed.d->n_dirty, 0);
	/* It keeps no others from being written, and is tried again when it changes. */
	bed_fault(1, 2);
	bed_settle();
	assert_int_equal(bed_book(1).unhealthy, 4);
	bed_set_extra(0, strdup("rack 6"));
	bed_settle();
	assert_int_equal(bed.drained[0], 1);
	bed_set_extra(0, strdup("{\"rack\":6}"));
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 8);
	assert_true(in_force());
	bed_end();
}

static void report_for_job(uint32_t job)
{
	struct sn_request *r = calloc(1, sizeof(*r));
	char text[200];

	snprintf(text, sizeof(text), "{\"node\": \"n1\", \"job\": %u, \"faults\": [{\"card\": 1}]}", job);
	r->json = json_tokener_parse(text);
	r->cred.uid = r->who.uid = 1000;
	r->who.from = "somewhere";
	op_health_report(bed.d, r);
}

/* Reports for jobs that are not there: slurmctld is asked now and then, not for each. */
static void jobs_that_are_not_there(void **state)
{
	uint32_t polls = 0;

	(void)state;
	bed_begin(1);
	bed_start(bed_topo);
	bed_settle();
	bed.ms += 5000;
	report_for_job(7);
	assert_non_null(bed.todo[0]);
	bed_run(0);
	bed_back(0);
	assert_null(bed.d->held);
	assert_string_equal(json_object_get_string(json_object_object_get(bed.answer, "code")), "refused");
	/* The same once more needs no asking, and another has to wait a little. */
	report_for_job(7);
	assert_null(bed.d->held);
	report_for_job(8);
	assert_non_null(bed.d->held);
	assert_null(bed.todo[0]);
	assert_in_range(bed.timer_ms, 1, 250);
	for (uint32_t i = 0; i < 1000; i++) {
		bed.ms += 10;
		report_for_job(1000 + i);
		polls += bed.todo[0] != NULL;
		bed_run(0);
		bed_back(0);
	}
	assert_in_range(polls, 1, 10000 / 250 + 1);
	bed_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_that_topology_conf_has_not),
		cmocka_unit_test(health_show_costs_no_more_than_the_cluster),
		cmocka_unit_test(extra_that_takes_no_mark),
		cmocka_unit_test(jobs_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}
