/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_daemonorder.c - who wrote what into nodes' records, in any order.
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

#include <cmocka.h>

#include "tests/unit/daemonbed.h"

/* ---- who wrote what, in any order ------------------------------------------------------- */

static struct {
	uint64_t drained[BED_NODES]; /* by root */
	/* A mark on it was taken away by somebody who may, and it was not sick since. */
	uint64_t resumed[BED_NODES];
	/* Sick since it was released: root may take the old mark away, and not this one. */
	uint64_t anew[BED_NODES];
	struct domain {
		bool ours; /* by the engine, until that ends it or root takes it away */
		bool taken; /* he did, and perhaps nobody has noticed */
		bool open; /* ours may be either, by who is first */
		bool root; /* by root, until he ends it */
	} domain[2][BED_NODES]; /* supernodes, units; by their first node */
} model;

/* slurmctld saves its state now and then, and a kill loses what was written since. Here
 * that is never anything by root, of whom the model would not know how much is lost. */
static char *saved[BED_NODES];

static void forget_saved(uint32_t n)
{
	free(saved[n]);
	saved[n] = NULL;
}

static uint32_t first_of_domain(uint32_t n, bool unit)
{
	return n - (unit ? n % 2 : n % 4);
}

static void say_it_is_sick(uint32_t n, uint32_t c)
{
	bed_fault(n, c);
	model.anew[n] |= model.resumed[n] & UINT64_C(1) << c;
	model.resumed[n] &= ~(UINT64_C(1) << c);
}

static void root_resumes(uint32_t n, uint32_t c)
{
	uint64_t bit = UINT64_C(1) << c;

	forget_saved(n);
	if (bed_book(n).unhealthy & bit) {
		bed_hand(n, SN_CARDKIND_HEALTH, bit, NULL);
		model.resumed[n] |= bit & ~model.anew[n];
	}
	if (bed_book(n).drained & bit)
		bed_hand(n, SN_CARDKIND_DRAIN, bit, NULL);
	model.drained[n] &= ~bit;
}

/* Through the daemon: it is answered when the state is on disk. */
static void an_operator_releases(uint32_t n, uint32_t c)
{
	char request[160];

	snprintf(request, sizeof(request), "{\"node\": \"%s\", \"cards\": [%u]}", bed.name[n], c);
	bed_ask(op_health_release, request);
	model.resumed[n] |= UINT64_C(1) << c;
	model.anew[n] &= ~(UINT64_C(1) << c);
}

static void root_drains(uint32_t n, uint32_t c)
{
	forget_saved(n);
	bed_hand(n, SN_CARDKIND_DRAIN, UINT64_C(1) << c, "root");
	model.drained[n] |= UINT64_C(1) << c;
}

static void slurmctld_saves(uint32_t n, uint32_t c)
{
	struct sn_marks_seen seen;

	(void)c;
	forget_saved(n);
	if (!sn_marks_read(bed.extra[n], &seen, NULL) && seen.own == seen.cards &&
	    seen.own_unit == seen.our_unit && seen.own_supernode == seen.our_supernode)
		saved[n] = strdup(bed.extra[n] ? bed.extra[n] : "");
}

static void slurmctld_is_killed(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	for (n = 0; n < bed.n; n++)
		if (saved[n])
			bed_set_extra(n, strdup(saved[n]));
}

/* slurmctld -c, or slurmd --extra */
static void all_is_lost(uint32_t n, uint32_t c)
{
	(void)c;
	forget_saved(n);
	if (bed_random(4))
		return;
	bed_set_extra(n, strdup(bed_random(2) ? "" : "{\"rack\":7}"));
	model.drained[n] = model.resumed[n] = 0;
	for (int unit = 0; unit < 2; unit++) {
		model.domain[unit][n].root = false;
		model.domain[unit][n].open |= model.domain[unit][n].taken;
	}
}

/* Who says that the node's supernode or unit is degraded, "" if nobody does. */
static const char *who_says(uint32_t n, bool unit)
{
	static char by[SN_CARDBOOK_BY_MAX];
	struct sn_cardmark mark;

	if (sn_cardbook_find(bed.extra[n], unit ? SN_CARDKIND_UNIT : SN_CARDKIND_SUPERNODE, 0, &mark, NULL))
		return "";
	strcpy(by, mark.by);
	return by;
}

static void the_engine_degrades_or_restores(uint32_t n, uint32_t c)
{
	struct sn_health_actions actions = { 0 };
	bool unit = c % 2, is = c / 2;
	struct domain *domain = &model.domain[unit][first_of_domain(n, unit)];

	domain->ours = is;
	/* Before the first poll, too, it is not known what an earlier daemon has written. */
	domain->open = is ? domain->taken : !bed.d->adopted;
	if (sn_health_set_domain(bed.d->health, unit ? SN_HEALTH_UNIT : SN_HEALTH_SUPERNODE,
				 unit ? n / 2 : n / 4, is, "slow", sn_daemon_now(), &actions, NULL))
		abort();
	engine_act(bed.d, &actions, SN_NONE, 0);
	keep_state(bed.d);
}

static void root_degrades_or_restores(uint32_t n, uint32_t c)
{
	bool unit = c % 2, is = c / 2;
	enum sn_cardkind kind = unit ? SN_CARDKIND_UNIT : SN_CARDKIND_SUPERNODE;
	struct domain *domain;
	struct sn_marks_seen seen;

	n = first_of_domain(n, unit);
	forget_saved(n);
	domain = &model.domain[unit][n];
	(void)sn_marks_read(bed.extra[n], &seen, NULL);
	if (!is && (unit ? seen.own_unit : seen.own_supernode)) {
		domain->taken = true;
		if (unit ? seen.our_unit : seen.our_supernode)
			domain->ours = domain->open = false;
		else
			domain->open = true;
	}
	/* His own in place of ours: that he took ours away is not to be seen. */
	domain->open |= is && domain->taken;
	domain->root = is;
	bed_hand(n, kind, 0, is ? "root" : NULL);
}

static void a_poll_begins(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	follow_poll(bed.d);
}

static void a_poll_is_asked(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	bed_run(0);
}

static void a_poll_is_back(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	bed_back(0);
}

static void a_write_begins(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	write_some(bed.d);
}

static void a_write_is_done(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	bed_run(1);
}

static void a_write_is_back(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	bed_back(1);
}

static void slurmctld_goes_or_comes(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	bed.down = !bed.down;
}

static void a_new_daemon(uint32_t n, uint32_t c)
{
	(void)n, (void)c;
	if (bed_random(3))
		return;
	/* A mark that the engine has ended comes back with the next; it ends it again. */
	for (n = 0; n < bed.n; n++) {
		model.domain[0][n].open |= !strcmp(who_says(n, false), SN_MARKS_BY) && !model.domain[0][n].ours;
		model.domain[1][n].open |= !strcmp(who_says(n, true), SN_MARKS_BY) && !model.domain[1][n].ours;
	}
	bed_stop();
	bed.changed = true;
	bed_start(bed_topo);
}

static void (*const happens[])(uint32_t n, uint32_t c) = {
	say_it_is_sick, say_it_is_sick, root_resumes, an_operator_releases, root_drains, all_is_lost, a_new_daemon,
	slurmctld_goes_or_comes, slurmctld_saves, slurmctld_saves, slurmctld_is_killed, an_operator_releases,
	the_engine_degrades_or_restores, root_degrades_or_restores,
	a_poll_begins, a_poll_is_asked, a_poll_is_back,
	a_poll_begins, a_poll_is_asked, a_poll_is_back,
	a_write_begins, a_write_is_done, a_write_is_back,
	a_write_begins, a_write_is_done, a_write_is_back,
};

static void check_card(uint32_t seed, uint32_t n, uint32_t c)
{
	const struct sn_cardbook book = bed_book(n);
	bool marked = book.unhealthy >> c & 1, resumed = model.resumed[n] >> c & 1;

	if (marked != bed_is_sick(n, c) || (marked && resumed) ||
	    (book.drained >> c & 1) != (model.drained[n] >> c & 1))
		fail_msg("seed %u: n%u:%u sick %d drained %d resumed %d, but its record says %s", seed,
			 n + 1, c, bed_is_sick(n, c), (int)(model.drained[n] >> c & 1), resumed,
			 bed.extra[n]);
}

static void check_domain(uint32_t seed, uint32_t n, bool unit)
{
	const struct domain *domain = &model.domain[unit][n];
	char why[SN_HEALTH_WHY_SIZE];
	double since;
	bool is = first_of_domain(n, unit) == n && sn_health_degraded(bed.d->health,
			unit ? SN_HEALTH_UNIT : SN_HEALTH_SUPERNODE, unit ? n / 2 : n / 4, &since, why);

	if ((!domain->open && domain->ours != is) ||
	    strcmp(who_says(n, unit), domain->root ? "root" : is ? SN_MARKS_BY : ""))
		fail_msg("seed %u: n%u's %s: degraded by root %d, by the engine %d (is %d), but its record says %s",
			 seed, n + 1, unit ? "unit" : "supernode", domain->root, domain->ours, is,
			 bed.extra[n]);
}

static void check_model(uint32_t seed)
{
	for (uint32_t n = 0; n < bed.n; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			check_card(seed, n, c);
	for (uint32_t n = 0; n < bed.n; n++) {
		check_domain(seed, n, false);
		check_domain(seed, n, true);
	}
	assert_int_equal(bed.d->n_dirty, 0);
	assert_int_equal(bed.d->n_recheck, 0);
}

/* Whatever came between what: in the end the records say what the engine thinks,
 * root's drains stand, and what was resumed is not marked again. */
static void any_order(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 3000; seed++) {
		bed_begin(seed % 2 ? 1 : 4);
		bed.rng = seed;
		memset(&model, 0, sizeof(model));
		bed_start(bed_topo);
		for (int i = 0; i < 60; i++) {
			uint32_t what = bed_random(sizeof(happens) / sizeof(*happens));
			uint32_t c = bed_random(BED_CARDS), n = bed_random(bed.n);

			bed.ms += bed_random(3);
			happens[what](n, c);
		}
		bed.down = false;
		bed_settle();
		check_model(seed);
		for (uint32_t n = 0; n < BED_NODES; n++)
			forget_saved(n);
		bed_end();
	}
}

/* The example behind it: root takes one mark away while the daemon, which does not
 * know yet, writes another. */
static void resumed_between_read_and_write(void **state)
{
	(void)state;
	bed_begin(1);
	bed_start(bed_topo);
	bed_fault(0, 3);
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 8);
	bed_hand(0, SN_CARDKIND_HEALTH, 8, NULL);
	bed_fault(0, 1);
	bed_write();
	assert_int_equal(bed_book(0).unhealthy, 2);
	assert_false(bed_is_sick(0, 3));
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 2);
	/* Sick anew it is marked anew. */
	bed_fault(0, 3);
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 10);
	bed_end();
}

/* A release that was answered outlives a daemon that ends before it is written. */
static void released_and_not_written(void **state)
{
	(void)state;
	bed_begin(2);
	bed_start(bed_topo);
	bed_fault(1, 3);
	bed_settle();
	assert_int_equal(bed_book(1).unhealthy, 8);
	an_operator_releases(1, 3);
	bed_stop();
	bed.changed = true;
	bed_start(bed_topo);
	assert_int_equal(bed_book(1).unhealthy, 8);
	bed_settle();
	assert_int_equal(bed_book(1).unhealthy, 0);
	assert_false(bed_is_sick(1, 3));
	/* A mark that is younger is one. */
	bed.ms += 5000;
	bed_fault(1, 3);
	bed_settle();
	bed_stop();
	free(bed.saved);
	bed.saved = NULL;
	bed.changed = true;
	bed_start(bed_topo);
	bed_settle();
	assert_true(bed_is_sick(1, 3));
	bed_end();
}

/* And a slurmctld that is killed, with records from before it as its last state. */
static void released_written_and_lost(void **state)
{
	char *old;

	(void)state;
	bed_begin(1);
	bed_start(bed_topo);
	bed_fault(0, 0);
	bed_fault(0, 3);
	bed_settle();
	old = strdup(bed.extra[0]);
	an_operator_releases(0, 0);
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 8);
	bed_set_extra(0, strdup(old));
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 8);
	assert_false(bed_is_sick(0, 0));
	/* Also where the daemon is another since. */
	bed_set_extra(0, strdup(old));
	bed_stop();
	bed.changed = true;
	bed_start(bed_topo);
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 8);
	/* By hand it is marked, whenever it was released. */
	bed_hand(0, SN_CARDKIND_HEALTH, 1, "");
	bed_settle();
	assert_int_equal(bed_book(0).unhealthy, 9);
	assert_true(bed_is_sick(0, 0));
	free(old);
	bed_end();
}

/* It was suspect when slurmctld saved, and is quarantined. */
static void a_graver_state_is_lost(void **state)
{
	const struct sn_health_fault fault = { .node = 0, .card = 3, .code = "xid-79" };
	struct sn_health_actions actions = { 0 };
	struct sn_cardmark mark;
	char *old;

	(void)state;
	bed_begin(1);
	bed_start(bed_topo);
	bed_fault(0, 3);
	bed_settle();
	old = strdup(bed.extra[0]);
	assert_int_equal(sn_health_fault(bed.d->health, &fault, sn_daemon_now(), &actions, NULL), 0);
	engine_act(bed.d, &actions, SN_NONE, 0);
	bed_settle();
	bed_set_extra(0, old);
	bed_settle();
	assert_int_equal(sn_cardbook_find(bed.extra[0], SN_CARDKIND_HEALTH, 3, &mark, NULL), 0);
	assert_int_equal(mark.state, SN_CARDHEALTH_QUARANTINED);
	bed_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resumed_between_read_and_write),
		cmocka_unit_test(released_and_not_written),
		cmocka_unit_test(released_written_and_lost),
		cmocka_unit_test(a_graver_state_is_lost),
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}
