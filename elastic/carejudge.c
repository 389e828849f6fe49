/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carejudge.c - may a node that does not answer be taken out?
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "elastic/carejudge.h"

#define NEAR_MAX 64 /* that are looked at: the loop waits */

static bool may_ask(const struct sn_view_node *node)
{
	return node->port && !node->down && !node->silent;
}

static void pick_near(const struct sn_topo *topo, const struct sn_view_nodes *nodes,
		      uint32_t self, uint32_t seed, struct sn_care_others *ret)
{
	const struct sn_topo_supernode *sn = &topo->supernode[topo->node[self].supernode];

	ret->any = sn->n_nodes > 1;
	for (uint32_t i = 0; i < sn->n_nodes && i < NEAR_MAX && ret->n < SN_CARE_OTHERS; i++) {
		uint32_t at = sn->first_node + (uint32_t)(((uint64_t)seed + i) % sn->n_nodes);
		const struct sn_view_node *is = at == self ? NULL :
			sn_view_node(nodes, topo->node[at].name);

		if (is && may_ask(is))
			ret->node[ret->n++] = (uint32_t)(is - nodes->node);
	}
}

static bool is_picked(const struct sn_care_others *o, uint32_t node)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->node[i] == node)
			return true;
	return false;
}

/* In another supernode than that. */
static bool is_far(const struct sn_topo *topo, const struct sn_view_node *node, uint32_t own)
{
	uint32_t is = *node->name ? sn_topo_find_node(topo, node->name) : SN_NONE;

	return is == SN_NONE ? *node->name != '\0' : topo->node[is].supernode != own;
}

/* The first from `from` on; SN_NONE. */
static uint32_t find_far(const struct sn_topo *topo, const struct sn_view_nodes *nodes,
			 uint32_t own, uint64_t from, struct sn_care_others *ret)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		uint32_t at = (uint32_t)((from + i) % nodes->n);
		bool may = may_ask(&nodes->node[at]) && !is_picked(ret, at);

		if ((!may && ret->any) || !is_far(topo, &nodes->node[at], own))
			continue;
		ret->any = true;
		if (may)
			return at;
	}
	return SN_NONE;
}

/* From several places of the table, so that they have little in common. */
static void pick_far(const struct sn_topo *topo, const struct sn_view_nodes *nodes,
		     uint32_t own, uint32_t seed, struct sn_care_others *ret)
{
	for (uint64_t part = 0; part < SN_CARE_OTHERS; part++) {
		uint32_t at = find_far(topo, nodes, own, seed + part * nodes->n / SN_CARE_OTHERS, ret);

		if (at == SN_NONE)
			return;
		ret->node[ret->n++] = at;
	}
}

void sn_care_pick(const struct sn_topo *topo, const struct sn_view_nodes *nodes, uint32_t node,
		  uint32_t seed, struct sn_care_others *near, struct sn_care_others *far)
{
	uint32_t self = sn_topo_find_node(topo, nodes->node[node].name);

	memset(near, 0, sizeof(*near));
	memset(far, 0, sizeof(*far));
	/* Each node of Slurm's is in the model, if need be as a supernode of its own. */
	if (self == SN_NONE)
		return;
	pick_near(topo, nodes, self, seed, near);
	pick_far(topo, nodes, topo->node[self].supernode, seed, far);
}

static bool most_answer(const struct sn_care_others *o)
{
	return o->answer * 2 > o->n;
}

uint32_t sn_care_asks_again(enum sn_care_witness witness, enum sn_node_word word)
{
	if (word == SN_NODE_REFUSES)
		return 2;
	if (word != SN_NODE_IS_SILENT || witness == SN_WITNESS_LOST)
		return 0;
	return witness == SN_WITNESS_NONE ? 2 : 1;
}

const char *sn_care_spare(enum sn_care_witness witness, enum sn_node_word word,
			  const struct sn_care_others *near, const struct sn_care_others *far)
{
	if (word == SN_NODE_ANSWERS)
		return "its slurmd answers";
	if (word == SN_NODE_UNKNOWN)
		return "it cannot be asked";
	if (word == SN_NODE_REFUSES && witness == SN_WITNESS_NONE)
		return "its host is alive without slurmd, and what runs there may be, too";
	if (far->any ? !most_answer(far) : !most_answer(near))
		return "other nodes do not answer either, so it may be the network";
	if (witness < SN_WITNESS_ENDED && word == SN_NODE_IS_SILENT && near->any && !most_answer(near))
		return "others of its supernode do not answer either, so it may be their network";
	return NULL;
}

bool sn_care_is_whole(enum sn_care_witness witness, enum sn_node_word word,
		      const struct sn_care_others *near, const struct sn_care_others *far)
{
	return witness >= SN_WITNESS_ENDED && word == SN_NODE_IS_SILENT &&
		near->any && !near->answer &&
		far->n == SN_CARE_OTHERS && far->answer == far->n;
}

/* Has it been counted within the minute; or, as none was, can it be? */
static bool may_be_whole(struct sn_care_limit *limit, uint32_t max, const char *supernode,
			 int64_t now)
{
	if (limit->supernode_at && now - limit->supernode_at < SN_CARE_OUT_MS)
		return !strcmp(limit->supernode, supernode);
	if (limit->n >= max)
		return false;
	limit->n++;
	limit->supernode_at = now;
	snprintf(limit->supernode, sizeof(limit->supernode), "%s", supernode);
	return true;
}

bool sn_care_one_more(struct sn_care_limit *limit, uint32_t max, const char *supernode,
		      int64_t now)
{
	if (!limit->since || now - limit->since >= SN_CARE_OUT_MS) {
		limit->since = now;
		limit->n = limit->over = 0;
	}
	if (supernode && may_be_whole(limit, max, supernode, now))
		return true;
	if (limit->n < max) {
		limit->n++;
		return true;
	}
	limit->over++;
	return false;
}
