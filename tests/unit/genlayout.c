/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * genlayout.c - random layouts (gen.h), their blocks found by brute force.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "oracle.h"

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* 0: the blocks differ in size. */
static uint32_t block_size(const struct sn_layout *layout, enum sn_domain domain)
{
	uint32_t *block = calloc(layout->world, sizeof(*block));
	uint32_t *count = calloc(layout->world, sizeof(*count));
	uint32_t i, size;

	if (!block || !count)
		abort();
	oracle_blocks(layout, domain, block);
	for (i = 0; i < layout->world; i++)
		count[block[i]]++;
	size = count[0];
	for (i = 0; i < layout->world; i++)
		if (count[i] && count[i] != size)
			size = 0;
	free(block);
	free(count);
	return size;
}

bool gen_layout_finish(struct sn_layout *layout)
{
	layout->world = layout->tp * layout->cp * layout->pp * layout->dp;
	layout->edp = layout->world / (layout->etp * layout->ep * layout->pp);
	layout->node_block = block_size(layout, SN_IN_NODE);
	layout->unit_block = block_size(layout, SN_IN_UNIT);
	layout->atom = block_size(layout, SN_IN_SUPERNODE);
	layout->dp_step = layout->atom / (layout->tp * layout->cp);
	return layout->node_block && layout->unit_block && layout->atom;
}

bool gen_layout(struct sn_layout *y, uint32_t cards, struct gen_rng *rng)
{
	static const uint32_t tp[] = { 1, 1, 2, 2, 3, 4, 4, 8, 16 };
	static const uint32_t cp[] = { 1, 1, 1, 1, 2, 3 };
	static const uint32_t ep[] = { 1, 1, 1, 2, 2, 3, 4, 6, 8 };
	static const uint32_t pp[] = { 1, 1, 2, 2, 3, 4 };
	uint32_t dense, expert, p;

	memset(y, 0, sizeof(*y));
	y->tp = tp[gen_pick(rng, 9)];
	y->cp = cp[gen_pick(rng, 6)];
	y->ep = ep[gen_pick(rng, 9)];
	y->pp = pp[gen_pick(rng, 6)];
	p = gen_pick(rng, 100);
	y->etp = p < 60 ? 1 : p < 80 ? y->tp : 2;
	y->order = gen_chance(rng, 25) ? SN_ORDER_PP_DP : SN_ORDER_DP_PP;
	y->map = gen_chance(rng, 15) ? SN_MAP_AUTO : SN_MAP_CONTIGUOUS;
	p = gen_pick(rng, 100);
	y->tp_within = y->tp <= cards && p < 65 ? SN_IN_NODE :
		       p < 80 ? SN_IN_UNIT : SN_IN_SUPERNODE;
	y->cp_within = gen_chance(rng, 70) ? SN_IN_SUPERNODE : gen_pick(rng, 3);
	y->ep_within = gen_chance(rng, 60) ? SN_IN_SUPERNODE : gen_pick(rng, 4);
	y->etp_within = gen_chance(rng, 80) ? SN_IN_SUPERNODE : gen_pick(rng, 3);
	dense = y->tp * y->cp;
	expert = y->etp * y->ep;
	if (y->order == SN_ORDER_PP_DP && y->pp > 1 && dense != expert)
		return false;
	y->dp = expert / gcd(dense, expert);
	return gen_layout_finish(y);
}
