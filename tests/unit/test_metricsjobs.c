/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_metricsjobs.c - sums over jobs grow by what the jobs' accounts grow, and by
 * nothing that cannot be.
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/metrics.h"

#define CLUSTER 128

static void event(struct sn_ettr *a, enum sn_ettr_kind kind, double at, uint32_t cards)
{
	const struct sn_ettr_event e = {
		.kind = kind, .at = 1.7e9 + at, .held = cards, .ranks = cards, .want = cards,
	};

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static void begin(struct sn_ettr *a, uint32_t cards)
{
	sn_ettr_init(a, 1.7e9);
	event(a, SN_ETTR_CARDS, 0, cards);
	event(a, SN_ETTR_START, 0, 0);
	event(a, SN_ETTR_STEP, 10, 0);
}

static void test_grows(void **state)
{
	struct sn_metrics m = { .n_jobs = 0 };
	struct sn_ettr a, b;

	(void)state;
	begin(&a, 64);
	/* What was before this daemon knew of it counts for the job alone. */
	event(&a, SN_ETTR_SAFE, 100, 0);
	sn_metrics_job(&m, 7, &a, CLUSTER, 1000);
	assert_true(m.useful == 0 && m.generations == 0 && m.n_jobs == 1);
	event(&a, SN_ETTR_SAFE, 110, 0);
	event(&a, SN_ETTR_FAIL, 115, 0);
	event(&a, SN_ETTR_START, 116, 0);
	event(&a, SN_ETTR_STEP, 119, 0);
	sn_metrics_job(&m, 7, &a, CLUSTER, 20000);
	assert_true(fabs(m.useful - 640) < 1e-3);
	assert_true(fabs(m.lost[SN_LOST_REDONE] - 5 * 64) < 1e-3);
	assert_int_equal(m.generations, 1);
	assert_int_equal(m.safe_points, 1);
	assert_int_equal(m.fails[SN_ETTR_FAIL_NODE], 1);
	assert_int_equal(sn_recoveries_count(&m.recoveries), 1);
	assert_true(fabs(m.recoveries.sum - 4) < 1e-3);
	/* The same once more adds nothing; another job adds its own. */
	sn_metrics_job(&m, 7, &a, CLUSTER, 21000);
	assert_int_equal(m.generations, 1);
	begin(&b, 32);
	sn_metrics_job(&m, 3, &b, CLUSTER, 21000);
	event(&b, SN_ETTR_SAFE, 20, 0);
	sn_metrics_job(&m, 3, &b, CLUSTER, 31000);
	assert_true(fabs(m.useful - 640 - 320) < 1e-3);
	assert_int_equal(m.n_jobs, 2);
	assert_int_equal(m.job[0].job, 3);
	assert_int_equal(m.odd, 0);
	sn_metrics_forget(&m, 3);
	sn_metrics_forget(&m, 4);
	assert_int_equal(m.n_jobs, 1);
	assert_int_equal(m.job[0].job, 7);
	/* A new run of the job begins anew, and nothing goes down. */
	begin(&a, 64);
	sn_metrics_job(&m, 7, &a, CLUSTER, 40000);
	assert_true(fabs(m.useful - 640 - 320) < 1e-3);
	sn_metrics_done(&m);
}

/* A job's owner can write anything. */
static void test_lies(void **state)
{
	struct sn_metrics m = { .n_jobs = 0 };
	struct sn_ettr a, lie;

	(void)state;
	begin(&a, 64);
	sn_metrics_job(&m, 7, &a, CLUSTER, 0);
	lie = a;
	event(&lie, SN_ETTR_SAFE, 1e6, 0); /* a million seconds in ten */
	sn_metrics_job(&m, 7, &lie, CLUSTER, 10000);
	assert_true(m.useful == 0);
	assert_int_equal(m.odd, 1);
	lie = a;
	lie.held = CLUSTER + 1;
	sn_metrics_job(&m, 7, &lie, CLUSTER, 10000);
	sn_metrics_job(&m, 8, &lie, CLUSTER, 10000);
	assert_int_equal(m.odd, 3);
	assert_int_equal(m.n_jobs, 1);
	lie = a;
	lie.recoveries.n[0] = 1u << 30;
	sn_metrics_job(&m, 7, &lie, CLUSTER, 10000);
	lie = a;
	lie.generations = UINT32_MAX;
	sn_metrics_job(&m, 7, &lie, CLUSTER, 10000);
	assert_int_equal(m.odd, 5);
	assert_int_equal(m.generations, 0);
	assert_int_equal(sn_recoveries_count(&m.recoveries), 0);
	sn_metrics_done(&m);
}

static void test_many(void **state)
{
	struct sn_metrics m = { .n_jobs = 0 };
	struct sn_ettr a;

	(void)state;
	begin(&a, 8);
	for (uint32_t i = 0; i < SN_METRICS_KEPT + 10; i++)
		sn_metrics_job(&m, i * 7919 % 100003 + 1, &a, CLUSTER, 0);
	assert_int_equal(m.n_jobs, SN_METRICS_KEPT);
	assert_int_equal(m.odd, 10);
	for (uint32_t i = 1; i < m.n_jobs; i++)
		assert_true(m.job[i - 1].job < m.job[i].job);
	sn_metrics_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
