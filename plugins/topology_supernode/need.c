/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * need.c - what a job without --parallel asks, in the placement engine's words.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"

#include "plugins/topology_supernode/batch.h"
#include "plugins/topology_supernode/domains.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/need.h"
#include "plugins/topology_supernode/offer.h"
#include "plugins/topology_supernode/plain.h"

static bool is_set32(uint32_t v)
{
	return v && v != NO_VAL && v != INFINITE;
}

static uint32_t div_up(uint64_t a, uint64_t b)
{
	return (uint32_t)((a + b - 1) / b);
}

/* ---- the job ----------------------------------------------------------------- */

struct card_ask {
	struct need *need;
	uint32_t id;
	int lists;
	bool any_per_job;
};

static int find_card_ask(void *x, void *arg)
{
	gres_state_t *state = x;
	gres_job_state_t *js = state->gres_data;
	struct card_ask *ask = arg;
	struct need *need = ask->need;

	if (js->gres_per_job)
		ask->any_per_job = true;
	if (state->plugin_id != ask->id)
		return 0;
	ask->lists++;
	if (js->gres_per_task && js->gres_per_task <= SN_CARDS_MAX) {
		need->cards = NEED_CARDS_TASK;
		need->n_cards = (uint32_t)js->gres_per_task;
	} else if (js->gres_per_node && js->gres_per_node <= SN_CARDS_MAX) {
		need->cards = NEED_CARDS_NODE;
		need->n_cards = (uint32_t)js->gres_per_node;
	} else if (js->gres_per_job && js->gres_per_job < SN_WORLD_MAX) {
		need->cards = NEED_CARDS_JOB;
		need->n_cards = (uint32_t)js->gres_per_job;
	}
	return 0;
}

static void find_cards(struct need *need)
{
	job_record_t *job_ptr = need->topo_eval->job_ptr;
	struct card_ask ask = { .need = need, .id = model_card_id() };

	if (!job_ptr->gres_list_req)
		return;
	(void)list_for_each_ro(job_ptr->gres_list_req, find_card_ask, &ask);
	/* Cards of several types: Slurm counts each by itself, so a node is a
	 * node to us. */
	if (ask.lists > 1)
		need->cards = NEED_NO_CARDS;
	if (ask.any_per_job)
		need->open = true;
}

/* As Slurm's own choice has it: a job that gave a range of nodes is to get as
 * many as can be had now. */
static void find_counts(struct need *need)
{
	const topology_eval_t *te = need->topo_eval;
	const job_details_t *details = te->job_ptr->details;
	uint32_t tasks = is_set32(details->num_tasks) ? details->num_tasks : 0;

	need->min = te->min_nodes ? te->min_nodes : 1;
	need->max = te->max_nodes;
	if (tasks && !details->ntasks_per_node && need->max > tasks)
		need->max = tasks > need->min ? tasks : need->min;
	if (need->max < need->min)
		need->max = need->min;
	need->want = te->req_nodes > need->min ? te->req_nodes : need->min;
	if (need->want > need->max)
		need->want = need->max;
	need->open = need->min != need->max && te->req_nodes <= need->min;
	/* So many tasks on each node: then the nodes are counted already. */
	if (details->ntasks_per_node && tasks)
		need->open = false;
	need->cpus_per_task = details->overcommit ? 1 :
		offer_cpus_per_task(te->job_ptr);
	need->tasks = div_up(details->min_cpus, need->cpus_per_task);
	if (!details->overcommit && need->tasks < tasks)
		need->tasks = tasks;
	if (!need->tasks)
		need->tasks = 1;
}

static void find_segment(struct need *need)
{
	const job_record_t *job_ptr = need->topo_eval->job_ptr;
	uint16_t k = job_ptr->details->segment_size;

	if (!k || k == NO_VAL16)
		return;
#if SN_SLURM_AT_LEAST(26, 5)
	/* "If all nodes fit within a single segment, this has no effect." */
	if (k > need->min && need->max == need->min)
		return;
#endif
	need->segment = k;
#if SN_SLURM_AT_LEAST(25, 11)
	need->spread = job_ptr->bit_flags & SPREAD_SEGMENTS;
#endif
}

/* ---- the nodes ----------------------------------------------------------------- */

struct gres_seen {
	uint32_t card_id;
	const sock_gres_t *cards; /* NULL: none */
	uint32_t tasks; /* that all of its gres allow */
};

/* One walk over the list: there are thousands of nodes. */
static int see_gres(void *x, void *arg)
{
	const sock_gres_t *sock = x;
	const gres_job_state_t *js;
	struct gres_seen *seen = arg;
	uint64_t n;

	if (!sock->gres_state_job)
		return 0;
	if (sock->gres_state_job->plugin_id == seen->card_id &&
	    sock->gres_state_node && !seen->cards)
		seen->cards = sock;
	js = sock->gres_state_job->gres_data;
	if (!js->gres_per_task || sock->total_cnt == NO_CONSUME_VAL64)
		return 0;
	n = sock->total_cnt / js->gres_per_task;
	if (n < seen->tasks)
		seen->tasks = (uint32_t)n;
	return 0;
}

/* A whole node of more CPUs than the job may have in all. */
static bool is_too_large(const job_details_t *details, const avail_res_t *res)
{
	return details->whole_node & WHOLE_NODE_REQUIRED &&
		details->max_cpus != NO_VAL &&
		details->max_cpus < res->avail_cpus;
}

static void read_node(struct need *need, int i, uint32_t card_id)
{
	const topology_eval_t *te = need->topo_eval;
	avail_res_t *res = te->avail_res_array[i];
	const node_record_t *node_ptr = node_record_table_ptr[i];
	bitstr_t *required = te->job_ptr->details->req_node_bitmap;
	uint32_t t = model_topo_node((uint32_t)i);
	struct gres_seen seen = { .card_id = card_id, .tasks = UINT32_MAX };
	struct need_node *node;

	if (t == SN_NONE || !res || !res->avail_cpus ||
	    is_too_large(te->job_ptr->details, res))
		return;
	node = &need->node[t];
	*node = (struct need_node){
		.cpus = res->avail_cpus,
		.gres_tasks = UINT32_MAX,
		.weight = node_ptr->config_ptr->weight,
		.flags = offer_node_flags(node_ptr),
	};
	if (required && bit_test(required, i))
		node->flags |= SN_NODE_REQUIRED;
	if (!res->sock_gres_list)
		return;
	(void)list_for_each_ro(res->sock_gres_list, see_gres, &seen);
	node->gres_tasks = seen.tasks;
	if (seen.cards && need->cards != NEED_NO_CARDS) {
		node->cards = model_cards_of(seen.cards->gres_state_node->gres_data);
		node->free = offer_free_cards(seen.cards, node_ptr,
					      node->cards) & node->cards;
	}
}

/* What is beyond PowerLimit is refused at submission. Here a limit may have come
 * later and may go again, and Slurm holds for good what fails this test. */
static int add_domains(struct need *need)
{
	struct domains domains;
	uint32_t t;
	int rc;

	if (plain_mode() == SELECT_MODE_TEST_ONLY)
		return 0;
	rc = domains_init(&domains, need->topo_eval);
	for (t = 0; !rc && t < model_topo()->n_nodes; t++)
		need->node[t].flags |= domains_flags(&domains, t);
	if (!rc)
		rc = domains_limit(&domains, &need->supernode);
	domains_done(&domains);
	return rc;
}

int need_init(struct need *need, topology_eval_t *topo_eval)
{
	const struct sn_topo *topo = model_topo();
	uint32_t card_id = model_card_id(), t;
	int inx[BATCH_NODES], n, i = 0;

	*need = (struct need){ .topo_eval = topo_eval };
	find_counts(need);
	find_segment(need);
	find_cards(need);
	need->node = calloc((size_t)topo->n_nodes + 1, sizeof(*need->node));
	need->offer = calloc((size_t)topo->n_nodes + 1, sizeof(*need->offer));
	need->supernode = NULL;
	if (!need->node || !need->offer)
		return -ENOMEM;
	for (t = 0; t < topo->n_nodes; t++)
		need->node[t].flags = SN_NODE_ABSENT;
	while ((n = batch_next(topo_eval, &i, inx)))
		for (int k = 0; k < n; k++)
			read_node(need, inx[k], card_id);
	return add_domains(need);
}

void need_done(struct need *need)
{
	free(need->node);
	free(need->offer);
	free(need->supernode);
	free(need->allow);
	*need = (struct need){ 0 };
}

/* ---- by nodes ------------------------------------------------------------------ */

/* One segment a supernode: of a pool that holds one rank's share for each rank
 * of an atom, two atoms cannot be had. */
static void spread_segments(struct need *need, struct sn_place_request *request)
{
	uint32_t n = model_topo()->n_supernodes, s;

	/* PowerLimit may be in it already. */
	if (!need->supernode)
		need->supernode = calloc((size_t)n + 1, sizeof(*need->supernode));
	if (!need->supernode)
		return;
	for (s = 0; s < n; s++) {
		need->supernode[s].pool_free = request->atom;
		need->supernode[s].bandwidth_free = UINT64_MAX;
	}
	request->pool.per = SN_POOL_CARD;
	request->pool.size = 1;
}

static bool ask_nodes(struct need *need, uint32_t n, uint32_t block,
		      struct sn_place_request *ret)
{
	uint32_t k = need->segment ? need->segment : 1;

	if (!n || n % k || (uint64_t)n * block > SN_WORLD_MAX)
		return false;
	*ret = (struct sn_place_request){
		.world = n * block,
		.node_block = block,
		.unit_block = block,
		.atom = k * block,
		.use_spare_nodes = true,
	};
	if (need->spread)
		spread_segments(need, ret);
	return !need->spread || need->supernode;
}

/* The cards that one of n nodes must have, all having the same. */
static uint32_t card_share(const struct need *need, uint32_t n)
{
	switch (need->cards) {
	case NEED_CARDS_NODE:
		return need->n_cards;
	case NEED_CARDS_TASK:
		return need->n_cards * div_up(need->tasks, n);
	case NEED_CARDS_JOB:
		return div_up(need->n_cards, n);
	default:
		return 0;
	}
}

static void offer_block(struct need *need, uint32_t t, uint32_t block,
			bool cards)
{
	const struct need_node *node = &need->node[t];

	need->offer[t] = (struct sn_place_node){
		.cards = cards ? node->cards : 1,
		.free = cards ? node->free : 1,
		.weight = node->weight,
		.max_ranks = block,
		.flags = node->flags,
	};
}

bool need_by_nodes(struct need *need, uint32_t n, struct sn_place_request *ret,
		   bool *ret_uneven)
{
	const job_details_t *details = need->topo_eval->job_ptr->details;
	uint32_t cards = card_share(need, n), block = cards ? cards : 1;
	uint32_t tasks = details->ntasks_per_node ? 1 : div_up(need->tasks, n);
	uint32_t cpus = details->ntasks_per_node ? 1 :
		div_up(details->min_cpus, n);
	uint32_t t;

	*ret_uneven = false;
	if (cards > SN_CARDS_MAX || !ask_nodes(need, n, block, ret)) {
		*ret_uneven = true;
		return false;
	}
	for (t = 0; t < model_topo()->n_nodes; t++) {
		const struct need_node *node = &need->node[t];

		offer_block(need, t, block, cards > 0);
		if (node->flags & SN_NODE_ABSENT)
			continue;
		if (node->cpus >= cpus && node->gres_tasks >= tasks &&
		    (!cards ||
		     (uint32_t)__builtin_popcountll(node->free) >= cards))
			continue;
		*ret_uneven = true;
		need->offer[t].flags |= SN_NODE_ABSENT;
	}
	return true;
}

bool need_any_nodes(struct need *need, uint32_t n, struct sn_place_request *ret)
{
	uint32_t t;

	if (!ask_nodes(need, n, 1, ret))
		return false;
	for (t = 0; t < model_topo()->n_nodes; t++)
		offer_block(need, t, 1, false);
	return true;
}

/* ---- by tasks ------------------------------------------------------------------ */

static uint32_t node_tasks(const struct need *need, const struct need_node *node)
{
	uint32_t n = node->cpus / need->cpus_per_task;
	uint16_t most = need->topo_eval->job_ptr->details->ntasks_per_node;

	if (most && most < n)
		n = most;
	return n < node->gres_tasks ? n : node->gres_tasks;
}

/* Nodes of many CPUs hold more tasks than the engine tells apart: then a rank
 * is several. Rounded so that what is found is always enough. */
static uint32_t tasks_per_rank(const struct need *need)
{
	uint32_t most = 1, t;

	for (t = 0; t < model_topo()->n_nodes; t++)
		if (!(need->node[t].flags & SN_NODE_ABSENT) &&
		    node_tasks(need, &need->node[t]) > most)
			most = node_tasks(need, &need->node[t]);
	if (most > need->tasks)
		most = need->tasks;
	return div_up(most, SN_CARDS_MAX);
}

static uint64_t first(uint32_t n)
{
	return n >= SN_CARDS_MAX ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

bool need_by_tasks(struct need *need, uint32_t n, struct sn_place_request *ret)
{
	bool cards = need->cards == NEED_CARDS_TASK ||
		need->cards == NEED_CARDS_JOB;
	uint32_t block = need->cards == NEED_CARDS_TASK ? need->n_cards : 1;
	uint32_t per_rank = cards ? 1 : tasks_per_rank(need);
	uint64_t world = need->cards == NEED_CARDS_JOB ? need->n_cards :
		(uint64_t)div_up(need->tasks, per_rank) * block;
	uint32_t t;

	if (!world || world > SN_WORLD_MAX || n > world / block ||
	    need->segment)
		return false;
	*ret = (struct sn_place_request){
		.world = (uint32_t)world,
		.node_block = block,
		.unit_block = block,
		.atom = block,
		.exact_nodes = n,
		.use_spare_nodes = true,
	};
	for (t = 0; t < model_topo()->n_nodes; t++) {
		const struct need_node *node = &need->node[t];
		uint32_t can = node_tasks(need, node) / per_rank;

		offer_block(need, t, can, cards);
		if (need->cards == NEED_CARDS_TASK)
			need->offer[t].max_ranks = can > SN_CARDS_MAX ?
				UINT32_MAX : can * block;
		else if (cards)
			need->offer[t].max_ranks = UINT32_MAX;
		else
			need->offer[t].cards = need->offer[t].free = first(can);
	}
	return true;
}

uint64_t need_card_count(const struct need *need)
{
	bool whole = need->topo_eval->job_ptr->details->whole_node &
		WHOLE_NODE_REQUIRED;

	if (whole)
		return (uint64_t)need->want * model_cards_per_node(NULL);
	switch (need->cards) {
	case NEED_CARDS_NODE:
		return (uint64_t)need->want * need->n_cards;
	case NEED_CARDS_TASK:
		return (uint64_t)need->tasks * need->n_cards;
	case NEED_CARDS_JOB:
		return need->n_cards;
	default:
		return 0;
	}
}
