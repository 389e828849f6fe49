/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "topology/poolshare.h"

#define G (UINT64_C(1) << 30)

static void a_total_follows_the_ranks(void **state)
{
	(void)state;
	/* 48 of 64 ranks, six nodes of eight */
	assert_int_equal(sn_poolshare_supernode(SN_POOL_TOTAL, 64 * G, 48, 6, 64), 48 * G);
	assert_int_equal(sn_poolshare_node(SN_POOL_TOTAL, 64 * G, 8, 48, 64), 8 * G);
	assert_int_equal(sn_poolshare_node(SN_POOL_TOTAL, 64 * G, 3, 48, 64), 3 * G);
}

static void the_other_scopes_are_per_each_one_used(void **state)
{
	(void)state;
	assert_int_equal(sn_poolshare_supernode(SN_POOL_SUPERNODE, G, 48, 6, 64), G);
	assert_int_equal(sn_poolshare_supernode(SN_POOL_SUPERNODE, G, 0, 0, 64), 0);
	assert_int_equal(sn_poolshare_node(SN_POOL_SUPERNODE, 6 * G, 8, 48, 64), G);
	assert_int_equal(sn_poolshare_supernode(SN_POOL_NODE, G, 48, 6, 64), 6 * G);
	assert_int_equal(sn_poolshare_node(SN_POOL_NODE, G, 3, 48, 64), G);
	assert_int_equal(sn_poolshare_supernode(SN_POOL_CARD, G, 48, 6, 64), 48 * G);
	assert_int_equal(sn_poolshare_node(SN_POOL_CARD, G, 3, 48, 64), 3 * G);
}

static void nothing_is_nothing(void **state)
{
	(void)state;
	for (int per = SN_POOL_NONE; per <= SN_POOL_NAMED; per++) {
		assert_int_equal(sn_poolshare_supernode((enum sn_pool_per)per, G, 0, 0, 64), 0);
		assert_int_equal(sn_poolshare_node((enum sn_pool_per)per, G, 0, 8, 64), 0);
	}
	assert_int_equal(sn_poolshare_supernode(SN_POOL_NONE, G, 8, 1, 8), 0);
	assert_int_equal(sn_poolshare_supernode(SN_POOL_NAMED, G, 8, 1, 8), 0);
	assert_int_equal(sn_poolshare_supernode(SN_POOL_TOTAL, G, 8, 1, 0), 0);
}

static void great_sizes_do_not_wrap(void **state)
{
	uint64_t most = INT64_MAX;

	(void)state;
	assert_true(sn_poolshare_supernode(SN_POOL_CARD, most, 1000, 100, 1000) == UINT64_MAX);
	assert_true(sn_poolshare_node(SN_POOL_CARD, most, 8, 8, 8) == UINT64_MAX);
	assert_true(sn_poolshare_supernode(SN_POOL_TOTAL, most, 999, 100, 999) == most);
}

/* The nodes of a job together get what it asked for, but for what rounding
 * leaves, and in no supernode more than that is charged. */
static void the_parts_make_the_whole(void **state)
{
	(void)state;
	srand(1);
	for (int n = 0; n < 2000; n++) {
		uint32_t ranks[4][5], sum[4] = { 0 }, world = 0;
		uint64_t size = 1 + (uint64_t)rand() * 977, nodes = 0, charged = 0, out = 0;

		for (int s = 0; s < 4; s++)
			for (int k = 0; k < 5; k++) {
				ranks[s][k] = (uint32_t)rand() % 17;
				nodes += ranks[s][k] > 0;
				sum[s] += ranks[s][k];
				world += ranks[s][k];
			}
		if (!world)
			continue;
		for (int s = 0; s < 4; s++) {
			uint64_t take = sn_poolshare_supernode(SN_POOL_TOTAL, size, sum[s], 5, world);
			uint64_t given = 0;

			for (int k = 0; k < 5; k++)
				given += sn_poolshare_node(SN_POOL_TOTAL, size, ranks[s][k], sum[s], world);
			assert_true(given <= take);
			charged += take;
			out += given;
			/* the engine's question, without rounding */
			assert_true((unsigned __int128)size * sum[s] <= (unsigned __int128)take * world);
			assert_true(!take || (unsigned __int128)size * sum[s] > (unsigned __int128)(take - 1) * world);
		}
		assert_true(charged >= size && charged < size + 4);
		assert_true(out + nodes > size && out <= charged);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_total_follows_the_ranks),
		cmocka_unit_test(the_other_scopes_are_per_each_one_used),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(great_sizes_do_not_wrap),
		cmocka_unit_test(the_parts_make_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
