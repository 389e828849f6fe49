/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whyctld.c - slurmctld's own test of a pending job.
 *
 * REQUEST_JOB_WILL_RUN with the number of a job tests that job as it is, with
 * everything that only slurmctld knows. It counts running jobs, not those of
 * higher priority that pend. Any user may ask it, as with sbatch --test-only.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snctl/whyctld.h"
#include "snctl/whystate.h"
#include "topology/hostlist.h"
#include "topology/text.h"

/* slurm.h names it as the way to free the answer, and forgets to declare it. */
extern void slurm_free_will_run_response_msg(will_run_response_msg_t *msg);

/* What is free now starts at the second of the answer. */
#define NOW_IS 2
#define ENDLESS (364 * 24 * 3600)

/* Slurm's test tries the nodes of -w alone, so it tells nothing where the job
 * takes more. Of one that slurmctld has tried clients are not shown the most nodes of
 * its -N: as many as are named are then taken for all. */
static bool has_more_than_required(const struct live_job *job)
{
	const slurm_job_info_t *info = job->info;
	bool shown = info->max_nodes || (job->has_spec && job->spec.has_parallel);
	struct sn_names names = { 0 };
	bool more;

	if (!info->req_nodes || !*info->req_nodes)
		return false;
	more = sn_hostlist_expand(info->req_nodes, &names, NULL) ||
		names.n != info->num_nodes ||
		(shown && info->max_nodes != info->num_nodes);
	sn_names_done(&names);
	return more;
}

static int ask(const slurm_job_info_t *info, will_run_response_msg_t **ret)
{
	char host[] = "localhost";
	job_desc_msg_t desc;
	int rc;

	*ret = NULL;
	slurm_init_job_desc_msg(&desc);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	desc.step_id.job_id = info->job_id;
#else
	desc.job_id = info->job_id;
#endif
	desc.user_id = getuid();
	desc.group_id = getgid();
	desc.alloc_node = host;
	errno = 0;
	rc = slurm_job_will_run2(&desc, ret);
	return rc || !*ret ? (errno ? errno : EIO) : 0;
}

static char *preempted(const will_run_response_msg_t *resp)
{
	struct sn_buf buf = { 0 };
	const uint32_t *id;
	list_itr_t *itr;

	if (!resp->preemptee_job_id)
		return NULL;
	itr = slurm_list_iterator_create(resp->preemptee_job_id);
	while ((id = slurm_list_next(itr)))
		sn_buf_add(&buf, "%s%u", buf.text ? "," : "", *id);
	slurm_list_iterator_destroy(itr);
	return buf.text;
}

/*
 * slurmctld adds to its answer the time that pending jobs of this one's priority
 * or more take, divided over the partition: _delayed_job_start_time() there. It
 * is taken off again, for the question is whether there is room. False: what
 * clients see of those jobs is not enough to know it; it is at most *ret_more longer.
 */
static bool find_delay(const struct live *live, const slurm_job_info_t *info,
		       const partition_info_t *part, uint64_t *ret,
		       uint64_t *ret_more)
{
	uint32_t per_node = part->total_nodes && part->total_cpus > part->total_nodes ?
		part->total_cpus / part->total_nodes : 1;
	bool several = info->partition && strchr(info->partition, ',');
	uint64_t sum = 0, more = 0;
	bool sure = true;

	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const slurm_job_info_t *other = live->job[j].info;
		uint32_t cpus = other->num_cpus, minutes = other->time_limit;
		uint32_t least = cpus > per_node ? cpus : per_node;

		if (live->job[j].running || other->job_id == info->job_id ||
		    other->priority < info->priority || !other->partition ||
		    !why_has_word(other->partition, part->name))
			continue;
		if (strchr(other->partition, ',') ||
		    (other->max_nodes != other->num_nodes && !live->job[j].has_spec))
			sure = false;
		if (other->num_nodes * per_node > cpus)
			cpus = other->num_nodes * per_node;
		if (minutes == NO_VAL)
			minutes = part->max_time;
		sum += (uint32_t)(cpus * minutes); /* 32 bits there too */
		/* It may have asked for fewer nodes than are shown; without a time limit,
		 * in 32 bits, those count for more. */
		if ((uint32_t)(least * minutes) > (uint32_t)(cpus * minutes))
			more += (uint32_t)(least * minutes) - (uint32_t)(cpus * minutes);
	}
	*ret = part->total_cpus ? sum / part->total_cpus * 60 : 0;
	*ret_more = part->total_cpus ? (more / part->total_cpus + 1) * 60 : 0;
	/* Of several partitions the answer is of the first where it ever fits. */
	if (several)
		*ret_more = UINT64_MAX;
	return sure && !several;
}

static bool is_now(time_t start)
{
	return start <= time(NULL) + NOW_IS;
}

/* The delay is in whole minutes, and what clients see of a pending job's CPUs is now and
 * then not what slurmctld counts with: by that it is one more than was taken off. */
static bool is_a_minute_off(time_t start)
{
	time_t late = start - time(NULL) - 60;

	return late >= -NOW_IS && late <= NOW_IS;
}

/* Not even with all that the delay may be longer? */
static bool is_later_anyway(time_t start, uint64_t more)
{
	time_t late = start - time(NULL) - NOW_IS;

	return late > 0 && (uint64_t)late > more;
}

void why_ctld_ask(const struct live *live, const struct live_job *job,
		  const partition_info_t *part, bool found, struct why_ctld *ret)
{
	const slurm_job_info_t *info = job->info;
	will_run_response_msg_t *resp;
	uint64_t delay, more;
	bool sure;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (has_more_than_required(job))
		return;
	sure = find_delay(live, info, part, &delay, &more);
	rc = ask(info, &resp);
	/* Backfill's plan is in the answer if it had one; the second answer is
	 * of room alone. */
	if (!rc && !is_now(resp->start_time - (time_t)delay)) {
		slurm_free_will_run_response_msg(resp);
		rc = ask(info, &resp);
	}
	if (rc) {
		ret->asked = rc == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
		return;
	}
	ret->start = resp->start_time - (time_t)delay;
	ret->fits_now = is_now(ret->start);
	if (delay && is_a_minute_off(ret->start))
		sure = false;
	/* Our count may find room where there is none: of a job that slurmctld has tried
	 * clients are not shown the most nodes of its -N. */
	ret->fits_later = !ret->fits_now &&
		(sure || !found || is_later_anyway(ret->start, more));
	ret->asked = ret->fits_now || ret->fits_later;
	/* A job without a time limit counts as one of a year. */
	if (!ret->fits_now && (!sure || ret->start > time(NULL) + ENDLESS))
		ret->start = 0;
	if (ret->fits_now) {
		ret->nodes = resp->node_list ? strdup(resp->node_list) : NULL;
		ret->preempts = preempted(resp);
	}
	slurm_free_will_run_response_msg(resp);
}

void why_ctld_done(struct why_ctld *ctld)
{
	free(ctld->nodes);
	free(ctld->preempts);
	memset(ctld, 0, sizeof(*ctld));
}
