/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/healthstat.h"

static uint64_t rng = 1;

static double random_value(void)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (double)(rng >> 40);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void median_is_that_of_the_sorted(void **state)
{
	double v[70], sorted[70], want;

	(void)state;
	for (int run = 0; run < 3000; run++) {
		size_t n = 1 + (size_t)run % 69;

		for (size_t i = 0; i < n; i++)
			v[i] = sorted[i] = run % 3 ? random_value() : (double)((uint64_t)random_value() % 4);
		if (run % 5 == 0)
			qsort(v, n, sizeof(*v), by_size);
		qsort(sorted, n, sizeof(*v), by_size);
		want = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
		assert_true(sn_stat_median(v, n) == want);
	}
}

static void spread_is_robust(void **state)
{
	double v[] = { 1, 2, 3, 4, 1e9 }, same[] = { 7, 7, 7 };

	(void)state;
	/* distances from 3: 2 1 0 1 much; the median is 1 */
	assert_true(sn_stat_spread(v, 5, 3) == 1.4826);
	assert_true(sn_stat_spread(same, 3, 7) == 0);
}

static void a_ring_keeps_the_last_eight(void **state)
{
	struct sn_ring ring = { 0 };

	(void)state;
	for (int i = 1; i <= 20; i++)
		sn_ring_push(&ring, i);
	assert_int_equal(ring.n, 8);
	assert_true(sn_ring_mean(&ring, 1, 1e9) == 20);
	assert_true(sn_ring_mean(&ring, 3, 1e9) == 19);
	assert_true(sn_ring_mean(&ring, 8, 1e9) == 16.5);
	assert_true(sn_ring_mean(&ring, 3, 19) == (18 + 19 + 19) / 3.0);
	for (int i = 0; i < 3000; i++)
		sn_ring_learn(&ring, 100, 1, 5);
	assert_true(ring.usual == 5); /* not over max */
	assert_true(sn_ring_mean(&ring, 1, 1e9) == 15);
	for (int i = 0; i < 3000; i++)
		sn_ring_learn(&ring, -1, 1, 5);
	assert_true(ring.usual > -1.01f && ring.usual < -0.9f);
}

/* Of a Gaussian the limit stays; of what has heavier tails it grows. */
static void tails_raise_the_limit(void **state)
{
	/* quantiles of |z| > x for a Gaussian, times n */
	static const struct { double z; uint32_t n; } gauss[] = {
		{ 1.2, 9000 }, { 1.6, 5000 }, { 2.1, 2200 }, { 2.5, 400 }, { 2.8, 140 },
		{ 3.05, 50 }, { 3.3, 40 }, { 3.6, 12 }, { 4.2, 3 },
	};
	struct sn_tail tail = { 0 }, heavy = { 0 }, one = { 0 };
	uint32_t in = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(gauss) / sizeof(*gauss); i++)
		for (uint32_t k = 0; k < gauss[i].n; k++, in++) {
			sn_tail_add(&tail, gauss[i].z);
			sn_tail_add(&heavy, gauss[i].z * (gauss[i].z > 2.4 ? 2 : 1));
		}
	for (; in < 100000; in++) {
		sn_tail_add(&tail, -0.5);
		sn_tail_add(&heavy, 0.5);
	}
	assert_true(sn_tail_factor(&tail) < 1.1);
	assert_true(sn_tail_factor(&heavy) > 4);
	assert_true(sn_tail_seen(&one) == 0);
	for (int i = 0; i < 2; i++)
		sn_tail_add(&one, 50);
	assert_true(sn_tail_seen(&one) == 0);
	sn_tail_add(&one, 50);
	assert_true(sn_tail_seen(&one) >= 50 && sn_tail_seen(&one) < 60);
	/* what is far out, huge or infinite has a bin */
	sn_tail_add(&one, 1e30);
	sn_tail_add(&one, 1e300);
	assert_int_equal(one.bin[SN_TAIL_BINS - 1], 2);
	/* for ever */
	for (uint32_t i = 0; i < (1u << 22) + 10; i++)
		sn_tail_add(&one, 0);
	assert_true(one.n < (1u << 22));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_is_that_of_the_sorted),
		cmocka_unit_test(spread_is_robust),
		cmocka_unit_test(a_ring_keeps_the_last_eight),
		cmocka_unit_test(tails_raise_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
