/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repair.c - what a job does about nodes that it has lost: a spare in their place,
 * or another size.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/link.h"
#include "launcher/orders.h"
#include "launcher/relaunch.h"

uint32_t repair_spares_left(const struct sn_plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->n_nodes; i++)
		n += plan->node[i].ranks == 0;
	return n;
}

static int replace(struct snrun *run, struct past *past, uint32_t i,
		   const bool *usable, struct sn_err *err)
{
	struct sn_plan *plan = &run->plan;
	uint32_t spare = sn_plan_find_spare(plan, i, usable);
	int rc;

	if (spare == SN_NONE)
		return sn_err_set(err, -ENODEV,
				  "no spare for node %s is left in its supernode %s",
				  plan->node[i].name,
				  plan->supernode[plan->node[i].supernode]);
	snrun_say("node %s takes the place of %s", plan->node[spare].name,
		  plan->node[i].name);
	rc = sn_plan_swap(plan, i, spare, err);
	if (!rc) {
		past->lost[i] = false;
		memmove(past->lost + spare, past->lost + spare + 1,
			(plan->n_nodes - spare) * sizeof(*past->lost));
	}
	return rc;
}

bool repair_is_in(const struct sn_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return true;
	return false;
}

/* live NULL: slurmctld does not say; then what srun has said must do. */
static int replace_lost(struct snrun *run, struct past *past,
			const struct sn_names *live, struct sn_err *err)
{
	struct sn_plan *plan = &run->plan;
	bool *usable = calloc((size_t)plan->n_nodes + 1, sizeof(*usable));
	int rc = 0;

	if (!usable)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; !rc && i < plan->n_nodes;) {
		bool gone = live && !repair_is_in(live, plan->node[i].name);

		if (!past->lost[i] && !gone) {
			i++;
			continue;
		}
		if (!plan->node[i].ranks) {
			sn_plan_drop(plan, i);
			memmove(past->lost + i, past->lost + i + 1,
				(plan->n_nodes - i) * sizeof(*past->lost));
			continue;
		}
		for (uint32_t k = 0; k < plan->n_nodes; k++)
			usable[k] = !past->lost[k] &&
				(!live || repair_is_in(live, plan->node[k].name));
		rc = replace(run, past, i, usable, err);
		if (rc == -ENODEV && run->elastic)
			break;
		/* A node that is only under suspicion is better than none. */
		if (rc == -ENODEV && live && !gone) {
			snrun_say("%s; the node is still in the job and is tried again",
				  err->text);
			past->lost[i++] = false;
			rc = 0;
		}
	}
	free(usable);
	return rc;
}

/* The lost nodes, which may still be in the job for slurmctld. */
static int lost_names(const struct snrun *run, const struct past *past,
		      struct sn_names *ret)
{
	for (uint32_t i = 0; i < run->plan.n_nodes; i++)
		if (past->lost[i] && sn_names_add(ret, run->plan.node[i].name))
			return -ENOMEM;
	return 0;
}

/* No spare is left, but a smaller size may be. */
static int find_size(struct snrun *run, struct past *past, struct sn_err *err)
{
	struct sn_names avoid = { NULL, 0, 0 };
	bool *lost;
	int rc = lost_names(run, past, &avoid);

	if (rc)
		sn_err_set(err, rc, "no memory");
	else
		rc = snrun_resize(run, &avoid, err);
	if (rc == -ENODEV && avoid.n) {
		/* A node that is only under suspicion is better than none; what
		 * has really gone is not in the job any more. */
		rc = snrun_resize(run, NULL, err);
		if (!rc)
			snrun_say("nodes that were lost to the last step are still in the job and are tried again");
	}
	sn_names_done(&avoid);
	if (rc)
		return rc;
	lost = calloc((size_t)run->plan.n_nodes + 1, sizeof(*lost));
	if (!lost)
		return sn_err_set(err, -ENOMEM, "no memory");
	free(past->lost);
	past->lost = lost;
	return 0;
}

/* Where there is none, the daemon may know what else can be had. */
static int shrink(struct snrun *run, struct past *past, struct sn_err *err)
{
	int rc = find_size(run, past, err);

	while (rc == -ENODEV && !run->requeue) {
		if (snrun_wait_help(run, err->text))
			break;
		if (!run->requeue)
			rc = find_size(run, past, err);
	}
	/* Before the next generation. */
	return rc == -ENODEV && run->requeue ? 0 : rc;
}

int repair_nodes(struct snrun *run, struct past *past,
		  const struct sn_names *live, struct sn_err *err)
{
	int rc = replace_lost(run, past, live, err);

	/* A job that is not to be started again ends; it is not to be requeued either. */
	if (rc != -ENODEV ||
	    (!run->elastic && (!past->restarts.max || !snrun_link_is_there(run))))
		return rc;
	snrun_say("%s", err->text);
	return shrink(run, past, err);
}

int repair_anew(struct snrun *run, struct past *past, struct sn_err *err)
{
	/* What the base has lost counts; if slurmctld does not answer, later. */
	(void)sn_job_reload(&run->job, err);
	snrun_members_refresh(run);
	snrun_members_fill(run);
	return shrink(run, past, err);
}

void repair_suspect(struct snrun *run, struct past *past,
			 const struct sn_outcome *out)
{
	uint32_t node;

	if (out->node_lost || !out->rank_failed ||
	    out->rank >= run->layout.world) {
		past->failed_on[0] = '\0';
		return;
	}
	node = run->plan.rank_node[out->rank];
	if (!strcmp(past->failed_on, run->plan.node[node].name) &&
	    repair_spares_left(&run->plan))
		past->lost[node] = true;
	snprintf(past->failed_on, sizeof(past->failed_on), "%s",
		 run->plan.node[node].name);
}
