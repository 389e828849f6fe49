/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_healthtwin.c - two engines see the same, and one of them hints as well.
 *
 * Whatever one reporter hints, what is believed has the same outcome in both: the
 * same states, and the same actions at the same time.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/healthbed.h"

#define NODES 16

static const char *const metric[] = {
	"compute_time", "step_time", "flops", "own_time", "temperature", "ecc_errors",
};
#define N_METRICS (sizeof(metric) / sizeof(*metric))
static const char *const code[] = { "sick", "card-lost", "ecc-fatal", "link-down", "xid-79", "odd" };
static const char *const policy[] = {
	"",
	"HealthHold=60 HealthProbeRetry=20 HealthEscalate=2 HealthEscalateTime=600 HealthRecover=3",
	"HealthUnknownCode=ManuallySeparateNPU HealthDomainHold=60 HealthEscalate=0",
	"HealthPeers=3 HealthSettle=1000 HealthWindow=5 HealthGross=50",
};

struct twin {
	struct bed plain, hinted;
	double off[NODES][BED_CARDS];
	uint64_t step;
	uint32_t gen, marks, degraded; /* so that a test in which nothing happens fails */
};

static uint32_t draw(struct twin *t, uint32_t n)
{
	return (uint32_t)((bed_noise(&t->plain) + 1) / 2 * n) % n;
}

static double wild(struct twin *t)
{
	static const double of[] = { 1, 1, 1.3, 0.5, 100, 1e-9, 1e9, 0 };

	return of[draw(t, 8)] * (1 + 0.02 * bed_noise(&t->plain));
}

/* ---- what may differ ------------------------------------------------------------------ */

static bool is_of_hints(const struct sn_health_action *a)
{
	return (a->kind == SN_HEALTH_PROBE && !strncmp(a->why, "hint: ", 6)) ||
		a->kind == SN_HEALTH_NOTE;
}

static int compare(const void *x, const void *y)
{
	const struct sn_health_action *a = x, *b = y;
	const uint32_t k[] = { a->node, a->card, a->index, a->domain, a->kind };
	const uint32_t l[] = { b->node, b->card, b->index, b->domain, b->kind };

	for (int i = 0; i < 5; i++)
		if (k[i] != l[i])
			return k[i] < l[i] ? -1 : 1;
	return strcmp(a->why, b->why);
}

static void strip(struct bed *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->actions.n; i++)
		if (!is_of_hints(&b->actions.action[i]))
			b->actions.action[n++] = b->actions.action[i];
	b->actions.n = n;
	if (n)
		qsort(b->actions.action, n, sizeof(*b->actions.action), compare);
}

static void same_actions(struct twin *t)
{
	assert_int_equal(t->plain.actions.n, t->hinted.actions.n);
	for (size_t i = 0; i < t->plain.actions.n; i++) {
		const struct sn_health_action *a = &t->plain.actions.action[i];
		const struct sn_health_action *b = &t->hinted.actions.action[i];

		assert_int_equal(compare(a, b), 0);
		assert_true(a->leave == b->leave && a->reset == b->reset && a->at == b->at);
		t->marks += a->kind == SN_HEALTH_MASK || a->kind == SN_HEALTH_QUARANTINE;
		t->degraded += a->kind == SN_HEALTH_DEGRADE;
	}
	bed_clear(&t->plain);
	bed_clear(&t->hinted);
}

static void same_states(struct twin *t)
{
	struct sn_health_card_info a, b;
	char why[2][SN_HEALTH_WHY_SIZE];

	for (uint32_t n = 0; n < NODES; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++) {
			sn_health_card(t->plain.h, n, c, &a);
			sn_health_card(t->hinted.h, n, c, &b);
			assert_int_equal(a.state, b.state);
			if (a.state == SN_HEALTH_HEALTHY)
				continue;
			assert_true(a.since == b.since && a.n_times == b.n_times && a.probes == b.probes);
			assert_string_equal(a.why, b.why);
		}
	for (uint32_t i = 0; i < 8; i++)
		for (int d = 0; d < 2; d++) {
			bool is = sn_health_degraded(t->plain.h, (enum sn_health_domain)d, i, NULL, why[0]);

			assert_int_equal(is, sn_health_degraded(t->hinted.h, (enum sn_health_domain)d, i,
								NULL, why[1]));
			if (is)
				assert_string_equal(why[0], why[1]);
		}
}

/* ---- what happens ----------------------------------------------------------------------- */

static void hint(struct twin *t, uint32_t by)
{
	struct bed *b = &t->hinted;
	uint32_t node = draw(t, NODES), card = draw(t, BED_CARDS), job = 1 + draw(t, 2);
	size_t before = b->actions.n;

	if (!draw(t, 20)) {
		struct sn_health_fault f = {
			.node = node, .card = card, .code = code[draw(t, 6)], .job = job,
			.by = by, .hint = true,
		};

		sn_health_fault(b->h, &f, b->now, &b->actions, NULL);
	} else {
		const uint64_t step[] = {
			t->step, t->step, t->step + 1, t->step ? t->step - 1 : 0, t->step + draw(t, 100),
			0, 1ull << 53, SN_HEALTH_NO_STEP - 1, SN_HEALTH_NO_STEP,
		};
		struct sn_health_sample s = {
			.node = node, .card = card, .metric = metric[draw(t, N_METRICS)],
			.value = wild(t), .time = draw(t, 9) ? b->now : NAN, .step = step[draw(t, 9)],
			.gen = draw(t, 4) ? t->gen : draw(t, 2) ? t->gen + draw(t, 3) : UINT32_MAX,
			.job = job, .by = by, .hint = true,
		};

		sn_health_sample(b->h, &s, b->now, &b->actions, NULL);
	}
	for (size_t i = before; i < b->actions.n; i++)
		assert_true(is_of_hints(&b->actions.action[i]));
	b->actions.n = before;
}

/* A whole row of hints: all that it takes to be judged. */
static void hint_row(struct twin *t)
{
	struct bed *b = &t->hinted;
	const char *of = metric[draw(t, 4)];
	double all = wild(t) + 0.1;

	for (uint32_t n = 0; n < NODES; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++) {
			size_t before = b->actions.n;

			bed_sample_as(b, n, c, of, t->step, all * (1 + 0.02 * bed_noise(&t->plain)) *
				      (n / 4 == t->step / 16 % 4 ? 1.5 : 1), 1, true, 1000);
			for (size_t i = before; i < b->actions.n; i++)
				assert_true(is_of_hints(&b->actions.action[i]));
			b->actions.n = before;
		}
}

static void believe(struct twin *t, const struct sn_health_sample *s)
{
	sn_health_sample(t->plain.h, s, t->plain.now, &t->plain.actions, NULL);
	sn_health_sample(t->hinted.h, s, t->hinted.now, &t->hinted.actions, NULL);
	same_actions(t);
}

static void row(struct twin *t)
{
	const char *of = metric[draw(t, 3) ? 0 : 1];

	for (uint32_t n = 0; n < NODES; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++) {
			struct sn_health_sample s = {
				.node = n, .card = c, .metric = of, .step = t->step, .gen = t->gen,
				.job = 1, .time = t->plain.now,
				.value = (1 + t->off[n][c]) * (1 + 0.02 * bed_noise(&t->plain)),
			};

			if (!draw(t, 4))
				hint(t, 1000);
			if (draw(t, 50))
				believe(t, &s);
		}
	t->step++;
}

static void fault(struct twin *t)
{
	struct sn_health_fault f = {
		.node = draw(t, NODES), .card = draw(t, BED_CARDS), .code = code[draw(t, 6)],
	};

	sn_health_fault(t->plain.h, &f, t->plain.now, &t->plain.actions, NULL);
	sn_health_fault(t->hinted.h, &f, t->hinted.now, &t->hinted.actions, NULL);
	same_actions(t);
}

/* Of a card that is marked; a probe that only a hint has asked for is another thing. */
static void probe(struct twin *t)
{
	bool passed = draw(t, 2), announced = draw(t, 4);

	for (uint32_t n = 0; n < NODES; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++) {
			if (bed_state(&t->plain, n, c) == SN_HEALTH_HEALTHY || draw(t, 2))
				continue;
			for (int k = 0; k < 2; k++) {
				struct bed *b = k ? &t->hinted : &t->plain;

				if (announced)
					sn_health_probe_started(b->h, n, c, b->now, &b->actions, NULL);
				sn_health_probe_done(b->h, n, c, passed, NULL, b->now, &b->actions, NULL);
			}
			same_actions(t);
		}
}

static void release(struct twin *t)
{
	uint32_t n = draw(t, NODES), c = draw(t, BED_CARDS);

	sn_health_release(t->plain.h, n, c, "root", t->plain.now, &t->plain.actions, NULL);
	sn_health_release(t->hinted.h, n, c, "root", t->hinted.now, &t->hinted.actions, NULL);
	same_actions(t);
}

/* Here hints are judged, too. */
static void time_goes_by(struct twin *t, double later, bool job_ends)
{
	bed_tick(&t->plain, later);
	bed_tick(&t->hinted, later);
	for (uint32_t job = 1; job < 3 && job_ends; job++) {
		sn_health_job_done(t->plain.h, job, t->plain.now, &t->plain.actions, NULL);
		sn_health_job_done(t->hinted.h, job, t->hinted.now, &t->hinted.actions, NULL);
	}
	strip(&t->plain);
	strip(&t->hinted);
	same_actions(t);
}

static void something_is_slow(struct twin *t)
{
	uint32_t n = draw(t, NODES), many = draw(t, 3);
	double off = draw(t, 3) ? 0.1 + 0.05 * draw(t, 10) : 0;

	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			if (many == 2 ? i / 4 == n / 4 : many ? i / 2 == n / 2 : i == n && !c)
				t->off[i][c] = off;
}

static void one_event(struct twin *t)
{
	switch (draw(t, 24)) {
	case 0:
		something_is_slow(t);
		break;
	case 1:
		fault(t);
		break;
	case 2:
		probe(t);
		break;
	case 3:
		release(t);
		break;
	case 4:
		time_goes_by(t, draw(t, 200), !draw(t, 8));
		break;
	case 5:
		t->gen += !draw(t, 4);
		t->step -= draw(t, 3) ? 0 : draw(t, 20) < t->step ? draw(t, 20) % (t->step + 1) : 0;
		break;
	case 6:
	case 7:
	case 8:
		hint_row(t);
		break;
	default:
		row(t);
		time_goes_by(t, 1, false);
	}
	same_states(t);
}

static void hints_change_nothing_that_is_believed(void **state)
{
	uint32_t marks = 0, degraded = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct twin t = { 0 };

		bed_make(&t.plain, bed_topo, policy[seed % 4]);
		bed_make(&t.hinted, bed_topo, policy[seed % 4]);
		t.plain.rng = seed;
		for (int i = 0; i < 250; i++)
			one_event(&t);
		marks += t.marks;
		degraded += t.degraded;
		bed_done(&t.plain);
		bed_done(&t.hinted);
	}
	assert_true(marks > 200);
	assert_true(degraded > 20);
}

/* Any number of reporters: suspect is the worst, and no domain is touched. */
static void hints_alone_do_no_more_than_mask(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct twin t = { 0 };
		struct bed *b = &t.hinted;

		bed_make(&t.plain, bed_topo, "");
		bed_make(&t.hinted, bed_topo, policy[seed % 4]);
		t.plain.rng = seed;
		for (int i = 0; i < 4000; i++) {
			struct sn_health_fault f = {
				.node = draw(&t, NODES), .card = draw(&t, BED_CARDS), .code = code[draw(&t, 6)],
				.job = 1 + draw(&t, 9), .by = draw(&t, 5), .hint = true,
			};
			struct sn_health_sample s = {
				.node = f.node, .card = f.card, .metric = metric[draw(&t, N_METRICS)],
				.value = wild(&t), .time = b->now, .step = (uint64_t)i / 500, .job = f.job,
				.by = f.by, .hint = true,
			};

			sn_health_fault(b->h, &f, b->now, &b->actions, NULL);
			sn_health_sample(b->h, &s, b->now, &b->actions, NULL);
			if (!draw(&t, 50))
				bed_tick(b, draw(&t, 60));
		}
		assert_true(bed_count(b, SN_HEALTH_MASK) > 50);
		for (size_t i = 0; i < b->actions.n; i++) {
			const struct sn_health_action *a = &b->actions.action[i];

			assert_true(a->kind == SN_HEALTH_MASK || a->kind == SN_HEALTH_PROBE ||
				    a->kind == SN_HEALTH_NOTE);
			assert_true(!a->leave && !a->reset);
		}
		bed_done(&t.plain);
		bed_done(&t.hinted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_change_nothing_that_is_believed),
		cmocka_unit_test(hints_alone_do_no_more_than_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
