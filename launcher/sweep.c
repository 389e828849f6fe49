/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep.c - the files of the user's jobs that ended long ago.
 */
#include "config.h"

#include <pwd.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "launcher/jobdirsweep.h"
#include "launcher/snrun.h"

#define AT_ONCE 64 /* so that many of them hold nobody up */

static bool has_ended(void *ctx, uint32_t job, int64_t submitted)
{
	struct sn_jobview view;

	(void)ctx;
	if (sn_job_look(job, &view, NULL))
		return false;
	sn_names_done(&view.names);
	/* Else it is another one of that number. */
	return view.phase == SN_JOB_ENDED ||
		(submitted && view.submitted != submitted && !view.restarts);
}

void snrun_sweep(const struct snrun *run)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct sn_jobdir_sweep ask = {
		.pattern = run->job.policy.job_dir,
		.user = user ? user->pw_name : NULL,
		.home = user ? user->pw_dir : NULL,
		.host = run->host,
		.cluster = run->state.cluster,
		.own = run->job.id,
		.days = run->job.policy.job_dir_keep,
		.most = AT_ONCE,
		.now = time(NULL),
		.ended = has_ended,
	};

	if (ask.days)
		(void)sn_jobdir_sweep(&ask);
}
