/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update.c - `scontrol update` of a --parallel job.
 *
 * The layout itself is changed by `scontrol update JobId=N
 * Comment=--parallel=SPEC`: of the fields that a user may change, the comment
 * is the one that carries any text, and Slurm has none for SPANK options. Such
 * a comment is an order and is not kept.
 */
#include "plugins/compat.h"

#include <errno.h>

#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/plan.h"
#include "plugins/job_submit_supernode/poolmem.h"
#include "topology/jobcomment.h"
#include "plugins/job_submit_supernode/update.h"
#include "topology/spares.h"

#define ORDER "--parallel="

/* What plan_set_nodes() added to the user's greatest number of nodes. */
static uint32_t spares_of(const job_record_t *job_ptr)
{
	struct sn_jobspec_text text;
	struct sn_jobspec spec;

	if (!sn_jobopts_find(job_ptr->spank_job_env,
			     job_ptr->spank_job_env_size, &text) ||
	    sn_jobspec_parse(&text, 0, &spec, NULL) || !spec.has_parallel)
		return 0;
	return sn_spares_most(&spec.layout, spec.spares);
}

static uint32_t without_spares(uint32_t max, uint32_t spares)
{
	return plan_is_set32(max) && max > spares ? max - spares : max;
}

static int refuse_counted(const job_desc_msg_t *job_desc, struct sn_err *err)
{
	if (job_desc->features && strchr(job_desc->features, '*'))
		return sn_err_set(err, -EINVAL,
				  "Features=%s: counted features do not go with --parallel, for Slurm would choose the nodes of each feature apart; leave the counts out",
				  job_desc->features);
	return 0;
}

/* The user's; NO_VAL: none. */
static uint32_t most_nodes(const job_record_t *job_ptr)
{
	uint32_t max = job_ptr->details->max_nodes;

	return plan_is_set32(max) && !SN_IMPLICIT_NODES(job_ptr) ? max : NO_VAL;
}

/* ---- the other fields --------------------------------------------------------- */

static int update_nodes(job_desc_msg_t *job_desc, const job_record_t *job_ptr,
			struct plan *plan, struct sn_err *err)
{
	char *list = job_desc->req_nodes ? job_desc->req_nodes :
		job_ptr->details->req_nodes;
	uint32_t required = plan_count_hosts(list);
	uint32_t had = without_spares(most_nodes(job_ptr),
				      plan->most_spares);
	uint32_t min, max;
	int rc;

	if (plan_is_set32(job_desc->min_nodes)) {
		min = job_desc->min_nodes;
		max = plan_is_set32(job_desc->max_nodes) ? job_desc->max_nodes :
			min;
		/* Whole nodes: their number follows from the layout. */
		if (job_ptr->details->whole_node & WHOLE_NODE_REQUIRED)
			plan->exact_nodes = plan->world / plan->most;
		rc = plan_check_nodes(plan, "NumNodes=", min, max, required, err);
		if (rc)
			return rc;
		if (min < required)
			min = required;
		if (min < plan->least_nodes)
			min = plan->least_nodes;
		job_desc->min_nodes = min;
		job_desc->max_nodes = plan_with_spares(plan, max);
	} else if (required > job_ptr->details->min_nodes) {
		if (plan_is_set32(had) && had < required)
			return sn_err_set(err, -EINVAL,
					  "%u nodes are required, but the job takes at most %u",
					  required, had);
		job_desc->min_nodes = required;
	}
	return 0;
}

/* The job as it would be submitted now. */
static job_desc_msg_t as_submitted(const job_record_t *job_ptr)
{
	const job_details_t *details = job_ptr->details;
	job_desc_msg_t desc;

	slurm_init_job_desc_msg(&desc);
	desc.partition = job_ptr->partition;
	desc.req_nodes = details->req_nodes;
	desc.exc_nodes = details->exc_nodes;
	desc.features = details->features;
	desc.cpus_per_task = details->cpus_per_task;
	if (details->whole_node & WHOLE_NODE_REQUIRED)
		desc.shared = JOB_SHARED_NONE;
	/* Without a greatest number the least one was ours. */
	if (plan_is_set32(most_nodes(job_ptr))) {
		desc.min_nodes = details->min_nodes;
		desc.max_nodes = without_spares(details->max_nodes,
						spares_of(job_ptr));
		/* Whole nodes: so was this. */
		if (desc.shared == JOB_SHARED_NONE)
			desc.min_nodes = desc.max_nodes = NO_VAL;
	}
	return desc;
}

/* What can never fit is refused, as at submission, and not held by Slurm. */
static int check_change(const job_desc_msg_t *job_desc,
			const job_record_t *job_ptr,
			const struct sn_topoapi *api, struct plan *plan,
			struct sn_err *err)
{
	job_desc_msg_t desc = as_submitted(job_ptr);
	int rc;

	if (!job_desc->partition && !job_desc->features &&
	    !job_desc->req_nodes && !job_desc->exc_nodes &&
	    !plan_is_set16(job_desc->cpus_per_task) &&
	    !plan_is_set32(job_desc->min_nodes))
		return 0;
	if (job_desc->partition)
		desc.partition = job_desc->partition;
	if (job_desc->features)
		desc.features = job_desc->features;
	if (job_desc->req_nodes)
		desc.req_nodes = job_desc->req_nodes;
	if (job_desc->exc_nodes)
		desc.exc_nodes = job_desc->exc_nodes;
	if (plan_is_set16(job_desc->cpus_per_task))
		desc.cpus_per_task = job_desc->cpus_per_task;
	if (plan_is_set32(job_desc->min_nodes)) {
		desc.min_nodes = job_desc->min_nodes;
		desc.max_nodes = without_spares(job_desc->max_nodes,
						plan->most_spares);
	}
	rc = plan_check_whole(&desc, plan, err);
	if (!rc)
		rc = plan_set_nodes(&desc, plan, err);
	return rc ? rc : plan_check_fit(&desc, api, plan, err);
}

int update_request(job_desc_msg_t *job_desc, const job_record_t *job_ptr,
		   const struct sn_topoapi *api, const struct sn_jobspec *spec,
		   struct sn_err *err)
{
	struct plan plan;
	char sum[160];
	int rc;

	rc = plan_make(api, spec, &plan, err);
	if (!rc)
		rc = refuse_counted(job_desc, err);
	if (rc)
		return rc;
	if (plan_is_set32(job_desc->num_tasks) &&
	    job_desc->num_tasks != plan.world)
		return sn_err_set(err, -EINVAL,
				  "NumTasks=%u contradicts the job's --parallel: %s",
				  job_desc->num_tasks,
				  plan_arithmetic(&plan, sum, sizeof(sum)));
	if (plan_is_set16(job_desc->ntasks_per_node) ||
	    job_desc->tres_per_node || job_desc->tres_per_job ||
	    job_desc->tres_per_task || job_desc->tres_per_socket)
		return sn_err_set(err, -EINVAL,
				  "the tasks and cards of this job follow from its --parallel: %s",
				  plan_arithmetic(&plan, sum, sizeof(sum)));
	/* A running job shrinks by NumNodes: its own business. */
	if (!IS_JOB_PENDING(job_ptr) || !job_ptr->details)
		return 0;
	if (plan_is_set16(job_desc->cpus_per_task))
		job_desc->min_cpus = plan.world * job_desc->cpus_per_task;
	rc = update_nodes(job_desc, job_ptr, &plan, err);
	return rc ? rc : check_change(job_desc, job_ptr, api, &plan, err);
}

/* ---- the layout ------------------------------------------------------------------ */

bool update_is_order(const job_desc_msg_t *job_desc)
{
	return !xstrncmp(job_desc->comment, ORDER, strlen(ORDER));
}

/* What Slurm may yet refuse after us must not stand beside a new layout. */
static bool is_alone(const job_desc_msg_t *job_desc)
{
	return !plan_is_set32(job_desc->min_nodes) &&
		!plan_is_set32(job_desc->max_nodes) &&
		!plan_is_set32(job_desc->num_tasks) &&
		!plan_is_set32(job_desc->min_cpus) &&
		!plan_is_set16(job_desc->cpus_per_task) &&
		!plan_is_set16(job_desc->ntasks_per_node) &&
		!job_desc->partition && !job_desc->features &&
		!job_desc->req_nodes && !job_desc->exc_nodes &&
		!job_desc->reservation && !job_desc->licenses &&
		!job_desc->qos && !job_desc->account &&
		!job_desc->dependency && !job_desc->tres_per_node &&
		!job_desc->tres_per_job && !job_desc->tres_per_task &&
		!job_desc->tres_per_socket && job_desc->time_limit == NO_VAL;
}

static int read_order(const job_desc_msg_t *job_desc, job_record_t *job_ptr,
		      const struct sn_topoapi *api, struct sn_jobspec_text *ret,
		      struct sn_jobspec *spec, struct sn_err *err)
{
	if (!sn_jobopts_find(job_ptr->spank_job_env,
			     job_ptr->spank_job_env_size, ret) || !ret->parallel)
		return sn_err_set(err, -EINVAL,
				  "Comment=%s: the job was submitted without --parallel and cannot be given one; submit it again",
				  job_desc->comment);
	if (!IS_JOB_PENDING(job_ptr) || !job_ptr->details)
		return sn_err_set(err, -EINVAL,
				  "Comment=%s: only a pending job's layout can be changed; scontrol requeuehold %u first",
				  job_desc->comment, job_ptr->job_id);
	if (!job_ptr->batch_flag)
		return sn_err_set(err, -EINVAL,
				  "Comment=%s: salloc and srun have told their own process what to start; cancel job %u and submit it again",
				  job_desc->comment, job_ptr->job_id);
	if (!is_alone(job_desc))
		return sn_err_set(err, -EINVAL,
				  "Comment=%s: a new layout is an update of its own; give the other fields in another",
				  job_desc->comment);
	ret->parallel = job_desc->comment + strlen(ORDER);
	return sn_jobspec_parse(ret, api->cards_per_node(NULL), spec, err);
}

/* Slurm keeps these strings for the job's environment over restarts; a later
 * one of a name wins over what the job was submitted with. */
static void set_env(job_details_t *details, const char *name, const char *value)
{
	size_t len = strlen(name);
	uint16_t i;

	for (i = 0; i < details->env_cnt; i++)
		if (!xstrncmp(details->env_sup[i], name, (int)len) &&
		    details->env_sup[i][len] == '=')
			break;
	if (i == details->env_cnt) {
		xrecalloc(details->env_sup, (size_t)details->env_cnt + 1,
			  sizeof(*details->env_sup));
		details->env_cnt++;
	}
	xfree(details->env_sup[i]);
	details->env_sup[i] = xstrdup_printf("%s=%s", name, value);
}

static void set_option(job_record_t *job_ptr, const char *value)
{
	const char *name = SN_JOBOPT_PREFIX "parallel";
	size_t len = strlen(name);
	uint32_t i;

	for (i = 0; i < job_ptr->spank_job_env_size; i++) {
		char **entry = &job_ptr->spank_job_env[i];

		if (xstrncmp(*entry, name, (int)len) || (*entry)[len] != '=')
			continue;
		xfree(*entry);
		*entry = xstrdup_printf("%s=%s", name, value);
	}
	/* What an srun in the script hands to its tasks' SPANK. */
	set_env(job_ptr->details, "SLURM_SPANK_" SN_JOBOPT_PREFIX "parallel",
		value);
}

int update_layout(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		  const struct sn_topoapi *api, struct sn_jobspec *spec,
		  struct sn_jobspec_text *text, uint64_t *ret_poolmem, struct sn_err *err)
{
	job_desc_msg_t desc;
	char canonical[SN_LAYOUT_TEXT_MAX];
	struct plan plan;
	int rc;

	rc = read_order(job_desc, job_ptr, api, text, spec, err);
	if (rc)
		return rc;
	desc = as_submitted(job_ptr);
	rc = plan_make(api, spec, &plan, err);
	if (!rc)
		rc = plan_check_whole(&desc, &plan, err);
	if (!rc)
		rc = plan_set_nodes(&desc, &plan, err);
	if (!rc)
		rc = plan_check_fit(&desc, api, &plan, err);
	if (rc)
		return rc;
	job_desc->num_tasks = plan.world;
	job_desc->bitflags |= JOB_NTASKS_SET | TASKS_CHANGED;
	job_desc->min_cpus = plan.world *
		(plan_is_set16(desc.cpus_per_task) ? desc.cpus_per_task : 1);
	job_desc->min_nodes = desc.min_nodes;
	if (plan_is_set32(desc.max_nodes))
		job_desc->max_nodes = desc.max_nodes;
	/* A rank's share of --pool is another now. */
	*ret_poolmem = poolmem_change(job_desc, job_ptr, sn_jobcomment_poolmem(job_ptr->admin_comment),
				      &plan, api->policy());
	sn_layout_format(&spec->layout, canonical, sizeof(canonical));
	set_option(job_ptr, canonical);
	return 0;
}
