/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livecards.c - single cards of a live cluster: which are masked, who has which.
 */
#include "config.h"

#include "launcher/cardbook.h"
#include "snctl/live.h"

void live_read_masks(struct live_node *node)
{
	struct sn_cardbook book;

	/* The same for slurmctld: where it cannot be read, all. */
	(void)sn_cardbook_read(node->info->extra, &book, NULL);
	node->masked = book.masked & node->cards;
}

void live_find_used(struct live *live)
{
	for (uint32_t j = 0; j < live->n_jobs; j++)
		for (uint32_t i = 0; i < live->job[j].n_nodes; i++) {
			struct live_node *node = &live->node[live->job[j].node[i]];

			if (node->counted)
				node->used |= live->job[j].node_cards[i] & node->cards;
		}
	/* Of jobs that are not shown, the lowest ones, as Slurm would take. */
	for (uint32_t n = 0; n < live->topo->n_nodes; n++) {
		struct live_node *node = &live->node[n];

		while ((uint64_t)__builtin_popcountll(node->used) < node->counted) {
			uint64_t others = node->cards & ~node->used;
			uint64_t good = others & ~node->masked;

			if (!others)
				break;
			node->used |= good ? good & -good : others & -others;
		}
	}
}

uint64_t live_job_cards(const struct live_job *job, uint32_t n)
{
	for (uint32_t i = 0; i < job->n_nodes; i++)
		if (job->node[i] == n)
			return job->node_cards[i];
	return 0;
}

const struct live_job *live_card_job(const struct live *live, uint32_t n,
				     uint64_t bit)
{
	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live_job_cards(&live->job[j], n) & bit)
			return &live->job[j];
	return NULL;
}
