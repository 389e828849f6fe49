/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolleft.c - what the pools of supernodes have, and what a job holds of them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/poolleft.h"
#include "topology/poolshare.h"

uint64_t sn_poolleft_memory(const struct sn_topo_supernode *sn, uint32_t there)
{
	if (!sn->has_pool || !sn->n_nodes)
		return 0;
	if (there >= sn->n_nodes)
		return sn->pool_memory;
	return (uint64_t)((unsigned __int128)sn->pool_memory * there /
			  sn->n_nodes);
}

void sn_poolleft_take(uint64_t *left, uint64_t what)
{
	if (*left != UINT64_MAX)
		*left -= what < *left ? what : *left;
}

/* ---- the ranks of a job in each supernode --------------------------------------- */

/* A node of the job; sorted, those of a supernode are together. */
struct held {
	struct sn_spares_node node;
	uint32_t i; /* in the caller's order */
};

struct counting {
	const struct sn_topo *topo;
	const struct sn_jobspec *spec;
	struct held *held; /* [n] */
	struct sn_spares_node *node; /* [n] the same, as sn_spares_find() wants them */
	uint32_t *ranks; /* [n] */
	uint32_t n;
};

/* What one supernode's part of the job can be running. */
struct range {
	uint32_t least, most;
};

static int by_topology(const void *a, const void *b)
{
	uint32_t x = ((const struct held *)a)->node.node;
	uint32_t y = ((const struct held *)b)->node.node;

	return (x > y) - (x < y);
}

static uint32_t supernode_of(const struct counting *c, uint32_t i)
{
	return c->topo->node[c->node[i].node].supernode;
}

static int sort(struct counting *c, const struct sn_spares_node *node,
		struct sn_err *err)
{
	for (uint32_t i = 0; i < c->n; i++)
		c->held[i] = (struct held){ node[i], i };
	qsort(c->held, c->n, sizeof(*c->held), by_topology);
	for (uint32_t i = 0; i < c->n; i++) {
		c->node[i] = c->held[i].node;
		if (c->node[i].node >= c->topo->n_nodes ||
		    (i && c->node[i].node == c->node[i - 1].node))
			return sn_err_set(err, -EINVAL,
					  "node number %u of the job is not in the topology, or twice in the job",
					  c->node[i].node);
	}
	return 0;
}

static void count_nodes(const struct counting *c, struct sn_poolleft_share *share)
{
	for (uint32_t i = 0; i < c->n; i++) {
		share[supernode_of(c, i)].ranks += c->ranks[i];
		share[supernode_of(c, i)].nodes += c->ranks[i] > 0;
	}
}

/* Of nodes first to end, all of one supernode: with `spares` of them idle, those
 * are of the fullest. */
static uint32_t most_ranks(const struct counting *c, uint32_t first,
			   uint32_t end, uint32_t spares)
{
	uint32_t atom = c->spec->layout.atom ? c->spec->layout.atom : 1;
	uint64_t cards = 0, most = 0;

	for (uint32_t i = first; i < end; i++) {
		cards += c->node[i].cards;
		if (c->node[i].cards > most)
			most = c->node[i].cards;
	}
	cards = cards > spares * most ? cards - spares * most : 0;
	return (uint32_t)(cards / atom * atom);
}

/* Nodes that run so many ranks: without as many of the fullest as may be idle. */
static uint32_t nodes_for(const struct counting *c, uint32_t first,
			  uint32_t end, uint32_t ranks)
{
	uint64_t cards = 0, most = 0;
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++) {
		cards += c->node[i].cards;
		n += c->node[i].cards > 0;
		if (c->node[i].cards > most)
			most = c->node[i].cards;
	}
	while (most && n > 1 && cards >= ranks + most) {
		cards -= most;
		n--;
	}
	return ranks ? n : 0;
}

static uint32_t end_of(const struct counting *c, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < c->n && supernode_of(c, end) == supernode_of(c, first))
		end++;
	return end;
}

/*
 * Nodes have been lost. A spare is there that took over for one of its own
 * supernode, so each supernode runs what it ran, as far as it can; the ranks of
 * the whole job bound what cannot be told apart.
 */
static void count_after_loss(const struct counting *c, const uint32_t *lost,
			     struct range *range, struct sn_poolleft_share *share)
{
	uint32_t world = c->spec->layout.world, spares = c->spec->spares;
	uint64_t least = 0;

	for (uint32_t i = 0, end; i < c->n; i = end) {
		uint32_t s = supernode_of(c, i);
		uint32_t left = !lost ? spares :
			lost[s] < spares ? spares - lost[s] : 0;

		end = end_of(c, i);
		range[s].least = most_ranks(c, i, end, left);
		range[s].most = lost ? range[s].least : most_ranks(c, i, end, 0);
		least += lost && lost[s] ? 0 : range[s].least;
	}
	for (uint32_t i = 0, end; i < c->n; i = end) {
		uint32_t s = supernode_of(c, i);
		uint64_t others = least - (lost && lost[s] ? 0 : range[s].least);
		uint64_t rest = world > others ? world - others : 0;

		end = end_of(c, i);
		share[s].ranks = range[s].most < rest ? range[s].most :
			(uint32_t)rest;
		share[s].nodes = nodes_for(c, i, end, share[s].ranks);
	}
}

static bool is_any_lost(const struct sn_topo *topo, const uint32_t *lost)
{
	for (uint32_t s = 0; lost && s < topo->n_supernodes; s++)
		if (lost[s])
			return true;
	return false;
}

static int count(struct counting *c, const uint32_t *lost,
		 struct sn_poolleft_share *share, bool *ret_lost,
		 struct sn_err *err)
{
	struct range *range = NULL;
	bool after = true;
	int rc = -ENOSPC;

	/* Without a layout, or without spares, a rank is a card. */
	if (c->spec->has_parallel && c->spec->spares) {
		rc = sn_spares_find(c->topo, &c->spec->layout, c->spec->spares,
				    c->node, c->n, c->ranks, &after, err);
		if (rc && rc != -ENOSPC)
			return rc;
		/* By chance what is left may look whole. */
		after |= is_any_lost(c->topo, lost);
	}
	if (rc)
		for (uint32_t i = 0; i < c->n; i++)
			c->ranks[i] = c->node[i].cards;
	if (ret_lost)
		*ret_lost = c->spec->spares && after;
	if (!c->spec->has_parallel || !c->spec->spares || !after) {
		count_nodes(c, share);
		return 0;
	}
	range = calloc((size_t)c->topo->n_supernodes + 1, sizeof(*range));
	if (!range)
		return -ENOMEM;
	count_after_loss(c, lost, range, share);
	free(range);
	return 0;
}

int sn_poolleft_job(const struct sn_topo *topo, const struct sn_jobspec *spec,
		    const struct sn_spares_node *node, uint32_t n_nodes,
		    const uint32_t *lost, struct sn_poolleft_share *share,
		    uint32_t *ret_ranks, bool *ret_lost, struct sn_err *err)
{
	struct counting c = {
		.topo = topo, .spec = spec, .n = n_nodes,
		.held = calloc((size_t)n_nodes + 1, sizeof(*c.held)),
		.node = calloc((size_t)n_nodes + 1, sizeof(*c.node)),
		.ranks = calloc((size_t)n_nodes + 1, sizeof(*c.ranks)),
	};
	uint64_t world = spec->layout.world;
	int rc = c.held && c.node && c.ranks ? 0 : -ENOMEM;

	memset(share, 0, topo->n_supernodes * sizeof(*share));
	if (!rc)
		rc = sort(&c, node, err);
	if (!rc)
		rc = count(&c, lost, share, ret_lost, err);
	if (!spec->has_parallel) {
		world = 0;
		for (uint32_t i = 0; i < n_nodes; i++)
			world += node[i].cards;
	}
	for (uint32_t s = 0; !rc && s < topo->n_supernodes; s++) {
		if (!share[s].ranks)
			continue;
		share[s].bytes = sn_poolshare_supernode(
			spec->pool.per, spec->pool.size, share[s].ranks,
			share[s].nodes, (uint32_t)world);
		share[s].bandwidth = sn_poolshare_supernode(
			spec->pool.per, spec->pool.bandwidth, share[s].ranks,
			share[s].nodes, (uint32_t)world);
	}
	for (uint32_t i = 0; !rc && ret_ranks && i < n_nodes; i++)
		ret_ranks[c.held[i].i] = c.ranks[i];
	if (rc == -ENOMEM)
		sn_err_set(err, rc, "no memory for %u nodes", n_nodes);
	free(c.held);
	free(c.node);
	free(c.ranks);
	return rc;
}
