/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opact.c - actions by hand, for operators: what the daemon does by itself, done at
 * once, with the same journal and the same care.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elastic/act.h"
#include "elastic/daemon.h"
#include "elastic/holes.h"
#include "elastic/ops.h"
#include "elastic/report.h"

static int read_act(struct sn_request *r, struct sn_act *act, struct sn_err *err)
{
	char kind[32], why[SN_ACT_WHY - 32];
	uint64_t job = 0;
	int rc = sn_request_string(r->json, "do", false, kind, sizeof(kind), err);

	if (!rc)
		rc = sn_request_string(r->json, "why", true, why, sizeof(why), err);
	if (!rc)
		rc = sn_request_string(r->json, "node", true, act->node, sizeof(act->node), err);
	if (!rc)
		rc = sn_request_uint(r->json, "job", UINT32_MAX, &job, err);
	if (rc)
		return rc;
	if (sn_act_kind_find(kind, &act->kind) || act->kind == SN_ACT_TELL)
		return sn_err_set(err, -EINVAL,
				  "\"do\": \"%s\" is none of node-out, requeue, start, cancel, release", kind);
	if (act->kind == SN_ACT_NODE_OUT ? !*act->node : !job)
		return sn_err_set(err, -EINVAL, "\"%s\" is missing",
				  act->kind == SN_ACT_NODE_OUT ? "node" : "job");
	if (act->kind != SN_ACT_NODE_OUT && *act->node)
		return sn_err_set(err, -EINVAL, "\"node\" is for node-out alone");
	act->job = act->kind == SN_ACT_NODE_OUT ? 0 : (uint32_t)job;
	snprintf(act->why, sizeof(act->why), "by user %u%s%s", r->cred.uid, *why ? ": " : "", why);
	return 0;
}

/* Jobs without --parallel are none of ours. */
static int find_target(struct sn_daemon *d, struct sn_act *act, struct sn_err *err)
{
	const struct sn_view_job *job;

	if (act->kind == SN_ACT_NODE_OUT)
		return sn_view_node(d->nodes, act->node) ? 0 :
			sn_err_set(err, -ENOENT, "there is no node %.64s", act->node);
	job = sn_view_job(d->jobs, act->job);
	if (!job)
		return sn_err_set(err, -ENOENT, "there is no job %u that runs or waits", act->job);
	if (!job->ours || !sn_holes_is_parallel(job->ours->options))
		return sn_err_set(err, -EINVAL, "job %u has no --parallel", act->job);
	act->restarts = job->ours->restarts;
	return 0;
}

void op_elastic_act(struct sn_daemon *d, struct sn_request *r)
{
	struct sn_act act = { 0 };
	struct sn_err err;
	uint64_t id = 0;
	int rc;

	if (!sn_auth_may_operate(&r->who, &err)) {
		daemon_refused(d, r->cred.uid, r->from, NULL, 0, "%s: %s", r->op, err.text);
		request_fail(d, r, SN_OP_CODE_REFUSED, "%s", err.text);
		return;
	}
	rc = read_act(r, &act, &err);
	if (!rc) {
		rc = find_target(d, &act, &err);
		/* It may be newer than the last look. */
		if (rc && !r->polled) {
			follow_hold(d, r);
			return;
		}
	}
	if (!rc)
		rc = act_do(d, &act, &id, &err);
	if (rc) {
		request_fail(d, r, rc == -ENOENT ? SN_OP_CODE_NOT_FOUND : rc == -EINVAL ?
			     SN_OP_CODE_INVALID : SN_OP_CODE_AGAIN, "%s", err.text);
		return;
	}
	act_answer(d, r, id);
}
