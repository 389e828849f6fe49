/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oppool.c - pool.create and pool.delete: regions of the pool with names, for users.
 *
 * One request at a time, each over a snapshot of its own: what it is to hold must not
 * be promised twice. A region is made as follows, so that whatever is killed when,
 * none is left on some of its nodes only:
 *	plan	who may, where, is there room (snctl/poolplan.h)
 *	hold	the journal has the action that takes it away again (act.h)
 *	write	the nodes' records
 *	check	a job may have taken the room meanwhile
 *	void	that action is not wanted, and then its maker is told
 * A daemon that takes charge in between carries the action out. Deleting is that
 * action alone.
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act.h"
#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "elastic/report.h"
#include "snctl/poolplan.h"
#include "topology/text.h"

#define TEXT 1024 /* of a list of nodes */

struct region_work {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_request *r; /* NULL: it has been answered */
	struct region_work *next;
	uint32_t by;
	char who[64]; /* his name */
	struct poolplan_ask ask;
	char name[SN_NAME_MAX + 64], size[64], supernode[256], nodes[TEXT];
	bool create;
	bool away; /* a thread has it */
	const char *config;
	struct sn_lead lead;
	struct poolplan plan;
	uint64_t act;
	int rc;
	struct sn_err err;
};

static void go_on(struct sn_daemon *d);

static void work_free(struct region_work *w)
{
	if (w->r) {
		sn_server_drop(w->d->server, w->r->ticket);
		request_free(w->r);
	}
	poolplan_done(&w->plan);
	free(w);
}

/* It is the first. */
static void finish(struct region_work *w)
{
	struct sn_daemon *d = w->d;

	d->regions = w->next;
	work_free(w);
	go_on(d);
}

/* What a thread still has is left to it. */
void regions_end(struct sn_daemon *d)
{
	struct region_work *w;

	while ((w = d->regions) && !w->away) {
		d->regions = w->next;
		work_free(w);
	}
}

/* ---- what is answered ------------------------------------------------------------- */

static void fail(struct region_work *w)
{
	const char *code = w->rc == -EPERM || w->rc == -EDQUOT ? SN_OP_CODE_REFUSED :
		w->rc == -ENOENT ? SN_OP_CODE_NOT_FOUND :
		w->rc == -EINVAL ? SN_OP_CODE_INVALID : SN_OP_CODE_AGAIN;
	struct sn_request *r = w->r;

	w->r = NULL;
	if (w->rc == -EPERM)
		daemon_refused(w->d, w->by, r->from, NULL, 0, "%s: %s", r->op, w->err.text);
	request_fail(w->d, r, code, "%s", w->err.text);
}

static void add_int(struct json_object *o, const char *key, uint64_t n)
{
	if (o)
		json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

static void succeed(struct region_work *w)
{
	struct json_object *o = request_ok();
	struct sn_request *r = w->r;

	w->r = NULL;
	if (o) {
		json_object_object_add(o, "name", json_object_new_string(w->plan.entry.name));
		json_object_object_add(o, "supernode", json_object_new_string(w->plan.supernode));
	}
	add_int(o, "uid", w->plan.entry.uid);
	add_int(o, "bytes", w->plan.entry.bytes);
	add_int(o, "nodes", w->plan.n);
	add_int(o, "waiting", w->plan.waiting);
	request_answer(w->d, r, o);
}

static void say_made(const struct region_work *w)
{
	char size[32];

	sn_format_size(w->plan.entry.bytes, size, sizeof(size));
	daemon_event(w->d, "pool", w->plan.supernode, SN_NONE, 0, w->by,
		     "the pool region %s is made for user %u: %s on each of %u nodes, by %s",
		     w->plan.entry.name, w->plan.entry.uid, size, w->plan.n, w->who);
}

/* ---- the way of one --------------------------------------------------------------- */

static void give(struct region_work *w, struct sn_pool *pool,
		 void (*run)(struct sn_work *work), void (*done)(struct sn_work *work))
{
	w->work = (struct sn_work){ run, done, NULL };
	w->lead = w->d->lead;
	w->rc = -ECANCELED;
	w->away = true;
	sn_pool_give(pool, &w->work);
}

/* Its own snapshot: what the loop has may be seconds old. */
static int look(struct region_work *w, int (*what)(struct region_work *w, const struct live *live,
						   const struct pool_names *names))
{
	struct pool_names names;
	struct live live;
	int rc = live_load(w->config, &live, &w->err);

	if (rc)
		return rc;
	rc = pool_names_load(&live, &names, &w->err);
	if (!rc) {
		rc = what(w, &live, &names);
		pool_names_done(&names);
	}
	live_done(&live);
	return rc;
}

static int check(struct region_work *w, const struct live *live, const struct pool_names *names)
{
	return poolplan_check(live, names, &w->ask, &w->plan, &w->err);
}

static void check_run(struct sn_work *work)
{
	struct region_work *w = (struct region_work *)work;

	w->rc = look(w, check);
}

static void check_done(struct sn_work *work)
{
	struct region_work *w = (struct region_work *)work;

	w->away = false;
	if (w->d->stopping)
		return; /* the next daemon takes it away */
	if (w->rc) {
		fail(w);
		act_let(w->d, w->act);
	} else {
		act_void(w->d, w->act, "it is made");
	}
}

static void write_run(struct sn_work *work)
{
	struct region_work *w = (struct region_work *)work;

	w->rc = sn_lead_check(&w->lead, &w->err);
	if (!w->rc)
		w->rc = poolplan_write(&w->plan, &w->err);
	/* Between read and write another has written: once more. */
	if (w->rc == -EBUSY)
		w->rc = poolplan_write(&w->plan, &w->err);
}

static void write_done(struct sn_work *work)
{
	struct region_work *w = (struct region_work *)work;

	w->away = false;
	if (w->d->stopping)
		return;
	if (w->rc) {
		fail(w);
		act_let(w->d, w->act);
	} else {
		give(w, w->d->region_pool, check_run, check_done);
	}
}

static void on_begun(struct sn_daemon *d, void *ctx)
{
	give(ctx, d->slurm_write, write_run, write_done);
}

static void on_ended(struct sn_daemon *d, void *ctx, enum sn_act_end end, const char *text)
{
	struct region_work *w = ctx;

	(void)d;
	if (end == SN_ACT_ENDS)
		return; /* regions_end() */
	if (w->r && w->create) {
		say_made(w);
		succeed(w);
	} else if (w->r && end == SN_ACT_FAILED) {
		w->rc = sn_err_set(&w->err, -EAGAIN, "%s", text);
		fail(w);
	} else if (w->r) {
		succeed(w);
	}
	finish(w);
}

static int act(struct region_work *w)
{
	const struct sn_act_watch watch = {
		.begun = w->create ? on_begun : NULL, .ended = on_ended, .ctx = w,
	};
	struct sn_act act = { .kind = SN_ACT_REGION_OUT, .incarnation = w->plan.entry.id };
	int rc;

	strcpy(act.region, w->plan.entry.name);
	snprintf(act.why, sizeof(act.why), w->create ? "its making, by %s, has failed or was cut short" :
		 "deleted by %s", w->who);
	rc = act_watch(w->d, &act, &watch, &w->act, &w->err);
	return rc == -EALREADY ?
		sn_err_set(&w->err, rc, "the pool region %s is being taken away already", act.region) : rc;
}

static int plan(struct region_work *w, const struct live *live, const struct pool_names *names)
{
	return (w->create ? poolplan_create : poolplan_drop)(live, names, &w->ask, &w->plan, &w->err);
}

static void plan_run(struct sn_work *work)
{
	struct region_work *w = (struct region_work *)work;
	char buf[4096];
	struct passwd pw, *is = NULL;

	if (!getpwuid_r(w->by, &pw, buf, sizeof(buf), &is) && is)
		snprintf(w->who, sizeof(w->who), "%.60s", is->pw_name);
	else
		snprintf(w->who, sizeof(w->who), "user %u", w->by);
	w->rc = look(w, plan);
}

static void plan_done(struct sn_work *work)
{
	struct region_work *w = (struct region_work *)work;

	w->away = false;
	if (w->d->stopping)
		return;
	/* slurmctld was away for long, and he was told that nobody knows. */
	if (!sn_server_has(w->d->server, w->r->ticket)) {
		finish(w);
		return;
	}
	if (!w->rc && w->plan.exists)
		succeed(w);
	else if (!w->rc)
		w->rc = act(w);
	if (w->rc)
		fail(w);
	if (!w->r)
		finish(w);
}

static void go_on(struct sn_daemon *d)
{
	if (d->regions)
		give(d->regions, d->region_pool, plan_run, plan_done);
}

/* ---- the request ------------------------------------------------------------------ */

static int read_create(const struct sn_request *r, struct region_work *w, struct sn_err *err)
{
	uint64_t job = 0, uid = UINT64_MAX;
	int rc = sn_request_string(r->json, "size", false, w->size, sizeof(w->size), err);

	if (!rc)
		rc = sn_request_string(r->json, "supernode", true, w->supernode, sizeof(w->supernode), err);
	if (!rc)
		rc = sn_request_string(r->json, "nodes", true, w->nodes, sizeof(w->nodes), err);
	if (!rc)
		rc = sn_request_uint(r->json, "job", UINT32_MAX, &job, err);
	if (!rc)
		rc = sn_request_uint(r->json, "uid", UINT32_MAX - 1, &uid, err);
	w->ask.size = w->size;
	w->ask.supernode = *w->supernode ? w->supernode : NULL;
	w->ask.nodes = *w->nodes ? w->nodes : NULL;
	w->ask.job = (uint32_t)job;
	w->ask.has_uid = uid != UINT64_MAX;
	w->ask.uid = (uint32_t)uid;
	return rc;
}

static int read_request(struct sn_daemon *d, const struct sn_request *r, struct region_work *w,
			struct sn_err *err)
{
	int rc = sn_request_string(r->json, "name", false, w->name, sizeof(w->name), err);

	w->create = !strcmp(r->op, "pool.create");
	if (!rc && w->create)
		rc = read_create(r, w, err);
	w->by = r->cred.uid;
	w->config = d->options.config;
	w->ask.name = w->name;
	w->ask.by = r->cred.uid;
	w->ask.slurm_uid = r->who.slurm_uid;
	w->ask.limited = r->cred.uid && r->cred.uid != r->who.slurm_uid;
	w->ask.percent = d->conf.policy.pool_named;
	w->ask.percent_user = d->conf.policy.pool_named_user;
	return rc;
}

/* Each takes a look at all of Slurm's jobs. */
static bool has_one(const struct sn_daemon *d, uint32_t uid)
{
	for (const struct region_work *w = d->regions; w; w = w->next)
		if (w->by == uid && w->ask.limited)
			return true;
	return false;
}

void op_pool(struct sn_daemon *d, struct sn_request *r)
{
	struct region_work *w = calloc(1, sizeof(*w)), **at = &d->regions;
	struct sn_err err = { "no memory" };
	int rc = w ? read_request(d, r, w, &err) : -ENOMEM;

	if (rc) {
		free(w);
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	if (d->options.dry_run) {
		free(w);
		request_fail(d, r, SN_OP_CODE_STANDBY, "this snelasticd runs with --dry-run and writes nothing");
		return;
	}
	/* A daemon that has just taken charge. */
	if (!act_is_ready(d) && !r->polled) {
		free(w);
		follow_hold(d, r);
		return;
	}
	if (has_one(d, r->cred.uid)) {
		free(w);
		request_fail(d, r, SN_OP_CODE_AGAIN,
			     "another request of user %u's for a region is under way; try again", r->cred.uid);
		return;
	}
	w->d = d;
	w->r = r;
	while (*at)
		at = &(*at)->next;
	*at = w;
	if (d->regions == w)
		go_on(d);
}
