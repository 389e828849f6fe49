/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readfile.h - whole files into memory, and a topology from its file.
 */
#ifndef SNCTL_READFILE_H
#define SNCTL_READFILE_H

#include <stddef.h>

#include "topology/err.h"
#include "topology/policy.h"
#include "topology/topo.h"

#define SNCTL_FILE_MAX (64u << 20)

/* A regular file of at most SNCTL_FILE_MAX bytes. *ret_text has a NUL after
 * its *ret_len bytes and is owned by the caller (free). */
int snctl_read_file(const char *path, char **ret_text, size_t *ret_len,
		    struct sn_err *err);

/* For the parsers' Include lines: path is relative to the directory of the
 * main file, whose path ctx is, as it is for Slurm, however deep the line. */
int snctl_read_include(void *ctx, const char *path, const char *from,
		       char **ret_text, size_t *ret_len, struct sn_err *err);

/* Parse the topology.conf at path. Owned by the caller (sn_topo_destroy). */
int snctl_read_topology(const char *path, struct sn_topo **ret,
			struct sn_err *err);

/* The supernode.conf beside the topology.conf at path; where there is none,
 * every key at its default. */
int snctl_read_policy(const char *path, struct sn_policy *ret,
		      struct sn_err *err);

#endif
