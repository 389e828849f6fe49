/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acttext.c - actions in words.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elastic/act.h"

static const char *const kinds[SN_ACT_KINDS] = {
	[SN_ACT_TELL] = "tell", [SN_ACT_NODE_OUT] = "node-out",
	[SN_ACT_REQUEUE] = "requeue", [SN_ACT_START] = "start",
	[SN_ACT_CANCEL] = "cancel", [SN_ACT_RELEASE] = "release",
	[SN_ACT_REGION_OUT] = "region-out",
};
static const char *const ends[SN_ACT_ENDS] = {
	[SN_ACT_DONE] = "done", [SN_ACT_ALREADY] = "already", [SN_ACT_VOID] = "void",
	[SN_ACT_FAILED] = "failed", [SN_ACT_DRY] = "dry-run",
};

static int find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -EINVAL;
}

const char *sn_act_kind_name(enum sn_act_kind kind)
{
	return kinds[kind];
}

int sn_act_kind_find(const char *name, enum sn_act_kind *ret)
{
	int i = find(kinds, SN_ACT_KINDS, name);

	if (i >= 0)
		*ret = (enum sn_act_kind)i;
	return i < 0 ? i : 0;
}

const char *sn_act_end_name(enum sn_act_end end)
{
	return ends[end];
}

int sn_act_end_find(const char *name, enum sn_act_end *ret)
{
	int i = find(ends, SN_ACT_ENDS, name);

	if (i >= 0)
		*ret = (enum sn_act_end)i;
	return i < 0 ? i : 0;
}

bool sn_act_has_object(const struct sn_act *act)
{
	if (act->kind == SN_ACT_NODE_OUT)
		return *act->node != 0;
	return act->kind == SN_ACT_REGION_OUT ? *act->region != 0 : act->job != 0;
}

bool sn_act_same(const struct sn_act *a, const struct sn_act *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == SN_ACT_NODE_OUT)
		return !strcmp(a->node, b->node);
	if (a->kind == SN_ACT_REGION_OUT)
		return a->incarnation == b->incarnation && !strcmp(a->region, b->region);
	if (a->job != b->job || a->restarts != b->restarts)
		return false;
	return a->kind != SN_ACT_TELL ||
		(a->op == b->op && a->dp == b->dp && a->cards == b->cards &&
		 !strcmp(a->node, b->node));
}

const char *sn_act_text(const struct sn_act *act, char *buf, size_t size)
{
	switch (act->kind) {
	case SN_ACT_TELL:
		if (act->dp)
			snprintf(buf, size, "have job %u %s to dp=%u", act->job,
				 sn_control_name(act->op), act->dp);
		else
			snprintf(buf, size, "have job %u %s%s%.64s", act->job,
				 sn_control_name(act->op), *act->node ? " " : "", act->node);
		break;
	case SN_ACT_NODE_OUT:
		snprintf(buf, size, "take node %.64s out", act->node);
		break;
	case SN_ACT_REGION_OUT:
		snprintf(buf, size, "take the pool region %s away", act->region);
		break;
	default:
		snprintf(buf, size, "%s job %u", kinds[act->kind], act->job);
		break;
	}
	return buf;
}
