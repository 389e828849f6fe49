/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * where.h - where snelasticd is, from slurm.conf and supernode.conf alone, so that
 * it is found also while slurmctld is down.
 */
#ifndef SN_ELASTIC_WHERE_H
#define SN_ELASTIC_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/policy.h"

#define SN_ELASTIC_HOSTS_MAX 8
#define SN_ELASTIC_HOST_MAX 256

struct sn_elastic_host {
	char name[SN_ELASTIC_HOST_MAX]; /* as it calls itself */
	char address[SN_ELASTIC_HOST_MAX]; /* what to connect to; often the same */
};

struct sn_elastic_where {
	struct sn_elastic_host host[SN_ELASTIC_HOSTS_MAX]; /* the first choice first */
	uint32_t n_hosts;
	uint32_t port;
	char socket[SN_POLICY_TEXT_MAX]; /* on the daemon's own host; "": none */
	char state_dir[SN_POLICY_TEXT_MAX];
	char munge_socket[SN_POLICY_TEXT_MAX]; /* "": munge's own */
	uint32_t slurm_uid; /* of SlurmUser */
	char slurm_user[64];
};

/*
 * Read both files; config is a topology.conf that they stand beside, NULL: where
 * Slurm's usual places have one. *ret_policy is supernode.conf's (its defaults
 * where there is none). -EINVAL, -ENOENT with the file's name.
 */
int sn_elastic_find(const char *config, struct sn_policy *ret_policy,
		    struct sn_elastic_where *ret, struct sn_err *err);

/* Is a name among those of a host, blanks between and at both ends? Domains are not
 * looked at where one of the two has none. */
#define SN_ELASTIC_NAMES_MAX (SN_ELASTIC_HOSTS_MAX * SN_ELASTIC_HOST_MAX + SN_ELASTIC_HOST_MAX + 8)
bool sn_elastic_is_among(const char *names, const char *name);

/* The same from what was read already; pure. slurmctld_hosts as in slurm.conf, one
 * word each ("name" or "name(address)"); ElasticdHosts goes before them. */
int sn_elastic_hosts(const char *elasticd_hosts, const char *const *slurmctld_host,
		     uint32_t n, struct sn_elastic_where *ret, struct sn_err *err);

#endif
