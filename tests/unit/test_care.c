/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "carebed.h"

#define PER 8
#define ELASTIC "elastic=min_dp=2,max_dp=8"

/* ---- what comes out ------------------------------------------------------------------- */

static struct {
	uint32_t n, reliefs, puzzles;
	struct {
		uint32_t job;
		uint64_t number;
		enum sn_means means;
		enum sn_care_how how;
		uint32_t n_orders, card, dp;
		struct sn_control order[SN_CARE_ORDERS];
		char node[64], why[SN_LADDER_WHY];
		bool again, safe_point;
	} d[64];
	struct sn_care_relief relief;
	char puzzle[256];
} out;

static void decided(void *arg, const struct sn_care_decision *d)
{
	(void)arg;
	assert_true(out.n < 64);
	out.d[out.n].job = d->job;
	out.d[out.n].number = d->number;
	out.d[out.n].means = d->plan->means;
	out.d[out.n].how = d->how;
	out.d[out.n].n_orders = d->n_orders;
	memcpy(out.d[out.n].order, d->order, sizeof(d->order));
	strcpy(out.d[out.n].node, d->node);
	strcpy(out.d[out.n].why, d->plan->why);
	out.d[out.n].card = d->card;
	out.d[out.n].dp = d->plan->dp;
	out.d[out.n].safe_point = d->plan->safe_point;
	out.d[out.n++].again = d->again;
	/* Orders and what is done by itself exclude each other. */
	assert_int_equal(d->n_orders > 0, d->how == SN_CARE_TELL);
}

static void relieved(void *arg, const struct sn_care_relief *relief)
{
	(void)arg;
	out.relief = *relief;
	out.reliefs++;
}

static void puzzled(void *arg, uint32_t job, const char *why)
{
	(void)arg, (void)job;
	snprintf(out.puzzle, sizeof(out.puzzle), "%s", why);
	out.puzzles++;
}

static uint32_t look_only(void)
{
	const struct sn_care_calls calls = { decided, relieved, puzzled, NULL };
	struct sn_care_eyes eyes = bed_eyes();
	struct sn_err err;

	memset(&out, 0, sizeof(out));
	bed_must(sn_care_look(bed.care, &bed.conf, &eyes, &calls, &err), &err);
	return out.n;
}

/* The number of decisions. */
static uint32_t look(void)
{
	bed_tables();
	return look_only();
}

static void later(double seconds)
{
	bed.now += seconds;
	bed.ms += (int64_t)(seconds * 1000);
}

/* Other work has all of a supernode but for so many nodes at its end. */
static void fill(uint32_t supernode, uint32_t but)
{
	for (uint32_t i = 0; i < bed.per - but; i++)
		bed.closed[supernode * bed.per + i] = true;
}

static void set_policy(const char *text)
{
	struct sn_err err;

	bed_must(sn_elastic_policy_parse(text, &bed.conf.policy, &err), &err);
}

#define IS(i, m, h) do { \
	if (out.d[i].means != (m) || out.d[i].how != (h)) \
		fail_msg("%s, how %d", out.d[i].why, out.d[i].how); \
} while (0)

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
		cmocka_unit_test(what_snrun_has_dealt_with_is_no_failure),
		cmocka_unit_test(a_hint_comes_before_slurm_knows),
		cmocka_unit_test(a_node_that_is_silent_is_not_lost),
		cmocka_unit_test(a_failing_node_is_left),
		cmocka_unit_test(without_its_script_a_job_is_requeued),
		cmocka_unit_test(a_set_that_changes_is_decided_anew),
		cmocka_unit_test(what_is_refused_is_tried_later_and_later),
		cmocka_unit_test(a_failure_during_recovery),
		cmocka_unit_test(one_that_is_stuck_is_helped),
		cmocka_unit_test(one_that_is_stuck_is_told_at_once),
		cmocka_unit_test(what_is_refused_is_not_the_only_means),
		cmocka_unit_test(many_jobs_of_one_supernode_by_priority),
		cmocka_unit_test(a_whole_supernode),
		cmocka_unit_test(what_is_free_elsewhere_must_be_the_jobs),
		cmocka_unit_test(jobs_come_and_go),
		cmocka_unit_test(other_numbers_of_nodes),
		cmocka_unit_test(what_an_snrun_cannot_be_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
