/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrecord.h - what a rank believes about its communicators, and does in them.
 *
 * A small library (libsnrecord) for training frameworks, communication
 * libraries and MPI wrappers. Each rank writes one file of JSON lines, which
 * `snctl groups verify` compares; docs/records.md describes the lines.
 *
 *	struct snrecord *rec = snrecord_open(NULL, rank, world);
 *	int tp = snrecord_comm(rec, "tp_4", "tp", members, 4, 1, 0);
 *	uint64_t seq = snrecord_begin(rec, tp, "all_reduce", bytes);
 *	… the collective …
 *	snrecord_end(rec, tp, seq);
 *	snrecord_close(rec);
 *
 * Recording never harms the job. Every function takes NULL and what earlier
 * calls returned in failure, and then does nothing; after a file that cannot be
 * written (a full disk) the rest is dropped, and snrecord_error() says why.
 * A line is one write(2), so that it is whole and there even if the process is
 * killed in the next moment or hangs. The file is bounded: at SNRECORD_BYTES
 * (environment; default 131072) it becomes FILE.1 in place of an earlier one, and
 * the new file begins with all communicators and the last operation of each.
 *
 * Thread-safe. After fork() a child must not use its parent's record.
 */
#ifndef SNRECORD_H
#define SNRECORD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct snrecord;

/*
 * Record into DIR/rank-RANK.jsonl; dir NULL: $SUPERNODE_JOB_DIR/records, made
 * if need be. The generation is $SUPERNODE_GENERATION, else
 * $TORCHELASTIC_RESTART_COUNT, else 0. NULL with errno set if that fails; NULL
 * with errno 0 where nothing is asked for, as SUPERNODE_JOB_DIR is not set or
 * SUPERNODE_RECORDS is "no".
 */
struct snrecord *snrecord_open(const char *dir, int rank, int world);
void snrecord_close(struct snrecord *rec);

/*
 * A communicator: its name, the same on all its members and one of its kind on
 * each ("tp" or "tp_4"); kind, the axis as `snctl groups` names it ("tp",
 * "dp_cp"), or NULL; the global ranks of its members in order; this rank's
 * place among them; and how long it took to create in ns, or 0. Returns a
 * handle >= 0, or -errno. The same name again describes it anew.
 */
int snrecord_comm(struct snrecord *rec, const char *name, const char *kind,
		  const int *members, int n, int index, uint64_t took_ns);

/*
 * This rank arrives at an operation. All members must call the operations of a
 * communicator in the same order: they are numbered from 1. bytes is the size
 * of the message as each member must have it; where members have sizes of
 * their own by right (MPI's …v calls), let `op` end in "v". Returns the number,
 * or 0.
 */
uint64_t snrecord_begin(struct snrecord *rec, int comm, const char *op,
			uint64_t bytes);
/* … and has finished it. */
void snrecord_end(struct snrecord *rec, int comm, uint64_t seq);

/* A message to (send != 0) or from the member with global rank `peer`. These are
 * numbered by pair and direction. End them with snrecord_p2p_end. */
uint64_t snrecord_p2p_begin(struct snrecord *rec, int comm, int send, int peer,
			    uint64_t bytes);
void snrecord_p2p_end(struct snrecord *rec, int comm, int send, int peer,
		      uint64_t seq);

/* 0, or the errno for which recording has ended. */
int snrecord_error(const struct snrecord *rec);

#ifdef __cplusplus
}
#endif

#endif
