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

#include "elastic/view.h"

static void nodes_and_jobs(void **state)
{
	static const char *const name[] = { "n3", "n1", "", "n2" };
	struct sn_view_nodes *v = sn_view_nodes_new(4), *mine;
	struct sn_view_jobs *jobs = sn_view_jobs_new(3);
	const struct sn_view_job *job;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(sn_view_node_set(&v->node[i], name[i], "10.0.0.1", "h", "", NULL), 0);
		v->node[i].cards = (uint64_t)i;
	}
	assert_int_equal(sn_view_nodes_seal(v), 0);
	assert_int_equal(sn_view_node(v, "n3")->cards, 0);
	assert_int_equal(sn_view_node(v, "n2")->cards, 3);
	assert_null(sn_view_node(v, "n4"));
	assert_null(sn_view_node(NULL, "n1"));
	for (int i = 0; i < 3; i++)
		jobs->job[i].id = (uint32_t)(10 * i + 5);
	assert_null(sn_view_job(jobs, 6));
	assert_null(sn_view_job(NULL, 5));
	assert_int_equal(sn_view_job(jobs, 25)->id, 25);
	assert_int_equal(sn_view_job_hold(&jobs->job[1], 2, 7), 0);
	assert_int_equal(jobs->job[1].n_nodes, 2);
	jobs->job[1].node[0] = 3;
	jobs->job[1].node[1] = 99; /* of another table */
	jobs->job[1].cards[0] = 0xf0;
	job = sn_view_job(jobs, 15);
	assert_int_equal(sn_view_job_cards(v, job, "n2"), 0xf0);
	assert_int_equal(sn_view_job_cards(v, job, "n1"), 0);
	assert_int_equal(sn_view_job_cards(NULL, job, "n2"), 0);
	/* As long as somebody uses it, it is there. */
	mine = sn_view_nodes_use(v);
	sn_view_nodes_free(v);
	assert_non_null(sn_view_node(mine, "n1"));
	sn_view_nodes_free(mine);
	sn_view_jobs_free(jobs);
	sn_view_nodes_free(NULL);
	sn_view_jobs_free(NULL);
}

/* A table is made anew at each poll, and nearly all of it is as it was. */
static void what_is_the_same_is_shared(void **state)
{
	struct sn_view_nodes *a = sn_view_nodes_new(2), *b = sn_view_nodes_new(2);
	struct sn_view_jobs *x = sn_view_jobs_new(2), *y = sn_view_jobs_new(2);

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(sn_view_node_set(&a->node[i], i ? "n2" : "n1", "a", "h", "", NULL), 0);
	assert_int_equal(sn_view_node_set(&b->node[0], "n1", "a", "h", "", &a->node[0]), 0);
	assert_int_equal(sn_view_node_set(&b->node[1], "n2", "a", "h", "{}", &a->node[1]), 0);
	assert_ptr_equal(a->node[0].text, b->node[0].text);
	assert_ptr_not_equal(a->node[1].text, b->node[1].text);
	assert_int_equal(sn_view_nodes_seal(a) | sn_view_nodes_seal(b), 0);
	sn_view_nodes_free(a);
	assert_string_equal(sn_view_node(b, "n1")->host, "h");
	assert_string_equal(sn_view_node(b, "n2")->extra, "{}");
	sn_view_nodes_free(b);

	x->job[0].id = y->job[1].id = 9;
	x->job[1].id = y->job[0].id = 4;
	assert_int_equal(sn_view_job_hold(&x->job[0], 3, 77), 0);
	x->job[0].node[2] = 5;
	x->job[0].cards[2] = 0xff;
	assert_false(sn_view_job_same(&y->job[1], NULL, 77));
	assert_false(sn_view_job_same(&y->job[1], &x->job[0], 78));
	assert_true(sn_view_job_same(&y->job[1], &x->job[0], 77));
	sn_view_jobs_seal(x);
	sn_view_jobs_seal(y);
	assert_int_equal(sn_view_job(x, 9)->n_nodes, 3);
	sn_view_jobs_free(x);
	assert_int_equal(sn_view_job(y, 9)->node[2], 5);
	assert_int_equal(sn_view_job(y, 9)->cards[2], 0xff);
	sn_view_jobs_free(y);
}

static void members_say_whose_they_are(void **state)
{
	static const char *const none[] = { "", "supernode:member=", "supernode:member=7",
		"supernode:member=7:", "supernode:member=7:1x", "supernode:member=x:1",
		"supernode:parallel=tp=8", " supernode:member=7:1" };
	uint32_t restarts = 9;

	(void)state;
	assert_int_equal(sn_view_member_of("supernode:member=712:3", &restarts), 712);
	assert_int_equal(restarts, 3);
	assert_int_equal(sn_view_member_of("supernode:member=712:0", NULL), 712);
	assert_int_equal(sn_view_member_of(NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_equal(sn_view_member_of(none[i], &restarts), 0);
	assert_int_equal(restarts, 3);
}

/* Half-made ones, as when memory ends. */
static void half_made(void **state)
{
	struct sn_view_nodes *v = sn_view_nodes_new(3);

	(void)state;
	assert_int_equal(sn_view_node_set(&v->node[0], "n1", "", "", "", NULL), 0);
	assert_int_equal(sn_view_nodes_seal(v), -ENOMEM);
	sn_view_nodes_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_and_jobs),
		cmocka_unit_test(what_is_the_same_is_shared),
		cmocka_unit_test(members_say_whose_they_are),
		cmocka_unit_test(half_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
