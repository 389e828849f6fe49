/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * degraded.h - supernodes and units whose links are degraded: which they are,
 * what that means to the engine's nodes, and what to say of a placement.
 *
 * Two sources, the same to all: supernode.conf's DegradedDomains, and the marks
 * in the nodes' records ("degraded": {"supernode": …, "unit": …}), where any node
 * of a domain speaks for the whole of it.
 */
#ifndef SN_TOPOLOGY_DEGRADED_H
#define SN_TOPOLOGY_DEGRADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/place.h"
#include "topology/topo.h"

struct sn_degraded {
	uint8_t *supernode; /* [topo->n_supernodes] not 0: degraded */
	uint8_t *unit; /* [topo->n_units] */
	bool any;
};

/* None is. -ENOMEM; *ret is then safe to hand to sn_degraded_done(). */
int sn_degraded_init(const struct sn_topo *topo, struct sn_degraded *ret,
		     struct sn_err *err);
void sn_degraded_done(struct sn_degraded *degraded);

/*
 * Add those that a hostlist of supernodes' and units' names names; a name that
 * both have means both. -EINVAL for what is no hostlist, with nothing added;
 * -ENOENT with a sentence on the first name that is of neither, all others being
 * added all the same.
 */
int sn_degraded_add(struct sn_degraded *degraded, const struct sn_topo *topo,
		    const char *hostlist, struct sn_err *err);

/* What a node's record says of its supernode and its unit. */
void sn_degraded_add_node(struct sn_degraded *degraded,
			  const struct sn_topo *topo, uint32_t node,
			  bool supernode, bool unit);

bool sn_degraded_is(const struct sn_degraded *degraded,
		    const struct sn_topo *topo, uint32_t node);
/* Set SN_NODE_DEGRADED in node[topo->n_nodes] where it belongs; it is never
 * taken away. */
void sn_degraded_mark(const struct sn_degraded *degraded,
		      const struct sn_topo *topo, struct sn_place_node *node);

/*
 * What to warn of: "supernode sn03 and units u007, u009 are used though their
 * links are degraded: no whole ones had room". Spares count. 0 and "" if none is
 * used, else how many. buf is always terminated; names that have no room in it
 * are counted ("and 3 more").
 */
uint32_t sn_degraded_warning(const struct sn_degraded *degraded,
			     const struct sn_topo *topo,
			     const struct sn_placement *placed, char *buf,
			     size_t size);

#endif
