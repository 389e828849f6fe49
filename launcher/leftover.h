/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leftover.h - ranks of an earlier generation that still run on this node.
 *
 * Slurm ends the steps that it knows. A slurmctld that was killed comes back without
 * those of its last seconds, whose ranks go on until the job ends, and the next
 * generation would be on the same cards with them. Ranks are told by their environment,
 * which holds the job's directory and SUPERNODE_RANKS=plan:JOB.RUN.GENERATION (stepenv.h).
 * The job is there, too, for what ranks submit inherits both: the script of another job,
 * with the same directory, and its snrun must not be taken for ranks.
 *
 * Not found are processes that have written over their environment (setproctitle) or that
 * their own user may not look into: not dumpable, as after a program with capabilities.
 */
#ifndef SN_LAUNCHER_LEFTOVER_H
#define SN_LAUNCHER_LEFTOVER_H

#include <stdint.h>

struct sn_leftover {
	const char *dir; /* SUPERNODE_JOB_DIR of the job */
	const char *ranks; /* SUPERNODE_RANKS of the generation that is to run */
	uint32_t wait_ms; /* from SIGTERM to SIGKILL */
};

struct sn_leftover_end {
	uint32_t told; /* processes that were sent SIGTERM */
	uint32_t killed; /* of these, SIGKILL */
	uint32_t left; /* of these, still there seconds later: in a driver, as it were */
	int example; /* process number of one of them, else 0 */
};

/* End this user's. Returns when they are gone, or a few seconds after SIGKILL. -errno:
 * /proc cannot be read, or there are no pidfds. */
int sn_leftover_end(const struct sn_leftover *what, struct sn_leftover_end *ret);

#endif
