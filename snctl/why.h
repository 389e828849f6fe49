/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * why.h - can a pending job be placed, now or later, and what is in the way?
 */
#ifndef SNCTL_WHY_H
#define SNCTL_WHY_H

#include <time.h>

#include "snctl/live.h"
#include "snctl/reason.h"
#include "snctl/whyask.h"
#include "snctl/whyctld.h"
#include "snctl/whystate.h"

struct why_supernode {
	uint32_t supernode;
	uint32_t free; /* cards free on nodes the job may use */
	uint32_t usable; /* of those, in whole node blocks and within CPUs */
	uint32_t held; /* of those, on nodes that SpareNodes or --spares keep */
	uint32_t atoms; /* that fit now */
	uint32_t short_by; /* cards that one atom more would need */
	uint32_t nodes; /* that have a share of a job without --parallel */
	uint32_t tasks; /* that fit on them */
	uint32_t masked; /* cards, on nodes the job may use */
	uint32_t out[WHY_OUTS]; /* nodes by what stands against them */
	uint64_t pool_free; /* bytes; only where the job wants some */
};

struct why {
	const struct live_job *job;
	const partition_info_t *part; /* the one that the rest is about */
	uint32_t n_parts; /* that the job names */
	struct reason reason;
	struct why_ask ask;
	struct why_ctld ctld;
	bool fits_now; /* slurmctld's word where it gave it, else ours */
	bool found; /* we have a place for it now: */
	struct sn_placement now;
	struct sn_err why; /* else why not */
	bool lacking; /* for a node that it names */
	bool fits_ever; /* once the running jobs have ended */
	struct sn_err never; /* else why not even then */
	time_t fits_at; /* 0: not before jobs without a time limit end; 1: once
			 * the completing jobs are gone */
	uint32_t waits_for; /* running jobs that end by then */
	/* The largest that would fit now; 0: none would, or it was not sought. */
	uint32_t fit_dp, fit_nodes, fit_tasks;
	bool atoms_exact; /* else supernode[].atoms is the most it can be */
	struct why_supernode *supernode; /* [n_supernodes] */
	uint32_t n_supernodes;
};

/* Owned by the caller (why_done). */
int why_make(const struct live *live, const struct why_extra *extra,
	     const struct live_job *job, struct why *ret, struct sn_err *err);
void why_done(struct why *why);

/* The job takes its place in live: another component of its heterogeneous job
 * has to do with the rest. Needs why->found. */
void why_occupy(struct live *live, const struct why *why);

/* whycount.c: fill why->supernode from the state now. */
int why_count(const struct live *live, const struct why_state *state,
	      struct why *why, struct sn_err *err);
/* The largest job of its kind that would fit now, into why->fit_*. */
void why_find_smaller(const struct live *live, const struct why_state *state,
		      struct why *why);

/* whydomains.c: a warning where the job would use degraded domains, and what
 * PowerLimit has to do with its waiting. json: members that begin with ", ". */
void why_print_domains(const struct live *live, const struct why *why);
void why_json_domains(const struct live *live, const struct why *why);

/* whyprint.c */
void why_print(const struct live *live, const struct why *why);
void why_json(const struct live *live, const struct why *why);

#endif
