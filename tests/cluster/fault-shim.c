/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault-shim.c - a daemon that is killed, or whose calls fail, at a point of an
 * action's way; for LD_PRELOAD.
 *
 *	SN_FAULT=NAME:K:HOW	at the K-th call of NAME since $SN_FAULT_FILE is there:
 *		kill-before, kill-after, fail (it is not done), or lost (it is done, and
 *		its answer is lost); NAME "any": of any
 *	SN_FAULT_FILE		its points go there, a line each
 *
 * Points: write, fsync, rename (of the journal), slurm_requeue2, slurm_update_job,
 * slurm_kill_job2, slurm_update_node, slurm_load_job, slurm_load_node_single; of an order
 * to an snrun munge_encode and send.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum how { NOT, BEFORE, AFTER, FAIL, LOST };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *name)
{
	char line[64];
	int fd = open(getenv("SN_FAULT_FILE"), O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : snprintf(line, sizeof(line), "%s\n", name);

	/* Not by write(), which is one of them. */
	if (fd >= 0 && n > 0)
		n = pwrite(fd, line, (size_t)n, 0);
	if (fd >= 0)
		close(fd);
}

static enum how point(const char *name)
{
	static const char *const hows[] = { "", "kill-before", "kill-after", "fail", "lost" };
	static unsigned int count;
	const char *want = getenv("SN_FAULT"), *colon = want ? strchr(want, ':') : NULL;
	enum how how = NOT;

	if (!getenv("SN_FAULT_FILE") || access(getenv("SN_FAULT_FILE"), F_OK))
		return NOT;
	pthread_mutex_lock(&lock);
	note(name);
	if (colon && (!strncmp(want, "any:", 4) ||
		      (strlen(name) == (size_t)(colon - want) && !strncmp(name, want, strlen(name)))) &&
	    ++count == (unsigned int)atoi(colon + 1))
		for (int i = 1; i < 5; i++)
			if (!strcmp(strchr(colon + 1, ':') + 1, hows[i]))
				how = (enum how)i;
	pthread_mutex_unlock(&lock);
	if (how == BEFORE)
		kill(getpid(), SIGKILL);
	return how;
}

static int after(enum how how, int rc, int code)
{
	if (how == AFTER)
		kill(getpid(), SIGKILL);
	if (how != LOST)
		return rc;
	errno = code;
	return -1;
}

/* The journal and what becomes it: ".journal.PID". */
static int is_journal(int fd)
{
	char link[64], path[512];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return strrchr(path, '/') && strstr(strrchr(path, '/'), "journal") &&
		!strstr(path, "history");
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *buf, size_t n)
{
	enum how how = is_journal(fd) ? point("write") : NOT;
	ssize_t rc;

	if (how == FAIL || how == LOST) {
		errno = ENOSPC;
		return -1;
	}
	rc = NEXT(write)(fd, buf, how == AFTER ? n / 2 : n);
	return after(how, (int)rc, 0);
}

int fsync(int fd)
{
	enum how how = is_journal(fd) ? point("fsync") : NOT;

	if (how == FAIL || how == LOST) {
		errno = EIO;
		return -1;
	}
	return after(how, NEXT(fsync)(fd), EIO);
}

int renameat(int a, const char *from, int b, const char *to)
{
	enum how how = !strcmp(to, "journal") ? point("rename") : NOT;

	if (how == FAIL || how == LOST) {
		errno = EIO;
		return -1;
	}
	return after(how, NEXT(renameat)(a, from, b, to), EIO);
}

/* An order's credential, to know it again when it is sent. */
static char order[128];

int munge_encode(char **cred, void *ctx, const void *buf, int len);
int munge_encode(char **cred, void *ctx, const void *buf, int len)
{
	int is = len > 0 && memmem(buf, (size_t)len, "\"do\":{", 6), rc;
	enum how how = is ? point("munge_encode") : NOT;

	if (how == FAIL || how == LOST)
		return 1; /* EMUNGE_SNAFU */
	rc = NEXT(munge_encode)(cred, ctx, buf, len);
	if (is && !rc) {
		size_t n = strlen(*cred);

		/* Its end, as all begin alike. */
		pthread_mutex_lock(&lock);
		snprintf(order, sizeof(order), "%s", n >= sizeof(order) ? *cred + n - sizeof(order) + 1 : *cred);
		pthread_mutex_unlock(&lock);
	}
	return after(how, rc, 0);
}

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	enum how how;
	int is;

	pthread_mutex_lock(&lock);
	is = *order && memmem(buf, n, order, strlen(order));
	pthread_mutex_unlock(&lock);
	how = is ? point("send") : NOT;
	if (how == FAIL) {
		errno = EPIPE;
		return -1;
	}
	return after(how, (int)NEXT(send)(fd, buf, n, flags), EPIPE);
}

/* Slurm's calls, by the registers that their arguments are in: no header is needed,
 * and all versions are the same. */
#define SLURM(name) \
	int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e); \
	int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e) \
	{ \
		enum how how = point(#name); \
		if (how == FAIL) { \
			errno = 1001; /* SLURM_COMMUNICATIONS_CONNECTION_ERROR */ \
			return -1; \
		} \
		return after(how, NEXT(name)(a, b, c, d, e), 1001); \
	}

SLURM(slurm_requeue2)
SLURM(slurm_update_job)
SLURM(slurm_kill_job2)
SLURM(slurm_update_node)
SLURM(slurm_load_node_single)
