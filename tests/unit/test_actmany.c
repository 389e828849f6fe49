/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_actmany.c - thousands of actions at once, as after a slurmctld that was started
 * without its state or a cluster that came back: the loop must not be held up, and the
 * journal must not grow.
 *
 * What it costs is said in milliseconds of CPU and judged by counts: comparisons of two
 * actions, and lines.
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "elastic/act_internal.h"
#include "elastic/actslurm.h"
#include "elastic/attach.h"
#include "tests/unit/actloop.h"

#define MANY 5000
#define STEP_MS 100

static struct sn_daemon *d;
static int64_t now_ms;
static uint32_t started[MANY], events;
static uint64_t compared; /* actions with actions */
static bool no_slurm;
static double longest; /* ms of CPU that the loop was held up */
static char dir[] = "/tmp/sn-actmany-XXXXXX";

/* ---- what act*.c calls ---------------------------------------------------------------- */

int64_t sn_loop_now(void)
{
	return now_ms;
}

double sn_daemon_now(void)
{
	return 1700000000 + (double)now_ms / 1000;
}

int sn_lead_check(const struct sn_lead *lead, struct sn_err *err)
{
	(void)lead, (void)err;
	return 0;
}

const struct sn_event *daemon_event(struct sn_daemon *daemon, const char *kind, const char *node,
				    uint32_t card, uint32_t job, uint32_t uid,
				    const char *fmt, ...)
{
	(void)daemon, (void)kind, (void)node, (void)card, (void)job, (void)uid, (void)fmt;
	events++;
	return NULL;
}

int attach_tell(struct sn_daemon *daemon, uint32_t job, const struct sn_control *order,
		const char *why, attach_done_fn done, void *ctx, struct sn_err *err)
{
	(void)daemon, (void)job, (void)order, (void)why, (void)done, (void)ctx;
	return sn_err_set(err, -ENOTCONN, "nobody");
}

int sn_act_in_slurm(const struct sn_act *act, bool late, enum sn_act_end *ret, struct sn_err *text)
{
	(void)late;
	text->text[0] = '\0';
	if (no_slurm)
		return sn_err_set(text, -EIO, "slurmctld does not answer");
	assert_in_range(act->job, 1, MANY);
	started[act->job - 1]++;
	*ret = SN_ACT_DONE;
	return 0;
}

bool __real_sn_act_same(const struct sn_act *a, const struct sn_act *b);
bool __wrap_sn_act_same(const struct sn_act *a, const struct sn_act *b);
bool __wrap_sn_act_same(const struct sn_act *a, const struct sn_act *b)
{
	compared++;
	return __real_sn_act_same(a, b);
}

/* A disk's time is no matter here, and there are thousands. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	(void)fd;
	return 0;
}

/* ---- the bed ------------------------------------------------------------------------------ */

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

static void held(double from)
{
	double took = cpu_ms() - from;

	if (took > longest)
		longest = took;
}

/* Jobs that were requeued, let go of their nodes and wait for two minutes; those that were
 * started do not. */
static void see(void)
{
	struct sn_view_jobs *jobs = sn_view_jobs_new(MANY);

	for (uint32_t i = 0; i < MANY; i++) {
		struct sn_view_job *job = &jobs->job[i];
		struct sn_view_ours *o = calloc(1, sizeof(*o));

		job->id = i + 1;
		job->pending = true;
		assert_int_equal(sn_view_job_hold(job, 0, 1), 0);
		job->ours = o;
		o->users = 1;
		o->account = strdup("");
		o->user = strdup("");
		o->partition = strdup("");
		o->comment = strdup("");
		o->options = strdup("supernode:parallel=tp=8");
		o->batch_host = strdup("");
		o->required = strdup("");
		o->batch = o->requeue = true;
		o->restarts = 1;
		o->priority = 10;
		o->submit = (time_t)sn_daemon_now() - 5;
		o->begin = started[i] ? o->submit : o->submit + 121;
	}
	sn_view_jobs_seal(jobs);
	sn_view_jobs_free(d->jobs);
	d->jobs = jobs;
}

static void follow(void)
{
	double from = cpu_ms();

	act_follow(d, now_ms, true);
	held(from);
}

static void turn(void)
{
	double from;

	for (int i = 0; i < 2; i++) {
		struct sn_work *work = loop_todo[i];

		if (!work)
			continue;
		loop_todo[i] = NULL;
		work->run(work);
		from = cpu_ms();
		work->done(work);
		held(from);
	}
	if (loop_timer && now_ms >= loop_timer) {
		loop_timer = 0;
		from = cpu_ms();
		((sn_timer_fn)d->acts->timer)(d);
		held(from);
	}
}

/* Until nothing is left to be done. */
static void settle(void)
{
	for (uint32_t i = 0; i < 4 * MANY && (d->acts->n || !d->acts->ready); i++) {
		turn();
		now_ms += 1;
		if (!loop_todo[0] && !loop_todo[1])
			now_ms += STEP_MS;
	}
	assert_int_equal(d->acts->n, 0);
	for (uint32_t i = 0; i < 50 && (loop_todo[0] || loop_todo[1]); i++)
		turn();
}

static int make(void **state)
{
	(void)state;
	now_ms = 1000;
	loop_timer = 0;
	no_slurm = false;
	compared = events = loop_answers = 0;
	longest = 0;
	memset(started, 0, sizeof(started));
	strcpy(dir, "/tmp/sn-actmany-XXXXXX");
	d = calloc(1, sizeof(*d));
	if (!mkdtemp(dir) || act_start(d, NULL))
		return -1;
	d->duty = SN_DUTY_IN_CHARGE;
	d->disk = LOOP_DISK;
	d->slurm_write = LOOP_SLURM;
	d->since_load.requeue_wait = 121;
	strcpy(d->lead.dir, dir);
	d->nodes = sn_view_nodes_new(1);
	if (sn_view_node_set(&d->nodes->node[0], "n1", "", "", "", NULL) || sn_view_nodes_seal(d->nodes))
		return -1;
	act_take_charge(d);
	for (int i = 0; i < 3; i++)
		turn();
	return !d->acts->ready;
}

static void stop(void)
{
	d->stopping = true;
	for (int i = 0; i < 2; i++)
		if (loop_todo[i]) {
			loop_todo[i]->done(loop_todo[i]);
			loop_todo[i] = NULL;
		}
	act_end(d);
	sn_view_nodes_free(d->nodes);
	sn_view_jobs_free(d->jobs);
	free(d);
}

static int drop(void **state)
{
	char command[80];

	(void)state;
	stop();
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void load(struct sn_journal_state *ret)
{
	struct sn_journal journal;
	struct sn_err err, note;

	sn_journal_init(&journal, dir);
	assert_int_equal(sn_journal_load(&journal, ret, &note, &err), 0);
	assert_false(ret->torn || ret->damaged);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void all_are_done_and_nothing_waits_for_it(void **state)
{
	(void)state;
	see();
	follow();
	print_message("%u holes found: the loop was held up for %.1f ms of CPU, %llu comparisons\n",
		      MANY, longest, (unsigned long long)compared);
	/* Not each with each other. */
	assert_true(compared <= 20 * MANY);
	/* Found again while they wait. */
	for (int i = 0; i < 3; i++) {
		turn();
		compared = 0;
		follow();
		assert_true(compared <= 20 * MANY);
	}
	settle();
	compared = 0;
	see();
	follow();
	settle();
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(started[i], 1);
	assert_int_equal(events, MANY);
	assert_true(compared <= 20 * MANY);
	print_message("at most %.1f ms of CPU in one go till all were done\n", longest);
}

/* Of the next daemon, which takes them up. */
static void an_heir_is_not_held_up(void **state)
{
	struct sn_journal_state s = { 0 };

	no_slurm = true;
	see();
	follow();
	for (int i = 0; i < 200; i++) {
		turn();
		now_ms += STEP_MS;
	}
	load(&s);
	assert_int_equal(s.n, MANY);
	sn_journal_state_done(&s);
	stop();
	d = calloc(1, sizeof(*d));
	assert_int_equal(act_start(d, NULL), 0);
	d->duty = SN_DUTY_IN_CHARGE;
	d->disk = LOOP_DISK;
	d->slurm_write = LOOP_SLURM;
	strcpy(d->lead.dir, dir);
	no_slurm = false;
	longest = 0;
	act_take_charge(d);
	settle();
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(started[i], 1);
	print_message("%u actions of an earlier daemon: at most %.1f ms of CPU in one go\n", MANY, longest);
	(void)state;
}

/* While many are open others come and go: the file stays of the order of what is open. */
static void the_journal_does_not_grow(void **state)
{
	struct sn_journal_state s = { 0 };
	uint32_t most = 0;

	(void)state;
	no_slurm = true;
	see();
	follow();
	for (int i = 0; i < 50; i++) {
		turn();
		now_ms += STEP_MS;
	}
	/* TELLs come to nothing after half a minute, as nobody is attached. */
	for (uint32_t k = 0; k < 40; k++) {
		for (uint32_t i = 0; i < 500; i++) {
			struct sn_act tell = { .kind = SN_ACT_TELL, .job = i + 1, .restarts = k,
					       .op = SN_CONTROL_PAUSE };

			assert_int_equal(act_do(d, &tell, NULL, NULL), 0);
		}
		for (int i = 0; i < 40; i++) {
			turn();
			now_ms += 1000;
		}
		if (d->acts->journal.lines > most)
			most = d->acts->journal.lines;
	}
	print_message("%u lines at most, with %u actions open\n", most, act_open(d));
	assert_true(act_open(d) >= MANY);
	assert_true(most <= SN_JOURNAL_LINES + 3 * (MANY + 1000));
	load(&s);
	assert_int_equal(s.n, MANY);
	sn_journal_state_done(&s);
	no_slurm = false;
	settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_are_done_and_nothing_waits_for_it, make, drop),
		cmocka_unit_test_setup_teardown(an_heir_is_not_held_up, make, drop),
		cmocka_unit_test_setup_teardown(the_journal_does_not_grow, make, drop),
	};

	(void)sn_log_open("/dev/null", SN_LOG_ERROR, NULL);
	return cmocka_run_group_tests_name("actmany", tests, NULL, NULL);
}
