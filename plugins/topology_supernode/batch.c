/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * batch.c - the nodes that Slurm offers, a few at a time and already in the cache.
 */
#include "plugins/compat.h"

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/node_conf.h"

#include "plugins/topology_supernode/batch.h"

/* GCC thinks that a function of nothing but prefetches does nothing, and leaves
 * its calls out. */
static inline void fetch(const void *p)
{
	__builtin_prefetch(p);
	__asm__ volatile("" : : "r"(p));
}

static int collect(const topology_eval_t *topo_eval, int *inx,
		   int ret[BATCH_NODES])
{
	int n = 0;

	for (; n < BATCH_NODES && next_node_bitmap(topo_eval->node_map, inx);
	     (*inx)++) {
		const node_record_t *node_ptr = node_record_table_ptr[*inx];

		fetch(topo_eval->avail_res_array[*inx]);
		fetch(&node_ptr->config_ptr);
		fetch(&node_ptr->node_state);
		ret[n++] = *inx;
	}
	/* At the end Slurm leaves -1 there, from which all would begin anew. */
	if (n < BATCH_NODES)
		*inx = node_record_count;
	return n;
}

static void fetch_lists(const topology_eval_t *topo_eval, const int *inx, int n)
{
	for (int k = 0; k < n; k++) {
		const avail_res_t *res = topo_eval->avail_res_array[inx[k]];

		/* Its lock and its head are in two lines. */
		if (res && res->sock_gres_list) {
			fetch(res->sock_gres_list);
			fetch((const char *)res->sock_gres_list + 64);
		}
	}
}

/* Mostly there is one kind of gres; the others are read from memory as ever. */
static void find_first(const topology_eval_t *topo_eval, const int *inx, int n,
		       const sock_gres_t **ret)
{
	for (int k = 0; k < n; k++) {
		const avail_res_t *res = topo_eval->avail_res_array[inx[k]];

		ret[k] = res && res->sock_gres_list ?
			list_peek(res->sock_gres_list) : NULL;
		if (ret[k]) {
			fetch(ret[k]);
			fetch(&ret[k]->use_total_gres);
		}
	}
}

static void fetch_cards(const sock_gres_t *const *sock, int n)
{
	for (int k = 0; k < n; k++) {
		if (!sock[k])
			continue;
		fetch(sock[k]->gres_state_node);
		fetch(sock[k]->bits_any_sock);
		fetch(sock[k]->bits_by_sock);
	}
	for (int k = 0; k < n; k++) {
		const gres_node_state_t *state;

		if (!sock[k] || !sock[k]->gres_state_node)
			continue;
		state = sock[k]->gres_state_node->gres_data;
		fetch(&state->gres_cnt_config);
		fetch(&state->gres_bit_alloc);
		for (int s = 0; sock[k]->bits_by_sock && s < sock[k]->sock_cnt; s++)
			fetch(sock[k]->bits_by_sock[s]);
	}
	for (int k = 0; k < n; k++) {
		const gres_node_state_t *state;

		if (!sock[k] || !sock[k]->gres_state_node)
			continue;
		state = sock[k]->gres_state_node->gres_data;
		if (state)
			fetch(state->gres_bit_alloc);
	}
}

int batch_next(const topology_eval_t *topo_eval, int *inx,
	       int ret[BATCH_NODES])
{
	const sock_gres_t *sock[BATCH_NODES];
	int n = collect(topo_eval, inx, ret);

	fetch_lists(topo_eval, ret, n);
	find_first(topo_eval, ret, n, sock);
	fetch_cards(sock, n);
	return n;
}
