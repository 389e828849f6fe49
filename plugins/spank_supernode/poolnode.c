/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolnode.c - what is only found in Slurm's inner headers.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/job_resources.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "plugins/spank_supernode/poolnode.h"

/* Only slurmd and slurmstepd have it. */
#pragma weak conf

const char *pool_node_name(void)
{
	if (&conf && conf && conf->node_name)
		return conf->node_name;
	return getenv("SLURMD_NODENAME");
}

const char *pool_job_nodes(const slurm_job_info_t *info)
{
	const job_resources_t *resources = info->job_resrcs;

	return resources && resources->nodes ? resources->nodes : info->nodes;
}
