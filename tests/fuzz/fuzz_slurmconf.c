/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_slurmconf.c - what snctl and snelasticd read of slurm.conf.
 */
#include "config.h"

#include "fuzz.h"
#include "fuzzinclude.h"
#include "snctl/slurmconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_include in = fuzz_include_split(data, &size);
	struct snctl_slurmconf conf;
	struct sn_err err = { "" };

	if (snctl_slurmconf_parse((const char *)data, size, "slurm.conf",
				  fuzz_include_read, &in, &conf, &err)) {
		fuzz_check_err(&err);
		MUST(!conf.nodes.n && !conf.gres && !conf.topology_plugin);
		return 0;
	}
	MUST(conf.nodes.n <= SN_HOSTLIST_MAX);
	for (size_t i = 0; i < conf.nodes.n; i++)
		MUST(*conf.nodes.name[i]);
	for (size_t i = 0; i < conf.ctld_hosts.n; i++)
		MUST(*conf.ctld_hosts.name[i]);
	MUST(conf.gres_nodes.n == conf.gres_values.n);
	MUST(!conf.gres_nodes.n || conf.gres);
	/* No key has an empty value, so none may come out of one. */
	MUST(!conf.gres || *conf.gres);
	MUST(!conf.state_save || *conf.state_save);
	MUST(!conf.auth_info || *conf.auth_info);
	snctl_slurmconf_done(&conf);
	MUST(!conf.nodes.n && !conf.gres);
	return 0;
}
