/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolmem.h - the memory of a job's pool regions, in what it asks of Slurm.
 *
 * The pages of a tmpfs are charged to the job that writes them, so where Slurm
 * counts memory, the job must have asked for them: with PoolProvider=tmpfs the
 * share of a node is added to --mem, and that of a rank to --mem-per-cpu. How
 * many ranks a node will run is not known yet, so it is the most that can come:
 *	--mem		SIZE: of as many ranks as the largest node has cards;
 *			/supernode the same, with one atom in it; /node; /card
 *	--mem-per-cpu	a rank's part divided by its CPUs; of /node by the ranks
 *			that every node has at least (TP's, with tp_within=node)
 * A named region counts as /node with its part on a node, unless :ro.
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_POOLMEM_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_POOLMEM_H

#include "plugins/job_submit_supernode/plan.h"

/* MB to be added; named_bytes is a named region's part on a node. */
uint64_t poolmem_more(const struct plan *plan, bool per_cpu,
		      uint32_t cpus_per_task, uint64_t named_bytes);

/* Add it to job_desc's memory, or the default that it would get; *ret_mb is what was
 * added. -EINVAL with --mem-per-gpu, -ENOSPC where no node has so much. */
int poolmem_add(job_desc_msg_t *job_desc, const struct plan *plan,
		const struct sn_policy *policy, uint64_t named_bytes, uint64_t *ret_mb,
		struct sn_err *err);

/* The same for a waiting job whose layout changes to plan; was: what its memory has. */
uint64_t poolmem_change(job_desc_msg_t *job_desc, const job_record_t *job_ptr, uint64_t was,
			const struct plan *plan, const struct sn_policy *policy);

#endif
