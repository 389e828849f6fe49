/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify_internal.h - how the parts of verify fit.
 *
 * An *instance* is a communicator as its holders see it: a name and a list of
 * members. Where all is well, its holders are its members.
 */
#ifndef SN_TOPOLOGY_VERIFY_INTERNAL_H
#define SN_TOPOLOGY_VERIFY_INTERNAL_H

#include "topology/verify.h"

struct vf_inst {
	uint32_t name, kind, set;
	uint32_t first, n; /* holders: vf.holder[first] … */
	uint32_t absent; /* members that do not hold it */
	uint32_t extra; /* holders that are no members */
};

struct vf_holder {
	uint32_t rank;
	const struct sn_rec_comm *comm;
};

struct vf {
	const struct sn_records *rec;
	const struct sn_verify_opts *opts;
	struct sn_findings *found;
	struct vf_inst *inst;
	uint32_t n_inst;
	struct vf_holder *holder;
	uint32_t n_holders;
	uint32_t *stamp; /* [stamps] scratch by rank; see vf_mark() */
	uint32_t stamps, mark;
	bool failed; /* no memory */
};

/* A new mark, which no stamp[] has. */
static inline uint32_t vf_mark(struct vf *vf)
{
	return ++vf->mark;
}

static inline const struct sn_rec_rank *vf_rank(const struct vf *vf, uint32_t rank)
{
	const struct sn_rec_rank *r;

	if (rank >= vf->rec->n_ranks)
		return NULL;
	r = &vf->rec->rank[rank];
	return r->present && r->gen == vf->rec->gen ? r : NULL;
}

/* The sentence is taken over from buf. rank[] is copied. */
void vf_find(struct vf *vf, enum sn_find_kind kind, uint64_t order,
	     uint32_t comm, const uint32_t *rank, uint32_t n_ranks,
	     struct sn_buf *buf);
/* "rank 17 (n003)"; "ranks 3, 5 and 9"; "[16, 17, 18, 19]"; */
void vf_put_rank(const struct vf *vf, struct sn_buf *buf, uint32_t rank);
void vf_put_ranks(const struct vf *vf, struct sn_buf *buf, const uint32_t *rank,
		  uint32_t n);
void vf_put_list(struct sn_buf *buf, const uint32_t *rank, uint32_t n);

void vf_check_ranks(struct vf *vf); /* verify_rank.c */
void vf_check_members(struct vf *vf); /* verify_member.c */
void vf_check_layout(struct vf *vf);
void vf_check_ops(struct vf *vf); /* verify_op.c */
void vf_check_waits(struct vf *vf); /* verify_wait.c */

#endif
