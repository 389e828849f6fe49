/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resize.c - the layout made anew for what the job holds at present: the largest
 * legal size that the live cards can run.
 *
 * A swap keeps all ranks where they are; this does not: ranks are numbered
 * contiguously again, supernode by supernode, as in a job of that size.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/snrun.h"

static bool avoided(const struct sn_names *avoid, const char *name)
{
	for (size_t i = 0; avoid && i < avoid->n; i++)
		if (!strcmp(avoid->name[i], name))
			return true;
	return false;
}

/* The offers that may be used; as many as are returned. */
static uint32_t usable_offers(const struct sn_job *job,
			      const struct sn_names *avoid,
			      struct sn_plan_offer *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < job->n_nodes; i++)
		if (!avoided(avoid, job->offer[i].name))
			ret[n++] = job->offer[i];
	return n;
}

/* No size above it can be run: atoms do not lie across supernodes. */
static uint32_t upper_bound(const struct snrun *run,
			    const struct sn_plan_offer *offer, uint32_t n,
			    uint32_t *ret_cards, struct sn_err *err)
{
	const struct sn_topo *topo = run->job.topo;
	uint32_t *cards = calloc((size_t)topo->n_supernodes + 1, sizeof(*cards));
	uint32_t dp = 0;

	*ret_cards = 0;
	if (!cards) {
		sn_err_set(err, -ENOMEM, "no memory");
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = sn_topo_find_node(topo, offer[i].name);

		if (node == SN_NONE)
			continue;
		cards[topo->node[node].supernode] += offer[i].n_cards;
		*ret_cards += offer[i].n_cards;
	}
	dp = sn_sizes_fit(&run->sizes, cards, topo->n_supernodes);
	free(cards);
	return dp;
}

int snrun_fit(const struct snrun *run, const struct sn_names *avoid,
	      uint32_t at_most, struct sn_plan *ret, struct sn_err *err)
{
	const struct sn_job *job = &run->job;
	struct sn_plan_offer *offer = calloc((size_t)job->n_nodes + 1,
					     sizeof(*offer));
	uint32_t n, cards, dp;
	int rc = -ENODEV;

	if (!offer)
		return sn_err_set(err, -ENOMEM, "no memory");
	n = usable_offers(job, avoid, offer);
	dp = upper_bound(run, offer, n, &cards, err);
	if (dp > at_most)
		dp = sn_sizes_at_most(&run->sizes, at_most);
	for (; dp; dp = sn_sizes_lower(&run->sizes, dp)) {
		struct sn_layout layout = run->layout;

		rc = sn_layout_set_dp(&layout, dp, err);
		if (!rc)
			rc = sn_plan_build(&layout, run->spares, job->topo,
					   offer, n, ret, err);
		if (rc != -ENOSPC && rc != -EINVAL)
			break;
	}
	free(offer);
	if (dp || rc == -ENOMEM)
		return rc;
	return sn_err_set(err, -ENODEV,
			  "the %u cards on %u nodes that are left hold no legal size: min_dp=%u takes %llu cards, in whole atoms of %u in one supernode each",
			  cards, n, run->sizes.min,
			  (unsigned long long)sn_sizes_ranks(&run->sizes, run->sizes.min),
			  run->sizes.atom);
}

int snrun_resize(struct snrun *run, const struct sn_names *avoid,
		 struct sn_err *err)
{
	struct sn_plan plan = { 0 };
	uint32_t old = run->layout.dp;
	int rc = sn_job_reload(&run->job, err);

	/* A slurmctld that does not answer: what is known must do. */
	if (rc && rc != -EIO)
		return rc;
	rc = snrun_fit(run, avoid, run->want, &plan, err);
	if (rc)
		return rc;
	sn_plan_done(&run->plan);
	run->plan = plan;
	run->plan.job_id = run->job.id;
	run->layout = plan.layout;
	snrun_say("dp=%u%s%u: %u ranks on %u nodes, placed anew", plan.layout.dp,
		  plan.layout.dp == old ? " as before, of dp=" : " after dp=",
		  plan.layout.dp == old ? run->want : old, plan.layout.world,
		  plan.n_nodes);
	return 0;
}
