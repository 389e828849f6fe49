/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oraclekey.c - how good an assignment is.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

/* Adds supernode s to the distinct fabrics of each level, roots first. Where
 * its chain has ended it stands for itself. */
static void count_fabrics(struct oracle *o, uint32_t s, uint64_t *count)
{
	uint32_t f, level, length = 0;

	for (f = o->topo->supernode[s].fabric; f != SN_NONE;
	     f = o->topo->fabric[f].parent)
		length++;
	level = length;
	for (f = o->topo->supernode[s].fabric; f != SN_NONE;
	     f = o->topo->fabric[f].parent) {
		level--;
		if (!o->fabric_seen[f])
			count[level]++;
		o->fabric_seen[f] = true;
	}
	for (level = length; level < o->topo->fabric_levels; level++)
		count[level]++;
}

void oracle_key(struct oracle *o, const uint32_t *ranks, struct oracle_key *ret)
{
	const struct sn_topo *topo = o->topo;
	uint64_t units = 0, nodes = 0, weight = 0, left_sn = 0, left_nodes = 0;
	uint64_t late = 0, degraded = 0, *fabrics = ret->v + 2;
	uint32_t s, i, unit, most, parts, can = 0xf; /* bit p: with parts p */

	memset(ret, 0, sizeof(*ret));
	for (s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		uint64_t left = 0;

		most = 0;
		for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
			left += o->free[i] - ranks[i];
			if (!ranks[i])
				continue;
			most = ranks[i] > most ? ranks[i] : most;
			nodes++;
			weight += o->state->node[i].weight;
			left_nodes += o->free[i] - ranks[i];
			late += !!(o->state->node[i].flags & SN_NODE_LATE);
			degraded += !!(o->state->node[i].flags &
				       SN_NODE_DEGRADED);
			for (parts = 0; parts < 4; parts++)
				if (oracle_kind(&o->state->node[i]) & ~parts)
					can &= ~(1u << parts);
			unit = topo->node[i].unit;
			if (unit == SN_NONE || !o->unit_ranks[unit]++)
				units++;
		}
		if (!most)
			continue;
		ret->v[1]++;
		left_sn += left;
		count_fabrics(o, s, fabrics);
		for (parts = 0; parts < 4; parts++)
			if (!oracle_spares_fit(o, s, ranks, most, parts))
				can &= ~(1u << parts);
	}
	/* Late nodes rather than degraded ones. */
	while (!(can >> ret->v[0] & 1))
		ret->v[0]++;
	memset(o->unit_ranks, 0, topo->n_units * sizeof(*o->unit_ranks));
	memset(o->fabric_seen, 0, topo->n_fabrics * sizeof(*o->fabric_seen));
	ret->n_firm = ret->n = 2 + topo->fabric_levels;
	ret->v[ret->n++] = topo->n_units ? units : 0;
	ret->v[ret->n++] = nodes;
	ret->v[ret->n++] = degraded;
	ret->v[ret->n++] = late;
	ret->v[ret->n++] = weight;
	ret->v[ret->n++] = left_sn;
	ret->v[ret->n++] = left_nodes;
}

void oracle_key_of_score(const struct sn_score *score, uint32_t parts,
			 uint32_t late, struct oracle_key *ret)
{
	uint32_t i;

	memset(ret, 0, sizeof(*ret));
	ret->v[ret->n++] = parts;
	ret->v[ret->n++] = score->supernodes;
	for (i = 0; i < score->n_levels && i < ORACLE_LEVELS; i++)
		ret->v[ret->n++] = score->fabrics[i];
	ret->n_firm = ret->n;
	ret->v[ret->n++] = score->units;
	ret->v[ret->n++] = score->nodes;
	ret->v[ret->n++] = score->degraded;
	ret->v[ret->n++] = late;
	ret->v[ret->n++] = score->weight;
	ret->v[ret->n++] = score->left_in_supernodes;
	ret->v[ret->n++] = score->left_in_nodes;
}

int oracle_key_cmp(const struct oracle_key *a, const struct oracle_key *b)
{
	uint32_t i;

	for (i = 0; i < a->n && i < b->n; i++)
		if (a->v[i] != b->v[i])
			return a->v[i] < b->v[i] ? -1 : 1;
	return 0;
}

static uint64_t supernode_ranks(const struct oracle *o, uint32_t s,
				const uint32_t *ranks)
{
	const struct sn_topo_supernode *sn = &o->topo->supernode[s];
	uint64_t sum = 0;
	uint32_t i;

	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
		sum += ranks[i];
	return sum;
}

/* Equal keys mean lists of equal length, so the first place where one list has
 * an element that the other skips decides. */
int oracle_first_cmp(const struct oracle *o, const uint32_t *a,
		     const uint32_t *b)
{
	uint64_t x, y;
	uint32_t i;

	for (i = 0; i < o->topo->n_supernodes; i++) {
		x = supernode_ranks(o, i, a);
		y = supernode_ranks(o, i, b);
		if (!x != !y)
			return x ? -1 : 1;
	}
	for (i = 0; i < o->topo->n_supernodes; i++) {
		x = supernode_ranks(o, i, a);
		y = supernode_ranks(o, i, b);
		if (x != y)
			return x > y ? -1 : 1;
	}
	for (i = 0; i < o->topo->n_nodes; i++)
		if (!a[i] != !b[i])
			return a[i] ? -1 : 1;
	/* place.h: ranks fill the nodes in order, each as far as it can. Spares
	 * and -N bend that, and units that take turns have an order of their
	 * own. */
	if (o->request->exact_nodes || o->request->spares ||
	    (o->turns && o->request->unit_block > o->request->node_block))
		return 0;
	for (i = 0; i < o->topo->n_nodes; i++)
		if (a[i] != b[i])
			return a[i] > b[i] ? -1 : 1;
	return 0;
}
