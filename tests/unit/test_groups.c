/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_groups.c - groups against coordinates, known cases, and the dumps of
 * Megatron-LM's own rule where they are at hand.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "topology/groups.h"

/* What a group's members share (bit set: the coordinate may differ). */
enum { TP = 1, CP = 2, DP = 4, PP = 8, ETP = 16, EP = 32, EDP = 64 };

static const struct {
	const char *name;
	int dense; /* the axes spanned, as bits of one grid */
	int expert;
} spans[SN_GROUP_KINDS] = {
	{ "tp", TP, 0 }, { "cp", CP, 0 }, { "dp", DP, 0 },
	{ "dp_cp", DP | CP, 0 }, { "pp", PP, 0 }, { "mp", TP | PP, 0 },
	{ "tp_cp", TP | CP, 0 }, { "tp_dp", TP | DP, 0 },
	{ "tp_dp_cp", TP | DP | CP, 0 }, { "ep", 0, EP }, { "ep_tp", 0, ETP },
	{ "tp_ep_mp", 0, ETP | EP }, { "tp_ep_pp", 0, ETP | EP | PP },
	{ "ep_dp", 0, EDP }, { "embd", PP, 0 }, { "pos_embd", PP, 0 },
};

static struct sn_layout parse(const char *spec)
{
	struct sn_layout l;
	struct sn_err err;

	if (sn_layout_parse(spec, 8, &l, &err))
		fail_msg("%s: %s", spec, err.text);
	return l;
}

static struct sn_groups build(const struct sn_layout *l, int kind)
{
	struct sn_groups g;
	struct sn_err err;

	if (sn_groups_build(l, (enum sn_group_kind)kind, &g, &err))
		fail_msg("%s", err.text);
	return g;
}

/* Coordinates by the formulas of Megatron-LM, not by the core: rank is peeled
 * from the leftmost axis of the order. */
struct at { uint32_t c[4]; }; /* leftmost of the order first */

static struct at peel(uint32_t rank, const uint32_t *size)
{
	struct at at;

	for (int i = 0; i < 4; i++) {
		at.c[i] = rank % size[i];
		rank /= size[i];
	}
	return at;
}

/* The value by which ranks are sorted: the axes of mask, leftmost fastest. */
static uint64_t key_of(const struct at *at, const uint32_t *size,
		       const int *bit, int mask)
{
	uint64_t key = 0, unit = 1;

	for (int i = 0; i < 4; i++)
		if (mask & bit[i]) {
			key += at->c[i] * unit;
			unit *= size[i];
		}
	return key;
}

/*
 * Brute force: the group of a rank is numbered by its other axes, its place
 * in it by the spanned ones; so every (group, place) is known from the rank
 * alone, and what was built must hold exactly it.
 */
static void check_kind(const struct sn_layout *l, int kind)
{
	bool pp_first = l->order == SN_ORDER_PP_DP;
	bool expert = spans[kind].expert;
	int mask = spans[kind].dense | spans[kind].expert;
	uint32_t size[4] = { expert ? l->etp : l->tp, expert ? l->ep : l->cp,
			     expert ? l->edp : l->dp, l->pp };
	int bit[4] = { expert ? ETP : TP, expert ? EP : CP,
		       expert ? EDP : DP, PP };
	struct sn_groups g = build(l, kind);
	uint64_t members = 0;

	if (pp_first) {
		uint32_t s = size[2];
		int b = bit[2];

		size[2] = size[3];
		size[3] = s;
		bit[2] = bit[3];
		bit[3] = b;
	}
	for (uint32_t r = 0; r < l->world; r++) {
		struct at at = peel(r, size);
		uint64_t group = key_of(&at, size, bit, ~mask);
		uint64_t place = key_of(&at, size, bit, mask);

		assert_true(group < g.n);
		if (kind == SN_GROUP_POS_EMBD) {
			if (place)
				continue;
		} else if (kind == SN_GROUP_EMBD) {
			if (place && place != l->pp - 1)
				continue;
			place = place ? 1 : 0;
		}
		assert_true(place < g.size);
		assert_int_equal(g.rank[group * g.size + place], r);
		members++;
	}
	assert_int_equal(members, (uint64_t)g.n * g.size);
	sn_groups_done(&g);
	assert_null(g.rank);
}

static void random_layouts_match_brute_force(void **state)
{
	static const uint32_t sizes[] = { 1, 1, 2, 2, 3, 4, 6, 8 };
	unsigned int seed = 77, n = 0, orders[2] = { 0, 0 };

	(void)state;
	for (int i = 0; i < 200000 && n < 1000; i++) {
		uint32_t s[6];
		struct sn_layout l;
		char spec[200];
		int order = rand_r(&seed) % 2;

		for (int k = 0; k < 6; k++)
			s[k] = sizes[rand_r(&seed) % 8];
		if (order && rand_r(&seed) % 2) {
			/* else few random sizes satisfy etp·ep = tp·cp */
			s[2] = s[0];
			s[3] = s[1];
		}
		if (s[0] * s[1] * s[4] * s[5] > 2000)
			continue;
		snprintf(spec, sizeof(spec),
			 "tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,order=%s",
			 s[0], s[1], s[2], s[3], s[4], s[5],
			 order ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp");
		if (sn_layout_parse(spec, 8, &l, NULL))
			continue;
		for (int k = 0; k < SN_GROUP_KINDS; k++)
			check_kind(&l, k);
		n++;
		orders[order] += l.pp > 1 && l.dp > 1;
	}
	assert_int_equal(n, 1000);
	assert_true(orders[0] > 100 && orders[1] > 100);
}

static void names_are_the_keys_of_the_dumps(void **state)
{
	(void)state;
	for (int k = 0; k < SN_GROUP_KINDS; k++)
		assert_string_equal(sn_group_name((enum sn_group_kind)k),
				    spans[k].name);
}

static void is(const char *spec, int kind, uint32_t n, uint32_t size,
	       uint32_t first, uint32_t second, uint32_t last)
{
	struct sn_layout l = parse(spec);
	struct sn_groups g = build(&l, kind);

	assert_int_equal(g.n, n);
	assert_int_equal(g.size, size);
	assert_int_equal(g.rank[0], first);
	assert_int_equal(g.rank[1], second);
	assert_int_equal(g.rank[size - 1], last);
	sn_groups_done(&g);
}

static void known_groups(void **state)
{
	const char *wide = "tp=8,pp=6,dp=128,ep=64,etp=8";
	const char *flat = "tp=8,pp=6,dp=128,ep=64,etp=1";
	const char *small = "tp=4,pp=2,dp=4,ep=8,etp=1";

	(void)state;
	is(wide, SN_GROUP_EP, 96, 64, 0, 8, 504);
	is(wide, SN_GROUP_EP_DP, 3072, 2, 0, 512, 512);
	is(wide, SN_GROUP_PP, 1024, 6, 0, 1024, 5120);
	is(flat, SN_GROUP_EP, 96, 64, 0, 1, 63);
	is(flat, SN_GROUP_EP_DP, 384, 16, 0, 64, 960);
	is(small, SN_GROUP_EP, 4, 8, 0, 1, 7);
	is(small, SN_GROUP_EP_DP, 16, 2, 0, 8, 8);
	is(small, SN_GROUP_PP, 16, 2, 0, 16, 16);
	is(flat, SN_GROUP_EMBD, 1024, 2, 0, 5120, 5120);
	/* one stage: first and last are the same rank, named once */
	is("tp=2,dp=2", SN_GROUP_EMBD, 4, 1, 0, 1, 0);
	is("tp=2,dp=2", SN_GROUP_POS_EMBD, 4, 1, 0, 1, 0);
}

/* vLLM's experts: all ranks of a pipeline stage, TP fastest, then PCP, then DP;
 * a stage's ranks are not consecutive. */
static void vllm_experts_span_a_stage(void **state)
{
	struct sn_layout l = parse("tp=2,pp=2,dp=2,ep=4,etp=1,preset=vllm");
	static const uint32_t ep[] = { 0, 1, 4, 5, 2, 3, 6, 7 };
	static const uint32_t pp[] = { 0, 2, 1, 3, 4, 6, 5, 7 };
	struct sn_groups g = build(&l, SN_GROUP_EP);

	(void)state;
	assert_int_equal(g.n, 2);
	assert_int_equal(g.size, 4);
	assert_memory_equal(g.rank, ep, sizeof(ep));
	sn_groups_done(&g);
	g = build(&l, SN_GROUP_EP_DP);
	assert_int_equal(g.n, 8);
	assert_int_equal(g.size, 1);
	sn_groups_done(&g);
	g = build(&l, SN_GROUP_PP);
	assert_memory_equal(g.rank, pp, sizeof(pp));
	sn_groups_done(&g);
}

static uint32_t number(struct json_object *o, const char *key)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(o, key, &v));
	return (uint32_t)json_object_get_int64(v);
}

static void check_dump(const char *path)
{
	struct json_object *dump = json_object_from_file(path), *o, *groups;
	struct sn_layout l;
	struct sn_err err;
	char spec[200];
	int checked = 0;

	assert_non_null(dump);
	assert_true(json_object_object_get_ex(dump, "order", &o));
	snprintf(spec, sizeof(spec),
		 "tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,order=%s",
		 number(dump, "tp"), number(dump, "cp"), number(dump, "ep"),
		 number(dump, "etp"), number(dump, "pp"), number(dump, "dp"),
		 json_object_get_string(o));
	if (sn_layout_parse(spec, 8, &l, &err))
		fail_msg("%s: %s: %s", path, spec, err.text);
	assert_int_equal(l.world, number(dump, "world"));
	assert_int_equal(l.edp, number(dump, "edp"));
	assert_true(json_object_object_get_ex(dump, "groups", &groups));
	json_object_object_foreach(groups, name, list) {
		struct sn_groups g;
		int k;

		for (k = 0; k < SN_GROUP_KINDS; k++)
			if (!strcmp(name, sn_group_name((enum sn_group_kind)k)))
				break;
		if (k == SN_GROUP_KINDS)
			fail_msg("%s: no kind of group \"%s\"", path, name);
		g = build(&l, k);
		if (json_object_array_length(list) != g.n)
			fail_msg("%s: %s: %u groups", path, name, g.n);
		for (uint32_t i = 0; i < g.n; i++) {
			struct json_object *m =
				json_object_array_get_idx(list, i);

			assert_int_equal(json_object_array_length(m), g.size);
			for (uint32_t j = 0; j < g.size; j++)
				if (json_object_get_int64(json_object_array_get_idx(m, j)) !=
				    g.rank[i * g.size + j])
					fail_msg("%s: %s[%u][%u] is %u", path,
						 name, i, j,
						 g.rank[i * g.size + j]);
		}
		sn_groups_done(&g);
		checked++;
	}
	assert_int_equal(checked, SN_GROUP_KINDS);
	if (!json_object_object_get_ex(dump, "coords", &o))
		o = NULL; /* the large dumps leave them out */
	for (size_t i = 0; o && i < json_object_array_length(o); i++) {
		struct json_object *at = json_object_array_get_idx(o, i);
		struct sn_coords c;

		sn_layout_coords(&l, number(at, "rank"), &c);
		json_object_object_foreach(at, axis, v) {
			uint32_t is_now = !strcmp(axis, "tp") ? c.tp :
				!strcmp(axis, "cp") ? c.cp :
				!strcmp(axis, "dp") ? c.dp :
				!strcmp(axis, "pp") ? c.pp :
				!strcmp(axis, "etp") ? c.etp :
				!strcmp(axis, "ep") ? c.ep :
				!strcmp(axis, "edp") ? c.edp :
				number(at, "rank");

			assert_int_equal(json_object_get_int64(v), is_now);
		}
	}
	json_object_put(dump);
}

static void dumps_of_the_real_rule(void **state)
{
	const char *shared = getenv("SN_SHARED"), *src = getenv("SN_SRCDIR");
	char dir[1024], path[2048];
	struct dirent *entry;
	int n = 0;
	DIR *d;

	(void)state;
	if (shared)
		snprintf(dir, sizeof(dir), "%s/data/megatron-groups", shared);
	else
		snprintf(dir, sizeof(dir), "%s/../shared/data/megatron-groups",
			 src ? src : ".");
	d = opendir(dir);
	if (!d) {
		print_message("# no dumps (SN_SHARED is not set): not compared\n");
		return;
	}
	while ((entry = readdir(d))) {
		size_t len = strlen(entry->d_name);

		if (len < 5 || strcmp(entry->d_name + len - 5, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		check_dump(path);
		n++;
	}
	closedir(d);
	print_message("# %d dumps equal\n", n);
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_the_keys_of_the_dumps),
		cmocka_unit_test(known_groups),
		cmocka_unit_test(random_layouts_match_brute_force),
		cmocka_unit_test(vllm_experts_span_a_stage),
		cmocka_unit_test(dumps_of_the_real_rule),
	};

	return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
