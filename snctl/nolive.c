/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nolive.c - the live commands in a build without Slurm.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "snctl/snctl.h"
#include "snctl/warn.h"

#define WHY "this build has no Slurm library; configure with --with-slurm=PREFIX (where Slurm and its slurm.h are installed) to have it"

static int missing(const char *command, const char *usage, int argc, char **argv)
{
	struct sn_err err;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			printf("Usage: snctl %s %s\n\nNot here: %s.\n", command, usage, WHY);
			return SNCTL_DONE;
		}
	}
	sn_err_set(&err, 0, "%s", WHY);
	return snctl_fail(command, SNCTL_USAGE, &err);
}

int snctl_warn_records(struct sn_names *ret, struct sn_err *err)
{
	(void)ret;
	return sn_err_set(err, -ENOTSUP, "%s", WHY);
}

int cmd_show(int argc, char **argv)
{
	return missing("show", "[supernodes|units|fabrics|cards|pool|jobs|health] [--json]", argc, argv);
}

int cmd_map(int argc, char **argv)
{
	return missing("map", "[--json]", argc, argv);
}

int cmd_why(int argc, char **argv)
{
	return missing("why", "JOBID [--json]", argc, argv);
}

int cmd_elastic(int argc, char **argv)
{
	return missing("elastic", "status | status|shrink|grow|pause|resume|requeue JOBID | swap JOBID NODE[:CARDS] | replace JOBID [NODE[:CARDS]] [OPTIONS]", argc, argv);
}

int cmd_card(int argc, char **argv)
{
	return missing("card", "drain NODE:CARDS... --reason=TEXT | resume NODE:CARDS...", argc, argv);
}

int cmd_pool(int argc, char **argv)
{
	return missing("pool", "list | create NAME --size SIZE[/node] --supernode NAME|--job JOBID | delete NAME", argc, argv);
}
