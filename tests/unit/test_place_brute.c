/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_place_brute.c - the engine against exhaustive search.
 *
 * SN_BRUTE_CASES sets how many cases (5000 for a release), SN_BRUTE_SEED where
 * they start, SN_BRUTE_ONE=SEED replays the one that a failure names.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen.h"
#include "oracle.h"

static const struct gen_limits small = {
	.supernodes = 5, .nodes_per_supernode = 6, .loose = 3, .nodes = 14,
	.world = 96, .effort = 2e7,
};

static char why[2 * ORACLE_WHY];
static bool was_feasible;

static bool object(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool object(const char *fmt, ...)
{
	char text[sizeof(why)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(why, text, sizeof(why));
	return false;
}

static const char *key_text(const struct oracle_key *key)
{
	static char text[2][256];
	static int turn;
	char *buf = text[turn ^= 1];
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < key->n && used < sizeof(text[0]); i++)
		used += snprintf(buf + used, sizeof(text[0]) - used, " %" PRIu64,
				 key->v[i]);
	return buf;
}

static const char *ranks_text(const uint32_t *ranks, uint32_t n)
{
	static char text[2][256];
	static int turn;
	char *buf = text[turn ^= 1];
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < n && used < sizeof(text[0]); i++)
		used += snprintf(buf + used, sizeof(text[0]) - used, " %u",
				 ranks[i]);
	return buf;
}

static bool judge_map(struct gen_case *c, struct oracle *o,
		      const struct sn_placement *p)
{
	struct sn_rankmap_node *node = calloc(p->n_nodes, sizeof(*node));
	struct sn_rankmap map = { 0 };
	struct sn_err err = { "" };
	bool ok = false;
	uint32_t i;
	int rc;

	assert_non_null(node);
	for (i = 0; i < p->n_nodes; i++) {
		node[i].supernode = c->topo.node[p->node[i].node].supernode;
		node[i].ranks = p->node[i].ranks;
		node[i].unit = c->topo.node[p->node[i].node].unit;
	}
	rc = sn_rankmap_build(&c->layout, node, p->n_nodes, &map, &err);
	if (rc)
		object("no rank map for a legal placement: %d %s", rc, err.text);
	else if (oracle_check_rankmap(o, &c->layout, p, &map, why))
		object("rank map: %.400s", why);
	else
		ok = true;
	if (!rc)
		sn_rankmap_done(&map);
	free(node);
	return ok;
}

/* Under a PowerLimit the nodes that serve are those that hold the most unit
 * blocks; what spares or an exact number of nodes need may be others (place.h). */
static bool by_other_nodes(const struct gen_case *c)
{
	return c->request.unit_block > c->request.node_block &&
	       (c->request.spares || c->request.exact_nodes);
}

static bool judge_answer(struct gen_case *c, struct oracle *o,
			 const struct sn_placement *p, const uint32_t *best,
			 const struct oracle_key *best_key)
{
	uint32_t ranks[64], n = c->topo.n_nodes;
	struct oracle_key key;
	int cmp;

	if (oracle_check_placement(o, p, ranks, why))
		return object("illegal: %.400s", why);
	if (!p->exact && !o->power)
		return object("a small case is said not to be exact");
	oracle_key(o, ranks, &key);
	if (o->power) {
		struct oracle_key firm = *best_key;

		key.n = firm.n = key.n_firm;
		cmp = oracle_key_cmp(&key, &firm);
		if (cmp > 0 && by_other_nodes(c))
			cmp = 0;
	} else {
		cmp = oracle_key_cmp(&key, best_key);
	}
	if (!cmp && !o->power)
		cmp = oracle_first_cmp(o, ranks, best);
	if (cmp < 0) /* then the search is at fault */
		return object("better than the best:%s <%s, ranks%s and%s",
			      key_text(&key), key_text(best_key),
			      ranks_text(ranks, n), ranks_text(best, n));
	if (cmp > 0)
		return object("late and degraded, supernodes, fabrics, units, nodes, "
			      "degraded ones, late ones, weight, left in supernodes, left in nodes "
			      "are%s, best is"
			      "%s; ranks of the nodes%s, best%s",
			      key_text(&key), key_text(best_key),
			      ranks_text(ranks, n), ranks_text(best, n));
	/* A shrunk case may ask for other than its layout. */
	return c->layout.world != c->request.world ||
	       c->layout.unit_block != c->request.unit_block ||
	       judge_map(c, o, p);
}

static bool judge(struct gen_case *c)
{
	struct sn_placement placement;
	struct sn_err err = { "" };
	struct oracle_key key;
	uint32_t best[64];
	struct oracle o;
	bool ok = true;
	int rc;

	assert_true(c->topo.n_nodes <= 64);
	assert_int_equal(oracle_init(&o, &c->topo, &c->state, &c->request), 0);
	was_feasible = oracle_search(&o, best, &key);
	memset(&placement, 0, sizeof(placement));
	rc = sn_place(&c->topo, &c->state, &c->request, &placement, &err);
	if (was_feasible && rc == -ENOSPC && o.power && by_other_nodes(c))
		ok = true;
	else if (was_feasible && rc)
		ok = object("refused (%d %s), but%s is legal", rc, err.text,
			    ranks_text(best, c->topo.n_nodes));
	else if (!was_feasible && !rc)
		ok = object("placed what cannot be: %s",
			    oracle_check_placement(&o, &placement, best, why) ?
				    why : "legal?!");
	else if (rc && rc != (c->request.exact_nodes > c->request.world /
			      c->request.node_block ? -EINVAL : -ENOSPC))
		ok = object("returned %d %s", rc, err.text);
	else if (rc && strlen(err.text) < 20)
		ok = object("no sentence says why not: '%s'", err.text);
	else if (!rc)
		ok = judge_answer(c, &o, &placement, best, &key);
	if (!rc)
		sn_placement_done(&placement);
	oracle_done(&o);
	return ok;
}

static bool fails(struct gen_case *c)
{
	return !judge(c);
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static bool run(uint64_t seed)
{
	struct gen_case c;
	bool ok;

	gen_case(&c, seed, &small);
	ok = judge(&c);
	if (!ok) {
		print_message("# %s\n", why);
		gen_print(stdout, &c);
		gen_shrink(&c, fails);
		judge(&c);
		print_message("# smaller: %s\n", why);
		gen_print(stdout, &c);
		print_message("# replay with SN_BRUTE_ONE=0x%016" PRIx64 "\n",
			      seed);
	}
	gen_done(&c);
	return ok;
}

static void engine_equals_exhaustive_search(void **state)
{
	uint64_t seed = from_env("SN_BRUTE_SEED", 1);
	uint64_t n = from_env("SN_BRUTE_CASES", 600), i;
	uint64_t one = from_env("SN_BRUTE_ONE", 0);
	uint64_t most = from_env("SN_BRUTE_FAILURES", 1);
	uint64_t feasible = 0, failed = 0;

	(void)state;
	if (one) {
		assert_true(run(one));
		return;
	}
	print_message("# %" PRIu64 " cases from SN_BRUTE_SEED=%" PRIu64 "\n", n,
		      seed);
	for (i = 0; i < n && failed < most; i++) {
		failed += !run((seed << 32) + i);
		feasible += was_feasible;
	}
	print_message("# %" PRIu64 " of %" PRIu64 " were feasible\n", feasible,
		      i);
	assert_int_equal(failed, 0);
	/* A generator gone wrong must not pass for an engine gone right. */
	if (n >= 100) {
		assert_true(feasible * 100 >= n * 40);
		assert_true(feasible * 100 <= n * 95);
	}
}

/* The generator's own blocks, found by brute force, are those of the parser. */
static void layouts_parse_to_the_same_blocks(void **state)
{
	static const char *const within[] = { "node", "unit", "supernode", "any" };
	struct sn_layout mine, parsed;
	struct gen_rng rng = { .state = 7 };
	struct sn_err err;
	char spec[256];
	uint32_t i, n = 0;

	(void)state;
	for (i = 0; i < 3000; i++) {
		if (!gen_layout(&mine, 16, &rng) ||
		    mine.etp_within != SN_IN_SUPERNODE)
			continue;
		snprintf(spec, sizeof(spec), "tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,"
			 "dp=%u,order=%s,tp_within=%s,cp_within=%s,ep_within=%s",
			 mine.tp, mine.cp, mine.ep, mine.etp, mine.pp, mine.dp,
			 mine.order == SN_ORDER_PP_DP ? "tp-cp-ep-pp-dp" :
							"tp-cp-ep-dp-pp",
			 within[mine.tp_within], within[mine.cp_within],
			 within[mine.ep_within]);
		if (sn_layout_parse(spec, 16, &parsed, &err)) {
			/* It may refuse what cannot fit a node; nothing else. */
			if (mine.node_block <= 16)
				fail_msg("%s: %s", spec, err.text);
			continue;
		}
		n++;
		if (parsed.world != mine.world || parsed.edp != mine.edp ||
		    parsed.node_block != mine.node_block ||
		    parsed.unit_block != mine.unit_block ||
		    parsed.atom != mine.atom)
			fail_msg("%s: world %u %u, node block %u %u, unit block "
				 "%u %u, atom %u %u (parser, brute force)", spec,
				 parsed.world, mine.world, parsed.node_block,
				 mine.node_block, parsed.unit_block,
				 mine.unit_block, parsed.atom, mine.atom);
	}
	assert_true(n > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_equals_exhaustive_search),
		cmocka_unit_test(layouts_parse_to_the_same_blocks),
	};

	return cmocka_run_group_tests_name("place_brute", tests, NULL, NULL);
}
