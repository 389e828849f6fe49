/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/classify.h"

static const struct sn_restarts fresh = { 0, 5, 1 };
static char why[200];

static enum sn_verdict classify(struct sn_outcome o, struct sn_restarts r)
{
	return sn_classify(&o, &r, why, sizeof(why));
}

#define OUTCOME(...) ((struct sn_outcome){ __VA_ARGS__ })

static void what_ended_well_is_done(void **state)
{
	(void)state;
	assert_int_equal(classify(OUTCOME(0), fresh), SN_VERDICT_DONE);
	/* Also after the user's SIGUSR1, or when restarts are used up. */
	assert_int_equal(classify(OUTCOME(.stopped = true), (struct sn_restarts){ 5, 5, 9 }), SN_VERDICT_DONE);
}

static void what_fails_is_started_again(void **state)
{
	(void)state;
	assert_int_equal(classify(OUTCOME(.exit_code = 3, .rank_failed = true, .rank = 7, .code = 3), fresh), SN_VERDICT_RESTART);
	assert_string_equal(why, "rank 7 failed with exit code 3");
	assert_int_equal(classify(OUTCOME(.exit_code = 137, .rank_failed = true, .rank = 2), fresh), SN_VERDICT_RESTART);
	assert_non_null(strstr(why, "rank 2 was ended by a signal"));
	assert_int_equal(classify(OUTCOME(.exit_code = 137, .rank_failed = true, .out_of_memory = true), fresh), SN_VERDICT_RESTART);
	assert_non_null(strstr(why, "memory"));
	/* The survivors of a lost node may even have ended with 0. */
	assert_int_equal(classify(OUTCOME(.node_lost = true), fresh), SN_VERDICT_RESTART);
	assert_int_equal(classify(OUTCOME(.exit_code = 1), fresh), SN_VERDICT_RESTART);
}

static void another_size_is_no_failure(void **state)
{
	(void)state;
	/* Ranks that were told to save and go, whatever they end with. */
	assert_int_equal(classify(OUTCOME(.resize = true, .cut = true, .exit_code = 143), fresh), SN_VERDICT_RESTART);
	assert_int_equal(classify(OUTCOME(.resize = true, .cut = true), fresh), SN_VERDICT_RESTART);
	assert_int_equal(classify(OUTCOME(.resize = true, .exit_code = 143), (struct sn_restarts){ 5, 5, 3 }), SN_VERDICT_RESTART);
	assert_int_equal(classify(OUTCOME(.resize = true, .stopped = true, .exit_code = 143), fresh), SN_VERDICT_STOP);
	assert_int_equal(classify(OUTCOME(.resize = true, .no_requeue = true, .exit_code = 93), fresh), SN_VERDICT_STOP);
}

/* A slurmctld that is just back refuses steps, and knows old ones still. */
static void what_never_began_uses_no_restart_up(void **state)
{
	const struct sn_restarts all = { 1, 1, 0 };

	(void)state;
	assert_int_equal(classify(OUTCOME(.exit_code = 1, .refused = true), all), SN_VERDICT_RESTART);
	assert_non_null(strstr(why, "slurmctld gave no step"));
	/* But not for ever, nor where nobody asked for restarts. */
	assert_int_equal(classify(OUTCOME(.exit_code = 1, .refused = true),
				  (struct sn_restarts){ 1, 1, SN_FUTILE_MAX }), SN_VERDICT_STOP);
	assert_int_equal(classify(OUTCOME(.exit_code = 1, .refused = true),
				  (struct sn_restarts){ 0, 0, 0 }), SN_VERDICT_STOP);
	/* In another part of the job ranks did, and failed. */
	assert_int_equal(classify(OUTCOME(.exit_code = 1, .refused = true, .rank_failed = true, .code = 1), all),
			 SN_VERDICT_STOP);
	assert_int_equal(classify(OUTCOME(.exit_code = 1, .refused = true, .node_lost = true), all), SN_VERDICT_STOP);
}

static void what_would_not_help_is_left(void **state)
{
	struct sn_outcome failed = OUTCOME(.exit_code = 1, .rank_failed = true, .code = 1);
	struct sn_outcome o;

	(void)state;
	assert_int_equal(classify(failed, (struct sn_restarts){ 5, 5, 1 }), SN_VERDICT_STOP);
	assert_non_null(strstr(why, "rank 0 failed with exit code 1; all restarts"));
	assert_int_equal(classify(failed, (struct sn_restarts){ 0, 0, 1 }), SN_VERDICT_STOP);
	assert_int_equal(classify(failed, (struct sn_restarts){ 2, 9, 2 }), SN_VERDICT_RESTART);
	assert_int_equal(classify(failed, (struct sn_restarts){ 3, 9, 3 }), SN_VERDICT_STOP);
	assert_non_null(strstr(why, "no progress"));
	o = failed;
	o.stopped = true;
	assert_int_equal(classify(o, fresh), SN_VERDICT_STOP);
	o = failed;
	o.code = 127;
	assert_int_equal(classify(o, fresh), SN_VERDICT_STOP);
	o.node_lost = true; /* then that is why */
	assert_int_equal(classify(o, fresh), SN_VERDICT_RESTART);
	o.no_requeue = true;
	assert_int_equal(classify(o, fresh), SN_VERDICT_STOP);
	assert_non_null(strstr(why, "93"));
}

static void the_exit_code_is_the_steps(void **state)
{
	struct sn_outcome o = OUTCOME(.exit_code = 143, .rank_failed = true, .code = 3);

	(void)state;
	assert_int_equal(sn_outcome_exit(&o), 143);
	o.cut = true;
	assert_int_equal(sn_outcome_exit(&o), 3);
	o.code = 0;
	assert_int_equal(sn_outcome_exit(&o), 143);
	o.no_requeue = true;
	assert_int_equal(sn_outcome_exit(&o), 93);
	o = OUTCOME(.node_lost = true);
	assert_int_equal(sn_outcome_exit(&o), 1);
}

static void a_short_buffer_is_enough(void **state)
{
	char small[12] = "xxxxxxxxxxx";
	struct sn_outcome o = OUTCOME(.exit_code = 1);
	struct sn_restarts r = { 0, 0, 0 };

	(void)state;
	assert_int_equal(sn_classify(&o, &r, small, sizeof(small)), SN_VERDICT_STOP);
	assert_int_equal(strlen(small), 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ended_well_is_done),
		cmocka_unit_test(what_fails_is_started_again),
		cmocka_unit_test(another_size_is_no_failure),
		cmocka_unit_test(what_never_began_uses_no_restart_up),
		cmocka_unit_test(what_would_not_help_is_left),
		cmocka_unit_test(the_exit_code_is_the_steps),
		cmocka_unit_test(a_short_buffer_is_enough),
	};

	return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
