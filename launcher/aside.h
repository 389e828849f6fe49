/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aside.h - work that may block for longer than anybody can be kept waiting.
 *
 * It is done in a thread, which is left to itself once the time is over: a plugin that
 * uses it must never be unloaded.
 */
#ifndef SN_LAUNCHER_ASIDE_H
#define SN_LAUNCHER_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Run run(arg), and wait for it up to `ms`. True: it is done, and arg yours again. False:
 * it is not, or there is no memory for a thread: arg is freed by done(arg), then or later.
 */
bool aside_run(void (*run)(void *arg), void (*done)(void *arg), void *arg, uint32_t ms);

#endif
