/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.c - what Slurm says of the job that snrun runs in, and the site's files.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/job.h"
#include "launcher/slurmapi.h"
#include "snctl/confpath.h"
#include "snctl/gresidx.h"
#include "snctl/readfile.h"
#include "snctl/slurmconnect.h"
#include "topology/jobcomment.h"

/* Where topology.conf is; NULL: no memory. */
static char *topology_path(void)
{
	slurm_conf_t *conf = NULL;
	char *path;

	if (!getenv("SLURM_CONF") && slurm_load_ctl_conf(0, &conf))
		conf = NULL;
	path = snctl_topology_path(NULL, conf ? conf->slurm_conf : NULL);
	if (conf)
		sn_api_free_conf(conf);
	return path;
}

static int load_policy(const char *topology, struct sn_policy *ret,
		       struct sn_err *err)
{
	char *other = snctl_sibling(topology, "supernode.conf"), *text;
	size_t len;
	int rc = 0;

	sn_policy_init(ret);
	if (other && !access(other, F_OK)) {
		rc = snctl_read_file(other, &text, &len, err);
		if (!rc) {
			rc = sn_policy_parse(text, len, other, ret, err);
			free(text);
		}
	}
	free(other);
	return rc;
}

void sn_job_policy(struct sn_policy *ret)
{
	char *path = topology_path();
	struct sn_err err;

	if (!path || load_policy(path, ret, &err))
		sn_policy_init(ret);
	free(path);
}

static int load_files(struct sn_job *job, struct sn_err *err)
{
	char *path = topology_path();
	int rc;

	if (!path)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = snctl_read_topology(path, &job->topo, err);
	if (!rc)
		rc = load_policy(path, &job->policy, err);
	free(path);
	return rc;
}

static int load_record(uint32_t id, job_info_msg_t **ret, struct sn_err *err)
{
	uint32_t state;

	if (sn_api_load_job(id, ret)) {
		if (errno == ESLURM_INVALID_JOB_ID)
			return sn_err_set(err, -ESRCH, "job %u has ended", id);
		return sn_err_set(err, -EIO,
				  "slurmctld did not tell of job %u: %s", id,
				  slurm_strerror(errno));
	}
	state = (*ret)->record_count == 1 ?
		(*ret)->job_array[0].job_state : JOB_COMPLETE;
	if ((state & JOB_STATE_BASE) == JOB_RUNNING && !(state & JOB_COMPLETING) &&
	    (*ret)->job_array[0].nodes)
		return 0;
	slurm_free_job_info_msg(*ret);
	return sn_err_set(err, -ESRCH, "job %u does not run", id);
}

static const char *address_of(const node_info_msg_t *nodes, const char *name)
{
	for (uint32_t i = 0; nodes && i < nodes->record_count; i++)
		if (nodes->node_array[i].name &&
		    !strcmp(nodes->node_array[i].name, name))
			return nodes->node_array[i].node_addr;
	return NULL;
}

static char *keep(struct sn_job *job, uint32_t *n, const char *text)
{
	job->text[*n] = strdup(text);
	return job->text[*n] ? job->text[(*n)++] : NULL;
}

/* NULL: the job has no cards at all. */
static const char *details(const slurm_job_info_t *info, size_t n, size_t i)
{
	return info->gres_detail_cnt == n ? info->gres_detail_str[i] : NULL;
}

static int take_nodes(struct sn_job *job, const slurm_job_info_t *info,
		      const struct sn_names *names, struct sn_err *err)
{
	node_info_msg_t *nodes = NULL;
	size_t cards = 0, at = 0;
	uint32_t n = 0;

	for (size_t i = 0; i < names->n; i++)
		cards += gres_count(details(info, names->n, i),
				    job->policy.card_gres);
	job->offer = calloc(names->n + 1, sizeof(*job->offer));
	job->text = calloc(2 * names->n + 1, sizeof(*job->text));
	job->card = calloc(cards + 1, sizeof(*job->card));
	if (!job->offer || !job->text || !job->card)
		return sn_err_set(err, -ENOMEM, "no memory");
	/* Without addresses names must do. */
	if (slurm_load_node(0, &nodes, SHOW_ALL))
		nodes = NULL;
	for (size_t i = 0; i < names->n; i++) {
		struct sn_plan_offer *offer = &job->offer[job->n_nodes++];
		const char *address = address_of(nodes, names->name[i]);

		offer->name = keep(job, &n, names->name[i]);
		if (address)
			offer->address = keep(job, &n, address);
		offer->card = job->card + at;
		offer->n_cards = (uint32_t)
			gres_list(details(info, names->n, i),
				  job->policy.card_gres, job->card + at,
				  cards - at);
		at += offer->n_cards;
		if (!offer->name)
			break;
		if (sn_topo_find_node(job->topo, offer->name) == SN_NONE &&
		    sn_topo_add_loose(job->topo, offer->name, err))
			break;
	}
	if (nodes)
		slurm_free_node_info_msg(nodes);
	if (job->n_nodes < names->n)
		return sn_err_set(err, -ENOMEM, "no memory");
	return 0;
}

int sn_job_load(uint32_t id, struct sn_job *ret, struct sn_err *err)
{
	struct sn_names names = { NULL, 0, 0 };
	job_info_msg_t *jobs = NULL;
	struct sn_job job = { .id = id };
	int rc = slurmconnect(err);

	if (!rc)
		rc = load_files(&job, err);
	if (!rc)
		rc = load_record(id, &jobs, err);
	if (!rc) {
		const slurm_job_info_t *info = &jobs->job_array[0];

		job.cpus = info->num_cpus;
		job.submitted = info->submit_time;
		job.eligible = info->eligible_time;
		job.started = info->start_time;
		job.has_spec = !sn_jobcomment_read(info->admin_comment, 0,
						   &job.spec, NULL);
		rc = sn_hostlist_expand(info->nodes, &names, err);
		if (!rc)
			rc = take_nodes(&job, info, &names, err);
		slurm_free_job_info_msg(jobs);
	}
	sn_names_done(&names);
	if (rc)
		sn_job_done(&job);
	else
		*ret = job;
	return rc;
}

void sn_job_drop_offers(struct sn_job *job)
{
	for (char **text = job->text; text && *text; text++)
		free(*text);
	free(job->text);
	free(job->card);
	free(job->offer);
	job->text = NULL;
	job->card = NULL;
	job->offer = NULL;
	job->n_nodes = 0;
}

void sn_job_done(struct sn_job *job)
{
	sn_job_drop_offers(job);
	sn_topo_destroy(job->topo);
	memset(job, 0, sizeof(*job));
}

int sn_job_reload(struct sn_job *job, struct sn_err *err)
{
	struct sn_names names = { NULL, 0, 0 };
	struct sn_job fresh = *job;
	job_info_msg_t *jobs = NULL;
	int rc = load_record(job->id, &jobs, err);

	if (rc)
		return rc;
	fresh.offer = NULL;
	fresh.text = NULL;
	fresh.card = NULL;
	fresh.n_nodes = 0;
	fresh.cpus = jobs->job_array[0].num_cpus;
	rc = sn_hostlist_expand(jobs->job_array[0].nodes, &names, err);
	if (!rc)
		rc = take_nodes(&fresh, &jobs->job_array[0], &names, err);
	slurm_free_job_info_msg(jobs);
	sn_names_done(&names);
	sn_job_drop_offers(rc ? &fresh : job);
	if (!rc)
		*job = fresh;
	return rc;
}

static void view_of(const slurm_job_info_t *info, struct sn_jobview *ret)
{
	uint32_t base = info->job_state & JOB_STATE_BASE;

	ret->restarts = info->restart_cnt;
	ret->submitted = info->submit_time;
	/* A requeued job pends while it is still completing. */
	if (base == JOB_PENDING) {
		ret->phase = SN_JOB_PENDING;
	} else if ((base == JOB_RUNNING || base == JOB_SUSPENDED) &&
		   !(info->job_state & JOB_COMPLETING) && info->nodes) {
		ret->phase = SN_JOB_RUNS;
		if (sn_hostlist_expand(info->nodes, &ret->names, NULL))
			ret->phase = SN_JOB_PENDING;
	} else {
		ret->phase = SN_JOB_ENDED;
		ret->cancelled = base == JOB_CANCELLED;
	}
	ret->preempted = ret->phase == SN_JOB_RUNS && info->preempt_time;
	if (ret->phase == SN_JOB_RUNS && info->batch_host && info->batch_flag) {
		ret->headless = true;
		for (size_t i = 0; i < ret->names.n; i++)
			if (!strcmp(ret->names.name[i], info->batch_host))
				ret->headless = false;
	}
}

int sn_job_look(uint32_t id, struct sn_jobview *ret, struct sn_err *err)
{
	job_info_msg_t *jobs = NULL;

	memset(ret, 0, sizeof(*ret));
	ret->phase = SN_JOB_ENDED;
	if (sn_api_load_job(id, &jobs)) {
		if (errno == ESLURM_INVALID_JOB_ID)
			return 0;
		return sn_err_set(err, -EIO,
				  "slurmctld did not tell of job %u: %s", id,
				  slurm_strerror(errno));
	}
	if (jobs->record_count)
		view_of(&jobs->job_array[0], ret);
	slurm_free_job_info_msg(jobs);
	return 0;
}

int sn_job_nodes(uint32_t id, struct sn_names *ret, struct sn_err *err)
{
	job_info_msg_t *jobs = NULL;
	int rc = load_record(id, &jobs, err);

	if (rc)
		return rc;
	rc = sn_hostlist_expand(jobs->job_array[0].nodes, ret, err);
	slurm_free_job_info_msg(jobs);
	return rc;
}

int sn_job_find_step(uint32_t id, uint32_t srun_pid, const char *host,
		     uint32_t *ret_step)
{
	job_step_info_response_msg_t *steps = NULL;
	int rc = -ENOENT;

	if (sn_api_steps(id, &steps))
		return -EIO;
	for (uint32_t i = 0; i < steps->job_step_count; i++) {
		const job_step_info_t *step = &steps->job_steps[i];

		if (step->step_id.step_id > SLURM_MAX_NORMAL_STEP_ID ||
		    step->srun_pid != srun_pid ||
		    (step->srun_host && strcmp(step->srun_host, host)))
			continue;
		*ret_step = step->step_id.step_id;
		rc = 0;
	}
	slurm_free_job_step_info_response_msg(steps);
	return rc;
}

int sn_job_signal_step(uint32_t id, uint32_t step, int sig)
{
	return sn_api_signal(id, step, sig) ? -errno : 0;
}
