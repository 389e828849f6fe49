/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.h - snelasticd's event loop: descriptors, timers, signals, and work that
 * may block, which threads do.
 *
 * All callbacks run in the thread of sn_loop_run(), so what they share needs no
 * locks. A callback may add and remove anything, itself too. Time is the monotonic
 * clock, in milliseconds: a jump of the machine's clock moves no timer.
 */
#ifndef SN_ELASTIC_LOOP_H
#define SN_ELASTIC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

struct sn_loop;
struct sn_watch; /* of a descriptor */
struct sn_timer;

int sn_loop_create(struct sn_loop **ret, struct sn_err *err);
void sn_loop_destroy(struct sn_loop *loop); /* with what is left in it */
int sn_loop_run(struct sn_loop *loop, struct sn_err *err); /* until stopped */
void sn_loop_stop(struct sn_loop *loop);
int64_t sn_loop_now(void); /* ms */

/* events, and what fn is told: EPOLLIN and the like. The descriptor stays the
 * caller's. */
typedef void (*sn_watch_fn)(void *ctx, uint32_t events);
int sn_loop_watch(struct sn_loop *loop, int fd, uint32_t events, sn_watch_fn fn,
		  void *ctx, struct sn_watch **ret, struct sn_err *err);
int sn_watch_change(struct sn_watch *watch, uint32_t events);
void sn_watch_end(struct sn_watch *watch); /* NULL is fine; before closing the fd */

/* A timer is off until it is set, runs once, and may be set again. */
typedef void (*sn_timer_fn)(void *ctx);
int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx,
		  struct sn_timer **ret, struct sn_err *err);
void sn_timer_set(struct sn_timer *timer, int64_t in_ms); /* from now on */
void sn_timer_off(struct sn_timer *timer);
void sn_timer_end(struct sn_timer *timer); /* NULL is fine */

/* The signals of the set arrive here, and no other way; call it before there are
 * threads. Once a loop. */
typedef void (*sn_signal_fn)(void *ctx, int signal);
int sn_loop_signals(struct sn_loop *loop, const int *signals, uint32_t n,
		    sn_signal_fn fn, void *ctx, struct sn_err *err);

#endif
