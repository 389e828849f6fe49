/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work.h - threads for what may block: munge, name servers, slurmctld, disks.
 *
 * A piece of work is done in a thread and then comes back to the loop. Work of one
 * pool with one thread is done in the order in which it was given.
 */
#ifndef SN_ELASTIC_WORK_H
#define SN_ELASTIC_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "elastic/loop.h"
#include "topology/err.h"

struct sn_work {
	void (*run)(struct sn_work *work); /* in a thread: no state of the loop's */
	void (*done)(struct sn_work *work); /* in the loop; owns the work */
	struct sn_work *next;
};

struct sn_pool;
int sn_pool_create(struct sn_loop *loop, const char *name, uint32_t threads,
		   struct sn_pool **ret, struct sn_err *err);
void sn_pool_give(struct sn_pool *pool, struct sn_work *work);
uint32_t sn_pool_waiting(struct sn_pool *pool); /* not yet begun */
/*
 * Begin nothing more; wait for what runs, at most wait_ms. `done` is called for
 * all that has not come back, run or not, but for what still runs: then false
 * is returned, and the process had better end soon. Frees the pool only if true.
 */
bool sn_pool_destroy(struct sn_pool *pool, int64_t wait_ms);

#endif
