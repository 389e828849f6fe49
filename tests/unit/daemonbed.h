/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemonbed.h - the daemon's engine.c, follow.c and write.c over node records that
 * are texts here, with a clock that is set and threads that run when they are told.
 */
#ifndef SN_TESTS_DAEMONBED_H
#define SN_TESTS_DAEMONBED_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elastic/act.h"
#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/healthfile.h"
#include "launcher/cardbook.h"
#include "snctl/nodeextra.h"

#define BED_NODES 8
#define BED_CARDS 4 /* of a node */

static struct {
	struct sn_daemon *d;
	uint32_t n; /* nodes that Slurm has */
	char name[BED_NODES][64];
	char *extra[BED_NODES]; /* in Slurm's records */
	bool changed; /* since the last poll */
	bool down; /* slurmctld */
	char *saved; /* health file */
	size_t saved_len;
	int64_t ms; /* the clock */
	struct sn_work *todo[2], *done[2]; /* reading, writing */
	uint64_t rng;
	int64_t timer_ms; /* what any timer was set to last */
	struct bed_timer { sn_timer_fn fn; void *ctx; int64_t at; } timer[8]; /* the first is the poll's */
	uint32_t n_timers;
	int64_t jobs_ms; /* of CPU that it takes to have slurmctld's jobs */
	uint32_t job_loads, node_loads;
	struct json_object *answer; /* the last */
	uint32_t drained[BED_NODES]; /* whole nodes: how often */
} bed;

#define BED_READ ((struct sn_pool *)&bed.todo[0])
#define BED_WRITE ((struct sn_pool *)&bed.todo[1])

/* ---- what the daemon calls ---------------------------------------------------------- */

int bed_clock_gettime(clockid_t id, struct timespec *t);
int bed_clock_gettime(clockid_t id, struct timespec *t)
{
	int64_t ms = bed.ms + (id == CLOCK_REALTIME ? INT64_C(1700000000000) : 0);

	t->tv_sec = ms / 1000;
	t->tv_nsec = ms % 1000 * 1000000;
	return 0;
}

int64_t sn_loop_now(void)
{
	return bed.ms;
}

int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx, struct sn_timer **ret,
		  struct sn_err *err)
{
	(void)loop, (void)err;
	if (bed.n_timers == sizeof(bed.timer) / sizeof(*bed.timer))
		abort();
	bed.timer[bed.n_timers] = (struct bed_timer){ fn, ctx, INT64_MAX };
	*ret = (struct sn_timer *)&bed.timer[bed.n_timers++];
	return 0;
}

void sn_timer_set(struct sn_timer *timer, int64_t in_ms)
{
	bed.timer_ms = in_ms;
	if (timer) /* not all are there */
		((struct bed_timer *)timer)->at = bed.ms + in_ms;
}

void sn_pool_give(struct sn_pool *pool, struct sn_work *work)
{
	int i = pool == BED_WRITE;

	if (bed.todo[i])
		abort(); /* there is never more than one */
	bed.todo[i] = work;
}

int sn_lead_check(const struct sn_lead *lead, struct sn_err *err)
{
	(void)lead, (void)err;
	return 0;
}

void care_follow(struct sn_daemon *d)
{
	(void)d;
}

void care_soon(struct sn_daemon *d)
{
	(void)d;
}

void keep_events(struct sn_daemon *d)
{
	(void)d;
}

uint64_t keep_state(struct sn_daemon *d)
{
	free(bed.saved);
	bed.saved = NULL;
	if (engine_state(d, &bed.saved, &bed.saved_len, NULL))
		abort();
	return ++d->state_wanted;
}

void probe_want(struct sn_daemon *d, uint32_t node)
{
	(void)d, (void)node;
}

void followers_tell(struct sn_daemon *d)
{
	(void)d;
}

void act_follow(struct sn_daemon *d, int64_t began, bool changed)
{
	(void)d, (void)began, (void)changed;
}

void sn_view_load_requeue_wait(struct sn_view_since *since, int64_t now_ms)
{
	(void)since, (void)now_ms;
}

void attach_jobs(struct sn_daemon *d)
{
	(void)d;
}

void request_run(struct sn_daemon *d, struct sn_request *r)
{
	op_health_report(d, r); /* what else is held */
}

void request_free(struct sn_request *r)
{
	json_object_put(r->json);
	free(r);
}

struct json_object *request_ok(void)
{
	return json_object_new_object();
}

void request_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer)
{
	(void)d;
	json_object_put(bed.answer);
	bed.answer = answer;
	request_free(r);
}

void request_fail(struct sn_daemon *d, struct sn_request *r, const char *code,
		  const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char text[SN_ERR_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_object_add(o, "code", json_object_new_string(code));
	json_object_object_add(o, "error", json_object_new_string(text));
	request_answer(d, r, o);
}

void keep_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer,
		 uint64_t number)
{
	(void)number;
	request_answer(d, r, answer);
}

void sn_daemon_stop(struct sn_daemon *d, int exit_code)
{
	(void)exit_code;
	d->stopping = true;
}

int sn_view_load_nodes(struct sn_view_since *since, const char *card_gres,
		       const struct sn_view_nodes *old, struct sn_view_nodes **ret,
		       struct sn_err *err)
{
	(void)card_gres;
	*ret = NULL;
	bed.node_loads++;
	if (bed.down)
		return sn_err_set(err, -EIO, "slurmctld is down");
	if (since->nodes && !bed.changed)
		return 0;
	since->nodes = 1;
	bed.changed = false;
	*ret = sn_view_nodes_new(bed.n);
	for (uint32_t i = 0; i < bed.n; i++) {
		struct sn_view_node *n = &(*ret)->node[i];

		if (sn_view_node_set(n, bed.name[i], "", "", bed.extra[i] ? bed.extra[i] : "",
				     old && i < old->n ? &old->node[i] : NULL))
			abort();
		n->cards = (UINT64_C(1) << BED_CARDS) - 1;
	}
	return sn_view_nodes_seal(*ret);
}

int sn_view_load_jobs(struct sn_view_since *since, const char *card_gres,
		      const struct sn_view_jobs *old, struct sn_view_jobs **ret,
		      struct sn_err *err)
{
	(void)card_gres, (void)old, (void)err;
	*ret = NULL;
	since->jobs = 1;
	bed.job_loads++;
	bed.ms += bed.jobs_ms;
	return 0;
}

static inline uint32_t bed_node(const char *name)
{
	for (uint32_t i = 0; i < bed.n; i++)
		if (!strcmp(bed.name[i], name))
			return i;
	abort();
}

static inline void bed_set_extra(uint32_t node, char *text)
{
	if (strcmp(bed.extra[node] ? bed.extra[node] : "", text))
		bed.changed = true;
	free(bed.extra[node]);
	bed.extra[node] = text;
}

int nodeextra_change(const char *const *node, uint32_t n, nodeextra_fn change, void *ctx,
		     struct sn_err *err)
{
	uint32_t i = bed_node(*node);
	char *fresh;
	int rc;

	if (n != 1)
		abort();
	if (bed.down)
		return sn_err_set(err, -EIO, "slurmctld is down");
	rc = change(ctx, *node, bed.extra[i], &fresh, err);
	if (!rc)
		bed_set_extra(i, fresh);
	return rc;
}

int nodeextra_drain(const char *node, const char *reason, struct sn_err *err)
{
	(void)reason, (void)err;
	bed.drained[bed_node(node)]++;
	return 0;
}

/* ---- the threads ---------------------------------------------------------------------- */

static inline void bed_run(int which)
{
	struct sn_work *work = bed.todo[which];

	if (!work || bed.done[which])
		return;
	bed.todo[which] = NULL;
	work->run(work);
	bed.done[which] = work;
}

static inline void bed_back(int which)
{
	struct sn_work *work = bed.done[which];

	bed.done[which] = NULL;
	if (work)
		work->done(work);
}

static inline void bed_poll(void)
{
	follow_poll(bed.d);
	bed_run(0);
	bed_back(0);
}

static inline void bed_write(void)
{
	write_some(bed.d);
	bed_run(1);
	bed_back(1);
}

/* Until nothing more comes of anything. */
static inline void bed_settle(void)
{
	for (int i = 0; i < 2; i++)
		bed_back(i);
	for (int i = 0; i < 4 + 3 * BED_NODES; i++) {
		bed.ms += 10;
		bed_poll();
		bed.ms += 10;
		bed_write();
	}
}

/* ---- beginning and end -------------------------------------------------------------------- */

static const char bed_topo[] =
	"SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4\n"
	"UnitName=u[1-4] Nodes=n[1-8] NodesPerUnit=2\n";

static inline void bed_check(int rc, const struct sn_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "%s\n", err->text);
	abort();
}

/* A daemon in charge, with what the one before it has saved. */
static inline void bed_start(const char *topo)
{
	struct sn_daemon *d = calloc(1, sizeof(*d));
	struct sn_err err;

	bed.d = d;
	bed.n_timers = 0;
	d->duty = SN_DUTY_IN_CHARGE;
	d->slurm_read = BED_READ;
	d->slurm_write = BED_WRITE;
	bed_check(sn_topo_parse(topo, strlen(topo), "topology.conf", NULL, NULL, &d->conf.topo, &err), &err);
	bed_check(sn_policy_parse("", 0, "supernode.conf", &d->conf.policy, &err), &err);
	bed_check(sn_health_conf_init(&d->conf.policy, &d->conf.health, &err), &err);
	bed_check(sn_events_init(&d->events, 1, &err), &err);
	bed_check(follow_start(d, &err), &err);
	bed_check(write_start(d, &err), &err);
	bed_check(engine_make(d, bed.saved, bed.saved_len, &err), &err);
	follow_poll(d);
}

static inline void bed_stop(void)
{
	struct sn_daemon *d = bed.d;

	d->stopping = true;
	for (int i = 0; i < 2; i++) {
		bed_back(i);
		if (bed.todo[i]) {
			bed.todo[i]->done(bed.todo[i]);
			bed.todo[i] = NULL;
		}
	}
	follow_end(d);
	write_end(d);
	engine_done(d);
	sn_events_done(&d->events);
	sn_daemon_conf_done(&d->conf);
	free(d);
	bed.d = NULL;
}

void sn_daemon_conf_done(struct sn_daemon_conf *conf)
{
	sn_topo_destroy(conf->topo);
	sn_health_codes_done(&conf->codes);
}

static inline void bed_begin(uint32_t n)
{
	memset(&bed, 0, sizeof(bed));
	bed.n = n;
	bed.ms = 1000;
	for (uint32_t i = 0; i < n; i++)
		snprintf(bed.name[i], sizeof(bed.name[i]), "n%u", i + 1);
}

static inline void bed_end(void)
{
	bed_stop();
	for (uint32_t i = 0; i < bed.n; i++)
		free(bed.extra[i]);
	free(bed.saved);
	json_object_put(bed.answer);
}

static inline uint32_t bed_random(uint32_t below)
{
	bed.rng = bed.rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(bed.rng >> 33) % below;
}

/* ---- what happens --------------------------------------------------------------------- */

static inline void bed_fault(uint32_t node, uint32_t card)
{
	const struct sn_health_fault fault = { .node = sn_topo_find_node(bed.d->topo, bed.name[node]),
					       .card = card, .code = "sick" };
	struct sn_health_actions actions = { 0 };

	if (sn_health_fault(bed.d->health, &fault, sn_daemon_now(), &actions, NULL))
		abort();
	if (engine_act(bed.d, &actions, SN_NONE, 0))
		keep_state(bed.d);
}

static inline bool bed_is_sick(uint32_t node, uint32_t card)
{
	struct sn_health_card_info info;

	sn_health_card(bed.d->health, sn_topo_find_node(bed.d->topo, bed.name[node]), card, &info);
	return info.state != SN_HEALTH_HEALTHY;
}

static inline struct sn_cardbook bed_book(uint32_t node)
{
	struct sn_cardbook book;

	if (sn_cardbook_read(bed.extra[node], &book, NULL))
		abort();
	return book;
}

/* By root here; the answer is bed.answer's until the next. */
static inline struct json_object *
bed_ask(void (*op)(struct sn_daemon *d, struct sn_request *r), const char *request)
{
	struct sn_request *r = calloc(1, sizeof(*r));

	r->json = json_tokener_parse(request);
	r->who.at_controller = true;
	op(bed.d, r);
	return bed.answer;
}

/* By hand, in the record: a mark, or (by NULL) without. */
static inline void bed_hand(uint32_t node, enum sn_cardkind kind, uint64_t cards, const char *by)
{
	struct sn_cardmark mark = { .at = 5, .why = "by hand", .state = kind == SN_CARDKIND_HEALTH ? SN_CARDHEALTH_SUSPECT : SN_CARDHEALTH_NONE };
	struct sn_err err;
	char *fresh;

	if (by)
		snprintf(mark.by, sizeof(mark.by), "%s", by);
	bed_check(sn_cardbook_set(bed.extra[node], kind, cards, by ? &mark : NULL, &fresh, &err), &err);
	bed_set_extra(node, fresh);
}

static inline int quiet(void **state)
{
	(void)state;
	return sn_log_open("/dev/null", SN_LOG_ERROR, NULL);
}

#endif
