/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_avoid.c - nodes and cards that ranks have left, and until when they stay away.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launcher/avoid.h"

static const struct sn_avoid_view well = { true, true, 0 }, silent = { false, true, 0 };

static bool see(struct sn_avoids *a, const char *node, const struct sn_avoid_view *view, int64_t s)
{
	return sn_avoids_see(a, node, view, 1000 + s * 1000);
}

static void what_a_user_has_said_lasts(void **state)
{
	struct sn_avoids a = { 0 };

	(void)state;
	assert_int_equal(sn_avoids_add(&a, "n1", 0, 0), 1);
	assert_int_equal(sn_avoids_add(&a, "n2", 5, 0), 1);
	for (int64_t s = 0; s < 1000000; s += 1000) {
		assert_false(see(&a, "n1", &well, s));
		assert_false(see(&a, "n2", &well, s));
	}
	assert_true(sn_avoids_is_node(&a, "n1"));
	assert_false(sn_avoids_is_node(&a, "n2"));
	assert_int_equal(sn_avoids_cards(&a, "n2"), 5);
	assert_int_equal(sn_avoids_cards(&a, "n1"), 0);
	assert_int_equal(sn_avoids_cards(&a, "n3"), 0);
	/* also where the daemon has it left, too, until it is well */
	assert_int_equal(sn_avoids_add(&a, "n1", 0, 60), 1);
	assert_false(see(&a, "n1", &well, 0));
	assert_true(see(&a, "n1", &well, 60));
	assert_true(sn_avoids_is_node(&a, "n1"));
	sn_avoids_done(&a);
}

static void a_node_comes_back_when_it_has_been_in_service(void **state)
{
	const struct sn_avoid_view away = { true, false, 0 }, masked = { true, true, UINT64_MAX };
	struct sn_avoids a = { 0 };

	(void)state;
	assert_int_equal(sn_avoids_add(&a, "n1", 0, 60), 1);
	assert_int_equal(a.changes, 1);
	assert_false(see(&a, "n1", &well, 0));
	assert_false(see(&a, "n2", &well, 59));
	assert_false(see(&a, "n1", &well, 59));
	/* it was away, and its time begins again */
	assert_false(see(&a, "n1", &away, 60));
	assert_false(see(&a, "n1", &well, 70));
	/* nobody knows how it was: again */
	assert_false(see(&a, "n1", &silent, 100));
	assert_false(see(&a, "n1", &well, 131));
	assert_true(sn_avoids_is_node(&a, "n1"));
	assert_int_equal(a.changes, 1);
	/* cards of it are another matter: jobs do not get those */
	assert_true(see(&a, "n1", &masked, 191));
	assert_false(sn_avoids_is_node(&a, "n1"));
	assert_int_equal(a.changes, 2);
	assert_int_equal(a.n, 0);
	sn_avoids_done(&a);
}

static void cards_come_back_with_their_marks_gone(void **state)
{
	struct sn_avoid_view view = { true, false, 1 << 3 };
	struct sn_avoids a = { 0 };

	(void)state;
	assert_int_equal(sn_avoids_add(&a, "n1", 1 << 3 | 1 << 5, 60), 1);
	assert_int_equal(sn_avoids_add(&a, "n1", 1 << 7, 60), 1);
	assert_int_equal(sn_avoids_cards(&a, "n1"), 1 << 3 | 1 << 5 | 1 << 7);
	/* each order by itself; that the node is drained is Slurm's to keep jobs from it */
	assert_false(see(&a, "n1", &view, 0));
	assert_true(see(&a, "n1", &view, 60));
	assert_int_equal(sn_avoids_cards(&a, "n1"), 1 << 3 | 1 << 5);
	view.masked = 1 << 5;
	assert_false(see(&a, "n1", &view, 1000));
	view.masked = 1 << 6;
	assert_false(see(&a, "n1", &view, 2000));
	assert_false(see(&a, "n1", &view, 2059));
	assert_true(see(&a, "n1", &view, 2060));
	assert_int_equal(sn_avoids_cards(&a, "n1"), 0);
	sn_avoids_done(&a);
}

static void an_order_that_comes_twice_is_one(void **state)
{
	struct sn_avoids a = { 0 };

	(void)state;
	assert_int_equal(sn_avoids_add(&a, "n1", 2, 60), 1);
	assert_false(see(&a, "n1", &well, 0));
	assert_int_equal(sn_avoids_add(&a, "n1", 2, 60), 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.changes, 1);
	/* and its time begins again: it is sick again */
	assert_false(see(&a, "n1", &well, 100));
	/* in vain */
	assert_int_equal(sn_avoids_add(&a, "n1", 0, 60), 1);
	assert_int_equal(sn_avoids_add(&a, "n2", 0, 60), 1);
	sn_avoids_take_back(&a);
	assert_true(sn_avoids_is_node(&a, "n1"));
	assert_false(sn_avoids_is_node(&a, "n2"));
	/* all of a node at once */
	assert_false(see(&a, "n1", &well, 101));
	assert_true(see(&a, "n1", &well, 161));
	assert_int_equal(a.n, 0);
	sn_avoids_done(&a);
	sn_avoids_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_user_has_said_lasts),
		cmocka_unit_test(a_node_comes_back_when_it_has_been_in_service),
		cmocka_unit_test(cards_come_back_with_their_marks_gone),
		cmocka_unit_test(an_order_that_comes_twice_is_one),
	};

	return cmocka_run_group_tests_name("avoid", tests, NULL, NULL);
}
