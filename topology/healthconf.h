/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthconf.h - the health engine's thresholds and metrics, from supernode.conf.
 */
#ifndef SN_TOPOLOGY_HEALTHCONF_H
#define SN_TOPOLOGY_HEALTHCONF_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/healthcode.h"
#include "topology/policy.h"

#define SN_METRIC_NAME_MAX 32 /* with the NUL; letters, digits, _ and - */
#define SN_METRICS_MAX 64

/* What a value is held against. */
enum sn_metric_kind {
	SN_METRIC_PEERS, /* the other cards' at the same step */
	SN_METRIC_LIMIT, /* a fixed value: at or beyond it the card is suspect */
	SN_METRIC_RISE, /* the card's last one: a counter that rose by so much */
};

/*
 * Built in (healthconf.c says where the limits come from):
 *	high is bad, against peers	step_time compute_time own_time latency
 *	low is bad, against peers	flops memory_bandwidth link_bandwidth clock
 *	limit				temperature 95 retired_pages 63 row_remaps 512
 *	rise				ecc_errors 1 ecc_corrected 1000 link_errors 1 crc_errors 100
 * own_time is what healtharrive.h makes of arrival times: a rank's own time
 * between collectives, as a ratio to that of its peers in the communicator.
 */
struct sn_metric {
	char name[SN_METRIC_NAME_MAX];
	bool low; /* low is bad, else high */
	enum sn_metric_kind kind;
	double limit; /* LIMIT, RISE */
};

struct sn_health_conf {
	/* Fractions: 0.1 is 10 %. */
	double slow; /* HealthSlow: slower than the peers by at least this */
	double score; /* HealthScore: and by so many standard deviations */
	double gross; /* HealthGross: one sample alone; 0: never */
	double domain_slow; /* HealthDomain */
	uint32_t peers; /* HealthPeers: other cards, at least */
	/* Seconds. */
	double window, settle; /* HealthWindow, HealthSettle */
	double domain_hold; /* HealthDomainHold */
	double probe_timeout, probe_retry; /* HealthProbeTimeout, HealthProbeRetry */
	uint32_t probe_tries; /* HealthProbeTries */
	double hold; /* HealthHold */
	uint32_t escalate; /* HealthEscalate; 0: never */
	double escalate_time; /* HealthEscalateTime */
	uint32_t recover; /* HealthRecover, samples; 0: never */
	enum sn_health_level unknown; /* HealthUnknownCode */
	bool trust_jobs; /* HealthJobReports=trust: hints count as reports */
	struct sn_metric metric[SN_METRICS_MAX]; /* built in, then the site's */
	uint32_t n_metrics;
};

/* -EINVAL: HealthMetrics is wrong, with a sentence that begins with the key. */
int sn_health_conf_init(const struct sn_policy *policy, struct sn_health_conf *ret,
			struct sn_err *err);
/* The number of a metric, or SN_METRICS_MAX. */
uint32_t sn_health_metric(const struct sn_health_conf *conf, const char *name);

/*
 * HealthMetrics: words with blanks between, each NAME=high|low for peers, with
 * :VALUE behind for a limit, or NAME=rise:VALUE. One of a built-in's name
 * replaces it; NAME=off takes it away. Such as
 *	HealthMetrics="hbm_temp=high:105 nccl_busbw=low nvlink_replay=rise:10"
 */

#endif
