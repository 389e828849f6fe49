/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livepool.c - what the pools have, who holds them, and what jobs have lost.
 *
 * slurmctld's plugin does the same sum with the same functions.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "launcher/poolbook.h"
#include "snctl/live.h"
#include "launcher/poolthere.h"
#include "topology/poolleft.h"

static struct sn_spares_node *nodes_of(const struct live_job *job)
{
	struct sn_spares_node *node = calloc((size_t)job->n_nodes + 1, sizeof(*node));

	for (uint32_t i = 0; node && i < job->n_nodes; i++)
		node[i] = (struct sn_spares_node){
			job->node[i], (uint32_t)__builtin_popcountll(job->node_cards[i]),
		};
	return node;
}

static int keep_shares(const struct sn_topo *topo,
		       const struct sn_poolleft_share *share, struct live_job *job)
{
	uint32_t used = 0;

	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		used += share[s].ranks > 0;
	job->pool = calloc((size_t)used + 1, sizeof(*job->pool));
	if (!job->pool)
		return -ENOMEM;
	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		if (share[s].ranks)
			job->pool[job->n_pool++] = (struct live_share){ s, share[s] };
	return 0;
}

int live_find_pool(const struct live *live, struct live_job *job,
		   struct sn_err *err)
{
	struct sn_poolleft_share *share = calloc((size_t)live->topo->n_supernodes + 1,
						 sizeof(*share));
	struct sn_spares_node *node = nodes_of(job);
	int rc = share && node ? 0 : -ENOMEM;

	/* Jobs that began before there was such a note have none. */
	if (!rc && sn_joblost_find(live->topo, job->info->admin_comment, node,
				   job->n_nodes, &job->lost, NULL) == -ENOMEM)
		rc = -ENOMEM;
	/* As slurmctld does, pass over what makes no sense. */
	if (!rc && job->spec.pool.per != SN_POOL_NONE &&
	    !sn_poolleft_job(live->topo, &job->spec, node, job->n_nodes,
			     job->lost.count, share, NULL, NULL, NULL))
		rc = keep_shares(live->topo, share, job);
	free(share);
	free(node);
	return rc ? sn_err_set(err, rc, "no memory") : 0;
}

void live_pool_use(const struct live_job *job, uint32_t s, uint64_t *ret_bytes,
		   uint64_t *ret_bandwidth)
{
	*ret_bytes = *ret_bandwidth = 0;
	for (uint32_t i = 0; i < job->n_pool; i++)
		if (job->pool[i].supernode == s) {
			*ret_bytes = job->pool[i].share.bytes;
			*ret_bandwidth = job->pool[i].share.bandwidth;
		}
}

/* What regions with names hold of each supernode's pool. */
static void take_named(const struct live *live, struct sn_place_supernode *sn)
{
	for (uint32_t n = 0; n < live->topo->n_nodes; n++) {
		const node_info_t *info = live->node[n].info;
		struct sn_poolbook_entry *all;
		size_t k, count;

		/* A book that cannot be read holds nothing for slurmctld either. */
		if (!info || sn_poolbook_read(info->extra, &all, &count, NULL))
			continue;
		for (k = 0; k < count; k++)
			sn_poolleft_take(&sn[live->topo->node[n].supernode].pool_free,
					 all[k].bytes);
		free(all);
	}
}

uint64_t live_pool_memory(const struct live *live, uint32_t s)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[s];
	uint32_t there = 0;

	for (uint32_t n = sn->first_node; n < sn->first_node + sn->n_nodes; n++) {
		const node_info_t *info = live->node[n].info;

		there += info && sn_poolthere(info->node_state) != SN_POOL_GONE;
	}
	return sn_poolleft_memory(sn, there);
}

void live_pools(const struct live *live, const bool *gone,
		struct sn_place_supernode *ret)
{
	const struct sn_topo *topo = live->topo;

	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		ret[s] = (struct sn_place_supernode){
			.pool_free = live_pool_memory(live, s),
			.bandwidth_free = topo->supernode[s].has_pool_bandwidth ?
				topo->supernode[s].pool_bandwidth : UINT64_MAX,
		};
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];

		for (uint32_t i = 0; i < job->n_pool && !(gone && gone[j]); i++) {
			struct sn_place_supernode *left = &ret[job->pool[i].supernode];

			sn_poolleft_take(&left->pool_free, job->pool[i].share.bytes);
			sn_poolleft_take(&left->bandwidth_free,
					 job->pool[i].share.bandwidth);
		}
	}
	take_named(live, ret);
}
