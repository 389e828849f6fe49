/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkwire.c - the thread of snrun's link to snelasticd: it connects, sends what the main
 * thread says, and takes orders for it.
 */
#include "config.h"

#ifdef HAVE_MUNGE

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/link_internal.h"

#define OPEN_MS 5000 /* to connect, and be answered */
#define SAY_MS 3000
#define TRY_MS 500 /* between two tries, at first */
#define TRY_MOST_MS 60000
#define STILL_MS 300000 /* the daemon hears of the job so often at least */

/* ---- the thread: requests ---------------------------------------------------------------- */

static json_object *request_of(const char *op)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "op", json_object_new_string(op));
	json_object_object_add(o, "job", json_object_new_int64(lk.job));
	return o;
}

/* Takes the request. */
static int ask(json_object *request)
{
	json_object *answer = NULL;
	int rc = sn_elastic_ask(&lk.where, request, SAY_MS, &answer, NULL);

	json_object_put(answer);
	json_object_put(request);
	return rc;
}

static json_object *state_request(const char *op)
{
	json_object *o = request_of(op), *state;

	pthread_mutex_lock(&lk.lock);
	state = lk.state ? json_tokener_parse(lk.state) : NULL;
	lk.news = false;
	pthread_mutex_unlock(&lk.lock);
	json_object_object_add(o, "state", state);
	return o;
}

static void hang_up(void)
{
	sn_elastic_close(lk.conn);
	lk.conn = NULL;
	pthread_mutex_lock(&lk.lock);
	lk.up = false;
	lk.went = snrun_now_ms();
	/* Their giver is told that the link has gone. */
	lk.n_answers = 0;
	pthread_mutex_unlock(&lk.lock);
}

static int attach(void)
{
	json_object *request, *first = NULL, *v;
	struct sn_policy policy;
	int rc = sn_elastic_find(NULL, &policy, &lk.where, NULL);

	if (rc)
		return rc;
	request = state_request("elastic.attach");
	rc = sn_elastic_open(&lk.where, request, OPEN_MS, &lk.conn, &first, NULL);
	json_object_put(request);
	if (rc)
		return rc;
	lk.link = json_object_object_get_ex(first, "link", &v) ? json_object_get_uint64(v) : 0;
	json_object_put(first);
	lk.said_at = snrun_now_ms();
	pthread_mutex_lock(&lk.lock);
	lk.up = true;
	pthread_mutex_unlock(&lk.lock);
	return 0;
}

static int say_lost(void)
{
	struct sn_names lost;
	json_object *o, *list;
	int rc;

	pthread_mutex_lock(&lk.lock);
	/* By now Slurm knows better. */
	if (lk.lost.n && snrun_now_ms() - lk.lost_at > LINK_HINT_MS * 6)
		sn_names_done(&lk.lost);
	lost = lk.lost;
	memset(&lk.lost, 0, sizeof(lk.lost));
	pthread_mutex_unlock(&lk.lock);
	if (!lost.n)
		return 0;
	o = request_of("elastic.hint");
	list = json_object_new_array();
	for (size_t i = 0; i < lost.n; i++)
		json_object_array_add(list, json_object_new_string(lost.name[i]));
	json_object_object_add(o, "lost", list);
	sn_names_done(&lost);
	rc = ask(o);
	/* A hint that is not understood is none the next time either. */
	return rc == -EINVAL || rc == -EPERM ? 0 : rc;
}

static bool next_answer(struct link_answer *ret)
{
	bool any;

	pthread_mutex_lock(&lk.lock);
	any = lk.n_answers > 0;
	if (any) {
		*ret = lk.answer[0];
		memmove(lk.answer, lk.answer + 1, --lk.n_answers * sizeof(*lk.answer));
	}
	pthread_mutex_unlock(&lk.lock);
	return any;
}

/* The state, and what has come of orders. */
static int say_state(void)
{
	struct link_answer a;
	bool news, more = next_answer(&a);
	int rc = 0;

	pthread_mutex_lock(&lk.lock);
	news = lk.news;
	pthread_mutex_unlock(&lk.lock);
	if (!more && !news && snrun_now_ms() - lk.said_at < STILL_MS)
		return 0;
	do {
		json_object *o = state_request("elastic.state");

		json_object_object_add(o, "link", json_object_new_int64((int64_t)lk.link));
		if (more) {
			json_object_object_add(o, "id", json_object_new_int64((int64_t)a.id));
			json_object_object_add(o, "ok", json_object_new_boolean(!a.rc));
			if (a.rc)
				json_object_object_add(o, "error", json_object_new_string(a.error));
		}
		rc = ask(o);
		lk.said_at = snrun_now_ms();
	} while (!rc && (more = next_answer(&a)));
	return rc;
}

/* ---- the thread: orders --------------------------------------------------------------------- */

static void take_order(json_object *message)
{
	json_object *o, *v;
	struct link_order order = { .at = snrun_now_ms() };
	struct sn_err err = { "the order cannot be read" };
	int rc;

	if (!json_object_object_get_ex(message, "do", &o) ||
	    !json_object_is_type(o, json_type_object))
		return;
	order.id = json_object_object_get_ex(o, "id", &v) ? json_object_get_uint64(v) : 0;
	if (json_object_object_get_ex(o, "once", &v))
		snprintf(order.once, sizeof(order.once), "%s", json_object_get_string(v));
	rc = sn_control_read(o, &order.ask, &err);
	pthread_mutex_lock(&lk.lock);
	if (!rc && lk.n_orders == LINK_QUEUE)
		rc = sn_err_set(&err, -EBUSY, "there are too many orders already");
	if (rc)
		link_answer_now(order.id, rc, err.text);
	else
		lk.order[lk.n_orders++] = order;
	pthread_mutex_unlock(&lk.lock);
	link_wake(lk.in);
}

/* ---- the thread: its loop ------------------------------------------------------------------- */

static bool is_ending(void)
{
	bool ending;

	pthread_mutex_lock(&lk.lock);
	ending = lk.ending;
	pthread_mutex_unlock(&lk.lock);
	return ending;
}

/* Nodes were lost: that is worth a try at once. */
static bool is_urgent(void)
{
	bool urgent;

	pthread_mutex_lock(&lk.lock);
	urgent = lk.lost.n && snrun_now_ms() - lk.lost_at < LINK_HINT_MS;
	pthread_mutex_unlock(&lk.lock);
	return urgent;
}

static void rest(int64_t ms)
{
	int64_t now = snrun_now_ms(), start = now, end = now + ms;

	for (; now < end && !is_ending(); now = snrun_now_ms()) {
		struct pollfd fd = { .fd = lk.out, .events = POLLIN };

		if (is_urgent() && now - start >= TRY_MS)
			break;
		if (poll(&fd, 1, (int)(is_urgent() ? TRY_MS : end - now)) > 0)
			link_drain(lk.out);
	}
}

/* While the link is there; not 0: it is there no longer. */
static int serve(void)
{
	struct pollfd fd[2] = {
		{ .fd = sn_elastic_fd(lk.conn), .events = POLLIN },
		{ .fd = lk.out, .events = POLLIN },
	};
	json_object *message = NULL;
	int rc;

	rc = say_lost();
	if (!rc)
		rc = say_state();
	if (rc || is_ending())
		return rc ? rc : -ECANCELED;
	if (poll(fd, 2, STILL_MS / 10) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fd[1].revents)
		link_drain(lk.out);
	if (!fd[0].revents)
		return 0;
	rc = sn_elastic_next(lk.conn, SAY_MS, &message, NULL);
	if (!rc)
		take_order(message);
	json_object_put(message);
	return rc;
}

/* Many jobs lose the same daemon at once, and shall not come back at once. */
static int64_t spread(int64_t ms, uint32_t *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return ms / 2 + (int64_t)(*seed >> 8) % (ms / 2 + 1);
}

void *link_run(void *arg)
{
	int64_t wait = TRY_MS;
	uint32_t seed = lk.job * 2654435761u + (uint32_t)getpid();

	(void)arg;
	while (!is_ending()) {
		int rc = attach();

		if (!rc) {
			wait = TRY_MS;
			while (!(rc = serve()))
				;
			hang_up();
		}
		/* Only another user's job, or a daemon that is none, is refused. */
		if (rc == -EPERM || rc == -EACCES || rc == -EINVAL)
			wait = TRY_MOST_MS;
		if (!is_ending())
			rest(spread(wait, &seed));
		wait = wait * 2 < TRY_MOST_MS ? wait * 2 : TRY_MOST_MS;
	}
	pthread_mutex_lock(&lk.lock);
	lk.done = true;
	pthread_cond_broadcast(&lk.ended);
	pthread_mutex_unlock(&lk.lock);
	return NULL;
}

#endif
