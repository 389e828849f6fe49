/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - who runs where in one generation of a job: what snrun decides before
 * it starts a step, and what every file in the job directory is written from.
 *
 * The order of `node` is the order in which ranks fill nodes in the first
 * generation (supernode by supernode, topology.conf's order), spares last. After
 * a swap the spare takes the failed node's place in it, so that all healthy
 * nodes keep their ranks; the supernodes stay together in it at all times.
 */
#ifndef SN_LAUNCHER_PLAN_H
#define SN_LAUNCHER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/layout.h"

struct sn_plan_node {
	char *name; /* Slurm's NodeName */
	char *address; /* an address or host name that ranks connect to */
	uint32_t supernode; /* in struct sn_plan's names */
	uint32_t *card; /* [n_cards] those that the job holds here, ascending */
	uint32_t n_cards;
	uint32_t ranks; /* how many it runs, 0: a spare */
	uint32_t first; /* rank_at of the plan: where its ranks begin */
};

struct sn_plan {
	uint32_t job_id;
	uint32_t generation; /* 0 at the first start */
	struct sn_layout layout;
	char **supernode; /* [n_supernodes] names, in the order of use */
	uint32_t n_supernodes;
	struct sn_plan_node *node;
	uint32_t n_nodes; /* with spares */
	uint32_t *rank_node; /* [world] rank -> node */
	uint32_t *rank_local; /* [world] its number among that node's ranks, ascending */
	uint32_t *rank_card; /* [world] the card: node's card[rank_local] */
	uint32_t *rank_at; /* [world] ranks by node: node i's are rank_at[first], … */
	uint16_t master_port;
};

void sn_plan_done(struct sn_plan *plan);

#endif
