/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolshare.h - who gets how much of what --pool asks for.
 *
 * One arithmetic for placement, accounting and the regions on the nodes. Of a
 * job of `world` ranks, a supernode with `ranks` of them on `nodes` nodes takes
 *	SIZE		amount * ranks / world, rounded up
 *	SIZE/supernode	amount
 *	SIZE/node	amount * nodes
 *	SIZE/card	amount * ranks
 * and a node in it, which runs `here` of the supernode's ranks, that times
 * here/ranks, rounded down (/node and /card: exactly). So the nodes together
 * never get more than the supernode is charged, and at most a byte a node less.
 * sn_place() asks for the first line without rounding, which for a pool of whole
 * bytes is the same question.
 *
 * world is the layout's. Which cards of a job run ranks, and so what it holds when
 * it has spares, is poolleft.h's to say.
 */
#ifndef SN_TOPOLOGY_POOLSHARE_H
#define SN_TOPOLOGY_POOLSHARE_H

#include <stdint.h>

#include "topology/jobspec.h"

/* 0 for no pool, a named region (which holds its memory itself) or no ranks.
 * What does not fit 64 bits is UINT64_MAX. amount: the size or the bandwidth. */
uint64_t sn_poolshare_supernode(enum sn_pool_per per, uint64_t amount,
				uint32_t ranks, uint32_t nodes, uint32_t world);
uint64_t sn_poolshare_node(enum sn_pool_per per, uint64_t amount,
			   uint32_t here, uint32_t ranks, uint32_t world);

#endif
