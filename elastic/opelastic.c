/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opelastic.c - what snruns say, and what users tell them through the daemon.
 *
 * Whose a job is Slurm knows: only its owner, root and SlurmUser speak for it. What
 * is said counts for that job alone.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "elastic/report.h"

#define NODES_MORE 64 /* that a job may tell of beyond those that it has */
#define HINTS_MAX 128 /* nodes of one hint: each is looked for among all jobs */

static void add_int(struct json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

/* ---- whose job it is ---------------------------------------------------------------------- */

static bool is_privileged(const struct sn_daemon *d, const struct sn_request *r)
{
	return !r->cred.uid || r->cred.uid == d->conf.where.slurm_uid;
}

/* What the op is about: false: the request is answered, or waits. operators: they may
 * as well. */
static bool find_job(struct sn_daemon *d, struct sn_request *r, bool operators,
		     const struct sn_view_job **ret)
{
	const struct sn_view_job *job;
	uint64_t id = 0;
	struct sn_err err;
	int rc = sn_request_uint(r->json, "job", UINT32_MAX, &id, &err);

	if (rc || !id) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", rc ? err.text : "\"job\" is missing");
		return false;
	}
	job = sn_view_job(d->jobs, (uint32_t)id);
	if (!job || !job->running) {
		/* It may be newer than the last look. */
		if (!r->polled && !follow_is_unknown(d, (uint32_t)id)) {
			follow_hold(d, r);
		} else if (d->slurm_down) {
			request_fail(d, r, SN_OP_CODE_AGAIN,
				     "slurmctld does not answer, so whose job %u is cannot be told",
				     (uint32_t)id);
		} else {
			follow_unknown(d, (uint32_t)id);
			request_fail(d, r, SN_OP_CODE_NOT_FOUND, "job %u does not run", (uint32_t)id);
		}
		return false;
	}
	if (job->uid != r->cred.uid && !is_privileged(d, r) && !(operators && r->who.operator)) {
		daemon_refused(d, r->cred.uid, r->from, NULL, job->id,
			       "%s: job %u is user %u's, and user %u at %s asked", r->op, job->id,
			       job->uid, r->cred.uid, r->from);
		request_fail(d, r, SN_OP_CODE_REFUSED, "job %u is another user's", job->id);
		return false;
	}
	if (!operators && !daemon_may_ask(d, job->id)) {
		request_fail(d, r, SN_OP_CODE_AGAIN, "the snrun of job %u says too much; not so often",
			     job->id);
		return false;
	}
	*ret = job;
	return true;
}

/* As many nodes as the job can have, with those that have come or gone since the last
 * look: what is kept of each job, and looked at, is not for its user to say. */
static size_t most_nodes(const struct sn_daemon *d, const struct sn_view_job *job)
{
	size_t n = job->n_nodes;

	for (uint32_t i = 0; i < d->jobs->n; i++) {
		const struct sn_view_job *is = &d->jobs->job[i];

		if (is->uid == job->uid && is->ours && is->ours->member_of == job->id)
			n += is->n_nodes;
	}
	return 2 * n + NODES_MORE;
}

/* The state in the request, and its text, borrowed. */
static bool read_state(struct sn_daemon *d, struct sn_request *r, const struct sn_view_job *job,
		       struct sn_attach_state *ret, const char **ret_text)
{
	struct json_object *o = json_object_object_get(r->json, "state");
	struct sn_err err = { "\"state\" is missing" };

	if (o && !sn_attach_state_parse(o, d->nodes ? d->nodes->n : 0, ret, &err)) {
		size_t len;

		*ret_text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
		len = strlen(*ret_text);
		/* Mostly it is no more than it has itself. */
		if (!sn_attach_state_fits(ret, len, NODES_MORE, &err) ||
		    !sn_attach_state_fits(ret, len, most_nodes(d, job), &err))
			return true;
		sn_attach_state_done(ret);
	}
	request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
	return false;
}

/* ---- elastic.attach, elastic.state ----------------------------------------------------------- */

static void attach_told(void *ctx, uint64_t ticket, bool sent)
{
	if (!sent)
		attach_gone(ctx, ticket);
}

void op_elastic_attach(struct sn_daemon *d, struct sn_request *r)
{
	const struct sn_view_job *job;
	struct sn_attach_state state;
	struct json_object *o;
	const char *text;
	int rc;

	if (!find_job(d, r, false, &job) || !read_state(d, r, job, &state, &text))
		return;
	if (!sn_server_keep(d->server, r->ticket)) {
		sn_attach_state_done(&state);
		request_fail(d, r, SN_OP_CODE_AGAIN, "%u jobs are attached already (ElasticdJobs)",
			     d->conf.policy.elasticd_jobs);
		return;
	}
	rc = attach_take(d, job->id, r->cred.uid, r->ticket, &state, text);
	if (rc) {
		sn_attach_state_done(&state);
		request_fail(d, r, SN_OP_CODE_AGAIN, "no memory");
		return;
	}
	sn_log_debug("the snrun of job %u has attached from %s", job->id, r->from);
	o = request_ok();
	if (o)
		add_int(o, "link", r->ticket);
	if (request_send(d, r->ticket, r->cred.uid, o, true, attach_told, d))
		attach_gone(d, r->ticket);
	json_object_put(o);
	request_free(r);
}

/* "id": an order's, with "ok" and "error". */
static void take_answer(struct sn_daemon *d, uint32_t job, struct json_object *o)
{
	char error[SN_ERR_SIZE] = "";
	uint64_t id = 0;
	bool ok = json_object_get_boolean(json_object_object_get(o, "ok"));

	if (sn_request_uint(o, "id", (uint64_t)1 << 53, &id, NULL) || !id)
		return;
	if (!ok && (sn_request_string(o, "error", true, error, sizeof(error), NULL) || !*error))
		strcpy(error, "its snrun has refused");
	attach_answered(d, job, id, ok ? 0 : -EINVAL, error);
}

void op_elastic_state(struct sn_daemon *d, struct sn_request *r)
{
	const struct sn_view_job *job;
	struct sn_attach_state state;
	uint64_t link = 0;
	const char *text;
	uint32_t id;
	int rc;

	if (!find_job(d, r, false, &job) || !read_state(d, r, job, &state, &text))
		return;
	id = job->id;
	(void)sn_request_uint(r->json, "link", (uint64_t)1 << 53, &link, NULL);
	rc = attach_update(d, id, link, &state, text);
	if (rc) {
		sn_attach_state_done(&state);
		request_fail(d, r, rc == -ENOENT ? SN_OP_CODE_NOT_FOUND : SN_OP_CODE_AGAIN,
			     rc == -ENOENT ? "this snrun of job %u is not attached" :
			     "no memory for job %u", id);
		return;
	}
	take_answer(d, id, r->json);
	request_answer(d, r, request_ok());
}

/* ---- elastic.hint ------------------------------------------------------------------------------ */

/* The job's own, or those of another job of his: a member. */
static bool may_speak_of(const struct sn_daemon *d, const struct sn_view_job *job,
			 const char *node)
{
	const struct sn_view_node *is = sn_view_node(d->nodes, node);
	uint32_t at = is ? (uint32_t)(is - d->nodes->node) : SN_NONE;

	for (uint32_t j = 0; at != SN_NONE && j < d->jobs->n; j++) {
		const struct sn_view_job *other = &d->jobs->job[j];

		for (uint32_t i = 0; other->uid == job->uid && i < other->n_nodes; i++)
			if (other->node[i] == at)
				return true;
	}
	return false;
}

/* Whoever it is, what is to be done Slurm says. */
static void look(struct sn_daemon *d, struct sn_request *r)
{
	const struct sn_view_job *job;

	/* Nodes speak of jobs that have ended, users of their own that run. */
	if (!is_privileged(d, r) && !find_job(d, r, false, &job))
		return;
	sn_log_debug("hint from %s: %.200s", r->from, json_object_to_json_string(r->json));
	follow_hint(d);
	request_answer(d, r, request_ok());
}

void op_elastic_hint(struct sn_daemon *d, struct sn_request *r)
{
	struct json_object *list = json_object_object_get(r->json, "lost"), *v;
	const struct sn_view_job *job;
	size_t n = list && json_object_is_type(list, json_type_array) ?
		json_object_array_length(list) : 0;
	uint32_t id, uid;

	if (!list) {
		look(d, r);
		return;
	}
	if (!find_job(d, r, false, &job))
		return;
	id = job->id;
	uid = job->uid;
	if (!n || n > HINTS_MAX) {
		request_fail(d, r, SN_OP_CODE_INVALID, "\"lost\" is no list of some nodes");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		v = json_object_array_get_idx(list, i);
		if (!json_object_is_type(v, json_type_string) ||
		    !may_speak_of(d, job, json_object_get_string(v))) {
			request_fail(d, r, SN_OP_CODE_INVALID, "\"lost\": entry %zu is no node of user %u's jobs",
				     i + 1, uid);
			return;
		}
	}
	for (size_t i = 0; i < n; i++) {
		const char *node = json_object_get_string(json_object_array_get_idx(list, i));

		if (attach_lost(d, id, node) && daemon_may_tell(d, id))
			daemon_event(d, "job", node, SN_NONE, id, r->cred.uid,
				     "the snrun of job %u has lost node %s", id, node);
	}
	follow_soon(d);
	request_answer(d, r, request_ok());
}

/* ---- elastic.tell ------------------------------------------------------------------------------- */

struct tell {
	struct sn_daemon *d;
	struct sn_request *r;
	struct sn_control order;
	uint32_t job;
	bool own; /* its owner, and nobody else, has said it */
};

static struct json_object *state_answer(const struct sn_attach *a)
{
	struct json_object *o = json_tokener_parse(a->text);

	if (!o)
		return NULL;
	json_object_object_add(o, "ok", json_object_new_boolean(1));
	json_object_object_add(o, "job", json_object_new_int64(a->job));
	json_object_object_add(o, "attached", json_object_new_boolean(a->here));
	json_object_object_add(o, "heard", json_object_new_double(
		(double)(sn_loop_now() - a->heard) / 1000));
	if (a->state.since_safe >= 0)
		json_object_object_add(o, "since_safe", json_object_new_double(attach_since_safe(a)));
	return o;
}

static void told(void *ctx, int rc, const char *error, const struct sn_attach *a)
{
	struct tell *t = ctx;

	if (rc == -ECANCELED) {
		request_free(t->r);
	} else if (rc) {
		request_fail(t->d, t->r, rc == -EINVAL ? SN_OP_CODE_INVALID : SN_OP_CODE_AGAIN,
			     "job %u: %s", t->job, error);
	} else {
		/* What others tell it is told whatever the owner does. */
		if (!t->own || daemon_may_tell(t->d, t->job))
			daemon_event(t->d, "operator", t->order.node, SN_NONE, t->job, t->r->cred.uid,
			     "job %u was told to %s by user %u%s%s", t->job,
			     sn_control_name(t->order.op), t->r->cred.uid,
			     *t->order.why ? ": " : "", t->order.why);
		request_answer(t->d, t->r, a ? state_answer(a) : request_ok());
	}
	free(t);
}

static int start_order(struct sn_daemon *d, struct tell *t, struct sn_err *err)
{
	if (d->options.dry_run)
		return sn_err_set(err, -EAGAIN, "this snelasticd runs with --dry-run and tells nobody anything");
	return attach_tell(d, t->job, &t->order, NULL, told, t, err);
}

void op_elastic_tell(struct sn_daemon *d, struct sn_request *r)
{
	struct json_object *o = json_object_object_get(r->json, "do");
	const struct sn_view_job *job;
	const struct sn_attach *a;
	struct tell *t;
	struct sn_err err = { "\"do\" is missing" };
	int rc;

	if (!find_job(d, r, true, &job))
		return;
	t = calloc(1, sizeof(*t));
	if (!t || !o || sn_control_read(o, &t->order, &err)) {
		free(t);
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", t ? err.text : "no memory");
		return;
	}
	t->d = d;
	t->r = r;
	t->job = job->id;
	t->own = job->uid == r->cred.uid && !is_privileged(d, r);
	a = attach_state(d, job->id);
	if (t->order.op == SN_CONTROL_STATUS && a) {
		free(t);
		request_answer(d, r, state_answer(a));
		return;
	}
	rc = a && a->here ? start_order(d, t, &err) :
		sn_err_set(&err, -ENOTCONN, "the snrun of job %u is not attached to snelasticd: it has none, or that does not reach the daemon", job->id);
	if (!rc)
		return;
	free(t);
	request_fail(d, r, rc == -ENOTCONN ? SN_OP_CODE_NOT_FOUND : SN_OP_CODE_AGAIN, "%s", err.text);
}
