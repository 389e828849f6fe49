/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domains.h - what supernodes and units say to a placement beside their nodes:
 * degraded links, and PowerLimit.
 *
 * Both are of the moment: a test of whether a job can ever run (TEST_ONLY) knows
 * no degraded domain and no node that draws power already. What PowerLimit can
 * never allow it does know.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_DOMAINS_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_DOMAINS_H

#include "src/interfaces/topology.h"

#include "topology/degraded.h"
#include "topology/place.h"
#include "topology/power.h"

struct domains {
	struct sn_degraded degraded; /* none in a test of ever */
	uint8_t *draws; /* [topo->n_nodes] or NULL: run jobs in what Slurm pretends */
	struct sn_power power;
	bool limited; /* some supernode, by PowerLimit */
};

/* topo_eval NULL or of a TEST_ONLY: of ever. -ENOMEM; domains_done() also then. */
int domains_init(struct domains *domains, const topology_eval_t *topo_eval);
void domains_done(struct domains *domains);

/* SN_NODE_DEGRADED, SN_NODE_DRAWS */
uint32_t domains_flags(const struct domains *domains, uint32_t topo_node);
/* Fill in keep_idle of *supernode; where it is NULL and something is limited, it
 * is made first, without other limits, and the caller's (free). -ENOMEM. */
int domains_limit(const struct domains *domains,
		  struct sn_place_supernode **supernode);
/* After a reason that names the PowerLimit, the arithmetic. Returns rc. */
int domains_explain(const struct domains *domains, int rc, struct sn_err *err);

#endif
