/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_nalloc_place.c - layouts, groups, rank maps and placements without
 * memory: see nalloc.h.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nalloc.h"
#include "topology/groups.h"
#include "topology/jobspec.h"
#include "topology/layout.h"
#include "topology/place.h"
#include "topology/rankmap.h"
#include "topology/spares.h"

static int blocks(void *arg, struct sn_err *err)
{
	struct sn_layout layout;
	uint32_t *block;
	int rc = sn_layout_parse(arg, 8, &layout, err);

	if (rc)
		return rc;
	block = calloc(layout.world, sizeof(*block));
	if (!block)
		return sn_err_set(err, -ENOMEM, "test");
	rc = sn_layout_blocks(&layout, SN_IN_SUPERNODE, block);
	free(block);
	/* It has no sentence of its own. */
	return rc ? sn_err_set(err, rc, "blocks") : 0;
}

static int groups(void *arg, struct sn_err *err)
{
	struct sn_layout layout;
	struct sn_groups g;
	int rc = sn_layout_parse(arg, 8, &layout, err), kind;

	for (kind = 0; !rc && kind < SN_GROUP_KINDS; kind++) {
		rc = sn_groups_build(&layout, (enum sn_group_kind)kind, &g, err);
		if (!rc)
			sn_groups_done(&g);
	}
	return rc;
}

static int jobspec(void *arg, struct sn_err *err)
{
	struct sn_jobspec_text text = {
		.parallel = arg, .pool = "1T,bw=1G", .spares = "1",
		.elastic = "min_dp=8", .role = "train", .service = "s",
	};
	struct sn_jobspec spec;

	return sn_jobspec_parse(&text, 8, &spec, err);
}

static int rankmap(void *arg, struct sn_err *err)
{
	static const struct sn_rankmap_node node[] = {
		{ 0, 8, 0 }, { 0, 8, 0 }, { 0, 8, 0 }, { 0, 8, 0 },
		{ 1, 8, 0 }, { 1, 8, 0 }, { 1, 4, 0 }, { 1, 4, 0 }, { 1, 8, 0 },
	};
	struct sn_layout layout;
	struct sn_rankmap map;
	int rc = sn_layout_parse(arg, 8, &layout, err);

	if (!rc)
		rc = sn_rankmap_build(&layout, node, 9, &map, err);
	if (!rc)
		sn_rankmap_done(&map);
	return rc;
}

/* A cluster and a job on it. */
struct job {
	struct sn_topo *topo;
	const char *parallel, *pool, *spares;
	uint32_t nodes; /* -N */
	uint64_t pool_free;
};

static int place(void *arg, struct sn_err *err)
{
	const struct job *job = arg;
	const struct sn_topo *t = job->topo;
	struct sn_place_node node[64];
	struct sn_place_supernode supernode[16];
	struct sn_place_state state = { node, supernode };
	struct sn_jobspec_text text = {
		.parallel = job->parallel, .pool = job->pool, .spares = job->spares,
	};
	struct sn_place_request request;
	struct sn_placement placement;
	struct sn_jobspec spec;
	uint32_t i;
	int rc;

	assert_true(t->n_nodes <= 64 && t->n_supernodes <= 16);
	for (i = 0; i < t->n_nodes; i++) {
		/* Uneven, with some nodes that come last and some away. */
		node[i] = (struct sn_place_node){
			.cards = 0xff, .free = i % 5 == 3 ? 0x3e : 0xff,
			.weight = 1 + i % 3, .max_ranks = UINT32_MAX,
			.flags = i % 7 == 6 ? SN_NODE_LATE : i % 11 == 10 ? SN_NODE_ABSENT : 0,
		};
	}
	for (i = 0; i < t->n_supernodes; i++) {
		supernode[i] = (struct sn_place_supernode){
			.pool_free = job->pool_free,
			.bandwidth_free = UINT64_MAX, .keep_idle = i % 2,
		};
	}
	rc = sn_jobspec_parse(&text, 8, &spec, err);
	if (rc)
		return rc;
	sn_place_request_init(&request, &spec);
	request.exact_nodes = job->nodes;
	rc = sn_place(t, &state, &request, &placement, err);
	if (!rc)
		sn_placement_done(&placement);
	return rc;
}

/* Four nodes of s1 and three of s2, one a spare in each; or one less. */
static int find_spares(void *arg, struct sn_err *err)
{
	static const struct sn_spares_node node[] = {
		{ 0, 8 }, { 1, 8 }, { 2, 8 }, { 3, 8 }, { 8, 8 }, { 9, 8 }, { 10, 8 },
	};
	const struct job *job = arg;
	struct sn_layout layout;
	uint32_t ranks[7];
	int rc = sn_layout_parse(job->parallel, 8, &layout, err);

	return rc ? rc : sn_spares_find(job->topo, &layout, 1, node, job->nodes,
					ranks, NULL, err);
}

static void layouts(void **state)
{
	(void)state;
	assert_true(nalloc_check(blocks, "tp=2,cp=3,ep=2,etp=1,pp=2,dp=4", 0) > 1);
	assert_true(nalloc_check(groups, "tp=2,cp=1,ep=4,etp=1,pp=2,dp=4", 0) >= SN_GROUP_KINDS);
	nalloc_check(jobspec, "tp=8,ep=32,etp=1,pp=2,dp=8", 0);
	assert_true(nalloc_check(rankmap, "tp=4,ep=8,etp=1,pp=2,dp=8", 0) > 1);
	nalloc_check(rankmap, "tp=4,ep=8,etp=1,pp=2,dp=6", -EINVAL);
}

static void placements(void **state)
{
	static const char text[] =
		"SupernodeName=s[1-6] Nodes=n[1-48] SpareNodes=1 PoolMemory=4T\n"
		"UnitName=u[1-24] Nodes=n[1-48]\n"
		"FabricName=pod[1-2] Supernodes=s[1-4]\n"
		"FabricName=core Fabrics=pod[1-2] Supernodes=s5\n";
	struct sn_topo *topo;
	struct sn_err err;
	struct job job[] = {
		{ .parallel = "tp=8,ep=32,etp=1,pp=2,dp=8", .pool_free = UINT64_MAX },
		{ .parallel = "tp=2,dp=20", .pool_free = UINT64_MAX },
		{ .parallel = "tp=16,dp=4", .spares = "1", .pool_free = UINT64_MAX },
		{ .parallel = "tp=4,ep=8,etp=1,dp=8", .pool = "1T", .pool_free = 2ull << 40 },
		{ .parallel = "tp=4,tp_within=unit,dp=10", .nodes = 10, .pool_free = UINT64_MAX },
		{ .parallel = "dp=7", .pool_free = UINT64_MAX },
	};
	struct job no[] = {
		{ .parallel = "tp=8,dp=64", .pool_free = UINT64_MAX },
		{ .parallel = "tp=8,dp=2", .pool = "100T", .pool_free = 1ull << 40 },
		{ .parallel = "tp=128,dp=1", .pool_free = UINT64_MAX },
	};
	size_t i;

	(void)state;
	assert_int_equal(sn_topo_parse(text, sizeof(text) - 1, "t", NULL, NULL, &topo, &err), 0);
	for (i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
		job[i].topo = topo;
		assert_true(nalloc_check(place, &job[i], 0) > 3);
	}
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		no[i].topo = topo;
		nalloc_check(place, &no[i], -ENOSPC);
	}
	no[0] = (struct job){ .topo = topo, .parallel = "tp=16,tp_within=unit,dp=2", .nodes = 6 };
	assert_true(nalloc_check(find_spares, &no[0], 0) > 3);
	no[0] = (struct job){ .topo = topo, .parallel = "tp=8,dp=5", .nodes = 7 };
	assert_true(nalloc_check(find_spares, &no[0], 0) > 3);
	no[0].nodes = 6;
	assert_true(nalloc_check(find_spares, &no[0], 0) > 5);
	no[0].nodes = 4;
	nalloc_check(find_spares, &no[0], -ENOSPC);
	sn_topo_destroy(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts),
		cmocka_unit_test(placements),
	};

	return cmocka_run_group_tests_name("nalloc_place", tests, NULL, NULL);
}
