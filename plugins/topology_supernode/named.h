/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h - pool regions with names: what they hold, and whom they draw.
 *
 * They are in the node records (marks.h), so slurmctld saves them, and nothing is
 * kept here.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_NAMED_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_NAMED_H

#include <stdint.h>

#include "plugins/topology_supernode/offer.h"

#define NAMED_ANY_USER UINT32_MAX

/* Take what all regions hold from the pools of their supernodes: also where jobs
 * count as gone, for regions outlive them. */
void named_take(struct offer *offer);

/* Only the nodes that have the region, if it is that user's, can serve. */
void named_keep_nodes(const char *name, uint32_t uid, struct offer *offer);

/* Is there one of that name, and is it that user's? *ret_bytes is its part on
 * the node that has most. -ENOENT, -EPERM with a sentence. */
int named_find(const char *name, uint32_t uid, uint64_t *ret_bytes,
	       struct sn_err *err);

#endif
