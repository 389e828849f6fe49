/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctlask.c - ask slurmctld what it has on record, and not wait for ever.
 *
 * Slurm's own calls try for minutes where slurmctld is away.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/aside.h"
#include "plugins/spank_supernode/ctlask.h"

struct asking {
	uint32_t job;
	char *node;
	struct ctl_answer answer;
	int rc; /* Slurm's */
};

static void free_asking(void *arg)
{
	struct asking *a = arg;

	ctl_answer_done(&a->answer);
	free(a->node);
	free(a);
}

static void ask(void *arg)
{
	struct asking *a = arg;

	if (a->job && slurm_load_job(&a->answer.jobs, SN_WHICH_JOB(a->job),
				     SHOW_ALL | SHOW_DETAIL | SHOW_LOCAL))
		a->rc = errno ? errno : SLURM_ERROR;
	if (!a->rc && a->node &&
	    slurm_load_node_single(&a->answer.nodes, a->node, SHOW_ALL | SHOW_DETAIL))
		a->rc = errno ? errno : SLURM_ERROR;
}

int ctl_ask(uint32_t job, const char *node, struct ctl_answer *ret,
	    struct sn_err *err)
{
	struct asking *a = calloc(1, sizeof(*a));
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!a)
		return sn_err_set(err, -ENOMEM, "no memory");
	a->job = job;
	a->node = node ? strdup(node) : NULL;
	if (!aside_run(ask, free_asking, a, CTLASK_SECONDS * 1000))
		return sn_err_set(err, -ETIME,
				  "slurmctld has not answered in %u seconds",
				  CTLASK_SECONDS);
	rc = a->rc;
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
