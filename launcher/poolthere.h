/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolthere.h - is a node's part of its supernode's pool there?
 *
 * The states are Slurm's, the same in slurmctld and for its clients: include
 * slurm/slurm.h first. A node that is down, failing or unknown has lost its part;
 * one that is drained or does not answer at the moment has it; of one that is
 * powered off it comes with the power.
 */
#ifndef SN_LAUNCHER_POOLTHERE_H
#define SN_LAUNCHER_POOLTHERE_H

#include <stdint.h>

enum sn_poolthere { SN_POOL_GONE, SN_POOL_OFF, SN_POOL_THERE };

static inline enum sn_poolthere sn_poolthere(uint32_t node_state)
{
	switch (node_state & NODE_STATE_BASE) {
	case NODE_STATE_ALLOCATED:
	case NODE_STATE_MIXED: /* its job has it powered up */
		return node_state & NODE_STATE_FAIL ? SN_POOL_GONE :
			SN_POOL_THERE;
	case NODE_STATE_IDLE:
		break;
	default:
		return SN_POOL_GONE;
	}
	if (node_state & NODE_STATE_FAIL)
		return SN_POOL_GONE;
	return node_state & (NODE_STATE_POWERED_DOWN |
			     NODE_STATE_POWERING_DOWN |
			     NODE_STATE_POWER_DOWN) ? SN_POOL_OFF : SN_POOL_THERE;
}

#endif
