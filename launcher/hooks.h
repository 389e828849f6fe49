/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.h - what other parts of the launcher do between the plan and the step.
 *
 * dir is the job directory, there and the user's own; hostfile, layout.json and
 * groups.json of the plan are in it.
 */
#ifndef SN_LAUNCHER_HOOKS_H
#define SN_LAUNCHER_HOOKS_H

#include "launcher/plan.h"
#include "topology/err.h"
#include "topology/policy.h"

/* Further files from the plan, such as rank tables; written before the new
 * generation is. 0, or -errno with a sentence: then no step is started. */
int sn_hooks_files(const struct sn_plan *plan, const struct sn_policy *policy,
		   const char *dir, struct sn_err *err);

/* For --dry-run: could they be written? Nothing is. */
int sn_hooks_try(const struct sn_plan *plan, const struct sn_policy *policy,
		 struct sn_err *err);

#endif
