/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aggregate.h - place a job, and keep --consolidate-segments.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_AGGREGATE_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_AGGREGATE_H

#include "plugins/topology_supernode/need.h"

/*
 * sn_place(), but with --consolidate-segments all segments are in one domain of
 * the smallest kind that could hold them were it idle: a supernode, else a
 * fabric of the innermost level with one large enough, else anywhere. state's
 * nodes are need->offer.
 */
int aggregate_place(const struct need *need, const struct sn_place_state *state,
		    const struct sn_place_request *request,
		    struct sn_placement *ret, struct sn_err *err);

#endif
