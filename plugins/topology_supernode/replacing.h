/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replacing.h - jobs with --replaces: which nodes of which job they stand in for.
 *
 * Nothing is kept: what the other job has lost stands in its record
 * (topology/joblost.h), masked cards in those of its nodes, and who replaces what
 * already is among the running jobs. Under the job read lock.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_REPLACING_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_REPLACING_H

#include "src/slurmctld/slurmctld.h"

#include "plugins/topology_supernode/need.h"
#include "topology/replace.h"

struct replacing {
	uint32_t *allow; /* [topo->n_supernodes] nodes; NULL: it replaces none */
	uint64_t all;
};

/* self (may be NULL) does not count as one that replaces already. -ENOENT, -EINVAL,
 * -ENOSPC with a sentence that begins "--replaces=12: "; -ENOMEM. */
int replacing_find(uint32_t job_id, const job_record_t *self,
		   struct replacing *ret, struct sn_err *err);
void replacing_done(struct replacing *replacing);

/* At submission of a job of at least min_nodes nodes. -EPERM it is another user's. */
int replacing_check(uint32_t job_id, uint32_t owner, bool privileged,
		    uint32_t min_nodes, struct sn_err *err);

/* 0, or the job with need cannot run now. A job that replaces none is left alone. */
int replacing_limit(struct need *need);

#endif
