/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offer.h - what Slurm offers in one call, as the placement engine wants it.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_OFFER_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_OFFER_H

#include "src/interfaces/topology.h"

#include "topology/place.h"
#include "plugins/common/topoapi.h"

struct offer {
	struct sn_place_node *node; /* [topo->n_nodes] */
	struct sn_place_supernode *supernode; /* [topo->n_supernodes] or NULL */
	bool all_free; /* TEST_ONLY: cards count as free though they are not */
	/* [topo->n_supernodes] or NULL: nodes whose part of the pool is there, and
	 * offered ones that would bring theirs when they are powered up. */
	uint32_t *there, *off;
};

/* -ENOMEM. offer_done() also after a failure. */
int offer_from_eval(const topology_eval_t *topo_eval,
		    const struct sn_jobspec *spec, struct offer *ret);
int offer_all_free(const struct sn_topoapi_ask *ask, struct offer *ret);
void offer_done(struct offer *offer);

/*
 * The pools were offered as if every powered-off node that may be used would be
 * up. False: with those of the placement alone they do not hold what it takes;
 * the offer then says so, for another try.
 */
bool offer_pools_hold(struct offer *offer, const struct sn_jobspec *spec,
		      const struct sn_placement *placed);

/* What a rank of the job takes: at least 1. */
uint32_t offer_cpus_per_task(const job_record_t *job_ptr);
/* The cards of the job on a node that Slurm offers, NULL: none. */
sock_gres_t *offer_cards(const avail_res_t *res, uint32_t card_id);
/* Which of a node's cards are free in this call, and not masked. */
uint64_t offer_free_cards(const sock_gres_t *sock,
			  const node_record_t *node_ptr, uint64_t cards);
/* SN_NODE_LATE or 0. */
uint32_t offer_node_flags(const node_record_t *node_ptr);

#endif
