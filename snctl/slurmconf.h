/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.h - what of slurm.conf topology.conf must agree with.
 */
#ifndef SNCTL_SLURMCONF_H
#define SNCTL_SLURMCONF_H

#include "topology/conf.h"
#include "topology/err.h"
#include "topology/hostlist.h"

struct snctl_slurmconf {
	struct sn_names nodes; /* of its NodeName lines, in their order */
	char *topology_plugin; /* NULL: not given, as all below */
	char *select_type;
	char *job_submit;
	char *plugstack; /* PlugStackConfig */
	char *gres_types;
	struct sn_names ctld_hosts; /* "NAME" or "NAME(ADDRESS)", the first first */
	char *slurm_user;
	char *state_save; /* StateSaveLocation */
	char *auth_info;
	char *gres; /* of the first NodeName line that has Gres= */
	/* Of each NodeName line with Gres=, or after a DEFAULT with it: both values. */
	struct sn_names gres_nodes, gres_values;
	char *gres_default; /* of the last NodeName=DEFAULT that has it */
};

/* Owned by the caller (snctl_slurmconf_done). An error means that the file
 * cannot be compared, not that Slurm would refuse it. */
int snctl_slurmconf_parse(const char *text, size_t len, const char *path,
			  sn_conf_read_fn read, void *ctx,
			  struct snctl_slurmconf *ret, struct sn_err *err);
int snctl_slurmconf_read(const char *path, struct snctl_slurmconf *ret,
			 struct sn_err *err);
void snctl_slurmconf_done(struct snctl_slurmconf *conf);

#endif
