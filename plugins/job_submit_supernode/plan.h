/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - what a layout comes to on this cluster, for the checks of a
 * submission (derive.c) and of an update (update.c).
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_PLAN_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_PLAN_H

#include "src/slurmctld/slurmctld.h"

#include "plugins/common/topoapi.h"

/* All that the refusals talk about. */
struct plan {
	const struct sn_jobspec *spec;
	const char *card; /* "npu" */
	uint32_t world;
	uint32_t most; /* cards of the node with the most */
	uint32_t least_nodes;
	uint32_t exact_nodes; /* that follow from other options; 0: free */
	uint32_t min_nodes, max_nodes; /* the user's -N; 0: free */
	uint32_t most_spares; /* nodes without ranks, besides those */
	bool whole; /* nodes that nobody shares */
	char type[64]; /* of the cards, "" */
};

static inline bool plan_is_set16(uint16_t v)
{
	return v && v != NO_VAL16 && v != INFINITE16;
}

static inline bool plan_is_set32(uint32_t v)
{
	return v && v != NO_VAL && v != INFINITE;
}

int plan_make(const struct sn_topoapi *api, const struct sn_jobspec *spec,
	      struct plan *ret, struct sn_err *err);
/* "tp·cp·pp·dp = …"; returns buf. */
const char *plan_arithmetic(const struct plan *plan, char *buf, size_t size);

/* Whole nodes, by --exclusive or by a partition of the job's: *plan knows then;
 * or the layout does not fill nodes. */
int plan_check_whole(const job_desc_msg_t *job_desc, struct plan *plan,
		     struct sn_err *err);
/* A greatest number of nodes with ranks, with room for spares: still one where Slurm
 * would take the sum for a mark of its own, or it does not fit. */
static inline uint32_t plan_with_spares(const struct plan *plan, uint32_t max)
{
	return max < NO_VAL - plan->most_spares ? max + plan->most_spares : max;
}

/* How many names a hostlist has. */
uint32_t plan_count_hosts(char *list);
/* Do that many nodes, at least min and at most max, go with the layout and
 * with the `required` ones? option is what the user typed, "-N ". */
int plan_check_nodes(const struct plan *plan, const char *option, uint32_t min,
		     uint32_t max, uint32_t required, struct sn_err *err);
/* Set the node counts of a job from its -N and -w. -N counts nodes with ranks;
 * Slurm's greatest number has room for as many spares as there could be. */
int plan_set_nodes(job_desc_msg_t *job_desc, struct plan *plan,
		   struct sn_err *err);
/* Could it fit these partitions, -w and -x if every card were free? */
int plan_check_fit(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		   const struct plan *plan, struct sn_err *err);

#endif
