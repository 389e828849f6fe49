/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep.c - what a job is to leave for others.
 *
 * Of an offered node, the call says what is free in the time that it is about;
 * of others only the present is known.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/bitstring.h"

#include "plugins/topology_supernode/keep.h"
#include "plugins/topology_supernode/marks.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/offer.h"

static bool is_offered(const struct need *need, uint32_t t)
{
	return !(need->node[t].flags & SN_NODE_ABSENT);
}

/* avail_node_bitmap would say it, but slurmd has none, and loads this too. */
static bool is_idle(int i)
{
	const node_record_t *node_ptr = node_record_table_ptr[i];

	return bit_test(idle_node_bitmap, i) && !IS_NODE_DOWN(node_ptr) &&
		!IS_NODE_DRAIN(node_ptr) && !IS_NODE_FAIL(node_ptr) &&
		!IS_NODE_MAINT(node_ptr) && !IS_NODE_NO_RESPOND(node_ptr);
}

bool keep_stands_by(int i)
{
	const node_record_t *node_ptr = node_record_table_ptr[i];

	return is_idle(i) && !offer_node_flags(node_ptr) &&
		!marks_of(node_ptr)->cards.masked;
}

bool keep_is_partly(const topology_eval_t *topo_eval, int i)
{
	bitstr_t *cores = topo_eval->avail_core[i];
	const node_record_t *node_ptr = node_record_table_ptr[i];

	return !(cores && (uint32_t)bit_set_count(cores) +
		 node_ptr->core_spec_cnt >= node_ptr->tot_cores) && !is_idle(i);
}

/* No job has anything of it, and every card may be given out. */
static bool is_wholly_free(const struct need *need, uint32_t t)
{
	const struct need_node *node = &need->node[t];
	int i = model_node_inx(t);

	if (i < 0)
		return false;
	if (!is_offered(need, t))
		return keep_stands_by(i);
	return !(node->flags & SN_NODE_LATE) && node->free == node->cards &&
		!marks_of(node_record_table_ptr[i])->cards.masked &&
		!keep_is_partly(need->topo_eval, i);
}

/* The same ones as the engine, see place.h. */
static void keep_spares_of(struct need *need,
			   const struct sn_topo_supernode *sn)
{
	uint32_t left = sn->spare_nodes, n, t;

	for (n = sn->n_nodes; n-- && left;) {
		t = sn->first_node + n;
		if (!is_wholly_free(need, t))
			continue;
		need->node[t].flags |= SN_NODE_ABSENT;
		left--;
	}
}

void keep_spares(struct need *need)
{
	const struct sn_topo *topo = model_topo();
	uint32_t s;

	for (s = 0; s < topo->n_supernodes; s++)
		if (topo->supernode[s].spare_nodes)
			keep_spares_of(need, &topo->supernode[s]);
}

void keep_idle(struct need *need)
{
	const struct sn_topo *topo = model_topo();
	uint32_t s, t;
	int pass;

	for (s = 0; need->supernode && s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		uint32_t end = sn->first_node + sn->n_nodes, still = 0, may;

		if (!need->supernode[s].keep_idle)
			continue;
		for (t = sn->first_node; t < end; t++)
			still += !(need->node[t].flags & SN_NODE_DRAWS);
		may = still > need->supernode[s].keep_idle ?
			still - need->supernode[s].keep_idle : 0;
		for (pass = 0; pass < 2; pass++)
			for (t = sn->first_node; t < end; t++) {
				uint32_t *flags = &need->node[t].flags;

				if (*flags & (SN_NODE_ABSENT | SN_NODE_DRAWS) ||
				    (*flags & SN_NODE_REQUIRED ? 0 : 1) != pass)
					continue;
				if (may)
					may--;
				else
					*flags |= SN_NODE_ABSENT;
			}
	}
}

bool keep_is_small(const struct need *need)
{
	uint32_t most = model_policy()->small_job_cards;

	return most && need_card_count(need) <= most;
}

uint8_t *keep_levels(const struct need *need)
{
	const struct sn_topo *topo = model_topo();
	uint8_t *level = calloc((size_t)topo->n_nodes + 1, sizeof(*level));
	uint32_t s, t;

	for (s = 0; level && s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		uint32_t end = sn->first_node + sn->n_nodes;
		enum keep_level l = sn->loose ? KEEP_LOOSE : KEEP_WHOLE;

		for (t = sn->first_node; t < end && l == KEEP_WHOLE; t++)
			if (!is_wholly_free(need, t))
				l = KEEP_BROKEN;
		for (t = sn->first_node; t < end; t++)
			level[t] = (uint8_t)l;
	}
	return level;
}
