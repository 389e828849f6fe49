/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_sizes.c - the data-parallel sizes that an elastic job may have.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/sizes.h"

static struct sn_sizes sizes_of(const char *parallel, const char *elastic)
{
	const struct sn_jobspec_text text = { .parallel = parallel, .elastic = elastic };
	struct sn_jobspec spec;
	struct sn_sizes sizes;
	struct sn_err err;

	if (sn_jobspec_parse(&text, 8, &spec, &err))
		fail_msg("%s", err.text);
	sn_sizes_init(&sizes, &spec.layout, spec.has_elastic ? &spec.elastic : NULL);
	return sizes;
}

/* The headline's layout: ep 64 over tp 8 ties 8 replicas. */
#define BIG "tp=8,ep=64,etp=1,pp=6,dp=128"

static void steps_are_the_atoms(void **state)
{
	struct sn_sizes s = sizes_of(BIG, "min_dp=64,max_dp=144");

	(void)state;
	assert_int_equal(s.step, 8);
	assert_int_equal(s.atom, 64);
	assert_int_equal(s.atoms, 6); /* pp atoms a step */
	assert_int_equal(sn_sizes_ranks(&s, 128), 6144);
	assert_true(sn_sizes_is_legal(&s, 64));
	assert_true(sn_sizes_is_legal(&s, 144));
	assert_false(sn_sizes_is_legal(&s, 56));
	assert_false(sn_sizes_is_legal(&s, 152));
	assert_false(sn_sizes_is_legal(&s, 68));
	assert_false(sn_sizes_is_legal(&s, 0));
	assert_int_equal(sn_sizes_lower(&s, 128), 120);
	assert_int_equal(sn_sizes_higher(&s, 128), 136);
	assert_int_equal(sn_sizes_lower(&s, 64), 0);
	assert_int_equal(sn_sizes_higher(&s, 144), 0);
	assert_int_equal(sn_sizes_at_most(&s, 127), 120);
	assert_int_equal(sn_sizes_at_most(&s, 1u << 30), 144);
	assert_int_equal(sn_sizes_at_most(&s, 63), 0);
	assert_int_equal(sn_sizes_at_least(&s, 0), 64);
	assert_int_equal(sn_sizes_at_least(&s, 121), 128);
	assert_int_equal(sn_sizes_at_least(&s, 145), 0);
	assert_int_equal(sn_sizes_micro_batches(&s, 64), 0);
}

static void batches_leave_divisors(void **state)
{
	struct sn_sizes s = sizes_of("tp=2,dp=8", "min_dp=2,max_dp=16,gbs=96,mbs=2");

	(void)state;
	/* 48 = gbs/mbs: 2 3 4 6 8 12 16 */
	assert_int_equal(sn_sizes_higher(&s, 4), 6);
	assert_int_equal(sn_sizes_higher(&s, 8), 12);
	assert_int_equal(sn_sizes_lower(&s, 12), 8);
	assert_false(sn_sizes_is_legal(&s, 10));
	assert_int_equal(sn_sizes_micro_batches(&s, 8), 6);
	assert_int_equal(sn_sizes_micro_batches(&s, 16), 3);
	/* The global batch is the same at each. */
	for (uint32_t dp = s.min; dp; dp = sn_sizes_higher(&s, dp))
		assert_int_equal(sn_sizes_micro_batches(&s, dp) * s.mbs * dp, s.gbs);
}

static void without_elastic_there_is_one(void **state)
{
	struct sn_sizes s = sizes_of("tp=4,pp=2,dp=6", NULL);

	(void)state;
	assert_true(sn_sizes_is_legal(&s, 6));
	assert_int_equal(sn_sizes_lower(&s, 6), 0);
	assert_int_equal(sn_sizes_higher(&s, 6), 0);
	assert_int_equal(sn_sizes_at_most(&s, 7), 6);
	assert_int_equal(sn_sizes_at_most(&s, 5), 0);
}

static void cards_of_supernodes_hold_whole_atoms(void **state)
{
	struct sn_sizes s = sizes_of("tp=8,ep=16,etp=1,pp=2,dp=8", "min_dp=2");
	const uint32_t whole[] = { 64, 64 }, one_less[] = { 56, 64 },
		small[] = { 15, 15, 15, 15 }, odd[] = { 48, 0 }, big[] = { 4096 };

	(void)state;
	/* Atoms of 16 ranks, a step of two replicas is two of them. */
	assert_int_equal(s.atom, 16);
	assert_int_equal(s.atoms, 2);
	assert_int_equal(sn_sizes_fit(&s, whole, 2), 8);
	assert_int_equal(sn_sizes_fit(&s, one_less, 2), 6); /* 3 + 4 atoms */
	assert_int_equal(sn_sizes_fit(&s, odd, 2), 2); /* 3 atoms */
	assert_int_equal(sn_sizes_fit(&s, small, 4), 0);
	assert_int_equal(sn_sizes_fit(&s, big, 1), 8);
	assert_int_equal(sn_sizes_fit(&s, NULL, 0), 0);
}

/* Every prefix of the members is a legal size, and all of them the whole way. */
static void check_members(const struct sn_sizes *s, uint32_t from, uint32_t to,
			  size_t most, size_t want)
{
	uint32_t dp[256], at = from;
	size_t n = sn_sizes_members(s, from, to, most, dp);

	assert_int_equal(n, want);
	for (size_t i = 0; i < n; i++) {
		at += dp[i];
		assert_true(sn_sizes_is_legal(s, at));
		assert_int_equal(dp[i] % s->step, 0);
	}
	assert_int_equal(at, to);
}

static void members_go_from_size_to_size(void **state)
{
	struct sn_sizes s = sizes_of(BIG, "min_dp=64,max_dp=144");
	struct sn_sizes b = sizes_of("tp=2,dp=8", "min_dp=2,max_dp=16,gbs=96,mbs=2");

	(void)state;
	check_members(&s, 64, 144, 32, 10);
	check_members(&s, 64, 144, 10, 10);
	check_members(&s, 64, 144, 4, 4); /* 3 + 3 + 3 + 1 steps */
	check_members(&s, 64, 144, 1, 1);
	check_members(&s, 128, 128, 4, 0);
	check_members(&b, 2, 16, 32, 6);
	check_members(&b, 2, 16, 3, 3);
	check_members(&b, 8, 12, 3, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_the_atoms),
		cmocka_unit_test(batches_leave_divisors),
		cmocka_unit_test(without_elastic_there_is_one),
		cmocka_unit_test(cards_of_supernodes_hold_whole_atoms),
		cmocka_unit_test(members_go_from_size_to_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
