/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actslurm.c - an action, asked of Slurm and done.
 *
 * Between the question and the deed others may act. Where Slurm has a condition of
 * its own for a call (a requeue only of a running job), it is used; else the deed is
 * one that does no harm twice.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "elastic/actslurm.h"
#include "elastic/holes.h"
#include "elastic/view.h"
#include "launcher/slurmapi.h"
#include "topology/hostlist.h"

#define REASON "snelasticd: "

/* What slurmctld itself has refused, and would again. */
static bool is_refusal(int code)
{
	return code >= ESLURM_INVALID_PARTITION_NAME && code < 5000 &&
		code != ESLURM_TRANSITION_STATE_NO_UPDATE && code != ESLURM_IN_STANDBY_MODE &&
		code != ESLURM_IN_STANDBY_USE_BACKUP;
}

static int ended(enum sn_act_end end, enum sn_act_end *ret)
{
	*ret = end;
	return 0;
}

#define END(end, ...) (sn_err_set(text, 0, __VA_ARGS__), ended(end, ret))

/* A call has failed with that code. */
static int failed(int code, enum sn_act_end *ret, struct sn_err *text)
{
	if (is_refusal(code))
		return END(SN_ACT_FAILED, "Slurm refuses: %s", slurm_strerror(code));
	return sn_err_set(text, -EIO, "slurmctld does not answer: %s", slurm_strerror(code));
}

/* ---- jobs ---------------------------------------------------------------------------------- */

/* *ret_info NULL: there is no such job. */
static int load(uint32_t id, job_info_msg_t **ret, const slurm_job_info_t **ret_info,
		struct sn_err *text)
{
	*ret = NULL;
	*ret_info = NULL;
	if (sn_api_load_job(id, ret)) {
		*ret = NULL;
		if (errno == ESLURM_INVALID_JOB_ID)
			return 0;
		return sn_err_set(text, -EIO, "slurmctld does not tell of job %u: %s", id,
				  slurm_strerror(errno));
	}
	for (uint32_t i = 0; i < (*ret)->record_count; i++)
		if ((*ret)->job_array[i].job_id == id)
			*ret_info = &(*ret)->job_array[i];
	return 0;
}

static uint32_t base_state(const slurm_job_info_t *info)
{
	return info->job_state & JOB_STATE_BASE;
}

static bool is_running(const slurm_job_info_t *info)
{
	return base_state(info) == JOB_RUNNING || base_state(info) == JOB_SUSPENDED;
}

/* An array's tasks share a number with the whole. */
static const char *name_of(const slurm_job_info_t *info, char *buf, size_t size)
{
	if (info->array_job_id && info->array_task_id != NO_VAL)
		snprintf(buf, size, "%u_%u", info->array_job_id, info->array_task_id);
	else
		snprintf(buf, size, "%u", info->job_id);
	return buf;
}

static int cancel(const slurm_job_info_t *info, const char *why, enum sn_act_end *ret,
		  struct sn_err *text)
{
	char name[40];

	if (slurm_kill_job2(name_of(info, name, sizeof(name)), SIGKILL, 0, NULL) &&
	    errno != ESLURM_ALREADY_DONE && errno != ESLURM_INVALID_JOB_ID)
		return failed(errno, ret, text);
	return END(SN_ACT_DONE, "%s", why);
}

static int requeue(const slurm_job_info_t *info, enum sn_act_end *ret, struct sn_err *text)
{
	static const char no_requeue[] = "cancelled, as it is not to be requeued (Requeue=0)";
	job_array_resp_msg_t *resp = NULL;
	char name[40];
	int code;

	if (!info->batch_flag)
		return cancel(info, "cancelled, as it has no script of its own to be requeued", ret, text);
	if (!info->requeue)
		return cancel(info, no_requeue, ret, text);
	/* JOB_RUNNING: only if it still runs. */
	name_of(info, name, sizeof(name));
	code = slurm_requeue2(name, JOB_RUNNING, &resp) ? errno : 0;
	if (resp) {
		if (!code && resp->job_array_count)
			code = (int)resp->error_code[0];
		slurm_free_job_array_resp(resp);
	}
	if (!code)
		return END(SN_ACT_DONE, "%s", "");
	if (code == ESLURM_DISABLED)
		return cancel(info, no_requeue, ret, text);
	/* It has changed since it was looked at. */
	if (code == ESLURM_JOB_PENDING || code == ESLURM_ALREADY_DONE || code == ESLURM_INVALID_JOB_ID)
		return sn_err_set(text, -EBUSY, "job %u has changed: %s", info->job_id, slurm_strerror(code));
	return failed(code, ret, text);
}

/* Is its batch host indeed that one, and lost? */
static bool has_lost(const slurm_job_info_t *info, const char *node)
{
	struct sn_names names = { 0 };
	bool lost = info->batch_host && !strcmp(info->batch_host, node);

	if (lost && (!info->nodes || sn_hostlist_expand(info->nodes, &names, NULL)))
		return false;
	for (size_t i = 0; i < names.n && lost; i++)
		lost = strcmp(names.name[i], node) != 0;
	sn_names_done(&names);
	return lost;
}

static int requeue_job(const struct sn_act *act, const slurm_job_info_t *info,
		       enum sn_act_end *ret, struct sn_err *text)
{
	if (!info)
		return END(SN_ACT_VOID, "there is no such job any more");
	if (info->restart_cnt > act->restarts)
		return END(SN_ACT_ALREADY, "it has been requeued");
	/* slurmctld was killed before it had saved that. */
	if (info->restart_cnt < act->restarts)
		return END(SN_ACT_VOID, "slurmctld knows no such run of it");
	if (!is_running(info))
		return END(base_state(info) == JOB_CANCELLED ? SN_ACT_ALREADY : SN_ACT_VOID, "it does not run");
	if (*act->node && !has_lost(info, act->node))
		return END(SN_ACT_VOID, "its batch host is there");
	return requeue(info, ret, text);
}

static int cancel_job(const slurm_job_info_t *info, enum sn_act_end *ret,
		      struct sn_err *text)
{
	const slurm_job_info_t *base;
	job_info_msg_t *jobs;
	uint32_t of, restarts;
	bool wanted;
	int rc;

	of = sn_view_member_of(info->comment, &restarts);
	if (of) {
		rc = load(of, &jobs, &base, text);
		if (rc)
			return rc;
		wanted = !base || base->user_id != info->user_id || !is_running(base) ||
			base->restart_cnt != restarts;
		if (jobs)
			slurm_free_job_info_msg(jobs);
		if (!wanted)
			return END(SN_ACT_VOID, "job %u, whose member it is, runs", of);
	}
	return cancel(info, "", ret, text);
}

/* 1: it is; -EIO. A node that Slurm does not know is. */
static int is_out(const char *name, struct sn_err *text)
{
	node_info_msg_t *msg = NULL;
	int out = 1;

	if (slurm_load_node_single(&msg, (char *)name, SHOW_ALL)) {
		if (errno == ESLURM_INVALID_NODE_NAME)
			return 1;
		return sn_err_set(text, -EIO, "slurmctld does not tell of node %.64s: %s", name,
				  slurm_strerror(errno));
	}
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (msg->node_array[i].name && !strcmp(msg->node_array[i].name, name))
			out = (msg->node_array[i].node_state & NODE_STATE_BASE) == NODE_STATE_DOWN ||
				(msg->node_array[i].node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL));
	slurm_free_node_info_msg(msg);
	return out;
}

/* Does the hostlist name it? */
static bool names(const char *list, const char *node)
{
	struct sn_names all = { 0 };
	bool is = false;

	if (!list || !*list || sn_hostlist_expand(list, &all, NULL))
		return false;
	for (size_t i = 0; i < all.n && !is; i++)
		is = !strcmp(all.name[i], node);
	sn_names_done(&all);
	return is;
}

static int update(job_desc_msg_t *desc, uint32_t job, const char *what,
		  enum sn_act_end *ret, struct sn_err *text)
{
	if (!slurm_update_job(desc))
		return END(SN_ACT_DONE, "%s", what);
	/* It has started, or ended, since it was looked at. */
	if (errno == ESLURM_JOB_NOT_PENDING || errno == ESLURM_JOB_FINISHED ||
	    errno == ESLURM_INVALID_JOB_ID)
		return sn_err_set(text, -EBUSY, "job %u has changed: %s", job,
				  slurm_strerror(errno));
	return failed(errno, ret, text);
}

static int start(const struct sn_act *act, const slurm_job_info_t *info, time_t now,
		     enum sn_act_end *ret, struct sn_err *text)
{
	job_desc_msg_t desc;
	bool waits;
	int stale = 0;

	if (is_running(info))
		return END(SN_ACT_ALREADY, "it runs");
	if (!info->priority)
		return END(SN_ACT_VOID, "it is held");
	/* Only then does slurmctld have it wait. */
	if (info->job_state & JOB_COMPLETING)
		return sn_err_set(text, -EBUSY, "job %u is still completing", info->job_id);
	waits = info->eligible_time > now;
	if (*act->node && names(info->req_nodes, act->node))
		stale = is_out(act->node, text);
	if (stale < 0)
		return stale;
	if (!waits && !stale)
		return END(SN_ACT_ALREADY, "it waits for nothing but nodes");
	/* Nodes would refuse a new run whose credential is not younger than the order
	 * to end the old one, to the second. */
	if (now <= info->submit_time)
		return sn_err_set(text, -EBUSY, "job %u was completing a moment ago", info->job_id);
	sn_api_init_update(&desc, info->job_id);
	if (waits)
		desc.begin_time = now;
	if (stale)
		desc.req_nodes = (char *)"";
	return update(&desc, info->job_id, stale ? "its list of nodes is cleared" : "", ret, text);
}

static int release(const slurm_job_info_t *info, time_t now, enum sn_act_end *ret,
		   struct sn_err *text)
{
	job_desc_msg_t desc;
	uint32_t failures;
	time_t at;

	if (is_running(info) || info->priority)
		return END(SN_ACT_ALREADY, "it is not held");
	failures = sn_view_launch_failures(info->priority, info->state_reason == WAIT_HELD_USER,
					   info->state_desc, info->batch_flag);
	if (!failures)
		return END(SN_ACT_VOID, "somebody holds it");
	if (failures > SN_HOLES_RELEASES)
		return END(SN_ACT_VOID, "%u launches of it have failed", failures);
	if (info->job_state & JOB_COMPLETING)
		return sn_err_set(text, -EBUSY, "job %u is still completing", info->job_id);
	at = info->submit_time + (time_t)sn_holes_release_wait(failures);
	if (now <= at)
		return sn_err_set(text, -EBUSY, "launches of job %u have failed %u times; another follows in %lld s",
				  info->job_id, failures, (long long)(at - now) + 1);
	sn_api_init_update(&desc, info->job_id);
	desc.priority = INFINITE; /* as scontrol release */
	return update(&desc, info->job_id, "", ret, text);
}

/* Has the job ended, or is it in another run by now? *ret is what that makes of the act. */
static bool is_over(const struct sn_act *act, const slurm_job_info_t *info,
		    enum sn_act_end *ret, struct sn_err *text)
{
	if (!info || base_state(info) > JOB_SUSPENDED)
		(void)END(act->kind == SN_ACT_CANCEL ? SN_ACT_ALREADY : SN_ACT_VOID, "it has ended");
	else if (info->restart_cnt != act->restarts)
		(void)END(SN_ACT_VOID, "that run of it is over");
	else
		return false;
	return true;
}

static int on_job(const struct sn_act *act, enum sn_act_end *ret, struct sn_err *text)
{
	const slurm_job_info_t *info;
	job_info_msg_t *jobs;
	int rc = load(act->job, &jobs, &info, text);

	if (rc)
		return rc;
	if (act->kind == SN_ACT_REQUEUE)
		rc = requeue_job(act, info, ret, text);
	else if (is_over(act, info, ret, text))
		rc = 0;
	else if (act->kind == SN_ACT_START)
		rc = start(act, info, jobs->last_update, ret, text);
	else if (act->kind == SN_ACT_RELEASE)
		rc = release(info, jobs->last_update, ret, text);
	else
		rc = cancel_job(info, ret, text);
	if (jobs)
		slurm_free_job_info_msg(jobs);
	return rc;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static int set_node(const char *name, uint32_t state, const char *reason, enum sn_act_end *ret,
		    struct sn_err *text)
{
	update_node_msg_t msg;

	slurm_init_update_node_msg(&msg);
	msg.node_names = (char *)name;
	msg.node_state = state;
	if (reason) {
		msg.reason = (char *)reason;
		sn_api_reason_by(&msg, geteuid());
	}
	return slurm_update_node(&msg) ? failed(errno, ret, text) : END(SN_ACT_DONE, "%s", "");
}

static int take_out(const struct sn_act *act, const node_info_t *info, bool late,
		    enum sn_act_end *ret, struct sn_err *text)
{
	char reason[SN_ACT_WHY + sizeof(REASON)];
	bool down = (info->node_state & NODE_STATE_BASE) == NODE_STATE_DOWN;
	bool drained = info->node_state & NODE_STATE_DRAIN;
	int rc = 0;

	/* Drained and idle is also what becomes of one that is down, drained, and alive. */
	if (drained && (down || (info->node_state & NODE_STATE_BASE) == NODE_STATE_IDLE))
		return END(SN_ACT_ALREADY, "it is out");
	if (!down && !drained && (late || (double)info->slurmd_start_time > act->at + 1))
		return END(SN_ACT_VOID, "%s", late ? "it is in service, and the order is old" :
			   "its slurmd has been started since");
	snprintf(reason, sizeof(reason), REASON "%s", act->why);
	/* Who has drained it keeps his reason. */
	if (!down)
		rc = set_node(act->node, NODE_STATE_DOWN, drained ? NULL : reason, ret, text);
	if (!rc && *ret == SN_ACT_DONE && !drained)
		rc = set_node(act->node, NODE_STATE_DRAIN, reason, ret, text);
	return rc;
}

static int node_out(const struct sn_act *act, bool late, enum sn_act_end *ret,
			struct sn_err *text)
{
	node_info_msg_t *msg = NULL;
	int rc = 1;

	if (slurm_load_node_single(&msg, (char *)act->node, SHOW_ALL))
		return failed(errno, ret, text);
	for (uint32_t i = 0; i < msg->record_count && rc == 1; i++)
		if (msg->node_array[i].name && !strcmp(msg->node_array[i].name, act->node))
			rc = take_out(act, &msg->node_array[i], late, ret, text);
	slurm_free_node_info_msg(msg);
	return rc == 1 ? END(SN_ACT_VOID, "there is no such node") : rc;
}

int sn_act_in_slurm(const struct sn_act *act, bool late, enum sn_act_end *ret,
		    struct sn_err *text)
{
	*ret = SN_ACT_DONE;
	text->text[0] = '\0';
	if (act->kind == SN_ACT_REGION_OUT)
		return sn_act_region_out(act, ret, text);
	return act->kind == SN_ACT_NODE_OUT ? node_out(act, late, ret, text) :
		on_job(act, ret, text);
}
