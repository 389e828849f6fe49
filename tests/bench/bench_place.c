/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_place.c - how long the placement engine takes.
 *
 * Clusters are built by hand, idle or busy: of a busy one every node has a
 * random number of free cards (a fixed seed, so that runs compare). Times are the
 * processor's, the best of three.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "topology/place.h"

struct shape {
	const char *what;
	uint32_t supernodes, nodes, cards; /* nodes of each, cards of each */
	uint32_t per_fabric, per_root; /* supernodes of one; 0: none */
	uint32_t per_unit; /* nodes; 0: none */
	uint32_t spare_nodes;
	bool loose; /* supernodes of one node, in no fabric */
	unsigned busy; /* percent of nodes that are partly busy */
	bool weights; /* random ones */
	uint32_t node_block, unit_block, atom, atoms, spares, exact;
};

static uint64_t seed;

static uint32_t random_to(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

static void build_fabrics(struct sn_topo *t, const struct shape *sh)
{
	uint32_t n = 0, roots = 0;

	if (!sh->per_fabric)
		return;
	if (sh->per_root)
		roots = (sh->supernodes + sh->per_root - 1) / sh->per_root;
	n = (sh->supernodes + sh->per_fabric - 1) / sh->per_fabric;
	t->fabric = must(calloc(roots + n, sizeof(*t->fabric)));
	t->n_fabrics = roots + n;
	t->fabric_levels = roots ? 2 : 1;
	for (uint32_t r = 0; r < roots; r++)
		t->fabric[r].parent = SN_NONE;
	for (uint32_t f = 0; f < n; f++) {
		t->fabric[roots + f].depth = roots ? 1 : 0;
		t->fabric[roots + f].parent = roots ?
			f * sh->per_fabric / sh->per_root : SN_NONE;
	}
	for (uint32_t s = 0; s < sh->supernodes; s++)
		t->supernode[s].fabric = roots + s / sh->per_fabric;
}

static void build(struct sn_topo *t, struct sn_place_state *st,
		  const struct shape *sh)
{
	uint32_t n = sh->supernodes * sh->nodes;
	struct sn_place_node *node = must(calloc(n, sizeof(*node)));

	*t = (struct sn_topo){ .n_nodes = n, .n_supernodes = sh->supernodes };
	t->node = must(calloc(n, sizeof(*t->node)));
	t->supernode = must(calloc(sh->supernodes, sizeof(*t->supernode)));
	for (uint32_t s = 0; s < sh->supernodes; s++) {
		struct sn_topo_supernode *sn = &t->supernode[s];

		sn->name = (char *)"sn";
		sn->first_node = s * sh->nodes;
		sn->n_nodes = sh->nodes;
		sn->fabric = SN_NONE;
		sn->loose = sh->loose;
		sn->spare_nodes = sh->spare_nodes;
	}
	build_fabrics(t, sh);
	if (sh->per_unit) {
		t->n_units = (n + sh->per_unit - 1) / sh->per_unit;
		t->unit = must(calloc(t->n_units, sizeof(*t->unit)));
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t all = sh->cards == 64 ? UINT64_MAX :
						 ((uint64_t)1 << sh->cards) - 1;
		uint32_t free = sh->cards;

		t->node[i].name = (char *)"n";
		t->node[i].supernode = i / sh->nodes;
		t->node[i].unit = sh->per_unit ? i / sh->per_unit : SN_NONE;
		if (random_to(100) < sh->busy)
			free = random_to(sh->cards + 1);
		node[i].cards = all;
		node[i].free = free ? all >> (sh->cards - free) : 0;
		node[i].weight = sh->weights ? 1 + random_to(1000) : 1;
		node[i].max_ranks = UINT32_MAX;
	}
	*st = (struct sn_place_state){ .node = node };
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void print_score(const struct sn_placement *p)
{
	printf("%u supernodes, fabrics", p->score.supernodes);
	for (uint32_t d = 0; d < p->score.n_levels; d++)
		printf(" %u", p->score.fabrics[d]);
	printf(", %u units, %u nodes, weight %llu, left %llu %llu%s\n",
	       p->score.units, p->score.nodes,
	       (unsigned long long)p->score.weight,
	       (unsigned long long)p->score.left_in_supernodes,
	       (unsigned long long)p->score.left_in_nodes,
	       p->exact ? "" : " (not exact)");
}

static void run(const struct shape *sh)
{
	struct sn_place_request req = {
		.world = sh->atom * sh->atoms, .node_block = sh->node_block,
		.unit_block = sh->unit_block, .atom = sh->atom,
		.spares = sh->spares, .exact_nodes = sh->exact,
	};
	struct sn_placement p;
	struct sn_place_state st;
	struct sn_topo t;
	struct sn_err err;
	double best = 1e30, start;
	int rc = 0;

	seed = 20240601;
	build(&t, &st, sh);
	for (int i = 0; i < 3; i++) {
		start = now();
		rc = sn_place(&t, &st, &req, &p, &err);
		if (now() - start < best)
			best = now() - start;
		if (i < 2)
			sn_placement_done(&p);
	}
	printf("%9.2f ms  %-52s ", best, sh->what);
	if (rc)
		printf("%d: %s\n", rc, err.text);
	else
		print_score(&p);
	fflush(stdout);
	sn_placement_done(&p);
	free((void *)st.node);
	free(t.node);
	free(t.supernode);
	free(t.fabric);
	free(t.unit);
}

/* A machine of a million cards in supernodes of 384, pods of 16, spines of
 * 128 supernodes. */
#define MILLION .supernodes = 2604, .nodes = 48, .cards = 8, \
	.per_fabric = 16, .per_root = 128
#define TP8(n) .node_block = 8, .unit_block = 8, .atom = 64, .atoms = n
#define TP1(a, n) .node_block = 1, .unit_block = 1, .atom = a, .atoms = n

static const struct shape shapes[] = {
	{ .what = "100k of 1M cards, idle, atoms of 64", MILLION, TP8(1560) },
	{ .what = "100k of 1M, idle, one gap", MILLION, TP8(1562) },
	{ .what = "100k of 1M, idle, spare nodes, spares", MILLION,
	  .spare_nodes = 1, .spares = 1, TP8(1562) },
	{ .what = "100k of 1M, idle, units of 6", MILLION, .per_unit = 6,
	  TP8(1562) },
	{ .what = "100k of 1M, idle, tp=1, atoms of 8", MILLION, TP1(8, 12500) },
	{ .what = "100k of 1M, idle, single cards", MILLION, TP1(1, 100000) },
	{ .what = "100k of 1M, 30% busy, atoms of 64", MILLION, .busy = 30,
	  TP8(1562) },
	{ .what = "100k of 1M, 30% busy, weights, atoms of 64", MILLION,
	  .busy = 30, .weights = true, TP8(1562) },
	{ .what = "100k of 1M, 30% busy, tp=2, atoms of 16", MILLION,
	  .busy = 30, .node_block = 2, .unit_block = 2, .atom = 16,
	  .atoms = 6250 },
	{ .what = "100k of 1M, 30% busy, single cards", MILLION, .busy = 30,
	  TP1(1, 100000) },
	{ .what = "100k of 1M, 30% busy, units, tp=2, unit 8", MILLION,
	  .busy = 30, .per_unit = 6, .node_block = 2, .unit_block = 8,
	  .atom = 64, .atoms = 1562 },
	{ .what = "100k of 1M, 30% busy, tp=2, spares", MILLION, .busy = 30,
	  .spares = 1, .node_block = 2, .unit_block = 2, .atom = 16,
	  .atoms = 6250 },
	{ .what = "100k of 1M, 30% busy, units, tp=1, unit 8, spares", MILLION,
	  .busy = 30, .per_unit = 6, .spares = 1, .node_block = 1,
	  .unit_block = 8, .atom = 16, .atoms = 6250 },
	{ .what = "100k of 1M, 30% busy, fabrics of 2, single cards",
	  .supernodes = 2604, .nodes = 48, .cards = 8, .per_fabric = 2,
	  .per_root = 16, .busy = 30, TP1(1, 100000) },
	{ .what = "100k of 1M, all busy, fabrics of 3, single cards",
	  .supernodes = 2604, .nodes = 48, .cards = 8, .per_fabric = 3,
	  .busy = 100, TP1(1, 100000) },
	{ .what = "100k of 1M, 30% busy, tp=2, -N 14000", MILLION, .busy = 30,
	  .node_block = 2, .unit_block = 2, .atom = 16, .atoms = 6250,
	  .exact = 14000 },
	{ .what = "100k of 1M, idle, blocks of 4, -N 14000", MILLION,
	  .node_block = 4, .unit_block = 4, .atom = 4, .atoms = 25000,
	  .exact = 14000 },
	{ .what = "100k of 1M, idle, blocks of 4, -N 20000", MILLION,
	  .node_block = 4, .unit_block = 4, .atom = 4, .atoms = 25000,
	  .exact = 20000 },
	{ .what = "100k of 384k, idle, blocks of 4, -N 14000",
	  .supernodes = 1000, .nodes = 48, .cards = 8, .node_block = 4,
	  .unit_block = 4, .atom = 4, .atoms = 25000, .exact = 14000 },
	{ .what = "100k of 1M, idle, single cards, -N 12600", MILLION,
	  TP1(1, 100000), .exact = 12600 },
	{ .what = "100k of 1M, idle, single cards, -N 14000", MILLION,
	  TP1(1, 100000), .exact = 14000 },
	{ .what = "100k of 1M, 30% busy, single cards, -N 14000", MILLION,
	  .busy = 30, TP1(1, 100000), .exact = 14000 },
	{ .what = "100k of 1M, busy, units, unit 8, spares, -N 14000", MILLION,
	  .busy = 30, .per_unit = 6, .spares = 1, .node_block = 1,
	  .unit_block = 8, .atom = 16, .atoms = 6250, .exact = 14000 },
	{ .what = "100k of 1M, idle, single cards, -N 12499: no", MILLION,
	  TP1(1, 100000), .exact = 12499 },
	{ .what = "8k of 80k (10k nodes), busy, single cards, -N 1200",
	  .supernodes = 208, .nodes = 48, .cards = 8, .per_fabric = 16,
	  .busy = 30, TP1(1, 8000), .exact = 1200 },
	{ .what = "8k of 80k (10k nodes), busy, atoms of 8, spares, -N 1200",
	  .supernodes = 208, .nodes = 48, .cards = 8, .per_fabric = 16,
	  .busy = 30, .spares = 1, TP1(8, 1000), .exact = 1200 },
	{ .what = "80k cards of 62,500 pairs of nodes, fabrics of 4",
	  .supernodes = 62500, .nodes = 2, .cards = 4, .per_fabric = 4,
	  .busy = 60, TP1(1, 80000) },
	{ .what = "the same, -N 40000", .supernodes = 62500, .nodes = 2,
	  .cards = 4, .per_fabric = 4, .busy = 60, TP1(1, 80000),
	  .exact = 40000 },
	{ .what = "256 of 1M, 30% busy, tp=2, -N 64", MILLION, .busy = 30,
	  .node_block = 2, .unit_block = 2, .atom = 4, .atoms = 64,
	  .exact = 64 },
	{ .what = "256 of 1M, idle, tp=2, -N 64", MILLION,
	  .node_block = 2, .unit_block = 2, .atom = 4, .atoms = 64,
	  .exact = 64 },
	{ .what = "900k of 1M, idle, atoms of 64", MILLION, TP8(14062) },
	{ .what = "small job (64 cards) on 1M, 30% busy", MILLION, .busy = 30,
	  TP8(1) },
	{ .what = "1M wanted, 30% busy: no", MILLION, .busy = 30, TP8(15624) },
	{ .what = "100k of 1M, idle, -N 12500", MILLION, TP8(1562),
	  .exact = 12496 },
	{ .what = "9,216 single-node atoms on 576 x 18", .supernodes = 576,
	  .nodes = 18, .cards = 8, .per_fabric = 16, .node_block = 8,
	  .unit_block = 8, .atom = 8, .atoms = 9216 },
	{ .what = "9,200 single-node atoms on 576 x 18", .supernodes = 576,
	  .nodes = 18, .cards = 8, .per_fabric = 16, .node_block = 8,
	  .unit_block = 8, .atom = 8, .atoms = 9200 },
	{ .what = "5,000 single-node atoms on 576 x 18, busy",
	  .supernodes = 576, .nodes = 18, .cards = 8, .per_fabric = 16,
	  .busy = 30, .node_block = 8, .unit_block = 8, .atom = 8,
	  .atoms = 5000 },
	{ .what = "50k loose nodes, 5k wanted", .supernodes = 50000, .nodes = 1,
	  .cards = 8, .loose = true, .busy = 30, .weights = true,
	  .node_block = 8, .unit_block = 8, .atom = 8, .atoms = 5000 },
	{ .what = "one supernode of 100k nodes, 50k wanted", .supernodes = 1,
	  .nodes = 100000, .cards = 8, .busy = 30, .weights = true,
	  TP8(6250) },
	{ .what = "10 supernodes of 10k nodes, units, 50k wanted",
	  .supernodes = 10, .nodes = 10000, .cards = 8, .busy = 30,
	  .per_unit = 8, .weights = true, .node_block = 2, .unit_block = 8,
	  .atom = 16, .atoms = 25000 },
};

static void run_growth(void)
{
	static const uint32_t supernodes[] = { 21, 42, 84, 167, 334, 667, 1334,
					       2604 };
	static const char *const what[] = {
		"a tenth, idle", "a tenth, 30% busy",
		"a tenth, 30% busy, single cards"
	};

	for (uint32_t w = 0; w < 3; w++)
		for (uint32_t i = 0; i < sizeof(supernodes) / 4; i++) {
			uint32_t n = supernodes[i];
			struct shape sh = {
				.supernodes = n, .nodes = 48, .cards = 8,
				.per_fabric = 16, .per_root = 128,
				.node_block = 8, .unit_block = 8, .atom = 64,
				.atoms = n * 6 / 10, .busy = w ? 30 : 0,
			};
			char text[80];

			if (w == 2) {
				sh.node_block = sh.unit_block = sh.atom = 1;
				sh.atoms = n * 38;
			}
			snprintf(text, sizeof(text), "%u nodes: %s", n * 48,
				 what[w]);
			sh.what = text;
			run(&sh);
		}
}

int main(int argc, char **argv)
{
	for (uint32_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (argc < 2 || strstr(shapes[i].what, argv[1]))
			run(&shapes[i]);
	if (argc < 2 || !strcmp(argv[1], "growth"))
		run_growth();
	return 0;
}
