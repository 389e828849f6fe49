/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.c - what has happened: the last of it in memory, in order.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/events.h"

int sn_events_init(struct sn_events *events, uint64_t first_id, struct sn_err *err)
{
	events->ring = calloc(SN_EVENTS_KEPT, sizeof(*events->ring));
	events->next = events->first = first_id;
	return events->ring ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

void sn_events_done(struct sn_events *events)
{
	free(events->ring);
	events->ring = NULL;
}

const struct sn_event *sn_events_add(struct sn_events *events, double at, const char *kind,
				     const char *node, uint32_t card, uint32_t job,
				     uint32_t uid, const char *fmt, ...)
{
	struct sn_event *e = &events->ring[events->next % SN_EVENTS_KEPT];
	struct sn_err text; /* formats without control characters or half characters */
	char buf[SN_ERR_SIZE];
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->id = events->next++;
	if (e->id - events->first >= SN_EVENTS_KEPT)
		events->first = e->id - SN_EVENTS_KEPT + 1;
	e->at = at;
	snprintf(e->kind, sizeof(e->kind), "%s", kind);
	snprintf(e->node, sizeof(e->node), "%s", node ? node : "");
	e->card = card;
	e->job = job;
	e->uid = uid;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	/* Cut before it is cleaned, so that a cut character is cleaned, too. */
	buf[sizeof(e->text) - 1] = '\0';
	sn_err_set(&text, 0, "%s", buf);
	snprintf(e->text, sizeof(e->text), "%.*s", (int)sizeof(e->text) - 1, text.text);
	return e;
}

const struct sn_event *sn_events_get(const struct sn_events *events, uint64_t id)
{
	if (id < events->first || id >= events->next)
		return NULL;
	return &events->ring[id % SN_EVENTS_KEPT];
}

bool sn_event_matches(const struct sn_event *event, const struct sn_event_filter *filter)
{
	return event->id > filter->after &&
		(!*filter->kind || !strcmp(filter->kind, event->kind)) &&
		(!*filter->node || !strcmp(filter->node, event->node));
}

int sn_events_find(const struct sn_events *events, const struct sn_event_filter *filter,
		   struct sn_event **ret, uint32_t *ret_n, struct sn_err *err)
{
	uint32_t limit = filter->limit ? filter->limit : SN_EVENTS_KEPT, n = 0, at;
	struct sn_event *all;

	for (uint64_t id = events->next; id-- > events->first && n < limit;)
		n += sn_event_matches(sn_events_get(events, id), filter);
	all = calloc((size_t)n + 1, sizeof(*all));
	if (!all)
		return sn_err_set(err, -ENOMEM, "no memory");
	at = n;
	for (uint64_t id = events->next; id-- > events->first && at;)
		if (sn_event_matches(sn_events_get(events, id), filter))
			all[--at] = *sn_events_get(events, id);
	*ret = all;
	*ret_n = n;
	return 0;
}

struct json_object *sn_event_json(const struct sn_event *e)
{
	struct json_object *o = json_object_new_object();
	char at[32];

	if (!o)
		return NULL;
	snprintf(at, sizeof(at), "%.3f", e->at);
	json_object_object_add(o, "id", json_object_new_int64((int64_t)e->id));
	json_object_object_add(o, "at", json_object_new_double_s(e->at, at));
	json_object_object_add(o, "kind", json_object_new_string(e->kind));
	if (*e->node)
		json_object_object_add(o, "node", json_object_new_string(e->node));
	if (e->card != SN_NONE)
		json_object_object_add(o, "card", json_object_new_int64(e->card));
	if (e->job)
		json_object_object_add(o, "job", json_object_new_int64(e->job));
	if (e->uid != SN_NONE)
		json_object_object_add(o, "uid", json_object_new_int64(e->uid));
	json_object_object_add(o, "text", json_object_new_string(e->text));
	return o;
}
