/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actlist.c - actions that are not ended, by their number and by what they are about.
 */
#include "config.h"

#include <stdlib.h>

#include "elastic/act_internal.h"

uint32_t act_bucket(const struct sn_act *act)
{
	const char *name = act->kind == SN_ACT_NODE_OUT ? act->node :
		act->kind == SN_ACT_REGION_OUT ? act->region : NULL;
	uint32_t h = 2166136261u ^ (uint32_t)act->kind;

	if (!name)
		h += act->job;
	for (; name && *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h * 2654435761u >> 20;
}

void act_forget(struct sn_acts *a, struct act_entry *e)
{
	struct act_entry **at = &a->bucket[act_bucket(&e->act)];

	if (e->request)
		request_free(e->request);
	while (*at != e)
		at = &(*at)->other;
	*at = e->other;
	*(e->prev ? &e->prev->next : &a->first) = e->next;
	*(e->next ? &e->next->prev : &a->last) = e->prev;
	free(e);
	a->n--;
}

struct act_entry *act_add(struct sn_acts *a, const struct sn_act *act, enum act_state state)
{
	struct act_entry *e = calloc(1, sizeof(*e)), **in = &a->bucket[act_bucket(act)];

	if (!e)
		return NULL;
	e->act = *act;
	e->state = state;
	e->other = *in;
	*in = e;
	e->prev = a->last;
	*(a->last ? &a->last->next : &a->first) = e;
	a->last = e;
	a->n++;
	return e;
}

struct act_entry *act_of(struct sn_acts *a, uint64_t id)
{
	for (struct act_entry *e = a->first; e; e = e->next)
		if (e->act.id == id)
			return e;
	return NULL;
}
