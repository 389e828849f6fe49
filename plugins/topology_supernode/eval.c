/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eval.c - choose the nodes of a --parallel job.
 *
 * The engine says how many ranks each node gets. Slurm's select/cons_tres then
 * deals W tasks over the nodes, bounded on each by the cards that are left in
 * sock_gres->total_cnt: with those cut to the ranks, they sum to W, and its
 * dealing can come out in one way only.
 *
 * Spare nodes are dealt to in the same way: their cards count as ranks until
 * select/supernode, which has called, sets the number of tasks right again.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/log.h"

#include "src/plugins/topology/common/eval_nodes.h"
#include "src/plugins/topology/common/gres_sched.h"

#include "plugins/common/jobopts.h"
#include "plugins/common/sitefiles.h"
#include "plugins/topology_supernode/domains.h"
#include "plugins/topology_supernode/eval.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/offer.h"
#include "plugins/topology_supernode/plain.h"
#include "plugins/topology_supernode/range.h"
#include "plugins/topology_supernode/replacing.h"
#include "topology/spares.h"

/* How often to choose again when Slurm's own count of a node's cores comes out
 * lower than what it offered. Each time a node more is known. */
#define TRIES 16

/* What is taken of the offer: nodes with ranks, and spares as if they had some. */
struct taken {
	struct sn_placed_node *node;
	uint32_t n;
	uint32_t tasks; /* on all of them */
};

bool eval_is_ours(const job_record_t *job_ptr, struct sn_jobspec *ret)
{
	struct sn_jobspec_text text;
	uint32_t tasks;

	if (!model_topo() || !job_ptr->details || !job_ptr->gres_list_req ||
	    !sn_jobopts_find(job_ptr->spank_job_env,
			     job_ptr->spank_job_env_size, &text) ||
	    !text.parallel)
		return false;
	/* job_submit/supernode has written the layout out in full, so that the
	 * cards per node are not needed to read it. */
	if (sn_jobspec_parse(&text, 0, ret, NULL) || !ret->has_parallel)
		return false;
	/* More: of a choice of ours in this same call. */
	tasks = job_ptr->details->num_tasks;
	return tasks == ret->layout.world ||
	       (ret->spares && tasks > ret->layout.world);
}

static int take(const struct sn_placement *placed, struct taken *ret)
{
	uint32_t i;

	*ret = (struct taken){
		.node = calloc((size_t)placed->n_nodes + placed->n_spares + 1,
			       sizeof(*ret->node)),
	};
	if (!ret->node)
		return -ENOMEM;
	for (i = 0; i < placed->n_nodes; i++)
		ret->node[ret->n++] = placed->node[i];
	for (i = 0; i < placed->n_spares; i++)
		ret->node[ret->n++] = (struct sn_placed_node){
			placed->spare[i].node, placed->spare[i].cards,
		};
	for (i = 0; i < ret->n; i++)
		ret->tasks += ret->node[i].ranks;
	return 0;
}

/* Cut one node to its ranks. Returns how many it can really run. */
static uint32_t cut_node(topology_eval_t *topo_eval, int i, uint32_t ranks,
			 uint32_t card_id)
{
	avail_res_t *res = topo_eval->avail_res_array[i];
	sock_gres_t *sock = offer_cards(res, card_id);
	uint32_t cpt = offer_cpus_per_task(topo_eval->job_ptr), can;

	/* Which cores, by Slurm's own rules (sockets, threads, binding). */
	eval_nodes_select_cores(topo_eval, i, 1);
	if (!topo_eval->avail_cpus)
		return 0;
	can = topo_eval->avail_cpus / cpt;
	if (res->gres_max_tasks && res->gres_max_tasks < can)
		can = res->gres_max_tasks;
	if (sock->total_cnt < can)
		can = (uint32_t)sock->total_cnt;
	if (can < ranks)
		return can;
	sock->total_cnt = ranks;
	return ranks;
}

struct saved {
	bitstr_t *cores;
	uint64_t cards;
	uint16_t cpus;
};

static void restore(topology_eval_t *topo_eval, int i, uint32_t card_id,
		    struct saved *saved)
{
	avail_res_t *res = topo_eval->avail_res_array[i];
	sock_gres_t *sock = offer_cards(res, card_id);

	if (saved->cores)
		bit_copybits(topo_eval->avail_core[i], saved->cores);
	sock->total_cnt = saved->cards;
	res->avail_cpus = saved->cpus;
}

/*
 * Cut every node of the answer. True if all can run what they should; else the
 * offer knows better now and everything in topo_eval is as it was.
 */
static bool cut(topology_eval_t *topo_eval, const struct taken *taken,
		struct offer *offer)
{
	uint32_t card_id = model_card_id(), n;
	struct saved *saved = calloc((size_t)taken->n + 1, sizeof(*saved));
	bool fits = saved != NULL;

	for (n = 0; saved && n < taken->n; n++) {
		const struct sn_placed_node *node = &taken->node[n];
		int i = model_node_inx(node->node);
		avail_res_t *res = topo_eval->avail_res_array[i];
		uint32_t can;

		saved[n].cards = offer_cards(res, card_id)->total_cnt;
		saved[n].cpus = res->avail_cpus;
		if (topo_eval->avail_core[i])
			saved[n].cores = bit_copy(topo_eval->avail_core[i]);
		can = cut_node(topo_eval, i, node->ranks, card_id);
		if (can < node->ranks) {
			offer->node[node->node].max_ranks = can;
			fits = false;
		}
	}
	for (n = 0; saved && n < taken->n; n++) {
		if (!fits)
			restore(topo_eval, model_node_inx(taken->node[n].node),
				card_id, &saved[n]);
		FREE_NULL_BITMAP(saved[n].cores);
	}
	free(saved);
	return fits;
}

/* Slurm lowers avail_cpus to what is left of the cores after the cut, as its
 * common_topo_choose_nodes() does. */
static bool settle(topology_eval_t *topo_eval, const struct taken *taken)
{
	uint32_t cpt = offer_cpus_per_task(topo_eval->job_ptr), n;

	bit_clear_all(topo_eval->node_map);
	for (n = 0; n < taken->n; n++)
		bit_set(topo_eval->node_map, model_node_inx(taken->node[n].node));
	eval_nodes_clip_socket_cores(topo_eval);
	for (n = 0; n < taken->n; n++) {
		int i = model_node_inx(taken->node[n].node);
		avail_res_t *res = topo_eval->avail_res_array[i];
		uint32_t cpus = res->avail_cpus;

		if (topo_eval->avail_core[i])
			cpus = (uint32_t)bit_set_count(topo_eval->avail_core[i]) *
				node_record_table_ptr[i]->tpc;
		if (cpus < res->avail_cpus)
			res->avail_cpus = (uint16_t)cpus;
		if (res->avail_cpus < taken->node[n].ranks * cpt)
			return false;
	}
	topo_eval->job_ptr->details->num_tasks = taken->tasks;
	return true;
}

/* Within Slurm's bounds, which count spares too; -N, which does not, has been
 * given room for them. */
static int place_bounded(const topology_eval_t *topo_eval,
			 const struct sn_jobspec *spec,
			 const struct sn_place_state *state,
			 const struct sn_place_request *request,
			 struct sn_placement *ret, struct sn_err *err)
{
	uint32_t most = topo_eval->job_ptr->details->max_nodes;
	uint32_t room = sn_spares_most(&spec->layout, spec->spares);
	uint32_t max = topo_eval->max_nodes, n;
	int rc;

	/* Where it is the partition's, nobody gave -N. */
	if (SN_IMPLICIT_NODES(topo_eval->job_ptr) ||
	    (SN_LIMITS_IMPLICIT_NODES && topo_eval->job_ptr->part_ptr &&
	     most == topo_eval->job_ptr->part_ptr->max_nodes))
		most = 0;
	if (most > room && most - room < max)
		max = most - room;
	rc = range_place(model_topo(), state, request, topo_eval->min_nodes,
			 max, ret, err);
	if (rc || ret->n_nodes + ret->n_spares <= topo_eval->max_nodes)
		return rc;
	n = ret->n_spares;
	sn_placement_done(ret);
	if (topo_eval->max_nodes <= n)
		return sn_err_set(err, -ENOSPC,
				  "%u spare nodes leave none of %u for ranks",
				  n, topo_eval->max_nodes);
	return range_place(model_topo(), state, request, topo_eval->min_nodes,
			   topo_eval->max_nodes - n, ret, err);
}

static bool ask_for(const topology_eval_t *topo_eval,
		    const struct sn_jobspec *spec,
		    struct sn_place_request *ret)
{
	const job_details_t *details = topo_eval->job_ptr->details;

	sn_place_request_init(ret, spec);
	if (details->whole_node & WHOLE_NODE_REQUIRED) {
		uint32_t cards = model_cards_per_node(NULL);

		/* Slurm gives a whole node's cards to the job and deals tasks
		 * as it likes: right only where every card has a rank. */
		if (!cards || spec->layout.world % cards)
			return false;
		ret->whole_nodes = true;
		ret->exact_nodes = spec->layout.world / cards;
	}
	return true;
}

static void log_choice(const topology_eval_t *topo_eval,
		       const struct sn_placement *placed)
{
	log_flag(SELECT_TYPE, "topology/supernode: %pJ: %u nodes and %u spares in %u supernodes%s",
		 topo_eval->job_ptr, placed->n_nodes, placed->n_spares,
		 placed->n_supernodes, placed->exact ? "" : ", perhaps not the best");
}

/*
 * What did fit when it was submitted and fits nowhere now, with all cards
 * free, may fit again: topology.conf, features or partitions have changed and
 * may change back. Slurm asks for TEST_ONLY then, and would hold it for good.
 * Slurm notes the time of each look at a queued job, the first at submission.
 */
static bool did_fit(const topology_eval_t *topo_eval)
{
	const job_record_t *job_ptr = topo_eval->job_ptr;

	/* The times are whole seconds, so a job may have been looked at in the
	 * second it came; then it has a reason to wait. */
	return plain_mode() == SELECT_MODE_TEST_ONLY &&
	       (job_ptr->last_sched_eval > job_ptr->details->submit_time ||
		job_ptr->state_reason == WAIT_RESOURCES ||
		job_ptr->state_reason == WAIT_PRIORITY);
}

/* Degraded links, and PowerLimit; *ret_limits is the caller's, NULL: none. */
static int add_domains(struct domains *domains, struct offer *offer,
		       struct sn_place_state *ret,
		       struct sn_place_supernode **ret_limits)
{
	uint32_t t;

	for (t = 0; t < model_topo()->n_nodes; t++)
		offer->node[t].flags |= domains_flags(domains, t);
	ret->node = offer->node;
	if (!offer->supernode) {
		if (domains_limit(domains, ret_limits))
			return -ENOMEM;
		ret->supernode = *ret_limits;
		return 0;
	}
	ret->supernode = offer->supernode;
	return domains_limit(domains, &offer->supernode);
}

int eval_parallel(topology_eval_t *topo_eval, const struct sn_jobspec *spec)
{
	struct sn_place_supernode *limits = NULL;
	struct domains domains = { .draws = NULL };
	struct sn_placement placed = { 0 };
	struct sn_place_request request;
	struct sn_place_state state;
	struct taken taken = { 0 };
	struct offer offer = { 0 };
	struct replacing replacing = { NULL, 0 };
	struct sn_err err = { "" };
	int rc = SLURM_ERROR, tries;

	/* Nobody would take the tasks of spare cards back. */
	if (spec->spares && !sn_site_selects_supernode())
		return SLURM_ERROR;
	topo_eval->job_ptr->details->num_tasks = spec->layout.world;
	if (!ask_for(topo_eval, spec, &request)) {
		log_flag(SELECT_TYPE, "topology/supernode: %pJ: whole nodes, but %u ranks do not fill nodes",
			 topo_eval->job_ptr, spec->layout.world);
		return SLURM_ERROR;
	}
	if (offer_from_eval(topo_eval, spec, &offer) ||
	    domains_init(&domains, offer.all_free ? NULL : topo_eval) ||
	    add_domains(&domains, &offer, &state, &limits))
		goto out;
	/* Whom it replaces may have ended by now, and a test would hold it. */
	if (spec->replaces && plain_mode() != SELECT_MODE_TEST_ONLY) {
		if (replacing_find(spec->replaces, topo_eval->job_ptr,
				   &replacing, &err)) {
			log_flag(SELECT_TYPE, "topology/supernode: %pJ: %s",
				 topo_eval->job_ptr, err.text);
			goto out;
		}
		sn_replace_restrict(model_topo(), replacing.allow, offer.node);
	}
	/* Slurm's own count of the cards it has given, or the last call's would
	 * bound this one. */
	gres_sched_init(topo_eval->job_ptr->gres_list_req);
	/* Slurm's first pass is for gres that follow the cores; ours are given. */
	topo_eval->first_pass = false;
	for (tries = 0; tries < TRIES; tries++) {
		if (place_bounded(topo_eval, spec, &state, &request, &placed,
				  &err)) {
			log_flag(SELECT_TYPE, "topology/supernode: %pJ: %s",
				 topo_eval->job_ptr, err.text);
			goto out;
		}
		free(taken.node);
		taken.node = NULL;
		if (take(&placed, &taken))
			goto out;
		if (offer_pools_hold(&offer, spec, &placed) &&
		    (!replacing.allow ||
		     sn_replace_fits(model_topo(), replacing.allow, &placed,
				     offer.node)) &&
		    cut(topo_eval, &taken, &offer))
			break;
		sn_placement_done(&placed);
		memset(&placed, 0, sizeof(placed));
	}
	if (tries == TRIES || taken.n > topo_eval->max_nodes ||
	    placed.n_nodes < topo_eval->min_nodes)
		goto out;
	if (!settle(topo_eval, &taken))
		goto out;
	log_choice(topo_eval, &placed);
	rc = SLURM_SUCCESS;
out:
	free(limits);
	domains_done(&domains);
	free(taken.node);
	sn_placement_done(&placed);
	replacing_done(&replacing);
	offer_done(&offer);
	return rc && did_fit(topo_eval) ? SLURM_SUCCESS : rc;
}

int eval_could_fit(const struct sn_topoapi_ask *ask, struct sn_err *err)
{
	struct sn_place_supernode *limits = NULL;
	struct domains domains = { .draws = NULL };
	struct sn_placement placed = { 0 };
	struct sn_place_request request;
	struct sn_place_state state;
	struct replacing replacing = { NULL, 0 };
	struct offer offer = { 0 };
	int rc;

	if (!model_topo())
		return sn_err_set(err, -ENOSPC, "there is no topology yet");
	sn_place_request_init(&request, ask->spec);
	request.whole_nodes = ask->whole_nodes;
	rc = offer_all_free(ask, &offer);
	if (!rc)
		rc = domains_init(&domains, NULL);
	if (!rc)
		rc = add_domains(&domains, &offer, &state, &limits);
	if (!rc && ask->spec->replaces &&
	    !replacing_find(ask->spec->replaces, NULL, &replacing, NULL))
		sn_replace_restrict(model_topo(), replacing.allow, offer.node);
	if (!rc) {
		rc = range_place(model_topo(), &state, &request,
				 ask->min_nodes, ask->max_nodes ?
				 ask->max_nodes : UINT32_MAX, &placed, err);
		rc = domains_explain(&domains, rc, err);
	}
	free(limits);
	domains_done(&domains);
	sn_placement_done(&placed);
	replacing_done(&replacing);
	offer_done(&offer);
	return rc;
}
