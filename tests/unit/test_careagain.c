/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_careagain.c - what is decided when several things fail, one after the other or at once,
 * and what was decided is refused, or does not help.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "carebed.h"
#include "tests/unit/carelook.h"

/* ---- several, and again ------------------------------------------------------------------------ */

static void a_set_that_changes_is_decided_anew(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 8, 2, ELASTIC);
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	bed_mark(2, 0, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_non_null(strstr(out.d[0].why, "with 1 more"));
	/* the first was told already */
	assert_int_equal(out.d[0].n_orders, 1);
	assert_string_equal(out.d[0].order[0].node, "n3");
	/* a suspect one beside them moves nothing, and says so */
	bed_mark(4, 0, SN_HEALTH_MASK, false, "slow");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_ALONE);
	assert_int_equal(out.d[0].n_orders, 0);
	bed_done();
}

static void what_is_refused_is_tried_later_and_later(void **state)
{
	int64_t wait = 5000;

	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	set_policy("default:no-replace,no-requeue");
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	for (int i = 0; i < 9; i++) {
		sn_care_told(bed.care, 100, out.d[0].number, -EINVAL, bed.ms);
		assert_true(sn_care_next(bed.care) <= bed.ms + wait);
		bed.ms += wait - 100;
		assert_int_equal(look(), 0);
		bed.ms += 200;
		assert_int_equal(look(), 1);
		assert_true(out.d[0].again);
		assert_int_equal(out.d[0].n_orders, 1);
		wait = wait * 2 < 300000 ? wait * 2 : 300000;
	}
	/* word of an earlier decision counts for nothing */
	sn_care_told(bed.care, 100, out.d[0].number - 1, -EINVAL, bed.ms);
	bed.ms += 400000;
	assert_int_equal(look(), 0);
	bed.ms += 400000;
	assert_int_equal(look(), 1);
	bed_done();
}

static void refuse(int rc)
{
	sn_care_told(bed.care, 100, out.d[0].number, rc, bed.ms);
}

static void what_is_refused_is_not_the_only_means(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	/* It has not come: the same again. */
	refuse(-ETIMEDOUT);
	assert_int_equal(look(), 0);
	later(5);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	/* A smaller size would be the same order to its snrun. */
	refuse(-EINVAL);
	assert_true(sn_care_next(bed.care) <= bed.ms);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REPLACE, SN_CARE_TELL);
	assert_int_equal(out.d[0].n_orders, 1);
	assert_int_equal(out.d[0].order[0].op, SN_CONTROL_REPLACE);
	assert_string_equal(out.d[0].order[0].node, "n2");
	assert_false(out.d[0].again);
	assert_int_equal(look(), 0);
	/* Another set: all from the beginning. */
	refuse(-EINVAL);
	bed_mark(2, 1, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	assert_true(out.d[0].means != SN_MEANS_REQUEUE);
	bed_done();
}

static void a_failure_during_recovery(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 8, 2, ELASTIC);
	bed_says(0, (uint32_t[]){ 0, 1, 2, 3, 4, 5 }, 6, 6, SN_ATTACH_STARTING);
	/* a sick card can wait for the ranks to run */
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 0);
	/* a lost node cannot; and the card goes with it */
	bed.down[2] = true;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_false(out.d[0].safe_point);
	bed_says(0, (uint32_t[]){ 0, 1, 3, 4, 5, 6 }, 6, 6, SN_ATTACH_STARTING);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 0);
	bed_says(0, (uint32_t[]){ 0, 3, 4, 5, 6, 7 }, 6, 6, SN_ATTACH_RUNNING);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 1);
	bed_done();
}

static void one_that_is_stuck_is_helped(void **state)
{
	(void)state;
	bed_make(1, PER, 1);
	bed_job(0, 2, 0, ELASTIC);
	assert_int_equal(look(), 0);
	bed.down[1] = true;
	bed_says(0, (uint32_t[]){ 0 }, 1, 2, SN_ATTACH_STUCK);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REPLACE, SN_CARE_TELL);
	assert_string_equal(out.d[0].order[0].node, "");
	/* not to be had after all: the next, at once */
	refuse(-EINVAL);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REQUEUE, SN_CARE_TELL);
	/* where nothing can stand in, anew */
	bed.run[0].restarts++;
	fill(0, 0);
	bed.closed[0] = false;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REQUEUE, SN_CARE_TELL);
	assert_int_equal(out.d[0].order[0].op, SN_CONTROL_REQUEUE);
	bed_done();
}

/* What it would do by itself has come to nothing. */
static void one_that_is_stuck_is_told_at_once(void **state)
{
	(void)state;
	/* With room in another supernode. */
	bed_make(2, 4, 0);
	bed_job(0, 4, 0, ELASTIC);
	assert_int_equal(look(), 0);
	bed.down[1] = bed.down[2] = bed.down[3] = true;
	bed_says(0, (uint32_t[]){ 0 }, 1, 2, SN_ATTACH_STUCK);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REQUEUE, SN_CARE_TELL);
	/* Members of it wait and will start. */
	bed.run[0].restarts++;
	bed.run[0].attach.state.pending = 2;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_MOVE, SN_CARE_ALONE);
	later(9);
	assert_int_equal(look(), 0);
	/* Not so, and it must not give up first. */
	later(1.5);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REQUEUE, SN_CARE_TELL);
	/* Where no order would help it is left alone. */
	bed.run[0].restarts++;
	bed.run[0].attach.state.pending = 0;
	set_policy("default:no-requeue,no-replace");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_MOVE, SN_CARE_ALONE);
	bed_done();
}

static void many_jobs_of_one_supernode_by_priority(void **state)
{
	(void)state;
	bed_make(1, 13, 1);
	/* three jobs of four nodes, and one free node */
	for (uint32_t j = 0; j < 3; j++)
		bed_job(4 * j, 4, 0, ELASTIC);
	bed.run[0].priority = 5;
	bed.run[1].priority = 50;
	bed.run[2].priority = 20;
	assert_int_equal(look(), 0);
	for (uint32_t j = 0; j < 3; j++)
		bed_mark(4 * j + 3, 0, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 3);
	assert_int_equal(out.d[0].job, 101);
	assert_int_equal(out.d[1].job, 102);
	assert_int_equal(out.d[2].job, 100);
	IS(0, SN_MEANS_REPLACE, SN_CARE_TELL);
	IS(1, SN_MEANS_SHRINK, SN_CARE_TELL);
	IS(2, SN_MEANS_SHRINK, SN_CARE_TELL);
	/* the node is promised, though nobody has it yet */
	bed_mark(4, 0, SN_HEALTH_QUARANTINE, false, "sick");
	bed_mark(1, 1, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 2);
	assert_int_equal(out.d[1].job, 100);
	IS(1, SN_MEANS_SHRINK, SN_CARE_TELL);
	bed_done();
}

static void a_whole_supernode(void **state)
{
	(void)state;
	bed_make(3, 4, 0);
	/* one with nodes in two, one with all in the one that is lost, one elsewhere */
	bed_job(2, 4, 0, ELASTIC);
	bed.run[0].dp = 4;
	bed_job(8, 4, 0, ELASTIC);
	assert_int_equal(look(), 0);
	for (int i = 4; i < 8; i++)
		bed.down[i] = true;
	assert_int_equal(look(), 1);
	assert_int_equal(out.d[0].job, 100);
	assert_non_null(strstr(out.d[0].why, "all of sn2 is lost"));
	assert_string_equal(out.d[0].node, "sn2");
	/* its other two nodes are a legal size, and two are free beside them */
	IS(0, SN_MEANS_MOVE, SN_CARE_ALONE);
	/* snrun has had its time, and knows no supernodes: the two nodes that it has there */
	later(60);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_MOVE, SN_CARE_TELL);
	assert_int_equal(out.d[0].n_orders, 2);
	assert_string_equal(out.d[0].order[0].node, "n5");
	assert_string_equal(out.d[0].order[1].node, "n6");
	bed_done();
}

/* A requeue for cards that are free elsewhere is worth it only where the job will get
 * them; and never where it could be smaller and grow again. */
static void what_is_free_elsewhere_must_be_the_jobs(void **state)
{
	(void)state;
	for (int with = 0; with < 16; with++) {
		bool members = with & 1, bound = with & 2, waits = with & 4, lower = with & 8;

		bed_make(2, 4, 0);
		bed.conf.members = members;
		bed_job(0, 4, 0, ELASTIC);
		bed.run[0].priority = 10;
		bed.run[0].bound = bound;
		if (waits) {
			bed_job(4, 2, 0, "");
			bed.run[1].pending = true;
			bed.run[1].is_attached = false;
			bed.run[1].priority = lower ? 9 : 10;
		}
		bed.down[3] = true;
		assert_int_equal(look(), 1);
		if (bound || (waits && !lower))
			IS(0, SN_MEANS_SHRINK, SN_CARE_ALONE);
		else if (members)
			IS(0, SN_MEANS_MOVE, SN_CARE_ALONE);
		else
			IS(0, SN_MEANS_REQUEUE, SN_CARE_TELL);
		bed_done();
	}
	/* at its smallest it cannot leave a sick card before something else is there */
	bed_make(2, 4, 0);
	bed_job(0, 4, 0, "elastic=min_dp=4,max_dp=8");
	bed_mark(3, 0, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REQUEUE, SN_CARE_TELL);
	bed.n_marks = 0;
	bed.down[3] = true;
	bed.run[0].restarts++;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_MOVE, SN_CARE_ALONE);
	bed_done();
	/* costs that would have it */
	bed_make(2, 4, 0);
	bed.conf.costs.move = 10000;
	bed_job(0, 4, 0, ELASTIC);
	bed.down[3] = true;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SHRINK, SN_CARE_ALONE);
	bed_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_that_changes_is_decided_anew),
		cmocka_unit_test(what_is_refused_is_tried_later_and_later),
		cmocka_unit_test(a_failure_during_recovery),
		cmocka_unit_test(one_that_is_stuck_is_helped),
		cmocka_unit_test(one_that_is_stuck_is_told_at_once),
		cmocka_unit_test(what_is_refused_is_not_the_only_means),
		cmocka_unit_test(many_jobs_of_one_supernode_by_priority),
		cmocka_unit_test(a_whole_supernode),
		cmocka_unit_test(what_is_free_elsewhere_must_be_the_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
