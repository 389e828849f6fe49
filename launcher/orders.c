/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orders.c - what a running snrun can be told to do.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/orders.h"

static int check_dp(const struct snrun *run, uint32_t dp, struct sn_err *err)
{
	uint32_t below, above;

	if (!run->elastic)
		return sn_err_set(err, -EINVAL,
				  "job %u has no --elastic, so dp=%u is its only size",
				  run->job.id, run->layout.dp);
	if (sn_sizes_is_legal(&run->sizes, dp))
		return 0;
	below = sn_sizes_at_most(&run->sizes, dp);
	above = sn_sizes_at_least(&run->sizes, dp);
	return sn_err_set(err, -EINVAL,
			  "dp=%u is no size of the job (from %u to %u in steps of %u%s); near it %s %u%s%.0u",
			  dp, run->sizes.min, run->sizes.max, run->sizes.step,
			  run->sizes.gbs ? ", with whole micro batches" : "",
			  below && above ? "are" : "is", below ? below : above,
			  below && above ? " and " : "", below && above ? above : 0);
}

static int shrink(struct snrun *run, uint32_t dp, struct sn_err *err)
{
	int rc;

	if (!dp)
		dp = sn_sizes_lower(&run->sizes, run->layout.dp);
	if (!dp)
		return sn_err_set(err, -ENODEV,
				  "dp=%u is the smallest size of the job", run->layout.dp);
	rc = check_dp(run, dp, err);
	if (!rc && dp >= run->layout.dp)
		rc = sn_err_set(err, -EINVAL, "dp=%u is not less than dp=%u, which it has",
				dp, run->layout.dp);
	if (rc)
		return rc;
	run->cap = run->want = dp;
	return 1;
}

static int grow(struct snrun *run, uint32_t dp, struct sn_err *err)
{
	int rc, fd;

	if (!dp)
		dp = sn_sizes_higher(&run->sizes, run->layout.dp);
	if (!dp)
		return sn_err_set(err, -ENODEV,
				  "dp=%u is the largest size of the job", run->layout.dp);
	rc = check_dp(run, dp, err);
	if (!rc && dp <= run->layout.dp)
		rc = sn_err_set(err, -EINVAL, "dp=%u is not more than dp=%u, which it has",
				dp, run->layout.dp);
	if (rc)
		return rc;
	run->want = dp;
	if (run->cap < dp)
		run->cap = dp;
	snrun_members_fill(run);
	return snrun_watch_start(run, &fd, err);
}

/* ---- leaving nodes and cards ---------------------------------------------------------- */

/* Those that ranks are on; *ret_held (may be NULL): all that the job has there. */
static uint64_t cards_used(const struct snrun *run, const char *node, uint64_t *ret_held)
{
	const struct sn_plan *plan = &run->plan;
	uint64_t used = 0, held = 0;

	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *at = &plan->node[i];

		if (strcmp(at->name, node))
			continue;
		for (uint32_t c = 0; c < at->n_cards; c++) {
			uint64_t bit = at->card[c] < 64 ? UINT64_C(1) << at->card[c] : 0;

			held |= bit;
			used |= c < at->ranks ? bit : 0;
		}
	}
	if (ret_held)
		*ret_held = held;
	return used;
}

int snrun_avoid(struct snrun *run, const char *node, uint64_t cards, uint32_t well,
		struct sn_err *err)
{
	uint64_t held, used = cards_used(run, node, &held);
	struct sn_plan plan = { 0 };
	int rc, added;

	if (cards & ~held)
		return sn_err_set(err, -ENODEV, held ? "the job has no card %d on node %.80s" :
				  "the job has no card %d, and no other, on node %.80s",
				  __builtin_ctzll(cards & ~held), node);
	added = sn_avoids_add(&run->avoid, node, cards, well);
	if (added < 0)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = added ? snrun_fit(run, NULL, run->cap, &plan, err) : 0;
	if (rc) {
		sn_avoids_take_back(&run->avoid);
		return sn_err_prefix(err, rc, "without %s%.80s: ", cards ? "these cards of node " :
				     "node ", node);
	}
	sn_plan_done(&plan);
	return cards ? (used & cards) != 0 : used != 0;
}

static int swap(struct snrun *run, const struct sn_control *ask, struct sn_err *err)
{
	uint32_t i = 0;

	while (i < run->plan.n_nodes && strcmp(run->plan.node[i].name, ask->node))
		i++;
	if (i == run->plan.n_nodes)
		return sn_err_set(err, -ENODEV, "node %.80s is not in the job", ask->node);
	return snrun_avoid(run, ask->node, ask->cards, ask->well, err);
}

/* Then members need not wait for what takes the place of those cards. */
static bool can_be_larger(struct snrun *run)
{
	struct sn_plan plan = { 0 };
	uint32_t dp;

	if (run->layout.dp >= run->cap || snrun_fit(run, NULL, run->cap, &plan, NULL))
		return false;
	dp = plan.layout.dp;
	sn_plan_done(&plan);
	run->regained |= dp > run->layout.dp;
	return dp > run->layout.dp;
}

bool snrun_avoid_look(struct snrun *run)
{
	uint32_t before = run->avoid.changes;

	for (uint32_t i = run->avoid.n; i-- > 0;) {
		char node[SN_CONTROL_NODE_MAX];
		struct sn_avoid_view view;

		/* Others of the node may have ended with one behind it. */
		if (i >= run->avoid.n || !run->avoid.entry[i].well)
			continue;
		snprintf(node, sizeof(node), "%s", run->avoid.entry[i].node);
		snrun_watch_node(node, &view);
		if (sn_avoids_see(&run->avoid, node, &view, snrun_now_ms()))
			snrun_say("what was wrong at node %s has been well for its time; it may have ranks again",
				  node);
	}
	if (run->avoid.changes == before)
		return false;
	snrun_members_exclude(run);
	return can_be_larger(run);
}

static bool is_members(const struct snrun *run, const char *node)
{
	for (uint32_t i = 0; i < run->job.n_nodes; i++)
		if (!strcmp(run->job.offer[i].name, node))
			return false;
	for (uint32_t i = 0; i < run->plan.n_nodes; i++)
		if (!strcmp(run->plan.node[i].name, node))
			return true;
	return false;
}

static int replace(struct snrun *run, const struct sn_control *ask, struct sn_err *err)
{
	int fd, rc;

	/* A member is not stood in for: it is left, and another is submitted. */
	if (*ask->node && is_members(run, ask->node))
		return swap(run, ask, err);
	rc = snrun_replace(run, ask, err);
	return rc ? rc : snrun_watch_start(run, &fd, err);
}

static int requeue(struct snrun *run, struct sn_err *err)
{
	int rc = snrun_check_requeue(run, err);

	if (rc)
		return rc;
	run->requeue = true;
	return 1;
}

int snrun_order(struct snrun *run, const struct sn_control *ask, struct sn_err *err)
{
	switch (ask->op) {
	case SN_CONTROL_STATUS:
		return 0;
	case SN_CONTROL_SHRINK:
		return shrink(run, ask->dp, err);
	case SN_CONTROL_GROW:
		return grow(run, ask->dp, err);
	case SN_CONTROL_SWAP:
		return swap(run, ask, err);
	case SN_CONTROL_PAUSE:
		run->paused = true;
		return 1;
	case SN_CONTROL_RESUME:
		run->paused = false;
		return 0;
	case SN_CONTROL_REPLACE:
		return replace(run, ask, err);
	case SN_CONTROL_REQUEUE:
		return requeue(run, err);
	}
	return -EINVAL;
}
