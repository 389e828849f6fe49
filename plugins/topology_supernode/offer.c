/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offer.c - what Slurm offers in one call, as the placement engine wants it.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"

#include "plugins/topology_supernode/batch.h"
#include "plugins/topology_supernode/keep.h"
#include "plugins/topology_supernode/marks.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/named.h"
#include "plugins/topology_supernode/offer.h"
#include "plugins/topology_supernode/pool.h"
#include "launcher/poolthere.h"
#include "topology/poolleft.h"
#include "topology/poolshare.h"

static int is_card(void *x, void *key)
{
	const sock_gres_t *sock = x;

	return sock->gres_state_job && sock->gres_state_node &&
	       sock->gres_state_job->plugin_id == *(uint32_t *)key;
}

sock_gres_t *offer_cards(const avail_res_t *res, uint32_t card_id)
{
	if (!res || !res->sock_gres_list)
		return NULL;
	return list_find_first(res->sock_gres_list, is_card, &card_id);
}

uint32_t offer_cpus_per_task(const job_record_t *job_ptr)
{
	uint16_t n = job_ptr->details->cpus_per_task;

	return n && n != NO_VAL16 ? n : 1;
}

static uint64_t first_bits(const bitstr_t *bits)
{
	int64_t n = bits ? bit_size((bitstr_t *)bits) : 0, i;
	uint64_t mask = 0;

	for (i = 0; i < n && i < SN_CARDS_MAX; i++)
		if (bit_test((bitstr_t *)bits, i))
			mask |= UINT64_C(1) << i;
	return mask;
}

uint64_t offer_free_cards(const sock_gres_t *sock,
			  const node_record_t *node_ptr, uint64_t cards)
{
	const gres_node_state_t *state = sock->gres_state_node->gres_data;
	uint64_t mask = first_bits(sock->bits_any_sock);
	int s;

	for (s = 0; sock->bits_by_sock && s < sock->sock_cnt; s++)
		mask |= first_bits(sock->bits_by_sock[s]);
	if (!mask)
		mask = cards; /* counted, not told apart, by this Slurm */
	if (!sock->use_total_gres)
		mask &= ~first_bits(state->gres_bit_alloc) &
			~marks_of(node_ptr)->cards.masked;
	/* Slurm may count fewer (reservations, memory): then the last go. */
	while ((uint64_t)__builtin_popcountll(mask) > sock->total_cnt)
		mask &= ~(UINT64_C(1) << (63 - __builtin_clzll(mask)));
	return mask;
}

uint32_t offer_node_flags(const node_record_t *node_ptr)
{
	return IS_NODE_POWERED_DOWN(node_ptr) ||
	       IS_NODE_POWERING_DOWN(node_ptr) ||
	       IS_NODE_REBOOT_REQUESTED(node_ptr) ||
	       IS_NODE_REBOOT_ISSUED(node_ptr) ? SN_NODE_LATE : 0;
}

static bool is_off(uint32_t t)
{
	int i = model_node_inx(t);

	return i >= 0 && sn_poolthere(node_record_table_ptr[i]->node_state) ==
		SN_POOL_OFF;
}

static int make_empty(const struct sn_topo *topo, struct offer *ret)
{
	uint32_t t;

	memset(ret, 0, sizeof(*ret));
	ret->node = calloc((size_t)topo->n_nodes + 1, sizeof(*ret->node));
	if (!ret->node)
		return -ENOMEM;
	for (t = 0; t < topo->n_nodes; t++)
		ret->node[t].flags = SN_NODE_ABSENT;
	return 0;
}

/* The nodes that have their part of the pool, or will. */
static void count_there(const struct sn_topo *topo, struct offer *ret)
{
	uint32_t t;

	for (t = 0; t < topo->n_nodes; t++) {
		uint32_t s = topo->node[t].supernode;
		int i = model_node_inx(t);

		switch (ret->all_free ? SN_POOL_THERE : i < 0 ? SN_POOL_GONE :
			sn_poolthere(node_record_table_ptr[i]->node_state)) {
		case SN_POOL_THERE:
			ret->there[s]++;
			break;
		case SN_POOL_OFF:
			ret->off[s] += !(ret->node[t].flags & SN_NODE_ABSENT);
			break;
		case SN_POOL_GONE:
			break;
		}
	}
}

static int make_pools(const struct sn_topo *topo, const struct sn_jobspec *spec,
		      struct offer *ret)
{
	uint32_t s;

	if (spec->pool.per == SN_POOL_NONE || spec->pool.per == SN_POOL_NAMED)
		return 0;
	ret->supernode = calloc((size_t)topo->n_supernodes + 1,
				sizeof(*ret->supernode));
	ret->there = calloc((size_t)topo->n_supernodes + 1, sizeof(*ret->there));
	ret->off = calloc((size_t)topo->n_supernodes + 1, sizeof(*ret->off));
	if (!ret->supernode || !ret->there || !ret->off)
		return -ENOMEM;
	count_there(topo, ret);
	for (s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];

		ret->supernode[s].pool_free =
			sn_poolleft_memory(sn, ret->there[s] + ret->off[s]);
		ret->supernode[s].bandwidth_free = sn->has_pool_bandwidth ?
			sn->pool_bandwidth : UINT64_MAX;
	}
	named_take(ret);
	return 0;
}

static void offer_node(const topology_eval_t *topo_eval, int i,
		       uint32_t card_id, uint32_t cpus_per_task,
		       struct offer *ret)
{
	const avail_res_t *res = topo_eval->avail_res_array[i];
	const sock_gres_t *sock = offer_cards(res, card_id);
	const node_record_t *node_ptr = node_record_table_ptr[i];
	bitstr_t *required = topo_eval->job_ptr->details->req_node_bitmap;
	uint32_t t = model_topo_node((uint32_t)i);
	uint64_t cards;

	if (!sock || !res->avail_cpus || t == SN_NONE)
		return;
	cards = model_cards_of(sock->gres_state_node->gres_data);
	ret->all_free |= sock->use_total_gres;
	ret->node[t] = (struct sn_place_node){
		.cards = cards,
		.free = offer_free_cards(sock, node_ptr, cards) & cards,
		.weight = node_ptr->config_ptr->weight,
		.max_ranks = res->avail_cpus / cpus_per_task,
		.flags = offer_node_flags(node_ptr),
	};
	if (required && bit_test(required, i))
		ret->node[t].flags |= SN_NODE_REQUIRED;
}

/* What the engine is to know of SpareNodes besides cards. topo_eval is not looked
 * at where all cards count as free. */
static void mark_spare_nodes(const topology_eval_t *topo_eval, struct offer *ret)
{
	const struct sn_topo *topo = model_topo();
	uint32_t t;

	for (t = 0; t < topo->n_nodes; t++) {
		struct sn_place_node *node = &ret->node[t];
		int i = model_node_inx(t);

		if (i < 0 || !topo->supernode[topo->node[t].supernode].spare_nodes)
			continue;
		if (!(node->flags & SN_NODE_ABSENT))
			node->flags |= !ret->all_free &&
				keep_is_partly(topo_eval, i) ? SN_NODE_PARTLY : 0;
		else if (ret->all_free ? model_cards(node_record_table_ptr[i]) :
			 keep_stands_by(i))
			node->flags |= SN_NODE_STANDBY;
	}
}

int offer_from_eval(const topology_eval_t *topo_eval,
		    const struct sn_jobspec *spec, struct offer *ret)
{
	const struct sn_topo *topo = model_topo();
	uint32_t card_id = model_card_id();
	uint32_t cpus_per_task = offer_cpus_per_task(topo_eval->job_ptr);
	int inx[BATCH_NODES], n, i = 0, rc;

	rc = make_empty(topo, ret);
	if (rc)
		return rc;
	while ((n = batch_next(topo_eval, &i, inx)))
		for (int k = 0; k < n; k++)
			offer_node(topo_eval, inx[k], card_id, cpus_per_task, ret);
	rc = make_pools(topo, spec, ret);
	if (rc)
		return rc;
	if (ret->supernode && !ret->all_free)
		pool_take_running(topo_eval, ret);
	if (spec->pool.per == SN_POOL_NAMED)
		named_keep_nodes(spec->pool.name, topo_eval->job_ptr->user_id,
				 ret);
	mark_spare_nodes(topo_eval, ret);
	return 0;
}

int offer_all_free(const struct sn_topoapi_ask *ask, struct offer *ret)
{
	const struct sn_topo *topo = model_topo();
	uint32_t cpus_per_task = ask->cpus_per_task ? ask->cpus_per_task : 1;
	node_record_t *node_ptr;
	int i, rc;

	rc = make_empty(topo, ret);
	ret->all_free = true;
	if (!rc)
		rc = make_pools(topo, ask->spec, ret);
	if (rc)
		return rc;
	for (i = 0; (node_ptr = next_node(&i)); i++) {
		uint32_t t = model_topo_node((uint32_t)i);
		uint64_t cards = model_cards(node_ptr);

		if (t == SN_NONE || !cards ||
		    (ask->nodes && !bit_test(ask->nodes, i)))
			continue;
		ret->node[t] = (struct sn_place_node){
			.cards = cards,
			.free = cards,
			.weight = node_ptr->config_ptr->weight,
			.max_ranks = node_ptr->cpus_efctv / cpus_per_task,
		};
		if (ask->required && bit_test(ask->required, i))
			ret->node[t].flags |= SN_NODE_REQUIRED;
	}
	if (ask->spec->pool.per == SN_POOL_NAMED)
		named_keep_nodes(ask->spec->pool.name, NAMED_ANY_USER, ret);
	mark_spare_nodes(NULL, ret);
	return 0;
}

bool offer_pools_hold(struct offer *offer, const struct sn_jobspec *spec,
		      const struct sn_placement *placed)
{
	const struct sn_topo *topo = model_topo();
	bool hold = true;
	uint32_t k, n;

	for (k = 0; offer->supernode && k < placed->n_supernodes; k++) {
		const struct sn_placed_supernode *at = &placed->supernode[k];
		const struct sn_topo_supernode *sn = &topo->supernode[at->supernode];
		uint32_t *off = &offer->off[at->supernode], up = 0;
		uint32_t there = offer->there[at->supernode];
		uint64_t *left = &offer->supernode[at->supernode].pool_free;
		uint64_t want, less;

		if (!*off)
			continue;
		for (n = at->first; n < at->first + at->n; n++)
			up += is_off(placed->node[n].node);
		for (n = 0; n < placed->n_spares; n++)
			up += topo->node[placed->spare[n].node].supernode ==
				at->supernode && is_off(placed->spare[n].node);
		if (up >= *off)
			continue;
		want = sn_poolshare_supernode(spec->pool.per, spec->pool.size,
					      at->atoms * spec->layout.atom,
					      at->n, spec->layout.world);
		less = sn_poolleft_memory(sn, there + *off) -
			sn_poolleft_memory(sn, there + up);
		if (less <= *left && want <= *left - less)
			continue;
		sn_poolleft_take(left, less);
		*off = up;
		hold = false;
	}
	return hold;
}

void offer_done(struct offer *offer)
{
	free(offer->node);
	free(offer->supernode);
	free(offer->there);
	free(offer->off);
	memset(offer, 0, sizeof(*offer));
}
