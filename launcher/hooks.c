/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.c - what other parts of the launcher do between the plan and the step.
 *
 * To add one, call it here.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/hooks.h"
#include "launcher/ranktable.h"
#include "launcher/snrun.h"
#include "launcher/taskvars.h"

/* A table of the user's own is kept; but if it is not for these ranks, they will
 * wait for one another until HCCL gives up. */
static void look_at_users_table(const struct sn_plan *plan,
				const struct sn_policy *policy)
{
	const char *path = getenv("RANK_TABLE_FILE"), *ours = getenv(SN_TASKVARS_OWN);
	struct sn_err err;

	if (!path || !*path || (ours && strstr(ours, "RANK_TABLE_FILE")))
		return;
	if (sn_ranktable_judge(path, plan, NULL, policy->rank_table, &err))
		snrun_say("RANK_TABLE_FILE is set and kept, though the run may break: %s",
			  err.text);
}

int sn_hooks_files(const struct sn_plan *plan, const struct sn_policy *policy,
		   const char *dir, struct sn_err *err)
{
	int rc = sn_ranktable_write(plan, policy, dir, err);

	if (rc < 0)
		return rc;
	look_at_users_table(plan, policy);
	return 0;
}

int sn_hooks_try(const struct sn_plan *plan, const struct sn_policy *policy,
		 struct sn_err *err)
{
	return sn_ranktable_try(plan, policy, err);
}
