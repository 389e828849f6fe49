/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nolive.c - the live commands in a build without Slurm.
 */
#include "config.h"

#include <string.h>

#include "snctl/snctl.h"

static int missing(int argc, char **argv)
{
	struct sn_err err;

	(void)argc;
	sn_err_set(&err, 0, "this build has no Slurm library; configure with --with-slurm=PREFIX (where Slurm and its slurm.h are installed) to have it");
	return snctl_fail(argv[0], SNCTL_USAGE, &err);
}

int cmd_show(int argc, char **argv) { return missing(argc, argv); }
int cmd_map(int argc, char **argv) { return missing(argc, argv); }
int cmd_why(int argc, char **argv) { return missing(argc, argv); }
