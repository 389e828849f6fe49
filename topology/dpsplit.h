/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dpsplit.h - data-parallel groups cut along the supernodes, so that gradients
 * are summed inside a supernode first and between supernodes then.
 *
 * A *part* is what a group has in one supernode, in the group's order; parts of
 * a group come in the order of their first members, its *leaders*. The leaders
 * of a group's parts are a group of their own, of one rank where the group does
 * not leave its supernode. Every rank is in exactly one part.
 */
#ifndef SN_TOPOLOGY_DPSPLIT_H
#define SN_TOPOLOGY_DPSPLIT_H

#include <stdint.h>

#include "topology/err.h"
#include "topology/groups.h"

/* Sets of ranks of different sizes: set i is rank[first[i]] .. rank[first[i+1]-1]. */
struct sn_ranksets {
	uint32_t n;
	uint32_t *first; /* [n + 1] */
	uint32_t *rank;
};

struct sn_dpsplit {
	struct sn_ranksets intra; /* the parts, group by group */
	struct sn_ranksets inter; /* the leaders of group i's parts */
};

/* supernode[rank] < n_supernodes. Owned by the caller: sn_dpsplit_done().
 * -ENOMEM. */
int sn_dpsplit_build(const struct sn_groups *dp, const uint32_t *supernode,
		     uint32_t n_supernodes, struct sn_dpsplit *ret,
		     struct sn_err *err);
void sn_dpsplit_done(struct sn_dpsplit *split);

#endif
