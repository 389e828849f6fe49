/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runstate.h - one snrun at a time in a job directory, and what the next one
 * must know of it if it is killed.
 */
#ifndef SN_LAUNCHER_RUNSTATE_H
#define SN_LAUNCHER_RUNSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_RUNSTATE_FILE "snrun.json"
#define SN_RUNSTATE_HOST_MAX 256

#define SN_RUNSTATE_CLUSTER_MAX 64
#define SN_RUNSTATE_PARTS 256

struct sn_runstate_part {
	uint32_t job, srun_pid;
};

struct sn_runstate {
	uint32_t job;
	int64_t submitted; /* the job, s since 1970: numbers come again; 0: not known */
	uint32_t run; /* programs that were started in the directory before */
	uint32_t generation;
	uint32_t restarts; /* of this run */
	uint32_t requeues; /* of the job, until then */
	bool ended; /* snrun came to its end: there are no steps to clean up */
	bool overlap; /* steps that lost nodes may still be in Slurm's books */
	bool unsure; /* at its end: ranks may run of which slurmctld does not know */
	uint32_t srun_pid; /* of the last srun, 0: none was started */
	char cluster[SN_RUNSTATE_CLUSTER_MAX]; /* whose number the job's is, "": not known */
	char host[SN_RUNSTATE_HOST_MAX]; /* where these processes are */
	/* The sruns of the same generation in other jobs. */
	struct sn_runstate_part part[SN_RUNSTATE_PARTS];
	uint32_t n_parts;
};

/* -ENOENT: there is none; -EINVAL: damaged. */
int sn_runstate_read(const char *dir, struct sn_runstate *ret,
		     struct sn_err *err);
int sn_runstate_write(const char *dir, const struct sn_runstate *state,
		      struct sn_err *err);

/* Take the directory for this process; *ret_fd holds it until it is closed.
 * -EBUSY: another snrun has it, and the sentence says which; ret_holder (may be NULL,
 * else SN_RUNSTATE_HOST_MAX bytes) its host, "" where that is not known. Where the file
 * system knows no locks *ret_fd is -1, and err says so with 0 returned. */
int sn_runstate_lock(const char *dir, const char *host, int *ret_fd,
		     char *ret_holder, struct sn_err *err);

#endif
