/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replace.c - where a job with --replaces=JOB may be.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "topology/replace.h"

uint64_t sn_replace_allow(const struct sn_topo *topo, const uint32_t *lost,
			  const uint32_t *ill, uint32_t n_ill,
			  const uint32_t *taken, uint32_t n_taken,
			  uint32_t *allow)
{
	uint64_t all = 0;

	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		allow[s] = lost ? lost[s] : 0;
	for (uint32_t i = 0; i < n_ill; i++)
		allow[topo->node[ill[i]].supernode]++;
	for (uint32_t i = 0; i < n_taken; i++) {
		uint32_t *at = &allow[topo->node[taken[i]].supernode];

		*at -= *at > 0;
	}
	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		all += allow[s];
	return all;
}

/* Nodes for one atom more where there are so many cards. */
static uint32_t for_next(uint64_t cards, uint32_t per_node, uint32_t atom)
{
	uint64_t lack = atom - cards % atom;

	return (uint32_t)((lack + per_node - 1) / per_node);
}

uint32_t sn_replace_lack(const struct sn_topo *topo, const uint32_t *cards,
			 const uint32_t *lost, uint32_t per_node, uint32_t atom,
			 uint64_t atoms)
{
	uint32_t *used = calloc((size_t)topo->n_supernodes + 1, sizeof(*used));
	uint64_t have = 0, all = 0;
	uint32_t n = 0;

	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		have += atom ? cards[s] / atom : 0;
		all += lost[s];
	}
	/* The next atom is made where it takes the fewest nodes. */
	while (used && per_node && atom && have < atoms && n < all) {
		uint32_t best = SN_NONE, least = 0;

		for (uint32_t s = 0; s < topo->n_supernodes; s++) {
			uint32_t next = for_next(cards[s] + (uint64_t)used[s] * per_node, per_node, atom);

			if (next <= lost[s] - used[s] && (best == SN_NONE || next < least)) {
				best = s;
				least = next;
			}
		}
		if (best == SN_NONE)
			break;
		have -= (cards[best] + (uint64_t)used[best] * per_node) / atom;
		used[best] += least;
		n += least;
		have += (cards[best] + (uint64_t)used[best] * per_node) / atom;
	}
	free(used);
	return have < atoms ? (uint32_t)all : n;
}

void sn_replace_restrict(const struct sn_topo *topo, const uint32_t *allow,
			 struct sn_place_node *node)
{
	for (uint32_t i = 0; i < topo->n_nodes; i++)
		if (!allow[topo->node[i].supernode])
			node[i].flags |= SN_NODE_ABSENT;
}

static uint32_t ranks_on(const struct sn_placement *placed,
			 const struct sn_placed_supernode *at, uint32_t node)
{
	for (uint32_t i = at->first; i < at->first + at->n; i++)
		if (placed->node[i].node == node)
			return placed->node[i].ranks;
	for (uint32_t i = 0; i < placed->n_spares; i++)
		if (placed->spare[i].node == node)
			return placed->spare[i].cards;
	return 0;
}

/* Leave the fullest of the chosen nodes. */
static void cut(const struct sn_topo_supernode *sn, uint32_t most,
		const struct sn_placement *placed,
		const struct sn_placed_supernode *at, struct sn_place_node *node)
{
	for (uint32_t i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
		uint32_t ranks = ranks_on(placed, at, i), before = 0;

		for (uint32_t k = sn->first_node;
		     ranks && k < sn->first_node + sn->n_nodes; k++) {
			uint32_t other = ranks_on(placed, at, k);

			before += other > ranks || (other == ranks && k < i);
		}
		if (!ranks || before >= most)
			node[i].flags |= SN_NODE_ABSENT;
	}
}

bool sn_replace_fits(const struct sn_topo *topo, const uint32_t *allow,
		     const struct sn_placement *placed,
		     struct sn_place_node *node)
{
	bool fits = true;

	for (uint32_t k = 0; k < placed->n_supernodes; k++) {
		const struct sn_placed_supernode *at = &placed->supernode[k];
		uint32_t n = at->n;

		for (uint32_t i = 0; i < placed->n_spares; i++)
			n += topo->node[placed->spare[i].node].supernode ==
				at->supernode;
		if (n <= allow[at->supernode])
			continue;
		cut(&topo->supernode[at->supernode], allow[at->supernode],
		    placed, at, node);
		fits = false;
	}
	return fits;
}
