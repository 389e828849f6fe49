/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.c - how much of each supernode's pool the running jobs hold.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/slurmctld/slurmctld.h"

#include "plugins/common/jobopts.h"
#include "plugins/topology_supernode/gone.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/plain.h"
#include "plugins/topology_supernode/pool.h"
#include "topology/joblost.h"
#include "topology/poolleft.h"

/* Only slurmctld has it; the plugin is loaded elsewhere too. */
#pragma weak job_list

struct taking {
	const topology_eval_t *topo_eval;
	struct offer *offer;
	uint32_t card_id;
	struct sn_poolleft_share *share; /* [n_supernodes] of the job at hand */
};

static gres_job_state_t *job_cards(const job_record_t *job_ptr, uint32_t card_id)
{
	gres_state_t *state = job_ptr->gres_list_alloc ?
		list_find_first(job_ptr->gres_list_alloc, gres_find_id,
				&card_id) : NULL;

	return state ? state->gres_data : NULL;
}

/* The nodes of the job and its cards on each; NULL it is gone, or no memory. */
static struct sn_spares_node *list_nodes(const struct taking *t,
					 const job_record_t *job_ptr,
					 const gres_job_state_t *js,
					 uint32_t *ret_n)
{
	struct sn_spares_node *list = calloc((size_t)js->node_cnt + 1,
					     sizeof(*list));
	bool here = !gone_may_be(job_ptr);
	uint32_t n = 0, k = 0;
	int i;

	for (i = 0; list && next_node_bitmap(job_ptr->node_bitmap, &i); i++, n++) {
		uint32_t node = model_topo_node((uint32_t)i);

		if (n >= js->node_cnt)
			break;
		if (!here && js->gres_bit_alloc &&
		    gone_from(t->topo_eval, i, js->gres_bit_alloc[n],
			      t->card_id)) {
			free(list);
			return NULL;
		}
		if (node != SN_NONE)
			list[k++] = (struct sn_spares_node){
				node, (uint32_t)js->gres_cnt_node_alloc[n],
			};
	}
	*ret_n = k;
	return list;
}

static void take_job(struct taking *t, const job_record_t *job_ptr,
		     const struct sn_jobspec *spec,
		     const struct sn_spares_node *node, uint32_t n)
{
	const struct sn_topo *topo = model_topo();
	struct sn_joblost lost = { NULL, 0, NULL };
	uint32_t s;

	if (spec->spares)
		(void)sn_joblost_find(topo, job_ptr->admin_comment, node, n,
				      &lost, NULL);
	if (!sn_poolleft_job(topo, spec, node, n, lost.count, t->share, NULL,
			     NULL, NULL))
		for (s = 0; s < topo->n_supernodes; s++) {
			struct sn_place_supernode *left = &t->offer->supernode[s];

			sn_poolleft_take(&left->pool_free, t->share[s].bytes);
			sn_poolleft_take(&left->bandwidth_free,
					 t->share[s].bandwidth);
		}
	sn_joblost_done(&lost);
}

static int take_one(void *x, void *arg)
{
	const job_record_t *job_ptr = x;
	struct taking *t = arg;
	struct sn_jobspec_text text;
	struct sn_jobspec spec;
	struct sn_spares_node *node;
	const gres_job_state_t *js;
	uint32_t n;

	if (job_ptr == t->topo_eval->job_ptr || !job_ptr->spank_job_env_size ||
	    !job_ptr->node_bitmap ||
	    !(IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr) ||
	      IS_JOB_COMPLETING(job_ptr)))
		return 0;
	if (!sn_jobopts_find(job_ptr->spank_job_env,
			     job_ptr->spank_job_env_size, &text) ||
	    !text.pool || sn_jobspec_parse(&text, 0, &spec, NULL) ||
	    !spec.has_parallel)
		return 0;
	js = job_cards(job_ptr, t->card_id);
	if (!js || !js->gres_cnt_node_alloc)
		return 0;
	node = list_nodes(t, job_ptr, js, &n);
	if (node)
		take_job(t, job_ptr, &spec, node, n);
	free(node);
	return 0;
}

void pool_take_running(const topology_eval_t *topo_eval, struct offer *offer)
{
	struct taking t = {
		.topo_eval = topo_eval,
		.offer = offer,
		.card_id = model_card_id(),
		.share = calloc((size_t)model_topo()->n_supernodes + 1,
				sizeof(*t.share)),
	};

	if (t.share && &job_list && job_list)
		list_for_each_ro(job_list, take_one, &t);
	free(t.share);
}
