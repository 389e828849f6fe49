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
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/tres.h"

/* All that the refusals talk about. */
struct plan {
	const struct sn_jobspec *spec;
	const char *card; /* "npu" */
	uint32_t world;
	uint32_t most; /* cards of the node with the most */
	uint32_t least_nodes;
	uint32_t exact_nodes; /* 0: free */
	char type[64]; /* of the cards, "" */
};

static bool is_set16(uint16_t v)
{
	return v && v != NO_VAL16 && v != INFINITE16;
}

static bool is_set32(uint32_t v)
{
	return v && v != NO_VAL && v != INFINITE;
}

static const char *arithmetic(const struct plan *plan, char *buf, size_t size)
{
	const struct sn_layout *l = &plan->spec->layout;

	snprintf(buf, size, "tp·cp·pp·dp = %u·%u·%u·%u = %u ranks, one card each",
		 l->tp, l->cp, l->pp, l->dp, l->world);
	return buf;
}

static int make_plan(const struct sn_topoapi *api, const struct sn_jobspec *spec,
		     struct plan *ret, struct sn_err *err)
{
	uint32_t block = spec->layout.node_block ? spec->layout.node_block : 1;
	uint32_t per_node;

	memset(ret, 0, sizeof(*ret));
	ret->spec = spec;
	ret->card = api->policy()->card_gres;
	ret->world = spec->layout.world;
	api->cards_per_node(&ret->most);
	if (!ret->most)
		return sn_err_set(err, -ENOSPC,
				  "--parallel: no node has gres/%s (supernode.conf's CardGres), so there is no card to run on",
				  ret->card);
	per_node = ret->most / block * block;
	if (!per_node)
		return sn_err_set(err, -ENOSPC,
				  "--parallel: %u ranks must share a node, but no node has more than %u cards; tp_within=supernode would let them spread",
				  block, ret->most);
	ret->least_nodes = (ret->world + per_node - 1) / per_node;
	return 0;
}

static int check_tasks(job_desc_msg_t *job_desc, struct plan *plan,
		       struct sn_err *err)
{
	char sum[160];

	if ((job_desc->bitflags & JOB_NTASKS_SET) &&
	    is_set32(job_desc->num_tasks) && job_desc->num_tasks != plan->world)
		return sn_err_set(err, -EINVAL,
				  "-n %u contradicts --parallel: %s; leave -n out or give -n %u",
				  job_desc->num_tasks,
				  arithmetic(plan, sum, sizeof(sum)), plan->world);
	if (is_set16(job_desc->ntasks_per_node)) {
		if (job_desc->ntasks_per_node != plan->most ||
		    plan->world % plan->most)
			return sn_err_set(err, -EINVAL,
					  "--ntasks-per-node=%u contradicts --parallel: %s, and how many run on a node follows from its free cards; leave it out",
					  job_desc->ntasks_per_node,
					  arithmetic(plan, sum, sizeof(sum)));
		plan->exact_nodes = plan->world / plan->most;
		job_desc->ntasks_per_node = NO_VAL16;
	}
	if (is_set16(job_desc->ntasks_per_tres))
		return sn_err_set(err, -EINVAL,
				  "--ntasks-per-gpu contradicts --parallel: %s; leave it out",
				  arithmetic(plan, sum, sizeof(sum)));
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
				  option, *list, arithmetic(plan, sum, sizeof(sum)),
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

static uint32_t count_hosts(char *list)
{
	hostlist_t *hosts = list ? hostlist_create(list) : NULL;
	uint32_t n = 0;

	if (hosts) {
		hostlist_uniq(hosts);
		n = (uint32_t)hostlist_count(hosts);
		hostlist_destroy(hosts);
	}
	return n;
}

static int check_nodes(const struct plan *plan, uint32_t nodes,
		       uint32_t required, struct sn_err *err)
{
	char sum[160];

	if (nodes > plan->world)
		return sn_err_set(err, -EINVAL,
				  "-N %u contradicts --parallel: %s, so at most %u nodes have one; leave -N out",
				  nodes, arithmetic(plan, sum, sizeof(sum)),
				  plan->world);
	if (nodes < plan->least_nodes)
		return sn_err_set(err, -EINVAL,
				  "-N %u contradicts --parallel: %s, but %u times %u cards a node are %u; leave -N out or give at least -N %u",
				  nodes, arithmetic(plan, sum, sizeof(sum)), nodes,
				  plan->most, nodes * plan->most,
				  plan->least_nodes);
	if (nodes < required)
		return sn_err_set(err, -EINVAL,
				  "-N %u contradicts -w, which names %u nodes",
				  nodes, required);
	return 0;
}

static int set_nodes(job_desc_msg_t *job_desc, struct plan *plan,
		     struct sn_err *err)
{
	uint32_t required = count_hosts(job_desc->req_nodes);
	uint32_t min = is_set32(job_desc->min_nodes) ? job_desc->min_nodes : 0;
	uint32_t max = is_set32(job_desc->max_nodes) ? job_desc->max_nodes : 0;

	if (max && min != max)
		return sn_err_set(err, -EINVAL,
				  "-N %u-%u does not go with --parallel: give one number, or leave -N out for the best placement",
				  min, max);
	if (max && plan->exact_nodes && max != plan->exact_nodes)
		return sn_err_set(err, -EINVAL,
				  "-N %u contradicts --parallel: %u ranks with %u on each node take %u nodes",
				  max, plan->world, plan->most, plan->exact_nodes);
	if (max)
		plan->exact_nodes = max;
	if (plan->exact_nodes) {
		int rc = check_nodes(plan, plan->exact_nodes, required, err);

		if (rc)
			return rc;
		job_desc->min_nodes = plan->exact_nodes;
		job_desc->max_nodes = plan->exact_nodes;
		return 0;
	}
	if (required > plan->world)
		return sn_err_set(err, -EINVAL,
				  "-w names %u nodes, but --parallel has only %u ranks to run on them",
				  required, plan->world);
	/* Fewer than the -w nodes, and Slurm would drop some of them. */
	job_desc->min_nodes = required > plan->least_nodes ? required :
		plan->least_nodes;
	job_desc->max_nodes = NO_VAL;
	return 0;
}

/* Slurm's own step from tasks to cards miscounts where a core has more threads
 * than the job may use: such a job would pend for ever (24.11.5, also without
 * this suite). */
static int check_threads(const job_desc_msg_t *job_desc, struct sn_err *err)
{
	node_record_t *node_ptr;
	int i;

	for (i = 0; is_set16(job_desc->threads_per_core) &&
	     (node_ptr = next_node(&i)); i++)
		if (node_ptr->tpc > job_desc->threads_per_core)
			return sn_err_set(err, -EINVAL,
					  "--threads-per-core=%u (--hint=nomultithread) does not go with --parallel where cores have %u threads, as on %s; give --cpus-per-task=%u, and a rank has a core of its own",
					  job_desc->threads_per_core,
					  node_ptr->tpc, node_ptr->name,
					  node_ptr->tpc);
	return 0;
}

static int check_others(const job_desc_msg_t *job_desc, const struct plan *plan,
			struct sn_err *err)
{
	char sum[160];

	if (job_desc->features && strchr(job_desc->features, '*'))
		return sn_err_set(err, -EINVAL,
				  "-C %s: counted features do not go with --parallel, for Slurm would choose the nodes of each feature apart; leave the counts out",
				  job_desc->features);
	if (plan->spec->spares)
		return sn_err_set(err, -EINVAL,
				  "--spares=%u: spare nodes are not in this version: Slurm allocates exactly one card a rank, and spares would be cards without one",
				  plan->spec->spares);
	if (job_desc->shared == JOB_SHARED_NONE && plan->world % plan->most)
		return sn_err_set(err, -EINVAL,
				  "--exclusive does not go with this --parallel: %s, which do not fill nodes of %u cards; leave --exclusive out",
				  arithmetic(plan, sum, sizeof(sum)), plan->most);
	return 0;
}

bitstr_t *derive_usable_nodes(const job_desc_msg_t *job_desc)
{
	char *names = xstrdup(job_desc->partition), *save = NULL, *name;
	bitstr_t *nodes = NULL, *without = NULL;

	if (!names && default_part_loc)
		names = xstrdup(default_part_loc->name);
	for (name = names ? strtok_r(names, ",", &save) : NULL; name;
	     name = strtok_r(NULL, ",", &save)) {
		part_record_t *part = find_part_record(name);

		if (!part || !part->node_bitmap)
			continue;
		if (!nodes)
			nodes = bit_copy(part->node_bitmap);
		else
			bit_or(nodes, part->node_bitmap);
	}
	xfree(names);
	if (nodes && job_desc->exc_nodes &&
	    !node_name2bitmap(job_desc->exc_nodes, true, &without, NULL))
		bit_and_not(nodes, without);
	FREE_NULL_BITMAP(without);
	return nodes;
}

static int check_fit(const job_desc_msg_t *job_desc,
		     const struct sn_topoapi *api, const struct plan *plan,
		     struct sn_err *err)
{
	struct sn_topoapi_ask ask = {
		.spec = plan->spec,
		.nodes = derive_usable_nodes(job_desc),
		.cpus_per_task = is_set16(job_desc->cpus_per_task) ?
			job_desc->cpus_per_task : 1,
		.exact_nodes = plan->exact_nodes,
		.whole_nodes = job_desc->shared == JOB_SHARED_NONE,
	};
	int rc;

	if (job_desc->req_nodes &&
	    node_name2bitmap(job_desc->req_nodes, true, &ask.required, NULL))
		FREE_NULL_BITMAP(ask.required);
	rc = api->could_fit(&ask, err);
	if (rc)
		sn_err_prefix(err, rc, "--parallel can never fit%s%s: ",
			      job_desc->partition ? " partition " : "",
			      job_desc->partition ? job_desc->partition : "");
	FREE_NULL_BITMAP(ask.nodes);
	FREE_NULL_BITMAP(ask.required);
	return rc;
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
	uint32_t cpus = is_set16(job_desc->cpus_per_task) ?
		job_desc->cpus_per_task : 1;

	job_desc->num_tasks = plan->world;
	job_desc->bitflags |= JOB_NTASKS_SET;
	job_desc->min_cpus = plan->world * cpus;
	xstrfmtcat(job_desc->tres_per_task, "%sgres/%s%s%s:1",
		   job_desc->tres_per_task ? "," : "", plan->card,
		   plan->type[0] ? ":" : "", plan->type);
	if (job_desc->script && job_desc->environment)
		tell_script(job_desc);
}

int derive_request(job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		   const struct sn_jobspec *spec, struct sn_err *err)
{
	struct plan plan;
	int rc;

	rc = make_plan(api, spec, &plan, err);
	if (!rc)
		rc = check_tasks(job_desc, &plan, err);
	if (!rc)
		rc = check_cards(job_desc, &plan, err);
	if (!rc)
		rc = check_others(job_desc, &plan, err);
	if (!rc)
		rc = check_threads(job_desc, err);
	if (!rc && job_desc->shared == JOB_SHARED_NONE)
		plan.exact_nodes = plan.world / plan.most;
	if (!rc)
		rc = set_nodes(job_desc, &plan, err);
	if (!rc)
		rc = check_fit(job_desc, api, &plan, err);
	if (!rc)
		set_request(job_desc, &plan);
	return rc;
}

static int update_nodes(job_desc_msg_t *job_desc, const job_record_t *job_ptr,
			const struct plan *plan, struct sn_err *err)
{
	char *list = job_desc->req_nodes ? job_desc->req_nodes :
		job_ptr->details->req_nodes;
	uint32_t required = count_hosts(list);
	uint32_t had = job_ptr->details->max_nodes;
	int rc;

	if (is_set32(job_desc->min_nodes)) {
		if (is_set32(job_desc->max_nodes) &&
		    job_desc->max_nodes != job_desc->min_nodes)
			return sn_err_set(err, -EINVAL,
					  "NumNodes=%u-%u does not go with --parallel: give one number",
					  job_desc->min_nodes,
					  job_desc->max_nodes);
		rc = check_nodes(plan, job_desc->min_nodes, required, err);
		if (rc)
			return rc;
		job_desc->max_nodes = job_desc->min_nodes;
	} else if (required > job_ptr->details->min_nodes) {
		if (is_set32(had) && had < required)
			return sn_err_set(err, -EINVAL,
					  "%u nodes are required, but the job takes exactly %u",
					  required, had);
		job_desc->min_nodes = required;
	}
	return 0;
}

int derive_update(job_desc_msg_t *job_desc, const job_record_t *job_ptr,
		  const struct sn_topoapi *api, const struct sn_jobspec *spec,
		  struct sn_err *err)
{
	struct plan plan;
	char sum[160];
	int rc;

	rc = make_plan(api, spec, &plan, err);
	if (rc)
		return rc;
	if (job_desc->features && strchr(job_desc->features, '*'))
		return check_others(job_desc, &plan, err);
	if (is_set32(job_desc->num_tasks) && job_desc->num_tasks != plan.world)
		return sn_err_set(err, -EINVAL,
				  "NumTasks=%u contradicts the job's --parallel: %s",
				  job_desc->num_tasks,
				  arithmetic(&plan, sum, sizeof(sum)));
	if (is_set16(job_desc->ntasks_per_node) || job_desc->tres_per_node ||
	    job_desc->tres_per_job || job_desc->tres_per_task ||
	    job_desc->tres_per_socket)
		return sn_err_set(err, -EINVAL,
				  "the tasks and cards of this job follow from its --parallel: %s",
				  arithmetic(&plan, sum, sizeof(sum)));
	/* A running job shrinks by NumNodes: its own business. */
	if (!IS_JOB_PENDING(job_ptr) || !job_ptr->details)
		return 0;
	if (is_set16(job_desc->cpus_per_task))
		job_desc->min_cpus = plan.world * job_desc->cpus_per_task;
	return update_nodes(job_desc, job_ptr, &plan, err);
}
