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
#include "topology/topo.h"

struct sn_plan_node {
	char *name; /* Slurm's NodeName */
	char *address; /* an address or host name that ranks connect to */
	char *origin; /* the node that had this place in the first plan, whose unit
		       * and supernode decided the order of ranks; NULL: itself */
	uint32_t supernode; /* in struct sn_plan's names */
	uint32_t unit; /* equal for nodes of one unit, SN_NONE: in none */
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

/* What the job holds of one node. */
struct sn_plan_offer {
	const char *name;
	const char *address; /* NULL: the name */
	const uint32_t *card; /* [n_cards] ascending */
	uint32_t n_cards;
};

/* As many spares in each supernode used as the offer allows. */
#define SN_PLAN_MOST_SPARES UINT32_MAX

/*
 * The first plan of a layout on what the job holds. Every node of the offer is
 * in topo. Where the job holds exactly a card a rank, each node runs as many
 * ranks as it has cards; where it holds more, spares.h says which nodes are
 * spares: `spares` in each supernode used if that can be, else as many as can be.
 * Generation 0
 * and no port: the caller sets both. -EINVAL, -ENOSPC too few cards, -ENOMEM.
 */
int sn_plan_build(const struct sn_layout *layout, uint32_t spares,
		  const struct sn_topo *topo, const struct sn_plan_offer *offer,
		  uint32_t n, struct sn_plan *ret, struct sn_err *err);

/*
 * The spare that can take node `failed`'s place: one with enough cards in its
 * supernode (in its unit, where blocks of ranks are bound to units), the same
 * unit first, then the first in order; usable[i] says whether node i may serve.
 * SN_NONE: there is none.
 */
uint32_t sn_plan_find_spare(const struct sn_plan *plan, uint32_t failed,
			    const bool *usable);

/* Node `failed` leaves the plan, and `spare` takes its place and its ranks; all
 * numbers of nodes after the spare's old place move down by one. */
int sn_plan_swap(struct sn_plan *plan, uint32_t failed, uint32_t spare,
		 struct sn_err *err);
/* A spare that is lost leaves the plan. */
void sn_plan_drop(struct sn_plan *plan, uint32_t spare);

/* Where rank 0 of a generation listens: another port each time, far from those
 * of the next jobs. run counts the programs that a job has started by snrun. */
uint16_t sn_plan_port(uint32_t job_id, uint32_t run, uint32_t generation);

void sn_plan_done(struct sn_plan *plan);

#endif
