/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eval.h - choose the nodes of a --parallel job.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_EVAL_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_EVAL_H

#include "src/interfaces/topology.h"

#include "plugins/common/topoapi.h"

/* Is it a job that we place? Then *ret is what it asks. */
bool eval_is_ours(const job_record_t *job_ptr, struct sn_jobspec *ret);

/*
 * Choose nodes from topo_eval->node_map and trim what they offer to the ranks
 * that each of them gets, so that select/cons_tres allocates exactly those.
 * SLURM_SUCCESS, or an error and no promise about topo_eval. Free of side
 * effects on anything else. When every card counts as free (Slurm's TEST_ONLY)
 * it fails only for what can never change, since Slurm holds such a job.
 */
int eval_parallel(topology_eval_t *topo_eval, const struct sn_jobspec *spec);

/* struct sn_topoapi's could_fit. */
int eval_could_fit(const struct sn_topoapi_ask *ask, struct sn_err *err);

#endif
