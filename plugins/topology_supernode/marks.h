/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.h - what node records say in their `extra`: masked cards, degraded domains,
 * pool regions (launcher/cardbook.h, launcher/poolbook.h).
 *
 * slurmctld asks for all nodes in each scheduling try, so a text is parsed once and
 * kept until it is another one. Under the node read lock, under which no extra
 * changes; from any thread.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_MARKS_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/common/node_conf.h"

#include "launcher/cardbook.h"
#include "launcher/poolbook.h"

struct marks {
	struct sn_cardbook cards;
	struct sn_poolbook_entry *pool; /* [n_pool] */
	size_t n_pool;
};

/* Never NULL. It stays while the lock is held. What cannot be read is logged, once
 * for a text, and passed over. */
const struct marks *marks_of(const node_record_t *node_ptr);
/* The region of that name on the node, or NULL. */
const struct sn_poolbook_entry *marks_region(const node_record_t *node_ptr,
					     const char *name);

/* For each node with masked cards, in the node table's order. */
void marks_each_masked(void (*fn)(uint32_t node_inx, uint64_t masked, void *arg),
		       void *arg);

void marks_done(void);

#endif
