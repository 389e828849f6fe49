/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * power.c - jobs of more nodes than PowerLimit ever lets run.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/node_conf.h"

#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/plan.h"
#include "plugins/job_submit_supernode/power.h"
#include "topology/power.h"

/* Of the nodes that the job may use, how many may run jobs at once; *ret_first the
 * first supernode whose limit takes some away, SN_NONE: none does. */
static uint64_t count_nodes(const struct sn_topoapi *api,
			    const struct sn_power *power, bitstr_t *usable,
			    uint32_t *nodes, uint32_t *ret_first)
{
	const struct sn_topo *topo = api->topo();
	uint64_t sum = 0;
	uint32_t s, t;
	int i;

	*ret_first = SN_NONE;
	for (i = 0; next_node(&i); i++) {
		t = api->topo_node((uint32_t)i);
		if (usable && !bit_test(usable, i))
			continue;
		if (t == SN_NONE)
			sum++;
		else
			nodes[topo->node[t].supernode]++;
	}
	for (s = 0; s < topo->n_supernodes; s++) {
		uint32_t most = sn_power_most(power, &topo->supernode[s]);

		if (nodes[s] > most && *ret_first == SN_NONE)
			*ret_first = s;
		sum += nodes[s] < most ? nodes[s] : most;
	}
	return sum;
}

int power_check(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		struct sn_err *err)
{
	const struct sn_topo *topo = api ? api->topo() : NULL;
	struct sn_power power;
	uint32_t *nodes, first;
	bitstr_t *usable;
	uint64_t most;
	char why[256];

	if (!topo || !plan_is_set32(job_desc->min_nodes))
		return 0;
	power = sn_power_of(api->policy()->node_power,
			    api->policy()->idle_node_power);
	if (!sn_power_any(&power, topo))
		return 0;
	nodes = calloc((size_t)topo->n_supernodes + 1, sizeof(*nodes));
	if (!nodes)
		return sn_err_set(err, -ENOMEM, "out of memory");
	usable = derive_usable_nodes(job_desc);
	most = count_nodes(api, &power, usable, nodes, &first);
	FREE_NULL_BITMAP(usable);
	free(nodes);
	/* Too many without any limit: that is Slurm's to say. */
	if (first == SN_NONE || job_desc->min_nodes <= most)
		return 0;
	sn_power_text(&power, &topo->supernode[first], why, sizeof(why));
	return sn_err_set(err, -ENOSPC,
			  "-N %u can never fit: of the nodes that the job may use, %llu can run jobs at once; %s",
			  job_desc->min_nodes, (unsigned long long)most, why);
}
