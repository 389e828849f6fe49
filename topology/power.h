/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * power.h - how many nodes of a supernode may run jobs under its PowerLimit.
 *
 * A node that runs a job draws NodePower, any other IdleNodePower, whether it is
 * up or not, so that what can ever fit follows from the configuration alone. So a
 * limit is a number of nodes: of N nodes, b may be busy where
 *	b * node + (N - b) * idle <= limit.
 * A job on a node that is busy already adds nothing.
 */
#ifndef SN_TOPOLOGY_POWER_H
#define SN_TOPOLOGY_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/place.h"
#include "topology/topo.h"

struct sn_power {
	uint64_t node, idle; /* mW; node 0: not known, so nothing is limited */
};

/* From supernode.conf's NodePower and IdleNodePower, in W. */
struct sn_power sn_power_of(uint32_t node_power, uint32_t idle_node_power);

/* The most nodes of the supernode that may run jobs at once; UINT32_MAX: any. */
uint32_t sn_power_most(const struct sn_power *power,
		       const struct sn_topo_supernode *sn);

/* Is any supernode limited? */
bool sn_power_any(const struct sn_power *power, const struct sn_topo *topo);
/* Fill supernode[].keep_idle; supernode may be NULL where none is limited. */
void sn_power_fill(const struct sn_power *power, const struct sn_topo *topo,
		   struct sn_place_supernode *supernode);

/* "PowerLimit=400kW of sn01 lets 39 of its 49 nodes run jobs at once
 * (NodePower=10kW, IdleNodePower=0W)"; terminated. */
void sn_power_text(const struct sn_power *power,
		   const struct sn_topo_supernode *sn, char *buf, size_t size);

#endif
