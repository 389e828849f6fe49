/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - what snelasticd counts for others to scrape.
 *
 * The loop counts, here; the text is written by metricstext.c and handed out over
 * HTTP by metricsweb.c. All functions are the loop's, and cheap where MetricsPort is
 * 0.
 */
#ifndef SN_ELASTIC_METRICS_H
#define SN_ELASTIC_METRICS_H

#include <stdint.h>

#include <json-c/json.h>

#include "topology/ladder.h"

struct sn_daemon;

/* A decision was made for a job: once for each plan that is carried out, or would be
 * but for dry-run. */
void metrics_decision(struct sn_daemon *d, enum sn_means means);

/* The state of a job as its snrun reports it, whenever a new one comes; its field
 * "account" is read and not believed. NULL: its snrun has gone. */
void metrics_state(struct sn_daemon *d, uint32_t job, struct json_object *state);

#endif
