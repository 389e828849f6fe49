/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.h - what snelasticd writes into a node's record: pure.
 *
 * The marks themselves are cardbook's. Beside them stands which of them are
 * snelasticd's: "snelasticd": {"cards": [3], "supernode": true}. So a mark that it
 * has made and that is there no more was taken away by an administrator, and one
 * that is not named there was never written, or the whole record was lost (as by
 * `slurmctld -c`): then it is written again. That is looked at when a record is
 * read and also when it is written, for an administrator may have come between.
 */
#ifndef SN_ELASTIC_MARKS_H
#define SN_ELASTIC_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/cardbook.h"
#include "topology/err.h"

#define SN_MARKS_BY "snelasticd"

struct sn_marks { /* what shall stand there */
	uint64_t cards; /* with a health mark */
	struct sn_cardmark *card; /* one for each, the lowest first */
	bool supernode, unit; /* degraded */
	struct sn_cardmark supernode_mark, unit_mark;
	/* What was taken away and has come anew: nobody has seen the new one yet. */
	uint64_t anew;
	bool anew_supernode, anew_unit;
};
void sn_marks_done(struct sn_marks *marks);

struct sn_marks_seen { /* what stands there */
	uint64_t cards; /* with a health mark */
	bool supernode, unit; /* degraded, whoever says so */
	bool our_supernode, our_unit; /* by snelasticd */
	uint64_t own; /* cards that are named as snelasticd's */
	bool own_supernode, own_unit;
};
/* -EINVAL as sn_cardbook_read(); *ret has what could be told. */
int sn_marks_read(const char *extra, struct sn_marks_seen *ret, struct sn_err *err);

struct sn_marks_gone { /* what an administrator has taken away */
	uint64_t cards;
	bool supernode, unit;
};

/* The new text of extra, *ret (free); the same text where it says so already. Where
 * it would be too long the marks' reasons are left out. -EINVAL: extra is no JSON
 * object; -E2BIG: it has no room even so. A
 * domain that an administrator has degraded is left alone. What he has taken away
 * is not written again, but told in *ret_gone (may be NULL). */
int sn_marks_write(const char *extra, const struct sn_marks *marks, char **ret,
		   struct sn_marks_gone *ret_gone, struct sn_err *err);

#endif
