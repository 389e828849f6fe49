/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobopts.h - the job options' way from the command line to slurmctld.
 *
 * SPANK puts what the user typed into the job's spank_job_env under a name
 * made of the plugin's and the option's. That array is what slurmctld keeps
 * with the job, over restarts too, so it is where everything in slurmctld
 * reads a job's options from.
 */
#ifndef SN_PLUGINS_COMMON_JOBOPTS_H
#define SN_PLUGINS_COMMON_JOBOPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/jobspec.h"

#define SN_SPANK_NAME "supernode"
#define SN_JOBOPT_PREFIX "_SLURM_SPANK_OPTION_" SN_SPANK_NAME "_"

/* How the tasks of a step learn that srun named the node of each rank by the
 * layout. */
#define SN_RANKS_ENV "SUPERNODE_RANKS"
#define SN_RANKS_BY_LAYOUT "layout"

struct sn_jobopt {
	const char *name; /* "parallel" */
	size_t offset; /* of its text in struct sn_jobspec_text */
	const char *arginfo;
	const char *usage;
};
extern const struct sn_jobopt sn_jobopts[];
#define SN_JOBOPTS 7

/* The options in a spank_job_env of n strings; the texts point into it. False
 * if there are none. */
bool sn_jobopts_find(char *const *env, uint32_t n, struct sn_jobspec_text *ret);

static inline const char **sn_jobopt_text(struct sn_jobspec_text *text,
					  const struct sn_jobopt *opt)
{
	return (const char **)((char *)text + opt->offset);
}

#endif
