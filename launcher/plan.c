/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.c - make a plan from a layout, a topology and what the job holds; put a
 * spare into a failed node's place.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/plan.h"
#include "topology/place.h"
#include "topology/rankmap.h"
#include "topology/spares.h"

/* As plain srun's tasks have it, see plugins/spank_supernode/taskenv.c: all of
 * the range is above Linux's ephemeral ports. */
#define PORT_FIRST 61000
#define PORTS 4536
#define PORT_RUN 577
#define PORT_GENERATION 1151

/* An offer in topology order. */
struct turn {
	const struct sn_plan_offer *offer;
	uint32_t topo_node;
	uint32_t ranks;
};

static int by_topology(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return (x->topo_node > y->topo_node) - (x->topo_node < y->topo_node);
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "not enough memory for the plan");
}

/* Fills turn, in topology order, and counts the cards. */
static int take_turns(const struct sn_topo *topo,
		      const struct sn_plan_offer *offer, uint32_t n,
		      struct turn *turn, uint64_t *ret_cards, struct sn_err *err)
{
	*ret_cards = 0;
	for (uint32_t i = 0; i < n; i++) {
		turn[i] = (struct turn){
			.offer = &offer[i],
			.topo_node = sn_topo_find_node(topo, offer[i].name),
			.ranks = offer[i].n_cards,
		};
		if (turn[i].topo_node == SN_NONE)
			return sn_err_set(err, -EINVAL,
					  "node %s is not in the topology",
					  offer[i].name);
		*ret_cards += offer[i].n_cards;
	}
	qsort(turn, n, sizeof(*turn), by_topology);
	for (uint32_t i = 1; i < n; i++)
		if (turn[i].topo_node == turn[i - 1].topo_node)
			return sn_err_set(err, -EINVAL,
					  "node %s is in the job twice",
					  turn[i].offer->name);
	return 0;
}

/* The job holds more cards than there are ranks: the one rule for spares says
 * which nodes stand by. */
static int choose(const struct sn_layout *l, uint32_t spares,
		  const struct sn_topo *topo, struct turn *turn, uint32_t n,
		  uint64_t cards, struct sn_err *err)
{
	struct sn_spares_node *node = calloc((size_t)n + 1, sizeof(*node));
	uint32_t *ranks = calloc((size_t)n + 1, sizeof(*ranks));
	uint32_t least = UINT32_MAX;
	int rc = node && ranks ? 0 : no_memory(err);

	for (uint32_t i = 0; !rc && i < n; i++) {
		node[i] = (struct sn_spares_node){ turn[i].topo_node, turn[i].ranks };
		if (turn[i].ranks && turn[i].ranks < least)
			least = turn[i].ranks;
		if (turn[i].ranks > SN_CARDS_MAX)
			rc = sn_err_set(err, -EINVAL,
					"the job holds %u cards of node %s and has more cards than ranks; which of them get ranks can be chosen for nodes of at most %d cards: ask for exactly %u cards",
					turn[i].ranks, turn[i].offer->name,
					SN_CARDS_MAX, l->world);
	}
	if (spares == SN_PLAN_MOST_SPARES)
		spares = (uint32_t)((cards - l->world) / least);
	if (!rc)
		rc = sn_spares_find(topo, l, spares, node, n, ranks, NULL, err);
	for (uint32_t i = 0; !rc && i < n; i++)
		turn[i].ranks = ranks[i];
	free(node);
	free(ranks);
	return rc;
}

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

static void node_done(struct sn_plan_node *node)
{
	free(node->name);
	free(node->address);
	free(node->origin);
	free(node->card);
}

static int add_node(struct sn_plan *plan, const struct sn_topo *topo,
		    const struct turn *turn, uint32_t *sn_of, struct sn_err *err)
{
	const struct sn_topo_node *from = &topo->node[turn->topo_node];
	const struct sn_plan_offer *offer = turn->offer;
	struct sn_plan_node *node = &plan->node[plan->n_nodes++];
	size_t size = (offer->n_cards ? offer->n_cards : 1) * sizeof(*node->card);

	if (sn_of[from->supernode] == SN_NONE) {
		plan->supernode[plan->n_supernodes] =
			copy(topo->supernode[from->supernode].name);
		if (!plan->supernode[plan->n_supernodes])
			return no_memory(err);
		sn_of[from->supernode] = plan->n_supernodes++;
	}
	*node = (struct sn_plan_node){
		.name = copy(offer->name),
		.address = copy(offer->address ? offer->address : offer->name),
		.supernode = sn_of[from->supernode],
		.unit = from->unit,
		.card = malloc(size),
		.n_cards = offer->n_cards,
		.ranks = turn->ranks,
	};
	if (!node->name || !node->address || !node->card)
		return no_memory(err);
	if (offer->n_cards)
		memcpy(node->card, offer->card,
		       offer->n_cards * sizeof(*node->card));
	return 0;
}

/* The nodes with ranks first, then the spares. */
static int add_nodes(struct sn_plan *plan, const struct sn_topo *topo,
		     const struct turn *turn, uint32_t n, struct sn_err *err)
{
	uint32_t *sn_of = malloc(((size_t)topo->n_supernodes + 1) *
				 sizeof(*sn_of));
	int rc = 0;

	plan->node = calloc((size_t)n + 1, sizeof(*plan->node));
	plan->supernode = calloc((size_t)n + 1, sizeof(*plan->supernode));
	if (!sn_of || !plan->node || !plan->supernode)
		rc = no_memory(err);
	for (uint32_t s = 0; !rc && s < topo->n_supernodes; s++)
		sn_of[s] = SN_NONE;
	for (int spare = 0; spare < 2; spare++)
		for (uint32_t i = 0; !rc && i < n; i++)
			if ((turn[i].ranks == 0) == spare)
				rc = add_node(plan, topo, &turn[i], sn_of, err);
	free(sn_of);
	return rc;
}

static uint32_t nodes_with_ranks(const struct sn_plan *plan)
{
	uint32_t n = 0;

	while (n < plan->n_nodes && plan->node[n].ranks)
		n++;
	return n;
}

static int map_ranks(struct sn_plan *plan, struct sn_err *err)
{
	uint32_t world = plan->layout.world, n = nodes_with_ranks(plan), at = 0;
	struct sn_rankmap_node *run = calloc((size_t)n + 1, sizeof(*run));
	struct sn_rankmap map = { 0 };
	int rc;

	plan->rank_card = calloc(world, sizeof(*plan->rank_card));
	plan->rank_at = calloc(world, sizeof(*plan->rank_at));
	if (!run || !plan->rank_card || !plan->rank_at) {
		free(run);
		return no_memory(err);
	}
	for (uint32_t i = 0; i < n; i++) {
		run[i] = (struct sn_rankmap_node){
			plan->node[i].supernode, plan->node[i].ranks,
			plan->node[i].unit,
		};
		plan->node[i].first = at;
		at += plan->node[i].ranks;
	}
	rc = sn_rankmap_build(&plan->layout, run, n, &map, err);
	free(run);
	if (rc)
		return sn_err_prefix(err, rc, "the job's cards cannot hold the layout whole: ");
	/* The plan now owns the map's arrays. */
	plan->rank_node = map.node;
	plan->rank_local = map.local;
	for (uint32_t r = 0; r < world; r++) {
		const struct sn_plan_node *node = &plan->node[map.node[r]];

		plan->rank_card[r] = node->card[map.local[r]];
		plan->rank_at[node->first + map.local[r]] = r;
	}
	return 0;
}

int sn_plan_build(const struct sn_layout *layout, uint32_t spares,
		  const struct sn_topo *topo, const struct sn_plan_offer *offer,
		  uint32_t n, struct sn_plan *ret, struct sn_err *err)
{
	struct turn *turn = calloc((size_t)n + 1, sizeof(*turn));
	struct sn_plan plan = { .layout = *layout };
	uint64_t cards;
	int rc;

	if (!turn)
		return no_memory(err);
	rc = take_turns(topo, offer, n, turn, &cards, err);
	if (!rc && cards < layout->world)
		rc = sn_err_set(err, -ENOSPC,
				"the job holds %llu card%s on %u node%s, but the layout has %u ranks (tp*cp*pp*dp = %u*%u*%u*%u), one card each",
				(unsigned long long)cards, cards == 1 ? "" : "s",
				n, n == 1 ? "" : "s", layout->world, layout->tp,
				layout->cp, layout->pp, layout->dp);
	if (!rc && cards > layout->world)
		rc = choose(layout, spares, topo, turn, n, cards, err);
	if (!rc)
		rc = add_nodes(&plan, topo, turn, n, err);
	if (!rc)
		rc = map_ranks(&plan, err);
	free(turn);
	if (rc)
		sn_plan_done(&plan);
	else
		*ret = plan;
	return rc;
}

uint32_t sn_plan_find_spare(const struct sn_plan *plan, uint32_t failed,
			    const bool *usable)
{
	const struct sn_plan_node *old = &plan->node[failed];
	/* Blocks larger than a node's reach over several nodes of a unit. */
	bool same_unit = plan->layout.unit_block > plan->layout.node_block;
	uint32_t best = SN_NONE;

	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *node = &plan->node[i];
		bool near = node->unit == old->unit && node->unit != SN_NONE;

		if (node->ranks || i == failed || !usable[i] ||
		    node->supernode != old->supernode ||
		    node->n_cards < old->ranks || (same_unit && !near))
			continue;
		if (near)
			return i;
		if (best == SN_NONE)
			best = i;
	}
	return best;
}

void sn_plan_drop(struct sn_plan *plan, uint32_t spare)
{
	node_done(&plan->node[spare]);
	plan->n_nodes--;
	memmove(&plan->node[spare], &plan->node[spare + 1],
		(plan->n_nodes - spare) * sizeof(*plan->node));
}

int sn_plan_swap(struct sn_plan *plan, uint32_t failed, uint32_t spare,
		 struct sn_err *err)
{
	struct sn_plan_node *old = &plan->node[failed];
	struct sn_plan_node *new = &plan->node[spare];

	if (!old->ranks || new->ranks || new->n_cards < old->ranks ||
	    new->supernode != old->supernode)
		return sn_err_set(err, -EINVAL,
				  "node %s with %u cards cannot take the place of node %s with %u ranks",
				  new->name, new->n_cards, old->name, old->ranks);
	/* Spares come last, so that the place itself does not move. */
	if (old->origin) {
		new->origin = old->origin;
		old->origin = NULL;
	} else {
		new->origin = old->name;
		old->name = NULL;
	}
	new->ranks = old->ranks;
	new->first = old->first;
	node_done(old);
	*old = *new;
	memset(new, 0, sizeof(*new));
	sn_plan_drop(plan, spare);
	for (uint32_t i = 0; i < old->ranks; i++)
		plan->rank_card[plan->rank_at[old->first + i]] = old->card[i];
	return 0;
}

uint16_t sn_plan_port(uint32_t job_id, uint32_t run, uint32_t generation)
{
	return (uint16_t)(PORT_FIRST +
			  ((uint64_t)job_id + (uint64_t)run * PORT_RUN +
			   (uint64_t)generation * PORT_GENERATION) % PORTS);
}

void sn_plan_done(struct sn_plan *plan)
{
	for (uint32_t i = 0; plan->node && i < plan->n_nodes; i++)
		node_done(&plan->node[i]);
	for (uint32_t i = 0; plan->supernode && i < plan->n_supernodes; i++)
		free(plan->supernode[i]);
	free(plan->node);
	free(plan->supernode);
	free(plan->rank_node);
	free(plan->rank_local);
	free(plan->rank_card);
	free(plan->rank_at);
	memset(plan, 0, sizeof(*plan));
}
