/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whyreplace.c - which nodes of which job one with --replaces stands in for.
 *
 * As plugins/topology_supernode/replacing.c has it, from what clients see.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "snctl/whystate.h"
#include "topology/replace.h"

static const struct live_job *find_running(const struct live *live, uint32_t id)
{
	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live->job[j].info->job_id == id && live->job[j].running &&
		    !(live->job[j].info->job_state & JOB_COMPLETING) &&
		    live->job[j].has_spec && live->job[j].spec.has_parallel)
			return &live->job[j];
	return NULL;
}

static bool replaces(const struct live_job *job, uint32_t id)
{
	return job->running && job->has_spec && job->spec.replaces == id;
}

int why_replace(const struct live *live, const struct live_job *job,
		uint32_t **ret_allow, uint64_t *ret_all, struct sn_err *err)
{
	uint32_t id = job->has_spec ? job->spec.replaces : 0;
	const struct live_job *old = id ? find_running(live, id) : NULL;
	uint32_t n = live->topo->n_nodes + 1, n_ill = 0, n_taken = 0;
	uint32_t *allow, *ill, *taken;

	*ret_allow = NULL;
	*ret_all = 0;
	if (!id)
		return 0;
	allow = calloc((size_t)live->topo->n_supernodes + 1, sizeof(*allow));
	ill = calloc(n, sizeof(*ill));
	taken = calloc(n, sizeof(*taken));
	if (!allow || !ill || !taken) {
		free(allow);
		free(ill);
		free(taken);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	for (uint32_t i = 0; old && i < old->n_nodes; i++)
		if (old->node_cards[i] & live->node[old->node[i]].masked)
			ill[n_ill++] = old->node[i];
	for (uint32_t j = 0; old && j < live->n_jobs; j++)
		for (uint32_t i = 0; replaces(&live->job[j], id) && n_taken < n &&
		     i < live->job[j].n_nodes; i++)
			taken[n_taken++] = live->job[j].node[i];
	if (old)
		*ret_all = sn_replace_allow(live->topo, old->lost.count, ill, n_ill,
					    taken, n_taken, allow);
	free(ill);
	free(taken);
	*ret_allow = allow;
	return 0;
}
