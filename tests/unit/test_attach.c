/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_attach.c - who is attached, what they have said, and the orders under way; over
 * connections that are numbers here.
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

static struct sn_daemon *d;
static int64_t now_ms;
static sn_timer_fn timer_fn;
static int64_t timer_ms; /* -1: not set */
static uint64_t dropped, sent_to;
static int n_sent, send_rc;
static char sent[1024];
static void (*sent_done)(void *ctx, uint64_t ticket, bool sent);

/* ---- what attach.c calls ---- */

int64_t sn_loop_now(void)
{
	return now_ms;
}

int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx, struct sn_timer **ret,
		  struct sn_err *err)
{
	(void)loop, (void)ctx, (void)err;
	timer_fn = fn;
	*ret = (struct sn_timer *)&timer_fn;
	return 0;
}

void sn_timer_set(struct sn_timer *timer, int64_t in_ms)
{
	(void)timer;
	timer_ms = in_ms;
}

void sn_timer_end(struct sn_timer *timer)
{
	(void)timer;
}

void sn_server_drop(struct sn_server *server, uint64_t ticket)
{
	(void)server;
	dropped = ticket;
}

struct json_object *request_ok(void)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "ok", json_object_new_boolean(1));
	return o;
}

int request_send(struct sn_daemon *daemon, uint64_t ticket, uint32_t uid, struct json_object *o,
		 bool more, void (*done)(void *ctx, uint64_t ticket, bool sent), void *ctx)
{
	(void)daemon, (void)uid, (void)ctx;
	assert_true(more);
	if (send_rc)
		return send_rc;
	n_sent++;
	sent_to = ticket;
	sent_done = done;
	snprintf(sent, sizeof(sent), "%s", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	return 0;
}

/* ---- the bed ---- */

static char news[256];
static int n_ends, end_rc;
static char end_error[256];

static void on_news(struct sn_daemon *daemon, uint32_t job, enum sn_attach_news what, const char *node)
{
	size_t len = strlen(news);

	(void)daemon;
	snprintf(news + len, sizeof(news) - len, "%s%u%s%s", len ? " " : "", job,
		 what == SN_ATTACH_CAME ? "+" : what == SN_ATTACH_GONE ? "-" :
		 what == SN_ATTACH_LOST ? "!" : "=", node ? node : "");
}

static void on_end(void *ctx, int rc, const char *error, const struct sn_attach *a)
{
	(void)ctx, (void)a;
	n_ends++;
	end_rc = rc;
	snprintf(end_error, sizeof(end_error), "%s", error ? error : "");
}

static int make(void **state)
{
	(void)state;
	d = calloc(1, sizeof(*d));
	now_ms = 100000;
	timer_fn = NULL;
	timer_ms = -1;
	dropped = sent_to = 0;
	n_sent = send_rc = n_ends = end_rc = 0;
	*news = *sent = '\0';
	d->jobs = sn_view_jobs_new(3);
	for (uint32_t i = 0; i < 3; i++) {
		d->jobs->job[i].id = 10 + i;
		d->jobs->job[i].running = true;
	}
	return attach_listen(d, on_news);
}

static int drop(void **state)
{
	(void)state;
	attach_end(d);
	sn_view_jobs_free(d->jobs);
	free(d);
	return 0;
}

static void take(uint32_t job, uint64_t ticket, double since_safe)
{
	struct sn_attach_state s = { .phase = SN_ATTACH_RUNNING, .since_safe = since_safe };

	assert_int_equal(attach_take(d, job, 1000, ticket, &s, "{}"), 0);
}

static int tell(uint32_t job, enum sn_control_op op, struct sn_err *err)
{
	struct sn_control order = { .op = op };

	if (op == SN_CONTROL_SWAP)
		strcpy(order.node, "n1");
	return attach_tell(d, job, &order, "why not", on_end, NULL, err);
}

static void fire(void)
{
	assert_true(timer_ms >= 0);
	timer_ms = -1;
	timer_fn(d);
}

/* ---- tests ---- */

static void what_was_said_last(void **state)
{
	struct sn_attach_state s = { .phase = SN_ATTACH_PAUSED, .since_safe = 0, .dp = 4 };
	const struct sn_attach *a;

	(void)state;
	assert_null(attach_state(d, 10));
	take(11, 5, 20);
	take(10, 6, -1);
	take(12, 7, 1);
	now_ms += 3000;
	a = attach_state(d, 11);
	assert_non_null(a);
	assert_true(a->here && a->uid == 1000);
	assert_true(attach_since_safe(a) == 23);
	assert_true(attach_since_safe(attach_state(d, 10)) < 0);
	assert_int_equal(attach_update(d, 11, 6, &s, "{}"), -ENOENT); /* another's link */
	assert_int_equal(attach_update(d, 99, 6, &s, "{}"), -ENOENT);
	assert_int_equal(attach_update(d, 11, 5, &s, "{\"dp\":4}"), 0);
	now_ms += 3000;
	/* Nothing more is at risk while no rank runs. */
	assert_true(attach_since_safe(a) == 0);
	assert_int_equal(a->state.dp, 4);
	assert_string_equal(a->text, "{\"dp\":4}");
	attach_gone(d, 5);
	a = attach_state(d, 11);
	assert_non_null(a);
	assert_true(!a->here && a->since == now_ms && a->state.dp == 4);
	assert_int_equal(attach_update(d, 11, 5, &s, "{}"), -ENOENT);
	assert_string_equal(news, "11+ 10+ 12+ 11= 11-");
}

static void orders_and_answers(void **state)
{
	struct sn_err err = { "" };

	(void)state;
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), -ENOTCONN);
	take(10, 6, 0);
	assert_int_equal(tell(10, SN_CONTROL_SWAP, &err), 0);
	assert_int_equal(n_sent, 1);
	assert_non_null(strstr(sent, "\"do\":{\"op\":\"swap\",\"node\":\"n1\",\"why\":\"why not\",\"id\":1}"));
	/* One at a time is made ready. */
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
	assert_int_equal(n_sent, 1);
	sent_done(d, 6, true);
	assert_int_equal(n_sent, 2);
	assert_non_null(strstr(sent, "pause"));
	/* Answers in any order, each once, and only to its own job's. */
	attach_answered(d, 11, 1, 0, "");
	attach_answered(d, 10, 2, 0, "");
	assert_true(n_ends == 1 && !end_rc);
	attach_answered(d, 10, 2, 0, "");
	assert_int_equal(n_ends, 1);
	attach_answered(d, 10, 1, -EINVAL, "no such node");
	assert_true(n_ends == 2 && end_rc == -EINVAL);
	assert_string_equal(end_error, "no such node");
}

static void too_many_and_too_late(void **state)
{
	struct sn_err err = { "" };

	(void)state;
	take(10, 6, 0);
	for (int i = 0; i < SN_ATTACH_ORDERS; i++)
		assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), -EBUSY);
	assert_non_null(strstr(err.text, "8 orders"));
	now_ms += 30000;
	fire();
	assert_int_equal(n_ends, 0);
	now_ms += 31000;
	fire();
	assert_int_equal(n_ends, SN_ATTACH_ORDERS);
	assert_int_equal(end_rc, -ETIMEDOUT);
	assert_int_equal(timer_ms, -1); /* there are no more */
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
}

/* However the connection goes, who waits is told, once, and not before he has asked. */
static void a_connection_goes(void **state)
{
	struct sn_err err = { "" };

	(void)state;
	take(10, 6, 0);
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
	attach_gone(d, 6);
	assert_true(n_ends == 1 && end_rc == -ENOTCONN);
	sent_done(d, 6, false); /* comes late */
	assert_int_equal(n_ends, 1);
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), -ENOTCONN);
	take(10, 7, 0);
	send_rc = -ENOMEM;
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
	assert_int_equal(n_ends, 1);
	fire();
	assert_true(n_ends == 2 && end_rc == -ENOTCONN);
	assert_false(attach_state(d, 10)->here);
	/* A newer one takes the place of an older, whose orders end. */
	send_rc = 0;
	take(10, 8, 0);
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
	take(10, 9, 0);
	assert_int_equal(dropped, 8);
	assert_true(n_ends == 3 && end_rc == -ENOTCONN);
	attach_gone(d, 8); /* the older one's end is no news */
	assert_true(attach_state(d, 10)->here);
	assert_int_equal(tell(10, SN_CONTROL_PAUSE, &err), 0);
	assert_int_equal(sent_to, 9);
	/* The daemon's end is an end as well. */
	d->stopping = true;
	attach_end(d);
	assert_true(n_ends == 4 && end_rc == -ECANCELED);
}

static void jobs_end(void **state)
{
	(void)state;
	take(10, 6, 0);
	take(12, 7, 0);
	d->jobs->job[0].running = false;
	attach_jobs(d); /* the table may be older than the attachment */
	assert_non_null(attach_state(d, 10));
	now_ms += 11000;
	attach_jobs(d);
	assert_null(attach_state(d, 10));
	assert_int_equal(dropped, 6);
	assert_non_null(attach_state(d, 12));
}

static void lost_nodes(void **state)
{
	char name[16];

	(void)state;
	assert_false(attach_lost(d, 10, "n1"));
	take(10, 6, 0);
	assert_true(attach_lost(d, 10, "n1"));
	now_ms += 1000;
	assert_false(attach_lost(d, 10, "n1"));
	assert_int_equal(attach_lost_at(d, 10, "n1"), now_ms);
	assert_int_equal(attach_lost_at(d, 10, "n2"), 0);
	now_ms += 61000;
	assert_true(attach_lost(d, 10, "n1"));
	/* Of ever other nodes there are no more than 16 a minute to tell of. */
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		assert_int_equal(attach_lost(d, 10, name), i < 15);
	}
	assert_int_equal(attach_lost_at(d, 10, "m39"), now_ms);
	now_ms += 61000;
	assert_true(attach_lost(d, 10, "m40"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_said_last, make, drop),
		cmocka_unit_test_setup_teardown(orders_and_answers, make, drop),
		cmocka_unit_test_setup_teardown(too_many_and_too_late, make, drop),
		cmocka_unit_test_setup_teardown(a_connection_goes, make, drop),
		cmocka_unit_test_setup_teardown(jobs_end, make, drop),
		cmocka_unit_test_setup_teardown(lost_nodes, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
