/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_range.c - a bounded number of nodes: never outside the bounds, and no
 * exact number within them is better.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/topology_supernode/range.h"

#define NODES 12
#define CARDS 4

static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 10) % n;
}

/* Points 2 to 6, as words that compare. */
static void words(const struct sn_score *s, uint64_t *w)
{
	uint32_t level;

	*w++ = s->supernodes;
	for (level = 0; level < s->n_levels; level++)
		*w++ = s->fabrics[level];
	*w++ = s->units;
	*w++ = s->nodes;
	*w++ = s->weight;
	*w++ = s->left_in_supernodes;
	*w++ = s->left_in_nodes;
}

static bool less(const struct sn_score *a, const struct sn_score *b)
{
	uint64_t wa[16] = { 0 }, wb[16] = { 0 };
	int i;

	words(a, wa);
	words(b, wb);
	for (i = 0; i < 16; i++)
		if (wa[i] != wb[i])
			return wa[i] < wb[i];
	return false;
}

/* The best of the exact numbers; false: none fits. */
static bool best_exact(const struct sn_topo *topo,
		       const struct sn_place_state *state,
		       struct sn_place_request req, uint32_t min, uint32_t max,
		       struct sn_placement *ret)
{
	bool any = false;
	uint32_t n;

	for (n = min; n <= max && n <= req.world / req.node_block; n++) {
		struct sn_placement found = { 0 };

		req.exact_nodes = n;
		if (sn_place(topo, state, &req, &found, NULL))
			continue;
		if (any && !less(&found.score, &ret->score)) {
			sn_placement_done(&found);
			continue;
		}
		if (any)
			sn_placement_done(ret);
		*ret = found;
		any = true;
	}
	return any;
}

static void one(const struct sn_topo *topo, uint32_t number)
{
	struct sn_place_node node[NODES];
	struct sn_place_state state = { node, NULL };
	struct sn_place_request req = { 0 };
	struct sn_placement got = { 0 }, want = { 0 };
	struct sn_err err = { "" };
	uint32_t i, min, max;
	bool fits;
	int rc;

	seed = number;
	for (i = 0; i < NODES; i++)
		node[i] = (struct sn_place_node){
			.cards = (1u << CARDS) - 1, .free = rnd(1u << CARDS),
			.weight = 1 + rnd(2), .max_ranks = UINT32_MAX,
		};
	req.node_block = req.unit_block = 1 + rnd(2);
	req.atom = req.node_block * (1 + rnd(3));
	req.world = req.atom * (1 + rnd(4));
	min = 1 + rnd(4);
	max = min + rnd(5);
	rc = range_place(topo, &state, &req, min, max, &got, &err);
	fits = best_exact(topo, &state, req, min, max, &want);
	if (fits != !rc)
		fail_msg("case %u: range_place() says %d (%s), an exact number %s",
			 number, rc, err.text, fits ? "fits" : "does not fit");
	if (rc && !err.text[0])
		fail_msg("case %u: no reason", number);
	if (!rc && (got.n_nodes < min || got.n_nodes > max))
		fail_msg("case %u: %u nodes, wanted %u-%u", number, got.n_nodes,
			 min, max);
	if (!rc && (less(&want.score, &got.score) ||
		    less(&got.score, &want.score)))
		fail_msg("case %u: %u nodes are not as good as %u", number,
			 got.n_nodes, want.n_nodes);
	sn_placement_done(&got);
	sn_placement_done(&want);
}

static void test_best_of_the_range(void **arg)
{
	static const char conf[] =
		"SupernodeName=a Nodes=n[1-5]\n"
		"SupernodeName=b Nodes=n[6-9]\n"
		"SupernodeName=c Nodes=n[10-12]\n"
		"FabricName=f Supernodes=a,b\n";
	struct sn_topo *topo;
	struct sn_err err;
	uint32_t i;

	(void)arg;
	if (sn_topo_parse(conf, strlen(conf), "t.conf", NULL, NULL, &topo,
			  &err))
		fail_msg("%s", err.text);
	for (i = 1; i <= 3000; i++)
		one(topo, i);
	sn_topo_destroy(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
