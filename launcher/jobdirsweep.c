/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobdirsweep.c - the files of jobs that have ended.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/jobdir.h"
#include "launcher/jobdirempty.h"
#include "launcher/jobdirsweep.h"
#include "launcher/runstate.h"
#include "launcher/writefile.h"

#define LOCK "lock"

static bool is_file(int dir, const char *name, struct stat *st)
{
	return !fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st->st_mode);
}

/* ---- which ---- */

struct names {
	char parent[PATH_MAX], head[NAME_MAX + 2], tail[NAME_MAX + 2];
};

/* Part of a file's name; ret begins with a slash. */
static bool expand(const struct sn_jobdir_sweep *ask, const char *from, size_t len,
		   char *ret, size_t size)
{
	char pattern[PATH_MAX];

	return (size_t)snprintf(pattern, sizeof(pattern), "/%.*s", (int)len, from) <
		sizeof(pattern) &&
		!sn_jobdir_expand(pattern, 0, ask->user, ask->home, ret, size, NULL);
}

/* The "%j" of a pattern; a "%%" is none. */
static const char *find_job(const char *p)
{
	for (; *p; p++) {
		if (*p != '%')
			continue;
		if (p[1] == 'j')
			return p;
		p += p[1] == '%';
	}
	return NULL;
}

static bool split(const struct sn_jobdir_sweep *ask, struct names *ret)
{
	const char *slash = strrchr(ask->pattern, '/'), *job = find_job(ask->pattern);
	char parent[PATH_MAX];

	if (!slash || slash == ask->pattern || !job || job < slash || find_job(job + 2) ||
	    (size_t)(slash - ask->pattern) >= sizeof(parent))
		return false;
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - ask->pattern),
		 ask->pattern);
	return !sn_jobdir_expand(parent, 0, ask->user, ask->home, ret->parent,
				 sizeof(ret->parent), NULL) &&
		expand(ask, slash + 1, (size_t)(job - slash - 1), ret->head,
		       sizeof(ret->head)) &&
		expand(ask, job + 2, strlen(job + 2), ret->tail, sizeof(ret->tail));
}

/* 0: it is no job's. */
static uint32_t job_of(const struct names *names, const char *name)
{
	const char *head = names->head + 1, *tail = names->tail + 1, *p;
	char again[16];
	uint64_t job = 0;

	if (strncmp(name, head, strlen(head)))
		return 0;
	for (p = name + strlen(head); isdigit((unsigned char)*p) && job <= UINT32_MAX; p++)
		job = job * 10 + (uint64_t)(*p - '0');
	snprintf(again, sizeof(again), "%llu", (unsigned long long)job);
	return job <= UINT32_MAX && !strcmp(p, tail) &&
		(size_t)(p - name) == strlen(head) + strlen(again) ? (uint32_t)job : 0;
}

static bool is_done(const struct sn_jobdir_sweep *ask, const char *dir, int fd,
		    uint32_t job)
{
	struct sn_runstate state;
	struct stat st;

	return is_file(fd, SN_RUNSTATE_FILE, &st) &&
		ask->now - st.st_mtime >= (time_t)ask->days * 86400 &&
		!sn_runstate_read(dir, &state, NULL) && state.job == job &&
		!strcmp(state.cluster, ask->cluster) &&
		ask->ended(ask->ctx, job, state.submitted);
}

static bool sweep_one(const struct sn_jobdir_sweep *ask, const char *dir, uint32_t job)
{
	int fd, lock = -1;
	bool done;

	/* The user's own, and no link. */
	if (sn_dir_open(dir, &fd, NULL))
		return false;
	done = is_done(ask, dir, fd, job) &&
		!sn_runstate_lock(dir, ask->host, &lock, NULL, NULL);
	if (done) {
		sn_jobdir_empty(fd, 0);
		unlinkat(fd, LOCK, 0);
		rmdir(dir); /* not with something else in it */
	}
	if (lock >= 0)
		close(lock);
	close(fd);
	return done;
}

uint32_t sn_jobdir_sweep(const struct sn_jobdir_sweep *ask)
{
	struct names names;
	char path[PATH_MAX];
	struct dirent *entry;
	uint32_t job, n = 0;
	DIR *list;

	if (!split(ask, &names))
		return 0;
	list = opendir(names.parent);
	while (list && n < ask->most && (entry = readdir(list))) {
		job = job_of(&names, entry->d_name);
		if (job && job != ask->own &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", names.parent,
				     entry->d_name) < sizeof(path))
			n += sweep_one(ask, path, job);
	}
	if (list)
		closedir(list);
	return n;
}
