/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobnodes.h - write down on which nodes a job began.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_JOBNODES_H
#define SN_PLUGINS_SELECT_SUPERNODE_JOBNODES_H

#include "src/slurmctld/slurmctld.h"

/*
 * Slurm takes a node that fails out of a job's record without a trace. The nodes
 * that a --parallel job begins with go into its admin_comment, which slurmctld
 * saves and clients see (topology/jobcomment.h); read by topology/joblost.h. An
 * admin_comment that is not ours is left alone.
 */
void jobnodes_begin(job_record_t *job_ptr);

/* node_ptr has left the job. One that is well was given back, so it is not
 * missed: it goes from the list too. */
void jobnodes_resized(job_record_t *job_ptr, const node_record_t *node_ptr);

#endif
