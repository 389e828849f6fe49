/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_stepstop.c - the ranks' time to save begins when they have been told, however
 * long slurmctld was away.
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/link.h"
#include "launcher/step.h"

#define PARTS 2
#define HARD 30 /* s */

static struct snrun run;
static struct sn_outcome out;
static struct step_part part[PARTS];
static struct step step;
static int64_t now_ms, heard_ms;
static int64_t holds_up; /* ms, slurmctld, each call */
static bool takes; /* and then, the signal */
static uint32_t terms, kills;

/* ---- what stepstop.c calls ----------------------------------------------------------- */

int64_t snrun_now_ms(void)
{
	return now_ms;
}

bool step_part_send(struct step_part *p, int sig)
{
	(void)p;
	now_ms += holds_up;
	if (!takes)
		return false;
	if (sig != SIGKILL && terms < PARTS) /* later ones are told again */
		heard_ms = now_ms;
	terms += sig == SIGTERM;
	kills += sig == SIGKILL;
	return true;
}

void snrun_ask_checkpoint(struct snrun *r, const char *why)
{
	(void)r, (void)why;
}

void snrun_account_ask(struct snrun *r)
{
	(void)r;
}

void snrun_link_tell(const struct snrun *r)
{
	(void)r;
}

void sn_ckpt_limits(const struct sn_ckpt *ckpt, uint32_t policy_soft, uint32_t policy_hard,
		    uint32_t *soft, uint32_t *hard)
{
	(void)ckpt;
	*soft = policy_soft;
	*hard = policy_hard;
}

void sn_ckptwatch_look(struct sn_ckptwatch *watch, const char *dir, int64_t now)
{
	(void)watch, (void)dir, (void)now;
}

bool sn_ckptwatch_is_new(const struct sn_ckptwatch *watch)
{
	(void)watch;
	return true; /* they have saved, and go on */
}

/* ---- as step.c does ------------------------------------------------------------------- */

/* Till the ranks are killed: when. */
static int64_t until_killed(void)
{
	for (int i = 0; i < 10000 && !kills; i++) {
		now_ms += 100;
		if (step_any_pending(&step))
			step_send_pending(&step);
		step_tell_again(&step, now_ms);
		if (step.deadline && now_ms >= step.deadline && !step_wait_longer(&step))
			step_kill(&step);
	}
	return now_ms;
}

static int begin(void **state)
{
	(void)state;
	memset(&run, 0, sizeof(run));
	memset(&step, 0, sizeof(step));
	memset(part, 0, sizeof(part));
	run.job.policy.restart_wait = 5;
	run.job.policy.checkpoint_soft = 10;
	run.job.policy.checkpoint_hard = HARD;
	run.ckpt.ckpt.signal = SIGTERM;
	run.ckpt.ckpt.exits = true;
	step.run = &run;
	step.out = &out;
	step.part = part;
	step.n_parts = PARTS;
	for (int p = 0; p < PARTS; p++)
		part[p].step = &step;
	now_ms = 1000000;
	terms = kills = 0;
	holds_up = 0;
	takes = true;
	return 0;
}

static void they_have_their_time(void **state)
{
	(void)state;
	step_end_on_purpose(&step, "resize");
	assert_int_equal(terms, PARTS);
	assert_in_range(until_killed() - heard_ms, HARD * 1000, HARD * 1000 + 200);
}

/* libslurm tries for a minute, and its call comes true as slurmctld is back. */
static void slurmctld_holds_the_call_up(void **state)
{
	(void)state;
	holds_up = 40000;
	step_end_on_purpose(&step, "resize");
	assert_int_equal(terms, PARTS);
	holds_up = 0;
	assert_true(step.soft_at >= heard_ms);
	assert_true(until_killed() - heard_ms >= HARD * 1000);
}

/* Nor are those of a failure's other nodes killed before. */
static void so_it_does_after_a_failure(void **state)
{
	(void)state;
	holds_up = 40000;
	step_end(&step);
	assert_int_equal(terms, PARTS);
	holds_up = 0;
	assert_true(until_killed() - heard_ms >= 5000);
}

static void those_who_save_and_go_on(void **state)
{
	(void)state;
	run.ckpt.ckpt.signal = SIGUSR1;
	run.ckpt.ckpt.exits = false;
	step_end_on_purpose(&step, "resize");
	assert_int_equal(terms, 0);
	holds_up = 40000;
	step_look_at_checkpoint(&step, now_ms);
	assert_int_equal(terms, PARTS);
	holds_up = 0;
	assert_true(until_killed() - heard_ms >= 5000);
}

/* It says no for five minutes, at once or late, and then takes it. */
static void nobody_is_killed_that_was_not_told(void **state)
{
	for (int64_t late = 0; late <= 20000; late += 20000) {
		begin(state);
		holds_up = late;
		takes = false;
		step_end_on_purpose(&step, "resize");
		for (int64_t end = now_ms + 300000; now_ms < end;) {
			now_ms += 500;
			step_send_pending(&step);
			if (now_ms >= step.deadline)
				assert_true(step_wait_longer(&step));
		}
		assert_int_equal(terms, 0);
		takes = true;
		step_send_pending(&step);
		assert_int_equal(terms, PARTS);
		holds_up = 0;
		assert_true(until_killed() - heard_ms >= HARD * 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(they_have_their_time, begin),
		cmocka_unit_test_setup(slurmctld_holds_the_call_up, begin),
		cmocka_unit_test_setup(so_it_does_after_a_failure, begin),
		cmocka_unit_test_setup(those_who_save_and_go_on, begin),
		cmocka_unit_test_setup(nobody_is_killed_that_was_not_told, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
