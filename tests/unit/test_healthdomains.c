/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_healthdomains.c - supernodes and units that are slower than others.
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

static bool degraded(const struct world *w, enum sn_health_domain d, uint32_t i)
{
	return sn_health_degraded(w->b.h, d, i, NULL, NULL);
}

/* ---- domains ------------------------------------------------------------------------- */

static void a_slow_supernode_is_degraded_and_restored(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 8);
	world_steps(&w, 20);
	for (uint32_t n = 0; n < 4; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			w.off[n][c] = 0.2;
	world_steps(&w, 10);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), 1);
	assert_true(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	assert_false(degraded(&w, SN_HEALTH_SUPERNODE, 1));
	assert_int_equal(bed_find(&w.b, SN_HEALTH_DEGRADE)->index, 0);
	assert_int_equal(bed_find(&w.b, SN_HEALTH_DEGRADE)->node, SN_NONE);
	assert_int_equal(marked(&w), 0);
	world_steps(&w, 500);
	assert_true(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	memset(w.off, 0, sizeof(w.off));
	bed_clear(&w.b);
	world_steps(&w, 12);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_RESTORE), 1);
	assert_false(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	bed_done(&w.b);
}

static void all_supernodes_slower_is_the_jobs_own_doing(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 16);
	world_steps(&w, 20);
	w.level = 1.5;
	world_steps(&w, 50);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), 0);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_MASK), 0);
	assert_true(bed_count(&w.b, SN_HEALTH_NOTE) >= 1);
	bed_done(&w.b);
}

static void slow_from_the_start_shows_where_supernodes_compare(void **state)
{
	struct world w;

	(void)state;
	for (int job = 0; job < 2; job++) {
		world_make(&w, bed_topo, "", 16);
		w.job = (uint32_t)job;
		for (uint32_t n = 4; n < 8; n++)
			for (uint32_t c = 0; c < BED_CARDS; c++)
				w.off[n][c] = 0.3;
		world_steps(&w, 40);
		/* of a job, stages may differ by right */
		assert_int_equal(degraded(&w, SN_HEALTH_SUPERNODE, 1), !job);
		assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), !job);
		assert_int_equal(marked(&w), 0);
		memset(w.off, 0, sizeof(w.off));
		world_steps(&w, 20);
		assert_false(degraded(&w, SN_HEALTH_SUPERNODE, 1));
		bed_done(&w.b);
	}
}

static void a_slow_unit_is_degraded_and_no_card_of_it(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	world_steps(&w, 20);
	for (uint32_t n = 2; n < 4; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			w.off[n][c] = 0.25;
	world_steps(&w, 10);
	/* half of the supernode: the median is between, the unit is what stands out */
	assert_int_equal(marked(&w), 0);
	assert_true(degraded(&w, SN_HEALTH_UNIT, 1) || degraded(&w, SN_HEALTH_SUPERNODE, 0));
	bed_done(&w.b);
	world_make(&w, "SupernodeName=sn1 Nodes=n[01-16]\nUnitName=u[1-8] Nodes=n[01-16] NodesPerUnit=2\n",
		   "", 16);
	world_steps(&w, 20);
	for (uint32_t n = 2; n < 4; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			w.off[n][c] = 0.25;
	w.off[3][5] = 0.8; /* and one of it is slow by itself */
	world_steps(&w, 10);
	assert_true(degraded(&w, SN_HEALTH_UNIT, 1));
	assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), 1);
	assert_int_equal(bed_find(&w.b, SN_HEALTH_DEGRADE)->domain, SN_HEALTH_UNIT);
	assert_int_equal(bed_state(&w.b, 3, 5), SN_HEALTH_SUSPECT);
	assert_int_equal(marked(&w), 1);
	memset(w.off, 0, sizeof(w.off));
	world_steps(&w, 10);
	assert_false(degraded(&w, SN_HEALTH_UNIT, 1));
	bed_done(&w.b);
}

/* Part of the cooling fails; units are not configured. */
static void many_cards_at_once_are_the_supernodes(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, "SupernodeName=sn1 Nodes=n[01-16]\n", "", 16);
	world_steps(&w, 20);
	for (uint32_t n = 0; n < 5; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			w.off[n][c] = 0.3;
	world_steps(&w, 10);
	assert_int_equal(marked(&w), 0);
	assert_true(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	assert_non_null(strstr(bed_find(&w.b, SN_HEALTH_DEGRADE)->why, "40 of 128 cards"));
	memset(w.off, 0, sizeof(w.off));
	world_steps(&w, 10);
	assert_false(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	/* one node's cards are its own */
	for (uint32_t c = 0; c < BED_CARDS; c++)
		w.off[4][c] = 0.3;
	world_steps(&w, 10);
	assert_int_equal(marked(&w), 8);
	assert_false(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	bed_done(&w.b);
}

/* All ranks wait for the sick card, so that every step takes longer. */
static void waiting_for_a_sick_card_is_not_the_supernodes(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 4);
	w.metric = "step_time";
	world_steps(&w, 20);
	bed_fault(&w.b, 1, 1, "sick");
	w.level = 1.4;
	world_steps(&w, 30);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), 0);
	/* it is well again, and yet they are slow */
	sn_health_release(w.b.h, 1, 1, NULL, w.b.now, &w.b.actions, NULL);
	world_steps(&w, 3);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), 1);
	bed_done(&w.b);
}

static void hints_degrade_nothing(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "", 8);
	w.hint = true;
	world_steps(&w, 20);
	for (uint32_t n = 0; n < 4; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			w.off[n][c] = 0.4;
	world_steps(&w, 30);
	w.off[5][1] = 1;
	world_steps(&w, 10);
	assert_int_equal(bed_count(&w.b, SN_HEALTH_DEGRADE), 0);
	assert_int_equal(marked(&w), 0);
	assert_true(bed_count(&w.b, SN_HEALTH_PROBE) >= 1);
	assert_int_equal(bed_find(&w.b, SN_HEALTH_PROBE)->node, 5);
	bed_done(&w.b);
}

static void nothing_known_of_it_and_it_is_tried_again(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, bed_topo, "HealthDomainHold=600", 4);
	world_steps(&w, 20);
	w.level = 1.3;
	world_steps(&w, 10);
	assert_true(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	sn_health_job_done(w.b.h, 1, w.b.now, &w.b.actions, NULL);
	bed_tick(&w.b, 590);
	assert_true(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	bed_tick(&w.b, 10);
	assert_false(degraded(&w, SN_HEALTH_SUPERNODE, 0));
	/* by hand it is for good */
	sn_health_set_domain(w.b.h, SN_HEALTH_UNIT, 3, true, "cabling", w.b.now, &w.b.actions, NULL);
	bed_tick(&w.b, 1e6);
	assert_true(degraded(&w, SN_HEALTH_UNIT, 3));
	sn_health_set_domain(w.b.h, SN_HEALTH_UNIT, 3, false, NULL, w.b.now, &w.b.actions, NULL);
	assert_false(degraded(&w, SN_HEALTH_UNIT, 3));
	bed_done(&w.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_supernode_is_degraded_and_restored),
		cmocka_unit_test(all_supernodes_slower_is_the_jobs_own_doing),
		cmocka_unit_test(slow_from_the_start_shows_where_supernodes_compare),
		cmocka_unit_test(a_slow_unit_is_degraded_and_no_card_of_it),
		cmocka_unit_test(many_cards_at_once_are_the_supernodes),
		cmocka_unit_test(waiting_for_a_sick_card_is_not_the_supernodes),
		cmocka_unit_test(hints_degrade_nothing),
		cmocka_unit_test(nothing_known_of_it_and_it_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
