/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gone.h - is a running job still there in what Slurm pretends?
 *
 * For a look into the future or at a preemption Slurm takes jobs off the nodes
 * and does not say which. What is left of a job are its cards: where they are not
 * taken on some offered node, it is gone. A job without cards, or none of whose
 * nodes is offered, counts as there; so starts may be foreseen late, never early.
 *
 * What slurmctld is really asked (RUN_NOW), jobs that are ending hold what they
 * hold: a node works, and a region is there, until the last process and the epilog
 * are done.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_GONE_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_GONE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/interfaces/topology.h"

bool gone_may_be(const job_record_t *job_ptr);
/* Are these cards of a job (NULL: it has none there) not taken on offered node i? */
bool gone_from(const topology_eval_t *topo_eval, int i, bitstr_t *cards,
	       uint32_t card_id);
bool gone_job(const topology_eval_t *topo_eval, const job_record_t *job_ptr,
	      uint32_t card_id);

#endif
