/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * records.h - what the ranks of a job say about their communicators, gathered.
 *
 * Filled from the lines of launcher/snrecord.h's files, one call a line and in
 * any order of ranks; verify.h judges it. Only the newest generation of each
 * rank is kept, and of each communicator the last SN_REC_OPS operations.
 *
 * Member lists are kept once however many ranks have them: a list of all ranks
 * of a large job would else be as long as the square of their number.
 */
#ifndef SN_TOPOLOGY_RECORDS_H
#define SN_TOPOLOGY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/text.h"

#define SN_REC_RANKS_MAX (1u << 20)
#define SN_REC_MEMBERS_MAX (1u << 26) /* of all distinct lists together */
#define SN_REC_OPS 16
#define SN_REC_NONE UINT32_MAX

struct sn_rec_op {
	uint64_t seq, bytes;
	uint64_t arrive, end; /* CLOCK_REALTIME ns; end 0: not done */
	uint32_t what; /* sn_records_text(): "all_reduce" */
};

struct sn_rec_comm {
	uint32_t name, kind; /* sn_records_text(); kind may be SN_REC_NONE */
	uint32_t set; /* sn_records.set[]; SN_REC_NONE: never said */
	uint32_t index; /* own place in it as the rank says; SN_REC_NONE */
	uint64_t took; /* ns to create it, 0: not said */
	struct sn_rec_op *op; /* ascending by seq */
	uint32_t n_ops;
};

struct sn_rec_rank {
	bool present;
	bool twice; /* two processes on different nodes claim to be it */
	uint32_t gen;
	uint32_t world; /* as the rank says; 0: not said */
	uint32_t pid;
	uint32_t host, other_host; /* sn_records_text() or SN_REC_NONE */
	struct sn_rec_comm *comm;
	uint32_t n_comms;
};

struct sn_rec_set {
	uint32_t *rank;
	uint32_t n;
};

struct sn_rec_table { uint32_t *slot, size, n; };

struct sn_records {
	struct sn_rec_rank *rank; /* [n_ranks], by rank; some not present */
	uint32_t n_ranks;
	uint32_t gen; /* the newest */
	uint64_t newest; /* when its latest process started, 0: not said */
	struct sn_rec_set *set;
	uint32_t n_sets, n_members;
	char **text;
	uint32_t *text_set; /* the set that a text denotes, or SN_REC_NONE */
	uint32_t n_texts;
	struct sn_rec_table texts, sets;
};

void sn_records_init(struct sn_records *rec);
void sn_records_done(struct sn_records *rec);
static inline const char *sn_records_text(const struct sn_records *rec, uint32_t n)
{
	return n == SN_REC_NONE ? "" : rec->text[n];
}

/*
 * All of these: -EINVAL with a sentence that names no file, -ENOMEM. A line of
 * an older generation of the rank is passed over (0).
 *
 * A process starts: it takes the place of the rank's earlier one, also of one of a
 * later generation, as a second program in the same job directory counts from 0
 * again. In the same generation and on another node it is no successor, and both
 * are kept in mind. time, in ns, or 0: the generation of the latest start is the
 * newest one; without times it is the highest.
 */
int sn_records_start(struct sn_records *rec, uint32_t rank, uint32_t gen,
		     uint32_t world, const char *host, uint32_t pid,
		     uint64_t time, struct sn_err *err);
/* members: "0-504:8,3" (sn_ranks_parse), or n ranks in list. */
struct sn_rec_new {
	const char *name, *kind; /* kind NULL: by the name, where it is one */
	const char *members;
	const uint32_t *list;
	uint32_t n_list;
	uint32_t index; /* SN_REC_NONE: not said */
	uint64_t took;
};
int sn_records_comm(struct sn_records *rec, uint32_t rank, uint32_t gen,
		    const struct sn_rec_new *comm, struct sn_err *err);
/* what NULL: only the end of seq is told; a seq that is not known is passed
 * over. A second line about the same seq replaces the first. */
int sn_records_op(struct sn_records *rec, uint32_t rank, uint32_t gen,
		  const char *comm, uint64_t seq, const char *what,
		  uint64_t bytes, uint64_t arrive, uint64_t end,
		  struct sn_err *err);
/* A message from one rank to another: a communicator "NAME FROM>TO" of those
 * two, on which send and recv are the same operation, "send/recv". ends: only
 * the end is told. */
int sn_records_p2p(struct sn_records *rec, uint32_t rank, uint32_t gen,
		   const char *comm, uint32_t from, uint32_t to, uint64_t seq,
		   bool ends, uint64_t bytes, uint64_t arrive, uint64_t end,
		   struct sn_err *err);

/*
 * A list of ranks, its order kept: numbers and runs "FIRST-LAST" or
 * "FIRST-LAST:STEP" (ascending), with commas. The form of Slurm's arrays.
 * Appends to *ret (realloc); at most max ranks in it. -EINVAL, -ENOMEM.
 */
int sn_ranks_parse(const char *text, uint32_t max, uint32_t **ret,
		   uint32_t *ret_n, struct sn_err *err);
void sn_ranks_format(const uint32_t *rank, uint32_t n, struct sn_buf *buf);

#endif
