/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * container.c - what of the job a container must see, told to the runtimes.
 *
 * For pyxis, whose enroot starts before any task, once a step; it mounts what its
 * hook finds to be there. For apptainer and singularity, which a task may start
 * itself, in each task; they end where a path is not there, so it is looked for
 * as the user.
 */
#include "plugins/compat.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/binds.h"
#include "launcher/stepenv.h"
#include "plugins/spank_supernode/spank_supernode.h"

#define LIST_MAX (1 << 16)
#define PATHS_MAX 8

struct paths {
	char job[PATH_MAX], pool[PATH_MAX], table[PATH_MAX];
	const char *path[PATHS_MAX];
	size_t n;
};

static void take(spank_t sp, const char *name, char *buf, struct paths *ret)
{
	if (spank_getenv(sp, name, buf, PATH_MAX) == ESPANK_SUCCESS && *buf)
		ret->path[ret->n++] = buf;
}

/* job_dir is what SUPERNODE_JOB_DIR will be where it is not yet set. */
static void find_paths(spank_t sp, const char *job_dir, struct paths *ret)
{
	ret->n = 0;
	take(sp, SN_STEPENV_JOB_DIR, ret->job, ret);
	if (!ret->n && job_dir && *job_dir)
		ret->path[ret->n++] = job_dir;
	take(sp, "SUPERNODE_POOL_DIR", ret->pool, ret);
	take(sp, "RANK_TABLE_FILE", ret->table, ret);
	if (!ret->n)
		return; /* no job of ours */
	for (size_t i = 0; sn_binds_ascend[i] && ret->n < PATHS_MAX; i++)
		if (!access(sn_binds_ascend[i], F_OK))
			ret->path[ret->n++] = sn_binds_ascend[i];
}

void container_step(spank_t sp, const char *job_dir)
{
	struct paths paths;
	char *list;

	find_paths(sp, job_dir, &paths);
	list = sn_binds_join(NULL, ':', paths.path, paths.n, NULL);
	if (list && *list)
		spank_setenv(sp, SN_BINDS_MOUNTS, list, 1);
	else
		spank_unsetenv(sp, SN_BINDS_MOUNTS);
	free(list);
}

/* "": it is not set. False: it is too long to be added to. */
static bool users(spank_t sp, const char *name, char *buf)
{
	spank_err_t rc = spank_getenv(sp, name, buf, LIST_MAX);

	if (rc != ESPANK_SUCCESS)
		*buf = '\0';
	return rc != ESPANK_NOSPACE;
}

static void set_list(spank_t sp, const char *name, const char *list,
		     const struct paths *paths, bool *tell)
{
	const char *left;
	char *joined = sn_binds_join(list, ',', paths->path, paths->n, &left);

	if (joined && *joined)
		spank_setenv(sp, name, joined, 1);
	if (left && *tell)
		slurm_error("supernode: %s cannot be named to a container runtime, for its name has a blank, comma, colon, quote or backslash; inside it will be missing",
			    left);
	*tell = false;
	free(joined);
}

void container_task(spank_t sp, bool tell)
{
	struct paths paths, there = { .n = 0 };
	char *apptainer = malloc(LIST_MAX), *singularity = malloc(LIST_MAX);

	find_paths(sp, NULL, &paths);
	for (size_t i = 0; i < paths.n; i++)
		if (!access(paths.path[i], F_OK))
			there.path[there.n++] = paths.path[i];
	if (there.n && apptainer && singularity &&
	    users(sp, SN_BINDS_APPTAINER, apptainer) &&
	    users(sp, SN_BINDS_SINGULARITY, singularity)) {
		set_list(sp, SN_BINDS_APPTAINER, apptainer, &there, &tell);
		/* Apptainer reads both, and warns of two that differ. */
		if (*singularity || !*apptainer)
			set_list(sp, SN_BINDS_SINGULARITY, singularity, &there, &tell);
	}
	free(apptainer);
	free(singularity);
}
