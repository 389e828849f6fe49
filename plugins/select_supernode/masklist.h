/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * masklist.h - masked cards as Slurm's lists of what a job must not have.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_MASKLIST_H
#define SN_PLUGINS_SELECT_SUPERNODE_MASKLIST_H

#include "plugins/compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "plugins/select_supernode/stock.h"

struct mask_node {
	uint32_t inx; /* in the node table */
	uint64_t masked; /* bit c: card c; perhaps more cards than it has */
};

struct masks {
	struct mask_node *node; /* [n], in the node table's order */
	uint32_t n, size;
	uint32_t card_id; /* what gres a card is */
	bool failed;
};

/* The cards that the node has of them. */
uint64_t masklist_cards(const struct mask_node *node, uint32_t card_id);

/* The job wants cards, and on this node slurmctld cannot tell one from another. */
bool masklist_must_avoid(const job_record_t *job_ptr,
			 const struct mask_node *node, const struct masks *masks);

/* How many cards are left out of those that are counted only depends on what is in
 * use, and so on the time that is asked about. */
bool masklist_is_counted(const job_record_t *job_ptr, const struct masks *masks);

/*
 * Make resv (a copy) exclude the masked cards. present: nothing is pretended to have
 * ended. Returns what is to be freed after the call, or NULL.
 */
list_t *masklist_exclude(const job_record_t *job_ptr, const struct masks *masks,
			 bool present, resv_exc_t *resv);

/* The job is about to start on these nodes: pick its cards on those where Slurm
 * would take the lowest ones. ESLURM_NODES_BUSY if there are too few, unless others
 * (waits) have to end first. */
int masklist_pick(job_record_t *job_ptr, bitstr_t *nodes,
		  const struct masks *masks, bool waits);

#endif
