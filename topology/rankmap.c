/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rankmap.c - which rank runs on which node, as which of its cards.
 *
 * All work is counting sorts over ranks, blocks and atoms, so it is linear in
 * the world and does not care whether blocks are consecutive ranks.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "topology/rankmap.h"

struct work {
	const struct sn_layout *l;
	/* by rank */
	uint32_t *atom, *unit_block, *node_block;
	/* by atom */
	uint32_t *order; /* position -> atom */
	uint32_t *best;
	uint32_t *run; /* atom -> run of nodes of one supernode */
	bool *seen;
	uint32_t n_atoms;
	/* by run */
	uint32_t *atoms;
	uint32_t n_runs;
	/* by node block */
	uint32_t *first; /* its smallest rank */
	uint32_t *sorted, *scratch;
	uint32_t *node; /* -> node */
	uint32_t n_blocks;
	uint32_t *count; /* of whatever is being sorted by */
};

static void work_done(struct work *w)
{
	free(w->atom);
	free(w->unit_block);
	free(w->node_block);
	free(w->order);
	free(w->best);
	free(w->run);
	free(w->seen);
	free(w->atoms);
	free(w->first);
	free(w->sorted);
	free(w->scratch);
	free(w->node);
	free(w->count);
}

static uint32_t *numbers(uint32_t n)
{
	return calloc(n ? n : 1, sizeof(uint32_t));
}

static int work_init(struct work *w, const struct sn_layout *l,
		     uint32_t n_nodes)
{
	uint32_t most = l->world > n_nodes ? l->world : n_nodes;

	memset(w, 0, sizeof(*w));
	w->l = l;
	w->n_atoms = l->world / l->atom;
	w->n_blocks = l->world / l->node_block;
	w->atom = numbers(l->world);
	w->unit_block = numbers(l->world);
	w->node_block = numbers(l->world);
	w->order = numbers(w->n_atoms);
	w->best = numbers(w->n_atoms);
	w->run = numbers(w->n_atoms);
	w->seen = calloc(w->n_atoms, sizeof(*w->seen));
	w->atoms = numbers(n_nodes);
	w->first = numbers(w->n_blocks);
	w->sorted = numbers(w->n_blocks);
	w->scratch = numbers(w->n_blocks);
	w->node = numbers(w->n_blocks);
	w->count = numbers(most);
	if (!w->atom || !w->unit_block || !w->node_block || !w->order ||
	    !w->best || !w->run || !w->seen || !w->atoms || !w->first ||
	    !w->sorted || !w->scratch || !w->node || !w->count ||
	    sn_layout_blocks(l, SN_IN_SUPERNODE, w->atom) ||
	    sn_layout_blocks(l, SN_IN_UNIT, w->unit_block) ||
	    sn_layout_blocks(l, SN_IN_NODE, w->node_block))
		return -ENOMEM;
	for (uint32_t r = l->world; r-- > 0;)
		w->first[w->node_block[r]] = r;
	return 0;
}

/* Fills atoms, the number of atoms of each run. */
static int check_counts(struct work *w, const struct sn_rankmap_node *node,
			uint32_t n_nodes, struct sn_err *err)
{
	const struct sn_layout *l = w->l;
	uint64_t world = 0, in_run = 0;
	uint32_t start = 0;

	for (uint32_t i = 0; i < n_nodes; i++)
		world += node[i].ranks;
	if (world != l->world)
		return sn_err_set(err, -EINVAL,
				  "the %u nodes run %" PRIu64 " ranks, but the layout has %u (tp*cp*pp*dp = %u*%u*%u*%u)",
				  n_nodes, world, l->world, l->tp, l->cp,
				  l->pp, l->dp);
	for (uint32_t i = 0; i < n_nodes; i++) {
		if (node[i].ranks % l->node_block)
			return sn_err_set(err, -EINVAL,
					  "node number %u runs %u ranks, which splits a block of %u ranks that must share a node",
					  i + 1, node[i].ranks, l->node_block);
		in_run += node[i].ranks;
		if (i + 1 < n_nodes &&
		    node[i + 1].supernode == node[i].supernode)
			continue;
		if (in_run % l->atom)
			return sn_err_set(err, -EINVAL,
					  "the supernode of nodes number %u to %u runs %" PRIu64 " ranks, which splits an atom of %u ranks",
					  start + 1, i + 1, in_run, l->atom);
		w->atoms[w->n_runs++] = (uint32_t)(in_run / l->atom);
		in_run = 0;
		start = i + 1;
	}
	return 0;
}

/* Deals the atoms of order out to the runs. */
static void deal(struct work *w, const uint32_t *order)
{
	uint32_t at = 0;

	for (uint32_t run = 0; run < w->n_runs; run++)
		for (uint32_t i = 0; i < w->atoms[run]; i++)
			w->run[order[at++]] = run;
}

static uint64_t edges_out(const struct work *w)
{
	const struct sn_layout *l = w->l;
	uint32_t dense = l->tp * l->cp, stage = dense * l->dp;
	/* A ring of two is one edge, of one none. */
	uint32_t ring = l->dp > 2 ? stage : stage - dense;
	uint64_t n = 0;

	for (uint32_t pp = 0; pp < l->pp; pp++)
		for (uint32_t s = 0; s < stage; s++) {
			uint32_t run = w->run[w->atom[sn_layout_rank(l, pp, s)]];
			uint32_t to = s + dense < stage ? s + dense :
							  s + dense - stage;

			if (s < ring)
				n += w->run[w->atom[sn_layout_rank(l, pp, to)]] != run;
			if (pp + 1 < l->pp)
				n += w->run[w->atom[sn_layout_rank(l, pp + 1, s)]] != run;
		}
	return n;
}

/* Orders atoms by their first place in a stage and by stage, either first. */
static void order_atoms(struct work *w, bool stage_major)
{
	const struct sn_layout *l = w->l;
	uint32_t stage = l->world / l->pp;
	uint32_t outer = stage_major ? l->pp : stage;
	uint32_t inner = stage_major ? stage : l->pp;
	uint32_t n = 0;

	memset(w->seen, 0, w->n_atoms * sizeof(*w->seen));
	for (uint32_t a = 0; a < outer; a++)
		for (uint32_t b = 0; b < inner; b++) {
			uint32_t r = sn_layout_rank(l, stage_major ? a : b,
						    stage_major ? b : a);

			if (w->seen[w->atom[r]])
				continue;
			w->seen[w->atom[r]] = true;
			w->order[n++] = w->atom[r];
		}
}

static void choose_atoms(struct work *w)
{
	uint64_t least;

	for (uint32_t a = 0; a < w->n_atoms; a++)
		w->best[a] = a;
	deal(w, w->best);
	if (w->l->map != SN_MAP_AUTO || w->n_runs < 2)
		return;
	least = edges_out(w);
	for (int stage_major = 0; stage_major < 2; stage_major++) {
		uint64_t n;

		order_atoms(w, stage_major);
		deal(w, w->order);
		n = edges_out(w);
		if (n < least) {
			least = n;
			memcpy(w->best, w->order, w->n_atoms * sizeof(*w->best));
		}
	}
	deal(w, w->best);
}

/* A stable counting sort of node blocks, by what key[] says of the first rank
 * of each, or by the run of that. */
static void sort_blocks(struct work *w, const uint32_t *from, uint32_t *to,
			const uint32_t *key, const uint32_t *of, uint32_t n)
{
	uint32_t sum = 0;

	memset(w->count, 0, n * sizeof(*w->count));
	for (uint32_t i = 0; i < w->n_blocks; i++) {
		uint32_t k = key[w->first[from[i]]];

		w->count[of ? of[k] : k]++;
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t c = w->count[k];

		w->count[k] = sum;
		sum += c;
	}
	for (uint32_t i = 0; i < w->n_blocks; i++) {
		uint32_t k = key[w->first[from[i]]];

		to[w->count[of ? of[k] : k]++] = from[i];
	}
}

/* A node in the order of filling. */
struct turn {
	uint32_t run, unit, first, node;
};

static int cmp_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int by_unit(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	int c = cmp_u32(x->run, y->run);

	if (!c)
		c = cmp_u32(x->unit, y->unit);
	return c ? c : cmp_u32(x->node, y->node);
}

static int by_first(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	int c = cmp_u32(x->run, y->run);

	if (!c)
		c = cmp_u32(x->first, y->first);
	return c ? c : cmp_u32(x->node, y->node);
}

/* Node blocks in the order of ranks are dealt to the nodes in the order of
 * turns; a unit's nodes must take turns together where blocks are bound to it. */
static int make_turns(const struct sn_layout *l,
		      const struct sn_rankmap_node *node, uint32_t n_nodes,
		      struct turn *turn, struct sn_err *err)
{
	uint64_t in_unit = 0;
	uint32_t run = 0;

	for (uint32_t i = 0; i < n_nodes; i++) {
		run += i && node[i].supernode != node[i - 1].supernode;
		turn[i] = (struct turn){ run, node[i].unit, i, i };
	}
	if (l->unit_block <= l->node_block)
		return 0;
	qsort(turn, n_nodes, sizeof(*turn), by_unit);
	for (uint32_t i = 0; i < n_nodes; i++) {
		bool same = i && turn[i].run == turn[i - 1].run &&
			    turn[i].unit == turn[i - 1].unit &&
			    turn[i].unit != SN_NONE;

		if (same)
			turn[i].first = turn[i - 1].first;
		else if (in_unit % l->unit_block)
			break;
		in_unit = (same ? in_unit : 0) + node[turn[i].node].ranks;
	}
	if (in_unit % l->unit_block)
		return sn_err_set(err, -EINVAL,
				  "a unit runs %" PRIu64 " ranks, which splits a block of %u ranks that must share a unit",
				  in_unit, l->unit_block);
	qsort(turn, n_nodes, sizeof(*turn), by_first);
	return 0;
}

int sn_rankmap_build(const struct sn_layout *layout,
		     const struct sn_rankmap_node *node, uint32_t n_nodes,
		     struct sn_rankmap *ret, struct sn_err *err)
{
	const struct sn_layout *l = layout;
	struct sn_rankmap map = { .world = l->world };
	struct work w;
	uint32_t at = 0;
	int rc = work_init(&w, l, n_nodes);
	struct turn *turn = calloc((size_t)n_nodes + 1, sizeof(*turn));

	map.node = numbers(l->world);
	map.local = numbers(l->world);
	if (rc || !turn || !map.node || !map.local) {
		rc = sn_err_set(err, -ENOMEM,
				"not enough memory to map %u ranks", l->world);
		goto out;
	}
	rc = check_counts(&w, node, n_nodes, err);
	if (!rc)
		rc = make_turns(l, node, n_nodes, turn, err);
	if (rc)
		goto out;
	choose_atoms(&w);
	for (uint32_t b = 0; b < w.n_blocks; b++)
		w.sorted[b] = b;
	sort_blocks(&w, w.sorted, w.scratch, w.unit_block, NULL,
		    l->world / l->unit_block);
	sort_blocks(&w, w.scratch, w.sorted, w.atom, w.run, w.n_runs);
	for (uint32_t i = 0; i < n_nodes; i++)
		for (uint32_t b = node[turn[i].node].ranks / l->node_block;
		     b > 0; b--)
			w.node[w.sorted[at++]] = turn[i].node;
	memset(w.count, 0, n_nodes * sizeof(*w.count));
	for (uint32_t r = 0; r < l->world; r++) {
		map.node[r] = w.node[w.node_block[r]];
		map.local[r] = w.count[map.node[r]]++;
	}
	*ret = map;
	map = (struct sn_rankmap){ 0 };
out:
	free(turn);
	work_done(&w);
	sn_rankmap_done(&map);
	return rc;
}

void sn_rankmap_done(struct sn_rankmap *map)
{
	free(map->node);
	free(map->local);
	memset(map, 0, sizeof(*map));
}
