/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctlask.h - ask slurmctld what it has on record, and not wait for ever.
 *
 * What a step says about itself may come from the user's own srun; root believes
 * only slurmctld's records.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_CTLASK_H
#define SN_PLUGINS_SPANK_SUPERNODE_CTLASK_H

#include <stdbool.h>
#include <stdint.h>

#include "slurm/slurm.h"

#include "topology/err.h"

#define CTLASK_SECONDS 20

/* Each NULL or the caller's (slurm_free_job_info_msg, slurm_free_node_info_msg). */
struct ctl_answer {
	job_info_msg_t *jobs;
	node_info_msg_t *nodes;
};

/*
 * The record of a job (0: none wanted) and of a node (NULL: none). -ENOENT: there
 * is no such job; -ETIME: slurmctld has not answered in CTLASK_SECONDS; -EIO.
 */
int ctl_ask(uint32_t job, const char *node, struct ctl_answer *ret,
	    struct sn_err *err);
void ctl_answer_done(struct ctl_answer *answer);

/* The job's own record in it, or NULL. */
const slurm_job_info_t *ctl_answer_job(const struct ctl_answer *answer,
				       uint32_t job);
/* The node's extra, NULL: none. */
const char *ctl_answer_extra(const struct ctl_answer *answer, const char *node);

#endif
