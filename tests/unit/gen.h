/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gen.h - seeded random clusters and requests for the placement tests.
 *
 * Biased to where engines go wrong: requests that just fit or just do not,
 * equal supernodes and nodes (ties), and every feature of the contract. The
 * model is filled in directly, so that a case needs no parser; gen_print()
 * writes it as a topology.conf, a state and a request.
 */
#ifndef SN_TESTS_GEN_H
#define SN_TESTS_GEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "topology/layout.h"
#include "topology/place.h"
#include "topology/topo.h"

struct gen_limits {
	uint32_t supernodes, nodes_per_supernode, loose;
	uint32_t nodes; /* in all, loose ones too */
	uint32_t world;
	double effort; /* assignments an exhaustive search would see; 0: any */
};

struct gen_case {
	uint64_t seed;
	uint32_t cards; /* most nodes have so many */
	struct sn_topo topo; /* without an index: nothing is found by name */
	struct sn_place_node *node;
	struct sn_place_supernode *supernode;
	struct sn_place_state state; /* points to the two above */
	struct sn_layout layout;
	struct sn_place_request request;
};

struct gen_rng { uint64_t state; };
uint32_t gen_pick(struct gen_rng *rng, uint32_t n); /* 0 .. n-1 */
bool gen_chance(struct gen_rng *rng, uint32_t percent);

/* The case of a seed; gen_done() frees it. Ends the test without memory. */
void gen_case(struct gen_case *c, uint64_t seed, const struct gen_limits *l);
void gen_done(struct gen_case *c);
/* A case by hand: n supernodes of size[i] nodes with `cards` free cards each,
 * no fabrics or units, a request that is all zero. */
void gen_simple(struct gen_case *c, uint32_t n, const uint32_t *size,
		uint32_t cards);
/* The request of a job of segments: `atom` consecutive nodes, one rank each. */
void gen_segment(struct gen_case *c, uint32_t nodes, uint32_t segment);

/* World, edp and blocks of a layout whose other fields are set. False where
 * the blocks of a domain differ in size: such a layout is refused. */
bool gen_layout_finish(struct sn_layout *layout);
/* A layout with the least dp that its sizes allow; false: a try in vain. */
bool gen_layout(struct sn_layout *layout, uint32_t cards, struct gen_rng *rng);
void gen_print(FILE *out, const struct gen_case *c);
void gen_print_topology(FILE *out, const struct sn_topo *topo);

/* Make the case smaller while fails(c) stays true. */
void gen_shrink(struct gen_case *c, bool (*fails)(struct gen_case *c));

#endif
