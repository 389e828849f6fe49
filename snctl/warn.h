/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * warn.h - what is legal in a topology, but seldom meant.
 */
#ifndef SNCTL_WARN_H
#define SNCTL_WARN_H

#include "snctl/slurmconf.h"
#include "topology/hostlist.h"
#include "topology/topo.h"

/* Appends a sentence. 0 or -ENOMEM. */
int snctl_warn(struct sn_names *ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends one sentence for each kind of oddity. Returns 0 or -ENOMEM. */
int snctl_warn_topology(const struct sn_topo *topo, struct sn_names *ret);

/* The same for what slurm.conf says otherwise. */
int snctl_warn_slurmconf(const struct sn_topo *topo,
			 const struct snctl_slurmconf *conf, struct sn_names *ret);

/* warnslurm.c: the lines of slurm.conf (at path), plugstack.conf and gres.conf
 * without which the suite does less, and topology.yaml. card is CardGres. */
int snctl_warn_plugins(const char *path, const struct snctl_slurmconf *conf,
		       struct sn_names *ret);
int snctl_warn_gres(const char *path, const struct snctl_slurmconf *conf,
		    const char *card, struct sn_names *ret);

/* warnrecords.c: marks in the nodes' records, as slurmctld has them, that cannot be read. */
int snctl_warn_records(struct sn_names *ret, struct sn_err *err);

#endif
