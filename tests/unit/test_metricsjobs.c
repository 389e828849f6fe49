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

static double since = 1.8e9; /* after all of the jobs began */

static void tell(struct sn_metrics *m, uint32_t job, const struct sn_ettr *account,
		 int64_t now)
{
	const struct sn_metrics_when when = { now, since, 1000 };

	sn_metrics_job(m, job, account, CLUSTER, &when);
}

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
	event(a, SN_ETTR_STEP, 10.5, 0);
}

static void test_grows(void **state)
{
	struct sn_metrics m = { .n_jobs = 0 };
	struct sn_ettr a, b;

	(void)state;
	begin(&a, 64);
	/* What was before this daemon knew of it counts for the job alone. */
	event(&a, SN_ETTR_SAFE, 100, 0);
	tell(&m, 7, &a, 1000);
	assert_true(m.useful == 0 && m.generations == 0 && m.n_jobs == 1);
	event(&a, SN_ETTR_SAFE, 110, 0);
	event(&a, SN_ETTR_FAIL, 115, 0);
	event(&a, SN_ETTR_START, 116, 0);
	event(&a, SN_ETTR_STEP, 119, 0);
	tell(&m, 7, &a, 20000);
	assert_true(fabs(m.useful - 640) < 1e-3);
	assert_true(fabs(m.lost[SN_LOST_REDONE] - 5 * 64) < 1e-3);
	assert_int_equal(m.generations, 1);
	assert_int_equal(m.safe_points, 1);
	assert_int_equal(m.fails[SN_ETTR_FAIL_NODE], 1);
	assert_int_equal(sn_recoveries_count(&m.recoveries), 1);
	assert_true(fabs(m.recoveries.sum - 4) < 1e-3);
	/* The same once more adds nothing; another job adds its own. */
	tell(&m, 7, &a, 21000);
	assert_int_equal(m.generations, 1);
	begin(&b, 32);
	tell(&m, 3, &b, 21000);
	event(&b, SN_ETTR_SAFE, 20, 0);
	tell(&m, 3, &b, 31000);
	assert_true(fabs(m.useful - 640 - 320) < 1e-3);
	assert_int_equal(m.n_jobs, 2);
	assert_int_equal(m.job[0].job, 3);
	assert_int_equal(m.odd, 0);
	assert_ptr_equal(sn_metrics_find(&m, 7), &m.job[1]);
	assert_null(sn_metrics_find(&m, 4));
	/* A new run of the job begins anew, and nothing goes down. */
	begin(&a, 64);
	tell(&m, 7, &a, 40000);
	assert_true(fabs(m.useful - 640 - 320) < 1e-3);
	sn_metrics_done(&m);
}

/* One that began under this daemon counts whole, though it was heard of late. */
static void test_new_job(void **state)
{
	struct sn_metrics m = { .n_jobs = 0 };
	struct sn_ettr a;

	(void)state;
	since = 1.7e9 - 100;
	begin(&a, 64);
	event(&a, SN_ETTR_STEP, 11, 0);
	event(&a, SN_ETTR_SAFE, 50, 0);
	tell(&m, 7, &a, 60000);
	assert_int_equal(m.generations, 1);
	assert_true(fabs(m.useful - 40 * 64) < 1e-3);
	event(&a, SN_ETTR_SAFE, 60, 0);
	tell(&m, 7, &a, 70000);
	assert_true(fabs(m.useful - 50 * 64) < 1e-3);
	since = 1.8e9;
	sn_metrics_done(&m);
}

/* A job's owner can write anything. */
static void test_lies(void **state)
{
	struct sn_metrics m = { .n_jobs = 0 };
	struct sn_ettr a, lie;

	(void)state;
	begin(&a, 64);
	tell(&m, 7, &a, 0);
	lie = a;
	event(&lie, SN_ETTR_SAFE, 1e6, 0); /* a million seconds in ten */
	tell(&m, 7, &lie, 10000);
	assert_true(m.useful == 0);
	assert_int_equal(m.odd, 1);
	lie = a;
	lie.held = CLUSTER + 1;
	tell(&m, 7, &lie, 10000);
	tell(&m, 8, &lie, 10000);
	assert_int_equal(m.odd, 3);
	assert_int_equal(m.n_jobs, 1);
	lie = a;
	lie.recoveries.n[0] = 1u << 30;
	tell(&m, 7, &lie, 10000);
	lie = a;
	lie.generations = UINT32_MAX;
	tell(&m, 7, &lie, 10000);
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
		tell(&m, i * 7919 % 100003 + 1, &a, i);
	assert_int_equal(m.n_jobs, SN_METRICS_KEPT);
	assert_int_equal(m.odd, 0);
	for (uint32_t i = 1; i < m.n_jobs; i++)
		assert_true(m.job[i - 1].job < m.job[i].job);
	sn_metrics_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_new_job),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
