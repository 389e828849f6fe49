/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ladder_internal.h - between ladder.c, which decides, and laddersay.c, which says
 * why; private to both.
 */
#ifndef SN_TOPOLOGY_LADDER_INTERNAL_H
#define SN_TOPOLOGY_LADDER_INTERNAL_H

#include "topology/ladder.h"

/* What the failures come to in one supernode. */
struct sn_hurt {
	uint32_t leave; /* nodes that ranks must leave */
	uint32_t spares; /* spares of the job that are gone */
	uint64_t cards; /* gone */
	bool whole;
	uint32_t from_spares, from_nodes; /* who takes over */
	bool open; /* leave is more than those are */
};

struct sn_ladder_state {
	const struct sn_ladder_job *job;
	const struct sn_ladder_costs *costs;
	const struct sn_failure *failure;
	uint32_t n;
	struct sn_hurt *hurt; /* [n_domains] */
	uint32_t *order; /* failures by domain and node */
	bool suspect, sick, lost, batch, step; /* what there is among them */
	const struct sn_failure *first; /* the gravest, for the sentence */
	uint32_t hits; /* failures that hit ranks */
	uint32_t leave, open_atoms;
	uint32_t gone; /* nodes, with what is in their memory */
	uint32_t shrink_to;
	double ranks;
};

/* Whether ranks, or a spare, must be without the node. */
bool sn_ladder_must_leave(const struct sn_ladder_state *s, const struct sn_failure *f);
/* The step does not run. */
static inline bool sn_ladder_broken(const struct sn_ladder_state *s)
{
	return s->lost || s->step || !s->job->running;
}
/* s of work that are lost where ranks cannot be warned, by these means. */
static inline double sn_ladder_since(const struct sn_ladder_state *s, enum sn_means means)
{
	const struct sn_ladder_job *job = s->job;

	return means != SN_MEANS_REQUEUE && s->gone <= 1 && job->since_memory >= 0 &&
		job->since_memory < job->since_safe ? job->since_memory : job->since_safe;
}
void sn_ladder_say(const struct sn_ladder_state *s, struct sn_ladder_plan *plan);

#endif
