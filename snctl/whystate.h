/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whystate.h - what the nodes have for a pending job, now and later.
 */
#ifndef SNCTL_WHYSTATE_H
#define SNCTL_WHYSTATE_H

#include "snctl/whyask.h"

/* What the snapshot of live.h has not. */
struct why_extra {
	reserve_info_msg_t *reservations; /* NULL: none can be seen */
	bool count_memory; /* Slurm gives memory out */
};

void why_extra_load(struct why_extra *ret);
void why_extra_done(struct why_extra *extra);

struct why_when {
	time_t time; /* 0: now */
	bool all; /* when every running job is gone, and no node is reserved */
};

/* Owned by the caller (why_state_done), who may call it again with the same
 * *ret. part is the partition to try. */
int why_state_make(const struct live *live, const struct why_extra *extra,
		   const struct live_job *job, const partition_info_t *part,
		   struct why_ask *ask, struct why_when when,
		   struct why_state *ret, struct sn_err *err);
void why_state_done(struct why_state *state);

/* How many nodes of each supernode a job with --replaces may have: *ret_allow
 * [n_supernodes] (free), and the sum; NULL: it replaces none. All 0 where the other
 * job does not run any more. */
int why_replace(const struct live *live, const struct live_job *job,
		uint32_t **ret_allow, uint64_t *ret_all, struct sn_err *err);

/* When the job lets its nodes go: 1 it is completing; 0 nobody knows. */
time_t why_end_of(const struct live_job *job);

/* A word of the comma separated list? */
bool why_has_word(const char *list, const char *word);

#endif
