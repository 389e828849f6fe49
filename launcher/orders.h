/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orders.h - what a running snrun can be told to do, by files and by snelasticd
 * alike, and how that is carried out.
 */
#ifndef SN_LAUNCHER_ORDERS_H
#define SN_LAUNCHER_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/control.h"
#include "launcher/snrun.h"

/* 1: done as soon as the step has come to an end, which is to be asked for. */
int snrun_order(struct snrun *run, const struct sn_control *ask, struct sn_err *err);

/* These ranks' cards, and this node where cards is 0, are to be left, until they have been
 * well for so many seconds (avoid.h). -ENODEV: no legal size is without them; then nothing
 * has changed. 1: ranks run there. */
int snrun_avoid(struct snrun *run, const char *node, uint64_t cards, uint32_t well,
		struct sn_err *err);
/* Is any of what was left well again? True: the job can be larger for it. */
bool snrun_avoid_look(struct snrun *run);

/*
 * standin.c. A member with --replaces=BASE for the nodes that the base has lost, and
 * for the node asked for (may be none) which ranks leave once it has started. -ENODEV:
 * there is nothing to replace.
 */
int snrun_replace(struct snrun *run, const struct sn_control *ask, struct sn_err *err);
/* One has started: what it was for is left. */
void snrun_standin_started(struct snrun *run, struct sn_member *member);

/* A signal that ends snrun; -1: none within that time. */
int snrun_wait_signal(int64_t ms);
/* Can the job be requeued? */
int snrun_check_requeue(const struct snrun *run, struct sn_err *err);
/* Its ranks have ended: have Slurm requeue it, and wait for the end. Comes back only
 * where that fails (0), or a signal has stopped it. */
void snrun_requeue(struct snrun *run);

/*
 * What the job holds is no legal size, and by itself snrun would give up. Where a
 * daemon is there it may know what to do: wait for its order, and for what that brings.
 * 0: there is something new, try again. `why`: the sentence that says what is wrong.
 */
int snrun_wait_help(struct snrun *run, const char *why);

#endif
