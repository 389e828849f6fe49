/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aside.c - work that may block for longer than anybody can be kept waiting.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "launcher/aside.h"

struct aside {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool finished, abandoned;
	void (*run)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

static void free_aside(struct aside *a)
{
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static void *run_aside(void *ctx)
{
	struct aside *a = ctx;
	bool left;

	a->run(a->arg);
	pthread_mutex_lock(&a->lock);
	a->finished = true;
	left = a->abandoned;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	if (left) {
		a->done(a->arg);
		free_aside(a);
	}
	return NULL;
}

static int start(struct aside *a)
{
	pthread_condattr_t clock;
	pthread_attr_t detached;
	pthread_t thread;
	int rc;

	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&a->change, &clock);
	pthread_condattr_destroy(&clock);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &detached, run_aside, a);
	pthread_attr_destroy(&detached);
	return rc;
}

/* From now. */
static struct timespec end_of(uint32_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += (long)(ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	return end;
}

bool aside_run(void (*run)(void *arg), void (*done)(void *arg), void *arg, uint32_t ms)
{
	struct aside *a = calloc(1, sizeof(*a));
	struct timespec end = end_of(ms);
	bool finished;

	if (a) {
		a->run = run;
		a->done = done;
		a->arg = arg;
	}
	if (!a || start(a)) {
		if (a)
			free_aside(a);
		done(arg);
		return false;
	}
	pthread_mutex_lock(&a->lock);
	for (int rc = 0; !a->finished && !rc;)
		rc = pthread_cond_timedwait(&a->change, &a->lock, &end);
	finished = a->finished;
	a->abandoned = !finished;
	pthread_mutex_unlock(&a->lock);
	if (finished)
		free_aside(a);
	return finished;
}
