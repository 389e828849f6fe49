/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actdaemon.h - a daemon of act*.c alone, in a child process, over the world of actbed.h.
 */
#ifndef SN_TESTS_ACTDAEMON_H
#define SN_TESTS_ACTDAEMON_H

#include "elastic/holes.h"
#include "launcher/poolbook.h"
#include "launcher/slurmapi.h"
#include "snctl/nodeextra.h"
#include "tests/unit/actbed.h"

#define STEP_MS 100
#define BOOTED (1700000000 - 30)
#define STEPS 3000 /* of it, until all must be quiet */

static inline char *copy(const char *text)
{
	return strdup(text);
}

static inline void see_job(struct sn_view_job *to, uint32_t i)
{
	const struct bed_job *j = &world->job[i];
	struct sn_view_ours *o = calloc(1, sizeof(*o));

	to->id = i + 1;
	to->running = j->state == JOB_RUNNING;
	to->pending = j->state == JOB_PENDING;
	to->completing = j->completing;
	if (sn_view_job_hold(to, to->running ? 1 : 0, 1))
		abort();
	if (to->running)
		to->node[0] = (uint32_t)(j->nodes[1] - '0');
	to->ours = o;
	o->users = 1;
	o->account = copy("");
	o->user = copy("");
	o->partition = copy("");
	o->comment = copy(j->comment);
	o->options = copy(i == PLAIN ? "" : "supernode:parallel=tp=8");
	o->batch_host = copy(j->batch_host);
	o->required = copy(j->required);
	o->batch = true;
	o->requeue = j->requeue;
	o->member_of = sn_view_member_of(j->comment, &o->member_restarts);
	o->restarts = j->restarts;
	o->priority = j->held ? 0 : 10;
	o->launch_failures = j->held ? j->launches : 0;
	o->submit = j->submit;
	o->begin = j->begin;
}

static inline void see(struct sn_daemon *d)
{
	char name[8];
	uint32_t n = 0;

	sn_view_nodes_free(d->nodes);
	sn_view_jobs_free(d->jobs);
	d->nodes = sn_view_nodes_new(NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		if (sn_view_node_set(&d->nodes->node[i], name, "", "", "", NULL))
			abort();
		d->nodes->node[i].down = world->node[i].down;
		d->nodes->node[i].drained = world->node[i].drained;
	}
	if (sn_view_nodes_seal(d->nodes))
		abort();
	d->jobs = sn_view_jobs_new(JOBS);
	for (uint32_t i = 0; i < JOBS; i++) {
		complete(&world->job[i]);
		if (world->job[i].state <= JOB_SUSPENDED || world->job[i].completing)
			see_job(&d->jobs->job[n++], i);
	}
	d->jobs->n = n;
	sn_view_jobs_seal(d->jobs);
}

#define OLD 7 /* incarnation */

static enum { IDLE, ASKED, WRITE, SETTLING } making; /* of a daemon */
static uint64_t making_act;

static uint32_t making_turns; /* a while, in which the journal goes on and may fail */

/* 0: it is not there */
static uint64_t region_on(uint32_t i, const char *name)
{
	struct sn_poolbook_entry entry;

	return sn_poolbook_find(world->node[i].extra, name, &entry, NULL) ? 0 : entry.id;
}

static inline bool region_anywhere(const char *name)
{
	return region_on(0, name) || region_on(1, name) || region_on(2, name);
}

static inline int put_region(void *ctx, const char *node, const char *extra, char **ret, struct sn_err *err)
{
	const struct sn_poolbook_entry entry = { "new", 1000, 4096, world->incarnation };

	(void)ctx, (void)node;
	return sn_poolbook_write(extra, &entry, ret, err);
}

static inline void on_begun(struct sn_daemon *d, void *ctx)
{
	(void)d, (void)ctx;
	making = WRITE;
	making_turns = 8;
}

static inline void on_ended(struct sn_daemon *d, void *ctx, enum sn_act_end end, const char *text)
{
	(void)d, (void)ctx, (void)text;
	world->made += end == SN_ACT_VOID;
	making = IDLE;
}

/* As oppool.c does; its maker looks first whether it is there, and asks again. */
static inline void make_region(struct sn_daemon *d)
{
	const struct sn_act_watch watch = { on_begun, on_ended, NULL };
	static const char *const nodes[] = { "n1", "n2" };
	struct sn_act out = { .kind = SN_ACT_REGION_OUT, .region = "new", .why = "cut short" };

	if (making == WRITE && making_turns) {
		making_turns--;
	} else if (making == WRITE) {
		making = SETTLING;
		if (nodeextra_change(nodes, 2, put_region, NULL, NULL))
			act_let(d, making_act);
		else
			act_void(d, making_act, "it is made");
	} else if (making == IDLE && !region_anywhere("new") && d->acts->ready) {
		out.incarnation = ++world->incarnation;
		if (!act_watch(d, &out, &watch, &making_act, NULL))
			making = ASKED;
	}
}

/* As those who look after jobs do: what is not so yet is wanted. */
static inline void want(struct sn_daemon *d)
{
	struct sn_act out = { .kind = SN_ACT_NODE_OUT, .node = "n1", .why = "it is odd" };
	struct sn_act tell = { .kind = SN_ACT_TELL, .job = TELL_JOB, .op = SN_CONTROL_SHRINK, .dp = 4 };

	struct sn_act requeue = { .kind = SN_ACT_REQUEUE, .job = CARED + 1 };
	struct sn_act start = { .kind = SN_ACT_START, .job = ZOMBIE + 1, .restarts = 1 };
	struct sn_act away = { .kind = SN_ACT_REGION_OUT, .region = "old", .incarnation = OLD };

	if (region_on(0, "old") == OLD || region_on(1, "old") == OLD)
		(void)act_do(d, &away, NULL, NULL);
	if (!world->job[CARED].requeued)
		(void)act_do(d, &requeue, NULL, NULL);
	/* Before it has let go of its nodes. */
	if (world->job[ZOMBIE].state == JOB_PENDING && world->job[ZOMBIE].completing)
		(void)act_do(d, &start, NULL, NULL);
	if (!world->node[ODD].drained)
		(void)act_do(d, &out, NULL, NULL);
	if (world->dp != 4 && world->job[HELD].state == JOB_RUNNING)
		(void)act_do(d, &tell, NULL, NULL);
}

static inline bool is_quiet(const struct sn_daemon *d)
{
	return d->acts->ready && !d->acts->n && !loop_todo[0] && !loop_todo[1] && !d->acts->holes &&
		!bed_told.fn && world->node[ODD].drained && world->dp == 4 && making == IDLE;
}

static inline void turn(struct sn_daemon *d)
{
	for (int i = 0; i < 2; i++) {
		struct sn_work *work = loop_todo[i];

		if (!work)
			continue;
		loop_todo[i] = NULL;
		work->run(work);
		work->done(work);
	}
	if (bed_told.fn) {
		attach_done_fn fn = bed_told.fn;

		bed_told.fn = NULL;
		fn(bed_told.ctx, bed_told.rc, "it does not answer", NULL);
	}
	if (loop_timer && world->ms >= loop_timer) {
		loop_timer = 0;
		((sn_timer_fn)d->acts->timer)(d);
	}
	world->ms += STEP_MS;
	live();
}

/* In a child: until all is quiet. */
static inline void run_daemon(void)
{
	struct sn_daemon *d = calloc(1, sizeof(*d));
	uint32_t quiet = 0;

	if (!d || act_start(d, NULL))
		abort();
	d->duty = SN_DUTY_IN_CHARGE;
	d->disk = LOOP_DISK;
	d->slurm_write = LOOP_SLURM;
	d->options.dry_run = world->dry_run;
	d->since_load.requeue_wait = REQUEUE_WAIT;
	d->since_load.booted = BOOTED;
	strcpy(d->lead.dir, bed_dir);
	bed_d = d;
	act_take_charge(d);
	for (int i = 0; i < STEPS && quiet < 30; i++) {
		/* A full disk, or a slurmctld that is away, is so for a while. */
		if (i == 300)
			world->no_disk = world->no_slurm = false;
		if (i % 3 == 0 && !world->no_slurm) {
			see(d);
			act_follow(d, world->ms, true);
			if (!world->dry_run)
				want(d);
		}
		if (!world->dry_run && !world->no_slurm)
			make_region(d);
		turn(d);
		quiet = is_quiet(d) || (world->dry_run && i > 100) ? quiet + 1 : 0;
	}
	bed_d = NULL;
	d->stopping = true;
	act_end(d);
	sn_view_nodes_free(d->nodes);
	sn_view_jobs_free(d->jobs);
	free(d);
	_exit(quiet >= 30 ? 0 : STUCK);
}

static inline int in_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		run_daemon();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
