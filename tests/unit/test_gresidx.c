/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "snctl/gresidx.h"

/* The strings are as slurmctld 24.11 and 26.05 print them. */
static void counts_are_read_whatever_the_decoration(void **state)
{
	(void)state;
	assert_int_equal(gres_count("npu:8", "npu"), 8);
	assert_int_equal(gres_count("npu:8(S:0-1)", "npu"), 8);
	assert_int_equal(gres_count("gres/npu:8", "npu"), 8);
	assert_int_equal(gres_count("gres:npu:3", "npu"), 3);
	assert_int_equal(gres_count("gres/npu=4", "npu"), 4);
	assert_int_equal(gres_count("npu:a910:8(S:0)", "npu"), 8);
	assert_int_equal(gres_count("npu:a:2(S:0),nic:1,npu:b:3", "npu"), 5);
	assert_int_equal(gres_count("npu:(null):3(IDX:0-1,5)", "npu"), 3);
	assert_int_equal(gres_count("npu(CNT:5)", "npu"), 5);
	assert_int_equal(gres_count("npux:8,xnpu:8", "npu"), 0);
	assert_int_equal(gres_count("", "npu"), 0);
	assert_int_equal(gres_count(NULL, "npu"), 0);
	assert_int_equal(gres_count("npu:2K", "npu"), 2048);
}

static void indices_are_bits(void **state)
{
	bool known;

	(void)state;
	assert_int_equal(gres_indices("npu:(null):3(IDX:0-1,5)", "npu", &known), 0x23);
	assert_true(known);
	assert_int_equal(gres_indices("npu:4(IDX:4-7)", "npu", NULL), 0xf0);
	assert_int_equal(gres_indices("nic:1(IDX:0),npu:1(IDX:3)", "npu", NULL), 0x8);
	assert_int_equal(gres_indices("npu:1(IDX:3),nic:1(IDX:0)", "npu", NULL), 0x8);
	assert_int_equal(gres_indices("npu:a:1(IDX:0),npu:b:1(IDX:7)", "npu", NULL), 0x81);
	assert_int_equal(gres_indices("npu:(null):0(IDX:N/A)", "npu", &known), 0);
	assert_true(known);
	assert_true(gres_indices("npu:64(IDX:0-63)", "npu", NULL) == UINT64_MAX);
	assert_true(gres_indices("npu:1(IDX:63)", "npu", NULL) == UINT64_C(1) << 63);
	assert_int_equal(gres_indices("npu:1(IDX:64-99)", "npu", NULL), 0);
	assert_int_equal(gres_indices("npu:2", "npu", &known), 0);
	assert_false(known);
	assert_int_equal(gres_indices("npu:2(IDX:0-", "npu", NULL), 1);
	assert_int_equal(gres_indices(NULL, "npu", &known), 0);
	assert_true(known);
}

static void lists_go_beyond_64(void **state)
{
	uint32_t list[200];

	(void)state;
	assert_int_equal(gres_list("npu:(null):3(IDX:5,0-1),nic:1(IDX:9)", "npu", list, 200), 3);
	assert_int_equal(list[0], 0);
	assert_int_equal(list[2], 5);
	assert_int_equal(gres_list("npu:128(IDX:0-127)", "npu", list, 200), 128);
	assert_int_equal(list[127], 127);
	assert_int_equal(gres_list("npu:128(IDX:0-127)", "npu", list, 100), 100);
	assert_int_equal(gres_list("npu:a:1(IDX:1),npu:b:2", "npu", list, 200), 3);
	assert_int_equal(list[0], 0);
	assert_int_equal(list[2], 2);
	assert_int_equal(gres_list("npu:1(IDX:5000)", "npu", list, 200), 0);
	assert_int_equal(gres_list(NULL, "npu", list, 200), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_read_whatever_the_decoration),
		cmocka_unit_test(indices_are_bits),
		cmocka_unit_test(lists_go_beyond_64),
	};

	return cmocka_run_group_tests_name("gresidx", tests, NULL, NULL);
}
