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
		v->node[i].name = strdup(name[i]);
		v->node[i].address = strdup("10.0.0.1");
		v->node[i].host = strdup("h");
		v->node[i].extra = strdup("");
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
	jobs->job[1].node = calloc(2, sizeof(uint32_t));
	jobs->job[1].cards = calloc(2, sizeof(uint64_t));
	jobs->job[1].n_nodes = 2;
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

/* Half-made ones, as when memory ends. */
static void half_made(void **state)
{
	struct sn_view_nodes *v = sn_view_nodes_new(3);

	(void)state;
	v->node[0].name = strdup("n1");
	assert_int_equal(sn_view_nodes_seal(v), -ENOMEM);
	sn_view_nodes_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_and_jobs),
		cmocka_unit_test(half_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
