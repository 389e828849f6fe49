/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobdirsweep.h - the files of jobs that have ended.
 *
 * Only what the suite itself writes is removed, by its names: a file that is somebody
 * else's stays, and with it the directory. A symbolic link is never followed, nor
 * removed.
 */
#ifndef SN_LAUNCHER_JOBDIRSWEEP_H
#define SN_LAUNCHER_JOBDIRSWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sn_jobdir_sweep {
	const char *pattern, *user, *home; /* as sn_jobdir_expand() */
	const char *host; /* for the lock */
	const char *cluster; /* directories of another one's jobs stay */
	uint32_t own; /* the job whose directory stays */
	uint32_t days; /* since an snrun last wrote its state there */
	uint32_t most; /* directories at a time */
	time_t now;
	/* Has the job of that number that was submitted then (0: not known) ended?
	 * False also where that cannot be told. */
	bool (*ended)(void *ctx, uint32_t job, int64_t submitted);
	void *ctx;
};

/*
 * Of the user's directories that the pattern names for other jobs, those with an
 * snrun's state of that job, long ended and not locked, are emptied, and removed
 * where nothing else is in them. The number of these. Patterns that do not have
 * the job, once, in their last part name nothing.
 */
uint32_t sn_jobdir_sweep(const struct sn_jobdir_sweep *ask);

#endif
