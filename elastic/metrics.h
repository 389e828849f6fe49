/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - what snelasticd counts for others to scrape (docs/metrics.md).
 *
 * The loop counts, here; the text is written by metricstext.c and handed out over
 * HTTP by metricsweb.c. All functions are the loop's.
 *
 * What jobs say of themselves (launcher/account.h) comes from their owners, so it is
 * bounded by what the cluster has; the sums over all jobs grow by what an account has
 * grown since the last one of the same job. Of a job that this daemon hears of for the
 * first time, and that began before it was in charge, only what comes after counts.
 */
#ifndef SN_ELASTIC_METRICS_H
#define SN_ELASTIC_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "elastic/act.h"
#include "topology/err.h"
#include "topology/ettr.h"
#include "topology/ladder.h"

struct sn_daemon;
struct sn_web;
struct sn_view_nodes;

#define SN_METRICS_KEPT 8192 /* jobs whose accounts are remembered, ended ones for a requeue */
#define SN_METRICS_JOBS 500 /* that have metrics of their own, the largest */

struct sn_metrics_job {
	uint32_t job;
	int64_t heard; /* ms */
	struct sn_ettr account;
};

struct sn_metrics {
	uint64_t decisions[SN_MEANS_KINDS];
	uint64_t actions[SN_ACT_KINDS][SN_ACT_ENDS];
	uint64_t polls, poll_failures;
	uint32_t journal_lines;
	struct sn_metrics_job *job; /* by id */
	uint32_t n_jobs, max_jobs;
	/* Cards of the cluster: by the table that they were counted in, which is held. */
	struct sn_view_nodes *counted;
	uint64_t cards;
	uint64_t odd; /* accounts that were not believed */
	uint64_t untold; /* events of jobs, as there were too many */
	/* Over all jobs, what is settled. */
	double held, useful, idle, lost[SN_LOST_KINDS];
	uint64_t generations, safe_points, fails[SN_ETTR_FAILS];
	struct sn_recoveries recoveries;
	struct sn_web *web; /* NULL: off, or it cannot listen */
	struct sn_timer *retry;
	uint64_t scrapes;
};

int metrics_start(struct sn_daemon *d, struct sn_err *err);
void metrics_end(struct sn_daemon *d);
void metrics_reload(struct sn_daemon *d); /* MetricsPort and MetricsAddress */

/* A decision was made for a job: once for each plan that is carried out, or would be
 * but for dry-run. */
void metrics_decision(struct sn_daemon *d, enum sn_means means);

/* Pure: the account of a job as it is now. */
struct sn_metrics_when {
	int64_t now; /* ms, of the monotonic clock */
	double since; /* s since 1970: the daemon is in charge */
	double in_charge; /* s, for so long */
};
/* cluster: cards that there are. */
void sn_metrics_job(struct sn_metrics *m, uint32_t job, const struct sn_ettr *account,
		    uint64_t cluster, const struct sn_metrics_when *when);
/* NULL: it never told. */
const struct sn_metrics_job *sn_metrics_find(const struct sn_metrics *m, uint32_t job);
void sn_metrics_done(struct sn_metrics *m);

/* metrics.c: cards that there are; counted once for each new table. */
uint64_t metrics_cards(struct sn_daemon *d);

/* metricstext.c: the whole text, yours to free; NULL: no memory. */
char *metrics_text(struct sn_daemon *d, size_t *ret_len);

#endif
