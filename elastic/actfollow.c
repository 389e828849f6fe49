/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actfollow.c - holes in the views, and what has ended of late.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act_internal.h"
#include "elastic/holes.h"

#define RECENT_MS (600 * 1000)
#define RECENT_MAX 8192
#define AGAIN_MS 2000 /* till the same may be wanted again */
#define REFUSED_MS 5000
#define AGAIN_DOUBLINGS 6

/* ---- what has ended of late --------------------------------------------------------------- */

static struct act_recent *find(const struct sn_acts *a, const struct sn_act *act)
{
	for (uint32_t i = a->recent_bucket[act_bucket(act)]; i; i = a->recent[i - 1].other)
		if (sn_act_same(&a->recent[i - 1].act, act))
			return &a->recent[i - 1];
	return NULL;
}

static void enter(struct sn_acts *a, uint32_t i, const struct sn_act *act)
{
	uint32_t *in = &a->recent_bucket[act_bucket(act)];

	a->recent[i].act = *act;
	a->recent[i].other = *in;
	*in = i + 1;
}

static void enter_all(struct sn_acts *a)
{
	memset(a->recent_bucket, 0, sizeof(a->recent_bucket));
	for (uint32_t i = 0; i < a->n_recent; i++)
		enter(a, i, &a->recent[i].act);
}

static void drop_old(struct sn_acts *a, int64_t now)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_recent; i++)
		if (a->recent[i].not_before > now || a->recent[i].at + RECENT_MS > now)
			a->recent[n++] = a->recent[i];
	a->n_recent = n;
	enter_all(a);
}

static void drop_oldest(struct sn_acts *a)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < a->n_recent; i++)
		if (a->recent[i].at < a->recent[oldest].at)
			oldest = i;
	a->recent[oldest] = a->recent[--a->n_recent];
	enter_all(a);
}

/* A new one; NULL: there is no memory. */
static struct act_recent *add(struct sn_acts *a, const struct sn_act *act, int64_t now)
{
	struct act_recent *more;

	if (a->n_recent == a->max_recent)
		drop_old(a, now);
	if (a->n_recent == a->max_recent && a->max_recent < RECENT_MAX) {
		more = realloc(a->recent, ((size_t)a->max_recent * 2 + 64) * sizeof(*more));
		if (more) {
			a->recent = more;
			a->max_recent = a->max_recent * 2 + 64;
		}
	}
	if (a->n_recent == a->max_recent) {
		if (!a->n_recent)
			return NULL;
		drop_oldest(a);
	}
	enter(a, a->n_recent, act);
	return &a->recent[a->n_recent++];
}

void act_recent_add(struct sn_acts *a, const struct sn_act *act, enum sn_act_end end)
{
	struct act_recent *r = find(a, act);
	int64_t now = sn_loop_now();
	uint32_t times = r && r->at + RECENT_MS > now ? r->times + 1 : 0;

	if (!r)
		r = add(a, act, now);
	if (!r)
		return;
	r->act = *act;
	r->end = end;
	r->times = times;
	r->at = now;
	/* What comes to nothing again and again comes ever less often. */
	r->not_before = now + ((int64_t)(end == SN_ACT_FAILED ? REFUSED_MS : AGAIN_MS) <<
			       (times < AGAIN_DOUBLINGS ? times : AGAIN_DOUBLINGS));
	if (end == SN_ACT_DRY)
		r->not_before = now + RECENT_MS; /* it is still as it was */
}

bool act_recent_wait(const struct sn_acts *a, const struct sn_act *act, int64_t seen)
{
	const struct act_recent *r = find(a, act);

	return r && (sn_loop_now() < r->not_before || seen <= r->at);
}

bool act_ended(const struct sn_daemon *d, enum sn_act_kind kind, uint32_t job,
	       const char *node, enum sn_act_end *ret, int64_t *ret_ago_ms)
{
	const struct act_recent *last = NULL;

	for (uint32_t i = 0; i < d->acts->n_recent; i++) {
		const struct act_recent *r = &d->acts->recent[i];

		if (r->act.kind == kind && (job ? r->act.job == job : node && !strcmp(r->act.node, node)) &&
		    (!last || r->at > last->at))
			last = r;
	}
	if (!last)
		return false;
	*ret = last->end;
	*ret_ago_ms = sn_loop_now() - last->at;
	return true;
}

/* ---- holes -------------------------------------------------------------------------------- */

/* It changes with the configuration; a bad one leaves the old one. */
static const struct sn_elastic_policy *policy_of(struct sn_daemon *d)
{
	struct sn_acts *a = d->acts;
	struct sn_err err;

	if (!a->looked || strcmp(a->policy_text, d->conf.policy.elastic_policy)) {
		if (sn_elastic_policy_parse(d->conf.policy.elastic_policy, &a->policy, &err))
			sn_log_limited(SN_LOG_ERROR, "%s", err.text);
		strcpy(a->policy_text, d->conf.policy.elastic_policy);
	}
	return &a->policy;
}

void act_follow(struct sn_daemon *d, int64_t began, bool changed)
{
	struct sn_acts *a = d->acts;
	struct sn_act *act = NULL;
	struct sn_err err;
	uint32_t n = 0;

	if (!a->ready || !d->nodes || !d->jobs)
		return;
	if (!changed && !a->holes && a->looked)
		return;
	if (sn_holes_find(d->nodes, d->jobs, policy_of(d), (time_t)sn_daemon_now(),
			  d->since_load.requeue_wait, d->since_load.booted, &act, &n, &err)) {
		sn_log_limited(SN_LOG_ERROR, "what Slurm has left undone is not looked for: %s", err.text);
		return;
	}
	a->looked = true;
	a->holes = n > 0;
	/* Of what has ended since the views were asked for they may tell what was before.
	 * They go on together, and not one by one. */
	a->busy = true;
	for (uint32_t i = 0; i < n; i++)
		if (!act_recent_wait(a, &act[i], began) && act_do(d, &act[i], NULL, &err) &&
		    err.text[0])
			sn_log_debug("%s", err.text);
	a->busy = false;
	free(act);
	act_go_on(d);
}
