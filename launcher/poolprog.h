/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolprog.h - what a site's pool program (PoolProgram) says.
 *
 * It is called as root, on the node:
 *	PROGRAM create ID BYTES UID GID		-> {"dir": "/where", "bytes": N}
 *	PROGRAM attach ID UID GID		-> the same, of one that is there
 *	PROGRAM destroy ID			-> nothing; also of one not there
 *	PROGRAM usage ID			-> {"size": N, "used": N, "hits": N,
 *		"misses": N, "swap_ins": N, "swap_outs": N, "bus_load": 0.0-1.0}
 * ID is "job-NUMBER" or "name-NAME.NUMBER". In usage, size and used must be
 * there, the others may.
 */
#ifndef SN_LAUNCHER_POOLPROG_H
#define SN_LAUNCHER_POOLPROG_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

struct sn_poolprog_place {
	char dir[512];
	uint64_t bytes;
};

struct sn_poolprog_usage {
	uint64_t size, used;
	uint64_t hits, misses, swap_ins, swap_outs; /* UINT64_MAX: not told */
	double bus_load; /* < 0: not told */
};

/* -EINVAL with what is wrong and what is wanted. `who` begins the sentence. */
int sn_poolprog_parse_place(const char *text, size_t len, const char *who,
			    struct sn_poolprog_place *ret, struct sn_err *err);
int sn_poolprog_parse_usage(const char *text, size_t len, const char *who,
			    struct sn_poolprog_usage *ret, struct sn_err *err);

/* Call it; what it says of a place is checked against what was asked: bytes
 * (0: any) and the directory, which must be the user's alone. */
int sn_poolprog_create(const char *program, uint32_t seconds, const char *id,
		       uint64_t bytes, uint32_t uid, uint32_t gid,
		       struct sn_poolprog_place *ret, struct sn_err *err);
int sn_poolprog_attach(const char *program, uint32_t seconds, const char *id,
		       uint64_t bytes, uint32_t uid, uint32_t gid,
		       struct sn_poolprog_place *ret, struct sn_err *err);
int sn_poolprog_destroy(const char *program, uint32_t seconds, const char *id,
			struct sn_err *err);
int sn_poolprog_usage(const char *program, uint32_t seconds, const char *id,
		      struct sn_poolprog_usage *ret, struct sn_err *err);

#endif
