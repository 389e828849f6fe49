/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * showcards.c - snctl show cards: the cards of each node, and the masked ones.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/cardbook.h"
#include "snctl/cardlist.h"
#include "snctl/showcards.h"
#include "topology/text.h"

const char *const card_head[] = {
	"<node", "<supernode", "<unit", "<state", ">cards", "<free", "<busy",
	"<masked", "<jobs", NULL,
};

static void add_cards(struct table *t, uint64_t cards)
{
	char text[SNCTL_CARDLIST_MAX];

	snctl_cards_format(cards, text);
	table_add(t, "%s", text);
}

int show_cards(const struct live *live, struct table *t, struct sn_err *err)
{
	struct sn_buf *jobs = calloc(live->topo->n_nodes + 1, sizeof(*jobs));

	if (!jobs)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t j = 0; j < live->n_jobs; j++)
		for (uint32_t i = 0; i < live->job[j].n_nodes; i++)
			sn_buf_add(&jobs[live->job[j].node[i]], "%s%u",
				   jobs[live->job[j].node[i]].len ? "," : "",
				   live->job[j].info->job_id);
	for (uint32_t n = 0; n < live->topo->n_nodes; n++) {
		const struct sn_topo_node *at = &live->topo->node[n];
		const struct live_node *node = &live->node[n];

		table_add(t, "%s", at->name);
		table_add(t, "%s", live->topo->supernode[at->supernode].name);
		table_add(t, "%s", at->unit == SN_NONE ? "-" : live->topo->unit[at->unit].name);
		table_add(t, "%s", live_state_word(node));
		table_add(t, "%u", (uint32_t)__builtin_popcountll(node->cards));
		add_cards(t, live_free(node));
		add_cards(t, node->used);
		add_cards(t, node->masked);
		table_add(t, "%s", jobs[n].len ? jobs[n].text : "-");
		sn_buf_done(&jobs[n]);
	}
	free(jobs);
	return 0;
}

const char *const mask_head[] = {
	"<node", ">card", "<state", "<by", "<since", ">job", "<reason", NULL,
};

static void add_since(struct table *t, uint64_t at)
{
	time_t when = (time_t)at;
	char text[40];
	struct tm tm;

	if (at && localtime_r(&when, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		table_add(t, "%s", text);
	else
		table_add(t, "-");
}

static void add_mark(const struct live *live, uint32_t n, uint32_t card,
		     enum sn_cardkind kind, struct table *t)
{
	const struct live_job *job = live_card_job(live, n, UINT64_C(1) << card);
	const char *state = "drained";
	struct sn_cardmark mark;

	if (sn_cardbook_find(live->node[n].info->extra, kind, card, &mark, NULL))
		return;
	if (kind == SN_CARDKIND_HEALTH)
		state = mark.state ? sn_cardhealth_word(mark.state) : "unhealthy";
	table_add(t, "%s", live->topo->node[n].name);
	table_add(t, "%u", card);
	table_add(t, "%s", state);
	table_add(t, "%s", kind == SN_CARDKIND_HEALTH ? "health" :
		  mark.by[0] ? mark.by : "-");
	add_since(t, mark.at);
	if (job)
		table_add(t, "%u", job->info->job_id);
	else
		table_add(t, "-");
	table_add(t, "%s", mark.why[0] ? mark.why : "-");
}

/* What is odd in the node's record; true: it says nothing of single cards. */
static bool is_unreadable(const struct live *live, uint32_t n, struct sn_err *why)
{
	const node_info_t *info = live->node[n].info;
	struct sn_cardbook book;

	if (!info || !sn_cardbook_read(info->extra, &book, why))
		return false;
	fprintf(stderr, "snctl show: warning: node %s: %s\n",
		live->topo->node[n].name, why->text);
	return book.unreadable;
}

static void add_unreadable(const struct live *live, uint32_t n, uint32_t card,
			   const char *why, struct table *t)
{
	const struct live_job *job = live_card_job(live, n, UINT64_C(1) << card);

	table_add(t, "%s", live->topo->node[n].name);
	table_add(t, "%u", card);
	table_add(t, "unreadable");
	table_add(t, "-");
	table_add(t, "-");
	if (job)
		table_add(t, "%u", job->info->job_id);
	else
		table_add(t, "-");
	table_add(t, "%s", why);
}

int show_masks(const struct live *live, struct table *t, struct sn_err *err)
{
	(void)err;
	for (uint32_t n = 0; n < live->topo->n_nodes; n++) {
		struct sn_err why;
		bool unreadable = is_unreadable(live, n, &why);

		for (uint64_t m = live->node[n].masked; m; m &= m - 1) {
			uint32_t card = (uint32_t)__builtin_ctzll(m);

			if (unreadable) {
				add_unreadable(live, n, card, why.text, t);
				continue;
			}
			add_mark(live, n, card, SN_CARDKIND_DRAIN, t);
			add_mark(live, n, card, SN_CARDKIND_HEALTH, t);
		}
	}
	return 0;
}
