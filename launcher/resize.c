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

static bool is_in(const struct sn_names *names, const char *name)
{
	for (size_t i = 0; names && i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return true;
	return false;
}

/* What the base and the members that run hold, in ret[1 + n_members]. */
static uint32_t holdings(const struct snrun *run, struct sn_holding *ret)
{
	uint32_t n = 0;

	ret[n++] = (struct sn_holding){
		run->job.id, run->job.offer, run->job.n_nodes,
	};
	for (uint32_t i = 0; i < run->n_members; i++) {
		const struct sn_member *member = &run->member[i];

		if (member->phase == SN_JOB_RUNS && member->job.n_nodes)
			ret[n++] = (struct sn_holding){
				member->id, member->job.offer,
				member->job.n_nodes,
			};
	}
	return n;
}

/* Slurm gives a step the first of the cards that its job has on a node. So of a node
 * with cards to avoid those before the first of them can go on. */
static void cut_cards(const struct snrun *run, struct sn_plan_offer *offer)
{
	uint64_t cards = sn_avoids_cards(&run->avoid, offer->name);

	for (uint32_t c = 0; cards && c < offer->n_cards; c++)
		if (offer->card[c] < 64 && cards >> offer->card[c] & 1)
			offer->n_cards = c;
}

uint32_t snrun_cards_of(const struct snrun *run, const struct sn_plan_offer *offer)
{
	struct sn_plan_offer usable = *offer;

	if (sn_avoids_is_node(&run->avoid, offer->name))
		return 0;
	cut_cards(run, &usable);
	return usable.n_cards;
}

/* The same without those; *ret_copy (free) is what they then point to. */
static int cut_holdings(const struct snrun *run, struct sn_holding *holding, uint32_t n,
			struct sn_plan_offer **ret_copy)
{
	struct sn_plan_offer *copy;
	size_t all = 0, at = 0;

	for (uint32_t i = 0; i < n; i++)
		all += holding[i].n;
	*ret_copy = copy = calloc(all + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_plan_offer *from = holding[i].offer;
		uint32_t kept = 0;

		for (uint32_t k = 0; k < holding[i].n; k++) {
			copy[at + kept] = from[k];
			cut_cards(run, &copy[at + kept]);
			kept += copy[at + kept].n_cards > 0 || !from[k].n_cards;
		}
		holding[i].offer = copy + at;
		holding[i].n = kept;
		at += kept;
	}
	return 0;
}

/* All offers that may be used, one block. */
static int usable_offers(const struct snrun *run, const struct sn_names *avoid,
			 struct sn_plan_offer **ret, uint32_t *ret_n,
			 struct sn_err *err)
{
	struct sn_holding *holding = calloc((size_t)run->n_members + 1,
					    sizeof(*holding));
	struct sn_plan_offer *copy = NULL;
	uint32_t n = holding ? holdings(run, holding) : 0;
	int rc = n && !cut_holdings(run, holding, n, &copy) ? 0 :
		sn_err_set(err, -ENOMEM, "no memory");

	if (!rc)
		rc = sn_parts_merge(holding, n, ret, ret_n, err);
	free(holding);
	free(copy);
	if (rc)
		return rc;
	n = 0;
	for (uint32_t i = 0; i < *ret_n; i++)
		if (!is_in(avoid, (*ret)[i].name) &&
		    !sn_avoids_is_node(&run->avoid, (*ret)[i].name))
			(*ret)[n++] = (*ret)[i];
	*ret_n = n;
	return 0;
}

int snrun_make_parts(struct snrun *run, struct sn_err *err)
{
	struct sn_holding *holding = calloc((size_t)run->n_members + 1,
					    sizeof(*holding));
	struct sn_part *part;
	uint32_t n;
	int rc;

	if (!holding)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = sn_parts_make(&run->plan, holding, holdings(run, holding), &part,
			   &n, err);
	free(holding);
	if (rc)
		return rc;
	sn_parts_done(run->part, run->n_parts);
	run->part = part;
	run->n_parts = n;
	return 0;
}

const struct sn_job *snrun_job_of(const struct snrun *run, uint32_t id)
{
	if (id == run->job.id)
		return &run->job;
	for (uint32_t i = 0; i < run->n_members; i++)
		if (run->member[i].id == id)
			return &run->member[i].job;
	return NULL;
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
	struct sn_plan_offer *offer = NULL;
	uint32_t n, cards, dp;
	int rc = usable_offers(run, avoid, &offer, &n, err);

	if (rc)
		return rc;
	rc = -ENODEV;
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
	snrun_members_refresh(run);
	rc = snrun_fit(run, avoid, run->cap, &plan, err);
	if (rc)
		return rc;
	sn_plan_done(&run->plan);
	run->plan = plan;
	run->plan.job_id = run->job.id;
	run->layout = plan.layout;
	if (plan.layout.dp == old)
		snrun_say("dp=%u as before, its %u ranks placed anew", old,
			  plan.layout.world);
	else
		snrun_say("dp=%u after dp=%u: %u ranks on %u nodes, placed anew",
			  plan.layout.dp, old, plan.layout.world, plan.n_nodes);
	return 0;
}
