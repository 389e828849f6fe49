/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gen.c - random clusters and requests (gen.h).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "oracle.h"

/* splitmix64: the same numbers on every machine. */
static uint64_t draw(struct gen_rng *rng)
{
	uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t gen_pick(struct gen_rng *rng, uint32_t n)
{
	return n ? (uint32_t)(draw(rng) % n) : 0;
}

bool gen_chance(struct gen_rng *rng, uint32_t percent)
{
	return gen_pick(rng, 100) < percent;
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p) {
		fputs("no memory for a test case\n", stderr);
		abort();
	}
	return p;
}

static char *name_of(const char *prefix, uint32_t number)
{
	char buf[32];
	char *name;

	snprintf(buf, sizeof(buf), "%s%02u", prefix, number + 1);
	name = get(sizeof(buf), 1);
	memcpy(name, buf, sizeof(buf));
	return name;
}

/* Arrays of a cluster whose supernodes have size[i] nodes, the last `loose` of
 * them being loose nodes. */
static void build(struct gen_case *c, uint32_t n, uint32_t loose,
		  const uint32_t *size)
{
	struct sn_topo *topo = &c->topo;
	uint32_t s, i;

	topo->n_supernodes = n;
	topo->supernode = get(n, sizeof(*topo->supernode));
	for (s = 0; s < n; s++) {
		topo->supernode[s].first_node = topo->n_nodes;
		topo->supernode[s].n_nodes = size[s];
		topo->supernode[s].fabric = SN_NONE;
		topo->supernode[s].loose = s >= n - loose;
		topo->n_nodes += size[s];
	}
	topo->node = get(topo->n_nodes, sizeof(*topo->node));
	c->node = get(topo->n_nodes, sizeof(*c->node));
	c->supernode = get(n, sizeof(*c->supernode));
	for (s = 0; s < n; s++) {
		for (i = 0; i < size[s]; i++) {
			uint32_t node = topo->supernode[s].first_node + i;

			topo->node[node].name = name_of("n", node);
			topo->node[node].supernode = s;
			topo->node[node].unit = SN_NONE;
		}
		topo->supernode[s].name = topo->supernode[s].loose ?
			name_of("n", topo->supernode[s].first_node) :
			name_of("sn", s);
		c->supernode[s].pool_free = UINT64_MAX;
		c->supernode[s].bandwidth_free = UINT64_MAX;
	}
	c->state.node = c->node;
	c->state.supernode = c->supernode;
}

static void full_nodes(struct gen_case *c)
{
	uint32_t i;

	for (i = 0; i < c->topo.n_nodes; i++) {
		c->node[i].cards = c->cards == 64 ? UINT64_MAX :
						    (1ull << c->cards) - 1;
		c->node[i].free = c->node[i].cards;
		c->node[i].weight = 1;
		c->node[i].max_ranks = UINT32_MAX;
	}
}

void gen_simple(struct gen_case *c, uint32_t n, const uint32_t *size,
		uint32_t cards)
{
	memset(c, 0, sizeof(*c));
	c->cards = cards;
	build(c, n, 0, size);
	full_nodes(c);
}

void gen_segment(struct gen_case *c, uint32_t nodes, uint32_t segment)
{
	memset(&c->request, 0, sizeof(c->request));
	c->request.world = nodes;
	c->request.node_block = c->request.unit_block = 1;
	c->request.atom = segment;
}

void gen_done(struct gen_case *c)
{
	uint32_t i;

	for (i = 0; i < c->topo.n_nodes; i++)
		free(c->topo.node[i].name);
	for (i = 0; i < c->topo.n_supernodes; i++)
		free(c->topo.supernode[i].name);
	for (i = 0; i < c->topo.n_units; i++)
		free(c->topo.unit[i].name);
	for (i = 0; i < c->topo.n_fabrics; i++)
		free(c->topo.fabric[i].name);
	free(c->topo.node);
	free(c->topo.supernode);
	free(c->topo.unit);
	free(c->topo.fabric);
	free(c->node);
	free(c->supernode);
	memset(c, 0, sizeof(*c));
}

static void make_cluster(struct gen_case *c, struct gen_rng *rng,
			 const struct gen_limits *l)
{
	uint32_t n = 1 + gen_pick(rng, l->supernodes), s, loose, nodes = 0;
	uint32_t even = 1 + gen_pick(rng, l->nodes_per_supernode);
	bool equal = gen_chance(rng, 60);
	uint32_t *size;

	loose = gen_chance(rng, 30) ? 1 + gen_pick(rng, l->loose) : 0;
	size = get(n + loose, sizeof(*size));
	for (s = 0; s < n + loose; s++) {
		size[s] = s >= n ? 1 : equal && !gen_chance(rng, 10) ? even :
			  1 + gen_pick(rng, l->nodes_per_supernode);
		if (nodes + size[s] > l->nodes)
			break;
		nodes += size[s];
	}
	if (s < n) {
		n = s;
		loose = 0;
	}
	loose = s - n;
	if (!s)
		size[n++] = l->nodes < even ? l->nodes : even;
	build(c, n + loose, loose, size);
	free(size);
}

/* A random forest up to three deep, then the supernodes on it, some on inner
 * fabrics and some on none: chains of mixed length. */
static void make_fabrics(struct gen_case *c, struct gen_rng *rng)
{
	struct sn_topo *topo = &c->topo;
	uint32_t want = 1 + gen_pick(rng, topo->n_supernodes / 2 + 3);
	uint32_t s, f, i, n = 0;
	bool *used = get(want, sizeof(*used));
	uint32_t *renamed = get(want, sizeof(*renamed));

	topo->fabric = get(want, sizeof(*topo->fabric));
	for (f = 0; f < want; f++) {
		struct sn_topo_fabric *fabric = &topo->fabric[f];

		fabric->parent = f && gen_chance(rng, 60) ? gen_pick(rng, f) :
							    SN_NONE;
		if (fabric->parent != SN_NONE &&
		    topo->fabric[fabric->parent].depth == 2)
			fabric->parent = SN_NONE;
		fabric->depth = fabric->parent == SN_NONE ? 0 :
				topo->fabric[fabric->parent].depth + 1;
	}
	for (s = 0; s < topo->n_supernodes; s++) {
		if (topo->supernode[s].loose || gen_chance(rng, 10))
			continue;
		topo->supernode[s].fabric = gen_pick(rng, want);
		for (f = topo->supernode[s].fabric; f != SN_NONE;
		     f = topo->fabric[f].parent)
			used[f] = true;
	}
	/* Fabrics without a supernode would not survive a topology.conf. */
	for (f = 0; f < want; f++) {
		if (!used[f])
			continue;
		topo->fabric[n] = topo->fabric[f];
		topo->fabric[n].name = name_of("f", n);
		if (topo->fabric[n].parent != SN_NONE)
			topo->fabric[n].parent = renamed[topo->fabric[n].parent];
		if (topo->fabric[n].depth + 1 > topo->fabric_levels)
			topo->fabric_levels = topo->fabric[n].depth + 1;
		renamed[f] = n++;
	}
	topo->n_fabrics = n;
	for (i = 0; i < topo->n_supernodes; i++)
		if (topo->supernode[i].fabric != SN_NONE)
			topo->supernode[i].fabric =
				renamed[topo->supernode[i].fabric];
	free(used);
	free(renamed);
}

/* Units are runs of nodes, some runs being left out, or scattered ones. */
static void make_units(struct gen_case *c, struct gen_rng *rng, bool scatter)
{
	struct sn_topo *topo = &c->topo;
	uint32_t run = 1 + gen_pick(rng, 4), s, i, node, at = 0, unit;

	topo->unit = get(topo->n_nodes, sizeof(*topo->unit));
	for (s = 0; s < topo->n_supernodes; s++) {
		if (topo->supernode[s].loose)
			continue;
		unit = SN_NONE;
		for (i = 0; i < topo->supernode[s].n_nodes; i++) {
			node = topo->supernode[s].first_node + i;
			if (i == 0 || at == run || gen_chance(rng, 10)) {
				at = 0;
				unit = gen_chance(rng, 15) ? SN_NONE :
							     topo->n_units;
				if (unit != SN_NONE) {
					topo->unit[unit].name = name_of("u", unit);
					topo->unit[unit].supernode = s;
					topo->n_units++;
				}
			}
			at++;
			topo->node[node].unit = unit;
		}
		for (i = 1; scatter && i < topo->supernode[s].n_nodes; i++) {
			node = topo->supernode[s].first_node;
			unit = node + gen_pick(rng, i + 1);
			at = topo->node[unit].unit;
			topo->node[unit].unit = topo->node[node + i].unit;
			topo->node[node + i].unit = at;
		}
	}
	for (i = 0; i < topo->n_nodes; i++)
		if (topo->node[i].unit != SN_NONE)
			topo->unit[topo->node[i].unit].n_nodes++;
}

/* All of a supernode's nodes, as where its links are degraded, or some, as where
 * those of units are. */
static void degrade(struct gen_case *c, struct gen_rng *rng, uint32_t s)
{
	const struct sn_topo_supernode *sn = &c->topo.supernode[s];
	uint32_t i, percent = gen_chance(rng, 40) ? 100 :
			      gen_chance(rng, 40) ? 40 : 0;

	for (i = sn->first_node; i < sn->first_node + sn->n_nodes; i++)
		if (gen_chance(rng, percent))
			c->node[i].flags |= SN_NODE_DEGRADED;
}

static void make_state(struct gen_case *c, struct gen_rng *rng)
{
	uint32_t busy_node = gen_pick(rng, 4) * 25, busy_card = 0, i, k;
	bool weights = gen_chance(rng, 50), limits = gen_chance(rng, 20);
	bool late = gen_chance(rng, 25), absent = gen_chance(rng, 25);
	bool degraded = gen_chance(rng, 25), power = gen_chance(rng, 20);
	bool required = gen_chance(rng, 10), odd = gen_chance(rng, 15);
	/* A stream of its own, so that the rest of a seed's case stays. */
	struct gen_rng own = { rng->state ^ 0x5a5a };
	bool partly = gen_chance(&own, 25);

	full_nodes(c);
	if (gen_chance(rng, 70))
		busy_card = 10 + gen_pick(rng, 60);
	for (i = 0; i < c->topo.n_nodes; i++) {
		struct sn_place_node *node = &c->node[i];

		if (odd && gen_chance(rng, 20)) {
			node->cards = (1ull << (1 + gen_pick(rng, c->cards))) - 1;
			node->free = node->cards;
		}
		if (gen_chance(rng, busy_node))
			for (k = 0; k < c->cards; k++)
				if (gen_chance(rng, busy_card))
					node->free &= ~(1ull << k);
		if (weights)
			node->weight = 1 + gen_pick(rng, 3);
		if (limits && gen_chance(rng, 40))
			node->max_ranks = gen_pick(rng, c->cards + 1);
		if (absent && gen_chance(rng, 20))
			node->flags |= SN_NODE_ABSENT;
		if (late && gen_chance(rng, 35))
			node->flags |= SN_NODE_LATE;
		if (required && gen_chance(rng, 15))
			node->flags |= SN_NODE_REQUIRED;
		if (power && gen_chance(rng, node->free == node->cards ? 10 : 80))
			node->flags |= SN_NODE_DRAWS;
		if (partly && gen_chance(&own, 20))
			node->flags |= node->flags & SN_NODE_ABSENT ?
				SN_NODE_STANDBY : SN_NODE_PARTLY;
	}
	for (i = 0; power && i < c->topo.n_supernodes; i++)
		if (gen_chance(rng, 70))
			c->supernode[i].keep_idle =
				gen_pick(rng, c->topo.supernode[i].n_nodes + 1);
	for (i = 0; degraded && i < c->topo.n_supernodes; i++)
		degrade(c, rng, i);
	if (gen_chance(rng, 30))
		for (i = 0; i < c->topo.n_supernodes; i++)
			/* topology.conf has no supernode of spares alone */
			if (c->topo.supernode[i].n_nodes > 1)
				c->topo.supernode[i].spare_nodes =
					gen_chance(rng, 75) ? 1 :
					gen_pick(rng, c->topo.supernode[i].n_nodes);
}

/* What the supernodes can hold in atoms, each taken alone. */
static uint32_t atoms_of(struct gen_case *c)
{
	struct oracle o;
	uint32_t s, i, atoms = 0;

	if (oracle_init(&o, &c->topo, &c->state, &c->request))
		abort();
	for (s = 0; s < c->topo.n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &c->topo.supernode[s];
		uint32_t sum = 0;

		for (i = 0; i < sn->n_nodes; i++)
			sum += o.cap[sn->first_node + i];
		atoms += sum / c->request.atom;
	}
	oracle_done(&o);
	return atoms;
}

static void make_pool(struct gen_case *c, struct gen_rng *rng)
{
	static const enum sn_pool_per per[] = { SN_POOL_TOTAL, SN_POOL_SUPERNODE,
		SN_POOL_NODE, SN_POOL_CARD, SN_POOL_NAMED };
	struct sn_pool *pool = &c->request.pool;
	bool bandwidth = gen_chance(rng, 40);
	uint32_t s, most;

	pool->per = per[gen_chance(rng, 5) ? 4 : gen_pick(rng, 4)];
	pool->size = 1 + gen_pick(rng, 20);
	if (bandwidth)
		pool->bandwidth = 1 + gen_pick(rng, 20);
	if (gen_chance(rng, 5))
		pool->size <<= 58; /* sums that do not fit 64 bits */
	for (s = 0; s < c->topo.n_supernodes; s++) {
		uint32_t n = c->topo.supernode[s].n_nodes;

		most = pool->per == SN_POOL_NODE ? n :
		       pool->per == SN_POOL_CARD ? n * c->cards : 1;
		if (gen_chance(rng, 80))
			c->supernode[s].pool_free = pool->size *
				gen_pick(rng, most + 1) + gen_pick(rng, 20);
		if (bandwidth && gen_chance(rng, 60))
			c->supernode[s].bandwidth_free = pool->bandwidth *
				(1 + gen_pick(rng, most)) + gen_pick(rng, 20);
	}
}

static void make_request(struct gen_case *c, struct gen_rng *rng,
			 const struct gen_limits *l)
{
	struct sn_place_request *request = &c->request;
	struct sn_layout *y = &c->layout;
	uint32_t step, atoms, steps, p;

	memset(request, 0, sizeof(*request));
	request->whole_nodes = gen_chance(rng, 10);
	request->use_spare_nodes = gen_chance(rng, 15);
	request->spares = gen_chance(rng, 22) ? 1 + gen_pick(rng, 2) : 0;
	request->node_block = y->node_block;
	request->unit_block = y->unit_block;
	request->atom = y->atom;
	atoms = atoms_of(c);
	step = y->world; /* ranks in the least size */
	steps = atoms / (step / y->atom);
	/* All that can fit, a step less, anything, a step too much. */
	p = request->spares ? 65 + gen_pick(rng, 25) : gen_pick(rng, 100);
	if (p >= 30)
		steps = p < 55 && steps > 1 ? steps - 1 :
			p < 95 ? 1 + gen_pick(rng, steps) : steps + 1;
	if (steps > l->world / step)
		steps = l->world / step;
	if (!steps)
		steps = 1;
	y->dp *= steps;
	gen_layout_finish(y);
	request->world = y->world;
	if (gen_chance(rng, 20)) {
		p = (y->world + c->cards - 1) / c->cards;
		request->exact_nodes = p + gen_pick(rng, 3);
		if (request->exact_nodes > y->world / y->node_block &&
		    gen_chance(rng, 80))
			request->exact_nodes = y->world / y->node_block;
	}
	if (gen_chance(rng, 30))
		make_pool(c, rng);
}

static bool try_case(struct gen_case *c, struct gen_rng *rng,
		     const struct gen_limits *l)
{
	static const uint32_t cards[] = { 1, 2, 2, 4, 4, 4, 8, 8, 3, 6, 16 };
	struct oracle o;
	uint32_t tries;
	double effort;
	bool units;

	c->cards = cards[gen_pick(rng, 11)];
	make_cluster(c, rng, l);
	if (gen_chance(rng, 70))
		make_fabrics(c, rng);
	units = gen_chance(rng, 50);
	make_state(c, rng);
	for (tries = 0; tries < 50; tries++) {
		if (!gen_layout(&c->layout, c->cards, rng) ||
		    c->layout.world > l->world)
			continue;
		/* Most requests should be of a size that can fit at all. */
		if (gen_chance(rng, 5))
			break;
		c->request = (struct sn_place_request){
			.node_block = c->layout.node_block,
			.unit_block = c->layout.unit_block,
			.atom = c->layout.atom,
		};
		if (atoms_of(c) >= c->layout.world / c->layout.atom)
			break;
	}
	if (tries == 50)
		return false;
	if (units)
		make_units(c, rng, gen_chance(rng, 20));
	make_request(c, rng, l);
	if (!l->effort)
		return true;
	if (oracle_init(&o, &c->topo, &c->state, &c->request))
		abort();
	effort = oracle_effort(&o);
	oracle_done(&o);
	/* Few choices are no test, but the odd one is a corner. */
	return effort <= l->effort && (effort >= 30 || gen_chance(rng, 10));
}

void gen_case(struct gen_case *c, uint64_t seed, const struct gen_limits *l)
{
	struct gen_rng rng = { .state = seed };

	/* Neighbouring seeds must not be the same stream a draw later. */
	rng.state = draw(&rng) ^ seed << 32;
	memset(c, 0, sizeof(*c));
	while (!try_case(c, &rng, l))
		gen_done(c);
	c->seed = seed;
}
