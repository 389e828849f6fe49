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
#include "snctl/gresidx.h"

static int slurm_error(const char *what, struct sn_err *err)
{
	return sn_err_set(err, -EIO, "slurmctld does not tell of its %s: %s", what,
			  slurm_strerror(errno));
}

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

int sn_view_load_nodes(struct sn_view_since *since, const char *card_gres,
		       struct sn_view_nodes **ret, struct sn_err *err)
{
	node_info_msg_t *msg = NULL;
	struct sn_view_nodes *v;
	int rc;

	*ret = NULL;
	if (slurm_load_node(since->nodes, &msg, SHOW_ALL))
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_error("nodes", err);
	v = sn_view_nodes_new(msg->record_count);
	/* Nodes without a name are gaps in slurmctld's table: kept, for jobs name
	 * nodes by their place in it. */
	for (uint32_t i = 0; v && i < msg->record_count; i++) {
		const node_info_t *info = &msg->node_array[i];
		uint64_t cards = gres_count(info->gres, card_gres);

		v->node[i].name = copy(info->name);
		v->node[i].address = copy(info->node_addr);
		v->node[i].host = copy(info->node_hostname);
		v->node[i].extra = copy(info->extra);
		v->node[i].state = info->node_state;
		v->node[i].cards = cards >= 64 ? UINT64_MAX : (UINT64_C(1) << cards) - 1;
	}
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

static int take_nodes(const slurm_job_info_t *info, const char *card_gres,
		      struct sn_view_job *job)
{
	const int32_t *range;
	uint32_t n = 0, k = 0;

	for (range = info->node_inx; range && range[0] >= 0 && range[1] >= range[0]; range += 2)
		n += (uint32_t)(range[1] - range[0]) + 1;
	job->node = calloc((size_t)n + 1, sizeof(*job->node));
	job->cards = calloc((size_t)n + 1, sizeof(*job->cards));
	if (!job->node || !job->cards)
		return -ENOMEM;
	for (range = info->node_inx; range && range[0] >= 0 && range[1] >= range[0]; range += 2)
		for (int32_t i = range[0]; i <= range[1]; i++, k++) {
			job->node[k] = (uint32_t)i;
			if (k < info->gres_detail_cnt)
				job->cards[k] = gres_indices(info->gres_detail_str[k], card_gres, NULL);
		}
	job->n_nodes = k;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct sn_view_job *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int sn_view_load_jobs(struct sn_view_since *since, const char *card_gres,
		      struct sn_view_jobs **ret, struct sn_err *err)
{
	job_info_msg_t *msg = NULL;
	struct sn_view_jobs *v;
	uint32_t n = 0;
	int rc = 0;

	*ret = NULL;
	if (slurm_load_jobs(since->jobs, &msg, SHOW_ALL | SHOW_DETAIL))
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_error("jobs", err);
	v = sn_view_jobs_new(msg->record_count);
	for (uint32_t i = 0; v && !rc && i < msg->record_count; i++) {
		const slurm_job_info_t *info = &msg->job_array[i];
		uint32_t base = info->job_state & JOB_STATE_BASE;
		struct sn_view_job *job = &v->job[n];

		/* One that has ended is only remembered by slurmctld for a while. */
		if (base != JOB_PENDING && base != JOB_RUNNING && base != JOB_SUSPENDED &&
		    !(info->job_state & JOB_COMPLETING))
			continue;
		job->id = info->job_id;
		job->uid = info->user_id;
		job->state = info->job_state;
		job->running = base == JOB_RUNNING || base == JOB_SUSPENDED;
		if (job->running)
			rc = take_nodes(info, card_gres, job);
		n++;
	}
	if (!v || rc) {
		/* v->n is all of them, and those not filled in are empty. */
		sn_view_jobs_free(v);
		rc = sn_err_set(err, -ENOMEM, "no memory");
	} else {
		v->n = n;
		qsort(v->job, n, sizeof(*v->job), by_id);
		*ret = v;
		since->jobs = msg->last_update;
	}
	slurm_free_job_info_msg(msg);
	return rc;
}
