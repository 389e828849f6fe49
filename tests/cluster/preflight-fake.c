/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight-fake.c - preloaded into the tasks of one node by 63-preflight.t: a
 * clock that is off (FAKE_CLOCK_S) or a network that is slow (FAKE_SEND_MS).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*real)(clockid_t clock, struct timespec *ret);
	const char *off = getenv("FAKE_CLOCK_S");
	int rc;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	rc = real(clock, ret);
	if (off && clock == CLOCK_REALTIME)
		ret->tv_sec += atoi(off);
	return rc;
}

ssize_t send(int fd, const void *data, size_t n, int flags)
{
	static ssize_t (*real)(int fd, const void *data, size_t n, int flags);
	const char *ms = getenv("FAKE_SEND_MS");

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "send");
	if (ms)
		usleep((useconds_t)atoi(ms) * 1000);
	return real(fd, data, n, flags);
}
