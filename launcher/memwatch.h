/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memwatch.h - what a node's cards and its pool region hold, what is advised, and
 * how that is written. No I/O; snrunwatch.c does it.
 */
#ifndef SN_LAUNCHER_MEMWATCH_H
#define SN_LAUNCHER_MEMWATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/poolprog.h"
#include "topology/err.h"
#include "topology/policy.h"
#include "topology/text.h"
#include "topology/watermark.h"

#define SN_MEMWATCH_CARDS 64

struct sn_memwatch_card {
	uint32_t card;
	uint64_t used, total; /* bytes */
};

/*
 * Lines "CARD USED TOTAL", numbers in `unit` bytes, commas allowed between; empty
 * lines and those that begin with "#" are passed over. -EINVAL: "who: line 3: …".
 */
int sn_memwatch_parse(const char *text, uint64_t unit, const char *who,
		      struct sn_memwatch_card *ret, uint32_t *ret_n,
		      struct sn_err *err);

struct sn_memwatch {
	struct sn_memwatch_card card[SN_MEMWATCH_CARDS]; /* [n_cards], as last seen */
	struct sn_watermark mark[SN_MEMWATCH_CARDS]; /* by card number */
	uint32_t n_cards;
	bool has_pool;
	struct sn_poolprog_usage pool;
	struct sn_watermark pool_mark;
};

/* Marks from the policy; one advice stands for at least `rest` seconds. -EINVAL:
 * the policy's marks cross. */
int sn_memwatch_init(struct sn_memwatch *watch, const struct sn_policy *policy,
		     uint32_t hold, uint32_t rest, struct sn_err *err);
/* One look; pool NULL: there is none. True if an advice has changed. */
bool sn_memwatch_sample(struct sn_memwatch *watch,
			const struct sn_memwatch_card *card, uint32_t n,
			const struct sn_poolprog_usage *pool, uint64_t now);
/* "swap-out" if any card is advised so, else "swap-in" if any is, else "none". */
enum sn_advice sn_memwatch_advice(const struct sn_memwatch *watch);

/* {"node": …, "time": …, "advice": …, "cards": […], "pool": {…}} and a newline. */
void sn_memwatch_write(const struct sn_memwatch *watch, const char *node,
		       uint64_t time, struct sn_buf *ret);

#endif
