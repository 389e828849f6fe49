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
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/pool.h"
#include "topology/poolshare.h"

/* Only slurmctld has it; the plugin is loaded elsewhere too. */
#pragma weak job_list

struct taking {
	const topology_eval_t *topo_eval;
	struct offer *offer;
	uint32_t card_id;
	uint32_t *ranks, *nodes; /* [n_supernodes] of the job at hand */
};

static gres_job_state_t *job_cards(const job_record_t *job_ptr, uint32_t card_id)
{
	gres_state_t *state = job_ptr->gres_list_alloc ?
		list_find_first(job_ptr->gres_list_alloc, gres_find_id,
				&card_id) : NULL;

	return state ? state->gres_data : NULL;
}

/* Has Slurm taken the job's cards off this node, in what it pretends? */
static bool is_gone_from(const struct taking *t, int i,
			 const gres_job_state_t *js, uint32_t n)
{
	const sock_gres_t *sock;
	const gres_node_state_t *ns;

	if (!bit_test(t->topo_eval->node_map, i) || !js->gres_bit_alloc ||
	    !js->gres_bit_alloc[n])
		return false;
	sock = offer_cards(t->topo_eval->avail_res_array[i], t->card_id);
	if (!sock)
		return false;
	ns = sock->gres_state_node->gres_data;
	return ns->gres_bit_alloc &&
	       bit_size(ns->gres_bit_alloc) == bit_size(js->gres_bit_alloc[n]) &&
	       !bit_super_set(js->gres_bit_alloc[n], ns->gres_bit_alloc);
}

static void take(uint64_t *from, uint64_t what)
{
	if (*from != UINT64_MAX)
		*from -= what < *from ? what : *from;
}

static void take_job(struct taking *t, const struct sn_jobspec *spec)
{
	const struct sn_topo *topo = model_topo();
	uint32_t world = spec->layout.world, s;

	for (s = 0; s < topo->n_supernodes; s++) {
		take(&t->offer->supernode[s].pool_free,
		     sn_poolshare_supernode(spec->pool.per, spec->pool.size,
					    t->ranks[s], t->nodes[s], world));
		take(&t->offer->supernode[s].bandwidth_free,
		     sn_poolshare_supernode(spec->pool.per,
					    spec->pool.bandwidth, t->ranks[s],
					    t->nodes[s], world));
	}
}

static int take_one(void *x, void *arg)
{
	const job_record_t *job_ptr = x;
	const struct sn_topo *topo = model_topo();
	struct taking *t = arg;
	struct sn_jobspec_text text;
	struct sn_jobspec spec;
	const gres_job_state_t *js;
	uint32_t n = 0;
	int i;

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
	memset(t->ranks, 0, topo->n_supernodes * sizeof(*t->ranks));
	memset(t->nodes, 0, topo->n_supernodes * sizeof(*t->nodes));
	for (i = 0; next_node_bitmap(job_ptr->node_bitmap, &i); i++, n++) {
		uint32_t node = model_topo_node((uint32_t)i);

		if (n >= js->node_cnt)
			break;
		if (is_gone_from(t, i, js, n))
			return 0;
		if (node == SN_NONE)
			continue;
		t->ranks[topo->node[node].supernode] +=
			(uint32_t)js->gres_cnt_node_alloc[n];
		t->nodes[topo->node[node].supernode]++;
	}
	take_job(t, &spec);
	return 0;
}

void pool_take_running(const topology_eval_t *topo_eval, struct offer *offer)
{
	size_t n = model_topo()->n_supernodes;
	struct taking t = {
		.topo_eval = topo_eval,
		.offer = offer,
		.card_id = model_card_id(),
		.ranks = calloc(n + 1, sizeof(*t.ranks)),
		.nodes = calloc(n + 1, sizeof(*t.nodes)),
	};

	if (t.ranks && t.nodes && &job_list && job_list)
		list_for_each_ro(job_list, take_one, &t);
	free(t.ranks);
	free(t.nodes);
}
