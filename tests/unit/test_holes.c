/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/holes.h"

#define NOW 1700000000
#define WAIT 121

/* One job, and what may be odd about it. */
struct job {
	uint32_t id, restarts, member_of, member_restarts, uid;
	uint32_t launches;
	bool running, pending, completing, held, no_batch, plain, norequeue;
	const char *nodes; /* digits */
	const char *batch_host, *required, *account;
	time_t submit, begin;
};

static struct {
	struct sn_view_nodes *nodes;
	struct sn_view_jobs *jobs;
	struct sn_elastic_policy policy;
	time_t booted;
	struct sn_act *act;
	uint32_t n;
} bed;

static int set_up(void **state)
{
	char name[8];

	(void)state;
	memset(&bed, 0, sizeof(bed));
	bed.nodes = sn_view_nodes_new(6);
	for (uint32_t i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		if (sn_view_node_set(&bed.nodes->node[i], i == 5 ? "" : name, "", "", "", NULL))
			return -1;
	}
	return sn_view_nodes_seal(bed.nodes);
}

static int tear_down(void **state)
{
	(void)state;
	free(bed.act);
	sn_view_nodes_free(bed.nodes);
	sn_view_jobs_free(bed.jobs);
	return 0;
}

static char *copy(const char *text)
{
	char *c = strdup(text ? text : "");

	assert_non_null(c);
	return c;
}

static void make(struct sn_view_job *to, const struct job *j)
{
	struct sn_view_ours *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	to->id = j->id;
	to->uid = j->uid;
	to->running = j->running;
	to->pending = j->pending;
	to->completing = j->completing;
	assert_int_equal(sn_view_job_hold(to, (uint32_t)strlen(j->nodes ? j->nodes : ""), 1), 0);
	for (uint32_t i = 0; i < to->n_nodes; i++)
		to->node[i] = (uint32_t)(j->nodes[i] - '0');
	to->ours = o;
	o->users = 1;
	o->account = copy(j->account);
	o->user = copy(NULL);
	o->partition = copy(NULL);
	o->comment = copy(NULL);
	o->options = copy(j->plain ? "supernode:replaces=7" :
			  "supernode:parallel=tp=8,dp=2;elastic=min_dp=1");
	o->batch_host = copy(j->batch_host);
	o->required = copy(j->required);
	o->batch = !j->no_batch;
	o->requeue = !j->norequeue;
	o->member_of = j->member_of;
	o->member_restarts = j->member_restarts;
	o->restarts = j->restarts;
	o->priority = j->held ? 0 : 100;
	o->launch_failures = j->launches;
	o->submit = j->submit;
	o->begin = j->begin;
}

static void look(const struct job *job, uint32_t n)
{
	struct sn_err err;

	sn_view_jobs_free(bed.jobs);
	free(bed.act);
	bed.jobs = sn_view_jobs_new(n);
	assert_non_null(bed.jobs);
	for (uint32_t i = 0; i < n; i++)
		make(&bed.jobs->job[i], &job[i]);
	sn_view_jobs_seal(bed.jobs);
	assert_int_equal(sn_holes_find(bed.nodes, bed.jobs, &bed.policy, NOW, WAIT, bed.booted,
				       &bed.act, &bed.n, &err), 0);
}

static void finds(const struct job *job, uint32_t n, enum sn_act_kind kind, uint32_t id)
{
	look(job, n);
	assert_int_equal(bed.n, 1);
	assert_int_equal(bed.act[0].kind, kind);
	assert_int_equal(bed.act[0].job, id);
}

static void finds_nothing(const struct job *job, uint32_t n)
{
	look(job, n);
	assert_int_equal(bed.n, 0);
}

static void a_lost_batch_host(void **state)
{
	const struct job zombie = { .id = 7, .running = true, .nodes = "12", .batch_host = "n0", .restarts = 2 };
	struct job j = zombie;

	(void)state;
	finds(&j, 1, SN_ACT_REQUEUE, 7);
	assert_int_equal(bed.act[0].restarts, 2);
	assert_string_equal(bed.act[0].node, "n0");
	assert_string_equal(bed.act[0].why, "its batch host n0 is lost, and so is its script");
	j.nodes = "012";
	finds_nothing(&j, 1);
	/* Requeue=0 is for whoever does it. */
	j = zombie;
	j.norequeue = true;
	finds(&j, 1, SN_ACT_REQUEUE, 7);
	j = zombie;
	j.plain = true;
	finds_nothing(&j, 1);
	j = zombie;
	j.no_batch = true; /* salloc */
	finds_nothing(&j, 1);
	j = zombie;
	j.completing = true;
	finds_nothing(&j, 1);
	j = zombie;
	j.nodes = ""; /* not known */
	finds_nothing(&j, 1);
	j = zombie;
	j.nodes = "19"; /* the table of nodes is older than the job's */
	finds_nothing(&j, 1);
	j = zombie;
	j.batch_host = "";
	finds_nothing(&j, 1);
	j = zombie;
	j.running = false;
	j.pending = true;
	finds_nothing(&j, 1);
}

static void policy(void **state)
{
	struct job j[2] = {
		{ .id = 7, .running = true, .nodes = "12", .batch_host = "n0", .account = "prod" },
		{ .id = 8, .pending = true, .restarts = 1, .submit = NOW - 1, .begin = NOW + WAIT - 1,
		  .account = "prod" },
	};

	(void)state;
	look(j, 2);
	assert_int_equal(bed.n, 2);
	assert_int_equal(sn_elastic_policy_parse("account=prod:off", &bed.policy, NULL), 0);
	finds_nothing(j, 2);
	assert_int_equal(sn_elastic_policy_parse("account=prod:no-requeue", &bed.policy, NULL), 0);
	finds(j, 2, SN_ACT_START, 8);
	assert_int_equal(sn_elastic_policy_parse("account=other:off;default:no-swap", &bed.policy, NULL), 0);
	look(j, 2);
	assert_int_equal(bed.n, 2);
}

static void members(void **state)
{
	struct job j[2] = {
		{ .id = 5, .running = true, .nodes = "0", .batch_host = "n0", .restarts = 1 },
		{ .id = 6, .running = true, .nodes = "1", .batch_host = "n1", .member_of = 5, .member_restarts = 1 },
	};

	(void)state;
	finds_nothing(j, 2);
	/* Its base has ended. */
	finds(&j[1], 1, SN_ACT_CANCEL, 6);
	assert_string_equal(bed.act[0].why, "it is a member of job 5, which has ended");
	/* Its base runs again, or pends. */
	j[1].member_restarts = 0;
	finds(j, 2, SN_ACT_CANCEL, 6);
	assert_string_equal(bed.act[0].why, "it is a member of job 5, which has been requeued");
	j[0].running = false;
	j[0].pending = j[0].held = true;
	finds(j, 2, SN_ACT_CANCEL, 6);
	/* While it lets go of its nodes ranks may be saving. */
	j[0].completing = true;
	finds_nothing(j, 2);
	j[1].running = false;
	j[1].pending = true;
	finds(j, 2, SN_ACT_CANCEL, 6);
	j[0].pending = false; /* ends, and for good */
	finds(j, 2, SN_ACT_CANCEL, 6);
	assert_string_equal(bed.act[0].why, "it is a member of job 5, which has ended");
	/* Completing itself. */
	j[1].pending = false;
	j[1].completing = true;
	finds_nothing(j, 2);
	/* Another's job has the number now. */
	j[1].completing = false;
	j[1].running = true;
	j[0] = (struct job){ .id = 5, .running = true, .nodes = "0", .batch_host = "n0", .uid = 9 };
	finds(j, 2, SN_ACT_CANCEL, 6);
	/* A comment alone makes none. */
	j[1].plain = true;
	finds_nothing(j, 2);
}

/* A member that was requeued by hand is not started: it would be cancelled. */
static void members_are_not_started(void **state)
{
	const struct job j[2] = {
		{ .id = 5, .running = true, .nodes = "0", .batch_host = "n0" },
		{ .id = 6, .pending = true, .member_of = 5, .restarts = 1, .submit = NOW - 1,
		  .begin = NOW + WAIT - 1 },
	};

	(void)state;
	finds_nothing(j, 2);
}

static void requeued_jobs_that_wait(void **state)
{
	const struct job waits = { .id = 7, .pending = true, .restarts = 1, .submit = NOW - 21, .begin = NOW + 100 };
	struct job j = waits;

	(void)state;
	finds(&j, 1, SN_ACT_START, 7);
	assert_int_equal(bed.act[0].restarts, 1);
	assert_string_equal(bed.act[0].node, "");
	assert_string_equal(bed.act[0].why, "requeued, it would wait for 100 s");
	j.completing = true;
	finds_nothing(&j, 1);
	j = waits;
	j.held = true;
	finds_nothing(&j, 1);
	j = waits;
	j.restarts = 0; /* --begin */
	finds_nothing(&j, 1);
	j = waits;
	j.begin = NOW + 3600; /* scontrol update StartTime */
	finds_nothing(&j, 1);
	j = waits;
	j.begin = NOW - 1;
	finds_nothing(&j, 1);
	j = waits;
	j.plain = true;
	finds_nothing(&j, 1);
}

static void lists_of_nodes_that_are_gone(void **state)
{
	struct job j = { .id = 7, .pending = true, .restarts = 1, .submit = NOW - 500, .begin = NOW - 400,
			 .required = "n[1-2]" };

	(void)state;
	finds_nothing(&j, 1);
	bed.nodes->node[2].down = true;
	finds(&j, 1, SN_ACT_START, 7);
	assert_string_equal(bed.act[0].node, "n2");
	assert_string_equal(bed.act[0].why, "requeued, its -w names n2, which is gone");
	bed.nodes->node[2].down = false;
	bed.nodes->node[2].drained = true;
	finds(&j, 1, SN_ACT_START, 7);
	bed.nodes->node[2].drained = false;
	bed.nodes->node[2].silent = bed.nodes->node[2].closed = true; /* for a moment */
	finds_nothing(&j, 1);
	j.required = "n[1-2],x9"; /* Slurm knows it no more */
	finds(&j, 1, SN_ACT_START, 7);
	assert_string_equal(bed.act[0].node, "x9");
	j.held = true;
	finds_nothing(&j, 1);
	j.held = false;
	j.begin = NOW + 3600; /* scontrol update StartTime */
	finds_nothing(&j, 1);
	j.begin = NOW - 400;
	j.restarts = 0; /* its user asked for it, and waits */
	finds_nothing(&j, 1);
	j.restarts = 1;
	j.required = "n[1-";
	finds_nothing(&j, 1);
}

static void jobs_that_slurmctld_holds(void **state)
{
	const struct job held = { .id = 7, .pending = true, .held = true, .restarts = 1, .launches = 1,
				  .submit = NOW - 10, .begin = NOW + WAIT - 10 };
	struct job j = held;

	(void)state;
	bed.booted = NOW - 25;
	finds(&j, 1, SN_ACT_RELEASE, 7);
	assert_int_equal(bed.act[0].restarts, 1);
	assert_string_equal(bed.act[0].why,
			    "held as its launch has failed, 15 s after slurmctld was started, which did not know that it ran");
	j.launches = SN_HOLES_RELEASES;
	finds(&j, 1, SN_ACT_RELEASE, 7);
	j.launches++;
	finds_nothing(&j, 1);
	j = held;
	j.completing = true;
	finds_nothing(&j, 1);
	j = held;
	j.launches = 0; /* somebody holds it */
	finds_nothing(&j, 1);
	j = held;
	j.plain = true;
	finds_nothing(&j, 1);
	j = held;
	j.account = "prod";
	assert_int_equal(sn_elastic_policy_parse("account=prod:off", &bed.policy, NULL), 0);
	finds_nothing(&j, 1);
	/* A prolog fails, and drains nodes: the next run might drain more. */
	j = held;
	bed.booted = NOW - 3600;
	finds_nothing(&j, 1);
	bed.booted = NOW - 5; /* of before; not by this slurmctld */
	finds_nothing(&j, 1);
	bed.booted = 0; /* not known */
	finds_nothing(&j, 1);
	/* Released, it need not wait. */
	j.launches = 0;
	j.held = false;
	finds(&j, 1, SN_ACT_START, 7);
	assert_int_equal(sn_holes_release_wait(1), 0);
	assert_true(sn_holes_release_wait(2) > 0);
}

static void holds_of_people(void **state)
{
	const char *failed = "launch failed requeued held";

	(void)state;
	assert_int_equal(sn_view_launch_failures(0, true, failed, 2), 1);
	assert_int_equal(sn_view_launch_failures(0, true, failed, 4), 3);
	assert_int_equal(sn_view_launch_failures(0, true, failed, 1), 1);
	assert_int_equal(sn_view_launch_failures(10, true, failed, 2), 0); /* released */
	assert_int_equal(sn_view_launch_failures(0, false, failed, 2), 0); /* then held by an operator */
	assert_int_equal(sn_view_launch_failures(0, true, NULL, 2), 0); /* by its user */
	assert_int_equal(sn_view_launch_failures(0, true, "job requeued in held state", 2), 0);
	assert_int_equal(sn_view_launch_failures(0, true, "job requeued in special exit state", 2), 0);
	assert_int_equal(sn_view_launch_failures(0, true, "launch failure limit exceeded requeued held", 7), 0);
}

static void waits_of_requeues(void **state)
{
	(void)state;
	for (time_t at = NOW - 200; at <= NOW + 200; at++) {
		bool waits = at + WAIT > NOW;

		assert_int_equal(sn_holes_is_requeue_wait(at, at + WAIT, NOW, WAIT), waits);
	}
	assert_true(sn_holes_is_requeue_wait(NOW, NOW + WAIT - 1, NOW, WAIT)); /* submit is a second on */
	assert_false(sn_holes_is_requeue_wait(NOW, NOW + WAIT + 10, NOW, WAIT));
	assert_false(sn_holes_is_requeue_wait(NOW, NOW + 60, NOW, WAIT));
	assert_false(sn_holes_is_requeue_wait(NOW, NOW + WAIT, NOW, 0)); /* not known */
}

static void options(void **state)
{
	(void)state;
	assert_true(sn_holes_is_parallel("supernode:parallel=tp=8"));
	assert_true(sn_holes_is_parallel("note supernode:pool=1G;parallel=tp=8;role=train more"));
	assert_false(sn_holes_is_parallel("supernode:pool=1G;role=train"));
	assert_false(sn_holes_is_parallel("supernode:pool=1G parallel=tp=8"));
	assert_false(sn_holes_is_parallel("supernode:pool=1G;role=x;;unparallel=1"));
	assert_false(sn_holes_is_parallel("parallel=tp=8"));
	assert_false(sn_holes_is_parallel("supernode:"));
	assert_false(sn_holes_is_parallel(""));
	assert_false(sn_holes_is_parallel(NULL));
}

static void many(void **state)
{
	struct job *j = calloc(100, sizeof(*j));

	(void)state;
	assert_non_null(j);
	for (uint32_t i = 0; i < 100; i++)
		j[i] = (struct job){ .id = i + 1, .running = true, .nodes = "1", .batch_host = "n0" };
	look(j, 100);
	assert_int_equal(bed.n, 100);
	free(j);
	/* Before the first look there is nothing. */
	free(bed.act);
	assert_int_equal(sn_holes_find(NULL, NULL, NULL, NOW, WAIT, 0, &bed.act, &bed.n, NULL), 0);
	assert_int_equal(bed.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lost_batch_host), TEST(policy), TEST(members), TEST(members_are_not_started),
		TEST(requeued_jobs_that_wait), TEST(lists_of_nodes_that_are_gone),
		TEST(jobs_that_slurmctld_holds), TEST(holds_of_people),
		TEST(waits_of_requeues), TEST(options), TEST(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
