/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modelcards.c - the cards of Slurm's nodes, as bits.
 */
#include "plugins/compat.h"

#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/interfaces/gres.h"

#include "topology/place.h"
#include "plugins/topology_supernode/model.h"

uint32_t model_card_id(void)
{
	return gres_build_id((char *)model_policy()->card_gres);
}

static uint64_t count_of(const gres_node_state_t *state)
{
	/* What it should have: that a card is missing today is temporary. */
	uint64_t n = state->gres_cnt_config;

	if (!n || n == NO_VAL64)
		n = state->gres_cnt_avail;
	return n == NO_VAL64 ? 0 : n;
}

uint64_t model_cards_of(const gres_node_state_t *state)
{
	uint64_t n = count_of(state);

	return n >= SN_CARDS_MAX ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* With the id at hand, as hashing the name for every node shows. */
static const gres_node_state_t *state_by_id(const node_record_t *node_ptr, uint32_t id)
{
	gres_state_t *state;

	if (!node_ptr->gres_list)
		return NULL;
	/* Read only: many threads may look, and the write lock is dear. */
	state = list_find_first_ro(node_ptr->gres_list, gres_find_id, &id);
	return state ? state->gres_data : NULL;
}

static uint64_t cards_by_id(const node_record_t *node_ptr, uint32_t id)
{
	const gres_node_state_t *state = state_by_id(node_ptr, id);

	return state ? model_cards_of(state) : 0;
}

/* Said once: a reconfigure starts a new process. */
static void say_too_many(const node_record_t *node_ptr, uint32_t id)
{
	static int said;
	uint64_t n = count_of(state_by_id(node_ptr, id));

	if (n > SN_CARDS_MAX && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		error("topology/supernode: node %s has Gres=%s:%"PRIu64", more than the %d cards of a node that can be told apart: jobs with --parallel get none from number %d on, and these cannot be taken out",
		      node_ptr->name, model_policy()->card_gres, n,
		      SN_CARDS_MAX, SN_CARDS_MAX);
}

uint64_t model_cards(const node_record_t *node_ptr)
{
	return cards_by_id(node_ptr, model_card_id());
}

uint32_t model_cards_per_node(uint32_t *ret_most)
{
	uint32_t nodes[SN_CARDS_MAX + 1] = { 0 };
	uint32_t best = 0, most = 0, n, id = model_card_id();
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		n = (uint32_t)__builtin_popcountll(cards_by_id(node_ptr, id));
		nodes[n]++;
		if (n == SN_CARDS_MAX)
			say_too_many(node_ptr, id);
	}
	for (n = 1; n <= SN_CARDS_MAX; n++) {
		if (nodes[n])
			most = n;
		if (nodes[n] > (best ? nodes[best] : 0))
			best = n;
	}
	if (ret_most)
		*ret_most = most;
	return best;
}
