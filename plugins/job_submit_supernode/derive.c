/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive.c - what a layout makes of a job's request to Slurm.
 *
 * One task a rank, one card a task: Slurm then counts cards exactly, uneven
 * per node where cards are busy. The nodes are only bounded from below, since
 * nobody knows yet which cards will be free.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plugins/common/sitefiles.h"
#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/plan.h"
#include "plugins/job_submit_supernode/poolmem.h"
#include "plugins/job_submit_supernode/tres.h"

static int check_tasks(job_desc_msg_t *job_desc, struct plan *plan,
		       struct sn_err *err)
{
	char sum[160];

	if ((job_desc->bitflags & JOB_NTASKS_SET) &&
	    plan_is_set32(job_desc->num_tasks) && job_desc->num_tasks != plan->world)
		return sn_err_set(err, -EINVAL,
				  "-n %u contradicts --parallel: %s; leave -n out or give -n %u",
				  job_desc->num_tasks,
				  plan_arithmetic(plan, sum, sizeof(sum)), plan->world);
	if (plan_is_set16(job_desc->ntasks_per_node)) {
		if (job_desc->ntasks_per_node != plan->most ||
		    plan->world % plan->most)
			return sn_err_set(err, -EINVAL,
					  "--ntasks-per-node=%u contradicts --parallel: %s, and how many run on a node follows from its free cards; leave it out",
					  job_desc->ntasks_per_node,
					  plan_arithmetic(plan, sum, sizeof(sum)));
		plan->exact_nodes = plan->world / plan->most;
		job_desc->ntasks_per_node = NO_VAL16;
	}
	if (plan_is_set16(job_desc->ntasks_per_tres))
		return sn_err_set(err, -EINVAL,
				  "--ntasks-per-gpu contradicts --parallel: %s; leave it out",
				  plan_arithmetic(plan, sum, sizeof(sum)));
	if (job_desc->cpus_per_tres)
		return sn_err_set(err, -EINVAL,
				  "--cpus-per-gpu does not go with --parallel: a task has one card, so give --cpus-per-task");
	switch (job_desc->task_dist == NO_VAL ? 0 :
		job_desc->task_dist & SLURM_DIST_STATE_BASE & SLURM_DIST_NODEMASK) {
	case SLURM_DIST_PLANE:
	case SLURM_DIST_ARBITRARY:
		return sn_err_set(err, -EINVAL,
				  "--distribution=plane or arbitrary does not go with --parallel: the order of ranks follows from the layout");
	default:
		return 0;
	}
}

/* A set of cards that the user gave in one of Slurm's ways: it must come to
 * one card a rank. *list loses the cards. */
static int take_cards(char **list, const char *option, struct plan *plan,
		      bool (*agrees)(struct plan *plan, uint64_t count),
		      const char *want, struct sn_err *err)
{
	struct tres_cards cards;
	char sum[160];

	if (!tres_find_cards(*list, plan->card, &cards))
		return 0;
	if (!agrees(plan, cards.count)) {
		free(cards.rest);
		return sn_err_set(err, -EINVAL,
				  "%s %s contradicts --parallel: %s; %s",
				  option, *list, plan_arithmetic(plan, sum, sizeof(sum)),
				  want);
	}
	if (cards.type[0])
		snprintf(plan->type, sizeof(plan->type), "%s", cards.type);
	xfree(*list);
	if (cards.rest)
		*list = xstrdup(cards.rest);
	free(cards.rest);
	return 0;
}

static bool fills_nodes(struct plan *plan, uint64_t count)
{
	if (count != plan->most || plan->world % plan->most)
		return false;
	plan->exact_nodes = plan->world / plan->most;
	return true;
}

static bool is_world(struct plan *plan, uint64_t count)
{
	return count == plan->world;
}

static bool is_one(struct plan *plan, uint64_t count)
{
	(void)plan;
	return count == 1;
}

static bool never(struct plan *plan, uint64_t count)
{
	(void)plan;
	(void)count;
	return false;
}

static int check_cards(job_desc_msg_t *job_desc, struct plan *plan,
		       struct sn_err *err)
{
	char want[96];
	int rc;

	snprintf(want, sizeof(want), "leave it out%s", plan->world % plan->most ?
		 "" : ", or ask for every card of whole nodes");
	rc = take_cards(&job_desc->tres_per_node, "--gres, --gpus-per-node:",
			plan, fills_nodes, want, err);
	if (!rc)
		rc = take_cards(&job_desc->tres_per_job, "--gpus:", plan,
				is_world, "leave it out", err);
	if (!rc)
		rc = take_cards(&job_desc->tres_per_task, "--tres-per-task:",
				plan, is_one, "a rank has one card", err);
	if (!rc)
		rc = take_cards(&job_desc->tres_per_socket, "--gpus-per-socket:",
				plan, never, "leave it out", err);
	return rc;
}

/* Slurm's own step from tasks to cards miscounts where a core has more threads
 * than the job may use: such a job would pend for ever (24.11.5, also without
 * this suite). */
static int check_threads(const job_desc_msg_t *job_desc, struct sn_err *err)
{
	node_record_t *node_ptr;
	int i;

	for (i = 0; plan_is_set16(job_desc->threads_per_core) &&
	     (node_ptr = next_node(&i)); i++)
		if (node_ptr->tpc > job_desc->threads_per_core)
			return sn_err_set(err, -EINVAL,
					  "--threads-per-core=%u (--hint=nomultithread) does not go with --parallel where cores have %u threads, as on %s; give --cpus-per-task=%u, and a rank has a core of its own",
					  job_desc->threads_per_core,
					  node_ptr->tpc, node_ptr->name,
					  node_ptr->tpc);
	return 0;
}

static int check_spares(const job_desc_msg_t *job_desc, const struct plan *plan,
			struct sn_err *err)
{
	/* It sees to it that a job gets cards that have no task. */
	if (!sn_site_selects_supernode())
		return sn_err_set(err, -EINVAL,
				  "--spares=%u needs SelectType=select/supernode in slurm.conf, and it is %s",
				  plan->spec->spares, slurm_conf.select_type);
	/* Slurm starts the tasks of all its parts by one srun, which cannot be
	 * told to leave nodes of a part out. */
	if (job_desc->het_job_offset != NO_VAL)
		return sn_err_set(err, -EINVAL,
				  "--spares=%u does not go with a heterogeneous job; submit its parts as jobs of their own, or leave --spares out",
				  plan->spec->spares);
	return 0;
}

static int check_others(const job_desc_msg_t *job_desc, const struct plan *plan,
			struct sn_err *err)
{
	if (job_desc->features && strchr(job_desc->features, '*'))
		return sn_err_set(err, -EINVAL,
				  "-C %s: counted features do not go with --parallel, for Slurm would choose the nodes of each feature apart; leave the counts out",
				  job_desc->features);
	return plan->spec->spares ? check_spares(job_desc, plan, err) : 0;
}

/* The srun in a batch script learns from its environment that a task has one
 * card; without it each task of a step would be shown all of the step's. */
static void tell_script(job_desc_msg_t *job_desc)
{
	const char *name = "SLURM_TRES_PER_TASK=";
	char *entry = xstrdup_printf("%s%s", name, job_desc->tres_per_task);
	uint32_t i;

	for (i = 0; i < job_desc->env_size; i++) {
		if (xstrncmp(job_desc->environment[i], name, strlen(name)))
			continue;
		xfree(job_desc->environment[i]);
		job_desc->environment[i] = entry;
		return;
	}
	/* One more, and the NULL that ends it. */
	xrecalloc(job_desc->environment, job_desc->env_size + 2,
		  sizeof(*job_desc->environment));
	job_desc->environment[job_desc->env_size++] = entry;
}

static void set_request(job_desc_msg_t *job_desc, const struct plan *plan)
{
	uint32_t cpus = plan_is_set16(job_desc->cpus_per_task) ?
		job_desc->cpus_per_task : 1;

	job_desc->num_tasks = plan->world;
	job_desc->bitflags |= JOB_NTASKS_SET;
	job_desc->min_cpus = plan->world * cpus;
	xstrfmtcat(job_desc->tres_per_task, "%sgres/%s%s%s:1",
		   job_desc->tres_per_task ? "," : "", plan->card,
		   plan->type[0] ? ":" : "", plan->type);
	if (job_desc->script && job_desc->environment)
		tell_script(job_desc);
	/* A spare is no use to a job that ends with the node that it is for, nor
	 * a smaller size to one that ends with the first that it loses. */
	if (plan->spec->spares || plan->spec->has_elastic)
		job_desc->kill_on_node_fail = 0;
}

int derive_request(job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		   const struct sn_jobspec *spec, uint32_t uid, uint64_t *ret_poolmem,
		   struct sn_err *err)
{
	uint64_t named_bytes = 0;
	struct plan plan;
	int rc;

	rc = plan_make(api, spec, &plan, err);
	if (!rc && spec->pool.per == SN_POOL_NAMED)
		rc = api->region(spec->pool.name, uid, &named_bytes, err);
	if (!rc)
		rc = check_tasks(job_desc, &plan, err);
	if (!rc)
		rc = check_cards(job_desc, &plan, err);
	if (!rc)
		rc = check_others(job_desc, &plan, err);
	if (!rc)
		rc = check_threads(job_desc, err);
	if (!rc)
		rc = plan_check_whole(job_desc, &plan, err);
	if (!rc)
		rc = plan_set_nodes(job_desc, &plan, err);
	if (!rc)
		rc = plan_check_fit(job_desc, api, &plan, err);
	if (!rc)
		rc = poolmem_add(job_desc, &plan, api->policy(), named_bytes,
				 ret_poolmem, err);
	if (!rc)
		set_request(job_desc, &plan);
	return rc;
}
