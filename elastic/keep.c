/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep.c - the health engine's state and the history, on disk.
 *
 * One thread writes, so that a slow disk never holds up the loop. States are
 * numbered; while one is being written the next are one. A report that changed
 * something is answered when the state with the change is on disk.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/daemon.h"
#include "elastic/healthfile.h"
#include "launcher/writefile.h"

#define EVENTS_AT_ONCE 1024
#define EVENTS_DELAY_MS 100 /* so that many go in one transaction */
#define HISTORY_RETRY_MS 30000
#define PURGE_MS (3600 * 1000)
#define PURGES 20 /* in a row, then others get the disk */

/* ---- the state ----------------------------------------------------------------------- */

struct save {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead;
	uint64_t number;
	char *text;
	size_t len;
	int rc;
	struct sn_err err;
};

static void start_save(struct sn_daemon *d);

static void save_run(struct sn_work *work)
{
	struct save *s = (struct save *)work;

	/* Not over what another, who has taken over, has written. */
	s->rc = sn_lead_check(&s->lead, &s->err);
	if (!s->rc)
		s->rc = sn_write_file(s->lead.dir, SN_HEALTHFILE, s->text, s->len, &s->err);
}

static void answer_waiting(struct sn_daemon *d, uint64_t upto)
{
	struct sn_request **at = &d->waiting;

	while (*at) {
		struct sn_request *r = *at;
		struct json_object *answer = r->answer;

		if (r->saved > upto) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		r->answer = NULL;
		request_answer(d, r, answer);
	}
}

static void save_done(struct sn_work *work)
{
	struct save *s = (struct save *)work;
	struct sn_daemon *d = s->d;

	d->saving = false;
	if (!s->rc) {
		d->state_saved = s->number;
		if (d->save_failed)
			sn_log_info("the health state can be saved again");
		d->save_failed = false;
	} else if (s->rc != -ECANCELED) {
		/* The marks in the nodes' records hold the most of it. */
		sn_log_limited(SN_LOG_ERROR, "the health state could not be saved: %s", s->err.text);
		if (!d->save_failed)
			daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE,
				     "the health state could not be saved: %s", s->err.text);
		d->save_failed = true;
	}
	answer_waiting(d, s->number);
	free(s->text);
	free(s);
	if (d->state_wanted > d->state_saved && !d->stopping) {
		if (!d->save_failed)
			start_save(d);
		else
			sn_timer_set(d->keep_timer, 1000);
	}
}

static void start_save(struct sn_daemon *d)
{
	struct save *s;

	if (d->saving || d->stopping || d->duty != SN_DUTY_IN_CHARGE)
		return;
	s = calloc(1, sizeof(*s));
	if (!s || engine_state(d, &s->text, &s->len, NULL)) {
		sn_log_limited(SN_LOG_ERROR, "the health state could not be saved: no memory");
		free(s);
		return;
	}
	s->work = (struct sn_work){ save_run, save_done, NULL };
	s->d = d;
	s->lead = d->lead;
	s->number = d->state_wanted;
	s->rc = -ECANCELED;
	d->saving = true;
	sn_pool_give(d->disk, &s->work);
}

uint64_t keep_state(struct sn_daemon *d)
{
	uint64_t number = ++d->state_wanted;

	start_save(d);
	return number;
}

void keep_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer,
		 uint64_t number)
{
	if (number <= d->state_saved || (!d->saving && d->save_failed)) {
		request_answer(d, r, answer);
		return;
	}
	r->answer = answer;
	r->saved = number;
	r->next = d->waiting;
	d->waiting = r;
}

/* ---- the history ---------------------------------------------------------------------- */

struct history_work {
	struct sn_work work;
	struct sn_daemon *d;
	char dir[sizeof(((struct sn_lead *)0)->dir)];
	struct sn_history *history;
	struct sn_event *event;
	uint32_t n;
	double purge_before; /* 0: no */
	bool purge_more; /* there are more to purge */
	bool reopened;
	int rc;
	struct sn_err err, note;
};

static void history_run(struct sn_work *work)
{
	struct history_work *w = (struct history_work *)work;
	uint64_t last;

	w->rc = 0;
	if (!w->history)
		w->rc = sn_history_open(w->dir, &w->history, &last, &w->note, &w->err);
	w->reopened = !w->rc;
	if (!w->rc && w->n)
		w->rc = sn_history_add(w->history, w->event, w->n, &w->err);
	for (int i = 0; !w->rc && w->purge_before > 0 && i < PURGES && (!i || w->purge_more); i++)
		w->rc = sn_history_purge(w->history, w->purge_before, SN_HISTORY_MOST,
					 &w->purge_more, &w->err);
	/* After any failure it is opened, and so looked at, anew. */
	if (w->rc) {
		sn_history_close(w->history);
		w->history = NULL;
	}
}

static void history_failed(struct sn_daemon *d, const struct history_work *w)
{
	d->history_retry = sn_loop_now() + (w->rc == -EUCLEAN ? 0 : HISTORY_RETRY_MS);
	if (d->history_good) {
		sn_log_error("%s; going on without history, trying again every %d s", w->err.text,
			     HISTORY_RETRY_MS / 1000);
		d->history_good = false;
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "%s; going on without history",
			     w->err.text);
	}
}

static void history_done(struct sn_work *work)
{
	struct history_work *w = (struct history_work *)work;
	struct sn_daemon *d = w->d;

	d->history_busy = false;
	d->history = w->history;
	if (*w->note.text) {
		sn_log_error("%s", w->note.text);
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "%s", w->note.text);
	}
	if (w->rc == -ECANCELED) {
		/* not run: the daemon ends */
	} else if (w->rc) {
		history_failed(d, w);
	} else {
		if (w->n)
			d->history_next = w->event[w->n - 1].id + 1;
		if (!d->history_good)
			sn_log_info("the history is kept again");
		d->history_good = true;
		if (w->purge_more)
			d->history_purge = sn_loop_now() + EVENTS_DELAY_MS;
	}
	if (!d->stopping && w->purge_more)
		sn_timer_set(d->keep_timer, EVENTS_DELAY_MS);
	free(w->event);
	free(w);
	if (!d->stopping)
		keep_events(d);
}

static void start_history(struct sn_daemon *d, bool purge)
{
	struct history_work *w = calloc(1, sizeof(*w));
	uint64_t id = d->history_next;

	if (!w)
		return;
	if (id < d->events.first) {
		sn_log_error("%llu events are lost to the history",
			     (unsigned long long)(d->events.first - id));
		id = d->history_next = d->events.first;
	}
	w->event = calloc(EVENTS_AT_ONCE, sizeof(*w->event));
	for (; w->event && w->n < EVENTS_AT_ONCE && id < d->events.next; id++)
		w->event[w->n++] = *sn_events_get(&d->events, id);
	w->work = (struct sn_work){ history_run, history_done, NULL };
	w->d = d;
	strcpy(w->dir, d->lead.dir);
	w->history = d->history;
	w->rc = -ECANCELED;
	if (purge)
		w->purge_before = sn_daemon_now() - 86400.0 * d->conf.policy.history_days;
	d->history = NULL;
	d->history_busy = true;
	sn_pool_give(d->disk, &w->work);
}

static void on_keep(void *ctx)
{
	struct sn_daemon *d = ctx;
	int64_t now = sn_loop_now();
	bool purge = now >= d->history_purge;

	if (d->duty != SN_DUTY_IN_CHARGE)
		return;
	if (d->state_wanted > d->state_saved)
		start_save(d);
	if (!d->history_busy && now >= d->history_retry &&
	    (d->history_next < d->events.next || purge)) {
		if (purge)
			d->history_purge = now + PURGE_MS;
		start_history(d, purge);
	} else if (d->history_next < d->events.next && !d->history_busy) {
		sn_timer_set(d->keep_timer, d->history_retry - now);
	}
}

void keep_events(struct sn_daemon *d)
{
	if (d->history_next < d->events.next && !d->history_busy)
		sn_timer_set(d->keep_timer, EVENTS_DELAY_MS);
}

int keep_start(struct sn_daemon *d, struct sn_err *err)
{
	/* Not at once: a clock that was wrong at start may be set right till then. */
	d->history_purge = sn_loop_now() + PURGE_MS;
	return sn_loop_timer(d->loop, on_keep, d, &d->keep_timer, err);
}

/* The threads have ended. */
void keep_end(struct sn_daemon *d)
{
	struct sn_err err;

	answer_waiting(d, UINT64_MAX);
	if (d->duty == SN_DUTY_IN_CHARGE && d->health && !sn_lead_check(&d->lead, NULL)) {
		char *text = NULL;
		size_t len;

		if (engine_state(d, &text, &len, &err) ||
		    sn_write_file(d->lead.dir, SN_HEALTHFILE, text, len, &err))
			sn_log_error("the health state could not be saved: %s", err.text);
		free(text);
		for (uint64_t id = d->history_next; d->history && id < d->events.next; id++)
			if (sn_events_get(&d->events, id) &&
			    sn_history_add(d->history, sn_events_get(&d->events, id), 1, NULL))
				break;
	}
	sn_history_close(d->history);
	d->history = NULL;
	sn_events_done(&d->events);
}
