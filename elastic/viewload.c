/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * viewload.c - tables of nodes and jobs from slurmctld.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "elastic/view.h"
#include "launcher/slurmapi.h"
#include "snctl/gresidx.h"
#include "topology/jobcomment.h"

static int slurm_error(const char *what, struct sn_err *err)
{
	return sn_err_set(err, -EIO, "slurmctld does not tell of its %s: %s", what,
			  slurm_strerror(errno));
}

static const char *text(const char *is)
{
	return is ? is : "";
}

static char *copy(const char *is)
{
	return strdup(text(is));
}

/* Later versions say in the reason's second half which step it was. */
static bool is_unkilled(const node_info_t *info)
{
	const char *why = slurm_strerror(ESLURMD_KILL_TASK_FAILED);

	return info->node_state & NODE_STATE_DRAIN && !strncmp(text(info->reason), why, strlen(why));
}

static void take_state(const node_info_t *info, struct sn_view_node *node)
{
	const uint32_t base = info->node_state & NODE_STATE_BASE;

	node->state = info->node_state;
	node->down = base == NODE_STATE_DOWN;
	node->silent = info->node_state & NODE_STATE_NO_RESPOND;
	node->drained = info->node_state & NODE_STATE_DRAIN;
	node->unkilled = is_unkilled(info);
	node->failing = info->node_state & NODE_STATE_FAIL;
	node->closed = node->silent || info->node_state &
		(NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_RES | NODE_STATE_MAINT |
		 NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN | NODE_STATE_POWERING_UP |
		 NODE_STATE_REBOOT_REQUESTED | NODE_STATE_REBOOT_ISSUED);
	node->closed |= base != NODE_STATE_IDLE && base != NODE_STATE_ALLOCATED &&
		base != NODE_STATE_MIXED;
	node->port = info->port;
}

int sn_view_load_nodes(struct sn_view_since *since, const char *card_gres,
		       const struct sn_view_nodes *old, struct sn_view_nodes **ret,
		       struct sn_err *err)
{
	node_info_msg_t *msg = NULL;
	struct sn_view_nodes *v;
	int rc = 0;

	*ret = NULL;
	if (slurm_load_node(since->nodes, &msg, SHOW_ALL))
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_error("nodes", err);
	v = sn_view_nodes_new(msg->record_count);
	/* Nodes without a name are gaps in slurmctld's table: kept, for jobs name
	 * nodes by their place in it. */
	for (uint32_t i = 0; v && !rc && i < msg->record_count; i++) {
		const node_info_t *info = &msg->node_array[i];
		uint64_t cards = gres_count(info->gres, card_gres);

		rc = sn_view_node_set(&v->node[i], text(info->name), text(info->node_addr),
				      text(info->node_hostname), text(info->extra),
				      old && i < old->n ? &old->node[i] : NULL);
		take_state(info, &v->node[i]);
		v->node[i].cards = cards >= 64 ? UINT64_MAX : (UINT64_C(1) << cards) - 1;
		if (cards > v->most_cards) {
			v->most_cards = cards;
			v->most_at = i;
		}
	}
	if (!rc)
		rc = v ? sn_view_nodes_seal(v) : -ENOMEM;
	if (rc) {
		sn_view_nodes_free(v);
		sn_err_set(err, rc, "no memory");
	} else {
		*ret = v;
		since->nodes = msg->last_update;
		/* Jobs name nodes by number: another table, other numbers. */
		if (since->n_nodes != v->n)
			since->jobs = 0;
		since->n_nodes = v->n;
	}
	slurm_free_node_info_msg(msg);
	return rc;
}

static uint64_t mix(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(1099511628211); /* FNV-1a */
	return h;
}

/* What the job holds, as slurmctld tells it. */
static uint64_t mark_of(const slurm_job_info_t *info, const char *card_gres, uint32_t *ret_n)
{
	uint64_t h = mix(UINT64_C(14695981039346656037), card_gres, strlen(card_gres));
	const int32_t *range;
	uint32_t n = 0;

	for (range = info->node_inx; range && range[0] >= 0 && range[1] >= range[0]; range += 2) {
		n += (uint32_t)(range[1] - range[0]) + 1;
		h = mix(h, range, 2 * sizeof(*range));
	}
	for (uint32_t i = 0; i < info->gres_detail_cnt; i++)
		h = mix(h, text(info->gres_detail_str[i]), strlen(text(info->gres_detail_str[i])) + 1);
	*ret_n = n;
	return h;
}

static int take_nodes(const slurm_job_info_t *info, const char *card_gres,
		      const struct sn_view_job *old, struct sn_view_job *job)
{
	const int32_t *range;
	uint32_t n, k = 0;
	uint64_t mark = mark_of(info, card_gres, &n);

	if (sn_view_job_same(job, old, mark))
		return 0;
	if (sn_view_job_hold(job, n, mark))
		return -ENOMEM;
	for (range = info->node_inx; range && range[0] >= 0 && range[1] >= range[0]; range += 2)
		for (int32_t i = range[0]; i <= range[1]; i++, k++) {
			job->node[k] = (uint32_t)i;
			if (k < info->gres_detail_cnt)
				job->cards[k] = gres_indices(info->gres_detail_str[k], card_gres, NULL);
		}
	return 0;
}

/* ---- jobs of ours ---------------------------------------------------------------------- */

static bool is_ours(const slurm_job_info_t *info)
{
	return (info->admin_comment && strstr(info->admin_comment, SN_JOBCOMMENT_MARK)) ||
		(info->comment && !strncmp(info->comment, SN_VIEW_MEMBER, strlen(SN_VIEW_MEMBER)));
}

static bool is_whole(const char *whole, const char *partition)
{
	size_t n = strlen(partition);

	for (const char *at = whole; n && (at = strstr(at, partition)); at++)
		if (at > whole && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

static bool is_bound(const slurm_job_info_t *info, const char *whole)
{
	return *text(info->req_nodes) || *text(info->exc_nodes) || *text(info->features) ||
		*text(info->resv_name) || !is_whole(whole, text(info->partition));
}

static uint32_t launch_failures(const slurm_job_info_t *info)
{
	if ((info->job_state & JOB_STATE_BASE) != JOB_PENDING)
		return 0;
	return sn_view_launch_failures(info->priority, info->state_reason == WAIT_HELD_USER,
				       info->state_desc, info->batch_flag);
}

static bool is_same(const struct sn_view_ours *o, const slurm_job_info_t *info, const char *whole)
{
	return !strcmp(o->options, text(info->admin_comment)) &&
		!strcmp(o->comment, text(info->comment)) &&
		!strcmp(o->batch_host, text(info->batch_host)) &&
		!strcmp(o->required, text(info->req_nodes)) &&
		!strcmp(o->account, text(info->account)) &&
		!strcmp(o->partition, text(info->partition)) &&
		o->restarts == info->restart_cnt && o->priority == info->priority &&
		o->reason == info->state_reason && o->time_limit == info->time_limit &&
		o->begin == info->eligible_time && o->start == info->start_time &&
		o->end == info->end_time && o->submit == info->submit_time &&
		o->launch_failures == launch_failures(info) &&
		o->requeue == !!info->requeue && o->bound == is_bound(info, whole);
}

static struct sn_view_ours *make_ours(const slurm_job_info_t *info, const char *whole)
{
	struct sn_view_ours *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->users = 1;
	o->account = copy(info->account);
	o->user = copy(info->user_name);
	o->partition = copy(info->partition);
	o->comment = copy(info->comment);
	o->options = copy(info->admin_comment);
	o->batch_host = copy(info->batch_host);
	o->required = copy(info->req_nodes);
	o->batch = info->batch_flag;
	o->requeue = info->requeue;
	o->bound = is_bound(info, whole);
	o->member_of = sn_view_member_of(info->comment, &o->member_restarts);
	o->restarts = info->restart_cnt;
	o->priority = info->priority;
	o->reason = info->state_reason;
	o->launch_failures = launch_failures(info);
	o->time_limit = info->time_limit;
	o->submit = info->submit_time;
	o->begin = info->eligible_time;
	o->start = info->start_time;
	o->end = info->end_time;
	if (o->account && o->user && o->partition && o->comment && o->options && o->batch_host &&
	    o->required)
		return o;
	sn_view_ours_free(o);
	return NULL;
}

static int take_ours(const slurm_job_info_t *info, const char *whole,
		     const struct sn_view_job *old, struct sn_view_job *job)
{
	if (!is_ours(info))
		return 0;
	job->ours = old && old->ours && is_same(old->ours, info, whole) ?
		sn_view_ours_use(old->ours) : make_ours(info, whole);
	return job->ours ? 0 : -ENOMEM;
}

/* What is not known is not whole. */
static void load_partitions(struct sn_view_since *since)
{
	partition_info_msg_t *msg = NULL;
	size_t n = 1;

	if (slurm_load_partitions(since->partitions, &msg, SHOW_ALL))
		return;
	strcpy(since->whole, " ");
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const partition_info_t *part = &msg->partition_array[i];
		size_t len = strlen(text(part->name));

		if (part->total_nodes < since->n_nodes || n + len + 2 > sizeof(since->whole))
			continue;
		memcpy(since->whole + n, part->name, len);
		strcpy(since->whole + n + len, " ");
		n += len + 1;
	}
	since->partitions = msg->last_update;
	slurm_free_partition_info_msg(msg);
}

int sn_view_load_jobs(struct sn_view_since *since, const char *card_gres,
		      const struct sn_view_jobs *old, struct sn_view_jobs **ret,
		      struct sn_err *err)
{
	job_info_msg_t *msg = NULL;
	struct sn_view_jobs *v;
	uint32_t n = 0;
	int rc = 0;

	*ret = NULL;
	load_partitions(since);
	if (slurm_load_jobs(since->jobs, &msg, SHOW_ALL | SHOW_DETAIL))
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_error("jobs", err);
	v = sn_view_jobs_new(msg->record_count);
	for (uint32_t i = 0; v && !rc && i < msg->record_count; i++) {
		const slurm_job_info_t *info = &msg->job_array[i];
		uint32_t base = info->job_state & JOB_STATE_BASE;
		const struct sn_view_job *was = sn_view_job(old, info->job_id);
		struct sn_view_job *job = &v->job[n];

		/* One that has ended is only remembered by slurmctld for a while. */
		if (base != JOB_PENDING && base != JOB_RUNNING && base != JOB_SUSPENDED &&
		    !(info->job_state & JOB_COMPLETING))
			continue;
		n++;
		job->id = info->job_id;
		job->uid = info->user_id;
		job->state = info->job_state;
		job->priority = base == JOB_PENDING ? info->priority : 0;
		job->running = base == JOB_RUNNING || base == JOB_SUSPENDED;
		job->pending = base == JOB_PENDING;
		job->completing = info->job_state & JOB_COMPLETING;
		if (job->running)
			rc = take_nodes(info, card_gres, was, job);
		if (!rc)
			rc = take_ours(info, since->whole, was, job);
		/* slurmctld may have been started anew since. */
		if (job->ours && job->ours->launch_failures &&
		    !(was && was->ours && was->ours->launch_failures))
			since->requeue_wait_at = 0;
	}
	if (!v || rc) {
		/* v->n is all of them, and those not filled in are empty. */
		sn_view_jobs_free(v);
		rc = sn_err_set(err, -ENOMEM, "no memory");
	} else {
		v->n = n;
		sn_view_jobs_seal(v);
		*ret = v;
		since->jobs = msg->last_update;
	}
	slurm_free_job_info_msg(msg);
	return rc;
}

/* ---- how long a requeued job waits ---------------------------------------------------------- */

#define CRED_EXPIRE 120 /* s, Slurm's default */
#define ASK_AGAIN_MS (300 * 1000)

/*
 * Slurm has a requeued job wait until its old credentials have expired, and a second.
 * Since 25.11 a site may say for how long instead; then it means it.
 */
void sn_view_load_requeue_wait(struct sn_view_since *since, int64_t now_ms)
{
	static const char key[] = "cred_expire=";
	slurm_conf_t *conf = NULL;
	const char *at;
	long expire = 0;

	if (since->requeue_wait_at && now_ms - since->requeue_wait_at < ASK_AGAIN_MS)
		return;
	if (slurm_load_ctl_conf(0, &conf))
		return; /* at the next poll */
	at = conf->authinfo ? strstr(conf->authinfo, key) : NULL;
	if (at)
		expire = strtol(at + strlen(key), NULL, 10);
	since->requeue_wait = (expire >= 5 && expire < 86400 ? (uint32_t)expire : CRED_EXPIRE) + 1;
	if (conf->sched_params && strstr(conf->sched_params, "requeue_delay="))
		since->requeue_wait = 0;
	since->booted = conf->boot_time;
	since->requeue_wait_at = now_ms;
	sn_api_free_conf(conf);
}
