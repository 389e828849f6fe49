/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opevents.c - events, also as they happen, and status.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elastic/act.h"
#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "elastic/report.h"

#define LIMIT_MAX 10000
#define LIMIT_DEFAULT 100
#define BATCH 256 /* events of one message to a follower */
#define FOLLOWERS_MAX 128
#define FOLLOWERS_OF_USER 8 /* but root and SlurmUser */
#define FOLLOW_MS 500 /* until one that was slow is looked at again */

struct sn_follower {
	uint64_t ticket;
	uint32_t uid;
	struct sn_event_filter filter; /* after: what it has been sent */
	bool busy; /* an answer is being made */
	struct sn_follower *next;
};

/* ---- followers --------------------------------------------------------------------------- */

static void drop(struct sn_daemon *d, struct sn_follower **at)
{
	struct sn_follower *f = *at;

	(void)d;
	*at = f->next;
	free(f);
}

static void told(void *ctx, uint64_t ticket, bool sent)
{
	struct sn_daemon *d = ctx;

	for (struct sn_follower **at = &d->followers; *at; at = &(*at)->next) {
		if ((*at)->ticket != ticket)
			continue;
		(*at)->busy = false;
		if (!sent)
			drop(d, at);
		break;
	}
	followers_tell(d);
}

static struct json_object *to_json(const struct sn_event *event, uint32_t n)
{
	struct json_object *o = request_ok(), *list = json_object_new_array();

	for (uint32_t i = 0; list && i < n; i++)
		json_object_array_add(list, sn_event_json(&event[i]));
	if (o)
		json_object_object_add(o, "events", list);
	return o;
}

/* False: it has gone. */
static bool tell(struct sn_daemon *d, struct sn_follower *f)
{
	struct json_object *o, *list;
	uint64_t id = f->filter.after + 1;
	uint64_t missed = id < d->events.first ? d->events.first - id : 0;
	uint32_t n = 0;

	if (missed)
		id = d->events.first;
	o = request_ok();
	list = json_object_new_array();
	if (!o || !list) {
		json_object_put(o);
		json_object_put(list);
		return true;
	}
	json_object_object_add(o, "events", list);
	for (; id < d->events.next && n < BATCH; id++) {
		const struct sn_event *e = sn_events_get(&d->events, id);

		if (!sn_event_matches(e, &f->filter))
			continue;
		json_object_array_add(list, sn_event_json(e));
		n++;
	}
	f->filter.after = id - 1;
	if (missed)
		json_object_object_add(o, "missed", json_object_new_int64((int64_t)missed));
	f->busy = n || missed;
	if (f->busy && request_send(d, f->ticket, f->uid, o, true, told, d)) {
		json_object_put(o);
		return false;
	}
	json_object_put(o);
	return true;
}

static bool is_behind(const struct sn_daemon *d, const struct sn_follower *f)
{
	return f->filter.after + 1 < d->events.next;
}

static void on_follow(void *ctx)
{
	followers_tell(ctx);
}

void followers_tell(struct sn_daemon *d)
{
	bool slow = false;

	for (struct sn_follower **at = &d->followers; *at;) {
		struct sn_follower *f = *at;

		/* One that does not take in what it is sent gets no more for now. */
		if (!f->busy && is_behind(d, f) && !sn_server_idle(d->server, f->ticket))
			slow = true;
		else if (!f->busy && is_behind(d, f) && !tell(d, f)) {
			drop(d, at);
			continue;
		}
		at = &f->next;
	}
	if (slow && (d->follow_timer || !sn_loop_timer(d->loop, on_follow, d, &d->follow_timer, NULL)))
		sn_timer_set(d->follow_timer, FOLLOW_MS);
}

void followers_gone(struct sn_daemon *d, uint64_t ticket)
{
	for (struct sn_follower **at = &d->followers; *at; at = &(*at)->next)
		if ((*at)->ticket == ticket) {
			drop(d, at);
			return;
		}
}

void followers_end(struct sn_daemon *d)
{
	while (d->followers)
		drop(d, &d->followers);
}

static void follow(struct sn_daemon *d, struct sn_request *r, const struct sn_event_filter *filter,
		   const struct sn_event *event, uint32_t n)
{
	struct sn_follower *f = calloc(1, sizeof(*f));
	struct json_object *o = to_json(event, n);
	bool user = r->cred.uid && r->cred.uid != d->conf.where.slurm_uid;
	uint32_t count = 0, own = 0;

	for (struct sn_follower *i = d->followers; i; i = i->next) {
		count++;
		own += i->uid == r->cred.uid;
	}
	/* A quarter of the places is for the administrator. */
	if (!f || !o || count >= FOLLOWERS_MAX ||
	    (user && (own >= FOLLOWERS_OF_USER || count >= FOLLOWERS_MAX / 4 * 3))) {
		free(f);
		json_object_put(o);
		request_fail(d, r, SN_OP_CODE_AGAIN, "%u others follow events already, %u of them of user %u",
			     count, own, r->cred.uid);
		return;
	}
	f->ticket = r->ticket;
	f->uid = r->cred.uid;
	f->filter = *filter;
	/* All up to now has been looked through. */
	f->filter.after = d->events.next - 1;
	f->busy = true;
	f->next = d->followers;
	d->followers = f;
	if (request_send(d, r->ticket, r->cred.uid, o, true, told, d))
		drop(d, &d->followers);
	json_object_put(o);
	request_free(r);
}

/* ---- events ------------------------------------------------------------------------------ */

struct find_work {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_request *r;
	struct sn_event_filter filter;
	struct sn_history *history;
	struct sn_event *event;
	uint32_t n;
	int rc;
	struct sn_err err;
};

static void find_run(struct sn_work *work)
{
	struct find_work *w = (struct find_work *)work;

	w->rc = sn_history_find(w->history, &w->filter, &w->event, &w->n, &w->err);
}

/* What is in both is once in the result; memory has all that the history has not. */
static struct sn_event *merge(const struct sn_daemon *d, const struct sn_event_filter *filter,
			      const struct sn_event *old, uint32_t n_old, uint32_t *ret_n)
{
	struct sn_event *recent = NULL, *all;
	uint32_t n = 0, n_recent = 0, skip;

	if (sn_events_find(&d->events, filter, &recent, &n_recent, NULL))
		return NULL;
	all = calloc((size_t)n_old + n_recent + 1, sizeof(*all));
	for (uint32_t i = 0; all && i < n_old && (!n_recent || old[i].id < recent[0].id); i++)
		all[n++] = old[i];
	for (uint32_t i = 0; all && i < n_recent; i++)
		all[n++] = recent[i];
	free(recent);
	if (!all)
		return NULL;
	skip = n > filter->limit ? n - filter->limit : 0;
	memmove(all, all + skip, (n - skip) * sizeof(*all));
	*ret_n = n - skip;
	return all;
}

static void answer(struct sn_daemon *d, struct sn_request *r, const struct sn_event_filter *filter,
		   const struct sn_event *old, uint32_t n_old)
{
	struct json_object *v = NULL;
	uint32_t n = 0;
	struct sn_event *all = merge(d, filter, old, n_old, &n);

	if (!all)
		request_fail(d, r, SN_OP_CODE_AGAIN, "no memory");
	else if (json_object_object_get_ex(r->json, "follow", &v) && json_object_get_boolean(v))
		follow(d, r, filter, all, n);
	else
		request_answer(d, r, to_json(all, n));
	free(all);
}

static void find_done(struct sn_work *work)
{
	struct find_work *w = (struct find_work *)work;
	struct sn_daemon *d = w->d;

	d->history_busy = false;
	d->history = w->history;
	if (d->stopping || w->rc == -ECANCELED) {
		sn_server_drop(d->server, w->r->ticket);
		request_free(w->r);
	} else {
		if (w->rc)
			sn_log_limited(SN_LOG_ERROR, "%s", w->err.text);
		answer(d, w->r, &w->filter, w->event, w->n);
		keep_events(d);
	}
	free(w->event);
	free(w);
}

static int read_filter(struct sn_request *r, struct sn_event_filter *filter, struct sn_err *err)
{
	uint64_t limit = LIMIT_DEFAULT;
	int rc = sn_request_uint(r->json, "after", (uint64_t)1 << 53, &filter->after, err);

	if (!rc)
		rc = sn_request_uint(r->json, "limit", LIMIT_MAX, &limit, err);
	if (!rc)
		rc = sn_request_string(r->json, "kind", true, filter->kind, sizeof(filter->kind), err);
	if (!rc)
		rc = sn_request_string(r->json, "node", true, filter->node, sizeof(filter->node), err);
	filter->limit = limit ? (uint32_t)limit : LIMIT_DEFAULT;
	return rc;
}

/* Does memory alone have the answer? */
static bool is_recent(const struct sn_daemon *d, const struct sn_event_filter *filter)
{
	struct sn_event *event = NULL;
	uint32_t n = 0;

	if (filter->after + 1 >= d->events.first || d->events.first == 1)
		return true;
	if (sn_events_find(&d->events, filter, &event, &n, NULL))
		return false;
	free(event);
	return n >= filter->limit;
}

void op_events(struct sn_daemon *d, struct sn_request *r)
{
	struct sn_event_filter filter = { 0 };
	struct find_work *w;
	struct sn_err err;

	if (read_filter(r, &filter, &err)) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	/* The history's thread may be busy with it; events are then those in memory. */
	if (is_recent(d, &filter) || d->history_busy || !d->history || !(w = calloc(1, sizeof(*w)))) {
		if (d->history_busy && !is_recent(d, &filter) && !r->polled)
			follow_hold(d, r);
		else
			answer(d, r, &filter, NULL, 0);
		return;
	}
	w->work = (struct sn_work){ find_run, find_done, NULL };
	w->d = d;
	w->r = r;
	w->filter = filter;
	w->history = d->history;
	w->rc = -ECANCELED;
	d->history = NULL;
	d->history_busy = true;
	sn_pool_give(d->disk, &w->work);
}

/* ---- status ------------------------------------------------------------------------------ */

static void add_int(struct json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

void op_status(struct sn_daemon *d, struct sn_request *r)
{
	struct json_object *o = request_ok();
	struct sn_server_stats stats;
	struct sn_health_stats health;

	sn_server_stats(d->server, &stats);
	json_object_object_add(o, "host", json_object_new_string(d->host));
	add_int(o, "pid", (uint64_t)getpid());
	json_object_object_add(o, "version", json_object_new_string(PACKAGE_VERSION));
	json_object_object_add(o, "in_charge", json_object_new_boolean(d->duty == SN_DUTY_IN_CHARGE));
	json_object_object_add(o, "dry_run", json_object_new_boolean(d->options.dry_run));
	if (d->duty == SN_DUTY_IN_CHARGE) {
		add_int(o, "term", d->lead.term);
		add_int(o, "since", (uint64_t)d->since);
		json_object_object_add(o, "slurmctld", json_object_new_string(
			!d->nodes && !d->slurm_down ? "not asked yet" : d->slurm_down ? "down" : "up"));
		json_object_object_add(o, "history", json_object_new_string(d->history_good ? "kept" : "none"));
		json_object_object_add(o, "state", json_object_new_string(d->save_failed ? "cannot be saved" : "saved"));
		add_int(o, "unwritten", d->n_dirty + d->writing);
		add_int(o, "actions", act_open(d));
		json_object_object_add(o, "journal", json_object_new_string(act_journal(d)));
		add_int(o, "nodes", d->nodes ? d->nodes->n : 0);
		add_int(o, "jobs", d->jobs ? d->jobs->n : 0);
		sn_health_stats(d->health, &health);
		add_int(o, "samples", health.samples);
		add_int(o, "marks", health.marks);
	} else if (*d->other) {
		json_object_object_add(o, "why", json_object_new_string(d->other));
	}
	add_int(o, "reports", d->reports);
	add_int(o, "refused", d->refused);
	add_int(o, "connections", stats.open);
	add_int(o, "attached", stats.kept);
	add_int(o, "requests", stats.requests);
	add_int(o, "evicted", stats.evicted);
	add_int(o, "late", stats.late);
	add_int(o, "garbage", stats.garbage);
	request_answer(d, r, o);
}
