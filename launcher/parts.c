/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parts.c - a plan over the cards of several Slurm jobs.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/parts.h"
#include "topology/text.h"

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "not enough memory for the job's parts");
}

/* ---- what all hold together ------------------------------------------------------- */

/* A node of one holding, on the way to being merged. */
struct share {
	const struct sn_plan_offer *offer;
	uint32_t order; /* of the first time the node comes */
};

static int by_name(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int d = strcmp(x->offer->name, y->offer->name);

	return d ? d : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Shares of a node come together, at the place of the first. */
static void group(struct share *share, uint32_t n)
{
	qsort(share, n, sizeof(*share), by_name);
	for (uint32_t i = 1; i < n; i++)
		if (!strcmp(share[i].offer->name, share[i - 1].offer->name))
			share[i].order = share[i - 1].order;
	qsort(share, n, sizeof(*share), by_order);
}

static int fill(const struct share *share, uint32_t n,
		struct sn_plan_offer *offer, uint32_t *card, uint32_t *ret_n,
		struct sn_err *err)
{
	*ret_n = 0;
	for (uint32_t i = 0, k; i < n; i = k) {
		struct sn_plan_offer *to = &offer[(*ret_n)++];

		*to = *share[i].offer;
		to->card = card;
		to->n_cards = 0;
		for (k = i; k < n && share[k].order == share[i].order; k++) {
			const struct sn_plan_offer *from = share[k].offer;

			if (from->n_cards)
				memcpy(card + to->n_cards, from->card,
				       from->n_cards * sizeof(*card));
			to->n_cards += from->n_cards;
		}
		qsort(card, to->n_cards, sizeof(*card), by_number);
		for (uint32_t c = 1; c < to->n_cards; c++)
			if (card[c] == card[c - 1])
				return sn_err_set(err, -EINVAL,
						  "card %u of node %s is in two of the jobs",
						  card[c], to->name);
		card += to->n_cards;
	}
	return 0;
}

int sn_parts_merge(const struct sn_holding *holding, uint32_t n,
		   struct sn_plan_offer **ret, uint32_t *ret_n,
		   struct sn_err *err)
{
	struct sn_plan_offer *offer;
	struct share *share;
	size_t nodes = 0, cards = 0;
	uint32_t at = 0;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		nodes += holding[i].n;
		for (uint32_t k = 0; k < holding[i].n; k++)
			cards += holding[i].offer[k].n_cards;
	}
	share = calloc(nodes + 1, sizeof(*share));
	offer = calloc(1, (nodes + 1) * sizeof(*offer) + (cards + 1) * sizeof(uint32_t));
	if (!share || !offer) {
		free(share);
		free(offer);
		return no_memory(err);
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < holding[i].n; k++, at++)
			share[at] = (struct share){ &holding[i].offer[k], at };
	group(share, at);
	rc = fill(share, at, offer, (uint32_t *)(offer + nodes + 1), ret_n, err);
	free(share);
	if (rc)
		free(offer);
	else
		*ret = offer;
	return rc;
}

/* ---- the parts of a plan ------------------------------------------------------------ */

static bool has_card(const struct sn_plan_offer *offer, uint32_t card)
{
	for (uint32_t i = 0; i < offer->n_cards; i++)
		if (offer->card[i] == card)
			return true;
	return false;
}

/* The holding's offer of a node; NULL: it has nothing there. hint is where the
 * last one was: the nodes of a holding come in nearly the plan's order. */
static const struct sn_plan_offer *find_offer(const struct sn_holding *holding,
					      const char *name, uint32_t *hint)
{
	for (uint32_t i = 0; i < holding->n; i++) {
		uint32_t at = (*hint + i) % holding->n;

		if (!strcmp(holding->offer[at].name, name)) {
			*hint = at;
			return &holding->offer[at];
		}
	}
	return NULL;
}

/* owner[r]: the holding whose card rank r has. */
static int find_owners(const struct sn_plan *plan,
		       const struct sn_holding *holding, uint32_t n,
		       uint32_t *owner, struct sn_err *err)
{
	for (uint32_t r = 0; r < plan->layout.world; r++)
		owner[r] = SN_NONE;
	for (uint32_t h = 0; h < n; h++) {
		uint32_t hint = 0;

		for (uint32_t i = 0; i < plan->n_nodes; i++) {
			const struct sn_plan_node *node = &plan->node[i];
			const struct sn_plan_offer *offer = node->ranks ?
				find_offer(&holding[h], node->name, &hint) : NULL;

			for (uint32_t k = 0; offer && k < node->ranks; k++)
				if (has_card(offer, node->card[k]))
					owner[plan->rank_at[node->first + k]] = h;
		}
	}
	for (uint32_t r = 0; r < plan->layout.world; r++)
		if (owner[r] == SN_NONE)
			return sn_err_set(err, -EINVAL,
					  "card %u of node %s, which rank %u would have, is not the job's any more",
					  plan->rank_card[r],
					  plan->node[plan->rank_node[r]].name, r);
	return 0;
}

static int make_part(const struct sn_plan *plan, const uint32_t *owner,
		     uint32_t holding, struct sn_part *part, bool *seen)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < plan->layout.world; r++)
		n += owner[r] == holding;
	part->holding = holding;
	if (!n)
		return 0;
	part->rank = calloc(n, sizeof(*part->rank));
	if (!part->rank)
		return -ENOMEM;
	memset(seen, 0, plan->n_nodes * sizeof(*seen));
	for (uint32_t r = 0; r < plan->layout.world; r++) {
		if (owner[r] != holding)
			continue;
		part->rank[part->n_ranks++] = r;
		part->n_nodes += !seen[plan->rank_node[r]];
		seen[plan->rank_node[r]] = true;
	}
	return 0;
}

int sn_parts_make(const struct sn_plan *plan, const struct sn_holding *holding,
		  uint32_t n, struct sn_part **ret, uint32_t *ret_n,
		  struct sn_err *err)
{
	struct sn_part *part = calloc((size_t)n + 1, sizeof(*part));
	uint32_t *owner = calloc((size_t)plan->layout.world + 1, sizeof(*owner));
	bool *seen = calloc((size_t)plan->n_nodes + 1, sizeof(*seen));
	uint32_t used = 0;
	int rc = part && owner && seen ? 0 : no_memory(err);

	if (!rc)
		rc = find_owners(plan, holding, n, owner, err);
	for (uint32_t h = 0; !rc && h < n; h++) {
		part[used].job = holding[h].job;
		rc = make_part(plan, owner, h, &part[used], seen);
		if (rc)
			no_memory(err);
		used += part[used].n_ranks > 0;
	}
	free(owner);
	free(seen);
	if (rc) {
		sn_parts_done(part, used);
		return rc;
	}
	*ret = part;
	*ret_n = used;
	return 0;
}

void sn_parts_done(struct sn_part *part, uint32_t n)
{
	for (uint32_t i = 0; part && i < n; i++)
		free(part[i].rank);
	free(part);
}

/* ---- texts ---------------------------------------------------------------------------- */

char *sn_part_hostfile(const struct sn_plan *plan, const struct sn_part *part)
{
	struct sn_buf buf = { 0 };

	for (uint32_t t = 0; t < part->n_ranks; t++)
		sn_buf_add(&buf, "%s\n",
			   plan->node[plan->rank_node[part->rank[t]]].name);
	return buf.text;
}

char *sn_part_ranks(const struct sn_plan *plan, const struct sn_part *part)
{
	struct sn_buf buf = { 0 };

	for (uint32_t t = 0, k; t < part->n_ranks; t = k) {
		uint32_t rank = part->rank[t], local = plan->rank_local[rank];
		uint32_t node = plan->rank_node[rank];

		for (k = t + 1; k < part->n_ranks &&
		     part->rank[k] == rank + (k - t) &&
		     plan->rank_node[part->rank[k]] == node &&
		     plan->rank_local[part->rank[k]] == local + (k - t); k++)
			;
		sn_buf_add(&buf, "%s%u:%u:%u:%u", t ? "," : "", rank, local,
			   plan->node[node].ranks, k - t);
	}
	return buf.text;
}
