/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livedomains.c - degraded domains and PowerLimit of a running cluster.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/cardbook.h"
#include "snctl/livedomains.h"
#include "topology/hostlist.h"

static void add_marks(const struct live *live, struct sn_degraded *degraded)
{
	for (uint32_t n = 0; n < live->topo->n_nodes; n++) {
		const node_info_t *info = live->node[n].info;
		struct sn_cardbook book;

		if (!info || !info->extra || !*info->extra)
			continue;
		memset(&book, 0, sizeof(book));
		(void)sn_cardbook_read(info->extra, &book, NULL);
		sn_degraded_add_node(degraded, live->topo, n,
				     book.degraded_supernode,
				     book.degraded_unit);
	}
}

static int add_job(const struct live *live, const slurm_job_info_t *info,
		   uint8_t *draws)
{
	struct sn_names names = { 0 };
	int rc = info->nodes ? sn_hostlist_expand(info->nodes, &names, NULL) : 0;

	for (size_t i = 0; i < names.n; i++) {
		uint32_t n = sn_topo_find_node(live->topo, names.name[i]);

		if (n != SN_NONE)
			draws[n] = 1;
	}
	sn_names_done(&names);
	return rc == -ENOMEM ? rc : 0;
}

static bool holds_nodes(const slurm_job_info_t *info)
{
	uint32_t base = info->job_state & JOB_STATE_BASE;

	return base == JOB_RUNNING || base == JOB_SUSPENDED ||
		info->job_state & JOB_COMPLETING;
}

int live_domains_make(const struct live *live,
		      bool (*ended)(const slurm_job_info_t *info, const void *arg),
		      const void *arg, struct live_domains *ret,
		      struct sn_err *err)
{
	int rc;

	*ret = (struct live_domains){
		.power = sn_power_of(live->policy.node_power,
				     live->policy.idle_node_power),
		.draws = calloc((size_t)live->topo->n_nodes + 1, 1),
	};
	rc = sn_degraded_init(live->topo, &ret->degraded, err);
	if (!rc && !ret->draws)
		rc = -ENOMEM;
	if (!rc && live->policy.degraded[0])
		(void)sn_degraded_add(&ret->degraded, live->topo,
				      live->policy.degraded, NULL);
	if (!rc)
		add_marks(live, &ret->degraded);
	for (uint32_t j = 0; !rc && live->jobs && j < live->jobs->record_count; j++) {
		const slurm_job_info_t *info = &live->jobs->job_array[j];

		if (holds_nodes(info) && !(ended && ended(info, arg)))
			rc = add_job(live, info, ret->draws);
	}
	return rc ? sn_err_set(err, rc, "no memory") : 0;
}

void live_domains_done(struct live_domains *domains)
{
	sn_degraded_done(&domains->degraded);
	free(domains->draws);
	domains->draws = NULL;
}

uint32_t live_domains_flags(const struct live_domains *domains,
			    const struct live *live, uint32_t node)
{
	return (sn_degraded_is(&domains->degraded, live->topo, node) ?
		SN_NODE_DEGRADED : 0) |
		(domains->draws[node] ? SN_NODE_DRAWS : 0);
}

uint32_t live_domains_busy(const struct live_domains *domains,
			   const struct live *live, uint32_t s,
			   uint32_t *ret_most)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[s];
	uint32_t busy = 0;

	for (uint32_t n = 0; n < sn->n_nodes; n++)
		busy += domains->draws[sn->first_node + n];
	*ret_most = sn_power_most(&domains->power, sn);
	return busy;
}
