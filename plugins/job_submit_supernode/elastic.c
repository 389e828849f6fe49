/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elastic.c - the base of an elastic batch job.
 */
#include "plugins/compat.h"

#include <stdio.h>

#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plugins/common/jobopts.h"
#include "plugins/job_submit_supernode/elastic.h"

bool elastic_make_base(job_desc_msg_t *job_desc, const struct sn_policy *policy,
		       struct sn_jobspec *spec, char text[ELASTIC_TEXT_MAX])
{
	struct sn_elastic *e = &spec->elastic;
	uint32_t want = e->want ? e->want : spec->layout.dp;
	int n;

	if (!spec->has_elastic || !policy->elastic_members || !job_desc->script)
		return false;
	if (sn_layout_set_dp(&spec->layout, e->min_dp, NULL))
		return false;
	e->want = want;
	n = snprintf(text, ELASTIC_TEXT_MAX, "min_dp=%u,max_dp=%u,want=%u",
		     e->min_dp, e->max_dp, want);
	if (e->gbs)
		snprintf(text + n, ELASTIC_TEXT_MAX - (size_t)n, ",gbs=%u,mbs=%u",
			 e->gbs, e->mbs);
	return true;
}

static void put(char **env, uint32_t n, const char *prefix, const char *name,
		const char *value)
{
	char *begin = xstrdup_printf("%s" SN_JOBOPT_PREFIX "%s=", prefix, name);
	uint32_t i;

	for (i = 0; env && i < n; i++) {
		if (xstrncmp(env[i], begin, strlen(begin)))
			continue;
		xfree(env[i]);
		env[i] = xstrdup_printf("%s%s", begin, value);
	}
	xfree(begin);
}

void elastic_write_option(job_desc_msg_t *job_desc, const char *name,
			  const char *value)
{
	put(job_desc->spank_job_env, job_desc->spank_job_env_size, "", name, value);
	put(job_desc->environment, job_desc->env_size, "SLURM_SPANK_", name, value);
}
