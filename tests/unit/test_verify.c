/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_verify.c - the records and what verify says about them.
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

static void test_agree(void **state)
{
	(void)state;
	eight();
	for (uint32_t r = 0; r < 8; r++)
		op(r, r < 4 ? "tp_0" : "tp_1", 1, "all_reduce", 64, 10 + r, 100);
	verify();
	assert_int_equal(found.n, 0);
	assert_int_equal(found.ranks, 8);
	assert_int_equal(found.world, 8);
	assert_int_equal(found.comms, 6);
}

static void test_nobody(void **state)
{
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_verify(&rec, &opts, &found, &err), -EINVAL);
}

/* The issue's own words. */
static void test_order_differs(void **state)
{
	(void)state;
	for (uint32_t r = 16; r < 20; r++)
		comm(r, "tp_4", r == 18 ? "18,16,17,19" : "16-19");
	verify();
	first_is(SN_FIND_MEMBERS,
		 "tp_4: rank 18 has [18,16,17,19], ranks 16, 17 and 19 have [16,17,18,19]");
	assert_int_equal(found.n, 1);
	assert_int_equal(found.find[0].rank[0], 18);
	assert_string_equal(found.find[0].comm, "tp_4");
}

/* Names may also be the axis alone, on all ranks. */
static void test_axis_names(void **state)
{
	(void)state;
	for (uint32_t r = 0; r < 8; r++)
		comm(r, "tp", r == 5 ? "5,4,6,7" : r < 4 ? "0-3" : "4-7");
	verify();
	first_is(SN_FIND_MEMBERS,
		 "tp: rank 5 has [5,4,6,7], ranks 4, 6 and 7 have [4,5,6,7]");
	assert_int_equal(found.n, 1);
}

static void test_swapped(void **state)
{
	(void)state;
	eight();
	comm(2, "tp_0", "0-3");
	/* 2 and 5 are started in each other's place. */
	rec.rank[2].n_comms = rec.rank[5].n_comms = 0;
	comm(2, "tp_1", "4-7");
	comm(5, "tp_0", "0-3");
	comm(2, "dp_2", "2,6");
	comm(5, "dp_1", "1,5");
	verify();
	assert_int_equal(found.find[0].kind, SN_FIND_MEMBERS);
	assert_memory_equal(found.find[0].text, "ranks 2 and 5 are swapped: rank 2 has [4,5,6,7] as tp_1 and rank 5 has [0,1,2,3] as tp_0", 84);
	assert_int_equal(found.find[0].n_ranks, 2);
	assert_int_equal(found.find[0].rank[0], 2);
	assert_int_equal(found.find[0].rank[1], 5);
}

/* A rank believes to be in a group whose members do not list it. */
static void test_stranger(void **state)
{
	(void)state;
	eight();
	comm(5, "tp_0", "0-3");
	verify();
	first_is(SN_FIND_MEMBERS,
		 "rank 5 believes itself in tp_0, whose members are [0,1,2,3]");
}

static void test_expects(void **state)
{
	(void)state;
	eight();
	comm(0, "x", "0-2");
	comm(1, "x", "0-2");
	verify();
	first_is(SN_FIND_MEMBERS,
		 "ranks 0 and 1 expect rank 2 in x, [0,1,2], and it has no such communicator");
	assert_int_equal(found.find[0].rank[0], 2);
}

static void test_index(void **state)
{
	struct sn_rec_new new = { .name = "tp_0", .members = "0-3", .index = 3 };

	(void)state;
	eight();
	assert_int_equal(sn_records_comm(&rec, 1, 0, &new, NULL), 0);
	verify();
	first_is(SN_FIND_INDEX,
		 "rank 1 takes itself for number 3 in tp_0, and is number 1 of [0,1,2,3]");
	assert_int_equal(found.n, 1);
}

static void test_lists(void **state)
{
	(void)state;
	start(0, 4);
	comm(0, "a", "0,1,1");
	comm(0, "b", "0,9");
	verify();
	assert_int_equal(found.count[SN_FIND_LIST], 2);
	assert_non_null(strstr(found.find[0].text, "has rank 1 twice"));
	assert_non_null(strstr(found.find[1].text, "has rank 9, in a job of 4 ranks"));
}

static void test_layout(void **state)
{
	struct sn_layout l;

	(void)state;
	assert_int_equal(sn_layout_parse("tp=4,dp=2", 0, &l, NULL), 0);
	opts.layout = &l;
	eight();
	verify();
	assert_int_equal(found.n, 0);
	/* All members agree on what the layout does not have. */
	for (uint32_t r = 0; r < 8; r++) {
		rec.rank[r].n_comms = 0;
		comm(r, r / 4 == (r == 2 || r == 5) ? "tp_0" : "tp_1",
		     r / 4 == (r == 2 || r == 5) ? "0,1,5,3" : "4,2,6,7");
	}
	verify();
	first_is(SN_FIND_LAYOUT,
		 "ranks 2 and 5 are swapped: ranks 0, 1, 3 and 5 have [0,1,5,3] as tp_0, and by the layout tp group 0 is [0,1,2,3]");
}

static void test_places(void **state)
{
	static const char *const node[] = { "a", "a", "b", "b" };
	struct sn_layout l;

	(void)state;
	assert_int_equal(sn_layout_parse("tp=2,dp=2", 0, &l, NULL), 0);
	opts.layout = &l;
	opts.rank_node = node;
	for (uint32_t r = 0; r < 4; r++)
		sn_records_start(&rec, r, 0, 4, r == 1 ? "b" : r == 2 ? "a" : node[r], r, 0, NULL);
	verify();
	first_is(SN_FIND_PLACE,
		 "ranks 1 and 2 have changed places: rank 1 runs on b and rank 2 on a, and the layout has them the other way round");
	assert_int_equal(found.n, 1);
}

static void test_twice(void **state)
{
	(void)state;
	sn_records_start(&rec, 0, 0, 2, "a", 10, 0, NULL);
	sn_records_start(&rec, 1, 0, 2, "a", 11, 0, NULL);
	sn_records_start(&rec, 1, 0, 2, "b", 12, 0, NULL);
	verify();
	first_is(SN_FIND_TWICE,
		 "two processes claim to be rank 1, one on a and one on b: RANK is set wrong on one of them");
	/* A restart on the same node is none. */
	assert_int_equal(sn_records_start(&rec, 0, 0, 2, "a", 20, 0, NULL), 0);
	verify();
	assert_int_equal(found.n, 1);
}

static void test_world(void **state)
{
	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		start(r, r == 3 ? 8 : 4);
	verify();
	first_is(SN_FIND_WORLD, "rank 3 believes in 8 ranks, the others in 4");
}

static void test_generations(void **state)
{
	struct sn_rec_new new = { .name = "tp_0", .members = "0,1", .index = 0 };

	(void)state;
	start(0, 2), start(1, 2);
	comm(0, "tp_0", "0,1"), comm(1, "tp_0", "1,0"); /* wrong, but of old */
	sn_records_start(&rec, 0, 1, 2, NULL, 0, 0, NULL);
	sn_records_start(&rec, 1, 1, 2, NULL, 0, 0, NULL);
	sn_records_comm(&rec, 0, 1, &new, NULL);
	new.index = 1;
	sn_records_comm(&rec, 1, 1, &new, NULL);
	comm(1, "tp_0", "1,0"); /* a late line of the old one */
	verify();
	assert_int_equal(found.n, 0);
	sn_records_start(&rec, 0, 2, 2, NULL, 0, 0, NULL);
	verify();
	first_is(SN_FIND_MISSING, "there are no records of rank 1 of generation 2, only of generation 1");
}

/* A second program in the same job directory counts its generations anew. */
static void test_second_run(void **state)
{
	struct sn_rec_new new = { .name = "old", .members = "0", .index = 0 };

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		sn_records_start(&rec, r, 3, 2, "a", 10 + r, 1000, NULL);
		sn_records_comm(&rec, r, 3, &new, NULL);
		sn_records_start(&rec, r, 0, 2, "a", 20 + r, 2000, NULL);
		comm(r, "tp_0", "0,1");
	}
	verify();
	assert_int_equal(found.n, 0);
	assert_int_equal(rec.gen, 0);
	assert_int_equal(found.comms, 1);
	/* One of the first that takes no part in the second. */
	sn_records_start(&rec, 2, 3, 2, "a", 30, 1000, NULL);
	verify();
	assert_int_equal(found.ranks, 2);
}

static void test_ranks_text(void **state)
{
	static const struct { const char *text, *back; uint32_t n; } good[] = {
		{ "0-7", "0-7", 8 }, { "0-504:8", "0-504:8", 64 }, { "3", "3", 1 },
		{ "0-16:8,3", "0-16:8,3", 4 }, { "5,4,3", "5,4,3", 3 },
		{ "0,1", "0,1", 2 }, { "0-1", "0,1", 2 }, { "0-10:7", "0,7", 2 },
		{ "2,1,2,3", "2,1-3", 4 }, { "", NULL, 0 },
	};
	static const char *const bad[] = {
		"a", "1-", "-1", "3-1", "1-5:0", "1,", ",1", "1 2", "0-4294967295", "1--2", "1:2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct sn_buf buf = { 0 };
		uint32_t *list = NULL, n = 0;

		assert_int_equal(sn_ranks_parse(good[i].text, 1000, &list, &n, NULL), 0);
		assert_int_equal(n, good[i].n);
		sn_ranks_format(list, n, &buf);
		if (good[i].back)
			assert_string_equal(buf.text, good[i].back);
		sn_buf_done(&buf);
		free(list);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t *list = NULL, n = 0;

		assert_int_equal(sn_ranks_parse(bad[i], 1000, &list, &n, NULL), -EINVAL);
		free(list);
	}
}

/* Only the last operations are kept, however they come. */
static void test_window(void **state)
{
	(void)state;
	comm(0, "a", "0");
	for (uint64_t s = 1; s <= 40; s++)
		op(0, "a", s, "all_reduce", s, s, s);
	op(0, "a", 3, "all_reduce", 0, 1, 1);
	assert_int_equal(rec.rank[0].comm[0].n_ops, SN_REC_OPS);
	assert_int_equal(rec.rank[0].comm[0].op[0].seq, 40 - SN_REC_OPS + 1);
	assert_int_equal(rec.rank[0].comm[0].op[SN_REC_OPS - 1].seq, 40);
}

/* 10,240 ranks in every group of a layout, and one pair of them swapped. */
static void test_large(void **state)
{
	struct timespec t0, t1;
	struct sn_layout l;
	double s;

	(void)state;
	assert_int_equal(sn_layout_parse("tp=8,ep=64,etp=1,pp=10,dp=128", 0, &l, NULL), 0);
	assert_int_equal(l.world, 10240);
	for (uint32_t r = 0; r < l.world; r++)
		start(r, l.world);
	for (int k = 0; k < SN_GROUP_KINDS; k++) {
		struct sn_groups g;

		assert_int_equal(sn_groups_build(&l, k, &g, NULL), 0);
		for (uint32_t i = 0; i < g.n * g.size; i++) {
			struct sn_rec_new new = { .list = g.rank + i / g.size * g.size,
				.n_list = g.size, .index = i % g.size };
			uint32_t r = g.rank[i];
			char name[32];

			snprintf(name, sizeof(name), "%s_%u", sn_group_name(k), i / g.size);
			new.name = name;
			if (k == SN_GROUP_TP && (r == 100 || r == 5000))
				r = 5100 - r;
			assert_int_equal(sn_records_comm(&rec, r, 0, &new, NULL), 0);
		}
		sn_groups_done(&g);
	}
	opts.layout = &l;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	verify();
	clock_gettime(CLOCK_MONOTONIC, &t1);
	s = (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
	print_message("10240 ranks compared in %.3f s\n", s);
	assert_true(s < 10); /* of seconds: a sanitizer and a busy machine */
	assert_int_equal(found.find[0].kind, SN_FIND_MEMBERS);
	assert_memory_equal(found.find[0].text, "ranks 100 and 5000 are swapped: ", 32);
	assert_int_equal(found.find[0].rank[0], 100);
	assert_int_equal(found.find[0].rank[1], 5000);
	assert_int_equal(found.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_agree), T(test_nobody), T(test_order_differs),
		T(test_axis_names), T(test_swapped), T(test_stranger),
		T(test_expects), T(test_index), T(test_lists), T(test_layout),
		T(test_places), T(test_twice), T(test_world),
		T(test_generations), T(test_second_run), T(test_ranks_text), T(test_window),
		T(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
