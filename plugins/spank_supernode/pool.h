/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.h - a job's region of the pool, from its first step on a node to its end.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_POOL_H
#define SN_PLUGINS_SPANK_SUPERNODE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "slurm/spank.h"

/* In slurmstepd, as root, before the tasks are forked: the job's region on this
 * node is there afterwards, and the step's environment names it. A spare that runs
 * no ranks has none. ranks: how many snrun says the step has here, 0: it does not
 * say. */
void pool_prepare(spank_t sp, uint32_t ranks);
/* In a task. False: it must not run, for it would not find its region; the user
 * has been told. */
bool pool_task_may_run(spank_t sp);
/* At the end of the job on this node. */
void pool_job_ends(spank_t sp);
/* In slurmd: take away what is left of jobs that are gone, at its start and now
 * and then, and regions with names that were deleted. In the background, and
 * slurmctld is asked only where there is something. pool_sweep_stop() waits for
 * it, some seconds at most. */
void pool_sweep_start(void);
void pool_sweep_stop(void);

#endif
