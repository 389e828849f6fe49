/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job's owner says asks for probes, and changes nothing else. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/healthbed.h"

#define METRIC "compute_time"

static double about(struct bed *b, double value)
{
	return value * (1 + 0.02 * bed_noise(b));
}

/* One step of job 1, as root's own watch reports it. */
static void believed(struct bed *b, uint64_t step, uint32_t nodes, double (*off)[BED_CARDS])
{
	for (uint32_t n = 0; n < nodes; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			bed_sample(b, n, c, METRIC, step, about(b, 1 + off[n][c]));
	bed_tick(b, 1);
}

static void hint(struct bed *b, uint32_t node, uint32_t card, uint64_t step, uint32_t gen,
		 double value)
{
	struct sn_health_sample s = {
		.node = node, .card = card, .metric = METRIC, .value = value, .time = b->now,
		.step = step, .gen = gen, .job = 1, .by = 1000, .hint = true,
	};

	assert_int_equal(sn_health_sample(b->h, &s, b->now, &b->actions, NULL), 0);
}

/* Half of node 0's cards do other work, and take longer by right. Among themselves
 * that is nothing unusual; against a crowd of hints it would be. */
static void hints_are_no_peers(void **state)
{
	double off[16][BED_CARDS] = { { 0, 0, 0, 0, 0.2, 0.2, 0.2, 0.2 } };
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 40; step++) {
		for (uint32_t n = 1; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				hint(&b, n, c, step, 0, about(&b, 1));
		believed(&b, step, 1, off);
	}
	for (uint32_t c = 0; c < BED_CARDS; c++)
		assert_int_equal(bed_state(&b, 0, c), SN_HEALTH_HEALTHY);
	assert_int_equal(b.actions.n, 0);
	bed_done(&b);
}

/* Nor can they lift the median until a sick card is as the others. */
static void hints_hide_no_card(void **state)
{
	double off[16][BED_CARDS] = { { 0, 0, 0, 0.4 } };
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 20; step++) {
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				hint(&b, n, c, step, 0, about(&b, 1.4));
		believed(&b, step, 2, off);
	}
	assert_int_equal(bed_state(&b, 0, 3), SN_HEALTH_SUSPECT);
	assert_int_equal(bed_count(&b, SN_HEALTH_MASK), 1);
	bed_done(&b);
}

/* One of a generation that never comes, or of a step. */
static void a_hint_does_not_end_the_watch(void **state)
{
	static const struct { uint64_t step; uint32_t gen; } wild[] = {
		{ 11, UINT32_MAX }, { 1ull << 53, 0 }, { UINT64_MAX - 1, UINT32_MAX },
		{ SN_HEALTH_NO_STEP, 0 }, { SN_HEALTH_NO_STEP, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		double off[16][BED_CARDS] = { { 0 } };
		struct sn_health_stats stats;
		struct bed b;

		bed_make(&b, bed_topo, "");
		for (uint64_t step = 0; step < 10; step++)
			believed(&b, step, 4, off);
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				hint(&b, n, c, wild[i].step, wild[i].gen, 1);
		bed_tick(&b, 31);
		off[2][3] = 0.3;
		for (uint64_t step = 10; step < 15; step++)
			believed(&b, step, 4, off);
		assert_int_equal(bed_state(&b, 2, 3), SN_HEALTH_SUSPECT);
		sn_health_stats(b.h, &stats);
		assert_int_equal(stats.late, 0);
		assert_int_equal(stats.doubles, 0);
		bed_done(&b);
	}
}

/* A counter that a user has set back or forth would rise for nothing, or not. */
static void a_hint_sets_no_counter(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	bed_sample(&b, 0, 0, "ecc_errors", 1, 5);
	bed_sample_as(&b, 0, 0, "ecc_errors", 1, 0, 1, true, 1000);
	bed_sample(&b, 0, 0, "ecc_errors", 1, 5);
	assert_int_equal(b.actions.n, 0);
	bed_sample_as(&b, 0, 0, "ecc_errors", 1, 100, 1, true, 1000);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
	assert_int_equal(bed_count(&b, SN_HEALTH_MASK), 0);
	bed_sample(&b, 0, 0, "ecc_errors", 1, 6);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
	bed_done(&b);
}

/* A card has so many metrics at a time; a user's do not take the place of root's. */
static void hints_take_no_places(void **state)
{
	static const char *const metric[] = { "step_time", "own_time", "latency", "flops" };
	double off[16][BED_CARDS] = { { 0, 0.5 } };
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 10; step++) {
		for (uint32_t k = 0; k < 16; k++)
			(void)bed_sample_as(&b, 0, 1, metric[k % 4], step, 1, 1 + k, true, 1000);
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				assert_int_equal(bed_sample(&b, n, c, METRIC, step,
							    about(&b, 1 + off[n][c])), 0);
		bed_tick(&b, 1);
	}
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_SUSPECT);
	bed_done(&b);
}

/* A supernode that is slow stays degraded whatever the job's owner says of it. */
static void hints_restore_nothing(void **state)
{
	double off[16][BED_CARDS] = { { 0 } };
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 40; step++) {
		for (uint32_t n = 0; n < 4 && step == 20; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				off[n][c] = 0.3;
		believed(&b, step, 8, off);
	}
	assert_true(sn_health_degraded(b.h, SN_HEALTH_SUPERNODE, 0, NULL, NULL));
	for (uint64_t step = 0; step < 40; step++) {
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				hint(&b, n, c, step, 0, about(&b, 1));
		bed_tick(&b, 1);
	}
	assert_true(sn_health_degraded(b.h, SN_HEALTH_SUPERNODE, 0, NULL, NULL));
	bed_done(&b);
}

/* A suspect goes free by good samples of those who are believed. */
static void hints_free_no_card(void **state)
{
	double off[16][BED_CARDS] = { { 0 } };
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthRecover=5 HealthProbeRetry=86400");
	for (uint64_t step = 0; step < 20; step++) {
		off[2][3] = step < 10 ? 0 : 0.4;
		believed(&b, step, 4, off);
	}
	assert_int_equal(bed_state(&b, 2, 3), SN_HEALTH_SUSPECT);
	for (uint64_t step = 0; step < 40; step++) {
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				hint(&b, n, c, step, 0, about(&b, 1));
		bed_tick(&b, 1);
	}
	assert_int_equal(bed_state(&b, 2, 3), SN_HEALTH_SUSPECT);
	bed_done(&b);
}

/* That a job's other supernodes are as slow is to be believed, too. */
static void hints_are_no_siblings(void **state)
{
	double off[16][BED_CARDS] = { { 0 } };
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 40; step++) {
		for (uint32_t n = 0; n < 4 && step == 20; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				off[n][c] = 0.3;
		for (uint32_t n = 4; n < 16; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				hint(&b, n, c, step, 0, about(&b, step < 20 ? 1 : 1.5));
		believed(&b, step, 4, off);
	}
	assert_true(sn_health_degraded(b.h, SN_HEALTH_SUPERNODE, 0, NULL, NULL));
	bed_done(&b);
}

/* Units are followed one job at a time: not one that only gives hints. */
static void hints_do_not_hold_a_unit(void **state)
{
	double off[16][BED_CARDS] = { { 0 } };
	struct bed b;

	(void)state;
	bed_make(&b, "SupernodeName=sn1 Nodes=n[01-16]\nUnitName=u[1-8] Nodes=n[01-16] NodesPerUnit=2\n", "");
	for (uint64_t step = 0; step < 60; step++) {
		for (uint32_t c = 0; c < BED_CARDS && step == 30; c++)
			off[2][c] = off[3][c] = 0.25;
		/* two slow rows, and no more of it */
		for (uint32_t n = 0; n < 16 && step < 30; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++) {
				struct sn_health_sample s = {
					.node = n, .card = c, .metric = METRIC, .time = b.now,
					.value = about(&b, n / 2 == 1 && step >= 28 ? 1.3 : 1),
					.step = step, .job = 2, .by = 1000, .hint = true,
				};

				sn_health_sample(b.h, &s, b.now, &b.actions, NULL);
			}
		believed(&b, step, 16, off);
	}
	assert_true(sn_health_degraded(b.h, SN_HEALTH_UNIT, 1, NULL, NULL));
	assert_int_equal(bed_count(&b, SN_HEALTH_RESTORE), 0);
	bed_done(&b);
}

/* Two accounts of one user are two reporters. What they can have is a probe and a
 * card that is suspect meanwhile. */
static void two_hints_make_a_suspect_at_most(void **state)
{
	static const char codes_text[] =
		"worst ManuallySeparateNPU\nbad SeparateNPU\nhung RestartNPU\nfine NotHandleFault\n";
	static const char *const code[] = { "worst", "bad", "hung", "ecc-fatal", "link-down" };
	struct sn_health_card_info info;
	struct sn_health_codes codes;
	struct bed b;

	(void)state;
	assert_int_equal(sn_health_codes_parse(codes_text, strlen(codes_text), "codes", &codes, NULL), 0);
	bed_make(&b, bed_topo, "HealthEscalate=2 HealthUnknownCode=ManuallySeparateNPU");
	sn_health_reload(b.h, &b.conf, &codes);
	for (uint32_t card = 0; card < sizeof(code) / sizeof(*code); card++)
		for (uint32_t round = 0; round < 4; round++) {
			bed_clear(&b);
			for (uint32_t k = 0; k < 8; k++) {
				struct sn_health_fault f = {
					.card = card, .code = code[card], .job = 1,
					.by = 1000 + k % 4, .hint = true,
				};

				assert_int_equal(sn_health_fault(b.h, &f, b.now, &b.actions, NULL), 0);
			}
			sn_health_card(b.h, 0, card, &info);
			assert_int_equal(info.state, SN_HEALTH_SUSPECT);
			assert_int_equal(info.n_times, 0);
			assert_int_equal(bed_count(&b, SN_HEALTH_MASK), 1);
			for (size_t i = 0; i < b.actions.n; i++) {
				assert_true(b.actions.action[i].kind == SN_HEALTH_MASK ||
					    b.actions.action[i].kind == SN_HEALTH_PROBE);
				assert_false(b.actions.action[i].leave);
				assert_int_equal(b.actions.action[i].reset, SN_RESET_NONE);
			}
			sn_health_probe_started(b.h, 0, card, b.now, &b.actions, NULL);
			sn_health_probe_done(b.h, 0, card, true, NULL, b.now, &b.actions, NULL);
			assert_int_equal(bed_state(&b, 0, card), SN_HEALTH_HEALTHY);
		}
	/* a code that is no reason to suspect a card is none to probe it */
	bed_clear(&b);
	for (uint32_t k = 0; k < 4; k++) {
		struct sn_health_fault f = { .node = 1, .code = "fine", .by = k, .hint = true };

		sn_health_fault(b.h, &f, b.now, &b.actions, NULL);
	}
	assert_int_equal(bed_state(&b, 1, 0), SN_HEALTH_HEALTHY);
	assert_int_equal(b.actions.n, 0);
	/* and one who is believed is */
	bed_fault(&b, 0, 0, "bad");
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_QUARANTINED);
	bed_done(&b);
	sn_health_codes_done(&codes);
}

static int copy_to(void *arg, const struct sn_health_saved *saved)
{
	struct bed *to = arg;

	return sn_health_import(to->h, saved, to->now, NULL);
}

static void hint_fault(struct bed *b, uint32_t card, uint32_t by)
{
	struct sn_health_fault f = { .card = card, .code = "sick", .job = 1, .by = by, .hint = true };

	assert_int_equal(sn_health_fault(b->h, &f, b->now, &b->actions, NULL), 0);
}

/* The daemon may be restarted between the first who says so and the second. */
static void a_hint_outlives_a_restart(void **state)
{
	struct sn_health_card_info info;
	struct bed a, b;

	(void)state;
	bed_make(&a, bed_topo, "HealthProbeRetry=300");
	bed_make(&b, bed_topo, "HealthProbeRetry=300");
	for (uint32_t card = 0; card < 4; card++)
		hint_fault(&a, card, 1000);
	b.now += 10;
	assert_int_equal(sn_health_export(a.h, copy_to, &b), 0);
	sn_health_card(b.h, 0, 1, &info);
	assert_int_equal(info.state, SN_HEALTH_HEALTHY);
	assert_true(info.hinted);
	assert_int_equal(info.hint_by, 1000);
	assert_true(info.hint_at == T0);
	/* the probe that it asked for is not lost, nor asked for again and again */
	assert_true(sn_health_next(b.h, b.now) == b.now);
	bed_tick(&b, 0);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 4);
	bed_tick(&b, 600);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 4);
	assert_int_equal(b.actions.n, 4);
	/* the same one is no second reporter; another is */
	hint_fault(&b, 1, 1000);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_HEALTHY);
	hint_fault(&b, 1, 1001);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_SUSPECT);
	/* not after the time that hints count */
	bed_tick(&b, b.conf.escalate_time);
	hint_fault(&b, 2, 1001);
	assert_int_equal(bed_state(&b, 0, 2), SN_HEALTH_HEALTHY);
	bed_done(&a);
	bed_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_are_no_peers),
		cmocka_unit_test(hints_hide_no_card),
		cmocka_unit_test(a_hint_does_not_end_the_watch),
		cmocka_unit_test(a_hint_sets_no_counter),
		cmocka_unit_test(hints_take_no_places),
		cmocka_unit_test(hints_restore_nothing),
		cmocka_unit_test(hints_free_no_card),
		cmocka_unit_test(hints_are_no_siblings),
		cmocka_unit_test(hints_do_not_hold_a_unit),
		cmocka_unit_test(two_hints_make_a_suspect_at_most),
		cmocka_unit_test(a_hint_outlives_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
