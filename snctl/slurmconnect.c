/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconnect.c - begin with libslurm, whose own way to fail is to exit.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "snctl/slurmconnect.h"

/* slurm_init() ends the process where there is no configuration, with status
 * 1, which here means "no". */
static bool starting;

static void exit_as_bad_input(void)
{
	if (starting)
		_exit(2);
}

int slurmconnect(struct sn_err *err)
{
	static bool done;
	const char *conf = getenv("SLURM_CONF");

	if (done)
		return 0;
	/* Slurm would wait for it to appear. */
	if (conf && *conf && access(conf, R_OK))
		return sn_err_set(err, -errno, "SLURM_CONF=%s: %s", conf,
				  strerror(errno));
	if (atexit(exit_as_bad_input))
		return sn_err_set(err, -ENOMEM, "no memory");
	starting = true;
	slurm_init(NULL);
	starting = false;
	done = true;
	return 0;
}
