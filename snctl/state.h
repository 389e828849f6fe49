/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - what is free: the state.json of the offline commands.
 *
 *	{"nodes": {"n[001-004]": {"free": 8},
 *		   "n005": {"free_cards": [0,1], "masked_cards": [6], "weight": 10},
 *		   "n006": {"down": true}},
 *	 "pool_free": {"sn01": "20T"}, "degraded": ["sn03", "u[007-009]"]}
 *
 * A node not named has every card free and weight 1; a pool not named is as
 * free as PoolMemory says. A node that is in no supernode becomes a loose one.
 * A node with cards that are neither free nor masked runs a job and draws
 * NodePower. degraded names supernodes and units whose links are.
 */
#ifndef SNCTL_STATE_H
#define SNCTL_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "topology/degraded.h"
#include "topology/err.h"
#include "topology/place.h"
#include "topology/policy.h"
#include "topology/topo.h"

struct snctl_state {
	struct sn_place_node *node; /* [topo->n_nodes] */
	struct sn_place_supernode *supernode; /* [topo->n_supernodes] */
	struct sn_degraded degraded; /* node[] has the flags of it */
};

/* Everything free on nodes of `cards` cards each (1..SN_CARDS_MAX). */
int snctl_state_init(const struct sn_topo *topo, uint32_t cards,
		     struct snctl_state *ret, struct sn_err *err);

/*
 * Parse; file is the name that errors begin with. topo may get loose nodes,
 * also when a later part of the text is wrong. -EINVAL with one sentence.
 */
int snctl_state_parse(const char *text, size_t len, const char *file,
		      struct sn_topo *topo, uint32_t cards,
		      struct snctl_state *ret, struct sn_err *err);
void snctl_state_done(struct snctl_state *state);

/* What supernode.conf adds: DegradedDomains, NodePower. -ENOENT with a sentence
 * where it names a domain that there is not, all else being done. */
int snctl_state_policy(const struct sn_topo *topo, const struct sn_policy *policy,
		       struct snctl_state *state, struct sn_err *err);

#endif
