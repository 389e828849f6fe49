/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.c - what other parts of the launcher do between the plan and the step.
 *
 * To add one, call it here.
 */
#include "config.h"

#include "launcher/hooks.h"

int sn_hooks_files(const struct sn_plan *plan, const struct sn_policy *policy,
		   const char *dir, struct sn_err *err)
{
	(void)plan;
	(void)policy;
	(void)dir;
	(void)err;
	return 0;
}
