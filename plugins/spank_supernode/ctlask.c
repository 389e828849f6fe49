/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctlask.c - ask slurmctld what it has on record, and not wait for ever.
 *
 * Slurm's own calls try for minutes where slurmctld is away. They run in a thread
 * that is left to itself once the time is over.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/spank_supernode/ctlask.h"

struct asking {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool finished, abandoned;
	uint32_t job;
	char *node;
	struct ctl_answer answer;
	int rc; /* Slurm's */
};

static void free_asking(struct asking *a)
{
	ctl_answer_done(&a->answer);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a->node);
	free(a);
}

static void *ask(void *arg)
{
	struct asking *a = arg;
	struct ctl_answer answer = { NULL, NULL };
	bool left;
	int rc = SLURM_SUCCESS;

	if (a->job && slurm_load_job(&answer.jobs, SN_WHICH_JOB(a->job),
				     SHOW_ALL | SHOW_DETAIL | SHOW_LOCAL))
		rc = errno ? errno : SLURM_ERROR;
	if (!rc && a->node &&
	    slurm_load_node_single(&answer.nodes, a->node, SHOW_ALL | SHOW_DETAIL))
		rc = errno ? errno : SLURM_ERROR;
	pthread_mutex_lock(&a->lock);
	a->answer = answer;
	a->rc = rc;
	a->finished = true;
	left = a->abandoned;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	if (left)
		free_asking(a);
	return NULL;
}

static struct asking *start(uint32_t job, const char *node)
{
	struct asking *a = calloc(1, sizeof(*a));
	pthread_condattr_t clock;
	pthread_attr_t detached;
	pthread_t thread;
	int rc;

	if (!a)
		return NULL;
	a->job = job;
	a->node = node ? strdup(node) : NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&a->change, &clock);
	pthread_condattr_destroy(&clock);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &detached, ask, a);
	pthread_attr_destroy(&detached);
	if (rc) {
		free_asking(a);
		return NULL;
	}
	return a;
}

int ctl_ask(uint32_t job, const char *node, struct ctl_answer *ret,
	    struct sn_err *err)
{
	struct asking *a = start(job, node);
	struct timespec end;
	bool finished;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!a)
		return sn_err_set(err, -ENOMEM, "no memory for a thread");
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += CTLASK_SECONDS;
	pthread_mutex_lock(&a->lock);
	for (rc = 0; !a->finished && !rc;)
		rc = pthread_cond_timedwait(&a->change, &a->lock, &end);
	finished = a->finished;
	a->abandoned = !finished;
	rc = a->rc;
	pthread_mutex_unlock(&a->lock);
	if (!finished)
		return sn_err_set(err, -ETIME,
				  "slurmctld has not answered in %u seconds",
				  CTLASK_SECONDS);
	if (!rc) {
		*ret = a->answer;
		memset(&a->answer, 0, sizeof(a->answer));
	}
	free_asking(a);
	if (rc == ESLURM_INVALID_JOB_ID)
		return sn_err_set(err, -ENOENT, "slurmctld knows no job %u", job);
	if (rc)
		return sn_err_set(err, -EIO, "slurmctld: %s", slurm_strerror(rc));
	return 0;
}

void ctl_answer_done(struct ctl_answer *answer)
{
	if (answer->jobs)
		slurm_free_job_info_msg(answer->jobs);
	if (answer->nodes)
		slurm_free_node_info_msg(answer->nodes);
	memset(answer, 0, sizeof(*answer));
}

const slurm_job_info_t *ctl_answer_job(const struct ctl_answer *answer,
				       uint32_t job)
{
	for (uint32_t i = 0; answer->jobs && i < answer->jobs->record_count; i++)
		if (answer->jobs->job_array[i].job_id == job)
			return &answer->jobs->job_array[i];
	return NULL;
}

const char *ctl_answer_extra(const struct ctl_answer *answer, const char *node)
{
	for (uint32_t i = 0; answer->nodes && i < answer->nodes->record_count; i++)
		if (answer->nodes->node_array[i].name &&
		    !strcmp(answer->nodes->node_array[i].name, node))
			return answer->nodes->node_array[i].extra;
	return NULL;
}
