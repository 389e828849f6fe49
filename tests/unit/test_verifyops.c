/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_verifyops.c - operations that do not fit together, or in which somebody is missing.
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
#include <time.h>

#include <cmocka.h>

#include "topology/groups.h"
#include "topology/verify.h"
#include "tests/unit/verifybed.h"

static void test_bytes(void **state)
{
	(void)state;
	eight();
	for (uint64_t s = 1; s < 4; s++)
		for (uint32_t r = 0; r < 4; r++)
			op(r, "tp_0", s, "all_reduce", r == 2 && s > 1 ? 2048 : 4096, s * 100 + r, s * 100 + 50);
	verify();
	first_is(SN_FIND_BYTES,
		 "tp_0, all_reduce 2: rank 2 has 2048 bytes, ranks 0, 1 and 3 have 4096 bytes");
	/* 3 differs too, and follows from 2. */
	assert_int_equal(found.n, 1);
}

/* Sizes of an operation whose name ends in v are each rank's own. */
static void test_bytes_v(void **state)
{
	(void)state;
	eight();
	for (uint32_t r = 0; r < 4; r++)
		op(r, "tp_0", 1, "all_to_allv", r, 1, 2);
	verify();
	assert_int_equal(found.n, 0);
}

static void test_op(void **state)
{
	(void)state;
	eight();
	for (uint32_t r = 0; r < 4; r++)
		op(r, "tp_0", 7, r == 1 ? "all_gather" : "all_reduce", r, 1, 0);
	verify();
	first_is(SN_FIND_OP,
		 "tp_0, operation 7: rank 1 is in all_gather, ranks 0, 2 and 3 are in all_reduce");
	assert_int_equal(found.count[SN_FIND_BYTES], 0);
}

/* The earliest of two that differ comes first. */
static void test_first(void **state)
{
	(void)state;
	eight();
	op(0, "dp_0", 1, "all_reduce", 8, 900, 901);
	op(4, "dp_0", 1, "all_reduce", 16, 900, 901);
	op(1, "dp_1", 1, "all_reduce", 8, 500, 501);
	op(5, "dp_1", 1, "all_reduce", 16, 500, 501);
	verify();
	assert_int_equal(found.n, 2);
	assert_string_equal(found.find[0].comm, "dp_1");
}

static void test_absent(void **state)
{
	(void)state;
	eight();
	for (uint32_t r = 0; r < 4; r++) {
		op(r, "tp_0", 5, "all_reduce", 8, 100, 110);
		if (r != 3)
			op(r, "tp_0", 6, "all_reduce", 8, 990000000000u + r, 0);
	}
	/* 7 waits for 3 in dp_3 too, which is told once. */
	op(7, "dp_3", 1, "all_reduce", 8, 995000000000u, 0);
	verify();
	first_is(SN_FIND_ABSENT,
		 "rank 3 never arrived in tp_0 (all_reduce 6), where ranks 0, 1 and 2 wait for 10 s now; the last it did there is all_reduce 5");
	assert_int_equal(found.n, 1);
	/* Not yet a disagreement. */
	opts.stall = 11000000000u;
	verify();
	assert_int_equal(found.n, 0);
	assert_int_equal(found.waiting, 4);
}

/* Who waits elsewhere is not the one to blame, but whom it waits for is. */
static void test_absent_chain(void **state)
{
	(void)state;
	eight();
	op(0, "tp_0", 1, "all_reduce", 8, 100, 0);
	op(1, "tp_0", 1, "all_reduce", 8, 100, 0);
	op(2, "tp_0", 1, "all_reduce", 8, 100, 0);
	op(3, "dp_3", 1, "all_reduce", 8, 90, 0);
	verify();
	assert_int_equal(found.n, 1);
	assert_int_equal(found.find[0].kind, SN_FIND_ABSENT);
	assert_int_equal(found.find[0].rank[0], 7);
}

static void test_missing(void **state)
{
	(void)state;
	for (uint32_t r = 0; r < 3; r++) {
		start(r, 4);
		comm(r, "tp_0", "0-3");
		op(r, "tp_0", 1, "all_reduce", 8, 100, 0);
	}
	verify();
	assert_int_equal(found.n, 2);
	first_is(SN_FIND_ABSENT,
		 "rank 3 never arrived in tp_0 (all_reduce 1), where ranks 0, 1 and 2 wait for 999 s now; there are no records of it");
	assert_string_equal(found.find[1].text, "there are no records of rank 3");
}

static void test_cycle(void **state)
{
	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		start(r, 4);
	comm(0, "x", "0,1"), comm(1, "x", "0,1");
	comm(1, "y", "1,2"), comm(2, "y", "1,2");
	comm(2, "z", "0,2"), comm(0, "z", "0,2");
	comm(3, "w", "0,3"), comm(0, "w", "0,3");
	op(0, "x", 1, "all_reduce", 8, 100, 0);
	op(1, "y", 1, "broadcast", 8, 101, 0);
	op(2, "z", 4, "all_reduce", 8, 102, 0);
	op(3, "w", 1, "all_reduce", 8, 50, 0); /* waits for one in the cycle */
	verify();
	first_is(SN_FIND_CYCLE,
		 "a cycle: rank 0 waits in x (all_reduce 1) for rank 1, which waits in y (broadcast 1) for rank 2, which waits in z (all_reduce 4) for rank 0");
	assert_int_equal(found.n, 1);
	assert_int_equal(found.find[0].n_ranks, 3);
}

/* Two ranks that send to each other before they receive. */
static void test_p2p(void **state)
{
	(void)state;
	start(0, 2), start(1, 2);
	comm(0, "pp", "0,1"), comm(1, "pp", "0,1");
	sn_records_p2p(&rec, 0, 0, "pp", 0, 1, 1, false, 64, 10, 0, NULL);
	sn_records_p2p(&rec, 1, 0, "pp", 1, 0, 1, false, 64, 11, 0, NULL);
	verify();
	first_is(SN_FIND_CYCLE,
		 "a cycle: rank 0 waits in pp 0>1 (send/recv 1) for rank 1, which waits in pp 1>0 (send/recv 1) for rank 0");
	assert_int_equal(found.n, 1); /* that neither receives is no wrong member */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_bytes),
		T(test_bytes_v), T(test_op), T(test_first), T(test_absent),
		T(test_absent_chain), T(test_missing), T(test_cycle), T(test_p2p),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
