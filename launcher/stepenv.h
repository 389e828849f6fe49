/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepenv.h - what snrun tells the SPANK plugin about the step that it starts.
 *
 * snrun names the node of each rank (srun -m arbitrary), and after a swap the
 * order of nodes is no longer the one that each node could work out by itself.
 * So srun's environment carries
 *	SUPERNODE_PLAN=generation=1,port=61234,max_restarts=3,master=n003
 *	SUPERNODE_PLAN_NODES=n003,n[001-002]	in the order of their ranks, no spares
 * and the plugin sets GROUP_RANK (the place in the list), MASTER_ADDR,
 * MASTER_PORT, SUPERNODE_GENERATION and the TORCHELASTIC_* counters from it; what
 * the user has set is kept, as ever. It takes PLAN and PLAN_NODES out of the
 * tasks' environment, and passes over a list that is not this step's.
 * Where the ranks lie in several jobs (parts.h), each of which has a step of its
 * own, the tasks of one are told who they are:
 *	SUPERNODE_PLAN_RANKS=16:0:8:8,32:4:8:4
 * tasks 0-7 are ranks 16-23 and on their node 0-7 of 8, tasks 8-11 are ranks 32-35
 * and 4-7 of 8 there; and PLAN_NODES names the nodes of all steps.
 * SUPERNODE_JOB_DIR and SUPERNODE_BIND (none, locality, slices) are taken as
 * they are. SUPERNODE_RANKS=plan:JOB.RUN.GENERATION stays with the tasks, JOB being the
 * base: by it those of an earlier generation are told (leftover.h).
 */
#ifndef SN_LAUNCHER_STEPENV_H
#define SN_LAUNCHER_STEPENV_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_STEPENV_RANKS "SUPERNODE_RANKS"
#define SN_STEPENV_RANKS_PLAN "plan:"
#define SN_STEPENV_RANKS_MAX 40 /* of the value, with the NUL */
#define SN_STEPENV_NO_RANKS "SUPERNODE_NO_RANKS" /* =1: a step of snrun's own */
/* =leave: and the node's pool region goes, as a spare has taken the node's ranks */
#define SN_STEPENV_LEAVE "leave"
#define SN_STEPENV_PLAN "SUPERNODE_PLAN"
#define SN_STEPENV_NODES "SUPERNODE_PLAN_NODES"
#define SN_STEPENV_PLAN_RANKS "SUPERNODE_PLAN_RANKS"
#define SN_STEPENV_JOB_DIR "SUPERNODE_JOB_DIR"
#define SN_STEPENV_BIND "SUPERNODE_BIND"

/* For the ranks of a job with --elastic=…gbs=,mbs=: micro batches of each replica
 * in one global batch, at the size of this generation. */
#define SN_STEPENV_MICRO_BATCHES "SUPERNODE_MICRO_BATCHES"

#define SN_STEPENV_HOST_MAX 256 /* with the NUL */

struct sn_stepenv {
	uint32_t generation;
	uint32_t max_restarts;
	uint16_t port; /* 0: not given */
	char master[SN_STEPENV_HOST_MAX]; /* "": not given */
};

/* Room for any SUPERNODE_PLAN, with the NUL. */
#define SN_STEPENV_TEXT_MAX (SN_STEPENV_HOST_MAX + 96)
void sn_stepenv_format(const struct sn_stepenv *plan, char *buf, size_t size);
/* Keys that are not known are passed over, as a newer snrun may give more.
 * -EINVAL with a sentence; then *ret is untouched. */
int sn_stepenv_parse(const char *text, struct sn_stepenv *ret,
		     struct sn_err *err);

/* What a task of a part is in the whole. */
struct sn_stepenv_rank {
	uint32_t rank;
	uint32_t local, local_world; /* on its node */
};
/* ret[0 … n_tasks - 1] from SUPERNODE_PLAN_RANKS. -EINVAL: not of so many tasks,
 * or no such text; then ret holds anything. */
int sn_stepenv_ranks_parse(const char *text, struct sn_stepenv_rank *ret,
			   uint32_t n_tasks, struct sn_err *err);

#endif
