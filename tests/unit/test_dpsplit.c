/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/dpsplit.h"

static void set_is(const struct sn_ranksets *sets, uint32_t i,
		   const uint32_t *want, uint32_t n)
{
	assert_true(i < sets->n);
	assert_int_equal(sets->first[i + 1] - sets->first[i], n);
	assert_memory_equal(sets->rank + sets->first[i], want, n * sizeof(*want));
}

static void parts_keep_the_groups_order(void **state)
{
	uint32_t rank[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
	/* Group 0 alternates, group 1 stays. */
	const uint32_t in[] = { 5, 1, 0, 1, 5, 1, 0, 1 };
	struct sn_groups dp = { 2, 4, rank };
	struct sn_dpsplit split;

	(void)state;
	assert_int_equal(sn_dpsplit_build(&dp, in, 6, &split, NULL), 0);
	assert_int_equal(split.intra.n, 3);
	set_is(&split.intra, 0, (uint32_t[]){ 0, 4 }, 2);
	set_is(&split.intra, 1, (uint32_t[]){ 2, 6 }, 2);
	set_is(&split.intra, 2, (uint32_t[]){ 1, 3, 5, 7 }, 4);
	assert_int_equal(split.inter.n, 2);
	set_is(&split.inter, 0, (uint32_t[]){ 0, 2 }, 2);
	set_is(&split.inter, 1, (uint32_t[]){ 1 }, 1);
	sn_dpsplit_done(&split);
}

/* What must hold for any placement: parts are disjoint, cover all, lie in one
 * supernode each, and have one leader in the inter group of their group. */
static void invariants(const struct sn_groups *dp, const uint32_t *in,
		       uint32_t n_supernodes)
{
	uint32_t world = dp->n * dp->size, part = 0;
	uint32_t *seen = calloc(world, sizeof(*seen));
	struct sn_dpsplit split;

	assert_int_equal(sn_dpsplit_build(dp, in, n_supernodes, &split, NULL), 0);
	assert_int_equal(split.inter.n, dp->n);
	for (uint32_t g = 0; g < dp->n; g++) {
		uint32_t lead = split.inter.first[g];

		for (uint32_t members = 0; members < dp->size; part++, lead++) {
			uint32_t from = split.intra.first[part];

			assert_true(part < split.intra.n);
			assert_int_equal(split.inter.rank[lead], split.intra.rank[from]);
			for (uint32_t i = from; i < split.intra.first[part + 1]; i++, members++) {
				seen[split.intra.rank[i]]++;
				assert_int_equal(in[split.intra.rank[i]],
						 in[split.intra.rank[from]]);
			}
		}
		assert_int_equal(lead, split.inter.first[g + 1]);
		/* No two parts of a group in one supernode. */
		for (uint32_t a = split.inter.first[g]; a < lead; a++)
			for (uint32_t b = split.inter.first[g]; b < a; b++)
				assert_int_not_equal(in[split.inter.rank[a]],
						     in[split.inter.rank[b]]);
	}
	assert_int_equal(part, split.intra.n);
	for (uint32_t r = 0; r < world; r++)
		assert_int_equal(seen[r], 1);
	sn_dpsplit_done(&split);
	free(seen);
}

static void random_placements(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct sn_layout l;
		struct sn_groups dp;
		uint32_t in[64];

		assert_int_equal(sn_layout_parse(i % 2 ? "tp=2,pp=4,dp=8" :
						 "tp=4,pp=2,dp=8,order=tp-cp-ep-pp-dp",
						 0, &l, NULL), 0);
		assert_int_equal(sn_groups_build(&l, SN_GROUP_DP, &dp, NULL), 0);
		for (int r = 0; r < 64; r++) {
			seed = seed * 1664525 + 1013904223;
			in[r] = (seed >> 16) % (uint32_t)(1 + i % 9);
		}
		invariants(&dp, in, 9);
		sn_groups_done(&dp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_keep_the_groups_order),
		cmocka_unit_test(random_placements),
	};

	return cmocka_run_group_tests_name("dpsplit", tests, NULL, NULL);
}
