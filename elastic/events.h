/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h - what has happened: the last of it in memory, in order.
 *
 * Ids grow by one. The history (history.h) is fed from here, so what it cannot
 * take for a while is not lost as long as it is still in memory.
 */
#ifndef SN_ELASTIC_EVENTS_H
#define SN_ELASTIC_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "topology/err.h"
#include "topology/topo.h"

#define SN_EVENTS_KEPT 8192

struct sn_event {
	uint64_t id;
	double at; /* seconds since 1970 */
	char kind[16]; /* daemon, health, elastic, refused, operator, slurm, node, job, pool */
	char node[64]; /* or a supernode's or unit's name; "": of none */
	uint32_t card; /* SN_NONE */
	uint32_t job; /* 0 */
	uint32_t uid; /* who caused it, SN_NONE: nobody */
	char text[400];
};

struct sn_event_filter { /* "" and 0: any */
	uint64_t after; /* ids above it */
	char kind[16], node[64];
	uint32_t limit; /* the latest so many */
};

struct sn_events {
	struct sn_event *ring; /* [SN_EVENTS_KEPT], by id */
	uint64_t next; /* id */
	uint64_t first; /* that is still here; next if there is none */
};

int sn_events_init(struct sn_events *events, uint64_t first_id, struct sn_err *err);
void sn_events_done(struct sn_events *events);
/* Borrowed until the ring has gone round. Text is cut to fit. */
const struct sn_event *sn_events_add(struct sn_events *events, double at, const char *kind,
				     const char *node, uint32_t card, uint32_t job,
				     uint32_t uid, const char *fmt, ...)
	__attribute__((format(printf, 8, 9)));
const struct sn_event *sn_events_get(const struct sn_events *events, uint64_t id);
bool sn_event_matches(const struct sn_event *event, const struct sn_event_filter *filter);

/* The latest `limit` that match, oldest first: *ret (free), *ret_n. */
int sn_events_find(const struct sn_events *events, const struct sn_event_filter *filter,
		   struct sn_event **ret, uint32_t *ret_n, struct sn_err *err);

struct json_object *sn_event_json(const struct sn_event *event); /* NULL: no memory */

#endif
