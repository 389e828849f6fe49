/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oracle.c - legality, score and exhaustive search, from the contract.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

typedef unsigned __int128 u128;

static bool no(char *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool no(char *why, const char *fmt, ...)
{
	va_list ap;

	if (why) {
		va_start(ap, fmt);
		vsnprintf(why, ORACLE_WHY, fmt, ap);
		va_end(ap);
	}
	return false;
}

static bool offered(const struct sn_place_node *node)
{
	return !(node->flags & SN_NODE_ABSENT);
}

static bool wholly_free(const struct sn_place_node *node)
{
	return node->cards && node->free == node->cards;
}

/* A node that SpareNodes may hold, whoever asks. A late one is not at hand. */
static bool may_stand_by(const struct sn_place_node *node)
{
	if (!offered(node))
		return node->flags & SN_NODE_STANDBY;
	return wholly_free(node) &&
		!(node->flags & (SN_NODE_LATE | SN_NODE_PARTLY));
}

/* "SpareNodes holds back the last healthy wholly free nodes of a supernode in
 * the file's order." */
static void hold_back(struct oracle *o)
{
	const struct sn_topo *topo = o->topo;
	uint32_t s, i, keep;

	if (o->request->use_spare_nodes)
		return;
	for (s = 0; s < topo->n_supernodes; s++) {
		keep = topo->supernode[s].spare_nodes;
		for (i = topo->supernode[s].n_nodes; i-- > 0 && keep > 0;) {
			uint32_t n = topo->supernode[s].first_node + i;

			if (may_stand_by(&o->state->node[n])) {
				o->held[n] = true;
				keep--;
			}
		}
	}
}

static bool draws(const struct oracle *o, uint32_t i)
{
	return o->state->node[i].flags & SN_NODE_DRAWS;
}

/* "keep_idle of its nodes must run no job": those that draw already do not
 * count. */
static void find_power(struct oracle *o)
{
	uint32_t s, i;

	for (s = 0; s < o->topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &o->topo->supernode[s];
		uint32_t keep = o->state->supernode ?
				o->state->supernode[s].keep_idle : 0;
		uint32_t still = 0, of_use = 0;

		for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
			still += !draws(o, i);
			of_use += !draws(o, i) && o->room[i];
		}
		o->may_begin[s] = still > keep ? still - keep : 0;
		if (keep && of_use > o->may_begin[s])
			o->power = true;
		if (!keep)
			o->may_begin[s] = sn->n_nodes;
	}
}

/* Whether the nodes of some unit are not one run. */
static bool units_take_turns(struct oracle *o)
{
	uint32_t i, unit, before = SN_NONE;
	bool turns = false;

	for (i = 0; i < o->topo->n_nodes; i++, before = unit) {
		unit = o->topo->node[i].unit;
		if (unit != SN_NONE && unit != before && o->unit_ranks[unit]++)
			turns = true;
	}
	memset(o->unit_ranks, 0, o->topo->n_units * sizeof(*o->unit_ranks));
	return turns;
}

int oracle_init(struct oracle *o, const struct sn_topo *topo,
		const struct sn_place_state *state,
		const struct sn_place_request *request)
{
	uint32_t i;

	memset(o, 0, sizeof(*o));
	o->topo = topo;
	o->state = state;
	o->request = request;
	o->cap = calloc(topo->n_nodes + 1, sizeof(*o->cap));
	o->room = calloc(topo->n_nodes + 1, sizeof(*o->room));
	o->free = calloc(topo->n_nodes + 1, sizeof(*o->free));
	o->held = calloc(topo->n_nodes + 1, sizeof(*o->held));
	o->may_begin = calloc(topo->n_supernodes + 1, sizeof(*o->may_begin));
	o->unit_ranks = calloc(topo->n_units + 1, sizeof(*o->unit_ranks));
	o->fabric_seen = calloc(topo->n_fabrics + 1, sizeof(*o->fabric_seen));
	if (!o->cap || !o->room || !o->free || !o->held || !o->may_begin || !o->unit_ranks ||
	    !o->fabric_seen) {
		oracle_done(o);
		return -ENOMEM;
	}
	hold_back(o);
	o->turns = units_take_turns(o);
	for (i = 0; i < topo->n_nodes; i++) {
		const struct sn_place_node *node = &state->node[i];

		if (!offered(node))
			continue;
		o->free[i] = (uint32_t)__builtin_popcountll(node->free);
		if (o->held[i] || (request->whole_nodes && !wholly_free(node)))
			continue;
		o->room[i] = o->free[i] < node->max_ranks ? o->free[i] :
							     node->max_ranks;
		o->cap[i] = o->room[i] - o->room[i] % request->node_block;
	}
	find_power(o);
	return 0;
}

void oracle_done(struct oracle *o)
{
	free(o->cap);
	free(o->room);
	free(o->free);
	free(o->held);
	free(o->may_begin);
	free(o->unit_ranks);
	free(o->fabric_seen);
	memset(o, 0, sizeof(*o));
}

static bool pool_fits(const struct oracle *o, uint64_t want, uint64_t have,
		      uint32_t ranks, uint32_t nodes)
{
	if (have == UINT64_MAX)
		return true;
	switch (o->request->pool.per) {
	case SN_POOL_NAMED: /* the region exists already: no size is wanted */
	case SN_POOL_TOTAL:
		return (u128)want * ranks <= (u128)have * o->request->world;
	case SN_POOL_SUPERNODE:
		return want <= have;
	case SN_POOL_NODE:
		return (u128)want * nodes <= have;
	case SN_POOL_CARD:
		return (u128)want * ranks <= have;
	default: /* none wanted */
		return true;
	}
}

static bool units_whole(struct oracle *o, uint32_t first, uint32_t n,
			const uint32_t *ranks)
{
	uint32_t i, unit, block = o->request->unit_block;
	bool whole = true;

	for (i = first; i < first + n; i++) {
		unit = o->topo->node[i].unit;
		if (unit == SN_NONE)
			whole = whole && ranks[i] % block == 0;
		else
			o->unit_ranks[unit] += ranks[i];
	}
	for (i = first; i < first + n; i++) {
		unit = o->topo->node[i].unit;
		if (unit != SN_NONE)
			whole = whole && o->unit_ranks[unit] % block == 0;
	}
	for (i = first; i < first + n; i++)
		if (o->topo->node[i].unit != SN_NONE)
			o->unit_ranks[o->topo->node[i].unit] = 0;
	return whole;
}

uint32_t oracle_kind(const struct sn_place_node *node)
{
	return (node->flags & SN_NODE_LATE ? ORACLE_LATE : 0) |
	       (node->flags & SN_NODE_DEGRADED ? ORACLE_DEGRADED : 0);
}

/* Whether a supernode that runs most ranks on its fullest node has its spares
 * among the nodes that are nothing but what `parts` says, and power for all. */
bool oracle_spares_fit(const struct oracle *o, uint32_t s,
		       const uint32_t *ranks, uint32_t most, uint32_t parts)
{
	const struct sn_topo_supernode *sn = &o->topo->supernode[s];
	uint32_t i, drawing = 0, fresh = 0, begun = 0;

	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
		if (ranks[i])
			begun += !draws(o, i);
		else if (o->room[i] < most ||
			 oracle_kind(&o->state->node[i]) & ~parts)
			continue;
		else if (draws(o, i))
			drawing++;
		else
			fresh++;
	}
	if (begun > o->may_begin[s])
		return false;
	if (fresh > o->may_begin[s] - begun)
		fresh = o->may_begin[s] - begun;
	return drawing + fresh >= o->request->spares;
}

static bool supernode_legal(struct oracle *o, uint32_t s, const uint32_t *ranks,
			    char *why)
{
	const struct sn_topo_supernode *sn = &o->topo->supernode[s];
	const struct sn_place_request *request = o->request;
	uint32_t i, sum = 0, nodes = 0, most = 0;

	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
		if (ranks[i] > o->cap[i])
			return no(why, "%s runs %u ranks, at most %u are legal",
				  o->topo->node[i].name, ranks[i], o->cap[i]);
		if (ranks[i] % request->node_block)
			return no(why, "%s splits a node block",
				  o->topo->node[i].name);
		sum += ranks[i];
		nodes += !!ranks[i];
		most = ranks[i] > most ? ranks[i] : most;
	}
	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
		if (!ranks[i] && o->state->node[i].flags & SN_NODE_REQUIRED)
			return no(why, "%s is required, and unused",
				  o->topo->node[i].name);
	if (!sum)
		return true;
	if (sum % request->atom)
		return no(why, "%s splits an atom", sn->name);
	if (!units_whole(o, sn->first_node, sn->n_nodes, ranks))
		return no(why, "%s splits a unit block", sn->name);
	if (!oracle_spares_fit(o, s, ranks, most, ORACLE_LATE | ORACLE_DEGRADED))
		return no(why, "%s has too few spares or too little power",
			  sn->name);
	if (o->state->supernode &&
	    (!pool_fits(o, request->pool.per == SN_POOL_NAMED ? 0 :
			request->pool.size, o->state->supernode[s].pool_free,
			sum, nodes) ||
	     !pool_fits(o, request->pool.bandwidth,
			o->state->supernode[s].bandwidth_free, sum, nodes)))
		return no(why, "%s has too little pool", sn->name);
	return true;
}

static bool whole_legal(struct oracle *o, const uint32_t *ranks, char *why)
{
	uint32_t i, nodes = 0;
	uint64_t sum = 0;

	for (i = 0; i < o->topo->n_nodes; i++) {
		sum += ranks[i];
		nodes += !!ranks[i];
	}
	if (sum != o->request->world)
		return no(why, "%llu ranks are placed", (unsigned long long)sum);
	if (o->request->exact_nodes && nodes != o->request->exact_nodes)
		return no(why, "%u nodes are used, not %u", nodes,
			  o->request->exact_nodes);
	return true;
}

bool oracle_legal(struct oracle *o, const uint32_t *ranks, char *why)
{
	uint32_t s;

	for (s = 0; s < o->topo->n_supernodes; s++)
		if (!supernode_legal(o, s, ranks, why))
			return false;
	return whole_legal(o, ranks, why);
}

double oracle_effort(const struct oracle *o)
{
	double effort = 1;
	uint32_t i;

	for (i = 0; i < o->topo->n_nodes; i++)
		effort *= o->cap[i] / o->request->node_block + 1;
	return effort;
}

struct search {
	struct oracle *o;
	uint64_t *after; /* [n_nodes + 1] what nodes i.. can run in all */
	uint32_t *ranks; /* [n_nodes] the assignment being tried */
	uint32_t *best; /* [n_nodes], the caller's */
	struct oracle_key *best_key;
	bool found;
};

static void consider(struct search *search)
{
	struct oracle_key key;
	int cmp = -1;

	if (!whole_legal(search->o, search->ranks, NULL))
		return;
	oracle_key(search->o, search->ranks, &key);
	if (search->found)
		cmp = oracle_key_cmp(&key, search->best_key);
	if (search->found && !cmp)
		cmp = oracle_first_cmp(search->o, search->ranks, search->best);
	if (cmp >= 0)
		return;
	search->found = true;
	*search->best_key = key;
	memcpy(search->best, search->ranks,
	       search->o->topo->n_nodes * sizeof(*search->best));
}

/* Every number of blocks on node i and those after it. The only cuts: more
 * ranks than what is left to place or can still be placed, and a supernode
 * that is complete and illegal. */
static void try_from(struct search *search, uint32_t i, uint32_t left)
{
	const struct sn_topo *topo = search->o->topo;
	const struct sn_topo_supernode *sn;
	uint32_t r, s;

	if (i == topo->n_nodes) {
		consider(search);
		return;
	}
	if (left > search->after[i])
		return;
	s = topo->node[i].supernode;
	sn = &topo->supernode[s];
	for (r = 0; r <= search->o->cap[i] && r <= left;
	     r += search->o->request->node_block) {
		search->ranks[i] = r;
		if (i + 1 < sn->first_node + sn->n_nodes ||
		    supernode_legal(search->o, s, search->ranks, NULL))
			try_from(search, i + 1, left - r);
	}
	search->ranks[i] = 0;
}

bool oracle_search(struct oracle *o, uint32_t *ranks, struct oracle_key *ret)
{
	uint32_t i, n = o->topo->n_nodes;
	struct search search = { .o = o, .best = ranks, .best_key = ret };

	search.after = calloc(n + 1, sizeof(*search.after));
	search.ranks = calloc(n + 1, sizeof(*search.ranks));
	if (search.after && search.ranks) {
		for (i = n; i-- > 0;)
			search.after[i] = search.after[i + 1] + o->cap[i];
		try_from(&search, 0, o->request->world);
	}
	free(search.after);
	free(search.ranks);
	return search.found;
}
