/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * power.c - how many nodes of a supernode may run jobs under its PowerLimit.
 */
#include "config.h"

#include <stdio.h>

#include "topology/power.h"

struct sn_power sn_power_of(uint32_t node_power, uint32_t idle_node_power)
{
	return (struct sn_power){
		.node = (uint64_t)node_power * 1000,
		.idle = (uint64_t)idle_node_power * 1000,
	};
}

uint32_t sn_power_most(const struct sn_power *power,
		       const struct sn_topo_supernode *sn)
{
	uint64_t idle = power->idle * sn->n_nodes, n;

	/* A node that draws no more with a job than without adds nothing. */
	if (!sn->power_limit || !power->node || power->node <= power->idle)
		return UINT32_MAX;
	if (sn->power_limit <= idle)
		return 0;
	n = (sn->power_limit - idle) / (power->node - power->idle);
	return n >= sn->n_nodes ? UINT32_MAX : (uint32_t)n;
}

bool sn_power_any(const struct sn_power *power, const struct sn_topo *topo)
{
	for (uint32_t s = 0; power->node && s < topo->n_supernodes; s++)
		if (sn_power_most(power, &topo->supernode[s]) != UINT32_MAX)
			return true;
	return false;
}

void sn_power_fill(const struct sn_power *power, const struct sn_topo *topo,
		   struct sn_place_supernode *supernode)
{
	for (uint32_t s = 0; power->node && s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		uint32_t most = sn_power_most(power, sn);

		if (most != UINT32_MAX)
			supernode[s].keep_idle = sn->n_nodes - most;
	}
}

static void format(uint64_t mw, char *buf, size_t size)
{
	if (mw && mw % 1000000 == 0)
		snprintf(buf, size, "%llukW", (unsigned long long)(mw / 1000000));
	else
		snprintf(buf, size, "%.10gW", (double)mw / 1000);
}

void sn_power_text(const struct sn_power *power,
		   const struct sn_topo_supernode *sn, char *buf, size_t size)
{
	char limit[32], node[32], idle[32];
	uint32_t most = sn_power_most(power, sn);

	format(sn->power_limit, limit, sizeof(limit));
	format(power->node, node, sizeof(node));
	format(power->idle, idle, sizeof(idle));
	snprintf(buf, size,
		 "PowerLimit=%s of %.80s lets %u of its %u nodes run jobs at once (NodePower=%s, IdleNodePower=%s)",
		 limit, sn->name, most < sn->n_nodes ? most : sn->n_nodes,
		 sn->n_nodes, node, idle);
}
