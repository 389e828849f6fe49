/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actloop.h - the loop below the daemon's actions (act*.c), in their tests: one timer
 * and two threads that run when the test says so; who is answered is counted. The test
 * has the clock, sn_loop_now().
 */
#ifndef SN_TESTS_ACTLOOP_H
#define SN_TESTS_ACTLOOP_H

#include <stdlib.h>

#include "elastic/act_internal.h"

static struct sn_work *loop_todo[2]; /* of the pools LOOP_DISK, LOOP_SLURM */
static int64_t loop_timer; /* ms; 0: off */
static uint32_t loop_answers;

#define LOOP_DISK ((struct sn_pool *)&loop_todo[0])
#define LOOP_SLURM ((struct sn_pool *)&loop_todo[1])

int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx, struct sn_timer **ret,
		  struct sn_err *err)
{
	(void)loop, (void)ctx, (void)err;
	*ret = (struct sn_timer *)fn;
	return 0;
}

void sn_timer_set(struct sn_timer *timer, int64_t in_ms)
{
	(void)timer;
	loop_timer = sn_loop_now() + (in_ms > 0 ? in_ms : 1);
}

void sn_timer_end(struct sn_timer *timer)
{
	(void)timer;
}

void sn_pool_give(struct sn_pool *pool, struct sn_work *work)
{
	int i = pool == LOOP_SLURM;

	if (loop_todo[i])
		abort(); /* there is never more than one */
	loop_todo[i] = work;
}

struct json_object *request_ok(void)
{
	return NULL;
}

void request_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer)
{
	(void)d, (void)r, (void)answer;
	loop_answers++;
}

void request_free(struct sn_request *r)
{
	(void)r;
}

void follow_poll(struct sn_daemon *d)
{
	(void)d;
}

#endif
