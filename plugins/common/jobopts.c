/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobopts.c - the job options' way from the command line to slurmctld.
 */
#include <string.h>

#include "plugins/common/jobopts.h"

#define OPT(name) #name, offsetof(struct sn_jobspec_text, name)

const struct sn_jobopt sn_jobopts[] = {
	{ OPT(parallel), "tp=N,ep=N,…",
	  "parallel layout: tp, cp, ep, etp, pp, dp, order, preset, tp_within, cp_within, ep_within, map; nodes, tasks and cards follow from it" },
	{ OPT(pool), "SIZE[/supernode|/node|/card][,bw=RATE]",
	  "memory wanted from the pool of each supernode used" },
	{ OPT(spares), "N", "whole spare nodes in each supernode used" },
	{ OPT(elastic), "min_dp=N[,max_dp=M][,gbs=G,mbs=B]",
	  "data-parallel sizes between which the job may live" },
	{ OPT(role), "train|prefill|decode|infer", "what the job does" },
	{ OPT(service), "NAME", "the service that the job belongs to" },
	{ OPT(replaces), "JOBID",
	  "stand in for nodes that a running --parallel job has lost; may take SpareNodes there" },
	{ NULL, 0, NULL, NULL },
};

_Static_assert(sizeof(sn_jobopts) / sizeof(sn_jobopts[0]) == SN_JOBOPTS + 1,
	       "SN_JOBOPTS counts the table");

bool sn_jobopts_find(char *const *env, uint32_t n, struct sn_jobspec_text *ret)
{
	const size_t prefix = strlen(SN_JOBOPT_PREFIX);
	bool any = false;
	uint32_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; env && i < n; i++) {
		const struct sn_jobopt *opt;
		const char *word;

		if (!env[i] || strncmp(env[i], SN_JOBOPT_PREFIX, prefix))
			continue;
		word = env[i] + prefix;
		for (opt = sn_jobopts; opt->name; opt++) {
			size_t len = strlen(opt->name);

			if (strncmp(word, opt->name, len) || word[len] != '=')
				continue;
			*sn_jobopt_text(ret, opt) = word + len + 1;
			any = true;
		}
	}
	return any;
}
