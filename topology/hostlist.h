/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostlist.h - Slurm's hostlist notation, "n[001-049,060],login1".
 *
 * Order is kept, as the place of a name in a Nodes= list is its place in the
 * supernode; duplicates are kept too and are the caller's to refuse. Several
 * bracket groups in one name ("r[1-4]n[01-18]") multiply, the last fastest.
 */
#ifndef SN_TOPOLOGY_HOSTLIST_H
#define SN_TOPOLOGY_HOSTLIST_H

#include <stddef.h>

#include "topology/err.h"

/* More names than this in one list are refused (-E2BIG): nobody owns so many
 * nodes, but n[0-4294967295] must not take the memory of slurmctld. */
#define SN_HOSTLIST_MAX (4u << 20)

struct sn_names {
	char **name; /* n strings, each owned */
	size_t n;
	size_t size;
};

/* Append the names of text to ret. On error ret is as it was before. */
int sn_hostlist_expand(const char *text, struct sn_names *ret,
		       struct sn_err *err);
/* At most max names, at most SN_HOSTLIST_MAX: counted before there is any. -E2BIG. */
int sn_hostlist_expand_max(const char *text, size_t max, struct sn_names *ret,
			   struct sn_err *err);
/* The shortest notation that keeps the order: runs of names that count up by
 * one with the same prefix and width become ranges. Owned by the caller (free);
 * NULL without memory. n = 0 gives "". */
char *sn_hostlist_compress(const char *const *name, size_t n);
int sn_names_add(struct sn_names *names, const char *name);
void sn_names_done(struct sn_names *names);
/* strcmp that compares runs of digits as numbers: n9 before n10. */
int sn_name_cmp(const char *a, const char *b);

#endif
