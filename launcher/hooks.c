/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.c - what other parts of the launcher do between the plan and the step.
 *
 * To add one, call it here.
 */
#include "config.h"

#include "launcher/hooks.h"
#include "launcher/ranktable.h"

int sn_hooks_files(const struct sn_plan *plan, const struct sn_policy *policy,
		   const char *dir, struct sn_err *err)
{
	int rc = sn_ranktable_write(plan, policy, dir, err);

	return rc < 0 ? rc : 0;
}

int sn_hooks_try(const struct sn_plan *plan, const struct sn_policy *policy,
		 struct sn_err *err)
{
	return sn_ranktable_try(plan, policy, err);
}
