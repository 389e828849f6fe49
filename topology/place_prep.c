/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_prep.c - which nodes serve a request, what each holds, and what using
 * it costs.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

/* calloc that takes 0 and never returns NULL for it. */
void *pl_alloc(size_t n, size_t size)
{
	return calloc(n ? n : 1, size ? size : 1);
}

static unsigned bits_for(pl_cost most)
{
	unsigned n = 0;

	while (n < 128 && most >> n)
		n++;
	return n;
}

bool pl_usable(const struct pl *p, uint32_t i)
{
	const struct sn_place_node *node = &p->state->node[i];

	if (node->flags & SN_NODE_ABSENT || p->held[i])
		return false;
	if ((node->flags & SN_NODE_LATE && !p->late) ||
	    (node->flags & SN_NODE_DEGRADED && !p->degraded))
		return false;
	return !p->req->whole_nodes || node->free == node->cards;
}

uint32_t pl_blocks(const struct pl *p, uint32_t i)
{
	const struct sn_place_node *node = &p->state->node[i];
	uint32_t n = (uint32_t)__builtin_popcountll(node->free);

	if (n > node->max_ranks)
		n = node->max_ranks;
	return n / p->req->node_block;
}

static void hold_spare_nodes(struct pl *p, uint32_t s)
{
	const struct sn_topo_supernode *sn = &p->topo->supernode[s];
	uint32_t left = p->req->use_spare_nodes ? 0 : sn->spare_nodes;

	for (uint32_t n = sn->n_nodes; n-- && left;) {
		uint32_t i = sn->first_node + n;
		const struct sn_place_node *node = &p->state->node[i];

		if (node->flags & SN_NODE_ABSENT) {
			left -= !!(node->flags & SN_NODE_STANDBY);
			continue;
		}
		if (node->flags & (SN_NODE_LATE | SN_NODE_PARTLY) ||
		    !node->cards || node->free != node->cards)
			continue;
		p->held[i] = PL_HELD_SPARE;
		left--;
	}
}

static bool rate_fits(uint32_t a, uint32_t of, uint64_t size, uint64_t free)
{
	return free == UINT64_MAX ||
	       (pl_cost)a * size <= (pl_cost)free * of;
}

/* Whether the pool of s serves so many atoms; /node is a limit on nodes. */
bool pl_pool_fits(const struct pl *p, uint32_t s, uint32_t atoms)
{
	const struct sn_pool *pool = &p->req->pool;
	uint64_t bytes, rate;
	uint32_t num = atoms, of = p->atoms;

	if (!p->state->supernode || pool->per == SN_POOL_NONE)
		return true;
	bytes = p->state->supernode[s].pool_free;
	rate = p->state->supernode[s].bandwidth_free;
	switch (pool->per) {
	case SN_POOL_SUPERNODE:
	case SN_POOL_NODE:
		num = of = 1;
		break;
	case SN_POOL_CARD:
		num = atoms * p->req->atom;
		of = 1;
		break;
	default:
		break;
	}
	return (pool->per == SN_POOL_NAMED ||
		rate_fits(num, of, pool->size, bytes)) &&
	       rate_fits(num, of, pool->bandwidth, rate);
}

static void find_pool_limits(struct pl *p, uint32_t s)
{
	const struct sn_pool *pool = &p->req->pool;
	struct pl_supernode *sn = &p->sn[s];
	uint32_t low = 0, high = p->atoms;

	sn->q_max = UINT32_MAX;
	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (pl_pool_fits(p, s, mid))
			low = mid;
		else
			high = mid - 1;
	}
	sn->pool_atoms = low;
	if (pool->per == SN_POOL_NODE && p->state->supernode) {
		const struct sn_place_supernode *st = &p->state->supernode[s];
		uint64_t n = UINT64_MAX;

		if (pool->size && st->pool_free != UINT64_MAX)
			n = st->pool_free / pool->size;
		if (pool->bandwidth && st->bandwidth_free != UINT64_MAX &&
		    st->bandwidth_free / pool->bandwidth < n)
			n = st->bandwidth_free / pool->bandwidth;
		if (n < UINT32_MAX)
			sn->q_max = (uint32_t)n;
	}
}

struct unit_key {
	uint32_t unit_first; /* the first item's node of its unit */
	struct pl_item item;
};

static int by_unit(const void *a, const void *b)
{
	const struct unit_key *x = a, *y = b;

	if (x->unit_first != y->unit_first)
		return x->unit_first < y->unit_first ? -1 : 1;
	return x->item.node < y->item.node ? -1 : 1;
}

/* Bring the items of a supernode unit by unit. first: scratch of n_units. */
static int order_items(struct pl *p, uint32_t s, uint32_t *first)
{
	struct pl_supernode *sn = &p->sn[s];
	const struct sn_topo_node *node = p->topo->node;
	struct unit_key *key;

	sn->ordered = true;
	for (uint32_t i = 0; i < sn->n_items; i++) {
		uint32_t n = sn->item[i].node, u = node[n].unit;

		if (u == SN_NONE || u >= p->topo->n_units)
			continue;
		if (first[u] == SN_NONE)
			first[u] = n;
		else if (node[sn->item[i - 1].node].unit != u)
			sn->ordered = false;
	}
	if (!sn->ordered) {
		key = pl_alloc(sn->n_items, sizeof(*key));
		if (!key)
			return -ENOMEM;
		for (uint32_t i = 0; i < sn->n_items; i++) {
			uint32_t n = sn->item[i].node, u = node[n].unit;

			key[i].item = sn->item[i];
			key[i].unit_first = u < p->topo->n_units ? first[u] : n;
		}
		qsort(key, sn->n_items, sizeof(*key), by_unit);
		for (uint32_t i = 0; i < sn->n_items; i++)
			sn->item[i] = key[i].item;
		free(key);
	}
	for (uint32_t i = 0; i < sn->n_items; i++) {
		uint32_t u = node[sn->item[i].node].unit;

		sn->item[i].last = i + 1 == sn->n_items || u == SN_NONE ||
				   node[sn->item[i + 1].node].unit != u;
	}
	return 0;
}

static int find_items(struct pl *p, uint32_t *unit_first)
{
	struct pl_item *next = p->item;
	int rc = 0;

	for (uint32_t s = 0; s < p->topo->n_supernodes && !rc; s++) {
		const struct sn_topo_supernode *t = &p->topo->supernode[s];
		struct pl_supernode *sn = &p->sn[s];

		hold_spare_nodes(p, s);
		rc = pl_keep_idle(p, s);
		if (rc)
			return rc;
		find_pool_limits(p, s);
		sn->item = next;
		for (uint32_t n = 0; n < t->n_nodes; n++) {
			uint32_t i = t->first_node + n;
			const struct sn_place_node *node = &p->state->node[i];
			uint32_t cap = pl_usable(p, i) ? pl_blocks(p, i) : 0;
			bool must = node->flags & SN_NODE_REQUIRED;

			if (!(node->flags & SN_NODE_ABSENT))
				sn->free += (uint32_t)
					__builtin_popcountll(node->free);
			if (must && !cap)
				return -ENOSPC;
			if (!cap)
				continue;
			next->node = i;
			next->cap = (uint8_t)cap;
			next->must = must;
			sn->n_must += must;
			next++;
		}
		sn->n_items = (uint32_t)(next - sn->item);
		sn->forced = sn->n_must > 0;
		rc = order_items(p, s, unit_first);
	}
	return rc;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* Lay points 4 to 6 out in one number. */
static void find_costs(struct pl *p)
{
	uint64_t n_items = 0, n_late = 0, n_degraded = 0;
	uint64_t weight = 0, left = 0, freest = 0;
	unsigned weight_bits, left_bits, total, units_bits;
	const struct pl_supernode *last = NULL;

	p->weight_min = p->free_min = p->left_min = UINT64_MAX;
	for (uint32_t s = 0; s < p->topo->n_supernodes; s++) {
		const struct pl_supernode *sn = &p->sn[s];

		if (!sn->n_items)
			continue;
		last = sn;
		if (sn->free < p->left_min)
			p->left_min = sn->free;
		for (uint32_t i = 0; i < sn->n_items; i++) {
			const struct sn_place_node *node =
				&p->state->node[sn->item[i].node];
			uint64_t n = (uint32_t)__builtin_popcountll(node->free);

			if (node->weight < p->weight_min)
				p->weight_min = node->weight;
			if (n < p->free_min)
				p->free_min = n;
			n_late += !!(node->flags & SN_NODE_LATE);
			n_degraded += !!(node->flags & SN_NODE_DEGRADED);
		}
		n_items += sn->n_items;
	}
	if (!last)
		return;
	p->weight_div = 0;
	for (const struct pl_item *it = p->item; it < p->item + n_items; it++) {
		const struct sn_place_node *node = &p->state->node[it->node];
		uint64_t w = node->weight - p->weight_min;

		p->weight_div = gcd(w, p->weight_div);
		weight += w;
		freest += (uint32_t)__builtin_popcountll(node->free) -
			  p->free_min;
	}
	if (!p->weight_div)
		p->weight_div = 1;
	weight /= p->weight_div;
	for (uint32_t s = 0; s < p->topo->n_supernodes; s++)
		if (p->sn[s].n_items)
			left += p->sn[s].free - p->left_min;
	p->shift_left = bits_for(freest);
	left_bits = bits_for(left);
	units_bits = p->topo->n_units ? bits_for(n_items) : 0;
	total = p->shift_left + left_bits + bits_for(n_late) +
		bits_for(n_degraded) + bits_for(n_items) + units_bits;
	/* Only weights of nonsense can need more than 127 bits; then the least
	 * significant ones are not looked at. */
	weight_bits = bits_for(weight);
	while (total + weight_bits > 126) {
		p->weight_div *= 2;
		weight_bits--;
		p->exact = false;
	}
	p->cost_bits = total + weight_bits;
	p->shift_weight = p->shift_left + left_bits;
	p->shift_late = p->shift_weight + weight_bits;
	p->shift_degraded = p->shift_late + bits_for(n_late);
	p->shift_nodes = p->shift_degraded + bits_for(n_degraded);
	if (units_bits)
		p->unit_cost = (pl_cost)1 << (p->shift_nodes + bits_for(n_items));
	for (struct pl_item *it = p->item; it < p->item + n_items; it++) {
		const struct sn_place_node *node = &p->state->node[it->node];
		uint64_t n = (uint32_t)__builtin_popcountll(node->free);

		it->cost = ((pl_cost)1 << p->shift_nodes) +
			   ((pl_cost)((node->weight - p->weight_min) /
				      p->weight_div) << p->shift_weight) +
			   (n - p->free_min);
		if (node->flags & SN_NODE_LATE)
			it->cost += (pl_cost)1 << p->shift_late;
		if (node->flags & SN_NODE_DEGRADED)
			it->cost += (pl_cost)1 << p->shift_degraded;
	}
}

/* What using supernode s at all adds for point 6: its free cards; the ranks
 * that are taken off are the same number for every placement. */
pl_cost pl_left_cost(const struct pl *p, uint32_t s)
{
	return (pl_cost)(p->sn[s].free - p->left_min) << p->shift_left;
}

/* Leaves what it made to pl_done() on failure too. */
int pl_prep(struct pl *p)
{
	const struct sn_topo *topo = p->topo;
	uint32_t *first;
	int rc;

	p->exact = true;
	p->atoms = p->req->world / p->req->atom;
	p->per_atom = p->req->atom / p->req->node_block;
	p->per_unit = p->req->unit_block / p->req->node_block;
	p->held = pl_alloc(topo->n_nodes, 1);
	p->item = pl_alloc(topo->n_nodes, sizeof(*p->item));
	p->sn = pl_alloc(topo->n_supernodes, sizeof(*p->sn));
	first = pl_alloc(topo->n_units, sizeof(*first));
	if (!p->held || !p->item || !p->sn || !first) {
		free(first);
		return -ENOMEM;
	}
	for (uint32_t u = 0; u < topo->n_units; u++)
		first[u] = SN_NONE;
	rc = find_items(p, first);
	free(first);
	if (!rc)
		find_costs(p);
	return rc;
}

void pl_done(struct pl *p)
{
	for (uint32_t b = 0; b < p->n_buckets; b++)
		for (struct pl_profile *f = p->bucket[b], *next; f; f = next) {
			next = f->next;
			free(f->cost);
			free(f);
		}
	free(p->bucket);
	free(p->rows);
	free(p->held);
	free(p->item);
	free(p->sn);
	*p = (struct pl){ 0 };
}
