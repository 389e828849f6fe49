/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leftover.c - ranks of an earlier generation that still run on this node.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/leftover.h"
#include "launcher/stepenv.h"

#define LOOK_MS 50
#define KILLED_MS 5000 /* that a killed process takes to be gone at most */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Is the variable `name` there, with this value? */
static bool is_set(const char *entry, const char *name, const char *value)
{
	size_t len = strlen(name);

	return !strncmp(entry, name, len) && entry[len] == '=' &&
		!strcmp(entry + len + 1, value);
}

static bool is_other_plan(const char *entry, const char *ours)
{
	static const char plan[] = SN_STEPENV_RANKS "=" SN_STEPENV_RANKS_PLAN;

	return !strncmp(entry, plan, sizeof(plan) - 1) &&
		strcmp(entry + sizeof(SN_STEPENV_RANKS), ours);
}

/* A process that has ended, a zombie, has no environment any more. */
static bool is_leftover(int proc, const char *pid, const struct sn_leftover *what)
{
	bool in_dir = false, other = false;
	char path[64], *entry = NULL;
	size_t size = 0;
	struct stat st;
	FILE *f;
	int fd;

	if (fstatat(proc, pid, &st, 0) || st.st_uid != geteuid())
		return false;
	snprintf(path, sizeof(path), "%.32s/environ", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!(in_dir && other) && getdelim(&entry, &size, '\0', f) > 0) {
		in_dir |= is_set(entry, SN_STEPENV_JOB_DIR, what->dir);
		other |= is_other_plan(entry, what->ranks);
	}
	free(entry);
	fclose(f);
	return in_dir && other;
}

/* Send it to all of them: 0 only counts. */
static int signal_all(const struct sn_leftover *what, int sig, uint32_t *ret_n,
		      int *ret_example)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	*ret_n = 0;
	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		pid_t pid;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid == getpid() || !is_leftover(dirfd(proc), entry->d_name, what) ||
		    kill(pid, sig))
			continue;
		++*ret_n;
		*ret_example = pid;
	}
	closedir(proc);
	return 0;
}

/* Until none is there; *ret_n: how many are at the end. */
static int await(const struct sn_leftover *what, int64_t ms, int sig, uint32_t *ret_n,
		 int *ret_example)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000 };
	int64_t until = now_ms() + ms;

	for (;;) {
		int rc = signal_all(what, sig, ret_n, ret_example);

		if (rc || !*ret_n || now_ms() >= until)
			return rc;
		nanosleep(&pause, NULL);
	}
}

int sn_leftover_end(const struct sn_leftover *what, struct sn_leftover_end *ret)
{
	int example, rc;
	uint32_t n;

	memset(ret, 0, sizeof(*ret));
	rc = signal_all(what, SIGTERM, &ret->told, &example);
	if (rc || !ret->told)
		return rc;
	rc = await(what, what->wait_ms, 0, &n, &example);
	if (rc || !n)
		return rc;
	/* Again and again: they may fork meanwhile. */
	ret->killed = n;
	rc = await(what, KILLED_MS, SIGKILL, &ret->left, &example);
	ret->example = ret->left ? example : 0;
	return rc;
}
