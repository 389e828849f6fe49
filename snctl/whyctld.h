/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whyctld.h - slurmctld's own test of a pending job.
 */
#ifndef SNCTL_WHYCTLD_H
#define SNCTL_WHYCTLD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "snctl/live.h"

struct why_ctld {
	bool asked; /* it answered, and the rest is so */
	bool fits_now;
	bool fits_later; /* as running jobs end */
	time_t start; /* by limits of time; 0: not known */
	char *nodes; /* if fits_now */
	char *preempts; /* "12,13": jobs that would make way; NULL: none */
};

/* part is the partition that is told of, and found: our own count finds room.
 * Whatever goes wrong, ret->asked is false then. */
void why_ctld_ask(const struct live *live, const struct live_job *job,
		  const partition_info_t *part, bool found, struct why_ctld *ret);
void why_ctld_done(struct why_ctld *ctld);

#endif
