/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update.h - `scontrol update` of a --parallel job.
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_UPDATE_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_UPDATE_H

#include "src/slurmctld/slurmctld.h"

#include "plugins/common/jobopts.h"
#include "plugins/common/topoapi.h"

/* Do the fields of the update go with the job's layout? As derive_request(). */
int update_request(job_desc_msg_t *job_desc, const job_record_t *job_ptr,
		   const struct sn_topoapi *api, const struct sn_jobspec *spec,
		   struct sn_err *err);

/* Is it Comment=--parallel=…, the order for a new layout? */
bool update_is_order(const job_desc_msg_t *job_desc);

/*
 * Give a pending job the new layout: its tasks, CPUs and nodes go into
 * job_desc, the option into the job's record (its write lock is held). *spec
 * and *text are the new ones; text points into job_desc->comment and the
 * record. *ret_poolmem as derive_request()'s. On error nothing has changed.
 */
int update_layout(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		  const struct sn_topoapi *api, struct sn_jobspec *spec,
		  struct sn_jobspec_text *text, uint64_t *ret_poolmem, struct sn_err *err);

#endif
