/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmem_state.h - a rank's state, for snmem.c, snmemsetup.c, snmemlast.c, snmemcopy.c and
 * snmemsafe.c.
 */
#ifndef SN_LAUNCHER_SNMEM_STATE_H
#define SN_LAUNCHER_SNMEM_STATE_H

#include <pthread.h>

#include "launcher/snmem.h"
#include "launcher/snmem_internal.h"

#define EXPORT __attribute__((visibility("default")))

struct mem_node {
	char name[MEM_NAME], address[MEM_NAME], supernode[MEM_NAME];
};

struct snmem {
	int dir, job, flush; /* the region, the job directory, shared storage */
	uint32_t rank, world, generation;
	int local_rank;
	unsigned keep, wait_ms, flush_every;
	uint64_t tag, session, saved;
	char own_node[MEM_NAME];
	struct mem_node *node; /* [n_nodes] with ranks, as layout.json has them */
	size_t n_nodes, neighbour; /* SIZE_MAX: none */
	const char **where; /* [world], names of nodes */
	bool begun; /* it is known what to begin with */
	struct mem_decision decision;
	struct mem_serve *serve; /* of the node's first rank */
	bool *guest; /* the first rank's, [world]: copies of these come to this node */
	uint32_t n_guests;
	pthread_mutex_t safe_lock;
	uint64_t safe; /* the last iteration of which all are there */

	/* The copying thread's work, under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, busy, stop;
	struct mem_head head; /* of what it copies */
	struct mem_server to; /* with port 0: to be looked up */
	unsigned saves;
	int rc; /* of the last */
	char error[512];
};

__attribute__((format(printf, 2, 3)))
void mem_failed(struct snmem *mem, const char *fmt, ...);
/* snmemsetup.c: -errno with a sentence in why. */
int mem_set_up(struct snmem *mem, const struct snmem_options *options, char *why, size_t size);

/* snmemlast.c: a node's list of this session. -ENOENT */
int mem_list_of(struct snmem *mem, const char *node, struct mem_list *ret);

/* snmemsafe.c: whose copies come to this node; one has come, by any thread. */
int mem_safe_begin(struct snmem *mem);
void mem_safe_took(void *arg, const struct mem_id *id);

/* snmemcopy.c: the neighbour's copy, and shared storage, in a thread. */
int mem_copy_begin(struct snmem *mem, const struct mem_head *head);
int mem_copy_wait(struct snmem *mem);
void mem_copy_stop(struct snmem *mem);

#endif
