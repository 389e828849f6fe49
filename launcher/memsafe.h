/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memsafe.h - which iteration in memory (snmem.h) survives the loss of a node.
 *
 * In the job directory memckpt/NODE@has is a node's word: of how many ranks of other nodes
 * it has copies, and of which iteration it has them all,
 *	GENERATION ITERATION RANKS WORLD
 * so where nodes with copies of all of the world's ranks have said so of an iteration or a
 * later one, each of its shards is on two nodes.
 */
#ifndef SN_LAUNCHER_MEMSAFE_H
#define SN_LAUNCHER_MEMSAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_MEMSAFE_DIR "memckpt"
#define SN_MEMSAFE_END "@has" /* no node's name has an @ */

struct sn_memsafe_word {
	uint32_t generation, ranks, world;
	uint64_t iteration;
};
/* -EBADMSG: it is none. */
int sn_memsafe_parse(const char *text, struct sn_memsafe_word *ret);
/* The latest that is safe; false: none is. Sorts word. Pure. */
bool sn_memsafe_find(struct sn_memsafe_word *word, size_t n, uint32_t generation,
		     uint64_t *ret_iteration);

/* The same of a job directory; *ret_n: how many files were read. */
bool sn_memsafe_look(const char *dir, uint32_t generation, uint64_t *ret_iteration,
		     size_t *ret_n);
/* What is said there is of an earlier start. */
void sn_memsafe_forget(const char *dir);

#endif
