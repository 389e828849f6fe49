/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sizes.h - the data-parallel sizes that an elastic job may have.
 *
 * DP moves in steps of sn_layout_dp_grid() replicas, from min_dp to max_dp; with
 * a global and a micro batch size only where gbs is a multiple of mbs·dp, so that
 * each replica has whole micro batches and the global batch stays as it is. One
 * step is pp atoms where the grid is the atom's share of replicas. A job without
 * --elastic has one size.
 *
 * A job of several Slurm jobs is a base of min_dp and *members*: one for each way
 * from a legal size to the next, or for several such ways together.
 */
#ifndef SN_TOPOLOGY_SIZES_H
#define SN_TOPOLOGY_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/jobspec.h"
#include "topology/layout.h"

struct sn_sizes {
	uint32_t min, want, max; /* dp; legal ones */
	uint32_t step; /* replicas */
	uint32_t gbs, mbs; /* 0: not given */
	uint32_t replica; /* ranks of one: tp·cp·pp */
	uint32_t atom, atoms; /* ranks of one; how many of them a step has */
};

/* layout's dp is the size wanted; elastic NULL: the only one. Both as
 * sn_jobspec_parse() has checked them. */
void sn_sizes_init(struct sn_sizes *sizes, const struct sn_layout *layout,
		   const struct sn_elastic *elastic);

bool sn_sizes_is_legal(const struct sn_sizes *sizes, uint64_t dp);
/* The legal size nearest to dp, not above (below) it; 0: there is none. */
uint32_t sn_sizes_at_most(const struct sn_sizes *sizes, uint64_t dp);
uint32_t sn_sizes_at_least(const struct sn_sizes *sizes, uint64_t dp);
/* The next lower, the next higher one; 0: there is none. */
uint32_t sn_sizes_lower(const struct sn_sizes *sizes, uint32_t dp);
uint32_t sn_sizes_higher(const struct sn_sizes *sizes, uint32_t dp);

uint64_t sn_sizes_ranks(const struct sn_sizes *sizes, uint32_t dp);
/* Micro batches of each replica in one global batch; 0: gbs is not given. */
uint32_t sn_sizes_micro_batches(const struct sn_sizes *sizes, uint32_t dp);

/* The largest legal size for which supernodes with so many live cards have
 * atoms enough; 0: none. Whether nodes hold them whole is for the engine to say,
 * so it is an upper bound. */
uint32_t sn_sizes_fit(const struct sn_sizes *sizes, const uint32_t *cards,
		      size_t n_supernodes);

/*
 * The members that carry a job from the legal size `from` to `to`, at most
 * `most` of them: ret[i] is the dp of member i, as many as are returned, and they
 * sum up to to - from. The first are what is to be there first, as with each
 * further one the job has a legal size. `most` is at least 1.
 */
size_t sn_sizes_members(const struct sn_sizes *sizes, uint32_t from,
			uint32_t to, size_t most, uint32_t *ret);

#endif
