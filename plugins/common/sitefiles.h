/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sitefiles.h - the files beside slurm.conf, as Slurm itself would find them:
 * in configless mode the cached copies.
 */
#ifndef SN_PLUGINS_COMMON_SITEFILES_H
#define SN_PLUGINS_COMMON_SITEFILES_H

#include <stdbool.h>
#include <stddef.h>

#include "topology/err.h"
#include "topology/policy.h"
#include "topology/topo.h"

struct sn_site_file {
	char *path; /* as it is named: "topology.conf", or an Include's word */
	char *text;
	size_t len;
};

/* topology.conf and every file that it includes, the former first. */
struct sn_site_files {
	struct sn_site_file *file;
	size_t n;
};

#define SN_SITE_FILE_MAX (256u << 20)

/* Where the file `name` beside slurm.conf would be; free(). NULL without memory. */
char *sn_site_path(const char *name);

/* Read the file `name` beside slurm.conf, or an absolute path. *ret_text is
 * owned by the caller (free). -ENOENT if there is none. */
int sn_site_read(const char *name, char **ret_text, size_t *ret_len,
		 struct sn_err *err);

/* Read and parse topology.conf; *files keeps what was read (may be NULL). */
int sn_site_topology(struct sn_topo **ret, struct sn_site_files *files,
		     struct sn_err *err);
/* Parse again what was read before. */
int sn_site_topology_again(const struct sn_site_files *files,
			   struct sn_topo **ret, struct sn_err *err);
void sn_site_files_done(struct sn_site_files *files);

/* Keep files in one file at path, whole or not at all, and read them back. */
int sn_site_files_save(const struct sn_site_files *files, const char *path,
		       struct sn_err *err);
int sn_site_files_load(const char *path, struct sn_site_files *ret,
		       struct sn_err *err);

/*
 * Where a daemon keeps the text of the topology that is in effect: slurmctld in
 * StateSaveLocation, slurmd in its spool directory, where slurmstepd finds it.
 * free(); NULL: nowhere.
 */
char *sn_site_state_path(void);
/* The topology that the daemons last took as good: a topology.conf that has
 * since been changed or damaged is not in effect. */
int sn_site_topology_in_effect(struct sn_topo **ret, struct sn_err *err);

/* supernode.conf; a missing file is the defaults. On error *ret is the
 * defaults too, so that the caller can go on after it has told. */
int sn_site_policy(struct sn_policy *ret, struct sn_err *err);

/* Is SelectType=select/supernode, which puts ranks in order (24.11)? */
bool sn_site_selects_supernode(void);
/* Does Slurm fill a step's nodes in the topology's order (26.05, with a block
 * distribution), and not in that of its node table? */
bool sn_site_fills_by_topology(void);

#endif
