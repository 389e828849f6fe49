/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c - the daemon's side of the link to the jobs' snruns: who is attached, what
 * they have said, and the orders under way.
 *
 * One order at a time is made ready for a connection, for the threads that make
 * credentials may overtake each other.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/attach.h"
#include "elastic/daemon.h"

#define ORDER_MS 60000 /* for an answer; snrun drops orders that are older */
#define LOOK_MS 1000 /* for orders that are late, while there are any */
#define GRACE_MS 10000 /* an attachment may be newer than the table of jobs */
#define LOST_MAX 16 /* hints of a job that are remembered */
#define LOST_MS 60000
#define LISTENERS_MAX 8

struct order {
	uint64_t id;
	int64_t end; /* ms */
	bool sent; /* or being sent */
	struct json_object *json;
	attach_done_fn done;
	void *ctx;
	struct order *next;
};

struct attached {
	struct sn_attach a; /* the first member */
	uint64_t ticket; /* 0: not here */
	bool busy; /* something is being sent */
	bool fell; /* it has gone, and those who wait are not told yet */
	struct order *orders; /* not yet answered, the oldest first */
	uint32_t n_orders;
	struct {
		char node[64];
		int64_t at; /* ms; 0: free */
	} lost[LOST_MAX];
	uint32_t next_lost;
};

struct sn_attachments {
	struct attached **at; /* [n] by job */
	uint32_t n, max;
	attach_news_fn listener[LISTENERS_MAX];
	uint32_t n_listeners;
	uint64_t last_id;
	struct sn_timer *timer;
};

static struct sn_attachments *table_of(struct sn_daemon *d)
{
	if (!d->attached)
		d->attached = calloc(1, sizeof(*d->attached));
	return d->attached;
}

/* Where the job is, or would be. */
static uint32_t place_of(const struct sn_attachments *t, uint32_t job)
{
	uint32_t lo = 0, hi = t ? t->n : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->at[mid]->a.job < job)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct attached *find(const struct sn_daemon *d, uint32_t job)
{
	uint32_t i = place_of(d->attached, job);

	return d->attached && i < d->attached->n && d->attached->at[i]->a.job == job ?
		d->attached->at[i] : NULL;
}

static struct attached *find_ticket(const struct sn_daemon *d, uint64_t ticket)
{
	for (uint32_t i = 0; d->attached && i < d->attached->n; i++)
		if (d->attached->at[i]->ticket == ticket)
			return d->attached->at[i];
	return NULL;
}

static void tell_news(struct sn_daemon *d, uint32_t job, enum sn_attach_news news,
		      const char *node)
{
	for (uint32_t i = 0; d->attached && i < d->attached->n_listeners; i++)
		d->attached->listener[i](d, job, news, node);
}

/* ---- orders ------------------------------------------------------------------------------ */

/* The order is out of the list already. */
static void end_order(struct order *o, int rc, const char *error, const struct sn_attach *a)
{
	if (o->done)
		o->done(o->ctx, rc, error, a);
	json_object_put(o->json);
	free(o);
}

static struct order *take_order(struct attached *at, uint64_t id)
{
	for (struct order **p = &at->orders; *p; p = &(*p)->next) {
		struct order *o = *p;

		if (o->id != id)
			continue;
		*p = o->next;
		at->n_orders--;
		return o;
	}
	return NULL;
}

/* done may give new orders to another, or the same. */
static void end_orders(struct attached *at, int rc, const char *error)
{
	struct order *o = at->orders, *next;

	at->orders = NULL;
	at->n_orders = 0;
	for (; o; o = next) {
		next = o->next;
		end_order(o, rc, error, NULL);
	}
}

static void send_next(struct sn_daemon *d, struct attached *at);

static void order_sent(void *ctx, uint64_t ticket, bool sent)
{
	struct sn_daemon *d = ctx;
	struct attached *at = find_ticket(d, ticket);

	if (!at)
		return;
	at->busy = false;
	if (sent)
		send_next(d, at);
	else
		attach_gone(d, ticket);
}

static void send_next(struct sn_daemon *d, struct attached *at)
{
	struct order *o = at->orders;
	struct json_object *msg;

	while (o && o->sent)
		o = o->next;
	if (!o || at->busy || !at->ticket)
		return;
	msg = request_ok();
	if (msg)
		json_object_object_add(msg, "do", json_object_get(o->json));
	o->sent = at->busy = true;
	if (request_send(d, at->ticket, at->a.uid, msg, true, order_sent, d)) {
		/* Who gives the order is not told before he has given it. */
		at->fell = true;
		sn_timer_set(d->attached->timer, 0);
	}
	json_object_put(msg);
}

static struct attached *find_fallen(const struct sn_daemon *d)
{
	for (uint32_t i = 0; d->attached && i < d->attached->n; i++)
		if (d->attached->at[i]->fell)
			return d->attached->at[i];
	return NULL;
}

/* An order's end may change all tables, so it is one at a time. */
static struct order *find_late(struct sn_daemon *d, struct attached **ret, bool *ret_any)
{
	int64_t now = sn_loop_now();

	*ret_any = false;
	for (uint32_t i = 0; d->attached && i < d->attached->n; i++)
		for (struct order *o = d->attached->at[i]->orders; o; o = o->next) {
			*ret_any = true;
			if (o->end > now)
				continue;
			*ret = d->attached->at[i];
			return o;
		}
	return NULL;
}

static void on_late(void *ctx)
{
	struct sn_daemon *d = ctx;
	struct attached *at = NULL;
	struct order *o;
	bool any;

	while ((at = find_fallen(d)))
		attach_gone(d, at->ticket);
	while ((o = find_late(d, &at, &any)))
		end_order(take_order(at, o->id), -ETIMEDOUT, "its snrun did not answer in time", &at->a);
	if (any)
		sn_timer_set(d->attached->timer, LOOK_MS);
}

static int want_timer(struct sn_daemon *d)
{
	if (!d->attached->timer && sn_loop_timer(d->loop, on_late, d, &d->attached->timer, NULL))
		return -ENOMEM;
	sn_timer_set(d->attached->timer, LOOK_MS);
	return 0;
}

int attach_tell(struct sn_daemon *d, uint32_t job, const struct sn_control *order,
		const char *why, attach_done_fn done, void *ctx, struct sn_err *err)
{
	struct attached *at = find(d, job);
	struct sn_control with = *order;
	struct order *o, **last;

	if (!at || !at->ticket)
		return sn_err_set(err, -ENOTCONN, "the snrun of job %u is not attached", job);
	if (at->n_orders >= SN_ATTACH_ORDERS)
		return sn_err_set(err, -EBUSY, "the snrun of job %u has %u orders that it has not answered",
				  job, at->n_orders);
	if (why)
		snprintf(with.why, sizeof(with.why), "%s", why);
	o = calloc(1, sizeof(*o));
	if (o)
		o->json = sn_control_json(&with);
	if (!o || !o->json || want_timer(d)) {
		if (o)
			json_object_put(o->json);
		free(o);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	o->id = ++d->attached->last_id;
	json_object_object_add(o->json, "id", json_object_new_int64((int64_t)o->id));
	if (*order->id)
		json_object_object_add(o->json, "once", json_object_new_string(order->id));
	o->end = sn_loop_now() + ORDER_MS;
	o->done = done;
	o->ctx = ctx;
	for (last = &at->orders; *last; last = &(*last)->next)
		;
	*last = o;
	at->n_orders++;
	send_next(d, at);
	return 0;
}

void attach_answered(struct sn_daemon *d, uint32_t job, uint64_t id, int rc, const char *error)
{
	struct attached *at = find(d, job);
	struct order *o = at ? take_order(at, id) : NULL;

	if (o)
		end_order(o, rc, error, &at->a);
}

/* ---- who is there -------------------------------------------------------------------------- */

static void set_state(struct attached *at, struct sn_attach_state *state, char *text)
{
	sn_attach_state_done(&at->a.state);
	at->a.state = *state;
	memset(state, 0, sizeof(*state));
	free(at->a.text);
	at->a.text = text;
	at->a.heard = sn_loop_now();
}

static void forget(struct sn_daemon *d, uint32_t i)
{
	struct attached *at = d->attached->at[i];

	memmove(&d->attached->at[i], &d->attached->at[i + 1],
		(--d->attached->n - i) * sizeof(*d->attached->at));
	end_orders(at, d->stopping ? -ECANCELED : -ENOTCONN, "the job has ended");
	sn_attach_state_done(&at->a.state);
	free(at->a.text);
	free(at);
}

static struct attached *add(struct sn_daemon *d, uint32_t job)
{
	struct sn_attachments *t = table_of(d);
	struct attached *at = t ? calloc(1, sizeof(*at)) : NULL, **more;
	uint32_t i;

	if (at && t->n == t->max) {
		more = realloc(t->at, (t->max * 2 + 64) * sizeof(*t->at));
		if (!more) {
			free(at);
			return NULL;
		}
		t->at = more;
		t->max = t->max * 2 + 64;
	}
	if (!at)
		return NULL;
	at->a.job = job;
	i = place_of(t, job);
	memmove(&t->at[i + 1], &t->at[i], (t->n++ - i) * sizeof(*t->at));
	t->at[i] = at;
	return at;
}

int attach_take(struct sn_daemon *d, uint32_t job, uint32_t uid, uint64_t ticket,
		struct sn_attach_state *state, const char *text)
{
	struct attached *at = find(d, job);
	char *copy = strdup(text);
	uint64_t old;

	if (copy && !at)
		at = add(d, job);
	if (!copy || !at) {
		free(copy);
		return -ENOMEM;
	}
	old = at->ticket;
	at->ticket = ticket;
	at->a.uid = uid;
	at->a.here = true;
	at->a.since = sn_loop_now();
	at->busy = at->fell = false;
	set_state(at, state, copy);
	if (old) {
		sn_server_drop(d->server, old);
		end_orders(at, -ENOTCONN, "another snrun of the job has attached");
	}
	tell_news(d, job, SN_ATTACH_CAME, NULL);
	return 0;
}

int attach_update(struct sn_daemon *d, uint32_t job, uint64_t link,
		  struct sn_attach_state *state, const char *text)
{
	struct attached *at = find(d, job);
	char *copy;

	if (!at || !at->ticket || at->ticket != link)
		return -ENOENT;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	set_state(at, state, copy);
	tell_news(d, job, SN_ATTACH_STATE, NULL);
	return 0;
}

void attach_gone(struct sn_daemon *d, uint64_t ticket)
{
	struct attached *at = ticket ? find_ticket(d, ticket) : NULL;
	uint32_t job;

	if (!at)
		return;
	job = at->a.job;
	at->ticket = 0;
	at->busy = at->fell = false;
	at->a.here = false;
	at->a.since = sn_loop_now();
	sn_log_debug("the snrun of job %u has gone", job);
	end_orders(at, -ENOTCONN, "its snrun has gone");
	tell_news(d, job, SN_ATTACH_GONE, NULL);
}

/* What is known of a job goes with it, and so does a connection that outlives it. */
void attach_jobs(struct sn_daemon *d)
{
	int64_t before = sn_loop_now() - GRACE_MS;

	for (uint32_t i = 0; d->attached && i < d->attached->n;) {
		struct attached *at = d->attached->at[i];
		const struct sn_view_job *job = sn_view_job(d->jobs, at->a.job);

		if ((job && job->running) || at->a.since > before) {
			i++;
			continue;
		}
		if (at->ticket)
			sn_server_drop(d->server, at->ticket);
		at->ticket = 0;
		forget(d, i);
		/* Orders' ends may have changed the table. */
		i = 0;
	}
}

void attach_end(struct sn_daemon *d)
{
	if (!d->attached)
		return;
	while (d->attached->n)
		forget(d, d->attached->n - 1);
	sn_timer_end(d->attached->timer);
	free(d->attached->at);
	free(d->attached);
	d->attached = NULL;
}

/* ---- what is asked of it ------------------------------------------------------------------------ */

const struct sn_attach *attach_state(const struct sn_daemon *d, uint32_t job)
{
	struct attached *at = find(d, job);

	return at ? &at->a : NULL;
}

double attach_since_safe(const struct sn_attach *a)
{
	bool runs = a->state.phase == SN_ATTACH_RUNNING || a->state.phase == SN_ATTACH_ENDING;

	if (a->state.since_safe < 0 || !runs)
		return a->state.since_safe;
	return a->state.since_safe + (double)(sn_loop_now() - a->heard) / 1000;
}

int attach_listen(struct sn_daemon *d, attach_news_fn fn)
{
	struct sn_attachments *t = table_of(d);

	if (!t)
		return -ENOMEM;
	if (t->n_listeners == LISTENERS_MAX)
		return -ENOSPC;
	t->listener[t->n_listeners++] = fn;
	return 0;
}

bool attach_lost(struct sn_daemon *d, uint32_t job, const char *node)
{
	struct attached *at = find(d, job);
	int64_t now = sn_loop_now();
	bool again = false;
	uint32_t i;

	if (!at)
		return false;
	for (i = 0; i < LOST_MAX && strcmp(at->lost[i].node, node); i++)
		;
	if (i < LOST_MAX) {
		again = now - at->lost[i].at < LOST_MS;
	} else {
		i = at->next_lost++ % LOST_MAX;
		/* One that names ever others says no more than that many a minute. */
		again = at->lost[i].at && now - at->lost[i].at < LOST_MS;
		snprintf(at->lost[i].node, sizeof(at->lost[i].node), "%s", node);
	}
	at->lost[i].at = now;
	tell_news(d, job, SN_ATTACH_LOST, node);
	return !again;
}

int64_t attach_lost_at(const struct sn_daemon *d, uint32_t job, const char *node)
{
	const struct attached *at = find(d, job);

	for (uint32_t i = 0; at && i < LOST_MAX; i++)
		if (!strcmp(at->lost[i].node, node))
			return at->lost[i].at;
	return 0;
}
