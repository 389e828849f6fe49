/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_timeouts.c - timeouts by what a job's collectives take.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/timeouts.h"

#define S 1000000000ull

static uint32_t suggest(enum sn_timeout which, double seconds, uint32_t preset, bool *is_short)
{
	const struct sn_usual usual = { .n_ops = 1000, .exec = (uint64_t)(seconds * 1e9),
		.n_created = 3, .connect = (uint64_t)(seconds * 1e9) };

	return sn_timeout_suggest(which, &usual, preset, is_short);
}

/* usual, suggested, and whether the limit is below five times */
static void expect(enum sn_timeout which, double seconds, uint32_t want, bool want_short)
{
	bool is_short;

	assert_int_equal(suggest(which, seconds, 0, &is_short), want);
	assert_int_equal(is_short, want_short);
}

static void test_ranges(void **state)
{
	(void)state;
	/* Never below the default, however quick. */
	expect(SN_TIMEOUT_HCCL_CONNECT, 0.001, 120, false);
	expect(SN_TIMEOUT_HCCL_EXEC, 0.001, 1836, false);
	expect(SN_TIMEOUT_COMM, 0.001, 600, false);
	/* Ten times. */
	expect(SN_TIMEOUT_HCCL_CONNECT, 12.0, 120, false);
	expect(SN_TIMEOUT_HCCL_CONNECT, 12.01, 121, false);
	expect(SN_TIMEOUT_HCCL_EXEC, 200, 2000, false);
	expect(SN_TIMEOUT_COMM, 90.55, 906, false);
	/* At most the limit: five times at least, or it is said. */
	expect(SN_TIMEOUT_HCCL_CONNECT, 720, 7200, false);
	expect(SN_TIMEOUT_HCCL_CONNECT, 1440, 7200, false);
	expect(SN_TIMEOUT_HCCL_CONNECT, 1441, 7200, true);
	expect(SN_TIMEOUT_HCCL_EXEC, 1e6, 17340, true);
	expect(SN_TIMEOUT_COMM, 1e10, 86400, true);
}

static void test_site(void **state)
{
	bool is_short;

	(void)state;
	/* What the site sets is the least; above it ten times count. */
	assert_int_equal(suggest(SN_TIMEOUT_HCCL_CONNECT, 10, 1800, &is_short), 1800);
	assert_int_equal(suggest(SN_TIMEOUT_HCCL_CONNECT, 300, 1800, &is_short), 3000);
	assert_int_equal(suggest(SN_TIMEOUT_HCCL_CONNECT, 10, 60, &is_short), 120);
}

static void test_unknown(void **state)
{
	struct sn_usual usual = { .n_ops = SN_USUAL_MIN - 1, .exec = 500 * S };
	bool is_short;

	(void)state;
	assert_int_equal(sn_timeout_suggest(SN_TIMEOUT_HCCL_EXEC, &usual, 0, &is_short), 0);
	assert_int_equal(sn_timeout_suggest(SN_TIMEOUT_HCCL_CONNECT, &usual, 0, &is_short), 0);
	usual.n_ops++;
	assert_int_equal(sn_timeout_suggest(SN_TIMEOUT_HCCL_EXEC, &usual, 0, &is_short), 5000);
}

static void test_buffsize(void **state)
{
	static const struct { uint64_t bytes; uint32_t mb; } want[] = {
		{ 0, 0 }, { 1, 1 }, { 100ull << 20, 120 }, { (100ull << 20) + 1, 121 },
		{ 1ull << 30, 1229 }, /* 1228.8 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct sn_usual usual = { .largest = want[i].bytes };

		assert_int_equal(sn_buffsize_suggest(&usual), want[i].mb);
	}
	assert_true(sn_buffsize_suggest(&(struct sn_usual){ .largest = UINT64_MAX }) > 1u << 30);
}

static void test_measure(void **state)
{
	struct sn_records rec;
	struct sn_usual usual;
	struct sn_rec_new new = { .name = "a", .members = "0-99", .index = 0, .took = 3 * S };

	(void)state;
	sn_records_init(&rec);
	assert_int_equal(sn_usual_measure(&rec, &usual, NULL), 0);
	assert_int_equal(usual.n_ops, 0);
	/* Rank r takes r + 1 seconds; one of them has not ended. */
	for (uint32_t r = 0; r < 100; r++) {
		new.index = r;
		new.took = r == 7 ? 40 * S : 3 * S;
		assert_int_equal(sn_records_comm(&rec, r, 0, &new, NULL), 0);
		assert_int_equal(sn_records_op(&rec, r, 0, "a", 1, "all_reduce", 1000 + r,
					       500 * S, (501 + r) * S, NULL), 0);
	}
	assert_int_equal(sn_records_op(&rec, 4, 0, "a", 2, "all_reduce", 9, 700 * S, 0, NULL), 0);
	assert_int_equal(sn_records_op(&rec, 5, 0, "a", 2, "all_reduce", 9, 700 * S, 1, NULL), 0);
	assert_int_equal(sn_usual_measure(&rec, &usual, NULL), 0);
	assert_int_equal(usual.n_ops, 100);
	assert_true(usual.middle == 50 * S);
	assert_true(usual.exec == 99 * S);
	assert_int_equal(usual.n_created, 100);
	assert_true(usual.connect == 40 * S);
	assert_int_equal(usual.largest, 1099);
	sn_records_done(&rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_site),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_buffsize),
		cmocka_unit_test(test_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
