/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gone.c - is a running job still there in what Slurm pretends?
 */
#include "plugins/compat.h"

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/slurmctld/slurmctld.h"

#include "plugins/topology_supernode/gone.h"
#include "plugins/topology_supernode/offer.h"
#include "plugins/topology_supernode/plain.h"

bool gone_may_be(const job_record_t *job_ptr)
{
	return !IS_JOB_COMPLETING(job_ptr) ||
		plain_mode() != SELECT_MODE_RUN_NOW;
}

bool gone_from(const topology_eval_t *topo_eval, int i, bitstr_t *cards,
	       uint32_t card_id)
{
	const gres_node_state_t *ns;
	const sock_gres_t *sock;

	if (!cards || !bit_test(topo_eval->node_map, i))
		return false;
	sock = offer_cards(topo_eval->avail_res_array[i], card_id);
	if (!sock)
		return false;
	ns = sock->gres_state_node->gres_data;
	return ns->gres_bit_alloc &&
	       bit_size(ns->gres_bit_alloc) == bit_size(cards) &&
	       !bit_super_set(cards, ns->gres_bit_alloc);
}

bool gone_job(const topology_eval_t *topo_eval, const job_record_t *job_ptr,
	      uint32_t card_id)
{
	const gres_job_state_t *js;
	gres_state_t *state;
	uint32_t n = 0;
	int i;

	if (!job_ptr->gres_list_alloc || !job_ptr->node_bitmap ||
	    !gone_may_be(job_ptr))
		return false;
	state = list_find_first_ro(job_ptr->gres_list_alloc, gres_find_id,
				   &card_id);
	js = state ? state->gres_data : NULL;
	if (!js || !js->gres_bit_alloc)
		return false;
	for (i = 0; next_node_bitmap(job_ptr->node_bitmap, &i); i++, n++) {
		if (n >= js->node_cnt)
			break;
		if (gone_from(topo_eval, i, js->gres_bit_alloc[n], card_id))
			return true;
	}
	return false;
}
