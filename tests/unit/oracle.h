/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oracle.h - an independent judge of the placement engine and the rank map.
 *
 * It is written from the interface contract alone and shares no code with
 * topology/place*.c, topology/groups.c or topology/rankmap.c, so that an error
 * has to be made twice to go unseen. It reads struct sn_topo's arrays, no
 * function of the core. Slow where being slow is being obviously right.
 *
 * Where the contract leaves something open, place.h says how it is
 * read, and the oracle follows place.h.
 */
#ifndef SN_TESTS_ORACLE_H
#define SN_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/layout.h"
#include "topology/place.h"
#include "topology/rankmap.h"
#include "topology/topo.h"

#define ORACLE_LEVELS 16
#define ORACLE_WHY 512

/* What is minimised, most important first: who takes part (ORACLE_LATE and
 * ORACLE_DEGRADED, spares too), supernodes, fabrics by level, units, nodes,
 * degraded nodes with ranks, late ones, weight, left in supernodes, in nodes. */
#define ORACLE_LATE 1u
#define ORACLE_DEGRADED 2u
struct oracle_key {
	uint64_t v[ORACLE_LEVELS + 9];
	uint32_t n;
	uint32_t n_firm; /* up to the fabrics: exact at every size */
};

struct oracle {
	const struct sn_topo *topo;
	const struct sn_place_state *state;
	const struct sn_place_request *request;
	uint32_t *cap; /* [n_nodes] most ranks a node may run, in whole blocks */
	uint32_t *room; /* [n_nodes] most ranks it could run as a spare */
	uint32_t *free; /* [n_nodes] free cards that count as left */
	bool *held; /* [n_nodes] SpareNodes */
	uint32_t *may_begin; /* [n_supernodes] nodes that may begin to draw */
	bool power; /* less than there are somewhere: then 4 to 7 are not exact,
		     * and with unit blocks of more than a node, nothing is */
	bool turns; /* units take turns in the nodes' order */
	uint32_t *unit_ranks; /* [n_units] scratch, all 0 between calls */
	bool *fabric_seen; /* [n_fabrics] scratch, all false between calls */
};

int oracle_init(struct oracle *o, const struct sn_topo *topo,
		const struct sn_place_state *state,
		const struct sn_place_request *request);
void oracle_done(struct oracle *o);

/* Whether ranks[node] is a legal assignment; why (ORACLE_WHY bytes) may be
 * NULL. */
bool oracle_legal(struct oracle *o, const uint32_t *ranks, char *why);
/* Are there the spares wanted, on nodes of the kinds in `parts`? For oracle_key(). */
bool oracle_spares_fit(const struct oracle *o, uint32_t s, const uint32_t *ranks,
		       uint32_t most, uint32_t parts);
/* The key of a legal assignment. */
void oracle_key(struct oracle *o, const uint32_t *ranks,
		struct oracle_key *ret);
int oracle_key_cmp(const struct oracle_key *a, const struct oracle_key *b);
/* Point 7 for equal keys: < 0 if a comes first, 0 if it does not say. */
int oracle_first_cmp(const struct oracle *o, const uint32_t *a,
		     const uint32_t *b);
/* Which of late and degraded a node is. */
uint32_t oracle_kind(const struct sn_place_node *node);
/* The same key from what the engine says, who takes part and the late nodes
 * being counted for it: score does not hold them. */
void oracle_key_of_score(const struct sn_score *score, uint32_t parts,
			 uint32_t late, struct oracle_key *ret);

/* How many assignments oracle_search() would look at, at most. */
double oracle_effort(const struct oracle *o);
/* Exhaustive. True and the best assignment in ranks[n_nodes], or false where
 * none is legal. */
bool oracle_search(struct oracle *o, uint32_t *ranks, struct oracle_key *ret);

/*
 * Judges of an answer at any size: 0, or -1 with the objection in why.
 * ret_ranks[n_nodes] is filled on success.
 */
int oracle_check_placement(struct oracle *o, const struct sn_placement *p,
			   uint32_t *ret_ranks, char *why);
/* The map of a placement: groups in their domains, cards, order of filling.
 * p->node is in the order that the map was built for. */
int oracle_check_rankmap(struct oracle *o, const struct sn_layout *layout,
			 const struct sn_placement *p,
			 const struct sn_rankmap *map, char *why);

/* The axes that a layout binds, by the coordinate formulas. */
enum oracle_axis { ORACLE_TP, ORACLE_CP, ORACLE_EP, ORACLE_ETP, ORACLE_AXES };
/* The smallest rank of rank's group on an axis. */
uint32_t oracle_group(const struct sn_layout *layout, enum oracle_axis axis,
		      uint32_t rank);
enum sn_domain oracle_within(const struct sn_layout *layout,
			     enum oracle_axis axis);
/* block[rank] = smallest rank of its block of the domain: connected components
 * of the groups of all axes bound to it or to a smaller one. */
void oracle_blocks(const struct sn_layout *layout, enum sn_domain domain,
		   uint32_t *block);

#endif
