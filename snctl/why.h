/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * why.h - can a pending job be placed, now or later, and what is in the way?
 */
#ifndef SNCTL_WHY_H
#define SNCTL_WHY_H

#include <time.h>

#include "snctl/live.h"
#include "snctl/reason.h"

struct why_supernode {
	uint32_t supernode;
	uint32_t free; /* cards free on nodes the job may use */
	uint32_t usable; /* of those, in whole node blocks and within CPUs */
	uint32_t held; /* of those, on nodes that SpareNodes or --spares keep */
	uint32_t atoms; /* that fit now */
	uint32_t short_by; /* cards that one atom more would need */
};

struct why {
	const struct live_job *job;
	struct reason reason;
	bool known; /* the suite can say something of its placement */
	struct sn_place_request request;
	bool from_spec; /* else derived from --gres and the like */
	bool fits_now;
	struct sn_placement now; /* where, if it fits */
	struct sn_err why; /* else why not */
	bool fits_ever; /* once the running jobs have ended */
	struct sn_err never; /* else why not even then */
	time_t fits_at; /* 0: not before jobs without a time limit end; 1: once
			 * the completing jobs are gone */
	uint32_t waits_for; /* running jobs that end by then */
	struct why_supernode *supernode; /* [n_supernodes] */
	uint32_t n_supernodes;
};

/* Owned by the caller (why_done). */
int why_make(const struct live *live, const struct live_job *job,
	     struct why *ret, struct sn_err *err);
void why_done(struct why *why);

#endif
