/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomment.h - a job's options, read back from its admin_comment.
 *
 * Slurm's public API shows no SPANK option. job_submit/supernode, which has
 * checked them, writes them into the job's admin_comment,
 *	supernode:parallel=tp=8,…;pool=4T/node;role=train;poolmem=16;nodes=n[001-006]
 * which users cannot change: what stands there can be relied on by root. nodes
 * are those that the job began with, see joblost.h; poolmem is what of the job's
 * memory, per node or per CPU as that is, is its share of the pool, in MB.
 */
#ifndef SN_TOPOLOGY_JOBCOMMENT_H
#define SN_TOPOLOGY_JOBCOMMENT_H

#include "topology/jobspec.h"

#define SN_JOBCOMMENT_MARK "supernode:"
#define SN_JOBCOMMENT_NODES ";nodes="
#define SN_JOBCOMMENT_POOLMEM ";poolmem="

/* -ENOENT it has none of ours (comment may be NULL); -EINVAL; -ENOMEM. */
int sn_jobcomment_read(const char *comment, uint32_t cards_per_node,
		       struct sn_jobspec *ret, struct sn_err *err);

/* The nodes, as a hostlist (free). -ENOENT it has none; -ENOMEM. */
int sn_jobcomment_nodes(const char *comment, char **ret, struct sn_err *err);
/* poolmem; 0 where there is none. */
uint64_t sn_jobcomment_poolmem(const char *comment);

#endif
