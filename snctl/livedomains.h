/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livedomains.h - degraded domains and PowerLimit of a running cluster, as
 * topology/supernode sees them.
 */
#ifndef SNCTL_LIVEDOMAINS_H
#define SNCTL_LIVEDOMAINS_H

#include <time.h>

#include "snctl/live.h"
#include "topology/degraded.h"
#include "topology/power.h"

struct live_domains {
	struct sn_degraded degraded;
	struct sn_power power;
	uint8_t *draws; /* [topo->n_nodes] run jobs */
};

/* ended: is the job no longer there, in what is looked at? NULL: all are that run.
 * Owned by the caller (live_domains_done), also after a failure. -ENOMEM. */
int live_domains_make(const struct live *live,
		      bool (*ended)(const slurm_job_info_t *info, const void *arg),
		      const void *arg, struct live_domains *ret,
		      struct sn_err *err);
void live_domains_done(struct live_domains *domains);

/* SN_NODE_DEGRADED, SN_NODE_DRAWS */
uint32_t live_domains_flags(const struct live_domains *domains,
			    const struct live *live, uint32_t node);

/* Of a supernode: nodes that run jobs, and how many may (UINT32_MAX: all). */
uint32_t live_domains_busy(const struct live_domains *domains,
			   const struct live *live, uint32_t s,
			   uint32_t *ret_most);

#endif
