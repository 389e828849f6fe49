/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive.h - what a layout makes of a job's request to Slurm.
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_DERIVE_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_DERIVE_H

#include "src/slurmctld/slurmctld.h"

#include "plugins/common/topoapi.h"

/*
 * Derive tasks, cards, CPUs and the least nodes of a --parallel job. What the
 * user gave himself must agree with the layout. 0; -EINVAL it contradicts, or
 * -ENOSPC it could never fit, with a sentence that has the arithmetic; then
 * job_desc may be half changed, and is of no further use. *ret_poolmem: MB of its
 * memory that are for the pool (poolmem.h).
 */
int derive_request(job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		   const struct sn_jobspec *spec, uint32_t uid, uint64_t *ret_poolmem,
		   struct sn_err *err);

/* The nodes of the partitions that the job may run in, without -x and those that
 * lack its features; NULL: all.
 * You own it. */
bitstr_t *derive_usable_nodes(const job_desc_msg_t *job_desc);

#endif
