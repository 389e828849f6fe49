/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region_internal.h - between region.c (directories, records) and
 * regionmount.c (what is mounted there).
 */
#ifndef SN_LAUNCHER_REGION_INTERNAL_H
#define SN_LAUNCHER_REGION_INTERNAL_H

#include "launcher/region.h"

/* A mount or its leftovers: a directory, and beside it DIR.info. */
struct region_slot {
	int dir_fd; /* of the directory that it is in */
	const char *dir_path;
	char name[SN_REGION_NAME_MAX]; /* "job-5", "w.7" */
	char id[SN_REGION_NAME_MAX + 8]; /* for PoolProgram: "job-5", "name-w.7" */
};

/* DIR.info: written before anything is mounted, gone after all else is. */
struct region_info {
	uint32_t kind; /* enum sn_pool_provider, or REGION_NAMED */
	uint64_t bytes;
	char name[SN_REGION_NAME_MAX]; /* REGION_NAMED: "w.7" */
};
#define REGION_NAMED 100

int region_info_write(const struct region_slot *slot,
		      const struct region_info *info, struct sn_err *err);
/* -ENOENT */
int region_info_read(const struct region_slot *slot, struct region_info *ret);

bool region_is_mounted(const struct region_slot *slot);
/* uid of the mounted root, UINT32_MAX: cannot be told */
uint32_t region_owner(const struct region_slot *slot);

/* Mount a region of *info's kind; info->bytes is made what it is. */
int region_mount(struct sn_region_node *node, const struct region_slot *slot,
		 struct region_info *info, uint32_t uid, uint32_t gid,
		 struct sn_err *err);
/* Let `slot` show what is mounted at `from`. */
int region_bind(const struct region_slot *slot, const struct region_slot *from,
		bool read_only, struct sn_err *err);
/* Unmount, tell the program, remove directory and record. */
int region_clear(struct sn_region_node *node, const struct region_slot *slot,
		 struct sn_err *err);

#endif
