/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolbook.h - the book of pool regions with names, kept in node records.
 *
 * Each node that a region is on says so in the `extra` of its record, which
 * slurmctld saves and shows and only SlurmUser and root can set:
 *	{"pool": {"weights": {"uid": 1000, "bytes": 4294967296, "id": 1732900000}}, …}
 * bytes is this node's part; id tells regions of one name apart, should one be
 * deleted and another made. Other keys are other people's and are kept.
 */
#ifndef SN_LAUNCHER_POOLBOOK_H
#define SN_LAUNCHER_POOLBOOK_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/jobspec.h"

struct sn_poolbook_entry {
	char name[SN_NAME_MAX];
	uint32_t uid;
	uint64_t bytes;
	uint64_t id;
};

/* extra may be NULL or "". *ret (free) has *ret_n entries, in the order in
 * which they stand. -EINVAL: not JSON, or not a book. */
int sn_poolbook_read(const char *extra, struct sn_poolbook_entry **ret,
		     size_t *ret_n, struct sn_err *err);
/* -ENOENT */
int sn_poolbook_find(const char *extra, const char *name,
		     struct sn_poolbook_entry *ret, struct sn_err *err);

/* The new text of extra (free): with the entry, which replaces one of its name,
 * or (bytes 0) without. All else in it stays. -EINVAL: extra is not a JSON
 * object; -E2BIG. */
int sn_poolbook_write(const char *extra, const struct sn_poolbook_entry *entry,
		      char **ret_extra, struct sn_err *err);

#endif
