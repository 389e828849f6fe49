/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups.h - the process groups of a layout, by Megatron-LM's rule.
 *
 * A group's members span its axes, the leftmost axis of the order fastest;
 * groups are enumerated over the remaining axes, leftmost fastest. embd is
 * [first, last] stage of each pp group ([first] alone where pp is 1), pos_embd
 * is [first].
 */
#ifndef SN_TOPOLOGY_GROUPS_H
#define SN_TOPOLOGY_GROUPS_H

#include <stdint.h>

#include "topology/err.h"
#include "topology/layout.h"

enum sn_group_kind {
	SN_GROUP_TP, SN_GROUP_CP, SN_GROUP_DP, SN_GROUP_DP_CP, SN_GROUP_PP,
	SN_GROUP_MP, SN_GROUP_TP_CP, SN_GROUP_TP_DP, SN_GROUP_TP_DP_CP,
	SN_GROUP_EP, SN_GROUP_EP_TP, SN_GROUP_TP_EP_MP, SN_GROUP_TP_EP_PP,
	SN_GROUP_EP_DP, SN_GROUP_EMBD, SN_GROUP_POS_EMBD, SN_GROUP_KINDS
};

struct sn_groups {
	uint32_t n; /* groups */
	uint32_t size; /* members of each */
	uint32_t *rank; /* group g's members: rank[g·size] … */
};

const char *sn_group_name(enum sn_group_kind kind); /* "tp", "dp_cp", … */
/* Owned by the caller: sn_groups_done(). -ENOMEM. */
int sn_groups_build(const struct sn_layout *layout, enum sn_group_kind kind,
		    struct sn_groups *ret, struct sn_err *err);
void sn_groups_done(struct sn_groups *groups);

#endif
