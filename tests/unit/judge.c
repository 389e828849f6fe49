/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.c - checks of a given placement and rank map, at any size (oracle.h).
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static int object(char *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int object(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, ORACLE_WHY, fmt, ap);
	va_end(ap);
	return -1;
}

/* The nodes of supernode entry k; adds its ranks to ranks[]. */
static int check_slice(struct oracle *o, const struct sn_placement *p,
		       uint32_t k, uint32_t *ranks, char *why)
{
	const struct sn_placed_supernode *ps = &p->supernode[k];
	const struct sn_topo_supernode *sn;
	uint64_t sum = 0, free_cards = 0;
	uint32_t i;

	if (ps->supernode >= o->topo->n_supernodes ||
	    (k && ps->supernode <= p->supernode[k - 1].supernode))
		return object(why, "supernode entry %u is %u: out of order", k,
			      ps->supernode);
	sn = &o->topo->supernode[ps->supernode];
	if (!ps->n || ps->first != (k ? ps[-1].first + ps[-1].n : 0) ||
	    ps->first + ps->n > p->n_nodes)
		return object(why, "%s has slice %u+%u of %u nodes", sn->name,
			      ps->first, ps->n, p->n_nodes);
	for (i = ps->first; i < ps->first + ps->n; i++) {
		uint32_t node = p->node[i].node;

		if (node >= o->topo->n_nodes ||
		    (i && node <= p->node[i - 1].node))
			return object(why, "node entry %u is %u: out of order",
				      i, node);
		if (o->topo->node[node].supernode != ps->supernode)
			return object(why, "%s is not in %s",
				      o->topo->node[node].name, sn->name);
		if (!p->node[i].ranks)
			return object(why, "%s runs no rank",
				      o->topo->node[node].name);
		ranks[node] = p->node[i].ranks;
		sum += p->node[i].ranks;
	}
	if (!ps->atoms || sum != (uint64_t)ps->atoms * o->request->atom)
		return object(why, "%s has %u atoms in %llu ranks", sn->name,
			      ps->atoms, (unsigned long long)sum);
	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
		free_cards += o->free[i];
	if (ps->left_free != free_cards - sum)
		return object(why, "%s leaves %llu, it says %llu", sn->name,
			      (unsigned long long)(free_cards - sum),
			      (unsigned long long)ps->left_free);
	return 0;
}

/* Where not all may draw power, which spares is left open: as many as wanted,
 * each of them able to stand in, and power for all. */
static int check_powered_spares(struct oracle *o, const struct sn_placement *p,
				uint32_t k, const uint32_t *ranks, uint32_t most,
				uint32_t *next, uint32_t parts, char *why)
{
	const struct sn_placed_supernode *ps = &p->supernode[k];
	uint32_t i, want = o->request->spares, begun = 0;

	for (i = ps->first; i < ps->first + ps->n; i++)
		begun += !(o->state->node[p->node[i].node].flags & SN_NODE_DRAWS);
	for (; want; want--, ++*next) {
		uint32_t node = *next < p->n_spares ? p->spare[*next].node : 0;

		if (*next >= p->n_spares ||
		    o->topo->node[node].supernode != ps->supernode ||
		    (*next && node <= p->spare[*next - 1].node) ||
		    ranks[node] || o->room[node] < most ||
		    p->spare[*next].cards != most ||
		    oracle_kind(&o->state->node[node]) & ~parts)
			return object(why, "spare %u of the answer is none", *next);
		begun += !(o->state->node[node].flags & SN_NODE_DRAWS);
	}
	if (begun > o->may_begin[ps->supernode])
		return object(why, "%u nodes begin to draw power, %u may", begun,
			      o->may_begin[ps->supernode]);
	return 0;
}

/* The spares a supernode should have: the first nodes that could stand in for
 * its fullest one and are nothing but what `parts` says, the late ones after the
 * others, then the degraded ones. */
static int check_spares_of(struct oracle *o, const struct sn_placement *p,
			   uint32_t k, const uint32_t *ranks, uint32_t *next,
			   uint32_t parts, char *why)
{
	const struct sn_placed_supernode *ps = &p->supernode[k];
	const struct sn_topo_supernode *sn = &o->topo->supernode[ps->supernode];
	uint32_t i, kind, most = 0, has[4] = { 0 }, left[4], want;

	for (i = ps->first; i < ps->first + ps->n; i++)
		if (p->node[i].ranks > most)
			most = p->node[i].ranks;
	want = o->request->spares;
	if (o->power)
		return check_powered_spares(o, p, k, ranks, most, next, parts,
					    why);
	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
		if (!ranks[i] && o->room[i] >= most)
			has[oracle_kind(&o->state->node[i])]++;
	for (kind = 0; kind < 4; kind++) {
		left[kind] = kind & ~parts ? 0 :
			     has[kind] < want ? has[kind] : want;
		want -= left[kind];
	}
	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++) {
		kind = oracle_kind(&o->state->node[i]);
		if (ranks[i] || o->room[i] < most || !left[kind])
			continue;
		left[kind]--;
		if (*next >= p->n_spares || p->spare[*next].node != i)
			return object(why, "spare %u of the answer should be %s",
				      *next, o->topo->node[i].name);
		if (p->spare[*next].cards != most)
			return object(why, "spare %s has %u cards, the job "
				      "takes %u", o->topo->node[i].name,
				      p->spare[*next].cards, most);
		++*next;
	}
	return 0;
}

int oracle_check_placement(struct oracle *o, const struct sn_placement *p,
			   uint32_t *ret_ranks, char *why)
{
	struct oracle_key mine, theirs;
	uint32_t i, k, used = 0, spares = 0, late = 0, parts = 0;

	memset(ret_ranks, 0, o->topo->n_nodes * sizeof(*ret_ranks));
	for (k = 0; k < p->n_supernodes; k++) {
		if (check_slice(o, p, k, ret_ranks, why))
			return -1;
		used += p->supernode[k].n;
	}
	if (used != p->n_nodes)
		return object(why, "%u nodes are in no slice",
			      p->n_nodes - used);
	if (!oracle_legal(o, ret_ranks, why))
		return -1;
	oracle_key(o, ret_ranks, &mine);
	for (i = 0; i < p->n_nodes; i++) {
		const struct sn_place_node *node =
			&o->state->node[p->node[i].node];

		late += !!(node->flags & SN_NODE_LATE);
		parts |= oracle_kind(node);
	}
	for (i = 0; i < p->n_spares; i++)
		if (p->spare[i].node < o->topo->n_nodes)
			parts |= oracle_kind(&o->state->node[p->spare[i].node]);
	for (k = 0; k < p->n_supernodes; k++)
		if (check_spares_of(o, p, k, ret_ranks, &spares,
				    (uint32_t)mine.v[0], why))
			return -1;
	if (spares != p->n_spares)
		return object(why, "%u spares, not %u", p->n_spares, spares);
	if (p->score.n_levels != o->topo->fabric_levels)
		return object(why, "score has %u fabric levels, not %u",
			      p->score.n_levels, o->topo->fabric_levels);
	oracle_key_of_score(&p->score, parts, late, &theirs);
	for (i = 0; i < mine.n; i++)
		if (mine.v[i] != theirs.v[i])
			return object(why, "number %u of the score is %llu, it "
				      "should be %llu (late and degraded, "
				      "supernodes, %u fabric levels, units, nodes, "
				      "degraded ones, late ones, weight, left, "
				      "left in nodes)", i,
				      (unsigned long long)theirs.v[i],
				      (unsigned long long)mine.v[i],
				      o->topo->fabric_levels);
	return 0;
}

uint32_t oracle_group(const struct sn_layout *layout, enum oracle_axis axis,
		      uint32_t rank)
{
	/* Of both orders: rank = tp + TP·(cp + CP·…) = etp + ETP·(ep + EP·…) */
	switch (axis) {
	case ORACLE_TP:
		return rank - rank % layout->tp;
	case ORACLE_CP:
		return rank - rank / layout->tp % layout->cp * layout->tp;
	case ORACLE_EP:
		return rank - rank / layout->etp % layout->ep * layout->etp;
	default:
		return rank - rank % layout->etp;
	}
}

enum sn_domain oracle_within(const struct sn_layout *layout,
			     enum oracle_axis axis)
{
	switch (axis) {
	case ORACLE_TP:
		return layout->tp_within;
	case ORACLE_CP:
		return layout->cp_within;
	case ORACLE_EP:
		return layout->ep_within;
	default:
		return layout->etp_within;
	}
}

void oracle_blocks(const struct sn_layout *layout, enum sn_domain domain,
		   uint32_t *block)
{
	uint32_t rank, low, *first;
	enum oracle_axis axis;
	bool changed = true;

	for (rank = 0; rank < layout->world; rank++)
		block[rank] = rank;
	/* Lower each rank's label to its group's lowest until nothing moves. */
	while (changed) {
		changed = false;
		for (axis = 0; axis < ORACLE_AXES; axis++) {
			if (oracle_within(layout, axis) > domain)
				continue;
			for (rank = 0; rank < layout->world; rank++) {
				first = &block[oracle_group(layout, axis, rank)];
				if (block[rank] < *first) {
					*first = block[rank];
					changed = true;
				}
			}
			for (rank = 0; rank < layout->world; rank++) {
				low = block[oracle_group(layout, axis, rank)];
				if (low < block[rank]) {
					block[rank] = low;
					changed = true;
				}
			}
		}
	}
}

/* One number for each domain of a kind; a node outside units is one itself. */
static uint32_t domain_of(const struct sn_topo *topo, enum sn_domain domain,
			  uint32_t node)
{
	switch (domain) {
	case SN_IN_NODE:
		return node;
	case SN_IN_UNIT:
		return topo->node[node].unit == SN_NONE ?
			       topo->n_units + node : topo->node[node].unit;
	case SN_IN_SUPERNODE:
		return topo->node[node].supernode;
	default:
		return 0;
	}
}

static int check_groups(const struct oracle *o, const struct sn_layout *layout,
			const struct sn_placement *p,
			const struct sn_rankmap *map, char *why)
{
	static const char *const name[] = { "tp", "cp", "ep", "etp" };
	enum oracle_axis axis;
	uint32_t rank, first;

	for (axis = 0; axis < ORACLE_AXES; axis++) {
		enum sn_domain domain = oracle_within(layout, axis);

		for (rank = 0; rank < layout->world; rank++) {
			uint32_t a, b;

			first = oracle_group(layout, axis, rank);
			a = p->node[map->node[first]].node;
			b = p->node[map->node[rank]].node;
			if (domain_of(o->topo, domain, a) !=
			    domain_of(o->topo, domain, b))
				return object(why, "ranks %u on %s and %u on %s "
					      "of one %s group", first,
					      o->topo->node[a].name, rank,
					      o->topo->node[b].name, name[axis]);
		}
	}
	return 0;
}

/* Every rank has a card, no card two: local is 0 .. ranks-1 on every node,
 * growing with the rank, and stands for the local-th free card. */
static int check_cards(const struct oracle *o, const struct sn_placement *p,
		       const struct sn_rankmap *map, char *why)
{
	uint32_t rank, at, *next = calloc(p->n_nodes + 1, sizeof(*next));
	int rc = 0;

	for (rank = 0; rank < map->world && !rc; rank++) {
		at = map->node[rank];
		if (at >= p->n_nodes)
			rc = object(why, "rank %u is on node entry %u of %u",
				    rank, at, p->n_nodes);
		else if (map->local[rank] != next[at]++)
			rc = object(why, "rank %u is number %u on %s, not %u",
				    rank, map->local[rank],
				    o->topo->node[p->node[at].node].name,
				    next[at] - 1);
	}
	for (at = 0; at < p->n_nodes && !rc; at++)
		if (next[at] != p->node[at].ranks ||
		    next[at] > o->free[p->node[at].node])
			rc = object(why, "%s runs %u ranks, %u were placed",
				    o->topo->node[p->node[at].node].name,
				    next[at], p->node[at].ranks);
	free(next);
	return rc;
}

struct turn { uint32_t atom, unit, node, rank; };

static int turn_cmp(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->atom != y->atom)
		return x->atom < y->atom ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The nodes in the order of filling: as they stand, but where blocks are bound
 * to units, each unit's nodes follow its first one. */
static uint32_t *filling_order(const struct oracle *o,
			       const struct sn_layout *layout,
			       const struct sn_placement *p)
{
	uint32_t *order = calloc(p->n_nodes + 1, sizeof(*order));
	bool *taken = calloc(p->n_nodes + 1, sizeof(*taken));
	uint32_t i, j, n = 0;

	for (i = 0; i < p->n_nodes; i++) {
		const struct sn_topo_node *first = &o->topo->node[p->node[i].node];

		for (j = i; j < p->n_nodes; j++) {
			const struct sn_topo_node *node =
				&o->topo->node[p->node[j].node];

			if (taken[j] || node->supernode != first->supernode ||
			    (j > i && (layout->unit_block <= layout->node_block ||
				       first->unit == SN_NONE ||
				       node->unit != first->unit)))
				continue;
			taken[j] = true;
			order[n++] = j;
		}
	}
	free(taken);
	return order;
}

/* Atoms in rank order, inside one the unit blocks and inside those the node
 * blocks, each by its lowest rank, fill the nodes in order. */
static int check_filling(const struct oracle *o,
			 const struct sn_layout *layout,
			 const struct sn_placement *p,
			 const struct sn_rankmap *map, char *why)
{
	uint32_t world = layout->world, i, k = 0, used = 0;
	struct turn *turn = calloc(world, sizeof(*turn));
	uint32_t *block = calloc(world, sizeof(*block));
	uint32_t *order = filling_order(o, layout, p);
	int rc = 0;

	oracle_blocks(layout, SN_IN_SUPERNODE, block);
	for (i = 0; i < world; i++)
		turn[i] = (struct turn){ .atom = block[i], .rank = i };
	oracle_blocks(layout, SN_IN_UNIT, block);
	for (i = 0; i < world; i++)
		turn[i].unit = block[i];
	oracle_blocks(layout, SN_IN_NODE, block);
	for (i = 0; i < world; i++)
		turn[i].node = block[i];
	qsort(turn, world, sizeof(*turn), turn_cmp);
	for (i = 0; i < world && !rc; i++) {
		if (used == p->node[order[k]].ranks) {
			k++;
			used = 0;
		}
		used++;
		if (map->node[turn[i].rank] != order[k])
			rc = object(why, "rank %u is on %s; filling in order, "
				    "it belongs on %s", turn[i].rank,
				    o->topo->node[p->node[map->node[turn[i].rank]].node].name,
				    o->topo->node[p->node[order[k]].node].name);
	}
	free(turn);
	free(block);
	free(order);
	return rc;
}

int oracle_check_rankmap(struct oracle *o, const struct sn_layout *layout,
			 const struct sn_placement *p,
			 const struct sn_rankmap *map, char *why)
{
	if (map->world != layout->world)
		return object(why, "the map has %u ranks of %u", map->world,
			      layout->world);
	if (check_cards(o, p, map, why) ||
	    check_groups(o, layout, p, map, why))
		return -1;
	/* map=auto may permute atoms: being legal is all that it promises. */
	if (layout->map == SN_MAP_AUTO)
		return 0;
	return check_filling(o, layout, p, map, why);
}
