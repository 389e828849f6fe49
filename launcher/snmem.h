/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmem.h - fast checkpoints in memory: each rank's shard in the pool region of its
 * own node and of a neighbour's.
 *
 * A small library (libsnmem) for training programs in jobs with --pool, started by
 * snrun; docs/checkpoints.md has the whole. After the loss of a node, whoever takes
 * its place reads its shards from the neighbour, and training goes on from an
 * iteration that may be newer than the last checkpoint on shared storage.
 *
 *	struct snmem *mem = snmem_open(NULL, why, sizeof(why));
 *	if (!snmem_last(mem, &iteration, &world) && iteration > on_disk)
 *		snmem_load(mem, rank, &data, &len);      // ranks of that world
 *	for (…) { … snmem_save(mem, iteration, data, len); }
 *	snmem_close(mem);
 *
 * Only complete generations count: all shards of one iteration, saved by one
 * generation of ranks, whole by their checksums, the user's own, and of this job directory
 * and tag. Never is it needed: where it fails, the program goes on without.
 *
 * The neighbour is the next node with ranks of the same supernode in layout.json, the
 * last one's the first; where a supernode has only one, the next node of the job. Shards
 * go over a TCP connection to a thread in the other node's first rank. Both ends know each
 * other by a secret in the job directory, which all nodes must share; it is never sent.
 *
 * All calls return 0 or -errno, and take NULL. One thread of the program at a time.
 */
#ifndef SNMEM_H
#define SNMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct snmem;

struct snmem_options {
	const char *region; /* NULL: $SUPERNODE_POOL_DIR */
	const char *job_dir; /* NULL: $SUPERNODE_JOB_DIR */
	const char *tag; /* what the checkpoints are of; others' do not count. NULL: "" */
	const char *node; /* NULL: $SLURMD_NODENAME */
	int rank, world, local_rank; /* -1: RANK, WORLD_SIZE, LOCAL_RANK */
	int generation; /* -1: SUPERNODE_GENERATION, TORCHELASTIC_RESTART_COUNT */
	unsigned keep; /* iterations of a rank that are kept; 0: 3, which is the least */
	unsigned wait_ms; /* for other nodes, when it begins; 0: 60000 */
	const char *flush_dir; /* shared storage; NULL: nothing is flushed */
	unsigned flush_every; /* saves from one flush to the next; 0: each */
};

/* NULL with a sentence in why: no region, another user's, no job directory, … Nothing
 * is asked of others yet. */
struct snmem *snmem_open(const struct snmem_options *options, char *why, size_t size);
/* Waits for what is under way. */
void snmem_close(struct snmem *mem);

/*
 * The last complete iteration, the same on all ranks, which must all call it once, first
 * of all: it waits for them. -ENOENT: there is none. -ETIMEDOUT: others did not come.
 * Later iterations, of a time that is given up now, are forgotten.
 */
int snmem_last(struct snmem *mem, uint64_t *ret_iteration, int *ret_world);
/* A shard of it, 0 to world - 1; *ret_data is yours to free. */
int snmem_load(struct snmem *mem, int shard, void **ret_data, size_t *ret_len);

/*
 * This rank's shard of an iteration, which must be higher than the last one's. When it
 * returns the own region has it; a thread sends it to the neighbour and, if it is its
 * turn, to flush_dir. Waits for the thread to be done with the one before. -ENOSPC: the
 * region is too small, and snmem_error() has the numbers; what was saved before stays.
 */
int snmem_save(struct snmem *mem, uint64_t iteration, const void *data, size_t len);
/* Until the neighbour has it; -errno if it could not be sent or flushed. */
int snmem_wait(struct snmem *mem);

/* The last failure, a sentence; "" if there was none. */
const char *snmem_error(const struct snmem *mem);

#ifdef __cplusplus
}
#endif

#endif
