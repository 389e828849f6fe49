/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * follow.c - nodes and jobs, polled.
 *
 * slurmctld has no subscriptions, so it is asked once a second for what has
 * changed since. One thread asks; while slurmctld is away it waits there.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elastic/act.h"
#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "topology/place.h"

#define JOB_GRACE_MS 5000
#define SLOW_MS 4000
#define GAP_MS 250 /* between polls, whoever asks for one */
/* slurmctld sends all of its jobs when one has changed, megabytes on a large and busy
 * cluster. No more of a core than this goes into that; five times as much where somebody
 * asks, or nodes come or go. Nodes are a tenth of it, and looked at each time. */
#define PART_OF_CORE 40
#define PART_OF_CORE_ASKED 8
/* Nodes hint at what slurmctld is about to learn: it is looked for so long. */
#define HINT_MS 2000
/* Looks by hints, and those that come by themselves, may be so far ahead of their
 * PART_OF_CORE of time: on a large cluster two or three come at once, on a small one all. */
#define HINTS_AHEAD_MS 10000

struct poll {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_view_since since;
	char card_gres[SN_POLICY_NAME_MAX];
	int64_t began;
	bool asked; /* for jobs, too */
	bool own; /* nobody but time and hints has asked */
	bool with_jobs; /* they were */
	int64_t nodes_us, jobs_us; /* of CPU */
	struct sn_view_nodes *old_nodes, *nodes;
	struct sn_view_jobs *old_jobs, *jobs;
	int rc;
	struct sn_err err;
};

/* Of this thread. */
static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Have nodes come or gone? */
static bool are_others(const struct sn_view_nodes *a, const struct sn_view_nodes *b)
{
	if (!a || !b || a->n != b->n)
		return b;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->node[i].down != b->node[i].down || a->node[i].silent != b->node[i].silent ||
		    a->node[i].failing != b->node[i].failing)
			return true;
	return false;
}

static void poll_run(struct sn_work *work)
{
	struct poll *p = (struct poll *)work;
	int64_t from = cpu_us(), then;

	p->rc = sn_view_load_nodes(&p->since, p->card_gres, p->old_nodes, &p->nodes, &p->err);
	then = cpu_us();
	p->with_jobs = p->asked || !p->since.jobs || are_others(p->old_nodes, p->nodes);
	if (!p->rc && p->with_jobs)
		p->rc = sn_view_load_jobs(&p->since, p->card_gres, p->old_jobs, &p->jobs, &p->err);
	if (!p->rc && p->with_jobs)
		sn_view_load_requeue_wait(&p->since, p->began);
	p->nodes_us = then - from;
	p->jobs_us = cpu_us() - then;
}

static bool same_nodes(const struct sn_view_nodes *a, const struct sn_view_nodes *b)
{
	if (!a || !b || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->node[i].text != b->node[i].text && strcmp(a->node[i].name, b->node[i].name))
			return false;
	return true;
}

/*
 * Is what did not end still there? Only who looks at the node can tell, and such a process
 * may hold cards; so it is for an operator to have the node back.
 */
static void say_unkilled(struct sn_daemon *d, const struct sn_view_nodes *old)
{
	for (uint32_t i = 0; i < d->nodes->n; i++) {
		const struct sn_view_node *is = &d->nodes->node[i];
		const struct sn_view_node *was = is->unkilled ? sn_view_node(old, is->name) : NULL;

		if (!is->unkilled || (was && was->unkilled))
			continue;
		sn_log_info("node %s was drained by slurmd: a step did not end when it was killed", is->name);
		daemon_event(d, "slurm", is->name, SN_NONE, 0, SN_NONE,
			     "drained by slurmd, as a step did not end within UnkillableStepTimeout; where `ps` there shows none of its processes, `scontrol update nodename=%s state=resume` (Slurm before 25.05.1 drains nodes also where only a slurmstepd took long)",
			     is->name);
	}
}

/* Once, and anew where it changes. */
static void say_too_many(const struct sn_view_nodes *is, const struct sn_view_nodes *old)
{
	if (is->most_cards > SN_CARDS_MAX && (!old || old->most_cards != is->most_cards))
		sn_log_error("node %s has %llu cards, more than the %d of a node that can be told apart: ignoring those from number %d on",
			     is->node[is->most_at].name, (unsigned long long)is->most_cards,
			     SN_CARDS_MAX, SN_CARDS_MAX);
}

static int take_nodes(struct sn_daemon *d, struct poll *p, struct sn_err *err)
{
	struct sn_view_nodes *old = d->nodes;
	int rc = 0;

	d->nodes = p->nodes;
	p->nodes = NULL;
	if (!same_nodes(old, d->nodes))
		rc = engine_make(d, NULL, 0, err);
	if (!rc) {
		follow_compare(d, d->adopted ? old : NULL, p->began);
		say_unkilled(d, old);
		say_too_many(d->nodes, old);
		if (!d->adopted)
			keep_state(d);
		d->adopted = true;
	}
	sn_view_nodes_free(old);
	return rc;
}

void follow_job(struct sn_daemon *d, uint32_t job)
{
	void *more;

	for (uint32_t i = 0; i < d->n_report_jobs; i++) {
		if (d->report_job[i].id == job) {
			d->report_job[i].at = sn_loop_now();
			return;
		}
	}
	if (d->n_report_jobs == d->max_report_jobs) {
		more = realloc(d->report_job, (d->max_report_jobs * 2 + 16) * sizeof(*d->report_job));
		if (!more)
			return;
		d->report_job = more;
		d->max_report_jobs = d->max_report_jobs * 2 + 16;
	}
	d->report_job[d->n_report_jobs].id = job;
	d->report_job[d->n_report_jobs++].at = sn_loop_now();
}

/* Jobs that have ended take their baselines with them. */
static void end_jobs(struct sn_daemon *d, int64_t began)
{
	struct sn_health_actions actions = { 0 };
	bool changed = false;

	for (uint32_t i = 0; i < d->n_report_jobs;) {
		const struct sn_view_job *job = sn_view_job(d->jobs, d->report_job[i].id);

		if ((job && job->running) || d->report_job[i].at + JOB_GRACE_MS > began) {
			i++;
			continue;
		}
		if (!sn_health_job_done(d->health, d->report_job[i].id, sn_daemon_now(), &actions, NULL))
			changed |= engine_act(d, &actions, SN_NONE, d->report_job[i].id);
		sn_health_actions_done(&actions);
		d->report_job[i] = d->report_job[--d->n_report_jobs];
	}
	if (changed)
		keep_state(d);
}

static void run_held(struct sn_daemon *d)
{
	struct sn_request *r = d->held, *next;

	d->held = NULL;
	for (; r; r = next) {
		next = r->next;
		r->next = NULL;
		r->polled = true;
		request_run(d, r);
	}
}

static void say_slurm(struct sn_daemon *d, bool down, const char *why)
{
	if (down == d->slurm_down)
		return;
	d->slurm_down = down;
	if (down) {
		sn_log_error("%s; reports are kept, and what follows from them is written later", why);
		daemon_event(d, "slurm", NULL, SN_NONE, 0, SN_NONE, "%s", why);
	} else {
		sn_log_info("slurmctld answers again");
		daemon_event(d, "slurm", NULL, SN_NONE, 0, SN_NONE, "slurmctld answers again");
	}
}

/* libslurm tries for long; who waits for a mark should know sooner. */
void follow_watch(struct sn_daemon *d)
{
	if (d->polling && sn_loop_now() - d->poll_began > SLOW_MS)
		say_slurm(d, true, "slurmctld has not answered for seconds");
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Till a poll may begin that somebody has asked for: anybody can. */
static int64_t next_gap(const struct sn_daemon *d)
{
	int64_t gap = d->conf.policy.elasticd_poll < GAP_MS ? d->conf.policy.elasticd_poll : GAP_MS;
	int64_t dear = d->poll_jobs_us * PART_OF_CORE_ASKED / 1000;

	return larger(larger(d->poll_began + gap, d->jobs_began + dear) - sn_loop_now(), 0);
}

/* Till the next one that nobody asks for. */
static int64_t next_poll(const struct sn_daemon *d)
{
	return larger(d->conf.policy.elasticd_poll, d->poll_nodes_us * PART_OF_CORE / 1000);
}

static bool jobs_are_due(const struct sn_daemon *d)
{
	return d->jobs_began + d->poll_jobs_us * PART_OF_CORE / 1000 <= sn_loop_now();
}

/* Has nobody looked since a hint for as long as it takes to come true? */
static bool is_hinted(const struct sn_daemon *d)
{
	return d->hinted && d->jobs_began < d->hinted + HINT_MS;
}

/* Till the next one by hints. */
static int64_t next_hinted(const struct sn_daemon *d)
{
	return larger(next_gap(d), d->hints_paid - HINTS_AHEAD_MS - sn_loop_now());
}

static int64_t next_any(const struct sn_daemon *d)
{
	int64_t hinted = is_hinted(d) ? next_hinted(d) : INT64_MAX;

	if (d->poll_again || d->held)
		return next_gap(d);
	return hinted < next_poll(d) ? hinted : next_poll(d);
}

static void poll_done(struct sn_work *work)
{
	struct poll *p = (struct poll *)work;
	struct sn_daemon *d = p->d;
	bool changed = p->nodes || p->jobs;
	struct sn_err err;
	int rc = 0;

	d->polling = false;
	d->poll_nodes_us = p->nodes_us;
	if (p->with_jobs) {
		d->poll_jobs_us = p->jobs_us;
		d->jobs_began = p->began;
	}
	if (p->own && p->with_jobs)
		d->hints_paid = larger(d->hints_paid, p->began) +
			(p->nodes_us + p->jobs_us) * PART_OF_CORE / 1000;
	if (d->duty == SN_DUTY_IN_CHARGE && !d->stopping && p->rc != -ECANCELED) {
		say_slurm(d, p->rc, p->err.text);
		d->metrics.polls++;
		d->metrics.poll_failures += p->rc != 0;
		d->since_load = p->since;
		if (p->jobs) {
			sn_view_jobs_free(d->jobs);
			d->jobs = p->jobs;
			p->jobs = NULL;
			attach_jobs(d);
		}
		if (p->nodes)
			rc = take_nodes(d, p, &err);
		else if (!p->rc && d->n_recheck)
			follow_compare(d, d->nodes, p->began);
		if (rc) {
			sn_log_error("%s", err.text);
			sn_daemon_stop(d, 1);
		} else {
			if (!p->rc && p->with_jobs)
				end_jobs(d, p->began);
			if (!p->rc)
				act_follow(d, d->jobs_began, changed);
			write_some(d);
			care_follow(d);
			/* Who waits for jobs waits on. */
			if (p->with_jobs || p->rc)
				run_held(d);
			engine_wake(d);
		}
		sn_timer_set(d->poll_timer, next_any(d));
	}
	sn_view_nodes_free(p->nodes);
	sn_view_jobs_free(p->jobs);
	sn_view_nodes_free(p->old_nodes);
	sn_view_jobs_free(p->old_jobs);
	free(p);
}

static void poll(struct sn_daemon *d)
{
	struct poll *p;

	if (d->polling)
		return;
	if (d->duty != SN_DUTY_IN_CHARGE)
		return;
	p = calloc(1, sizeof(*p));
	if (!p) {
		/* Nothing else would have it tried again. */
		sn_timer_set(d->poll_timer, d->conf.policy.elasticd_poll);
		return;
	}
	p->work = (struct sn_work){ poll_run, poll_done, NULL };
	p->d = d;
	p->since = d->since_load;
	p->old_nodes = sn_view_nodes_use(d->nodes);
	p->old_jobs = sn_view_jobs_use(d->jobs);
	strcpy(p->card_gres, d->conf.policy.card_gres);
	p->own = !d->poll_again && !d->held;
	p->asked = !p->own || jobs_are_due(d) || (is_hinted(d) && !next_hinted(d));
	p->began = d->poll_began = sn_loop_now();
	d->poll_again = false;
	p->rc = -ECANCELED;
	d->polling = true;
	sn_pool_give(d->slurm_read, &p->work);
}

void follow_poll(struct sn_daemon *d)
{
	d->poll_again = true;
	poll(d);
}

void follow_soon(struct sn_daemon *d)
{
	d->poll_again = true;
	if (!next_gap(d))
		poll(d);
	else if (!d->polling)
		sn_timer_set(d->poll_timer, next_gap(d));
}

void follow_hint(struct sn_daemon *d)
{
	bool was = is_hinted(d);

	d->hinted = sn_loop_now();
	/* Else it comes anyway, no later than without the hint. */
	if (!was && !d->polling && next_hinted(d) < next_poll(d))
		sn_timer_set(d->poll_timer, next_any(d));
}

void follow_hold(struct sn_daemon *d, struct sn_request *r)
{
	r->next = d->held;
	d->held = r;
	follow_soon(d);
}

void follow_unknown(struct sn_daemon *d, uint32_t job)
{
	uint32_t i = job % (sizeof(d->unknown_job) / sizeof(*d->unknown_job));

	d->unknown_job[i].id = job;
	d->unknown_job[i].at = sn_loop_now();
}

bool follow_is_unknown(const struct sn_daemon *d, uint32_t job)
{
	uint32_t i = job % (sizeof(d->unknown_job) / sizeof(*d->unknown_job));

	return d->unknown_job[i].id == job && job &&
		sn_loop_now() - d->unknown_job[i].at < d->conf.policy.elasticd_poll;
}

static void on_poll(void *ctx)
{
	poll(ctx);
}

int follow_start(struct sn_daemon *d, struct sn_err *err)
{
	return sn_loop_timer(d->loop, on_poll, d, &d->poll_timer, err);
}

void follow_end(struct sn_daemon *d)
{
	while (d->held) {
		struct sn_request *next = d->held->next;

		request_free(d->held);
		d->held = next;
	}
	sn_view_nodes_free(d->nodes);
	sn_view_jobs_free(d->jobs);
	free(d->report_job);
	d->nodes = NULL;
	d->jobs = NULL;
	d->report_job = NULL;
}
