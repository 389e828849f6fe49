/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act.c - the way of an action: into the journal, done, into the journal.
 *
 * All that is not ended is a list here, and nothing of it is only here once it is
 * begun. One thread writes the journal and one does what Slurm is to do, each one
 * piece of work at a time; what comes meanwhile waits in the list.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act_internal.h"
#include "elastic/actslurm.h"
#include "elastic/attach.h"

#define RETRY_MIN_MS 200
#define RETRY_MAX_MS 5000
#define LATE_S 120 /* an order is old then: slurmctld was away, or the daemon */
#define TELL_PATIENCE_MS 30000 /* for the job's snrun to come (back) */

int64_t act_retry_in(uint32_t tries)
{
	int64_t ms = RETRY_MIN_MS;

	while (tries-- && ms < RETRY_MAX_MS)
		ms *= 2;
	return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

void act_wake(struct sn_daemon *d, int64_t in_ms)
{
	struct sn_acts *a = d->acts;
	int64_t at = sn_loop_now() + in_ms;

	if (a->wake_at && a->wake_at <= at)
		return;
	a->wake_at = at;
	sn_timer_set(a->timer, in_ms);
}

/* ---- the end of one ---------------------------------------------------------------------- */

static void say_end(struct sn_daemon *d, const struct act_entry *e)
{
	char what[160];
	const struct sn_act *act = &e->act;
	uint32_t job = act->kind == SN_ACT_NODE_OUT ? 0 : act->job;
	const char *node = *act->node && act->kind != SN_ACT_START ? act->node : NULL;
	const char *kind = act->kind == SN_ACT_REGION_OUT ? "pool" : "elastic";

	sn_act_text(act, what, sizeof(what));
	if (e->end == SN_ACT_DRY)
		sn_log_info("dry-run: would %s: %s", what, act->why);
	else
		sn_log_info("action %llu: %s: %s; %s%s%s", (unsigned long long)act->id, what,
			    act->why, sn_act_end_name(e->end), *e->text ? ": " : "", e->text);
	/* A region was made: that is told by who has it made. */
	if (e->end == SN_ACT_VOID && e->watch.begun)
		return;
	if (e->end == SN_ACT_DRY)
		daemon_event(d, kind, node, SN_NONE, job, SN_NONE,
			     "dry-run: would %s: %s", what, act->why);
	else
		daemon_event(d, kind, node, SN_NONE, job, SN_NONE,
			     "%s: %s; %s%s%s", what, act->why, sn_act_end_name(e->end),
			     *e->text ? ": " : "", e->text);
}

void act_finish(struct sn_daemon *d, struct act_entry *e, enum sn_act_end end, const char *text)
{
	e->end = end;
	snprintf(e->text, sizeof(e->text), "%s", text);
	e->state = ACT_ENDED;
	/* A region may be made and deleted within a moment. */
	if (e->act.kind != SN_ACT_REGION_OUT)
		act_recent_add(d->acts, &e->act, end);
	d->metrics.actions[e->act.kind][end]++;
	say_end(d, e);
	if (end == SN_ACT_DONE)
		follow_poll(d);
	act_go_on(d);
}

static void answer(struct sn_daemon *d, struct sn_request *r, uint64_t id)
{
	struct json_object *o = request_ok();

	if (o)
		json_object_object_add(o, "id", json_object_new_int64((int64_t)id));
	request_answer(d, r, o);
}

void act_answer(struct sn_daemon *d, struct sn_request *r, uint64_t id)
{
	struct act_entry *e = act_of(d->acts, id);

	if (e && e->state == ACT_WANTED && !e->request)
		e->request = r;
	else
		answer(d, r, id);
}

void act_begun(struct sn_daemon *d, struct act_entry *e)
{
	struct sn_request *r = e->request;

	e->state = e->watch.begun ? ACT_HELD : ACT_BEGUN;
	e->request = NULL;
	if (r)
		answer(d, r, e->act.id);
	if (e->watch.begun)
		e->watch.begun(d, e->watch.ctx);
}

void act_settled(struct sn_daemon *d, struct act_entry *e)
{
	if (e->watch.ended)
		e->watch.ended(d, e->watch.ctx, e->end, e->text);
	act_forget(d->acts, e);
}

/* ---- what Slurm is to do ------------------------------------------------------------------ */

struct act_run {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead;
	struct sn_act act;
	bool late;
	int rc;
	enum sn_act_end end;
	struct sn_err text;
};

static void run_run(struct sn_work *work)
{
	struct act_run *r = (struct act_run *)work;

	r->rc = sn_lead_check(&r->lead, &r->text);
	if (!r->rc)
		r->rc = sn_act_in_slurm(&r->act, r->late, &r->end, &r->text);
}

static void say_waits(struct sn_daemon *d, struct act_entry *e, const char *why)
{
	char what[160];

	if (e->told || e->tries < 3)
		return;
	e->told = true;
	sn_act_text(&e->act, what, sizeof(what));
	sn_log_info("action %llu waits: %s: %s", (unsigned long long)e->act.id, what, why);
	daemon_event(d, "elastic", NULL, SN_NONE, e->act.job, SN_NONE, "waits: %s: %s", what, why);
}

static void run_done(struct sn_work *work)
{
	struct act_run *r = (struct act_run *)work;
	struct sn_daemon *d = r->d;
	struct act_entry *e = act_of(d->acts, r->act.id);

	d->acts->running = false;
	if (d->stopping || !e) {
		/* the next daemon will see */
	} else if (!r->rc) {
		act_finish(d, e, r->end, r->text.text);
	} else {
		e->state = ACT_BEGUN;
		e->next_try = sn_loop_now() + act_retry_in(e->tries++);
		if (r->rc == -EBUSY)
			sn_log_debug("action %llu: %s", (unsigned long long)r->act.id, r->text.text);
		else
			sn_log_limited(SN_LOG_ERROR, "action %llu is tried again: %s",
				       (unsigned long long)r->act.id, r->text.text);
		say_waits(d, e, r->text.text);
		act_go_on(d);
	}
	free(r);
}

static bool start_run(struct sn_daemon *d, struct act_entry *e)
{
	struct act_run *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	r->work = (struct sn_work){ run_run, run_done, NULL };
	r->d = d;
	r->lead = d->lead;
	r->act = e->act;
	r->late = sn_daemon_now() - e->act.at > LATE_S;
	r->rc = -ECANCELED;
	d->acts->running = true;
	e->state = ACT_DOING;
	sn_pool_give(d->slurm_write, &r->work);
	return true;
}

/* ---- what the job's snrun is to do ----------------------------------------------------------- */

struct told {
	struct sn_daemon *d;
	uint64_t id;
};

static void wait_a_turn(struct act_entry *e)
{
	e->state = ACT_BEGUN;
	e->next_try = sn_loop_now() + act_retry_in(e->tries++);
}

/* It may have the order, where its answer has not come: it knows it again by its id. */
static void on_told(void *ctx, int rc, const char *error, const struct sn_attach *attach)
{
	struct told *t = ctx;
	struct sn_daemon *d = t->d;
	struct act_entry *e = d->acts ? act_of(d->acts, t->id) : NULL;

	(void)attach;
	free(t);
	if (d->stopping || !e || rc == -ECANCELED)
		return;
	if (!rc)
		act_finish(d, e, SN_ACT_DONE, "");
	else if (rc == -ETIMEDOUT || rc == -ENOTCONN)
		wait_a_turn(e);
	else
		act_finish(d, e, SN_ACT_FAILED, error);
	act_go_on(d);
}

static void tell(struct sn_daemon *d, struct act_entry *e)
{
	const struct sn_view_job *job = sn_view_job(d->jobs, e->act.job);
	struct sn_control order = { .op = e->act.op, .dp = e->act.dp, .cards = e->act.cards };
	struct told *t;
	struct sn_err err;

	if (d->jobs && (!job || !job->running || !job->ours || job->ours->restarts != e->act.restarts)) {
		act_finish(d, e, SN_ACT_VOID, job ? "it has been requeued" : "it has ended");
		return;
	}
	if (!e->since)
		e->since = sn_loop_now();
	if (sn_loop_now() - e->since > TELL_PATIENCE_MS) {
		act_finish(d, e, SN_ACT_FAILED, "its snrun is not attached, or does not answer");
		return;
	}
	snprintf(order.id, sizeof(order.id), "act-%llu", (unsigned long long)e->act.id);
	strcpy(order.node, e->act.node);
	t = malloc(sizeof(*t));
	if (t)
		*t = (struct told){ d, e->act.id };
	e->state = ACT_DOING;
	if (t && !attach_tell(d, e->act.job, &order, e->act.why, on_told, t, &err))
		return;
	free(t);
	wait_a_turn(e);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* The next to be done, of those whose time has come; else when one's has. */
static struct act_entry *next_begun(struct sn_acts *a, int64_t now, int64_t *ret_at)
{
	for (struct act_entry *e = a->first; e; e = e->next) {
		if (e->state != ACT_BEGUN || (e->act.kind != SN_ACT_TELL && a->running))
			continue;
		if (e->next_try <= now)
			return e;
		if (!*ret_at || e->next_try < *ret_at)
			*ret_at = e->next_try;
	}
	return NULL;
}

void act_go_on(struct sn_daemon *d)
{
	struct sn_acts *a = d->acts;
	struct act_entry *e;
	int64_t now = sn_loop_now(), at = 0;

	if (d->duty != SN_DUTY_IN_CHARGE || d->stopping || a->busy)
		return;
	act_load(d);
	/* What is ended on the way goes on here, and not deeper. */
	a->busy = true;
	act_keep(d);
	while (a->ready && (e = next_begun(a, now, &at))) {
		if (e->act.kind == SN_ACT_TELL) {
			tell(d, e);
		} else if (!start_run(d, e)) {
			at = now + RETRY_MAX_MS;
			break;
		}
	}
	act_keep(d);
	a->busy = false;
	if (at)
		act_wake(d, at > now ? at - now : 0);
}

static int check(const struct sn_act *act, struct sn_err *err)
{
	if ((unsigned)act->kind >= SN_ACT_KINDS)
		return sn_err_set(err, -EINVAL, "there is no action %d", (int)act->kind);
	if (!sn_act_has_object(act))
		return sn_err_set(err, -EINVAL, "%s: of nothing", sn_act_kind_name(act->kind));
	return 0;
}

int act_watch(struct sn_daemon *d, const struct sn_act *act, const struct sn_act_watch *watch,
	      uint64_t *ret_id, struct sn_err *err)
{
	struct sn_acts *a = d->acts;
	struct act_entry *e;
	int rc = check(act, err);

	if (rc)
		return rc;
	for (e = a->bucket[act_bucket(act)]; e; e = e->other)
		if (e->state != ACT_ENDED && e->state != ACT_PARKED && sn_act_same(&e->act, act))
			break;
	if (e && watch)
		return sn_err_set(err, -EALREADY, "that is under way already");
	if (e) {
		if (ret_id)
			*ret_id = e->act.id;
		return 0;
	}
	if (d->duty != SN_DUTY_IN_CHARGE || !a->ready)
		return sn_err_set(err, -EAGAIN, "the journal has not been read yet");
	if (act_recent_wait(a, act, INT64_MAX))
		return sn_err_set(err, -EAGAIN, "the same has ended a moment ago");
	e = act_add(a, act, ACT_WANTED);
	if (!e)
		return sn_err_set(err, -ENOMEM, "no memory");
	e->act.id = a->next_id++;
	e->act.at = sn_daemon_now();
	if (watch)
		e->watch = *watch;
	if (ret_id)
		*ret_id = e->act.id;
	act_go_on(d);
	return 0;
}

int act_do(struct sn_daemon *d, const struct sn_act *act, uint64_t *ret_id,
	   struct sn_err *err)
{
	return act_watch(d, act, NULL, ret_id, err);
}

void act_let(struct sn_daemon *d, uint64_t id)
{
	struct act_entry *e = act_of(d->acts, id);

	if (e && e->state == ACT_HELD) {
		e->state = ACT_BEGUN;
		act_go_on(d);
	}
}

void act_void(struct sn_daemon *d, uint64_t id, const char *text)
{
	struct act_entry *e = act_of(d->acts, id);

	if (e && e->state == ACT_HELD)
		act_finish(d, e, SN_ACT_VOID, text);
}

bool act_under_way(const struct sn_daemon *d, enum sn_act_kind kind, uint32_t job,
		   const char *node)
{
	for (const struct act_entry *e = d->acts->first; e; e = e->next)
		if (e->state != ACT_ENDED && e->state != ACT_PARKED && e->act.kind == kind &&
		    (!job || e->act.job == job) && (!node || !strcmp(e->act.node, node)))
			return true;
	return false;
}

uint32_t act_open(const struct sn_daemon *d)
{
	uint32_t n = 0;

	for (const struct act_entry *e = d->acts->first; e; e = e->next)
		n += e->state != ACT_ENDED;
	return n;
}

bool act_is_ready(const struct sn_daemon *d)
{
	return d->acts->ready;
}

const char *act_journal(const struct sn_daemon *d)
{
	if (!d->acts->ready)
		return d->acts->failures ? "cannot be read" : "not read yet";
	return d->acts->failures ? "cannot be written" : "written";
}

void act_take_charge(struct sn_daemon *d)
{
	act_load(d);
}

static void on_wake(void *ctx)
{
	struct sn_daemon *d = ctx;

	d->acts->wake_at = 0;
	act_go_on(d);
}

int act_start(struct sn_daemon *d, struct sn_err *err)
{
	d->acts = calloc(1, sizeof(*d->acts));
	if (!d->acts)
		return sn_err_set(err, -ENOMEM, "no memory");
	d->acts->journal.fd = -1;
	return sn_loop_timer(d->loop, on_wake, d, &d->acts->timer, err);
}

/* The threads have ended, or are left to themselves. */
void act_end(struct sn_daemon *d)
{
	struct sn_acts *a = d->acts;

	if (!a)
		return;
	while (a->first) {
		a->first->end = SN_ACT_ENDS;
		act_settled(d, a->first);
	}
	if (!a->keeping)
		sn_journal_done(&a->journal);
	sn_timer_end(a->timer);
	free(a->recent);
	free(a);
	d->acts = NULL;
}
