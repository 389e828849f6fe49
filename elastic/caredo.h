/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caredo.h - the parts of care in the daemon among themselves: caredo.c, decisions
 * carried out; carenodes.c, nodes that do not answer; opcare.c, what is shown.
 */
#ifndef SN_ELASTIC_CAREDO_H
#define SN_ELASTIC_CAREDO_H

#include "elastic/care.h"
#include "elastic/carejudge.h"
#include "elastic/loop.h"
#include "elastic/work.h"

struct sn_daemon;

#define CARE_GONE_MAX 1024
#define CARE_CHECKED_MAX 512

struct sn_caring {
	struct sn_care *care;
	struct sn_timer *timer;
	int64_t looked; /* ms */

	/* carenodes.c */
	struct sn_pool *pool; /* of those who see whether nodes answer */
	uint32_t checks; /* under way */
	uint32_t checks_none; /* of them, with nobody's word */
	/* Nodes that do not answer, and slurmctld does not know it; till when that is
	 * believed. */
	struct { char node[64]; int64_t until; } *gone; /* [CARE_GONE_MAX] */
	uint32_t n_gone;
	struct { char node[64]; int64_t at; enum sn_care_witness witness; } checked[CARE_CHECKED_MAX]; /* of late */
	uint32_t next_checked;
	uint32_t seed; /* of whom else is asked */
	struct sn_care_limit limit; /* of nodes taken out */
};

void care_eyes(struct sn_daemon *d, struct sn_care_eyes *ret); /* without marks */
const struct sn_care *care_of(const struct sn_daemon *d); /* NULL: not yet */

/* ---- carenodes.c ---- */

/* An snrun has come, gone, said something, or lost a node. */
void care_news(struct sn_daemon *d, uint32_t job, enum sn_attach_news what, const char *node);
/* Nodes that do not respond to slurmctld, with ranks of ours on them: are they gone? */
void care_check_silent(struct sn_daemon *d);
/* ret[CARE_GONE_MAX]: those that slurmctld does not know of yet, by number. */
void care_find_gone(struct sn_daemon *d, uint32_t *ret, size_t *ret_n);

#endif
