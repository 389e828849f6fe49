/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock-shim.c - preloaded, a clock that is off by as many seconds as the file
 * $SN_CLOCK says; other clocks are left alone.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long off(void)
{
	const char *path = getenv("SN_CLOCK");
	FILE *f = path ? fopen(path, "r") : NULL;
	long n = 0;

	if (f) {
		if (fscanf(f, "%ld", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, id, t);

	if (!rc && id == CLOCK_REALTIME)
		t->tv_sec += off();
	return rc;
}

time_t time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}
