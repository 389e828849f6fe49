/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * care.c - when to decide for a job, and what is then to be done.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/care_internal.h"

#define RETRY_MS 5000 /* after an order that failed; twice as much each time */
#define RETRY_MAX_MS 300000

int sn_care_create(struct sn_care **ret, struct sn_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return sn_err_set(err, -ENOMEM, "no memory");
	(*ret)->next = INT64_MAX;
	return 0;
}

void sn_care_destroy(struct sn_care *care)
{
	if (!care)
		return;
	for (uint32_t i = 0; i < care->n; i++)
		care_job_free(care->job[i]);
	sn_view_jobs_free(care->jobs);
	care_world_done(&care->world);
	free(care->job);
	free(care->hit);
	free(care);
}

/* ---- the jobs there are ------------------------------------------------------------------ */

static bool is_ours(const struct sn_view_job *job)
{
	return job->ours && job->running && !job->ours->member_of;
}

/* The next of the records, in the order of their ids: this job's, or a new one. What
 * has ended on the way goes. */
static struct care_job *find_job(struct sn_care *care, uint32_t *k, const struct sn_view_job *is)
{
	struct care_job *job = NULL, *old;

	while (*k < care->n && care->job[*k]->id < is->id)
		care_job_free(care->job[(*k)++]);
	old = *k < care->n && care->job[*k]->id == is->id ? care->job[(*k)++] : NULL;
	if (old && old->restarts == is->ours->restarts)
		return old;
	job = calloc(1, sizeof(*job));
	if (job) {
		job->id = is->id;
		job->restarts = is->ours->restarts;
		job->due = INT64_MAX;
		/* Another run of it: what was decided for the last is past. */
		if (old) {
			job->past = old->past;
			job->n_past = old->n_past;
			job->decisions = old->decisions;
			old->past = NULL;
		}
	}
	care_job_free(old);
	return job;
}

/* Both are by id: one walk over both. */
static int take_jobs(struct sn_care *care)
{
	const struct sn_view_jobs *jobs = care->eyes->jobs;
	struct care_job **fresh;
	uint32_t n = 0, k = 0;
	int rc = 0;

	if (jobs == care->jobs)
		return 0;
	for (uint32_t i = 0; i < jobs->n; i++)
		n += is_ours(&jobs->job[i]);
	fresh = calloc((size_t)n + 1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	n = 0;
	for (uint32_t i = 0; i < jobs->n; i++) {
		if (!is_ours(&jobs->job[i]))
			continue;
		fresh[n] = find_job(care, &k, &jobs->job[i]);
		if (fresh[n])
			care_job_take(fresh[n++], &jobs->job[i]);
		else
			rc = -ENOMEM;
	}
	while (k < care->n)
		care_job_free(care->job[k++]);
	free(care->job);
	care->job = fresh;
	care->n = n;
	sn_view_jobs_free(care->jobs);
	care->jobs = NULL;
	if (!rc)
		care->jobs = sn_view_jobs_use((struct sn_view_jobs *)(uintptr_t)jobs);
	return rc;
}

/* ---- whom to decide for --------------------------------------------------------------------- */

void care_puzzled(struct sn_care *care, struct care_job *job, const char *why)
{
	if (!job->puzzled)
		care->calls->puzzled(care->calls->arg, job->id, why);
	job->puzzled = true;
}

static void forget(struct care_job *job)
{
	job->key = 0;
	job->due = INT64_MAX;
	job->tries = job->n_told = job->n_took = job->refused = 0;
	job->at_once = false;
}

static void relieve(struct sn_care *care, struct care_job *job, const struct sn_attach *attach)
{
	struct sn_care_relief r = {
		.job = job->id, .means = job->means, .seconds = care->eyes->now - job->decided,
	};

	/* Without its snrun nobody knows. */
	if (attach && attach->here && job->how != SN_CARE_NOTHING) {
		snprintf(r.node, sizeof(r.node), "%s", job->node);
		r.generation = attach->state.generation;
		r.dp = attach->state.dp;
		care->calls->relieved(care->calls->arg, &r);
	}
	forget(job);
}

/* Its ranks are on their way. */
static bool is_between(const struct sn_attach *attach)
{
	return attach && attach->here && (attach->state.phase == SN_ATTACH_STARTING ||
					  attach->state.phase == SN_ATTACH_ENDING);
}

/* Cards that still run can wait until ranks do so again. */
static bool can_wait(const struct care_job *job, const struct sn_attach *attach)
{
	if (!attach || attach->state.phase == SN_ATTACH_RUNNING ||
	    attach->state.phase == SN_ATTACH_STUCK)
		return false;
	for (uint32_t i = 0; i < job->n_failures; i++)
		if (job->failure[i].kind != SN_FAIL_SUSPECT && job->failure[i].kind != SN_FAIL_SICK)
			return false;
	return true;
}

static bool hits_ranks(const struct care_job *job)
{
	for (uint32_t i = 0; i < job->n_failures; i++)
		if (!job->failure[i].spare)
			return true;
	return false;
}

static int note_hit(struct sn_care *care, uint32_t i)
{
	if (care->n_hit == care->max_hit) {
		uint32_t max = care->max_hit * 2 + 16;
		uint32_t *hit = realloc(care->hit, max * sizeof(*hit));

		if (!hit)
			return -ENOMEM;
		care->hit = hit;
		care->max_hit = max;
	}
	care->hit[care->n_hit++] = i;
	return 0;
}

static int glance(struct sn_care *care, uint32_t i, struct sn_err *err)
{
	struct care_job *job = care->job[i];
	const struct sn_attach *attach = care->eyes->attach(care->eyes->arg, job->id);
	uint64_t key;
	int rc;

	if (!job->good || sn_elastic_policy_find(&care->conf->policy, job->ours->account)->off)
		return 0;
	/* Of an earlier run of the job. */
	if (attach && attach->state.phase == SN_ATTACH_ENDED)
		attach = NULL;
	rc = care_job_failures(job, &care->world, care->eyes, attach, &key, err);
	if (rc)
		return rc;
	if (!key) {
		if (job->key && !is_between(attach))
			relieve(care, job, attach);
		return 0;
	}
	/* Only spares are left that are hit: the ranks are out of it. */
	if (job->key && job->how != SN_CARE_NOTHING && !hits_ranks(job) && !is_between(attach))
		relieve(care, job, attach);
	if ((key == job->key && care->eyes->ms < job->due) || can_wait(job, attach))
		return 0;
	job->stands = key;
	return note_hit(care, i) ? sn_err_set(err, -ENOMEM, "no memory") : 0;
}

/* ---- a look ---------------------------------------------------------------------------------- */

static int by_priority(const void *a, const void *b, void *arg)
{
	const struct sn_care *care = arg;
	const struct care_job *x = care->job[*(const uint32_t *)a];
	const struct care_job *y = care->job[*(const uint32_t *)b];

	if (x->ours->priority != y->ours->priority)
		return x->ours->priority > y->ours->priority ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* What earlier decisions use, and has not shown in the tables. */
static void take_off(struct sn_care *care)
{
	for (uint32_t i = 0; i < care->n_hit; i++)
		care->job[care->hit[i]]->n_took = 0;
	for (uint32_t i = 0; i < care->n; i++)
		for (uint32_t k = 0; k < care->job[i]->n_took; k++) {
			const struct care_took *t = &care->job[i]->took[k];
			uint32_t *nodes = &care->world.spare_nodes[t->supernode];
			uint32_t *cards = &care->world.free_cards[t->supernode];

			*nodes -= t->spare_nodes < *nodes ? t->spare_nodes : *nodes;
			*cards -= t->cards < *cards ? t->cards : *cards;
		}
}

static int decide_all(struct sn_care *care, struct sn_err *err)
{
	int rc = 0, last;

	if (!care->n_hit)
		return 0;
	rc = care_world_room(&care->world, care->eyes, err);
	if (rc)
		return rc;
	take_off(care);
	qsort_r(care->hit, care->n_hit, sizeof(*care->hit), by_priority, care);
	for (uint32_t i = 0; i < care->n_hit; i++) {
		last = care_decide(care, care->job[care->hit[i]], err);
		rc = last ? last : rc;
	}
	return rc;
}

int sn_care_look(struct sn_care *care, const struct sn_care_conf *conf,
		 const struct sn_care_eyes *eyes, const struct sn_care_calls *calls,
		 struct sn_err *err)
{
	bool renumbered;
	int rc, last;

	care->conf = conf;
	care->eyes = eyes;
	care->calls = calls;
	care->n_hit = 0;
	care->next = INT64_MAX;
	rc = care_world_see(&care->world, conf, eyes, &renumbered, err);
	if (!rc && take_jobs(care))
		rc = sn_err_set(err, -ENOMEM, "no memory for %u jobs", eyes->jobs->n);
	for (uint32_t i = 0; renumbered && i < care->n; i++) {
		care->job[i]->placed = false;
		care->job[i]->n_told = care->job[i]->n_took = 0;
	}
	for (uint32_t i = 0; !rc && i < care->n; i++)
		rc = glance(care, i, err);
	if (!rc) {
		last = decide_all(care, err);
		rc = last ? last : rc;
	}
	for (uint32_t i = 0; i < care->n; i++)
		if (care->job[i]->due < care->next)
			care->next = care->job[i]->due;
	return rc;
}

int64_t sn_care_next(const struct sn_care *care)
{
	return care->next;
}

int64_t care_retry_ms(const struct care_job *job)
{
	int64_t ms = RETRY_MS;

	for (uint32_t i = 0; i < job->tries && ms < RETRY_MAX_MS; i++)
		ms *= 2;
	return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

static struct care_job *find_id(const struct sn_care *care, uint32_t id)
{
	uint32_t lo = 0, hi = care->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (care->job[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < care->n && care->job[lo]->id == id ? care->job[lo] : NULL;
}

bool sn_care_waits(const struct sn_care *care, uint32_t job)
{
	const struct care_job *is = find_id(care, job);

	return is && is->key;
}

enum sn_attach_phase sn_care_phase(struct sn_care *care, uint32_t job, enum sn_attach_phase now)
{
	struct care_job *is = find_id(care, job);
	enum sn_attach_phase was = is ? is->phase : SN_ATTACH_STARTING;

	if (is)
		is->phase = now;
	return was;
}

void sn_care_told(struct sn_care *care, uint32_t id, uint64_t number, int rc, int64_t ms)
{
	struct care_job *job = find_id(care, id);

	uint32_t tell = care_same_order(SN_MEANS_SWAP) | care_same_order(SN_MEANS_REPLACE) |
		care_same_order(SN_MEANS_REQUEUE);

	if (!rc || !job || job->number != number)
		return;
	/* It has said no, and would again; else the order may not have come. Who stands in
	 * may be on its way. */
	if (rc == -EINVAL && !(job->means == SN_MEANS_REPLACE && job->comes))
		job->refused |= care_same_order(job->means);
	job->at_once = job->refused & care_same_order(job->means) && job->can & tell & ~job->refused;
	if (!job->at_once)
		job->refused = 0; /* there is nothing else, so that it is asked again */
	job->due = job->at_once ? ms : ms + care_retry_ms(job);
	/* What it would have used is free. */
	job->n_took = 0;
	if (job->due < care->next)
		care->next = job->due;
}

/* ---- looking in -------------------------------------------------------------------------------- */

void sn_care_each(const struct sn_care *care, const struct sn_care_conf *conf,
		  const struct sn_care_eyes *eyes,
		  void (*fn)(void *arg, const struct sn_care_row *row), void *arg)
{
	for (uint32_t i = 0; i < care->n; i++) {
		const struct care_job *job = care->job[i];
		const struct sn_attach *a = eyes->attach(eyes->arg, job->id);
		struct sn_care_row row = {
			.job = job->id, .uid = job->uid, .account = job->ours->account,
			.elastic = job->spec.has_elastic, .dp = job->spec.layout.dp,
			.min = job->sizes.min, .want = job->sizes.want, .max = job->sizes.max,
			.attach = a, .since_safe = -1, .failures = job->n_failures,
			.past = job->past, .n_past = job->n_past, .decisions = job->decisions,
		};

		if (!job->good)
			continue;
		row.off = sn_elastic_policy_find(&conf->policy, row.account)->off;
		if (a) {
			row.dp = a->state.dp ? a->state.dp : row.dp;
			row.want = a->state.want_dp ? a->state.want_dp : row.want;
			row.since_safe = care_since_safe(job, a, eyes);
		}
		fn(arg, &row);
	}
}
