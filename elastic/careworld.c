/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * careworld.c - how the nodes are, and what is free for jobs that have lost some.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/care_internal.h"

#define SAME_LOSS 10 /* s */

void care_world_done(struct care_world *w)
{
	free(w->node);
	free(w->supernode_left);
	free(w->spare_nodes);
	free(w->free_cards);
	memset(w, 0, sizeof(*w));
}

/* Which of the table's nodes is which of the topology's. */
static int number(struct care_world *w, const struct sn_care_eyes *eyes)
{
	care_world_done(w);
	w->node = calloc((size_t)eyes->nodes->n + 1, sizeof(*w->node));
	w->supernode_left = calloc((size_t)eyes->topo->n_supernodes + 1, sizeof(uint32_t));
	w->spare_nodes = calloc((size_t)eyes->topo->n_supernodes + 1, sizeof(uint32_t));
	w->free_cards = calloc((size_t)eyes->topo->n_supernodes + 1, sizeof(uint32_t));
	if (!w->node || !w->supernode_left || !w->spare_nodes || !w->free_cards) {
		care_world_done(w);
		return -ENOMEM;
	}
	w->n = eyes->nodes->n;
	for (uint32_t i = 0; i < w->n; i++)
		w->node[i].topo = *eyes->nodes->node[i].name ?
			sn_topo_find_node(eyes->topo, eyes->nodes->node[i].name) : SN_NONE;
	w->numbering = eyes->numbering;
	w->numbered = true;
	return 0;
}

static uint32_t losses_of_late(const struct care_node *n, uint32_t now)
{
	uint32_t times = 0;

	/* A clock that was set back makes an old loss a late one, at most. */
	while (times < CARE_LOSSES && n->loss[times] && n->loss[times] + CARE_LATE > now)
		times++;
	return times;
}

/* A hint and what slurmctld says of it soon after are one loss. */
static void note_loss(struct care_node *n, uint32_t now)
{
	if (n->loss[0] && now - n->loss[0] < SAME_LOSS)
		return;
	memmove(n->loss + 1, n->loss, (CARE_LOSSES - 1) * sizeof(*n->loss));
	n->loss[0] = now ? now : 1;
}

static void see_node(struct care_node *n, const struct sn_view_node *is, uint32_t flaps,
		     uint32_t now)
{
	bool away = is->down || is->silent;

	/* Its ranks may be well while slurmd is silent; but it comes and goes. */
	if (away && !n->lost && !n->silent)
		note_loss(n, now);
	n->lost = is->down;
	n->silent = is->silent;
	n->times = n->loss[0] ? losses_of_late(n, now) : 0;
	n->failing = is->failing || (flaps && !away && n->times >= flaps);
	n->suspect = n->sick = n->gone = 0;
}

/* The codes (topology/healthcode.h) that say so; they begin the mark's reason. */
static bool is_gone(const char *why)
{
	return strstr(why, "card-lost") || strstr(why, "xid-79");
}

static void see_mark(struct care_node *n, const struct sn_health_action *mark)
{
	uint64_t bit = UINT64_C(1) << mark->card;

	switch (mark->kind) {
	case SN_HEALTH_QUARANTINE:
	case SN_HEALTH_NEEDS_RELEASE:
		if (is_gone(mark->why))
			n->gone |= bit;
		else
			n->sick |= bit;
		break;
	case SN_HEALTH_MASK:
	case SN_HEALTH_MARK_PROBING:
		/* A fault of a level that running work should leave at once. */
		if (mark->leave)
			n->sick |= bit;
		else
			n->suspect |= bit;
		break;
	default:
		break;
	}
}

int care_world_see(struct care_world *w, const struct sn_care_conf *conf,
		   const struct sn_care_eyes *eyes, bool *ret_renumbered, struct sn_err *err)
{
	const uint32_t now = eyes->now > 1 ? (uint32_t)eyes->now : 1;
	const struct sn_topo *topo = eyes->topo;

	*ret_renumbered = !w->numbered || w->numbering != eyes->numbering || w->n != eyes->nodes->n;
	if (*ret_renumbered && number(w, eyes))
		return sn_err_set(err, -ENOMEM, "no memory for %u nodes", eyes->nodes->n);
	w->has_room = false;
	memset(w->supernode_left, 0, topo->n_supernodes * sizeof(*w->supernode_left));
	for (uint32_t i = 0; i < w->n; i++)
		see_node(&w->node[i], &eyes->nodes->node[i], conf->costs.flaps, now);
	for (size_t i = 0; i < eyes->n_gone; i++)
		if (eyes->gone[i] < w->n && !w->node[eyes->gone[i]].lost) {
			note_loss(&w->node[eyes->gone[i]], now);
			w->node[eyes->gone[i]].lost = true;
		}
	for (uint32_t i = 0; i < w->n; i++)
		if (w->node[i].topo != SN_NONE && !w->node[i].lost)
			w->supernode_left[topo->node[w->node[i].topo].supernode]++;
	for (size_t i = 0; i < eyes->n_marks; i++) {
		const struct sn_health_action *mark = &eyes->mark[i];
		const struct sn_view_node *is = mark->index == SN_NONE && mark->node < topo->n_nodes &&
			mark->card < 64 ? sn_view_node(eyes->nodes, topo->node[mark->node].name) : NULL;

		if (is)
			see_mark(&w->node[is - eyes->nodes->node], mark);
	}
	return 0;
}

/* ---- what is free ---------------------------------------------------------------------- */

static uint32_t count(uint64_t bits)
{
	return (uint32_t)__builtin_popcountll(bits);
}

static void add_node(struct care_world *w, const struct sn_care_eyes *eyes, uint32_t i,
		     uint64_t busy, bool used)
{
	const struct sn_view_node *is = &eyes->nodes->node[i];
	const struct care_node *n = &w->node[i];
	uint64_t marked = n->suspect | n->sick | n->gone;
	uint32_t s;

	if (n->topo == SN_NONE || n->lost || n->failing || is->closed)
		return;
	s = eyes->topo->node[n->topo].supernode;
	w->free_cards[s] += count(is->cards & ~busy & ~marked);
	w->spare_nodes[s] += !used && !(marked & is->cards) && is->cards;
}

int care_world_room(struct care_world *w, const struct sn_care_eyes *eyes, struct sn_err *err)
{
	const struct sn_topo *topo = eyes->topo;
	uint64_t *busy;
	uint32_t *most; /* cards of a node of the supernode */
	bool *used;

	if (w->has_room)
		return 0;
	busy = calloc((size_t)w->n + 1, sizeof(*busy));
	used = calloc((size_t)w->n + 1, sizeof(*used));
	most = calloc((size_t)topo->n_supernodes + 1, sizeof(*most));
	if (!busy || !used || !most) {
		free(busy);
		free(used);
		free(most);
		return sn_err_set(err, -ENOMEM, "no memory for %u nodes", w->n);
	}
	w->wanted = 0;
	for (uint32_t j = 0; j < eyes->jobs->n; j++) {
		const struct sn_view_job *job = &eyes->jobs->job[j];

		if (job->priority > w->wanted)
			w->wanted = job->priority;
		for (uint32_t i = 0; job->running && i < job->n_nodes; i++)
			if (job->node[i] < w->n) {
				busy[job->node[i]] |= job->cards[i];
				used[job->node[i]] = true;
			}
	}
	memset(w->spare_nodes, 0, topo->n_supernodes * sizeof(*w->spare_nodes));
	memset(w->free_cards, 0, topo->n_supernodes * sizeof(*w->free_cards));
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t cards = count(eyes->nodes->node[i].cards), s;

		add_node(w, eyes, i, busy[i], used[i]);
		if (w->node[i].topo == SN_NONE)
			continue;
		s = topo->node[w->node[i].topo].supernode;
		most[s] = cards > most[s] ? cards : most[s];
	}
	/* SpareNodes are for those who stand in, not for members. */
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		uint32_t spare = topo->supernode[s].spare_nodes;

		spare = (spare < w->spare_nodes[s] ? spare : w->spare_nodes[s]) * most[s];
		w->free_cards[s] -= spare < w->free_cards[s] ? spare : w->free_cards[s];
	}
	free(busy);
	free(used);
	free(most);
	w->has_room = true;
	return 0;
}
