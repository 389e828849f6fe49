/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_care.c - what is decided for cards and nodes that fail, one at a time, and the list
 * of jobs.
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

/* ---- cards -------------------------------------------------------------------------------- */

static void a_suspected_card_moves_nothing(void **state)
{
	(void)state;
	bed_make(2, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	assert_int_equal(look(), 0);
	bed_mark(1, 3, SN_HEALTH_MASK, false, "slow");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_MASK, SN_CARE_NOTHING);
	assert_string_equal(out.d[0].node, "n2");
	assert_int_equal(out.d[0].card, 3);
	assert_non_null(strstr(out.d[0].why, "n2:3 in sn1 is suspected; it is masked and probed first"));
	bed.mark[0].kind = SN_HEALTH_MARK_PROBING; /* the same for the job */
	assert_int_equal(look(), 0);
	bed.n_marks = 0;
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 0); /* nothing was done */
	/* one that has no rank of the job's is nobody's business */
	bed_mark(6, 3, SN_HEALTH_QUARANTINE, true, "sick");
	assert_int_equal(look(), 0);
	bed_done();
}

static void a_sick_card_is_left(void **state)
{
	const uint32_t without[] = { 0, 4, 2, 3 };

	(void)state;
	bed_make(2, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "failed its probe");
	bed_mark(1, 5, SN_HEALTH_QUARANTINE, false, "too");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_true(out.d[0].safe_point);
	assert_int_equal(out.d[0].n_orders, 1);
	assert_int_equal(out.d[0].order[0].op, SN_CONTROL_SWAP);
	assert_string_equal(out.d[0].order[0].node, "n2");
	assert_int_equal(out.d[0].order[0].cards, 1u << 3 | 1u << 5);
	assert_int_equal(out.d[0].order[0].well, 60);
	/* once, however often it is looked at, also while its snrun carries it out */
	assert_int_equal(look(), 0);
	later(20);
	assert_int_equal(look(), 0);
	bed_says(0, (uint32_t[]){ 0, 1, 2, 3 }, 4, 4, SN_ATTACH_ENDING);
	assert_int_equal(look(), 0);
	later(2.5);
	bed_says(0, without, 4, 4, SN_ATTACH_RUNNING);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 1);
	assert_string_equal(out.relief.node, "n2");
	assert_int_equal(out.relief.dp, 4);
	assert_int_equal(out.relief.generation, 2);
	assert_true(out.relief.seconds > 22 && out.relief.seconds < 23);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 0);
	bed_done();
}

static void a_spare_that_is_sick_hurts_nobody(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	/* the node is the spare now, and its other cards could still take a rank */
	bed_says(0, (uint32_t[]){ 0, 4, 2, 3 }, 4, 4, SN_ATTACH_STARTING);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 0);
	bed_says(0, (uint32_t[]){ 0, 4, 2, 3 }, 4, 4, SN_ATTACH_RUNNING);
	assert_int_equal(sn_names_add(&bed.run[0].attach.state.spare, "n2"), 0);
	assert_int_equal(look(), 1);
	assert_int_equal(out.reliefs, 1);
	IS(0, SN_MEANS_IGNORE, SN_CARE_NOTHING);
	later(600);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 0);
	/* something else, and what was decided for it is over: that is all the news */
	bed.down[3] = true;
	assert_int_equal(look(), 1);
	later(3);
	bed_says(0, (uint32_t[]){ 0, 4, 2, 5 }, 4, 4, SN_ATTACH_RUNNING);
	assert_int_equal(sn_names_add(&bed.run[0].attach.state.spare, "n2"), 0);
	assert_int_equal(look(), 1);
	assert_true(out.d[0].again);
	assert_int_equal(out.reliefs, 1);
	assert_true(out.relief.seconds > 2 && out.relief.seconds < 4);
	bed_done();
}

static void levels_that_leave_do_not_wait_for_a_probe(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed_mark(1, 3, SN_HEALTH_MASK, true, "RestartNPU");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	bed_done();
	/* a card that is gone is no safe point's business */
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, true, "card-lost: the device is not there");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_false(out.d[0].safe_point);
	bed_done();
}

static void rather_smaller_than_a_sick_card(void **state)
{
	(void)state;
	bed_make(2, PER, 0);
	fill(0, 4);
	fill(1, 0);
	bed_job(0, 4, 0, ELASTIC);
	bed.closed[4] = bed.closed[5] = bed.closed[6] = bed.closed[7] = true;
	bed_mark(3, 0, SN_HEALTH_NEEDS_RELEASE, false, "again");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SHRINK, SN_CARE_TELL);
	assert_int_equal(out.d[0].dp, 2);
	/* off the card, and as large as it can be without */
	assert_int_equal(out.d[0].order[0].op, SN_CONTROL_SWAP);
	assert_string_equal(out.d[0].order[0].node, "n4");
	assert_int_equal(out.d[0].order[0].cards, 1);
	assert_int_equal(out.d[0].order[0].dp, 0);
	bed_done();
}

static void a_free_node_of_the_supernode_stands_in(void **state)
{
	(void)state;
	bed_make(2, PER, 1);
	bed_job(0, 4, 0, ELASTIC);
	fill(1, 0);
	for (int i = 4; i < 8; i++)
		bed.closed[i] = i != 7;
	bed_mark(3, 0, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_REPLACE, SN_CARE_TELL);
	assert_int_equal(out.d[0].order[0].op, SN_CONTROL_REPLACE);
	assert_string_equal(out.d[0].order[0].node, "n4");
	/* not one that is marked itself */
	bed.run[0].restarts = 1;
	bed_mark(7, 0, SN_HEALTH_MASK, false, "slow");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SHRINK, SN_CARE_TELL);
	bed_done();
}

/* ---- accounts ------------------------------------------------------------------------------- */

static void accounts_have_their_rules(void **state)
{
	(void)state;
	bed_make(1, 4, 0);
	bed_job(0, 4, 0, ELASTIC);
	bed.run[0].account = "prod";
	bed_mark(3, 0, SN_HEALTH_QUARANTINE, false, "sick");
	set_policy("account=prod:no-shrink");
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_MASK, SN_CARE_NOTHING);
	assert_non_null(strstr(out.d[0].why, "runs on"));
	/* what forbade it goes; it is looked at again by and by */
	set_policy("account=prod:no-requeue");
	assert_int_equal(look(), 0);
	assert_true(sn_care_next(bed.care) <= bed.ms + 60000);
	later(60);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SHRINK, SN_CARE_TELL);
	assert_false(out.d[0].again);
	bed_done();

	bed_make(1, 4, 0);
	bed_job(0, 4, 0, ELASTIC);
	bed_job(0, 4, 0, ELASTIC);
	bed.run[0].account = "prod";
	bed_mark(3, 0, SN_HEALTH_QUARANTINE, false, "sick");
	set_policy("account=prod:off");
	assert_int_equal(look(), 1);
	assert_int_equal(out.d[0].job, 101);
	bed_done();
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static void a_lost_node_is_left_to_snrun_first(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed.down[2] = true;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_ALONE);
	assert_false(out.d[0].safe_point);
	assert_non_null(strstr(out.d[0].why, "n3 in sn1 is lost; 1 spare takes over"));
	later(10);
	assert_int_equal(look(), 0);
	/* it does not come to it: then it is told */
	later(25);
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_true(out.d[0].again);
	assert_string_equal(out.d[0].order[0].node, "n3");
	assert_int_equal(out.d[0].order[0].cards, 0);
	bed_done();
}

static void what_is_in_memory_costs_less(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed.run[0].attach.state.since_memory = 4;
	bed.down[2] = true;
	later(3);
	assert_int_equal(look(), 1);
	assert_non_null(strstr(out.d[0].why, ", 7 s since the safe point"));
	bed_done();
}

static void what_snrun_has_dealt_with_is_no_failure(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	assert_int_equal(look(), 0);
	bed.down[2] = true;
	bed_says(0, (uint32_t[]){ 0, 1, 3, 4 }, 4, 4, SN_ATTACH_RUNNING);
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 0);
	bed_done();
}

static void a_hint_comes_before_slurm_knows(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 4, 0, ELASTIC);
	assert_int_equal(look(), 0);
	bed.gone[bed.n_gone++] = 3;
	assert_int_equal(look_only(), 1);
	/* a free node of the supernode: snrun only fetches it */
	IS(0, SN_MEANS_REPLACE, SN_CARE_TELL);
	assert_int_equal(out.d[0].n_orders, 1);
	assert_int_equal(out.d[0].order[0].op, SN_CONTROL_REPLACE);
	assert_string_equal(out.d[0].order[0].node, "");
	bed.down[3] = true;
	bed.n_gone = 0;
	assert_int_equal(look(), 0); /* the same loss */
	bed_done();
}

static void a_node_that_is_silent_is_not_lost(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	for (int times = 0; times < 3; times++) {
		bed.silent[2] = true;
		assert_int_equal(look(), 0);
		later(60);
		bed.silent[2] = false;
		assert_int_equal(look(), times < 2 ? 0 : 1);
		later(60);
	}
	/* but one that comes and goes is left, at the next safe point */
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_true(out.d[0].safe_point);
	assert_string_equal(out.d[0].order[0].node, "n3");
	assert_int_equal(out.d[0].order[0].cards, 0);
	assert_int_equal(out.d[0].order[0].well, 3600); /* as long as it counts as one */
	later(2 * 3600); /* an hour without */
	assert_int_equal(look(), 0);
	assert_int_equal(out.reliefs, 1);
	bed_done();
}

static void a_failing_node_is_left(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed.failing[2] = true;
	assert_int_equal(look(), 1);
	IS(0, SN_MEANS_SWAP, SN_CARE_TELL);
	assert_true(out.d[0].safe_point);
	bed_done();
}

static void without_its_script_a_job_is_requeued(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 4, 0, ELASTIC);
	bed_job(4, 3, 1, ELASTIC);
	bed.run[0].is_attached = false; /* Slurm's word is enough */
	bed.run[1].no_requeue = true;
	bed.run[1].attach.here = false;
	assert_int_equal(look(), 0);
	bed.down[0] = bed.down[4] = true;
	assert_int_equal(look(), 2);
	IS(0, SN_MEANS_REQUEUE, SN_CARE_REQUEUE);
	assert_non_null(strstr(out.d[0].why, "n1 in sn1 with the batch host is lost; its script is gone"));
	IS(1, SN_MEANS_GIVE_UP, SN_CARE_NOTHING);
	assert_int_equal(look(), 0);
	later(6);
	assert_int_equal(look(), 1);
	assert_true(out.d[0].again);
	later(6);
	assert_int_equal(look(), 0); /* it waits longer each time */
	bed.run[0].restarts++;
	bed.run[0].first = 1;
	bed.run[0].n = 2;
	assert_int_equal(look(), 0);
	bed_done();
}

/* ---- the list of jobs ---------------------------------------------------------------------------- */

static struct { uint32_t n, failures, decisions, n_past, dp; bool off, attached; double since_safe;
		char why[SN_LADDER_WHY]; } row;

static void take_row(void *arg, const struct sn_care_row *r)
{
	(void)arg;
	row.n++;
	row.failures = r->failures;
	row.decisions = r->decisions;
	row.n_past = r->n_past;
	row.dp = r->dp;
	row.off = r->off;
	row.attached = r->attach;
	row.since_safe = r->since_safe;
	snprintf(row.why, sizeof(row.why), "%s", r->n_past ? r->past[0].why : "");
}

static void rows(void)
{
	struct sn_care_eyes eyes = bed_eyes();

	memset(&row, 0, sizeof(row));
	sn_care_each(bed.care, &bed.conf, &eyes, take_row, NULL);
}

static void jobs_come_and_go(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 5, 1, ELASTIC);
	bed_job(5, 2, 0, "");
	bed.run[1].pending = true;
	look();
	rows();
	assert_int_equal(row.n, 1);
	assert_int_equal(row.dp, 4);
	assert_true(row.attached);
	assert_int_equal(row.n_past, 0);
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	for (int i = 0; i < 12; i++) {
		bed.mark[0].kind = i % 2 ? SN_HEALTH_MASK : SN_HEALTH_QUARANTINE;
		assert_int_equal(look(), 1);
	}
	rows();
	assert_int_equal(row.decisions, 12);
	assert_int_equal(row.n_past, SN_CARE_PAST);
	assert_int_equal(row.failures, 1);
	assert_memory_equal(row.why, "mask: ", 6); /* the latest first */
	/* a run more: what was decided is still told */
	bed.run[0].restarts++;
	assert_int_equal(look(), 1);
	rows();
	assert_int_equal(row.decisions, 13);
	set_policy("default:off");
	rows();
	assert_true(row.off);
	bed.run[0].n = 0; /* it ends */
	bed.run[1].pending = false;
	bed.run[1].is_attached = false;
	look();
	rows();
	assert_int_equal(row.n, 1);
	assert_int_equal(row.dp, 2);
	assert_false(row.attached);
	assert_true(row.since_safe < 0);
	bed_done();
}

static void other_numbers_of_nodes(void **state)
{
	struct sn_view_nodes *fewer;

	(void)state;
	bed_make(1, PER, 0);
	bed_job(3, 5, 1, ELASTIC);
	assert_int_equal(look(), 0);
	bed_mark(5, 3, SN_HEALTH_QUARANTINE, false, "sick");
	/* a node less before them: all have other numbers */
	fewer = sn_view_nodes_new(bed.n - 1);
	for (uint32_t i = 1; i < bed.n; i++)
		assert_int_equal(sn_view_node_set(&fewer->node[i - 1], bed.nodes->node[i].name, "", "", "", &bed.nodes->node[i]), 0);
	for (uint32_t i = 0; i < fewer->n; i++)
		fewer->node[i].cards = 0xff;
	assert_int_equal(sn_view_nodes_seal(fewer), 0);
	for (uint32_t i = 0; i < 5; i++)
		bed.jobs->job[0].node[i]--;
	sn_view_nodes_free(bed.nodes);
	bed.nodes = fewer;
	bed.numbering++;
	assert_int_equal(look_only(), 1);
	assert_string_equal(out.d[0].order[0].node, "n6");
	sn_view_nodes_free(bed.nodes);
	bed.nodes = NULL;
	bed_done();
}

static void what_an_snrun_cannot_be_is_told_once(void **state)
{
	(void)state;
	bed_make(1, PER, 0);
	bed_job(0, 4, 0, "elastic=min_dp=4,max_dp=8");
	bed_says(0, (uint32_t[]){ 0, 1, 2, 3 }, 4, 1, SN_ATTACH_RUNNING); /* dp=1 */
	bed_mark(1, 3, SN_HEALTH_QUARANTINE, false, "sick");
	assert_int_equal(look(), 0);
	assert_int_equal(out.puzzles, 1);
	assert_int_equal(look(), 0);
	assert_int_equal(out.puzzles, 0);
	bed_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspected_card_moves_nothing),
		cmocka_unit_test(a_sick_card_is_left),
		cmocka_unit_test(a_spare_that_is_sick_hurts_nobody),
		cmocka_unit_test(levels_that_leave_do_not_wait_for_a_probe),
		cmocka_unit_test(rather_smaller_than_a_sick_card),
		cmocka_unit_test(a_free_node_of_the_supernode_stands_in),
		cmocka_unit_test(accounts_have_their_rules),
		cmocka_unit_test(a_lost_node_is_left_to_snrun_first),
		cmocka_unit_test(what_is_in_memory_costs_less),
		cmocka_unit_test(what_snrun_has_dealt_with_is_no_failure),
		cmocka_unit_test(a_hint_comes_before_slurm_knows),
		cmocka_unit_test(a_node_that_is_silent_is_not_lost),
		cmocka_unit_test(a_failing_node_is_left),
		cmocka_unit_test(without_its_script_a_job_is_requeued),
		cmocka_unit_test(jobs_come_and_go),
		cmocka_unit_test(other_numbers_of_nodes),
		cmocka_unit_test(what_an_snrun_cannot_be_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
