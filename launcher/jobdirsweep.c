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

#include "launcher/accountjson.h"
#include "launcher/checkpoint.h"
#include "launcher/control.h"
#include "launcher/inventory.h"
#include "launcher/jobdir.h"
#include "launcher/jobdirsweep.h"
#include "launcher/planfiles.h"
#include "launcher/preflight.h"
#include "launcher/ranktable.h"
#include "launcher/runstate.h"
#include "launcher/stage.h"
#include "launcher/writefile.h"

#define LOCK "lock"

/* A name, or with a "*" any that begins and ends so. */
static const char *const ours[] = {
	SN_LAYOUT_JSON, SN_GROUPS_JSON, SN_PARALLEL_GROUP_JSON, SN_HOSTFILE,
	SN_HOSTFILE ".*", SN_GENERATION, SN_RT_FILE, SN_STAGE_TOKEN_FILE,
	SN_PREFLIGHT_JSON, SN_ACCOUNT_FILE, SN_CKPT_REQUEST, SN_CKPT_PROGRESS,
	SN_INV_CACHE_FILE, "timeouts.json", "memory.*.json", NULL,
};
static const char *const in_control[] = { "*.request", "*.answer", NULL };
static const char *const in_records[] = { "rank-*.jsonl", NULL };

static const struct {
	const char *name;
	const char *const *ours;
} below[] = {
	{ SN_CONTROL_DIR, in_control }, { "records", in_records },
};

static bool fits(const char *name, size_t len, const char *pattern)
{
	const char *star = strchr(pattern, '*');
	size_t head = star ? (size_t)(star - pattern) : strlen(pattern);
	size_t tail = star ? strlen(star + 1) : 0;

	if (!star)
		return len == head && !strncmp(name, pattern, len);
	return len > head + tail && !strncmp(name, pattern, head) &&
		!strncmp(name + len - tail, star + 1, tail);
}

/* Also what a killed process left of it: ".NAME.PID" (writefile.c). */
static bool is_one_of(const char *name, const char *const *patterns)
{
	size_t len = strlen(name), digits = 0;

	if (*name == '.') {
		while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
			digits++;
		if (!digits || len < digits + 3 || name[len - 1 - digits] != '.')
			return false;
		len -= digits + 2;
		name++;
	}
	for (; *patterns; patterns++)
		if (fits(name, len, *patterns))
			return true;
	return false;
}

static bool is_file(int dir, const char *name, struct stat *st)
{
	return !fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st->st_mode);
}

static void remove_files(int dir, const char *const *patterns)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!list && fd >= 0)
		close(fd);
	while (list && (entry = readdir(list)))
		if (is_one_of(entry->d_name, patterns) &&
		    is_file(dir, entry->d_name, &st))
			unlinkat(dir, entry->d_name, 0);
	if (list)
		closedir(list);
}

static void empty(int dir)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		int fd = openat(dir, below[i].name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		remove_files(fd, below[i].ours);
		close(fd);
		unlinkat(dir, below[i].name, AT_REMOVEDIR);
	}
	remove_files(dir, ours);
	/* A marker alone; with something in it, it may be the checkpoint. */
	if (is_file(dir, SN_CKPT_MARKER, &st) && !st.st_size)
		unlinkat(dir, SN_CKPT_MARKER, 0);
}

void sn_jobdir_empty(const char *dir)
{
	int fd;

	if (sn_dir_open(dir, &fd, NULL))
		return;
	empty(fd);
	unlinkat(fd, SN_RUNSTATE_FILE, 0);
	close(fd);
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
		!sn_runstate_lock(dir, ask->host, &lock, NULL);
	if (done) {
		empty(fd);
		unlinkat(fd, SN_RUNSTATE_FILE, 0);
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
