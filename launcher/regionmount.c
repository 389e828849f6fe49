/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * regionmount.c - what a region is made of: tmpfs, huge pages, a site's own.
 *
 * Paths go by /proc/self/fd of a directory that only root may change, so that
 * nobody can put another in their place.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/poolprog.h"
#include "launcher/region_internal.h"
#include "topology/text.h"

#define FLAGS (MS_NOSUID | MS_NODEV)

static void target_path(const struct region_slot *slot, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/self/fd/%d/%s", slot->dir_fd, slot->name);
}

bool region_is_mounted(const struct region_slot *slot)
{
	struct statx stx;

	if (statx(slot->dir_fd, slot->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS, &stx))
		return false;
	return stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

uint32_t region_owner(const struct region_slot *slot)
{
	struct stat st;

	return fstatat(slot->dir_fd, slot->name, &st, AT_SYMLINK_NOFOLLOW) ?
		UINT32_MAX : st.st_uid;
}

/* ---- tmpfs and huge pages ------------------------------------------------------- */

static int mount_tmpfs(const char *target, struct region_info *info,
		       uint32_t uid, uint32_t gid, struct sn_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char options[160];

	/* The kernel would round up, and the sum of all would be too much. */
	info->bytes = info->bytes < page ? page : info->bytes / page * page;
	snprintf(options, sizeof(options), "size=%" PRIu64 ",mode=0700,uid=%u,gid=%u",
		 info->bytes, uid, gid);
	if (mount("supernode-pool", target, "tmpfs", FLAGS, options))
		return sn_err_set(err, -errno, "a tmpfs of %" PRIu64 " bytes: %s",
				  info->bytes, strerror(errno));
	return 0;
}

static uint64_t meminfo(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[160];
	uint64_t value = 0;
	size_t len = strlen(key);

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':')
			value = strtoull(line + len + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static int mount_huge(const char *target, struct region_info *info,
		      uint32_t uid, uint32_t gid, struct sn_err *err)
{
	uint64_t page = meminfo("Hugepagesize") << 10;
	uint64_t total = meminfo("HugePages_Total"), have = meminfo("HugePages_Free");
	uint64_t reserved = meminfo("HugePages_Rsvd"), want;
	char options[200], size[32], page_size[32];

	have -= reserved < have ? reserved : have;
	sn_format_size(info->bytes, size, sizeof(size));
	sn_format_size(page, page_size, sizeof(page_size));
	if (!page || !total)
		return sn_err_set(err, -ENOSPC,
				  "PoolProvider=hugetlbfs: this node has no huge pages; reserve some (vm.nr_hugepages), or use PoolProvider=tmpfs");
	if (info->bytes < page)
		return sn_err_set(err, -ENOSPC,
				  "PoolProvider=hugetlbfs: this node's share of %s is less than one huge page of %s; ask for more",
				  size, page_size);
	want = info->bytes / page;
	if (want > have)
		return sn_err_set(err, -ENOSPC,
				  "PoolProvider=hugetlbfs: %s are %" PRIu64 " huge pages of %s, and %" PRIu64 " of this node's %" PRIu64 " are free",
				  size, want, page_size, have, total);
	info->bytes = want * page;
	/* min_size reserves them, so that a later write cannot fail. */
	snprintf(options, sizeof(options),
		 "pagesize=%" PRIu64 ",size=%" PRIu64 ",min_size=%" PRIu64 ",mode=0700,uid=%u,gid=%u",
		 page, info->bytes, info->bytes, uid, gid);
	if (mount("supernode-pool", target, "hugetlbfs", FLAGS, options))
		return sn_err_set(err, -errno,
				  "PoolProvider=hugetlbfs: %" PRIu64 " huge pages of %s: %s",
				  want, page_size, strerror(errno));
	return 0;
}

/* ---- a site's program -------------------------------------------------------------- */

static int bind_fd(int fd, const char *target, bool read_only, struct sn_err *err)
{
	char from[48];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (mount(from, target, NULL, MS_BIND, NULL))
		return sn_err_set(err, -errno, "bind mount: %s", strerror(errno));
	if (mount(NULL, target, NULL,
		  MS_BIND | MS_REMOUNT | FLAGS | (read_only ? MS_RDONLY : 0), NULL)) {
		int rc = -errno;

		(void)umount2(target, MNT_DETACH);
		return sn_err_set(err, rc, "bind mount: %s", strerror(-rc));
	}
	return 0;
}

static int mount_program(struct sn_region_node *node,
			 const struct region_slot *slot, const char *target,
			 struct region_info *info, uint32_t uid, uint32_t gid,
			 struct sn_err *err)
{
	struct sn_poolprog_place place;
	struct stat st;
	int rc, fd;

	if (!node->program[0])
		return sn_err_set(err, -EINVAL,
				  "PoolProvider=program in supernode.conf, but there is no PoolProgram");
	rc = sn_poolprog_create(node->program, node->seconds, slot->id,
				info->bytes, uid, gid, &place, err);
	if (rc)
		return rc;
	fd = open(place.dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_uid != uid)
		rc = sn_err_set(err, -EINVAL,
				"PoolProgram create %s: %s is not the user's directory any more",
				slot->id, place.dir);
	else
		rc = bind_fd(fd, target, false, err);
	if (fd >= 0)
		close(fd);
	if (rc)
		(void)sn_poolprog_destroy(node->program, node->seconds,
					  slot->id, NULL);
	return rc;
}

/* ---- all of them --------------------------------------------------------------------- */

/* An empty directory of root's to mount on. */
static int make_dir(const struct region_slot *slot, struct sn_err *err)
{
	struct stat st;

	if (mkdirat(slot->dir_fd, slot->name, 0700) && errno != EEXIST)
		return sn_err_set(err, -errno, "%s/%s: %s", slot->dir_path,
				  slot->name, strerror(errno));
	if (fstatat(slot->dir_fd, slot->name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return sn_err_set(err, -EPERM,
				  "%s/%s is not a directory of root's; remove it",
				  slot->dir_path, slot->name);
	return 0;
}

int region_mount(struct sn_region_node *node, const struct region_slot *slot,
		 struct region_info *info, uint32_t uid, uint32_t gid,
		 struct sn_err *err)
{
	char target[PATH_MAX];
	int rc = make_dir(slot, err);

	if (rc)
		return rc;
	target_path(slot, target, sizeof(target));
	/* Before the mount, so that whatever dies here leaves a trace. */
	rc = region_info_write(slot, info, err);
	if (rc)
		return rc;
	switch (info->kind) {
	case SN_POOL_PROVIDER_TMPFS:
		rc = mount_tmpfs(target, info, uid, gid, err);
		break;
	case SN_POOL_PROVIDER_HUGETLBFS:
		rc = mount_huge(target, info, uid, gid, err);
		break;
	case SN_POOL_PROVIDER_PROGRAM:
		rc = mount_program(node, slot, target, info, uid, gid, err);
		break;
	default:
		rc = sn_err_set(err, -EINVAL, "PoolProvider=none makes no regions");
	}
	if (!rc)
		rc = region_info_write(slot, info, err);
	if (rc)
		(void)region_clear(node, slot, NULL);
	return rc;
}

int region_bind(const struct region_slot *slot, const struct region_slot *from,
		bool read_only, struct sn_err *err)
{
	char target[PATH_MAX];
	int fd, rc = make_dir(slot, err);

	if (rc)
		return rc;
	target_path(slot, target, sizeof(target));
	fd = openat(from->dir_fd, from->name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sn_err_set(err, -errno, "%s/%s: %s", from->dir_path,
				  from->name, strerror(errno));
	rc = bind_fd(fd, target, read_only, err);
	close(fd);
	return rc;
}

int region_clear(struct sn_region_node *node, const struct region_slot *slot,
		 struct sn_err *err)
{
	struct region_info info = { 0 };
	char target[PATH_MAX], record[sizeof(slot->name) + 8];
	int tries, rc = 0;

	target_path(slot, target, sizeof(target));
	/* Lazily: a process that does not die must not hold the node. */
	for (tries = 0; tries < 8 && region_is_mounted(slot); tries++)
		if (umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW))
			return sn_err_set(err, -errno, "%s/%s: cannot be unmounted: %s",
					  slot->dir_path, slot->name, strerror(errno));
	if (!region_info_read(slot, &info) &&
	    info.kind == SN_POOL_PROVIDER_PROGRAM && node->program[0])
		rc = sn_poolprog_destroy(node->program, node->seconds, slot->id,
					 err);
	if (unlinkat(slot->dir_fd, slot->name, AT_REMOVEDIR) && errno != ENOENT &&
	    !rc)
		rc = sn_err_set(err, -errno, "%s/%s: %s", slot->dir_path,
				slot->name, strerror(errno));
	/* A program that failed is asked again by the next sweep. */
	snprintf(record, sizeof(record), "%s.info", slot->name);
	if (!rc && unlinkat(slot->dir_fd, record, 0) && errno != ENOENT)
		rc = sn_err_set(err, -errno, "%s/%s: %s", slot->dir_path, record,
				strerror(errno));
	return rc;
}
