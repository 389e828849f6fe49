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
#include <sys/syscall.h>
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

/* Of the same job. */
static bool is_other_plan(const char *entry, const char *ours)
{
	static const char name[] = SN_STEPENV_RANKS "=";
	const char *plan = entry + sizeof(name) - 1;

	return !strncmp(entry, name, sizeof(name) - 1) &&
		!strncmp(plan, ours, strcspn(ours, ".") + 1) && strcmp(plan, ours);
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

/* 1: it is one, and there. When it has been looked at, its number may be another process's;
 * what pidfd stands for is not. */
static int signal_one(int proc, const char *name, const struct sn_leftover *what, int sig)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	int pidfd, sent;

	if (pid == getpid())
		return 0;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return errno == ESRCH ? 0 : -errno;
	sent = is_leftover(proc, name, what) &&
		!syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	close(pidfd);
	return sent;
}

/* Send it to all of them: 0 only counts. */
static int signal_all(const struct sn_leftover *what, int sig, uint32_t *ret_n,
		      int *ret_example)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int rc = 0;

	*ret_n = 0;
	if (!proc)
		return -errno;
	while (rc >= 0 && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		rc = signal_one(dirfd(proc), entry->d_name, what, sig);
		if (rc <= 0)
			continue;
		++*ret_n;
		*ret_example = (int)strtol(entry->d_name, NULL, 10);
	}
	closedir(proc);
	return rc < 0 ? rc : 0;
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
