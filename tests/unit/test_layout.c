/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_layout.c - layouts against the rule written out in loops, and the
 * sentences that refuse.
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

#include "topology/layout.h"
#include "tests/unit/layoutbed.h"

/* ---- the rule in loops: coordinates of every rank, and blocks ---- */

struct world {
	struct sn_coords *at; /* by rank */
	uint32_t *root; /* by rank, smallest rank of its block */
};

static uint32_t root_of(uint32_t *root, uint32_t r)
{
	while (root[r] != r)
		r = root[r];
	return r;
}

/* Ranks are counted up with the leftmost axis innermost, as Megatron does. */
static void world_init(struct world *w, const struct sn_layout *l)
{
	bool pp_first = l->order == SN_ORDER_PP_DP;
	uint32_t outer[2] = { pp_first ? l->dp : l->pp, pp_first ? l->pp : l->dp };
	uint32_t eouter[2] = { pp_first ? l->edp : l->pp, pp_first ? l->pp : l->edp };
	uint32_t r = 0;

	w->at = calloc(l->world, sizeof(*w->at));
	w->root = calloc(l->world, sizeof(*w->root));
	for (uint32_t a = 0; a < outer[0]; a++)
	for (uint32_t b = 0; b < outer[1]; b++)
	for (uint32_t cp = 0; cp < l->cp; cp++)
	for (uint32_t tp = 0; tp < l->tp; tp++) {
		w->at[r].tp = tp;
		w->at[r].cp = cp;
		w->at[r].dp = pp_first ? a : b;
		w->at[r++].pp = pp_first ? b : a;
	}
	assert_int_equal(r, l->world);
	r = 0;
	for (uint32_t a = 0; a < eouter[0]; a++)
	for (uint32_t b = 0; b < eouter[1]; b++)
	for (uint32_t ep = 0; ep < l->ep; ep++)
	for (uint32_t etp = 0; etp < l->etp; etp++) {
		w->at[r].etp = etp;
		w->at[r].ep = ep;
		w->at[r].edp = pp_first ? a : b;
		/* the same pipeline stage in both grids */
		assert_int_equal(w->at[r++].pp, pp_first ? b : a);
	}
	assert_int_equal(r, l->world);
}

static void world_done(struct world *w)
{
	free(w->at);
	free(w->root);
}

static bool tied(const struct sn_layout *l, const struct sn_coords *a,
		 const struct sn_coords *b, enum sn_domain d)
{
	if (a->pp != b->pp)
		return false;
	if (l->tp_within <= d && a->cp == b->cp && a->dp == b->dp)
		return true;
	if (l->cp_within <= d && a->tp == b->tp && a->dp == b->dp)
		return true;
	if (l->etp_within <= d && a->ep == b->ep && a->edp == b->edp)
		return true;
	return l->ep_within <= d && a->etp == b->etp && a->edp == b->edp;
}

/* Every pair; returns the size of all blocks, 0 if they differ. */
static uint32_t world_blocks(struct world *w, const struct sn_layout *l,
			     enum sn_domain d)
{
	uint32_t *count = calloc(l->world, sizeof(*count));
	uint32_t size;

	for (uint32_t r = 0; r < l->world; r++)
		w->root[r] = r;
	for (uint32_t a = 0; a < l->world; a++)
		for (uint32_t b = a + 1; b < l->world; b++)
			if (tied(l, &w->at[a], &w->at[b], d)) {
				uint32_t x = root_of(w->root, a);
				uint32_t y = root_of(w->root, b);

				w->root[x > y ? x : y] = x > y ? y : x;
			}
	for (uint32_t r = 0; r < l->world; r++)
		count[w->root[r] = root_of(w->root, r)]++;
	size = count[0];
	for (uint32_t r = 0; r < l->world; r++)
		if (count[r] && count[r] != size)
			size = 0;
	free(count);
	return size;
}

static uint32_t pick(unsigned int *seed, const uint32_t *from, uint32_t n)
{
	return from[(uint32_t)rand_r(seed) % n];
}

static void random_layouts_match_the_rule_in_loops(void **state)
{
	static const uint32_t sizes[] = { 1, 1, 2, 2, 3, 4, 6, 8 };
	static const char *const in[] = { "node", "unit", "supernode", "any" };
	unsigned int seed = 20250101, parsed = 0, scattered = 0, pp_dp = 0;
	unsigned int unequal = 0;

	(void)state;
	for (int i = 0; i < 60000 && parsed < 1500; i++) {
		uint32_t tp = pick(&seed, sizes, 8), cp = pick(&seed, sizes, 5);
		uint32_t ep = pick(&seed, sizes, 8), etp = pick(&seed, sizes, 7);
		uint32_t pp = pick(&seed, sizes, 6), dp = pick(&seed, sizes, 8);
		uint32_t t = tp * cp, e = etp * ep, x = t * dp;
		bool order = rand_r(&seed) % 2, valid;
		uint32_t ti = (uint32_t)rand_r(&seed) % 3;
		uint32_t ci = (uint32_t)rand_r(&seed) % 3;
		uint32_t ei = (uint32_t)rand_r(&seed) % 4;
		struct sn_layout l;
		struct sn_err err;
		struct world w;
		uint32_t *block, *next;
		char spec[256];
		int rc;

		if (x * pp > 600)
			continue;
		valid = x % e == 0 && (!order || pp == 1 || e == t);
		snprintf(spec, sizeof(spec),
			 "tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,order=%s,tp_within=%s,cp_within=%s,ep_within=%s",
			 tp, cp, ep, etp, pp, dp,
			 order ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp", in[ti],
			 in[ci], in[ei]);
		rc = sn_layout_parse(spec, 0, &l, &err);
		if (!valid) {
			assert_int_equal(rc, -EINVAL);
			continue;
		}
		if (rc) {
			/* the only excuse: blocks of unequal size */
			assert_non_null(strstr(err.text, "unequal"));
			l = (struct sn_layout){
				.tp = tp, .cp = cp, .ep = ep, .etp = etp,
				.pp = pp, .dp = dp, .world = x * pp,
				.edp = x / e, .order = (enum sn_order)order,
				.tp_within = (enum sn_domain)ti,
				.cp_within = (enum sn_domain)ci,
				.ep_within = (enum sn_domain)ei,
				.etp_within = SN_IN_SUPERNODE,
			};
			world_init(&w, &l);
			assert_true(!world_blocks(&w, &l, SN_IN_NODE) ||
				    !world_blocks(&w, &l, SN_IN_UNIT) ||
				    !world_blocks(&w, &l, SN_IN_SUPERNODE));
			world_done(&w);
			unequal++;
			continue;
		}
		parsed++;
		pp_dp += order && pp > 1 && dp > 1;
		assert_int_equal(l.world, x * pp);
		assert_int_equal(l.edp, x / e);
		world_init(&w, &l);
		for (uint32_t r = 0; r < l.world; r++) {
			struct sn_coords c;

			sn_layout_coords(&l, r, &c);
			assert_memory_equal(&c, &w.at[r], sizeof(c));
			assert_int_equal(sn_layout_rank(&l, c.pp,
				c.tp + tp * (c.cp + cp * c.dp)), r);
			assert_int_equal(sn_layout_rank(&l, c.pp,
				c.etp + etp * (c.ep + ep * c.edp)), r);
		}
		block = calloc(l.world, sizeof(*block));
		next = calloc(l.world, sizeof(*next));
		for (int d = SN_IN_NODE; d <= SN_IN_SUPERNODE; d++) {
			uint32_t size = world_blocks(&w, &l, (enum sn_domain)d);
			uint32_t n = 0;

			assert_int_equal(d == SN_IN_NODE ? l.node_block :
					 d == SN_IN_UNIT ? l.unit_block : l.atom,
					 size);
			assert_int_equal(sn_layout_blocks(&l, (enum sn_domain)d,
							  block), 0);
			for (uint32_t r = 0; r < l.world; r++) {
				if (w.root[r] == r)
					next[r] = n++;
				assert_int_equal(block[r], next[w.root[r]]);
				scattered += r && w.root[r] != r &&
					     w.root[r - 1] != w.root[r];
			}
		}
		assert_int_equal(l.dp_step, l.atom / t);
		assert_int_equal(l.atom % l.unit_block, 0);
		assert_int_equal(l.unit_block % l.node_block, 0);
		/* the grid: exactly the valid values of dp */
		if (!order || pp == 1)
			for (uint32_t d = 1; d < 40; d++)
				assert_int_equal(d % sn_layout_dp_grid(&l) == 0,
						 t * d % e == 0);
		free(block);
		free(next);
		world_done(&w);
	}
	/* the generator reached what it is for */
	assert_true(parsed >= 1000);
	assert_true(scattered > 1000);
	assert_true(pp_dp > 50);
	assert_true(unequal > 0);
}

static void atoms_of_known_layouts(void **state)
{
	struct sn_layout l;

	(void)state;
	l = parse("tp=8,ep=64,etp=1,pp=6,dp=128", 8);
	assert_int_equal(l.world, 6144);
	assert_int_equal(l.edp, 16);
	assert_int_equal(l.node_block, 8);
	assert_int_equal(l.unit_block, 8);
	assert_int_equal(l.atom, 64);
	assert_int_equal(l.dp_step, 8);
	assert_int_equal(l.tp_within, SN_IN_NODE);
	assert_int_equal(l.etp, 1);
	assert_int_equal(parse("tp=8,ep=64,etp=8,pp=6,dp=128", 8).atom, 512);
	/* tp wider than a node, and not a divisor of its cards */
	l = parse("tp=16,pp=8,dp=32", 8);
	assert_int_equal(l.tp_within, SN_IN_SUPERNODE);
	assert_int_equal(l.node_block, 1);
	assert_int_equal(l.atom, 16);
	assert_int_equal(parse("tp=3,dp=4", 8).tp_within, SN_IN_SUPERNODE);
	assert_int_equal(parse("tp=4", 0).tp_within, SN_IN_SUPERNODE);
	/* experts let go */
	l = parse("tp=2,ep=32,etp=1,pp=2,dp=32,ep_within=any", 8);
	assert_int_equal(l.atom, 2);
	assert_int_equal(l.dp_step, 1);
	assert_int_equal(sn_layout_dp_grid(&l), 16);
	/* defaults: every size is 1 */
	l = parse("map=auto", 8);
	assert_int_equal(l.world, 1);
	assert_int_equal(l.map, SN_MAP_AUTO);
	assert_int_equal(l.atom, 1);
}

static void presets_are_other_names_for_orders(void **state)
{
	struct sn_layout l;
	struct sn_coords c;
	uint32_t block[48];

	(void)state;
	assert_int_equal(parse("tp=2,pp=2,dp=2,preset=deepspeed", 8).order,
			 SN_ORDER_DP_PP);
	assert_int_equal(parse("tp=2,pp=2,dp=2,preset=mesh", 8).order,
			 SN_ORDER_DP_PP);
	assert_int_equal(parse("preset=megatron,order=tp-cp-ep-pp-dp,pp=2,dp=2",
			       8).order, SN_ORDER_PP_DP);
	/* vLLM: TP fastest, then PCP, then PP, then DP */
	l = parse("tp=2,cp=2,pp=3,dp=4,ep=16,etp=1,preset=vllm", 8);
	sn_layout_coords(&l, 2 * 2 * (2 + 3 * 1) + 3, &c);
	assert_int_equal(c.tp, 1);
	assert_int_equal(c.cp, 1);
	assert_int_equal(c.pp, 2);
	assert_int_equal(c.dp, 1);
	assert_int_equal(c.ep, 7);
	assert_int_equal(c.edp, 0);
	/* one atom is one stage, and stages interleave */
	assert_int_equal(l.atom, 16);
	assert_int_equal(l.dp_step, 4);
	assert_int_equal(sn_layout_blocks(&l, SN_IN_SUPERNODE, block), 0);
	for (uint32_t r = 0; r < 48; r++)
		assert_int_equal(block[r], r / 4 % 3);
	/* dense vLLM with cp and pp: no expert grid to disagree with */
	l = parse("tp=2,cp=2,pp=3,dp=4,preset=vllm", 8);
	assert_int_equal(l.atom, 4);
	REFUSED("tp=2,pp=2,dp=4,ep=4,etp=1,preset=vllm", 8, "ep=4", "2*1*4 = 8");
	REFUSED("tp=2,pp=2,dp=4,ep=8,etp=2,preset=vllm", 8, "etp must be 1");
	REFUSED("pp=2,dp=2,preset=deepspeed,order=tp-pp-dp", 8, "contradicts",
		"preset=deepspeed");
	REFUSED("pp=2,dp=2,preset=mesh,order=pp-dp", 8, "contradicts");
	REFUSED("pp=2,dp=2,preset=vllm,order=tp-cp-ep-dp-pp", 8, "contradicts");
	REFUSED("preset=fsdp", 8, "preset=fsdp", "mesh");
}

static void order_may_leave_out_axes_of_size_1(void **state)
{
	(void)state;
	assert_int_equal(parse("tp=2,pp=2,dp=2,order=tp-dp-pp", 8).order,
			 SN_ORDER_DP_PP);
	assert_int_equal(parse("tp=2,pp=2,dp=2,order=tp-pp-dp", 8).order,
			 SN_ORDER_PP_DP);
	assert_int_equal(parse("tp=2,pp=2,order=tp-pp", 8).order,
			 SN_ORDER_DP_PP);
	assert_int_equal(parse("dp=2,order=dp,preset=vllm", 8).order,
			 SN_ORDER_PP_DP);
	REFUSED("tp=2,pp=2,dp=2,order=pp-dp-tp", 8, "tp-cp-ep-dp-pp",
		"tp-cp-ep-pp-dp", "order=pp-dp-tp");
	REFUSED("tp=2,pp=2,dp=2,order=tp-dp", 8, "leaves out pp=2");
	REFUSED("tp=2,dp=2,order=dp-tp", 8, "tp-cp-ep-dp-pp");
	REFUSED("tp=2,dp=2,order=tp-tp-dp", 8, "tp-cp-ep-dp-pp");
	REFUSED("tp=2,dp=2,order=tp-dp-", 8, "tp-cp-ep-dp-pp");
	REFUSED("tp=2,dp=2,order=tp--dp", 8, "tp-cp-ep-dp-pp");
	REFUSED("tp=2,dp=2,order=-", 8, "tp-cp-ep-dp-pp");
	REFUSED("tp=2,dp=2,order=", 8, "tp-cp-ep-dp-pp");
	REFUSED("tp=2,dp=2,order=t-d", 8, "tp-cp-ep-dp-pp");
}

static void a_node_holds_what_is_bound_to_it(void **state)
{
	(void)state;
	REFUSED("tp=16,tp_within=node", 8, "tp_within=node", "16 > 8");
	REFUSED("tp=8,cp=2,cp_within=node", 8,
		"tp_within=node, cp_within=node", "tp=8 with cp=2", "16 > 8");
	REFUSED("tp=4,dp=4,ep=16,etp=1,ep_within=node", 8, "ep=16", "16 > 8");
	assert_int_equal(parse("tp=16,tp_within=node", 16).node_block, 16);
	assert_int_equal(parse("tp=16,tp_within=node", 0).node_block, 16);
	assert_int_equal(parse("tp=4,cp=2,cp_within=node", 8).node_block, 8);
	assert_int_equal(parse("tp=16,tp_within=unit", 8).unit_block, 16);
}

static void format_round_trips(void **state)
{
	static const char *const specs[] = {
		"tp=8,ep=64,etp=1,pp=6,dp=128", "dp=3", "tp=3,dp=5",
		"tp=2,pp=2,dp=2,order=tp-pp-dp,map=auto",
		"tp=2,cp=2,pp=3,dp=4,ep=16,etp=1,preset=vllm,ep_within=any",
		"tp=2,pp=2,preset=mesh,tp_within=unit,cp_within=unit",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		for (uint32_t cards = 0; cards <= 16; cards += 8) {
			struct sn_layout a = parse(specs[i], cards), b;
			char text[SN_LAYOUT_TEXT_MAX];

			sn_layout_format(&a, text, sizeof(text));
			b = parse(text, 0);
			assert_memory_equal(&a, &b, sizeof(a));
		}
}

static void set_dp_checks_anew(void **state)
{
	struct sn_layout l = parse("tp=8,ep=64,etp=1,pp=6,dp=128", 8), old;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_layout_set_dp(&l, 64, &err), 0);
	assert_int_equal(l.world, 3072);
	assert_int_equal(l.edp, 8);
	assert_int_equal(l.atom, 64);
	assert_int_equal(l.tp_within, SN_IN_NODE);
	old = l;
	assert_int_equal(sn_layout_set_dp(&l, 60, &err), -EINVAL);
	assert_non_null(strstr(err.text, "dp=56 or 64"));
	assert_int_equal(sn_layout_set_dp(&l, 0, &err), -EINVAL);
	assert_int_equal(sn_layout_set_dp(&l, 1u << 31, &err), -EINVAL);
	assert_memory_equal(&old, &l, sizeof(l));
}

/* 100,000 ranks: every block has its size, and is numbered by its first rank. */
static void a_large_layout_is_whole(void **state)
{
	struct sn_layout l = parse("tp=8,cp=2,ep=64,etp=1,pp=8,dp=800,tp_within=supernode,cp_within=node", 8);
	uint32_t *block = malloc(l.world * sizeof(*block));
	uint32_t *count = calloc(l.world, sizeof(*count));
	uint32_t seen = 0;

	(void)state;
	assert_int_equal(sn_layout_blocks(&l, SN_IN_SUPERNODE, block), 0);
	for (uint32_t r = 0; r < l.world; r++) {
		assert_true(block[r] <= seen);
		seen += block[r] == seen;
		count[block[r]]++;
	}
	assert_int_equal(seen, l.world / l.atom);
	for (uint32_t i = 0; i < seen; i++)
		assert_int_equal(count[i], l.atom);
	free(count);
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_layouts_match_the_rule_in_loops),
		cmocka_unit_test(atoms_of_known_layouts),
		cmocka_unit_test(presets_are_other_names_for_orders),
		cmocka_unit_test(order_may_leave_out_axes_of_size_1),
		cmocka_unit_test(a_node_holds_what_is_bound_to_it),
		cmocka_unit_test(format_round_trips),
		cmocka_unit_test(set_dp_checks_anew),
		cmocka_unit_test(a_large_layout_is_whole),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
