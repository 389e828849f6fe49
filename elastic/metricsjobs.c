/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metricsjobs.c - sums over what jobs say of their time, which nobody need believe.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "elastic/metrics.h"

#define SLACK_S 120 /* of clocks, and of accounts that waited to be sent */
#define RECOVERIES_MAX 1000 /* between two accounts of a job */

/* Its place, or where it would be. */
static uint32_t find(const struct sn_metrics *m, uint32_t job)
{
	uint32_t low = 0, high = m->n_jobs;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->job[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool has(const struct sn_metrics *m, uint32_t at, uint32_t job)
{
	return at < m->n_jobs && m->job[at].job == job;
}

static void drop(struct sn_metrics *m, uint32_t at)
{
	memmove(&m->job[at], &m->job[at + 1], (--m->n_jobs - at) * sizeof(*m->job));
}

/* The one that has said nothing for longest goes. */
static void make_room(struct sn_metrics *m)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < m->n_jobs; i++)
		if (m->job[i].heard < m->job[oldest].heard)
			oldest = i;
	drop(m, oldest);
}

static struct sn_metrics_job *insert(struct sn_metrics *m, uint32_t job)
{
	uint32_t at;

	if (m->n_jobs == SN_METRICS_KEPT)
		make_room(m);
	if (m->n_jobs == m->max_jobs) {
		uint32_t most = m->max_jobs ? m->max_jobs * 2 : 64;
		struct sn_metrics_job *grown = realloc(m->job, most * sizeof(*grown));

		if (!grown)
			return NULL;
		m->job = grown;
		m->max_jobs = most;
	}
	at = find(m, job);
	memmove(&m->job[at + 1], &m->job[at], (m->n_jobs++ - at) * sizeof(*m->job));
	return &m->job[at];
}

static uint64_t more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static double grown(double now, double before)
{
	return now > before ? now - before : 0;
}

/* Can it have come to be since the one before, on a cluster of so many cards? */
static bool can_be(const struct sn_ettr *now, const struct sn_ettr *before, double seconds,
		   uint64_t cluster)
{
	if (now->held > cluster || now->held_sum - before->held_sum > seconds * (double)cluster)
		return false;
	return more(sn_recoveries_count(&now->recoveries),
		    sn_recoveries_count(&before->recoveries)) <= RECOVERIES_MAX &&
		now->recoveries.sum - before->recoveries.sum <= 30 * 86400.0 &&
		more(now->generations, before->generations) <= RECOVERIES_MAX &&
		more(now->safe_points, before->safe_points) <= 1000 * RECOVERIES_MAX;
}

static void add(struct sn_metrics *m, const struct sn_ettr *now, const struct sn_ettr *old)
{
	m->held += grown(now->held_sum, old->held_sum);
	m->useful += grown(now->cards.useful, old->cards.useful);
	m->idle += grown(now->idle, old->idle);
	for (int i = 0; i < SN_LOST_KINDS; i++)
		m->lost[i] += grown(now->cards.lost[i], old->cards.lost[i]);
	m->generations += more(now->generations, old->generations);
	m->safe_points += more(now->safe_points, old->safe_points);
	for (int i = 0; i < SN_ETTR_FAILS; i++)
		m->fails[i] += more(now->fails[i], old->fails[i]);
	for (int i = 0; i <= SN_RECOVERY_BOUNDS; i++)
		m->recoveries.n[i] += more(now->recoveries.n[i], old->recoveries.n[i]);
	m->recoveries.sum += grown(now->recoveries.sum, old->recoveries.sum);
}

void sn_metrics_job(struct sn_metrics *m, uint32_t job, const struct sn_ettr *account,
		    uint64_t cluster, const struct sn_metrics_when *when)
{
	static const struct sn_ettr nothing;
	uint32_t at = find(m, job);
	const struct sn_ettr *before;
	struct sn_metrics_job *j;
	double seconds;

	if (has(m, at, job)) {
		before = &m->job[at].account;
		seconds = (double)(when->now - m->job[at].heard) / 1000;
	} else if (account->began >= when->since) {
		before = &nothing; /* no daemon before this one has counted it */
		seconds = when->in_charge;
	} else {
		before = account;
		seconds = 0;
	}
	if (!can_be(account, before, seconds + SLACK_S, cluster)) {
		m->odd++;
		return;
	}
	add(m, account, before);
	j = has(m, at, job) ? &m->job[at] : insert(m, job);
	if (j)
		*j = (struct sn_metrics_job){ .job = job, .heard = when->now, .account = *account };
}

const struct sn_metrics_job *sn_metrics_find(const struct sn_metrics *m, uint32_t job)
{
	uint32_t at = find(m, job);

	return has(m, at, job) ? &m->job[at] : NULL;
}

void sn_metrics_done(struct sn_metrics *m)
{
	free(m->job);
	m->job = NULL;
	m->n_jobs = m->max_jobs = 0;
}
