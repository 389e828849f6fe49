/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolshare.c - who gets how much of what --pool asks for.
 */
#include "config.h"

#include "topology/poolshare.h"

static uint64_t clamp(unsigned __int128 bytes)
{
	return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

uint64_t sn_poolshare_supernode(enum sn_pool_per per, uint64_t amount,
				uint32_t ranks, uint32_t nodes, uint32_t world)
{
	unsigned __int128 size = amount;

	if (!ranks)
		return 0;
	switch (per) {
	case SN_POOL_TOTAL:
		return world ? clamp((size * ranks + world - 1) / world) : 0;
	case SN_POOL_SUPERNODE:
		return amount;
	case SN_POOL_NODE:
		return clamp(size * nodes);
	case SN_POOL_CARD:
		return clamp(size * ranks);
	case SN_POOL_NONE:
	case SN_POOL_NAMED:
		break;
	}
	return 0;
}

uint64_t sn_poolshare_node(enum sn_pool_per per, uint64_t amount,
			   uint32_t here, uint32_t ranks, uint32_t world)
{
	uint64_t share;

	if (!here || here > ranks)
		return 0;
	switch (per) {
	case SN_POOL_TOTAL:
	case SN_POOL_SUPERNODE:
		share = sn_poolshare_supernode(per, amount, ranks, 1, world);
		return (uint64_t)((unsigned __int128)share * here / ranks);
	case SN_POOL_NODE:
		return amount;
	case SN_POOL_CARD:
		return clamp((unsigned __int128)amount * here);
	case SN_POOL_NONE:
	case SN_POOL_NAMED:
		break;
	}
	return 0;
}
