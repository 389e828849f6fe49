/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepfacts.h - what a step's tasks have in common beside their ranks: the site's
 * policy, the job's directory, the node's devices and interfaces.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_STEPFACTS_H
#define SN_PLUGINS_SPANK_SUPERNODE_STEPFACTS_H

#include <limits.h>
#include <stdbool.h>

#include "slurm/spank.h"

#include "topology/err.h"
#include "topology/policy.h"

struct stepfacts {
	struct sn_policy policy;
	enum sn_vendor vendor;
	char job_dir[PATH_MAX]; /* "": not known */
	bool own_job_dir; /* by the job's number, not the user's word */
	char if_ip[64]; /* of HcclIfIp's interface, "": none */
	bool imex;
	char *step_gpus; /* SLURM_STEP_GPUS before gres/gpu makes it each task's */
	struct sn_err trouble; /* one sentence for the user, "": none */
};

/* As root, before the tasks are forked. */
void stepfacts_make(spank_t sp, struct stepfacts *ret);

/* A variable of the step; free(). NULL: not set. */
char *stepfacts_env(spank_t sp, const char *name);

#endif
