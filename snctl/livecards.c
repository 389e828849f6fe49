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

	/* What cannot be read of it masks nothing for slurmctld either. */
	(void)sn_cardbook_read(node->info->extra, &book, NULL);
	node->masked = book.masked & node->cards;
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
