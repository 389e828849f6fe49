/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthmark.c - what is kept of a card that has been noticed, and its words.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

static const char *const state_name[SN_HEALTH_STATES] = {
	"healthy", "suspect", "probing", "quarantined", "manual",
};
static const char *const kind_name[SN_HEALTH_KINDS] = {
	"mask", "probe", "mark-probing", "quarantine", "needs-release", "unmask",
	"degrade", "restore", "note",
};

const char *sn_health_state_name(enum sn_health_state state)
{
	return (unsigned int)state < SN_HEALTH_STATES ? state_name[state] : "?";
}

int sn_health_state_find(const char *word)
{
	for (int i = 0; i < SN_HEALTH_STATES; i++)
		if (!strcmp(word, state_name[i]))
			return i;
	return -1;
}

const char *sn_health_kind_name(enum sn_health_kind kind)
{
	return (unsigned int)kind < SN_HEALTH_KINDS ? kind_name[kind] : "?";
}

static int room_for(struct sn_mark ***array, uint32_t *size, uint32_t want)
{
	uint32_t n = *size ? *size : 16;
	struct sn_mark **grown;

	while (n < want)
		n *= 2;
	if (n == *size)
		return 0;
	grown = realloc(*array, n * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*size = n;
	return 0;
}

int sn_card_reserve(struct sn_health *h, uint32_t n, struct sn_err *err)
{
	if (room_for(&h->mark, &h->size_marks, h->n_marks + n) ||
	    room_for(&h->spare, &h->size_spare, n))
		return sn_health_no_memory(err);
	while (h->n_spare < n) {
		struct sn_mark *m = calloc(1, sizeof(*m));

		if (!m)
			return sn_health_no_memory(err);
		h->spare[h->n_spare++] = m;
	}
	return 0;
}

int sn_card_mark(struct sn_health *h, uint32_t node, uint32_t card,
		 struct sn_mark **ret, struct sn_err *err)
{
	struct sn_hcard *c;
	struct sn_mark *m;
	int rc = sn_health_find_card(h, node, card, &c, err);

	if (rc)
		return rc;
	if (!c->mark) {
		rc = h->n_spare ? 0 : sn_card_reserve(h, 1, err);
		if (rc)
			return rc;
		m = h->spare[--h->n_spare];
		m->node = node;
		m->card = card;
		m->ask_at = m->probe_at = SN_HEALTH_NEVER;
		m->metric = SN_METRICS_MAX;
		c->mark = h->mark[h->n_marks++] = m;
	}
	*ret = c->mark;
	return 0;
}

void sn_card_drop(struct sn_health *h, uint32_t at)
{
	struct sn_mark *m = h->mark[at];

	sn_health_peek(h, m->node, m->card)->mark = NULL;
	h->mark[at] = h->mark[--h->n_marks];
	if (h->n_spare < h->size_spare) {
		memset(m, 0, sizeof(*m));
		h->spare[h->n_spare++] = m;
	} else {
		free(m);
	}
}

bool sn_card_forgotten(const struct sn_health *h, const struct sn_mark *m,
		       double now)
{
	if (m->state != SN_HEALTH_HEALTHY || m->probe_at >= 0)
		return false;
	if (m->n_times && sn_elapsed(m->time[0], now) < h->conf.escalate_time)
		return false;
	return !m->hinted || sn_elapsed(m->hint_at, now) >= h->conf.escalate_time;
}

void sn_card_remember(struct sn_mark *m, double now)
{
	memmove(m->time + 1, m->time, (SN_HEALTH_TIMES_MAX - 1) * sizeof(*m->time));
	m->time[0] = now;
	if (m->n_times < SN_HEALTH_TIMES_MAX)
		m->n_times++;
}
