/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * victimjobs.h - Slurm's preemptable jobs as topology/victims.h wants them.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_VICTIMJOBS_H
#define SN_PLUGINS_SELECT_SUPERNODE_VICTIMJOBS_H

#include "plugins/compat.h"

#include "plugins/select_supernode/stock.h"

#include "plugins/common/topoapi.h"
#include "topology/victims.h"

struct victimjobs {
	const struct sn_topo *topo;
	const struct sn_topoapi *api;
	uint32_t n;
	job_record_t **job_ptr; /* [n]; of a het job the first component */
	bitstr_t **nodes; /* [n] */
	struct sn_victim *victim; /* [n] */
	uint32_t *free_units; /* [topo->n_supernodes] */
	uint64_t need;
};

/* Those of the candidates with one of these modes. -ENOMEM; victimjobs_done()
 * also after a failure. */
int victimjobs_init(struct victimjobs *jobs, const struct sn_topoapi *api,
		    const job_record_t *job_ptr, bitstr_t *nodes,
		    list_t *candidates, bool suspend);
void victimjobs_done(struct victimjobs *jobs);

/* Which supernodes these nodes are in, into used[]; how many. */
uint32_t victimjobs_supernodes(const struct victimjobs *jobs,
			       bitstr_t *nodes, bool *used);

/* Are cores of the running job among those that were given to the new one? */
bool victimjobs_share_cores(const job_record_t *running,
			    const job_record_t *job_ptr);

#endif
