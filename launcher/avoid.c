/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * avoid.c - nodes and cards that ranks have left, and until when they stay away.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/avoid.h"

int sn_avoids_add(struct sn_avoids *avoids, const char *node, uint64_t cards, uint32_t well)
{
	struct sn_avoid *more;

	for (uint32_t i = 0; i < avoids->n; i++) {
		struct sn_avoid *is = &avoids->entry[i];

		if (is->cards == cards && is->well == well && !strcmp(is->node, node)) {
			is->well_at = 0;
			return 0;
		}
	}
	more = realloc(avoids->entry, ((size_t)avoids->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	avoids->entry = more;
	more[avoids->n] = (struct sn_avoid){ .node = strdup(node), .cards = cards, .well = well };
	if (!more[avoids->n].node)
		return -ENOMEM;
	avoids->n++;
	avoids->changes++;
	return 1;
}

static void drop(struct sn_avoids *avoids, uint32_t i)
{
	free(avoids->entry[i].node);
	memmove(&avoids->entry[i], &avoids->entry[i + 1],
		(--avoids->n - i) * sizeof(*avoids->entry));
	avoids->changes++;
}

void sn_avoids_take_back(struct sn_avoids *avoids)
{
	drop(avoids, avoids->n - 1);
}

bool sn_avoids_is_node(const struct sn_avoids *avoids, const char *node)
{
	for (uint32_t i = 0; i < avoids->n; i++)
		if (!avoids->entry[i].cards && !strcmp(avoids->entry[i].node, node))
			return true;
	return false;
}

uint64_t sn_avoids_cards(const struct sn_avoids *avoids, const char *node)
{
	uint64_t cards = 0;

	for (uint32_t i = 0; i < avoids->n; i++)
		if (!strcmp(avoids->entry[i].node, node))
			cards |= avoids->entry[i].cards;
	return cards;
}

/* Cards have ended with their marks, whatever else there is of their node. */
static bool is_well(const struct sn_avoid *is, const struct sn_avoid_view *view)
{
	return view->known && (is->cards ? !(is->cards & view->masked) : view->in_service);
}

bool sn_avoids_see(struct sn_avoids *avoids, const char *node, const struct sn_avoid_view *view,
		   int64_t now)
{
	uint32_t before = avoids->n;

	for (uint32_t i = avoids->n; i-- > 0;) {
		struct sn_avoid *is = &avoids->entry[i];

		if (!is->well || strcmp(is->node, node))
			continue;
		if (!is_well(is, view))
			is->well_at = 0;
		else if (!is->well_at)
			is->well_at = now;
		else if (now - is->well_at >= (int64_t)is->well * 1000)
			drop(avoids, i);
	}
	return avoids->n < before;
}

void sn_avoids_done(struct sn_avoids *avoids)
{
	for (uint32_t i = 0; i < avoids->n; i++)
		free(avoids->entry[i].node);
	free(avoids->entry);
	*avoids = (struct sn_avoids){ NULL, 0, 0 };
}
