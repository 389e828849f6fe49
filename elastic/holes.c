/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holes.c - what Slurm leaves undone.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/holes.h"
#include "topology/hostlist.h"
#include "topology/jobcomment.h"

struct find {
	const struct sn_view_nodes *nodes;
	const struct sn_view_jobs *jobs;
	time_t now;
	uint32_t requeue_wait;
	time_t booted;
	struct sn_act *act;
	uint32_t n, max;
};

bool sn_holes_is_parallel(const char *options)
{
	static const char key[] = "parallel=";
	const char *at = options ? strstr(options, SN_JOBCOMMENT_MARK) : NULL, *end;

	if (!at)
		return false;
	at += strlen(SN_JOBCOMMENT_MARK);
	end = at + strcspn(at, " \t\n");
	while (at < end) {
		if (!strncmp(at, key, sizeof(key) - 1))
			return true;
		at += strcspn(at, ";");
		at += *at == ';';
	}
	return false;
}

bool sn_holes_is_requeue_wait(time_t submit, time_t begin, time_t now, uint32_t requeue_wait)
{
	/* The two are set within a second, by a clock that may go on between them. */
	return requeue_wait && begin > now && begin - submit >= (time_t)requeue_wait - 2 &&
		begin - submit <= (time_t)requeue_wait + 2;
}

bool sn_holes_gone(const struct sn_view_nodes *nodes, const char *required, char *ret,
		   size_t size)
{
	struct sn_names names = { 0 };
	bool gone = false;

	if (!*required || sn_hostlist_expand(required, &names, NULL))
		return false;
	for (size_t i = 0; i < names.n && !gone; i++) {
		const struct sn_view_node *node = sn_view_node(nodes, names.name[i]);

		gone = !node || node->down || node->drained || node->failing;
		if (gone)
			snprintf(ret, size, "%s", names.name[i]);
	}
	sn_names_done(&names);
	return gone;
}

static struct sn_act *add(struct find *f, enum sn_act_kind kind, const struct sn_view_job *job)
{
	struct sn_act *more;

	if (f->n == f->max) {
		more = realloc(f->act, ((size_t)f->max * 2 + 16) * sizeof(*more));
		if (!more)
			return NULL;
		f->act = more;
		f->max = f->max * 2 + 16;
	}
	more = &f->act[f->n++];
	memset(more, 0, sizeof(*more));
	more->kind = kind;
	more->job = job->id;
	more->restarts = job->ours->restarts;
	return more;
}

/* ---- a job without its script ------------------------------------------------------------ */

static bool has_node(const struct find *f, const struct sn_view_job *job, const char *name)
{
	for (uint32_t i = 0; i < job->n_nodes; i++)
		if (job->node[i] >= f->nodes->n || !strcmp(f->nodes->node[job->node[i]].name, name))
			return true; /* a node that the table has not yet may be it */
	return false;
}

static int look_at_running(struct find *f, const struct sn_view_job *job)
{
	const struct sn_view_ours *o = job->ours;
	struct sn_act *act;

	if (!o->batch || !*o->batch_host || !job->n_nodes || job->completing ||
	    has_node(f, job, o->batch_host))
		return 0;
	act = add(f, SN_ACT_REQUEUE, job);
	if (!act)
		return -ENOMEM;
	snprintf(act->node, sizeof(act->node), "%s", o->batch_host);
	snprintf(act->why, sizeof(act->why), "its batch host %.64s is lost, and so is its script",
		 o->batch_host);
	return 0;
}

/* ---- a member without a base --------------------------------------------------------------- */

static const char *base_trouble(const struct find *f, const struct sn_view_job *member)
{
	const struct sn_view_job *base = sn_view_job(f->jobs, member->ours->member_of);

	/* Ids come again, as another's. */
	if (!base || base->uid != member->uid || !base->ours)
		return "has ended";
	if (base->running)
		return base->ours->restarts == member->ours->member_restarts ? NULL : "has been requeued";
	/* While the base ends its ranks may still be saving, also those in its members;
	 * its snrun cancels these itself. */
	if (base->completing && !member->pending)
		return NULL;
	return base->pending ? "has been requeued" : "has ended";
}

static int look_at_member(struct find *f, const struct sn_view_job *job)
{
	const char *trouble = base_trouble(f, job);
	struct sn_act *act;

	if (!trouble || (!job->running && !job->pending))
		return 0;
	act = add(f, SN_ACT_CANCEL, job);
	if (!act)
		return -ENOMEM;
	snprintf(act->why, sizeof(act->why), "it is a member of job %u, which %s",
		 job->ours->member_of, trouble);
	return 0;
}

/* ---- a job that slurmctld holds ----------------------------------------------------------------- */

#define BOOT_S 600 /* after it nodes have told slurmctld what they run, and its saved state is past */
#define SECOND_S 60

uint32_t sn_holes_release_wait(uint32_t failures)
{
	return failures > 1 ? SECOND_S : 0;
}

static int look_at_held(struct find *f, const struct sn_view_job *job)
{
	const struct sn_view_ours *o = job->ours;
	struct sn_act *act;

	/* submit: when it was requeued, by slurmctld's clock as booted is. */
	if (job->completing || o->launch_failures > SN_HOLES_RELEASES || !f->booted ||
	    o->submit < f->booted || o->submit - f->booted > BOOT_S)
		return 0;
	act = add(f, SN_ACT_RELEASE, job);
	if (!act)
		return -ENOMEM;
	snprintf(act->why, sizeof(act->why),
		 "held as its launch has failed, %lld s after slurmctld was started, which did not know that it ran",
		 (long long)(o->submit - f->booted));
	return 0;
}

/* ---- a job that need not wait --------------------------------------------------------------- */

static int look_at_pending(struct find *f, const struct sn_view_job *job)
{
	const struct sn_view_ours *o = job->ours;
	char node[SN_CONTROL_NODE_MAX] = "";
	bool waits = sn_holes_is_requeue_wait(o->submit, o->begin, f->now, f->requeue_wait), gone;
	struct sn_act *act;

	if (o->launch_failures)
		return look_at_held(f, job);
	if (job->completing || !o->restarts || !o->priority)
		return 0;
	/* Somebody wants it to. */
	if (!waits && o->begin > f->now)
		return 0;
	gone = sn_holes_gone(f->nodes, o->required, node, sizeof(node));
	if (!waits && !gone)
		return 0;
	act = add(f, SN_ACT_START, job);
	if (!act)
		return -ENOMEM;
	strcpy(act->node, node);
	if (waits && gone)
		snprintf(act->why, sizeof(act->why),
			 "requeued, it would wait for %lld s, and its -w names %.64s, which is gone",
			 (long long)(o->begin - f->now), node);
	else if (waits)
		snprintf(act->why, sizeof(act->why), "requeued, it would wait for %lld s",
			 (long long)(o->begin - f->now));
	else
		snprintf(act->why, sizeof(act->why), "requeued, its -w names %.64s, which is gone", node);
	return 0;
}

int sn_holes_find(const struct sn_view_nodes *nodes, const struct sn_view_jobs *jobs,
		  const struct sn_elastic_policy *policy, time_t now,
		  uint32_t requeue_wait, time_t booted, struct sn_act **ret, uint32_t *ret_n,
		  struct sn_err *err)
{
	struct find f = { nodes, jobs, now, requeue_wait, booted, NULL, 0, 0 };
	int rc = 0;

	*ret = NULL;
	*ret_n = 0;
	for (uint32_t i = 0; nodes && jobs && i < jobs->n && !rc; i++) {
		const struct sn_view_job *job = &jobs->job[i];
		const struct sn_elastic_rule *rule;

		if (!job->ours || !sn_holes_is_parallel(job->ours->options))
			continue;
		rule = policy ? sn_elastic_policy_find(policy, job->ours->account) : NULL;
		if (rule && rule->off)
			continue;
		if (job->ours->member_of)
			rc = look_at_member(&f, job);
		else if (job->running && !(rule && rule->forbidden & 1u << SN_MEANS_REQUEUE))
			rc = look_at_running(&f, job);
		else if (job->pending)
			rc = look_at_pending(&f, job);
	}
	if (rc) {
		free(f.act);
		return sn_err_set(err, rc, "no memory");
	}
	*ret = f.act;
	*ret_n = f.n;
	return 0;
}
