/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_healthstate.c - saving and restoring, and what must hold whatever comes in.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/healthbed.h"

static int copy_to(void *arg, const struct sn_health_saved *saved)
{
	struct bed *to = arg;
	struct sn_err err;

	assert_int_equal(sn_health_import(to->h, saved, to->now, &err), 0);
	return 0;
}

static void what_is_saved_comes_back(void **state)
{
	struct bed a, b;
	char why[SN_HEALTH_WHY_SIZE];

	(void)state;
	bed_make(&a, bed_topo, "");
	bed_fault(&a, 0, 0, "sick");
	bed_fault(&a, 1, 1, "sick");
	sn_health_probe_started(a.h, 1, 1, a.now, &a.actions, NULL);
	bed_fault(&a, 2, 2, "card-lost");
	for (int i = 0; i < 3; i++) {
		bed_fault(&a, 3, 3, "sick");
		sn_health_probe_done(a.h, 3, 3, true, NULL, a.now, &a.actions, NULL);
	}
	bed_fault(&a, 4, 4, "sick");
	sn_health_probe_done(a.h, 4, 4, true, NULL, a.now, &a.actions, NULL);
	sn_health_set_domain(a.h, SN_HEALTH_UNIT, 5, true, "cabling", a.now, &a.actions, NULL);
	/* another topology: the order is another, a node and a unit are gone */
	bed_make(&b, "SupernodeName=sn[4,3,2,1] Nodes=n[13-16,09-12,05-08,01-04] NodesPerSupernode=4\n"
		 "UnitName=u6 Nodes=n[11-12]\n", "");
	assert_int_equal(sn_health_export(a.h, copy_to, &b), 0);
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n01"), 0), SN_HEALTH_SUSPECT);
	/* whoever probed it does not know us */
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n02"), 1), SN_HEALTH_SUSPECT);
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n03"), 2), SN_HEALTH_QUARANTINED);
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n04"), 3), SN_HEALTH_MANUAL);
	assert_true(sn_health_degraded(b.h, SN_HEALTH_UNIT, 0, NULL, why));
	assert_string_equal(why, "cabling");
	bed_tick(&b, 0);
	assert_int_equal(bed_count(&b, SN_HEALTH_PROBE), 2);
	/* its history counts on */
	bed_fault(&b, sn_topo_find_node(b.topo, "n05"), 4, "sick");
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n05"), 4), SN_HEALTH_SUSPECT);
	sn_health_probe_done(b.h, sn_topo_find_node(b.topo, "n05"), 4, true, NULL, b.now, &b.actions, NULL);
	bed_fault(&b, sn_topo_find_node(b.topo, "n05"), 4, "sick");
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n05"), 4), SN_HEALTH_MANUAL);
	/* a mark of its node's record, too, where it is well but has been sick */
	bed_fault(&b, sn_topo_find_node(b.topo, "n05"), 5, "sick");
	sn_health_probe_done(b.h, sn_topo_find_node(b.topo, "n05"), 5, true, NULL, b.now, &b.actions, NULL);
	assert_int_equal(bed_state(&b, sn_topo_find_node(b.topo, "n05"), 5), SN_HEALTH_HEALTHY);
	{
		struct sn_health_saved by_hand = { .what = SN_HEALTH_SAVED_CARD, .name = "n05", .card = 5 };
		struct sn_health_card_info is;

		by_hand.info.state = SN_HEALTH_SUSPECT;
		by_hand.info.since = by_hand.info.time[0] = b.now;
		by_hand.info.n_times = 1;
		assert_int_equal(sn_health_import(b.h, &by_hand, b.now, NULL), 0);
		sn_health_card(b.h, sn_topo_find_node(b.topo, "n05"), 5, &is);
		assert_int_equal(is.state, SN_HEALTH_SUSPECT);
		assert_int_equal(is.n_times, 2);
	}
	/* a second import changes nothing that is newer */
	sn_health_release(b.h, sn_topo_find_node(b.topo, "n05"), 4, NULL, b.now, &b.actions, NULL);
	bed_done(&a);
	bed_done(&b);
}

static int names_to(void *arg, const struct sn_health_saved *saved)
{
	struct sn_err err;

	/* what is gone is said, and passed over */
	assert_int_equal(sn_health_import(((struct bed *)arg)->h, saved, T0, &err), -ENOENT);
	assert_non_null(strstr(err.text, "not in topology.conf"));
	return 7;
}

static void what_cannot_be_is_refused(void **state)
{
	struct sn_health_saved s = { .what = SN_HEALTH_SAVED_CARD, .name = "n01" };
	struct bed a, b;

	(void)state;
	bed_make(&a, bed_topo, "");
	bed_make(&b, "SupernodeName=x Nodes=x1\n", "");
	bed_fault(&a, 0, 0, "sick");
	assert_int_equal(sn_health_export(a.h, names_to, &b), 7);
	s.info.state = (enum sn_health_state)17;
	assert_int_equal(sn_health_import(a.h, &s, T0, NULL), -EINVAL);
	s.info.state = SN_HEALTH_MANUAL;
	s.info.n_times = 9;
	assert_int_equal(sn_health_import(a.h, &s, T0, NULL), -EINVAL);
	s.info.n_times = 1;
	s.info.time[0] = NAN;
	assert_int_equal(sn_health_import(a.h, &s, T0, NULL), -EINVAL);
	s.info.n_times = 0;
	s.info.since = INFINITY;
	assert_int_equal(sn_health_import(a.h, &s, T0, NULL), -EINVAL);
	s.info.since = 0;
	s.card = 70000;
	assert_int_equal(sn_health_import(a.h, &s, T0, NULL), -EINVAL);
	s.name = NULL;
	assert_int_equal(sn_health_import(a.h, &s, T0, NULL), -EINVAL);
	bed_done(&a);
	bed_done(&b);
}

/* Nodes come; the engine that does not know them lives on until there is another. */
static void the_topology_may_grow(void **state)
{
	struct sn_health_actions wanted = { 0 };
	struct sn_health_saved s = { .what = SN_HEALTH_SAVED_CARD, .name = "extra3" };
	struct bed b;
	char name[32];

	(void)state;
	bed_make(&b, bed_topo, "");
	bed_fault(&b, 15, 0, "sick");
	sn_health_set_domain(b.h, SN_HEALTH_UNIT, 7, true, "x", b.now, &b.actions, NULL);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "extra%d", i);
		assert_int_equal(sn_topo_add_loose(b.topo, name, NULL), 0);
	}
	assert_int_equal(bed_sample(&b, 16, 0, "step_time", 1, 1), -EINVAL);
	assert_int_equal(sn_health_set_domain(b.h, SN_HEALTH_SUPERNODE, 4, true, "x", b.now,
					      &b.actions, NULL), -EINVAL);
	assert_int_equal(sn_health_import(b.h, &s, b.now, NULL), -ENOENT);
	s.what = SN_HEALTH_SAVED_DOMAIN;
	assert_int_equal(sn_health_import(b.h, &s, b.now, NULL), -ENOENT);
	assert_true(sn_health_degraded(b.h, SN_HEALTH_UNIT, 7, NULL, NULL));
	assert_int_equal(sn_health_wanted(b.h, &wanted, NULL), 0);
	assert_int_equal(wanted.n, 2);
	sn_health_actions_done(&wanted);
	bed_tick(&b, 1e6);
	bed_done(&b);
}

/* A supernode that slowed while nobody watched is found by what was usual before. */
static void the_usual_survives(void **state)
{
	struct bed a, b;

	(void)state;
	bed_make(&a, bed_topo, "");
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 60; step++) {
		struct bed *now = step < 30 ? &a : &b;

		if (step == 30)
			sn_health_export(a.h, copy_to, &b);
		for (uint32_t n = 0; n < 4; n++)
			for (uint32_t c = 0; c < 8; c++)
				bed_sample(now, n, c, "compute_time", step,
					   (step < 30 ? 1 : 1.3) * (1 + 0.01 * bed_noise(now)));
		bed_tick(now, 1);
	}
	assert_int_equal(bed_count(&b, SN_HEALTH_DEGRADE), 1);
	bed_done(&a);
	bed_done(&b);
}

/* ---- a model of the marks in the records, driven by actions alone ---------------- */

struct model {
	enum sn_health_state card[16][8];
	bool supernode[4], unit[8];
};

static void apply(struct model *m, const struct sn_health_action *a)
{
	enum sn_health_state *card = a->node == SN_NONE ? NULL : &m->card[a->node][a->card];

	assert_in_range(strlen(a->why), 1, SN_HEALTH_WHY_SIZE - 1);
	assert_null(strchr(a->why, '\n'));
	if (a->kind == SN_HEALTH_DEGRADE || a->kind == SN_HEALTH_RESTORE) {
		assert_null(card);
		*(a->domain == SN_HEALTH_UNIT ? &m->unit[a->index] : &m->supernode[a->index]) =
			a->kind == SN_HEALTH_DEGRADE;
		return;
	}
	if (a->kind == SN_HEALTH_NOTE)
		return;
	assert_non_null(card);
	switch (a->kind) {
	case SN_HEALTH_MASK:
		*card = SN_HEALTH_SUSPECT;
		break;
	case SN_HEALTH_MARK_PROBING:
		*card = SN_HEALTH_PROBING;
		break;
	case SN_HEALTH_QUARANTINE:
		*card = SN_HEALTH_QUARANTINED;
		break;
	case SN_HEALTH_NEEDS_RELEASE:
		*card = SN_HEALTH_MANUAL;
		break;
	case SN_HEALTH_UNMASK:
		*card = SN_HEALTH_HEALTHY;
		break;
	default:
		break;
	}
}

static uint32_t pick(struct bed *b, uint32_t n)
{
	return (uint32_t)((bed_noise(b) + 1) / 2 * 0.999999 * n);
}

static void random_op(struct bed *b, bool *ret_release, uint32_t *ret_node, uint32_t *ret_card)
{
	static const char *const code[] = { "sick", "card-lost", "xid-13", "what", "probe-failed" };
	static const char *const metric[] = { "compute_time", "flops", "step_time", "temperature", "crc_errors" };
	static const double odd[] = { 0, -1, 1e300, 1e-300, 5e-324, 1.7e308 };
	uint32_t node = pick(b, 16), card = pick(b, 8);

	*ret_release = false;
	*ret_node = node;
	*ret_card = card;
	switch (pick(b, 12)) {
	case 0:
		bed_fault(b, node, card, code[pick(b, 5)]);
		break;
	case 1:
		sn_health_probe_started(b->h, node, card, b->now, &b->actions, NULL);
		break;
	case 2:
		sn_health_probe_done(b->h, node, card, pick(b, 2), "x", b->now, &b->actions, NULL);
		break;
	case 3:
		*ret_release = true;
		sn_health_release(b->h, node, card, "x", b->now, &b->actions, NULL);
		break;
	case 4:
		bed_tick(b, (pick(b, 20) ? 1 : 1e5) * bed_noise(b) * 1000);
		break;
	case 5:
		sn_health_set_domain(b->h, pick(b, 2) ? SN_HEALTH_UNIT : SN_HEALTH_SUPERNODE,
				     pick(b, 8), pick(b, 2), "x", b->now, &b->actions, NULL);
		break;
	case 6:
		sn_health_job_done(b->h, pick(b, 3), b->now, &b->actions, NULL);
		break;
	case 7:
		bed_sample_as(b, node, card, metric[pick(b, 5)], pick(b, 40), odd[pick(b, 6)],
			      pick(b, 3), pick(b, 2), pick(b, 3));
		break;
	default: {
		/* a step of a supernode, some samples missing, some cards slow */
		uint32_t sn = pick(b, 4), job = pick(b, 3), bad = pick(b, 3) ? 64 : pick(b, 32);
		uint64_t step = pick(b, 10) ? (uint64_t)(b->now - T0) & 0xffff : pick(b, 100);
		const char *of = metric[pick(b, 3)];

		for (uint32_t i = 0; i < 32; i++)
			if (pick(b, 12))
				bed_sample_as(b, sn * 4 + i / 8, i % 8, of,
					      pick(b, 50) ? step : SN_HEALTH_NO_STEP,
					      (i == bad ? 3 : 1) + 0.1 * bed_noise(b),
					      job, !pick(b, 4), pick(b, 3));
	}
	}
}

/*
 * Whatever comes in: the marks that the actions make are the engine's states, applied
 * once or twice; only a release ends "manual"; what an engine that was restored wants
 * is what was there.
 */
static void the_actions_tell_all(void **state)
{
	uint32_t seen[SN_HEALTH_STATES] = { 0 }, degraded = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct model m = { 0 };
		struct bed b;

		bed_make(&b, bed_topo, seed % 2 ? "HealthEscalate=2 HealthHold=100 HealthRecover=5" :
			 "HealthJobReports=trust HealthProbeTries=1 HealthDomainHold=1000 HealthEscalateTime=100");
		b.rng = seed;
		for (int op = 0; op < 700; op++) {
			struct model before = m;
			struct sn_health_actions wanted = { 0 };
			struct model want = { 0 };
			bool release;
			uint32_t node, card;

			bed_clear(&b);
			random_op(&b, &release, &node, &card);
			for (int twice = 0; twice < 2; twice++)
				for (size_t i = 0; i < b.actions.n; i++)
					apply(&m, &b.actions.action[i]);
			for (uint32_t n = 0; n < 16; n++)
				for (uint32_t c = 0; c < 8; c++) {
					assert_int_equal(bed_state(&b, n, c), m.card[n][c]);
					seen[m.card[n][c]]++;
					if (before.card[n][c] == SN_HEALTH_MANUAL &&
					    m.card[n][c] != SN_HEALTH_MANUAL)
						assert_true(release && n == node && c == card);
				}
			assert_int_equal(sn_health_wanted(b.h, &wanted, NULL), 0);
			for (size_t i = 0; i < wanted.n; i++)
				apply(&want, &wanted.action[i]);
			for (uint32_t n = 0; n < 16; n++)
				assert_memory_equal(want.card[n], m.card[n], sizeof(m.card[n]));
			assert_memory_equal(want.supernode, m.supernode, sizeof(m.supernode));
			assert_memory_equal(want.unit, m.unit, sizeof(m.unit));
			degraded += m.supernode[0] + m.unit[0];
			assert_true(sn_health_next(b.h, b.now) >= b.now);
			assert_true(sn_health_next(b.h, b.now) <= b.now + 60);
			sn_health_actions_done(&wanted);
		}
		bed_done(&b);
	}
	/* the sequences have been everywhere */
	for (int s = 0; s < SN_HEALTH_STATES; s++)
		assert_true(seen[s] > 100);
	assert_true(degraded > 100);
}

/* kill -9 in the middle of anything: what is saved, or only the marks in the records,
 * makes the same marks again. */
static void restored_it_wants_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 100; seed < 120; seed++) {
		struct bed a, b;
		bool release;
		uint32_t node, card;

		bed_make(&a, bed_topo, "");
		bed_make(&b, bed_topo, "");
		a.rng = seed;
		for (int op = 0; op < 300; op++)
			random_op(&a, &release, &node, &card);
		b.now = a.now;
		assert_int_equal(sn_health_export(a.h, copy_to, &b), 0);
		assert_int_equal(sn_health_export(a.h, copy_to, &b), 0);
		for (uint32_t n = 0; n < 16; n++)
			for (uint32_t c = 0; c < 8; c++) {
				enum sn_health_state was = bed_state(&a, n, c);

				assert_int_equal(bed_state(&b, n, c),
						 was == SN_HEALTH_PROBING ? SN_HEALTH_SUSPECT : was);
			}
		for (uint32_t i = 0; i < 8; i++)
			assert_int_equal(sn_health_degraded(b.h, SN_HEALTH_UNIT, i, NULL, NULL),
					 sn_health_degraded(a.h, SN_HEALTH_UNIT, i, NULL, NULL));
		bed_done(&a);
		bed_done(&b);
	}
}

static void a_reload_keeps_the_marks(void **state)
{
	struct sn_health_conf conf;
	struct sn_policy policy;
	struct sn_err err;
	const char *text = "HealthMetrics=\"step_time=off busbw=low\"";
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "");
	for (uint64_t step = 0; step < 20; step++) {
		for (uint32_t c = 0; c < 32; c++)
			bed_sample(&b, c / 8, c % 8, "step_time", step, c == 9 && step > 10 ? 2 : 1);
		bed_tick(&b, 1);
	}
	assert_int_equal(bed_state(&b, 1, 1), SN_HEALTH_SUSPECT);
	bed_sample(&b, 0, 0, "step_time", 99, 1);
	assert_int_equal(sn_policy_parse(text, strlen(text), "f", &policy, &err), 0);
	assert_int_equal(sn_health_conf_init(&policy, &conf, &err), 0);
	sn_health_reload(b.h, &conf, NULL);
	assert_int_equal(bed_state(&b, 1, 1), SN_HEALTH_SUSPECT);
	assert_int_equal(bed_sample(&b, 0, 0, "step_time", 100, 1), -EINVAL);
	assert_int_equal(bed_sample(&b, 0, 0, "busbw", 100, 1), 0);
	bed_tick(&b, 100);
	bed_done(&b);
}

/* A thousand jobs come and go: what they leave behind does not grow. */
static void what_jobs_leave_is_thrown_away(void **state)
{
	struct sn_health_stats stats;
	size_t early = 0;
	struct bed b;

	(void)state;
	bed_make(&b, bed_topo, "HealthDomainHold=100 HealthWindow=1");
	for (uint32_t job = 1; job <= 1000; job++) {
		for (uint64_t step = 0; step < 5; step++)
			for (uint32_t c = 0; c < 32; c++)
				bed_sample_as(&b, c / 8, c % 8, "compute_time", step, 1, job, false, 0);
		if (job % 7 == 0)
			bed_fault(&b, job % 16, job % 8, "sick");
		if (job % 7 == 1 && job > 1)
			sn_health_release(b.h, (job - 1) % 16, (job - 1) % 8, NULL, b.now, &b.actions, NULL);
		bed_tick(&b, 40);
		if (job == 100) {
			sn_health_stats(b.h, &stats);
			early = stats.bytes;
		}
	}
	sn_health_stats(b.h, &stats);
	assert_in_range(stats.cohorts, 0, 10);
	assert_true(stats.bytes <= early + early / 10);
	assert_in_range(stats.series, 0, 32 * 8);
	bed_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_saved_comes_back),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(the_topology_may_grow),
		cmocka_unit_test(the_usual_survives),
		cmocka_unit_test(the_actions_tell_all),
		cmocka_unit_test(restored_it_wants_the_same),
		cmocka_unit_test(a_reload_keeps_the_marks),
		cmocka_unit_test(what_jobs_leave_is_thrown_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
