/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/healthbed.h"

static int started(struct bed *b, uint32_t node, uint32_t card)
{
	return sn_health_probe_started(b->h, node, card, b->now, &b->actions, NULL);
}

static int ended(struct bed *b, uint32_t node, uint32_t card, bool passed)
{
	return sn_health_probe_done(b->h, node, card, passed, passed ? NULL : "no device",
				    b->now, &b->actions, NULL);
}

static void suspect_at_once_then_probed_then_healthy(void **state)
{
	const struct sn_health_action *a;
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	assert_int_equal(bed_fault(&b, 3, 5, "preflight"), 0);
	assert_int_equal(b.actions.n, 2);
	a = bed_find(&b, SN_HEALTH_MASK);
	assert_int_equal(a->node, 3);
	assert_int_equal(a->card, 5);
	assert_true(a->at == T0);
	assert_string_equal(a->why, "fault preflight (SubHealthFault): the preflight failed");
	assert_non_null(bed_find(&b, SN_HEALTH_PROBE));
	assert_int_equal(bed_state(&b, 3, 5), SN_HEALTH_SUSPECT);
	assert_int_equal(bed_state(&b, 3, 4), SN_HEALTH_HEALTHY);
	bed_clear(&b);
	started(&b, 3, 5);
	assert_int_equal(bed_state(&b, 3, 5), SN_HEALTH_PROBING);
	assert_int_equal(bed_count(&b, SN_HEALTH_MARK_PROBING), 1);
	/* a second start says nothing new */
	started(&b, 3, 5);
	assert_int_equal(b.actions.n, 1);
	bed_clear(&b);
	ended(&b, 3, 5, true);
	assert_int_equal(b.actions.n, 1);
	assert_int_equal(bed_count(&b, SN_HEALTH_UNMASK), 1);
	assert_int_equal(bed_state(&b, 3, 5), SN_HEALTH_HEALTHY);
	bed_done(&b);
}

static void failed_probe_quarantines_until_it_passes_after_the_hold(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthHold=600 HealthProbeRetry=60");
	bed_fault(&b, 0, 0, "sick");
	started(&b, 0, 0);
	bed_clear(&b);
	ended(&b, 0, 0, false);
	assert_string_equal(bed_find(&b, SN_HEALTH_QUARANTINE)->why, "the probe failed: no device");
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_QUARANTINED);
	/* too early */
	ended(&b, 0, 0, true);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_QUARANTINED);
	bed_clear(&b);
	bed_tick(&b, 599);
	assert_int_equal(b.actions.n, 0);
	assert_true(sn_health_next(b.h, b.now) == T0 + 600);
	bed_tick(&b, 1);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
	started(&b, 0, 0);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_QUARANTINED);
	/* it fails again: the time begins anew */
	ended(&b, 0, 0, false);
	bed_clear(&b);
	bed_tick(&b, 599);
	assert_int_equal(b.actions.n, 0);
	bed_tick(&b, 1);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
	started(&b, 0, 0);
	ended(&b, 0, 0, true);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_HEALTHY);
	bed_done(&b);
}

static void a_probe_without_an_answer_is_asked_for_again_then_quarantines(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthProbeTimeout=30 HealthProbeTries=3");
	bed_fault(&b, 0, 0, "sick");
	for (int i = 0; i < 3; i++) {
		started(&b, 0, 0);
		assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_PROBING);
		bed_clear(&b);
		bed_tick(&b, 29);
		assert_int_equal(b.actions.n, 0);
		bed_tick(&b, 1);
		if (i < 2) {
			assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
			assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
		}
	}
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_QUARANTINED);
	assert_non_null(strstr(bed_find(&b, SN_HEALTH_QUARANTINE)->why, "no answer from 3 probes"));
	bed_done(&b);
}

static void nobody_probes_a_suspect_so_it_is_asked_for_again(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthProbeRetry=300");
	bed_fault(&b, 0, 0, "sick");
	bed_clear(&b);
	bed_tick(&b, 299);
	assert_int_equal(b.actions.n, 0);
	bed_tick(&b, 1);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
	bed_tick(&b, 1);
	assert_int_equal(b.actions.n, 1);
	bed_done(&b);
}

static void an_anomaly_while_the_probe_runs_is_newer(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	bed_fault(&b, 0, 0, "sick");
	started(&b, 0, 0);
	bed_fault(&b, 0, 0, "sick");
	bed_clear(&b);
	ended(&b, 0, 0, true);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
	assert_int_equal(bed_count(&b, SN_HEALTH_UNMASK), 0);
	bed_done(&b);
}

static void the_third_time_in_a_day_only_an_administrator_frees_it(void **state)
{
	struct sn_health_card_info info;
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (int i = 0; i < 2; i++) {
		bed_fault(&b, 0, 0, "sick");
		bed_fault(&b, 0, 0, "sick"); /* the same one still */
		assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
		started(&b, 0, 0);
		bed_tick(&b, 10);
		ended(&b, 0, 0, true);
		assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_HEALTHY);
		bed_tick(&b, 3600);
	}
	bed_clear(&b);
	bed_fault(&b, 0, 0, "sick");
	assert_int_equal(b.actions.n, 1);
	assert_string_equal(bed_find(&b, SN_HEALTH_NEEDS_RELEASE)->why,
			    "3 in 24 h: fault sick (SubHealthFault): reported sick");
	/* nothing but a release moves it */
	started(&b, 0, 0);
	ended(&b, 0, 0, true);
	ended(&b, 0, 0, false);
	bed_fault(&b, 0, 0, "card-lost");
	bed_tick(&b, 1e7);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_MANUAL);
	assert_int_equal(b.actions.n, 1);
	sn_health_release(b.h, 0, 0, "root", b.now, &b.actions, NULL);
	assert_string_equal(bed_find(&b, SN_HEALTH_UNMASK)->why, "released by root");
	sn_health_card(b.h, 0, 0, &info);
	assert_int_equal(info.state, SN_HEALTH_HEALTHY);
	assert_int_equal(info.n_times, 0);
	bed_done(&b);
}

static void what_was_yesterday_does_not_count(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthEscalate=2 HealthEscalateTime=1000");
	for (int i = 0; i < 5; i++) {
		bed_fault(&b, 0, 0, "sick");
		assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
		started(&b, 0, 0);
		ended(&b, 0, 0, true);
		bed_tick(&b, 1000);
	}
	bed_done(&b);
	bed_make(&b, bed_topo, "HealthEscalate=0");
	for (int i = 0; i < 20; i++) {
		bed_fault(&b, 0, 0, "sick");
		assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
		started(&b, 0, 0);
		ended(&b, 0, 0, true);
	}
	bed_done(&b);
}

static void levels_do_what_they_say(void **state)
{
	static const struct {
		const char *level;
		enum sn_health_state is;
		enum sn_health_reset reset;
		bool leave;
	} want[] = {
		{ "NotHandleFault", SN_HEALTH_HEALTHY, SN_RESET_NONE, false },
		{ "RestartRequest", SN_HEALTH_HEALTHY, SN_RESET_NONE, false },
		{ "RestartBusiness", SN_HEALTH_SUSPECT, SN_RESET_NONE, false },
		{ "SubHealthFault", SN_HEALTH_SUSPECT, SN_RESET_NONE, false },
		{ "FreeRestartNPU", SN_HEALTH_SUSPECT, SN_RESET_WHEN_IDLE, false },
		{ "RestartNPU", SN_HEALTH_SUSPECT, SN_RESET_NOW, true },
		{ "PreSeparateNPU", SN_HEALTH_QUARANTINED, SN_RESET_NONE, false },
		{ "SeparateNPU", SN_HEALTH_QUARANTINED, SN_RESET_NONE, true },
		{ "ManuallySeparateNPU", SN_HEALTH_MANUAL, SN_RESET_NONE, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		char policy[64];
		struct bed b;

		snprintf(policy, sizeof(policy), "HealthUnknownCode=%s", want[i].level);
		bed_make(&b, bed_topo, policy);
		assert_int_equal(bed_fault(&b, 1, 1, "0xdeadbeef"), 0);
		assert_int_equal(bed_state(&b, 1, 1), want[i].is);
		assert_true(b.actions.n >= 1);
		for (size_t k = 0; k < b.actions.n; k++) {
			assert_int_equal(b.actions.action[k].reset, want[i].reset);
			assert_int_equal(b.actions.action[k].leave, want[i].leave);
			assert_non_null(strstr(b.actions.action[k].why, want[i].level));
		}
		assert_int_equal(bed_count(&b, SN_HEALTH_NOTE), want[i].is == SN_HEALTH_HEALTHY);
		bed_done(&b);
	}
}

static void graver_faults_move_a_suspect_on(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	bed_fault(&b, 0, 0, "sick");
	bed_clear(&b);
	bed_fault(&b, 0, 0, "card-lost");
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_QUARANTINED);
	assert_true(bed_find(&b, SN_HEALTH_QUARANTINE)->leave);
	bed_clear(&b);
	bed_fault(&b, 0, 0, "sick");
	bed_fault(&b, 0, 0, "card-lost");
	assert_int_equal(b.actions.n, 0);
	bed_done(&b);
}

static void request_errors_are_noted_and_counted(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthUnknownCode=RestartRequest");
	bed_fault(&b, 0, 0, "x1");
	bed_fault(&b, 0, 0, "x2");
	assert_int_equal(bed_count(&b, SN_HEALTH_NOTE), 2);
	bed_fault(&b, 0, 0, "x3");
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_MANUAL);
	bed_done(&b);
}

static int hint(struct bed *b, uint32_t by)
{
	struct sn_health_fault f = { .node = 0, .card = 1, .code = "sick", .job = 7,
				     .by = by, .hint = true };

	return sn_health_fault(b->h, &f, b->now, &b->actions, NULL);
}

static void a_hint_masks_nothing_alone(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (int i = 0; i < 100; i++)
		hint(&b, 1000);
	assert_int_equal(b.actions.n, 1); /* and asks once */
	assert_int_equal(b.actions.action[0].kind, SN_HEALTH_PROBE);
	assert_string_equal(b.actions.action[0].why, "hint: fault sick (SubHealthFault): reported sick");
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_HEALTHY);
	started(&b, 0, 1);
	ended(&b, 0, 1, true);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_HEALTHY);
	bed_tick(&b, 1000);
	/* the probe that it causes may fail */
	hint(&b, 1000);
	started(&b, 0, 1);
	ended(&b, 0, 1, false);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_QUARANTINED);
	bed_done(&b);
	/* two who say it are believed */
	bed_make(&b, bed_topo, "");
	hint(&b, 1000);
	hint(&b, 1001);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_SUSPECT);
	bed_done(&b);
	bed_make(&b, bed_topo, "HealthJobReports=trust");
	hint(&b, 1000);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_SUSPECT);
	bed_done(&b);
	/* also of samples */
	bed_make(&b, bed_topo, "");
	bed_sample_as(&b, 0, 1, "temperature", SN_HEALTH_NO_STEP, 120, 7, true, 1000);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_HEALTHY);
	bed_done(&b);
}

static void limits_and_counters_are_judged_at_once(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthMetrics=\"fan=low:500\"");
	bed_sample(&b, 0, 0, "temperature", SN_HEALTH_NO_STEP, 94.9);
	bed_sample(&b, 0, 0, "fan", SN_HEALTH_NO_STEP, 501);
	assert_int_equal(b.actions.n, 0);
	bed_sample(&b, 0, 0, "temperature", SN_HEALTH_NO_STEP, 96);
	assert_string_equal(bed_find(&b, SN_HEALTH_MASK)->why, "temperature 96 is over the limit 95");
	bed_sample(&b, 0, 1, "fan", SN_HEALTH_NO_STEP, 499);
	assert_int_equal(bed_state(&b, 0, 1), SN_HEALTH_SUSPECT);
	/* a counter: what it is at first says nothing; it may begin anew */
	bed_clear(&b);
	bed_sample(&b, 0, 2, "crc_errors", SN_HEALTH_NO_STEP, 5000);
	bed_sample(&b, 0, 2, "crc_errors", SN_HEALTH_NO_STEP, 5099);
	bed_sample(&b, 0, 2, "crc_errors", SN_HEALTH_NO_STEP, 0);
	assert_int_equal(b.actions.n, 0);
	bed_sample(&b, 0, 2, "crc_errors", SN_HEALTH_NO_STEP, 100);
	assert_string_equal(bed_find(&b, SN_HEALTH_MASK)->why,
			    "crc_errors rose by 100 to 100; the limit is 100");
	bed_done(&b);
}

static void bad_input_changes_nothing(void **state)
{
	struct sn_health_sample s = { .metric = "step_time", .value = 1, .step = 1 };
	struct sn_health_stats stats;
	struct sn_err err;
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	assert_int_equal(bed_sample(&b, 16, 0, "step_time", 1, 1), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, SN_HEALTH_CARDS_MAX, "step_time", 1, 1), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, 0, "step_time", 1, NAN), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, 0, "step_time", 1, INFINITY), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, 0, "step_time", 1, 0), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, 0, "step_time", 1, -1), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, 0, "temperature", 1, -5), 0);
	assert_int_equal(bed_fault(&b, 0, 0, ""), -EINVAL);
	s.metric = "steptime";
	assert_int_equal(sn_health_sample(b.h, &s, b.now, &b.actions, &err), -EINVAL);
	assert_non_null(strstr(err.text, "did you mean step_time"));
	s.metric = "step_time";
	assert_int_equal(sn_health_sample(b.h, &s, NAN, &b.actions, &err), -EINVAL);
	assert_int_equal(sn_health_tick(b.h, NAN, &b.actions, &err), -EINVAL);
	assert_int_equal(sn_health_set_domain(b.h, SN_HEALTH_UNIT, 8, true, NULL, b.now, &b.actions, &err), -EINVAL);
	sn_health_stats(b.h, &stats);
	assert_int_equal(stats.bad, 5);
	assert_int_equal(b.actions.n, 0);
	bed_done(&b);
}

static void a_clock_that_jumps_only_moves_waiting_times(void **state)
{
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthProbeTimeout=30 HealthProbeRetry=60");
	bed_fault(&b, 0, 0, "sick");
	started(&b, 0, 0);
	bed_tick(&b, -1e8);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_PROBING);
	bed_tick(&b, 30);
	assert_int_equal(bed_state(&b, 0, 0), SN_HEALTH_SUSPECT);
	bed_tick(&b, -1e8);
	bed_clear(&b);
	bed_tick(&b, 60);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 1);
	/* anomalies of the future count: better once too often */
	bed_tick(&b, 2e8);
	assert_true(sn_health_next(b.h, b.now) >= b.now && sn_health_next(b.h, b.now) <= b.now + 60);
	bed_done(&b);
}

static void why_is_one_short_line(void **state)
{
	struct sn_health_fault f = { .node = 0, .card = 0, .code = "x" };
	char text[400];
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	memset(text, 0, sizeof(text));
	for (int i = 0; i < 180; i += 2)
		memcpy(text + i, "\xc3\xa4", 2); /* two bytes each: cut between, not inside */
	f.text = text;
	sn_health_fault(b.h, &f, b.now, &b.actions, NULL);
	assert_in_range(strlen(b.actions.action[0].why), 99, 100);
	assert_int_equal((unsigned char)b.actions.action[0].why[strlen(b.actions.action[0].why) - 1], 0xa4);
	f.card = 1;
	f.text = "two\nlines\x1b[31m";
	sn_health_fault(b.h, &f, b.now, &b.actions, NULL);
	assert_null(strpbrk(b.actions.action[b.actions.n - 1].why, "\n\x1b"));
	bed_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suspect_at_once_then_probed_then_healthy),
		cmocka_unit_test(failed_probe_quarantines_until_it_passes_after_the_hold),
		cmocka_unit_test(a_probe_without_an_answer_is_asked_for_again_then_quarantines),
		cmocka_unit_test(nobody_probes_a_suspect_so_it_is_asked_for_again),
		cmocka_unit_test(an_anomaly_while_the_probe_runs_is_newer),
		cmocka_unit_test(the_third_time_in_a_day_only_an_administrator_frees_it),
		cmocka_unit_test(what_was_yesterday_does_not_count),
		cmocka_unit_test(levels_do_what_they_say),
		cmocka_unit_test(graver_faults_move_a_suspect_on),
		cmocka_unit_test(request_errors_are_noted_and_counted),
		cmocka_unit_test(a_hint_masks_nothing_alone),
		cmocka_unit_test(limits_and_counters_are_judged_at_once),
		cmocka_unit_test(bad_input_changes_nothing),
		cmocka_unit_test(a_clock_that_jumps_only_moves_waiting_times),
		cmocka_unit_test(why_is_one_short_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
