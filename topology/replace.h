/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replace.h - where a job with --replaces=JOB may be.
 *
 * It may have, in each supernode, as many nodes as JOB has lost there or holds there
 * with a masked card, less those that other jobs replace already; and there it may
 * take SpareNodes.
 */
#ifndef SN_TOPOLOGY_REPLACE_H
#define SN_TOPOLOGY_REPLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/place.h"
#include "topology/topo.h"

/*
 * allow[topo->n_supernodes]: how many nodes in each; returns the sum. lost: as in
 * struct sn_joblost, NULL: none; ill: JOB's nodes with a masked card; taken: those of
 * the jobs that replace some already. Each a node of the model.
 */
uint64_t sn_replace_allow(const struct sn_topo *topo, const uint32_t *lost,
			  const uint32_t *ill, uint32_t n_ill,
			  const uint32_t *taken, uint32_t n_taken,
			  uint32_t *allow);

/*
 * The fewest of the lost nodes that have to be replaced for `atoms` atoms of `atom`
 * cards, whole in their supernodes. cards, lost[topo->n_supernodes]: what JOB can use,
 * spares of its own counted, and nodes that may be replaced, each with per_node cards. All
 * of them where they do not reach; 0: there is enough.
 */
uint32_t sn_replace_lack(const struct sn_topo *topo, const uint32_t *cards,
			 const uint32_t *lost, uint32_t per_node, uint32_t atom,
			 uint64_t atoms);

/* Take out of node[topo->n_nodes] what is in other supernodes. */
void sn_replace_restrict(const struct sn_topo *topo, const uint32_t *allow,
			 struct sn_place_node *node);

/* Does the placement keep to the numbers, spares counted? If not, node[] is cut to as
 * many of its nodes as are allowed, those with the most ranks, for another try. */
bool sn_replace_fits(const struct sn_topo *topo, const uint32_t *allow,
		     const struct sn_placement *placed,
		     struct sn_place_node *node);

#endif
