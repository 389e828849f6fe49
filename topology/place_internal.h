/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_internal.h - what the parts of the placement engine share.
 *
 * The way of a request:
 *	place.c		checks it, runs passes without and with late and
 *			degraded nodes
 *	place_prep.c	which nodes serve, what each holds, what using it costs
 *	place_power.c	which of them stay idle
 *	place_caps.c	how many atoms each supernode can host
 *	place_local.c	inside one supernode: what hosting a atoms costs, and
 *			which nodes do it
 *	place_table.c	the dynamic programme for that
 *	place_large.c	the same for a supernode too large for that
 *	place_span.c	how many nodes such a one can use
 *	place_spread.c	parts and nodes shared out over places
 *	place_forest.c	the supernodes in question, by fabrics
 *	place_choose.c	how many supernodes, and which:
 *	place_steps.c	by fabrics and costs, exactly
 *	place_tree.c	by fabrics alone, for sizes beyond the budget
 *	place_many.c	the same for too many supernodes
 *	place_bound.c	for an exact number of nodes beyond the budget
 *	place_split.c	how many atoms each chosen supernode hosts
 *	place_fill.c	how many ranks each chosen node runs, spares, the score
 *	place_reason.c	why it does not fit
 *
 * Points 4 to 6 are one number: units, nodes, degraded nodes, late nodes, weight,
 * left in supernodes, left in nodes, each in its own bits, so that comparing numbers
 * compares lexicographically and adding them adds every part. Weights and free
 * cards enter less their minimum: the number of nodes is compared before them,
 * so a constant per node changes no comparison and saves bits.
 */
#ifndef SN_TOPOLOGY_PLACE_INTERNAL_H
#define SN_TOPOLOGY_PLACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/place.h"

typedef unsigned __int128 pl_cost;
#define PL_INF ((pl_cost)1 << 127)

#define PL_HELD_SPARE 1 /* back, as SpareNodes */
#define PL_HELD_IDLE 2 /* by the PowerLimit */

/* One supernode's tables may take this much; else place_large.c serves it. */
#define PL_LOCAL_BYTES (64u << 20)
/* The profiles that are wanted at once may take so many steps; else costs are
 * estimated. */
#define PL_PROFILE_WORK (4 * (uint64_t)SN_PLACE_EXACT_WORK)
/* After so many steps of a run no more tables are made for single supernodes. */
#define PL_RUN_WORK (5 * (uint64_t)SN_PLACE_EXACT_WORK)
/* Joins of ways in place_tree.c: then only the extreme ones are kept. */
#define PL_TREE_WORK ((uint64_t)SN_PLACE_EXACT_WORK)
/* More of them at least, and place_many.c serves. */
#define PL_MANY_WORK (2 * (uint64_t)SN_PLACE_EXACT_WORK)

/* A node that can host at least one node block. Kept per supernode, unit by
 * unit, so that a unit is a run. */
struct pl_item {
	pl_cost cost; /* of using the node */
	uint32_t node;
	uint8_t cap; /* node blocks */
	bool last; /* of its unit */
	bool must; /* has to be used */
	bool never; /* may not be used, but may be a spare */
};

/* What hosting 0, 1, … atoms costs: the same for all supernodes whose items
 * are the same. */
struct pl_profile {
	uint32_t atoms; /* the most */
	uint32_t q; /* the most nodes if p->bound, else 0 */
	pl_cost *cost; /* [(atoms + 1) * (q + 1)], PL_INF: cannot be; NULL: not
			* known, as it would take too long */
	const struct pl_item *item; /* of the first supernode that has it */
	uint32_t n_items, q_max;
	uint64_t steps; /* to find the costs */
	uint32_t round; /* of p, for counting each once */
	uint64_t hash;
	struct pl_profile *next; /* in its hash bucket */
};

struct pl_supernode {
	struct pl_item *item;
	uint32_t n_items;
	bool ordered; /* items are in topology order */
	bool large; /* its tables would be: no profile, place_large.c */
	bool forced; /* has a required node */
	uint32_t n_must;
	uint32_t q_max; /* most nodes the pool allows; UINT32_MAX: no limit */
	uint32_t pool_atoms; /* most atoms the pool allows */
	uint32_t cap; /* most atoms in all, never over p->atoms */
	uint32_t min; /* fewest atoms if used at all, at least 1 */
	uint64_t free; /* free cards, all nodes that are not absent */
	uint32_t leaf; /* which leaf it is to pl_choose() */
	struct pl_profile *profile; /* by need: pl_local_profile() */
};

struct pl {
	const struct sn_topo *topo;
	const struct sn_place_state *state;
	const struct sn_place_request *req;
	bool late, degraded; /* such nodes take part in this pass */
	uint32_t bound; /* exactly so many nodes are searched for; 0: any */
	bool greedy; /* without tables: those for p->bound are too large */
	uint32_t atoms; /* wanted */
	uint32_t per_atom; /* node blocks of an atom */
	uint32_t per_unit; /* node blocks of a unit block */
	uint8_t *held; /* [n_nodes] PL_HELD_*: do not serve; 0: may */
	struct pl_item *item; /* all of them; supernodes have slices */
	struct pl_supernode *sn;
	pl_cost unit_cost; /* 0 without units */
	unsigned cost_bits; /* of the sum over all nodes */
	unsigned shift_nodes, shift_degraded, shift_late, shift_weight, shift_left;
	uint64_t weight_min, weight_div, free_min, left_min;
	struct pl_profile **bucket;
	uint32_t n_buckets;
	uint32_t round;
	void *rows; /* pl_local_nodes(): as touching new memory takes longest */
	size_t rows_size;
	uint64_t work; /* elementary steps done */
	uint64_t tree_work; /* the same of place_tree.c */
	bool exact;
};

/* A search for an exact number of nodes comes after one for any. */
static inline uint64_t pl_profile_work(const struct pl *p)
{
	return PL_PROFILE_WORK / (p->bound ? 2 : 1);
}

static inline uint64_t pl_run_work(const struct pl *p)
{
	return PL_RUN_WORK / (p->bound ? 2 : 1);
}

/* A chosen supernode. */
struct pl_pick {
	uint32_t s;
	uint32_t atoms;
	uint32_t nodes; /* how many if p->bound, else 0 */
};

struct pl_choice {
	struct pl_pick *pick; /* in topology order */
	uint32_t n;
};

/* place_prep.c */
int pl_prep(struct pl *p);
void pl_done(struct pl *p);
bool pl_pool_fits(const struct pl *p, uint32_t s, uint32_t atoms);
pl_cost pl_left_cost(const struct pl *p, uint32_t s);
bool pl_usable(const struct pl *p, uint32_t node);
uint32_t pl_blocks(const struct pl *p, uint32_t node);

/* place_power.c: -ENOMEM */
int pl_keep_idle(struct pl *p, uint32_t s);

/* place_table.c: see there */
struct pl_table {
	const struct pl_item *item;
	uint32_t n;
	uint32_t z, j, q, o; /* greatest value of each part of a state */
	uint32_t per_unit;
	uint32_t m; /* node blocks a node counts for at most, and a spare holds */
	bool assign;
	bool keep; /* all rows, for pl_table_walk() */
	pl_cost unit_cost;
	size_t size; /* states */
	pl_cost *row; /* [n + 1][size] if keep, else [2][size] */
};

void pl_table_solve(const struct pl_table *t);
pl_cost pl_table_cost(const struct pl_table *t, uint32_t z, uint32_t q);
int pl_table_walk(const struct pl_table *t, uint32_t z, uint32_t q, bool *used);

/* place_caps.c */
int pl_local_caps(struct pl *p);
uint32_t pl_largest(const struct pl_supernode *sn);
uint32_t pl_plain_atoms(const struct pl *p, const struct pl_supernode *sn);
int pl_spared_units(const struct pl *p, const struct pl_supernode *sn,
		    uint32_t m, uint32_t *take, int64_t *ret);

/* place_local.c */
int pl_local_profile(struct pl *p, uint32_t s);
int pl_local_profiles(struct pl *p, const uint32_t *s, uint32_t n,
		      bool *ret_all);
static inline bool pl_has_costs(const struct pl_supernode *sn)
{
	return sn->profile && sn->profile->cost;
}
/* Marks in used[] (one per item) the nodes that host `atoms` atoms best;
 * nodes: exactly that many, 0: free. */
int pl_local_nodes(struct pl *p, uint32_t s, uint32_t atoms, uint32_t nodes,
		   bool *used);

/* place_spread.c */
struct pl_heap { /* of numbers; equal ones: the smaller first */
	uint32_t *index;
	uint32_t n;
	bool (*before)(const void *arg, uint32_t a, uint32_t b);
	const void *arg;
};

void pl_heap_build(struct pl_heap *h);
void pl_heap_again(struct pl_heap *h, bool out);

struct pl_place {
	const uint32_t *lo, *hi; /* [cap + 1], from min on: nodes by parts */
	uint32_t min, cap; /* parts */
	uint32_t got, nodes; /* what it gets */
};

int pl_sweep(struct pl_place *place, uint32_t n, uint64_t total, bool most,
	     uint32_t *record);
int pl_spread(struct pl_place *place, uint32_t n, uint64_t total,
	      uint64_t nodes);

/* place_large.c */
struct pl_large_node {
	const struct pl_item *item;
	uint32_t cap; /* at most m */
	bool aside; /* to be a spare */
};

struct pl_large_group { /* a unit, or all nodes */
	uint32_t first, n;
	uint32_t blocks; /* unit blocks */
	uint32_t musts; /* nodes in it that have to be used */
};

struct pl_large {
	const struct pl *p;
	const struct pl_supernode *sn;
	struct pl_large_node *node, *by_cost;
	struct pl_large_group *group;
	uint32_t n_groups;
	uint32_t *take; /* by unit */
	bool *used; /* by item */
};

int pl_large_init(struct pl_large *l, const struct pl *p, uint32_t s);
void pl_large_done(struct pl_large *l);
/* Groups where no node runs more than m, less the spares; *ret: there are
 * enough of those. units: each is a group. False for an m that need not be
 * tried, as a larger one is never worse. */
bool pl_large_m(const struct pl_large *l, uint32_t m);
int pl_large_groups(struct pl_large *l, uint32_t m, bool units, bool *ret);
int pl_large_cap(struct pl *p, uint32_t s);
int pl_large_nodes(struct pl *p, uint32_t s, uint32_t atoms, uint32_t nodes,
		   bool *used);

/* place_span.c: nodes that a supernode can use, by atoms. */
struct pl_span {
	uint32_t *lo, *hi; /* [cap + 1], from min on */
	uint32_t min, cap; /* cap 0: it can host nothing */
};

int pl_span(const struct pl *p, uint32_t s, struct pl_span *ret);
void pl_span_done(struct pl_span *span);
/* Marks exactly so many nodes that host so many atoms. */
int pl_span_nodes(const struct pl *p, uint32_t s, uint32_t atoms,
		  uint32_t nodes, bool *used);

/* place_large.c again */
pl_cost pl_large_cost(const struct pl *p, uint32_t s, uint32_t atoms);

/* The cost of hosting atoms, by profile or estimated. */
static inline pl_cost pl_cost_of(const struct pl *p, uint32_t s,
				 uint32_t atoms, uint32_t q)
{
	const struct pl_supernode *sn = &p->sn[s];

	if (!pl_has_costs(sn))
		return pl_large_cost(p, s, atoms);
	return sn->profile->cost[(size_t)atoms * (sn->profile->q + 1) + q];
}

/* place_choose.c: -ENOSPC without a text if there is none, -E2BIG an exact
 * number of nodes needs tables that are too large. */
int pl_choose(struct pl *p, struct pl_choice *ret);

/*
 * A supernode in question. The k largest hold `slack` atoms more than wanted.
 * Each choice of k supernodes loses some of that: use_loss where a leaf that is
 * not among the k largest is used, skip_loss where one of them is not, and what
 * a leaf hosts less than it could. In all exactly slack is lost.
 */
struct pl_leaf {
	uint32_t s;
	uint32_t cap, min; /* atoms */
	uint32_t use_loss, skip_loss;
	uint32_t share; /* fabric levels shared with the next leaf */
	bool must, never;
};

/* Fabric levels that count, with a supernode of a shorter chain standing for
 * itself below its end: dom[i * levels + d] is leaf i's domain at level d. */
struct pl_forest {
	struct pl_leaf *leaf; /* depth first */
	uint32_t n;
	uint32_t levels;
	uint32_t *dom;
	uint32_t *level; /* which of the topology's levels each is */
	bool ordered; /* depth first is topology order */
};

/* place_forest.c */
int pl_forest_build(struct pl_forest *f, const struct sn_topo *topo);
void pl_forest_done(struct pl_forest *f);
void pl_sort_picks(struct pl_choice *c); /* in topology order */
/* open[o], o = 0..levels: what a supernode adds to the fabrics that are used if
 * its domains down to level o - 1 are in use already; the numbers take the bits
 * below `top`. */
void pl_forest_costs(struct pl *p, const struct pl_forest *f, uint32_t k,
		     unsigned top, pl_cost *open);

/* place_steps.c: -ENOSPC there is none, -E2BIG the table is too large.
 * uniform: what they host, and at which cost, does not tell them apart. */
int pl_steps(struct pl *p, struct pl_forest *f, uint32_t k, uint64_t slack,
	     bool uniform, struct pl_choice *ret);

/* place_tree.c; fits, if not NULL, says 0 or -ENOSPC to one choice after the
 * other, the narrowest first, the one that loses least last. */
typedef int pl_fits(void *arg, struct pl_choice *c);
int pl_tree(struct pl *p, const struct pl_forest *f, uint32_t k,
	    uint64_t slack, pl_fits *fits, void *arg, struct pl_choice *ret);

/* place_many.c */
int pl_many(const struct pl_forest *f, uint32_t k, uint64_t slack,
	    pl_fits *fits, void *arg, struct pl_choice *ret);

/* place_bound.c */
int pl_bound(struct pl *p, struct pl_choice *ret);

/* place_split.c: ret->pick[].s is given; sets atoms and nodes. */
int pl_split(struct pl *p, struct pl_choice *ret);

/* place_fill.c */
int pl_fill(struct pl *p, const struct pl_choice *choice,
	    struct sn_placement *ret);

/* place_reason.c */
int pl_reason(const struct pl *p, struct sn_err *err);

void *pl_alloc(size_t n, size_t size);

#endif
