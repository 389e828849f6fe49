/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * telling.c - what becomes an event, and what is too much of one source's.
 *
 * The ring, the history and the log are everybody's. What users cause by being refused is
 * counted beyond a line a minute (refusals.h); what the owner of a job causes by what its
 * snrun says, beyond what jobs have to tell (rates.h).
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "elastic/daemon.h"

/* A job that loses something each minute has two or three events of it. A user with as
 * many jobs as a cluster holds may have them all hit at once. */
static const struct sn_rate job_events = { 60, 12 }, user_events = { 2000, 200 };
/* Nodes and figures change; an snrun says so within seconds, and no more often. */
static const struct sn_rate job_requests = { 120, 600 };

enum { JOB_EVENTS = 1, USER_EVENTS, JOB_REQUESTS };

const struct sn_event *daemon_event(struct sn_daemon *d, const char *kind, const char *node,
				    uint32_t card, uint32_t job, uint32_t uid,
				    const char *fmt, ...)
{
	const struct sn_event *e;
	char text[SN_ERR_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!d->events.ring)
		return NULL;
	e = sn_events_add(&d->events, sn_daemon_now(), kind, node, card, job, uid, "%s", text);
	keep_events(d);
	followers_tell(d);
	return e;
}

void daemon_refused(struct sn_daemon *d, uint32_t uid, const char *from, const char *node,
		    uint32_t job, const char *fmt, ...)
{
	char source[64], text[SN_ERR_SIZE];
	va_list ap;

	if (uid == SN_NONE)
		snprintf(source, sizeof(source), "%s", from);
	else
		snprintf(source, sizeof(source), "user %u", uid);
	if (!sn_refusals_add(&d->refusals, source, sn_loop_now()))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	daemon_event(d, "refused", node, SN_NONE, job, uid, "%s", text);
}

void daemon_refused_tell(struct sn_daemon *d)
{
	char source[64];
	uint32_t more;

	while (sn_refusals_due(&d->refusals, sn_loop_now(), source, &more))
		daemon_event(d, "refused", NULL, SN_NONE, 0, SN_NONE,
			     "%s: %u more requests were refused", source, more);
}

/* ---- what a job's owner causes ---------------------------------------------------------- */

static uint64_t key_of(int what, uint32_t id)
{
	return (uint64_t)what << 32 | id;
}

static uint32_t owner_of(const struct sn_daemon *d, uint32_t job)
{
	const struct sn_view_job *is = sn_view_job(d->jobs, job);

	return is ? is->uid : SN_NONE;
}

static bool take_event(struct sn_daemon *d, int what, uint32_t id, const struct sn_rate *rate,
		       uint32_t job)
{
	const char *of = what == JOB_EVENTS ? "job" : "the jobs of user";
	uint32_t missed = 0;

	switch (sn_rates_take(&d->rates, key_of(what, id), rate, sn_loop_now(), &missed)) {
	case SN_RATE_FIRST:
		sn_log_info("%s %u caused more than %u events, and more than %u a minute: what is more is not told",
			    of, id, rate->burst, rate->a_minute);
		daemon_event(d, "refused", NULL, SN_NONE, job, what == USER_EVENTS ? id : SN_NONE,
			     "%s %u caused more than %u events, and more than %u a minute: what is more is not told",
			     of, id, rate->burst, rate->a_minute);
		return false;
	case SN_RATE_OVER:
		return false;
	default:
		if (missed)
			sn_log_info("%u events of %s %u were not told", missed, of, id);
		return true;
	}
}

bool daemon_may_tell(struct sn_daemon *d, uint32_t job)
{
	uint32_t owner = owner_of(d, job);

	if (take_event(d, JOB_EVENTS, job, &job_events, job) &&
	    (owner == SN_NONE || take_event(d, USER_EVENTS, owner, &user_events, job)))
		return true;
	d->metrics.untold++;
	return false;
}

bool daemon_may_ask(struct sn_daemon *d, uint32_t job)
{
	enum sn_rate_word word = sn_rates_take(&d->rates, key_of(JOB_REQUESTS, job), &job_requests,
					       sn_loop_now(), NULL);

	if (word == SN_RATE_FIRST)
		sn_log_info("the snrun of job %u says more than %u things, and more than %u a minute: what is more is refused",
			    job, job_requests.burst, job_requests.a_minute);
	return word == SN_RATE_TAKEN;
}
