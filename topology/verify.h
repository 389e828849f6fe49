/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.h - do the ranks of a job agree on their communicators?
 *
 * Each finding is a sentence for the engineer whose job hangs. They come in the
 * order of likely causes, so that the first is where to look: a rank that two
 * processes claim to be, then lists of members that differ, then operations and
 * sizes that differ (the earliest first), then who waits for whom in a cycle,
 * who never arrived, and whose records are missing.
 */
#ifndef SN_TOPOLOGY_VERIFY_H
#define SN_TOPOLOGY_VERIFY_H

#include "topology/err.h"
#include "topology/layout.h"
#include "topology/records.h"

enum sn_find_kind {
	SN_FIND_TWICE, /* two processes claim one rank */
	SN_FIND_PLACE, /* a rank is on another node than the plan says */
	SN_FIND_WORLD, /* ranks differ in the world's size */
	SN_FIND_INDEX, /* own index wrong, or not in the own list */
	SN_FIND_LIST, /* a list that can be no communicator */
	SN_FIND_MEMBERS, /* ranks differ in the members */
	SN_FIND_LAYOUT, /* members agree, but differ from the layout */
	SN_FIND_OP, /* other operations under the same sequence number */
	SN_FIND_BYTES, /* other sizes */
	SN_FIND_CYCLE, /* ranks that wait for each other */
	SN_FIND_ABSENT, /* ranks that others wait for */
	SN_FIND_MISSING, /* no records, or only of an older generation */
	SN_FIND_KINDS
};

struct sn_finding {
	enum sn_find_kind kind;
	uint64_t order; /* within the kind: the lower, the earlier */
	char *text; /* a sentence */
	char *comm; /* the communicator's name, or NULL */
	uint32_t *rank; /* those whom it is about, the likeliest culprit first */
	uint32_t n_ranks;
};

struct sn_findings {
	struct sn_finding *find;
	uint32_t n; /* at most SN_FINDINGS_MAX of each kind */
	uint32_t count[SN_FIND_KINDS]; /* all that there were */
	uint32_t ranks; /* with records of the newest generation */
	uint32_t world; /* as they say; 0: nobody does */
	uint32_t comms; /* communicators */
	uint32_t waiting; /* ranks in an operation that others have not reached,
			   * shorter than the stall: no disagreement yet */
};
#define SN_FINDINGS_MAX 100

struct sn_verify_opts {
	const struct sn_layout *layout; /* NULL: only what ranks say counts */
	const char *const *rank_node; /* [layout->world] or NULL */
	uint64_t now; /* ns */
	uint64_t stall; /* ns that a rank may wait before it is a finding */
};

const char *sn_find_name(enum sn_find_kind kind); /* "members", … */

/* Owned by the caller (sn_findings_done). -ENOMEM, or -EINVAL where there is
 * no rank at all. */
int sn_verify(const struct sn_records *rec, const struct sn_verify_opts *opts,
	      struct sn_findings *ret, struct sn_err *err);
void sn_findings_done(struct sn_findings *found);

#endif
