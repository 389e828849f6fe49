/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_opelastic.c - a job's owner who plays its snrun, and says things as fast as he can:
 * neither events nor other users suffer.
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

#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "tests/unit/followstubs.h"

#define JOBS 200 /* 1000 + i; the last is another user's */
#define NODES 64
#define OWNER 500
#define OTHER 600

static struct sn_daemon *d;
static int64_t now_ms;
static char code[32]; /* of the last answer; "": it was good */
static uint64_t last_order; /* sent to an snrun */

/* ---- what opelastic.c, attach.c and telling.c call ---------------------------------------- */

int64_t sn_loop_now(void)
{
	return now_ms;
}

double sn_daemon_now(void)
{
	return (double)now_ms / 1000;
}

int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx, struct sn_timer **ret,
		  struct sn_err *err)
{
	(void)loop, (void)fn, (void)ctx, (void)err;
	*ret = (struct sn_timer *)&now_ms;
	return 0;
}

void sn_timer_set(struct sn_timer *timer, int64_t in_ms)
{
	(void)timer, (void)in_ms;
}

void sn_timer_end(struct sn_timer *timer)
{
	(void)timer;
}

void sn_server_drop(struct sn_server *server, uint64_t ticket)
{
	(void)server, (void)ticket;
}

bool sn_server_keep(struct sn_server *server, uint64_t ticket)
{
	(void)server, (void)ticket;
	return true;
}

void request_free(struct sn_request *r)
{
	json_object_put(r->json);
	free(r);
}

struct json_object *request_ok(void)
{
	return json_object_new_object();
}

void request_answer(struct sn_daemon *daemon, struct sn_request *r, struct json_object *answer)
{
	(void)daemon;
	json_object_put(answer);
	*code = '\0';
	request_free(r);
}

void request_fail(struct sn_daemon *daemon, struct sn_request *r, const char *why,
		  const char *fmt, ...)
{
	(void)daemon, (void)fmt;
	snprintf(code, sizeof(code), "%s", why);
	request_free(r);
}

int request_send(struct sn_daemon *daemon, uint64_t ticket, uint32_t uid, struct json_object *o,
		 bool more, void (*done)(void *ctx, uint64_t ticket, bool sent), void *ctx)
{
	struct json_object *order = json_object_object_get(o, "do");

	(void)daemon, (void)uid, (void)more;
	if (order)
		last_order = json_object_get_uint64(json_object_object_get(order, "id"));
	*code = '\0';
	if (order && done)
		done(ctx, ticket, true);
	return 0;
}

void follow_hold(struct sn_daemon *daemon, struct sn_request *r)
{
	(void)daemon;
	request_free(r);
}

/* ---- the bed ------------------------------------------------------------------------------- */

static int make(void **state)
{
	char name[16];

	(void)state;
	d = calloc(1, sizeof(*d));
	now_ms = 1000000;
	if (!d || sn_events_init(&d->events, 1, NULL))
		return -1;
	d->nodes = sn_view_nodes_new(NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "n%02u", i);
		if (sn_view_node_set(&d->nodes->node[i], name, "", "", "", NULL))
			return -1;
	}
	if (sn_view_nodes_seal(d->nodes))
		return -1;
	d->jobs = sn_view_jobs_new(JOBS);
	for (uint32_t i = 0; i < JOBS; i++) {
		struct sn_view_job *job = &d->jobs->job[i];

		job->id = 1000 + i;
		job->uid = i == JOBS - 1 ? OTHER : OWNER;
		job->running = true;
		if (sn_view_job_hold(job, NODES, i))
			return -1;
		for (uint32_t k = 0; k < NODES; k++)
			job->node[k] = k;
	}
	sn_view_jobs_seal(d->jobs);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	d->stopping = true;
	attach_end(d);
	sn_events_done(&d->events);
	sn_view_nodes_free(d->nodes);
	sn_view_jobs_free(d->jobs);
	free(d);
	return 0;
}

__attribute__((format(printf, 3, 4)))
static void ask(void (*op)(struct sn_daemon *daemon, struct sn_request *r), uint32_t uid,
		const char *fmt, ...)
{
	struct sn_request *r = calloc(1, sizeof(*r));
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->json = json_tokener_parse(text);
	assert_non_null(r->json);
	r->cred.uid = uid;
	r->ticket = json_object_get_uint64(json_object_object_get(r->json, "ticket"));
	strcpy(r->op, "elastic.test");
	op(d, r);
}

static void attach(uint32_t job, uint32_t uid)
{
	ask(op_elastic_attach, uid, "{\"job\":%u,\"ticket\":%u,\"state\":{\"state\":\"running\"}}", job, job);
	assert_string_equal(code, "");
}

static uint64_t events(void)
{
	return d->events.next - 1;
}

static uint64_t events_of(const char *kind)
{
	const struct sn_event_filter filter = { 0 };
	struct sn_event *all;
	uint32_t n, found = 0;

	assert_int_equal(sn_events_find(&d->events, &filter, &all, &n, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		found += !strcmp(all[i].kind, kind);
	free(all);
	return found;
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void hints_without_end(void **state)
{
	uint32_t good = 0;

	(void)state;
	attach(1000, OWNER);
	/* An hour of them, each of another node. */
	for (uint32_t i = 0; i < 36000; i++) {
		ask(op_elastic_hint, OWNER, "{\"job\":1000,\"lost\":[\"n%02u\"]}", i % NODES);
		good += !*code;
		now_ms += 100;
	}
	/* What is refused is said so, and all else is taken. */
	assert_in_range(good, 30000, 36000);
	assert_in_range(events(), 1, 60 + 12 * 60 + 2);
	/* And as often as the same node is believed to be lost once more, for hours. */
	for (uint32_t i = 0; i < 3000; i++) {
		ask(op_elastic_hint, OWNER, "{\"job\":1000,\"lost\":[\"n%02u\"]}", i % NODES);
		assert_string_equal(code, "");
		now_ms += 3800;
	}
	assert_in_range(events(), 12 * 190, 2 * 60 + 12 * 60 + 12 * 190 + 2);
	assert_int_equal(events_of("refused"), 1);
	assert_true(d->metrics.untold > 0);
}

/* A node says that something about a job has changed: slurmctld is asked, and no more. */
static void hints_of_nodes(void **state)
{
	(void)state;
	stub_looks = 0;
	attach(1000, OWNER);
	ask(op_elastic_hint, 0, "{\"job\":1000,\"node\":\"n01\",\"what\":\"ended\"}");
	assert_string_equal(code, "");
	/* The job may have ended long ago, and the daemon know it. */
	ask(op_elastic_hint, 0, "{\"job\":77,\"node\":\"n01\",\"what\":\"ended\"}");
	assert_string_equal(code, "");
	assert_int_equal(stub_looks, 2);
	/* Users only for theirs. */
	ask(op_elastic_hint, OWNER, "{\"job\":1000}");
	assert_string_equal(code, "");
	assert_int_equal(stub_looks, 3);
	ask(op_elastic_hint, OTHER, "{\"job\":1000}");
	assert_string_equal(code, SN_OP_CODE_REFUSED);
	ask(op_elastic_hint, OTHER, "{\"job\":77}");
	assert_string_equal(code, SN_OP_CODE_NOT_FOUND);
	ask(op_elastic_hint, OTHER, "{}");
	assert_string_equal(code, SN_OP_CODE_INVALID);
	assert_int_equal(stub_looks, 3);
	/* No node is believed to be lost, by whoever it was. */
	for (uint32_t i = 0; i < 20; i++)
		ask(op_elastic_hint, i & 1 ? OWNER : 0, "{\"job\":1000,\"node\":\"n%02u\",\"what\":\"failed\"}", i);
	for (uint32_t i = 0; i < 20; i++) {
		char node[8];

		snprintf(node, sizeof(node), "n%02u", i);
		assert_int_equal(attach_lost_at(d, 1000, node), 0);
	}
	assert_int_equal(events_of("job"), 0);
}

/* Ten times as many as an snrun may say. */
static void words_without_end(void **state)
{
	uint32_t good = 0;

	(void)state;
	attach(1000, OWNER);
	for (uint32_t i = 0; i < 60000; i++) {
		ask(op_elastic_state, OWNER, "{\"job\":1000,\"link\":1000,\"state\":{\"state\":\"%s\"}}",
		    i & 1 ? "running" : "stuck");
		if (*code)
			assert_string_equal(code, SN_OP_CODE_AGAIN);
		good += !*code;
		now_ms += 10;
	}
	assert_in_range(good, 6000, 6000 + 130);
	/* So are those who say that they come. */
	ask(op_elastic_attach, OWNER, "{\"job\":1000,\"ticket\":5,\"state\":{\"state\":\"running\"}}");
	assert_string_equal(code, SN_OP_CODE_AGAIN);
	/* His other jobs, and others', do not suffer. */
	attach(1001, OWNER);
	attach(1000 + JOBS - 1, OTHER);
	assert_int_equal(events(), 0);
	now_ms += 60000;
	ask(op_elastic_state, OWNER, "{\"job\":1000,\"link\":1000,\"state\":{\"state\":\"running\"}}");
	assert_string_equal(code, "");
}

static void tell_and_answer(uint32_t job, uint32_t owner, uint32_t by)
{
	ask(op_elastic_tell, by, "{\"job\":%u,\"do\":{\"op\":\"pause\"}}", job);
	attach_answered(d, job, last_order, 0, "");
	now_ms += 20;
	(void)owner;
}

static void orders_without_end(void **state)
{
	(void)state;
	attach(1000, OWNER);
	for (int i = 0; i < 3000; i++)
		tell_and_answer(1000, OWNER, OWNER);
	assert_in_range(events(), 60, 60 + 12 + 2);
	/* What an administrator tells it is told, however much its owner has. */
	uint64_t before = events();

	for (int i = 0; i < 100; i++)
		tell_and_answer(1000, OWNER, 0);
	assert_int_equal(events() - before, 100);
}

/* With all of his jobs together he does not fill the ring. */
static void many_jobs_of_one_user(void **state)
{
	uint32_t told = 0;

	(void)state;
	for (int k = 0; k < 600; k++) {
		for (uint32_t i = 0; i < JOBS - 1; i++)
			if (daemon_may_tell(d, 1000 + i)) {
				daemon_event(d, "elastic", NULL, SN_NONE, 1000 + i, SN_NONE, "once more");
				told++;
			}
		now_ms += 100;
	}
	assert_in_range(told, 2000, 2000 + 200 + 2);
	assert_true(events() < SN_EVENTS_KEPT / 2);
	/* Others have all of theirs. */
	for (int i = 0; i < 60; i++)
		assert_true(daemon_may_tell(d, 1000 + JOBS - 1));
	assert_false(daemon_may_tell(d, 1000 + JOBS - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hints_without_end, make, drop),
		cmocka_unit_test_setup_teardown(hints_of_nodes, make, drop),
		cmocka_unit_test_setup_teardown(words_without_end, make, drop),
		cmocka_unit_test_setup_teardown(orders_without_end, make, drop),
		cmocka_unit_test_setup_teardown(many_jobs_of_one_user, make, drop),
	};

	(void)sn_log_open("/dev/null", SN_LOG_ERROR, NULL);
	return cmocka_run_group_tests_name("opelastic", tests, NULL, NULL);
}
