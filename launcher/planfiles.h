/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * planfiles.h - the files of the job directory that say who is where.
 *
 *	layout.json	the layout, atoms, nodes, and of each rank its node, card
 *			and supernode; the whole plan can be read back from it
 *	groups.json	as `snctl groups --json`, with dp_intra and dp_inter
 *	parallel_group.json	each communicator of more than one rank once, under
 *			the name KIND_INDEX; group_rank is that of the first of
 *			global_ranks, 0: one file is for all ranks, and a rank's
 *			own is its index in global_ranks
 *	hostfile	the node of rank 0, of rank 1, …, a line each
 *	generation	a number and a newline; the last one written, so that all
 *			else is at least as new
 */
#ifndef SN_LAUNCHER_PLANFILES_H
#define SN_LAUNCHER_PLANFILES_H

#include <stddef.h>
#include <stdint.h>

#include "launcher/plan.h"
#include "topology/err.h"

#define SN_LAYOUT_JSON "layout.json"
#define SN_GROUPS_JSON "groups.json"
#define SN_PARALLEL_GROUP_JSON "parallel_group.json"
#define SN_HOSTFILE "hostfile"
#define SN_GENERATION "generation"

/* The largest layout.json that is read: a million ranks. */
#define SN_LAYOUT_JSON_MAX (64u << 20)

/* Texts of the files; *ret is yours to free. */
int sn_planfile_layout(const struct sn_plan *plan, char **ret,
		       struct sn_err *err);
int sn_planfile_groups(const struct sn_plan *plan, char **ret,
		       struct sn_err *err);
int sn_planfile_parallel_group(const struct sn_plan *plan, char **ret,
			       struct sn_err *err);
int sn_planfile_hostfile(const struct sn_plan *plan, char **ret,
			 struct sn_err *err);

/* All but the generation, then hook (may be NULL) for further files from the
 * same plan, then the generation. dir is there and the user's own. */
typedef int sn_planfiles_hook(const struct sn_plan *plan, const char *dir,
			      void *ctx, struct sn_err *err);
int sn_planfiles_write(const struct sn_plan *plan, const char *dir,
		       sn_planfiles_hook *hook, void *ctx, struct sn_err *err);

/* The plan that dir/layout.json says. -ENOENT: none is there; -EINVAL with what
 * is wrong: half of a file, other numbers than the layout's. */
int sn_planfile_parse(const char *text, size_t len, struct sn_plan *ret,
		      struct sn_err *err);
int sn_planfiles_read(const char *dir, struct sn_plan *ret, struct sn_err *err);

#endif
