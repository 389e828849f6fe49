/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * binds.h - what of a job must be seen inside a container: lists of paths, as
 * container runtimes take them from the environment.
 *
 *	APPTAINER_BIND, SINGULARITY_BIND	commas between; each path is where
 *		it was outside. One that does not exist ends the run, so only those
 *		that do are listed.
 *	SLURM_JOB_SUPERNODE_MOUNTS	colons between; for contrib/containers'
 *		hook of enroot. Pyxis passes enroot nothing of a job's environment
 *		but what begins with SLURM_JOB_ and the like, hence the name.
 */
#ifndef SN_LAUNCHER_BINDS_H
#define SN_LAUNCHER_BINDS_H

#include <stdbool.h>
#include <stddef.h>

#define SN_BINDS_APPTAINER "APPTAINER_BIND"
#define SN_BINDS_SINGULARITY "SINGULARITY_BIND"
#define SN_BINDS_MOUNTS "SLURM_JOB_SUPERNODE_MOUNTS"

/* What Ascend's libraries need of the host besides /dev; ends with NULL. */
extern const char *const sn_binds_ascend[];

/* An absolute path without a character that a list or an fstab gives a meaning
 * to: comma, colon, blank, quote, backslash, control. */
bool sn_bind_usable(const char *path);

/*
 * list (NULL or "": none) with the paths behind it that are usable and not yet
 * in it; NULLs among the n are passed over. *ret_left (may be NULL) is the first
 * that is not usable, NULL if all are. NULL without memory; free().
 */
char *sn_binds_join(const char *list, char separator, const char *const *path,
		    size_t n, const char **ret_left);

#endif
