/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_healthpeers.c - cards that are slower than their peers.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/healthbed.h"
#include "tests/unit/healthworld.h"

static void a_slow_card_is_suspect_after_a_few_samples(void **state)
{
	struct world w;

	(void)state;
	for (int low = 0; low < 2; low++) {
		world_make(&w, bed_topo, "", 4);
		w.metric = low ? "flops" : "compute_time";
		world_steps(&w, 10);
		assert_int_equal(marked(&w), 0);
		assert_int_equal(w.b.actions.n, 0);
		w.off[2][3] = 0.3;
		world_steps(&w, 3);
		assert_int_equal(bed_state(&w.b, 2, 3), SN_HEALTH_SUSPECT);
		assert_int_equal(marked(&w), 1);
		assert_non_null(strstr(bed_find(&w.b, SN_HEALTH_MASK)->why, w.metric));
		assert_non_null(strstr(bed_find(&w.b, SN_HEALTH_MASK)->why, "31 peers"));
		bed_done(&w.b);
	}
}

static void fast_is_not_bad(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	w.off[1][1] = -0.4;
	world_steps(&w, 50);
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
}

/* Significant, but nobody would mind. */
static void a_little_slower_is_not_bad(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	w.noise = 0.001;
	w.off[1][1] = 0.08;
	world_steps(&w, 100);
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
	world_make(&w, bed_topo, "HealthSlow=5", 4);
	w.noise = 0.001;
	w.off[1][1] = 0.08;
	world_steps(&w, 10);
	assert_int_equal(bed_state(&w.b, 1, 1), SN_HEALTH_SUSPECT);
	bed_done(&w.b);
}

static void one_outlier_marks_nobody_unless_it_is_gross(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "HealthGross=200", 4);
	/* at first nobody knows whether that is usual here */
	world_steps(&w, 10);
	w.off[1][0] = 3.5;
	world_step(&w);
	w.off[1][0] = 0;
	world_steps(&w, 120);
	for (int i = 0; i < 10; i++) {
		w.off[i % 4][i % 8] = 1.5;
		world_step(&w);
		w.off[i % 4][i % 8] = 0;
		world_steps(&w, 10);
	}
	assert_int_equal(w.b.actions.n, 0);
	w.off[0][0] = 3.5;
	world_step(&w);
	assert_int_equal(bed_state(&w.b, 0, 0), SN_HEALTH_SUSPECT);
	assert_non_null(strstr(bed_find(&w.b, SN_HEALTH_MASK)->why, "the last sample"));
	bed_done(&w.b);
	world_make(&w, bed_topo, "HealthGross=0", 4);
	world_steps(&w, 20);
	w.off[0][0] = 1e6;
	world_step(&w);
	w.off[0][0] = 0;
	world_steps(&w, 20);
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
}

static void too_few_peers_judge_nobody(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, "SupernodeName=sn1 Nodes=n1\n", "HealthPeers=8", 1);
	w.off[0][0] = 5;
	world_steps(&w, 50);
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
	world_make(&w, "SupernodeName=sn1 Nodes=n1\n", "HealthPeers=7", 1);
	w.off[0][0] = 5;
	world_steps(&w, 8); /* seven others say little of the spread at first */
	assert_int_equal(bed_state(&w.b, 0, 0), SN_HEALTH_SUSPECT);
	bed_done(&w.b);
}

static void other_jobs_and_supernodes_are_no_peers(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	/* half of the cards run a job whose steps take twice as long, and so do those of
	 * another supernode */
	for (uint64_t step = 0; step < 30; step++) {
		for (uint32_t n = 0; n < 8; n++)
			for (uint32_t c = 0; c < 8; c++)
				bed_sample_as(&b, n, c, "compute_time", step,
					      (c < 4 ? 1 : 2) * (n < 4 ? 1 : 3) * (1 + 0.01 * bed_noise(&b)),
					      c < 4 ? 1 : 2, false, 0);
		bed_tick(&b, 1);
	}
	assert_int_equal(b.actions.n, 0);
	bed_done(&b);
}

static void drift_of_all_is_no_cards_fault(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	for (int i = 0; i < 2000; i++) {
		w.level *= 1.0002; /* half as slow again in the end */
		world_step(&w);
	}
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
}

static void a_suspect_recovers_by_good_samples(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "HealthRecover=20 HealthProbeRetry=86400", 4);
	world_steps(&w, 10);
	w.off[2][3] = 0.4;
	world_steps(&w, 5);
	assert_int_equal(bed_state(&w.b, 2, 3), SN_HEALTH_SUSPECT);
	w.off[2][3] = 0;
	world_steps(&w, 19);
	assert_int_equal(bed_state(&w.b, 2, 3), SN_HEALTH_SUSPECT);
	w.off[2][3] = 0.4;
	world_step(&w); /* one bad one and it begins anew */
	w.off[2][3] = 0;
	world_steps(&w, 19);
	assert_int_equal(bed_state(&w.b, 2, 3), SN_HEALTH_SUSPECT);
	bed_clear(&w.b);
	world_step(&w);
	assert_int_equal(bed_state(&w.b, 2, 3), SN_HEALTH_HEALTHY);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_UNMASK), 1);
	/* a fault is not taken back by speed, nor is a probe of the device by chance
	 * one of speed */
	bed_fault(&w.b, 2, 3, "sick");
	world_steps(&w, 50);
	assert_int_equal(bed_state(&w.b, 2, 3), SN_HEALTH_SUSPECT);
	w.off[1][1] = 0.4;
	world_steps(&w, 5);
	assert_int_equal(bed_state(&w.b, 1, 1), SN_HEALTH_SUSPECT);
	sn_health_probe_done(w.b.h, 1, 1, true, NULL, w.b.now, &w.b.actions, NULL);
	assert_int_equal(bed_state(&w.b, 1, 1), SN_HEALTH_SUSPECT);
	bed_done(&w.b);
}

static void rows_may_come_in_batches_of_each_node(void **state)
{
	struct world w;
	struct sn_health_stats stats;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	w.off[3][7] = 0.4;
	for (uint64_t batch = 0; batch < 3; batch++)
		for (uint32_t n = 0; n < 4; n++) {
			for (uint64_t s = 0; s < 20; s++)
				for (uint32_t c = 0; c < BED_CARDS; c++)
					bed_sample(&w.b, n, c, w.metric, batch * 20 + s,
						   value_of(&w, n, c));
			bed_tick(&w.b, 0.1);
		}
	bed_tick(&w.b, 31);
	sn_health_stats(w.b.h, &stats);
	assert_int_equal(stats.judged, 3 * 20 * 32);
	assert_int_equal(stats.late, 0);
	assert_int_equal(marked(&w), 1);
	assert_int_equal(bed_state(&w.b, 3, 7), SN_HEALTH_SUSPECT);
	bed_done(&w.b);
}

static void doubles_and_late_ones_do_not_count(void **state)
{
	struct world w;
	struct sn_health_stats stats;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	for (int i = 0; i < 20; i++) {
		/* node 0 reports everything twice, before and after the others */
		for (uint32_t c = 0; c < BED_CARDS; c++)
			bed_sample(&w.b, 0, c, w.metric, w.step, 1 + 0.02 * bed_noise(&w.b));
		world_step(&w);
		/* and again, as it was */
		for (uint32_t c = 0; c < BED_CARDS; c++)
			for (uint64_t back = 1; back <= 5 && back <= w.step; back += 4) {
				struct sn_health_sample s = {
					.card = c, .metric = w.metric, .value = 9, .job = 1,
					.step = w.step - back, .time = w.b.now - (double)back,
				};

				sn_health_sample(w.b.h, &s, w.b.now, &w.b.actions, NULL);
			}
	}
	sn_health_stats(w.b.h, &stats);
	assert_int_equal(stats.judged, 20 * 32);
	assert_int_equal(stats.doubles, 20 * 8 + 20 * 8 + 16 * 8);
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
}

static void missing_cards_are_waited_for_only_so_long(void **state)
{
	struct world w;
	double next;

	(void)state;
	world_make(&w, bed_topo, "HealthSettle=500", 4);
	world_steps(&w, 10);
	w.off[0][0] = 0.5;
	for (int i = 0; i < 3; i++) {
		/* node 3 says nothing any more */
		for (uint32_t n = 0; n < 3; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				bed_sample(&w.b, n, c, w.metric, w.step, value_of(&w, n, c));
		w.step++;
		next = sn_health_next(w.b.h, w.b.now);
		/* the second row is whole without them */
		assert_true(i ? next > w.b.now + 1 : next <= w.b.now + 0.5);
		bed_tick(&w.b, i ? 1 : next - w.b.now);
	}
	assert_int_equal(bed_state(&w.b, 0, 0), SN_HEALTH_SUSPECT);
	bed_done(&w.b);
}

/* More cards than before join the job's steps: they count from the next row on. */
static void rows_grow(void **state)
{
	struct sn_health_stats stats;
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 2);
	world_steps(&w, 10);
	w.nodes = 4;
	world_steps(&w, 20);
	sn_health_stats(w.b.h, &stats);
	assert_true(stats.judged >= 10 * 16 + 18 * 32);
	bed_done(&w.b);
}

static void steps_may_begin_anew(void **state)
{
	struct sn_health_sample s = { .metric = "compute_time", .value = 1, .job = 1 };
	struct sn_health_stats stats;
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	w.step = 1000;
	world_steps(&w, 100);
	/* back to a checkpoint, not saying so: found out after a row */
	w.step = 900;
	world_steps(&w, 50);
	sn_health_stats(w.b.h, &stats);
	assert_true(stats.judged >= 147 * 32);
	/* with a generation there is no doubt; the old one's stragglers are late */
	s.gen = 1;
	for (int i = 0; i < 10; i++)
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++) {
				s.node = n;
				s.card = c;
				s.step = 5 + (uint64_t)i;
				s.time = w.b.now;
				assert_int_equal(sn_health_sample(w.b.h, &s, w.b.now, &w.b.actions, NULL), 0);
			}
	sn_health_stats(w.b.h, &stats);
	assert_true(stats.judged >= 156 * 32);
	s.gen = 0;
	s.step = 5000;
	assert_int_equal(sn_health_sample(w.b.h, &s, w.b.now, &w.b.actions, NULL), 0);
	assert_int_equal(w.b.actions.n, 0);
	bed_done(&w.b);
}

static void samples_without_steps_make_rows_too(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	w.off[1][2] = 0.5;
	for (int i = 0; i < 4; i++) {
		for (uint32_t n = 0; n < 4; n++) {
			for (uint32_t c = 0; c < BED_CARDS; c++)
				for (int twice = 0; twice < 2; twice++)
					bed_sample(&w.b, n, c, w.metric, SN_HEALTH_NO_STEP, value_of(&w, n, c));
			bed_tick(&w.b, 2);
		}
		bed_tick(&w.b, 20);
	}
	bed_tick(&w.b, 31);
	assert_int_equal(bed_state(&w.b, 1, 2), SN_HEALTH_SUSPECT);
	assert_int_equal(marked(&w), 1);
	bed_done(&w.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_card_is_suspect_after_a_few_samples),
		cmocka_unit_test(fast_is_not_bad),
		cmocka_unit_test(a_little_slower_is_not_bad),
		cmocka_unit_test(one_outlier_marks_nobody_unless_it_is_gross),
		cmocka_unit_test(too_few_peers_judge_nobody),
		cmocka_unit_test(other_jobs_and_supernodes_are_no_peers),
		cmocka_unit_test(drift_of_all_is_no_cards_fault),
		cmocka_unit_test(a_suspect_recovers_by_good_samples),
		cmocka_unit_test(rows_may_come_in_batches_of_each_node),
		cmocka_unit_test(doubles_and_late_ones_do_not_count),
		cmocka_unit_test(missing_cards_are_waited_for_only_so_long),
		cmocka_unit_test(rows_grow),
		cmocka_unit_test(steps_may_begin_anew),
		cmocka_unit_test(samples_without_steps_make_rows_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
