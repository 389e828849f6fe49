/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_table.c - the table that tells which nodes of one supernode host a
 * number of node blocks at the least cost.
 *
 * Dynamic programming over the nodes, unit by unit, from the last to the first.
 * A state is what the nodes from here on still have to give: z node blocks, j
 * spares, q nodes (where their number is bound), and whether the current unit
 * is in use already. At the end of a unit z is rounded up to whole unit blocks:
 * what a unit holds beyond them is lost.
 *
 * A node used normally gives all it holds: a cheapest set has no node to spare,
 * so each gets at least one block. Where nodes have to be used (required nodes,
 * exact_nodes) this fails, and every amount from 1 on is tried instead
 * ("assign").
 *
 * Spares must be as large as the largest share m of a rank node. For each m,
 * nodes count for at most m, and j of those that hold m are set aside.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/place_internal.h"

static size_t at(const struct pl_table *t, uint32_t z, uint32_t j, uint32_t q,
		 uint32_t o)
{
	return (((size_t)z * (t->j + 1) + j) * (t->q + 1) + q) * (t->o + 1) + o;
}

/* The state after node it; z is what is left then. SIZE_MAX: none. */
static size_t after(const struct pl_table *t, const struct pl_item *it,
		    uint32_t z, uint32_t j, uint32_t q, uint32_t o)
{
	if (it->last) {
		uint32_t over = t->per_unit > 1 ? z % t->per_unit : 0;

		o = 0;
		if (over && t->assign)
			return SIZE_MAX;
		if (over)
			z += t->per_unit - over;
	}
	return at(t, z, j, q, t->o ? o : 0);
}

static pl_cost *row_of(const struct pl_table *t, uint32_t i)
{
	return t->row + (t->keep ? i : i & 1) * t->size;
}

/* A state and what leads out of it; from 0 to 2 + cap ways. */
struct state {
	uint32_t z, j, q, o;
};

/* How many amounts a node can give: only what it holds, or any from 1 on. */
static uint32_t n_uses(const struct pl_table *t, const struct pl_item *it,
		       const struct state *st, uint32_t *give)
{
	uint32_t cap = it->cap < t->m ? it->cap : t->m;

	*give = cap;
	if (!st->z || (t->q && !st->q) || it->never)
		return 0;
	if (!t->assign)
		return 1;
	*give = 1;
	return cap < st->z ? cap : st->z;
}

static size_t use(const struct pl_table *t, const struct pl_item *it,
		  const struct state *st, uint32_t give)
{
	return after(t, it, st->z > give ? st->z - give : 0, st->j,
		     t->q ? st->q - 1 : 0, 1);
}

static pl_cost use_cost(const struct pl_table *t, const struct pl_item *it,
			const struct state *st)
{
	return it->cost + (st->o ? 0 : t->unit_cost);
}

static bool can_spare(const struct pl_table *t, const struct pl_item *it,
		      const struct state *st)
{
	return st->j && it->cap >= t->m;
}

static pl_cost best_of(const struct pl_table *t, const struct pl_item *it,
		       const pl_cost *next, const struct state *st)
{
	uint32_t give, n = n_uses(t, it, st, &give);
	pl_cost best = PL_INF, cost;
	size_t to;

	for (uint32_t x = give; x < give + n; x++) {
		to = use(t, it, st, x);
		if (to != SIZE_MAX && next[to] < best)
			best = next[to];
	}
	if (best < PL_INF)
		best += use_cost(t, it, st);
	if (it->must)
		return best;
	to = after(t, it, st->z, st->j, st->q, st->o);
	if (to != SIZE_MAX && next[to] < best)
		best = next[to];
	if (can_spare(t, it, st)) {
		to = after(t, it, st->z, st->j - 1, st->q, st->o);
		cost = to == SIZE_MAX ? PL_INF : next[to];
		if (cost < best)
			best = cost;
	}
	return best;
}

static void fill_row(const struct pl_table *t, uint32_t i)
{
	const pl_cost *next = row_of(t, i + 1);
	pl_cost *out = row_of(t, i);
	struct state st;

	for (st.z = 0; st.z <= t->z; st.z++)
		for (st.j = 0; st.j <= t->j; st.j++)
			for (st.q = 0; st.q <= t->q; st.q++)
				for (st.o = 0; st.o <= t->o; st.o++)
					*out++ = best_of(t, &t->item[i], next,
							 &st);
}

/* The common case: no number of nodes is bound. */
static void fill_row_plain(const struct pl_table *t, uint32_t i)
{
	const struct pl_item *it = &t->item[i];
	const pl_cost *next = row_of(t, i + 1);
	pl_cost *row = row_of(t, i), cost = it->cost + t->unit_cost;
	uint32_t cap = it->cap < t->m ? it->cap : t->m;
	uint32_t width = t->o + 1, depth = (t->j + 1) * width;
	uint32_t open = t->o && !it->last; /* is the unit, once it is used? */
	bool spare = it->cap >= t->m;
	uint32_t unit = it->last ? t->per_unit : 1;
	/* What is left to the nodes after it, in whole unit blocks: if it is
	 * not used, and if it is. */
	uint32_t to_skip = 0, to_use = 0;

	for (uint32_t z = 0; z <= t->z; z++) {
		const pl_cost *skip, *use;

		if (z > to_skip)
			to_skip += unit;
		if (z > cap && z - cap > to_use)
			to_use += unit;
		skip = next + to_skip * (size_t)depth;
		use = next + to_use * (size_t)depth;
		if (depth == 1) {
			pl_cost u = z ? *use + cost : PL_INF;

			*row++ = u < *skip ? u : *skip;
			continue;
		}
		if (!t->j) {
			pl_cost u = z ? use[open] + cost : PL_INF;
			pl_cost c = skip[open];

			row[0] = u < *skip ? u : *skip;
			u -= t->unit_cost;
			row[1] = u < c ? u : c;
			row += 2;
			continue;
		}
		for (uint32_t j = 0; j < depth; j += width) {
			pl_cost u = z ? use[j + open] + cost : PL_INF;
			pl_cost c = skip[j];

			if (spare && j && skip[j - width] < c)
				c = skip[j - width];
			*row++ = u < c ? u : c;
			if (!t->o)
				continue;
			u -= t->unit_cost;
			c = skip[j + open];
			if (spare && j && skip[j + open - width] < c)
				c = skip[j + open - width];
			*row++ = u < c ? u : c;
		}
	}
}

void pl_table_solve(const struct pl_table *t)
{
	pl_cost *end = row_of(t, t->n);
	bool plain = !t->q && !t->assign;

	for (size_t s = 0; s < t->size; s++)
		end[s] = PL_INF;
	for (uint32_t o = 0; o <= t->o; o++)
		end[at(t, 0, 0, 0, o)] = 0;
	for (uint32_t i = 0; plain && i < t->n; i++)
		plain = !t->item[i].must && !t->item[i].never;
	for (uint32_t i = t->n; i--;) {
		if (plain)
			fill_row_plain(t, i);
		else
			fill_row(t, i);
	}
}

pl_cost pl_table_cost(const struct pl_table *t, uint32_t z, uint32_t q)
{
	return row_of(t, 0)[at(t, z, t->j, q, 0)];
}

/* Which of the marked states have a cheapest way on that uses the node (or
 * does not); marks where those ways lead. */
static bool step(const struct pl_table *t, uint32_t i, bool using,
		 const bool *now, bool *then)
{
	const struct pl_item *it = &t->item[i];
	const pl_cost *cost = row_of(t, i), *next = row_of(t, i + 1);
	struct state st;
	bool any = false;
	size_t s = 0, to;

	for (size_t c = 0; c < t->size; c++)
		then[c] = false;
	for (st.z = 0; st.z <= t->z; st.z++)
	for (st.j = 0; st.j <= t->j; st.j++)
	for (st.q = 0; st.q <= t->q; st.q++)
	for (st.o = 0; st.o <= t->o; st.o++, s++) {
		uint32_t give, n;

		if (!now[s])
			continue;
		n = using ? n_uses(t, it, &st, &give) : 0;
		for (uint32_t x = 0; x < n; x++) {
			to = use(t, it, &st, give + x);
			if (to == SIZE_MAX || next[to] >= PL_INF ||
			    next[to] + use_cost(t, it, &st) != cost[s])
				continue;
			any = then[to] = true;
		}
		if (using || it->must)
			continue;
		to = after(t, it, st.z, st.j, st.q, st.o);
		if (to != SIZE_MAX && next[to] == cost[s])
			any = then[to] = true;
		if (!can_spare(t, it, &st))
			continue;
		to = after(t, it, st.z, st.j - 1, st.q, st.o);
		if (to != SIZE_MAX && next[to] == cost[s])
			any = then[to] = true;
	}
	return any;
}

/*
 * Walk a kept table forward along all cheapest ways at once, using a node
 * wherever one of them does: that gives the smallest list.
 */
int pl_table_walk(const struct pl_table *t, uint32_t z, uint32_t q, bool *used)
{
	bool *mark = pl_alloc(2 * t->size, sizeof(*mark));
	bool *now = mark, *then = mark + t->size;

	if (!mark)
		return -ENOMEM;
	now[at(t, z, t->j, q, 0)] = true;
	for (uint32_t i = 0; i < t->n; i++) {
		bool *old = now;

		used[i] = step(t, i, true, now, then);
		if (!used[i])
			step(t, i, false, now, then);
		now = then;
		then = old;
	}
	free(mark);
	return 0;
}
