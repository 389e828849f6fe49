/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolsweep.c - regions end with their jobs, also where a job ended while
 * nobody looked.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/poolbook.h"
#include "launcher/region.h"
#include "plugins/common/sitefiles.h"
#include "plugins/spank_supernode/ctlask.h"
#include "plugins/spank_supernode/pool.h"
#include "plugins/spank_supernode/poolnode.h"
#include "topology/hostlist.h"

/* The epilog of a job leaves this in PoolDir/NODE where there are regions with
 * names: its process has not what it takes to ask slurmctld, slurmd has. */
#define LOOK ".look"
#define LOOK_SECONDS 2
#define SWEEP_SECONDS 600 /* of its own accord */
#define AGAIN_SECONDS 10 /* while slurmctld is away */

static pthread_t sweeper;
static bool sweeping;
static atomic_bool stop;

static int list_regions(const struct sn_policy *policy, const char *node,
			struct sn_region_entry **ret, size_t *ret_n,
			struct sn_err *err)
{
	struct sn_region_node at;
	int rc = sn_region_open(policy, node, false, &at, err);

	*ret = NULL;
	*ret_n = 0;
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = sn_region_list(&at, ret, ret_n, err);
	sn_region_close(&at);
	return rc;
}

static int drop(const struct sn_policy *policy, const char *node,
		const struct sn_region_entry *entry, struct sn_err *err)
{
	struct sn_region_node at;
	int rc = sn_region_open(policy, node, false, &at, err);

	if (rc)
		return rc;
	rc = entry->job ? sn_region_destroy(&at, entry->job, err) :
		sn_region_forget(&at, entry->name, err);
	sn_region_close(&at);
	return rc;
}

/* Does slurmctld have the job on this node? -errno: it cannot say. */
static int has_job(uint32_t job, const char *node, struct sn_err *err)
{
	struct sn_names names = { NULL, 0, 0 };
	struct ctl_answer answer;
	const slurm_job_info_t *info;
	int rc = ctl_ask(job, NULL, &answer, err), has = 0;

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	info = ctl_answer_job(&answer, job);
	if (info && (info->job_state & JOB_COMPLETING ||
		     (info->job_state & JOB_STATE_BASE) == JOB_RUNNING ||
		     (info->job_state & JOB_STATE_BASE) == JOB_SUSPENDED) &&
	    info->nodes && !sn_hostlist_expand(info->nodes, &names, NULL)) {
		for (size_t i = 0; i < names.n && !has; i++)
			has = !strcmp(names.name[i], node);
		sn_names_done(&names);
	}
	ctl_answer_done(&answer);
	return has;
}

/* Is "w.7" in the node's book? */
static int has_name(const char *name, const char *node, struct sn_err *err)
{
	struct sn_poolbook_entry *all = NULL;
	struct ctl_answer answer;
	size_t n = 0;
	int rc = ctl_ask(0, node, &answer, err), has = 0;

	if (rc)
		return rc;
	/* A book that cannot be read says nothing: keep what there is. */
	rc = sn_poolbook_read(ctl_answer_extra(&answer, node), &all, &n, err);
	ctl_answer_done(&answer);
	for (size_t i = 0; !rc && i < n && !has; i++) {
		char full[SN_REGION_NAME_MAX];

		snprintf(full, sizeof(full), "%s.%llu", all[i].name,
			 (unsigned long long)all[i].id);
		has = !strcmp(full, name);
	}
	free(all);
	return rc ? rc : has;
}

/* Regions first, jobs after: one that starts in between is not in the list. */
static int sweep(const struct sn_policy *policy, const char *node, bool names_only,
		 struct sn_err *err)
{
	struct sn_region_entry *all;
	size_t n;
	int rc = list_regions(policy, node, &all, &n, err), worst = rc;

	for (size_t i = 0; !rc && i < n; i++) {
		struct sn_region_entry *entry = &all[i];
		int keep;

		if (entry->job && names_only)
			continue;
		keep = entry->job ? has_job(entry->job, node, err) :
			has_name(entry->name, node, err);
		if (keep < 0) {
			worst = keep;
			continue;
		}
		if (keep)
			continue;
		keep = drop(policy, node, entry, err);
		if (!keep)
			slurm_verbose("supernode: %s%s: a pool region that nobody has is gone",
				entry->job ? "job" : "name ", entry->job ? "" : entry->name);
		else if (keep != -EBUSY)
			worst = keep;
	}
	free(all);
	return worst;
}

static bool any_names(struct sn_region_node *at)
{
	struct sn_region_entry *all;
	bool any = false;
	size_t n;

	if (sn_region_list(at, &all, &n, NULL))
		return true;
	for (size_t i = 0; i < n; i++)
		any |= !all[i].job;
	free(all);
	return any;
}

void pool_job_ends(spank_t sp)
{
	const char *node = pool_node_name();
	struct sn_region_node at;
	struct sn_policy policy;
	struct sn_err err = { "" };
	uint32_t job;
	int rc, fd;

	/* Also with PoolProvider=none: it may have been another this morning. */
	(void)sn_site_policy(&policy, &err);
	if (!node || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return;
	rc = sn_region_open(&policy, node, false, &at, &err);
	if (rc == -ENOENT)
		return;
	if (!rc) {
		rc = sn_region_destroy(&at, job, &err);
		if (any_names(&at)) {
			fd = openat(at.fd, LOOK, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
			if (fd >= 0)
				close(fd);
		}
		sn_region_close(&at);
	}
	if (rc)
		slurm_error("supernode: job %u: its pool region on %s: %s", job,
			    node, err.text);
}

/* ---- in slurmd ------------------------------------------------------------------------ */

static bool must_look(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool must = fd >= 0 && !unlinkat(fd, LOOK, 0);

	if (fd >= 0)
		close(fd);
	return must;
}

static void *sweep_thread(void *arg)
{
	const char *node = pool_node_name();
	uint32_t left = 0; /* until the next sweep of all, in seconds */
	struct sn_err err = { "" };
	struct sn_policy policy;
	char path[PATH_MAX];
	int rc = 0, last = 0;

	(void)arg;
	(void)sn_site_policy(&policy, &err);
	snprintf(path, sizeof(path), "%s/%s", policy.pool_dir, node);
	while (!stop) {
		if (!left) {
			rc = sweep(&policy, node, false, &err);
			left = rc ? AGAIN_SECONDS : SWEEP_SECONDS;
		} else if (must_look(path)) {
			rc = sweep(&policy, node, true, &err);
			if (rc)
				left = AGAIN_SECONDS;
		}
		if (rc && rc != last)
			slurm_error("supernode: pool regions on %s: %s; trying again",
				    node, err.text);
		last = rc;
		for (int wait = 0; wait < LOOK_SECONDS * 10 && !stop; wait++)
			usleep(100000);
		left -= left < LOOK_SECONDS ? left : LOOK_SECONDS;
	}
	return NULL;
}

void pool_sweep_start(void)
{
	stop = false;
	if (pool_node_name())
		sweeping = !pthread_create(&sweeper, NULL, sweep_thread, NULL);
}

void pool_sweep_stop(void)
{
	struct timespec end;

	if (!sweeping)
		return;
	stop = true;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5;
	(void)pthread_timedjoin_np(sweeper, NULL, &end);
	sweeping = false;
}
