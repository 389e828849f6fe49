/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joblost.h - which nodes a running job has lost.
 *
 * Slurm forgets a node that fails under a job. select/supernode writes those that
 * the job began with into its admin_comment (jobcomment.h), without nodes that
 * were given back since; what of them the job has no more, it has lost.
 */
#ifndef SN_TOPOLOGY_JOBLOST_H
#define SN_TOPOLOGY_JOBLOST_H

#include <stdint.h>

#include "topology/err.h"
#include "topology/spares.h"
#include "topology/topo.h"

struct sn_joblost {
	uint32_t *node; /* [n] in topology order */
	uint32_t n;
	uint32_t *count; /* [topo->n_supernodes] of them in each */
};

/*
 * node[n_nodes] is what the job has, in any order. *ret is the caller's
 * (sn_joblost_done). Nodes that the topology has not are passed over. -ENOENT:
 * comment does not say what the job began with; -EINVAL, -ENOMEM.
 */
int sn_joblost_find(const struct sn_topo *topo, const char *comment,
		    const struct sn_spares_node *node, uint32_t n_nodes,
		    struct sn_joblost *ret, struct sn_err *err);
void sn_joblost_done(struct sn_joblost *lost);

#endif
