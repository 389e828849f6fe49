/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caredo.c - what is decided for jobs that have lost something (care.h), carried out:
 * orders to their snruns, and what the daemon does itself.
 *
 * Nothing of it is kept, and orders to snruns are in no journal: what stands is seen again
 * by whoever is in charge next, as a daemon that is killed between an order and its effect
 * loses neither (tests/cluster/80-orders.t, at each point). Nor is any order done twice:
 *
 *	swap	what is left already is left; snrun starts ranks anew only where some are on it
 *	replace	refused where as many nodes stand in as are lost, and counted by Slurm, too
 *	requeue	an snrun does it once, and its end is that of the connection; the next run's
 *		snrun has other nodes, and nothing stands against it
 *
 * What the daemon does itself (a requeue without an snrun, a node that is taken out) goes
 * through the journal. An snrun that waits for help waits on while the daemon is away.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act.h"
#include "elastic/attach.h"
#include "elastic/caredo.h"
#include "elastic/daemon.h"
#include "elastic/metrics.h"
#include "topology/text.h"

#define GAP_MS 20 /* between looks */
#define CHECKERS 32 /* threads that see whether nodes answer: they mostly wait, 4 s for one that does not */
#define END_MS 3000 /* for them, at the end */

/* ---- orders ----------------------------------------------------------------------------- */

struct told {
	struct sn_daemon *d;
	uint32_t job;
	uint64_t number;
	char what[128];
};

static const char *order_text(const struct sn_control *order, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s%s%.64s", sn_control_name(order->op), *order->node ? " " : "",
			 order->node);

	for (uint32_t c = 0; c < 64 && n > 0 && (size_t)n < size; c++)
		if (order->cards >> c & 1)
			n += snprintf(buf + n, size - (size_t)n, "%c%u",
				      order->cards & ((UINT64_C(1) << c) - 1) ? ',' : ':', c);
	return buf;
}

static void say_told(struct sn_daemon *d, uint32_t job, const char *what, const char *why)
{
	if (!daemon_may_tell(d, job))
		return;
	sn_log_info("job %u is not told to %s: %s", job, what, why);
	daemon_event(d, "elastic", NULL, SN_NONE, job, SN_NONE, "not done, and tried again later: %s: %s",
		     what, why);
}

static void on_told(void *ctx, int rc, const char *error, const struct sn_attach *a)
{
	struct told *t = ctx;
	struct sn_daemon *d = t->d;

	(void)a;
	if (!d->stopping && d->caring) {
		if (rc)
			say_told(d, t->job, t->what, error);
		sn_care_told(d->caring->care, t->job, t->number, rc, sn_loop_now());
		care_soon(d);
	}
	free(t);
}

static int tell(struct sn_daemon *d, const struct sn_care_decision *decision,
		const struct sn_control *order, struct sn_err *err)
{
	struct told *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return sn_err_set(err, -ENOMEM, "no memory");
	t->d = d;
	t->job = decision->job;
	t->number = decision->number;
	order_text(order, t->what, sizeof(t->what));
	rc = attach_tell(d, decision->job, order, decision->plan->why, on_told, t, err);
	if (rc)
		free(t);
	return rc;
}

static int requeue(struct sn_daemon *d, const struct sn_care_decision *decision, struct sn_err *err)
{
	struct sn_act act = { .kind = SN_ACT_REQUEUE, .job = decision->job,
			      .restarts = decision->restarts };
	int rc;

	snprintf(act.why, sizeof(act.why), "%s", decision->plan->why);
	rc = act_do(d, &act, NULL, err);
	/* It is under way, or was done a moment ago: the tables will tell. */
	return rc == -EAGAIN ? 0 : rc;
}

/* ---- decisions ------------------------------------------------------------------------------ */

static void say_options(uint32_t job, const struct sn_ladder_plan *plan)
{
	struct sn_buf b = { 0 };

	for (int m = 0; m < SN_MEANS_GIVE_UP; m++)
		if (plan->option[m].can)
			sn_buf_add(&b, "%s%s %.0f", b.text ? ", " : "",
				   sn_means_name((enum sn_means)m), plan->option[m].cost);
	sn_log_debug("elastic: job %u: what could be done, and its card-seconds: %s", job,
		     b.text ? b.text : "nothing");
	sn_buf_done(&b);
}

static void say_decision(struct sn_daemon *d, const struct sn_care_decision *decision)
{
	const struct sn_ladder_plan *plan = decision->plan;
	const char *dry = d->options.dry_run && decision->how > SN_CARE_ALONE ? "dry-run, not done: " : "";
	const char *alone = decision->how == SN_CARE_ALONE ? "; left to its snrun" : "";

	say_options(decision->job, plan);
	if (decision->again) {
		sn_log_debug("elastic: job %u, again: %s", decision->job, plan->why);
		return;
	}
	metrics_decision(d, plan->means);
	if (!daemon_may_tell(d, decision->job))
		return;
	sn_log_info("elastic: job %u: %s%s%s", decision->job, dry, plan->why, alone);
	daemon_event(d, "elastic", *decision->node ? decision->node : NULL, decision->card,
		     decision->job, SN_NONE, "%s%s%s", dry, plan->why, alone);
}

static void decided(void *arg, const struct sn_care_decision *decision)
{
	struct sn_daemon *d = arg;
	struct sn_err err = { "" };
	int rc = 0;

	say_decision(d, decision);
	if (d->options.dry_run)
		return;
	for (uint32_t i = 0; !rc && i < decision->n_orders; i++)
		rc = tell(d, decision, &decision->order[i], &err);
	if (!rc && decision->how == SN_CARE_REQUEUE)
		rc = requeue(d, decision, &err);
	if (!rc)
		return;
	if (!decision->again)
		say_told(d, decision->job, sn_means_name(decision->plan->means), err.text);
	sn_care_told(d->caring->care, decision->job, decision->number, rc, sn_loop_now());
}

static void relieved(void *arg, const struct sn_care_relief *r)
{
	struct sn_daemon *d = arg;

	if (!daemon_may_tell(d, r->job))
		return;
	sn_log_info("elastic: job %u is without %s after %.1f s, dp=%u", r->job, r->node, r->seconds, r->dp);
	daemon_event(d, "elastic", r->node, SN_NONE, r->job, SN_NONE,
		     "the job runs without what was wrong at %s, %.1f s after it was decided (%s): dp=%u, generation %u",
		     r->node, r->seconds, sn_means_name(r->means), r->dp, r->generation);
}

static void puzzled(void *arg, uint32_t job, const char *why)
{
	(void)arg;
	sn_log_error("elastic: nothing can be decided for job %u: %s", job, why);
}

/* ---- looking ------------------------------------------------------------------------------------ */

static const struct sn_attach *attach_of(void *arg, uint32_t job)
{
	return attach_state(arg, job);
}

void care_eyes(struct sn_daemon *d, struct sn_care_eyes *ret)
{
	*ret = (struct sn_care_eyes){
		.topo = d->topo, .nodes = d->nodes, .jobs = d->jobs, .numbering = d->numbering,
		.attach = attach_of, .arg = d, .now = sn_daemon_now(), .ms = sn_loop_now(),
	};
}

const struct sn_care *care_of(const struct sn_daemon *d)
{
	return d->caring ? d->caring->care : NULL;
}

static void look(struct sn_daemon *d)
{
	const struct sn_care_calls calls = { decided, relieved, puzzled, d };
	struct sn_health_actions marks = { 0 };
	uint32_t gone[CARE_GONE_MAX];
	struct sn_care_eyes eyes;
	struct sn_err err;
	int64_t next;

	if (d->duty != SN_DUTY_IN_CHARGE || d->stopping || !d->adopted || !d->nodes || !d->jobs)
		return;
	care_eyes(d, &eyes);
	d->caring->looked = eyes.ms;
	care_find_gone(d, gone, &eyes.n_gone);
	eyes.gone = gone;
	if (!sn_health_wanted(d->health, &marks, &err)) {
		eyes.mark = marks.action;
		eyes.n_marks = marks.n;
		if (sn_care_look(d->caring->care, &d->conf.care, &eyes, &calls, &err))
			sn_log_limited(SN_LOG_ERROR, "elastic: %s; looking again later", err.text);
	}
	sn_health_actions_done(&marks);
	care_check_silent(d);
	next = sn_care_next(d->caring->care) - eyes.ms;
	if (next < INT64_MAX / 4)
		sn_timer_set(d->caring->timer, next > 0 ? next : 0);
}

static void on_timer(void *ctx)
{
	look(ctx);
}

void care_follow(struct sn_daemon *d)
{
	if (d->caring)
		look(d);
}

/* Not at once: several things may come together, and the caller may be amid one. */
void care_soon(struct sn_daemon *d)
{
	int64_t left = d->caring ? d->caring->looked + GAP_MS - sn_loop_now() : 0;

	if (d->caring)
		sn_timer_set(d->caring->timer, left > 0 ? left : 0);
}

/* ---- beginning and end ----------------------------------------------------------------------------- */

int care_start(struct sn_daemon *d, struct sn_err *err)
{
	struct sn_caring *c = d->caring = calloc(1, sizeof(*c));
	int rc;

	if (!c || !(c->gone = calloc(CARE_GONE_MAX, sizeof(*c->gone))))
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = sn_care_create(&c->care, err);
	if (!rc)
		rc = sn_loop_timer(d->loop, on_timer, d, &c->timer, err);
	if (!rc)
		rc = sn_pool_create(d->loop, "check", CHECKERS, &c->pool, err);
	if (!rc && attach_listen(d, care_news))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	return rc;
}

void care_take_charge(struct sn_daemon *d)
{
	struct sn_care *fresh;
	struct sn_err err;

	if (!d->caring || sn_care_create(&fresh, &err))
		return;
	sn_care_destroy(d->caring->care);
	d->caring->care = fresh;
	d->caring->n_gone = 0;
}

void care_end(struct sn_daemon *d)
{
	struct sn_caring *c = d->caring;

	if (!c)
		return;
	if (c->pool)
		(void)sn_pool_destroy(c->pool, END_MS);
	d->caring = NULL;
	sn_care_destroy(c->care);
	free(c->gone);
	free(c);
}
