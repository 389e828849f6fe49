/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reason.h - Slurm's reason for a pending job in plain words.
 */
#ifndef SNCTL_REASON_H
#define SNCTL_REASON_H

#include <stdbool.h>

#include <slurm/slurm.h>

struct reason {
	const char *name; /* as squeue shows it; NULL: one that is not in the table */
	const char *words; /* a clause: "jobs of higher priority come first" */
	bool place; /* a better placement could start the job */
};

struct reason reason_of(const slurm_job_info_t *info);

#endif
