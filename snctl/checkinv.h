/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkinv.h - the inventory of the cards, for snctl check.
 */
#ifndef SNCTL_CHECKINV_H
#define SNCTL_CHECKINV_H

#include <stdint.h>

#include "topology/err.h"
#include "topology/hostlist.h"
#include "topology/policy.h"
#include "topology/topo.h"

struct snctl_checkinv {
	const char *from; /* policy's words: a path, a pattern, a program */
	uint32_t nodes, cards; /* that were read */
	size_t first_warning; /* those from here on are about it */
	uint32_t asked; /* nodes that a program was asked about, 0: it is no program */
};

/*
 * Read what policy names and judge it for all nodes of topo; policy has a
 * RankTable. config is the path of topology.conf, beside which slurm.conf may
 * stand. Appends to warnings what is odd. -EINVAL, -ENOENT … what no rank table
 * could be made of.
 */
int snctl_check_inventory(const char *config, const struct sn_topo *topo,
			  const struct sn_policy *policy,
			  struct sn_names *warnings, struct snctl_checkinv *ret,
			  struct sn_err *err);

#endif
