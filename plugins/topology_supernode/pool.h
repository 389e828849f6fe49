/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.h - how much of each supernode's pool the running jobs hold.
 *
 * Nothing is kept: it is worked out from the jobs each time, so there is no
 * state to lose.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_POOL_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_POOL_H

#include "plugins/topology_supernode/offer.h"

/*
 * Take from offer's pools what the jobs in slurmctld's list hold. In a
 * simulated future (backfill, preemption) a job counts as gone where Slurm has
 * taken its cards off an offered node; of a job with no offered node that
 * cannot be seen, so it counts as there: a start may then be told too late,
 * never too early.
 */
void pool_take_running(const topology_eval_t *topo_eval, struct offer *offer);

#endif
