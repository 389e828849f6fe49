/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region.c - pool regions on one node: directories, records, who has what.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/region_internal.h"
#include "topology/jobspec.h"

#define NAMED "named"

/* ---- directories ----------------------------------------------------------------- */

/* Nobody but root may put something else in the place of what is below. */
static int check_dir(int fd, const char *path, bool ours, struct sn_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return sn_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if ((st.st_uid && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH) &&
	     (ours || !(st.st_mode & S_ISVTX))))
		return sn_err_set(err, -EPERM,
				  "%s (PoolDir in supernode.conf) belongs to user %u with mode %04o, so others than root could change what is in it; no region is made there",
				  path, st.st_uid, st.st_mode & 07777);
	return 0;
}

static int enter(int dir_fd, const char *name, const char *path, bool make,
		 mode_t mode, struct sn_err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir_fd, name, flags);

	if (fd < 0 && errno == ENOENT && make) {
		if (mkdirat(dir_fd, name, mode) && errno != EEXIST)
			return sn_err_set(err, -errno, "%s: %s", path,
					  strerror(errno));
		fd = openat(dir_fd, name, flags);
		/* whatever the caller's umask is */
		if (fd >= 0)
			(void)fchmod(fd, mode);
	}
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return sn_err_set(err, -ELOOP,
				  "%s (PoolDir in supernode.conf) is a symbolic link or no directory; no region is made there",
				  path);
	if (fd < 0)
		return sn_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return fd;
}

/* Open path, which is absolute, from the root down; *ret_fd. */
static int walk(const char *path, bool make, int *ret_fd, struct sn_err *err)
{
	char copy[PATH_MAX / 2], *save = NULL, *word;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	for (word = strtok_r(copy, "/", &save); word && !rc;
	     word = strtok_r(NULL, "/", &save)) {
		char so_far[PATH_MAX / 2];
		int next;

		if (!strcmp(word, "..")) {
			rc = sn_err_set(err, -EINVAL,
					"PoolDir=%s: want a path without \"..\"", path);
			break;
		}
		/* strtok_r has cut the copy here */
		snprintf(so_far, sizeof(so_far), "%.*s",
			 (int)(word - copy + strlen(word)), path);
		next = enter(fd, word, so_far, make, 0755, err);
		if (next < 0)
			rc = next;
		else
			rc = check_dir(next, so_far, false, err);
		close(fd);
		fd = next;
	}
	if (rc && fd >= 0)
		close(fd);
	*ret_fd = fd;
	return rc;
}

static int lock(struct sn_region_node *node, uint32_t seconds, struct sn_err *err)
{
	uint32_t tries = seconds * 50;

	while (flock(node->fd, LOCK_EX | LOCK_NB)) {
		struct timespec pause = { 0, 20000000 };

		if (errno != EWOULDBLOCK && errno != EINTR)
			return sn_err_set(err, -errno, "%s: cannot be locked: %s",
					  node->path, strerror(errno));
		if (!tries--)
			return sn_err_set(err, -ETIME,
					  "%s: somebody has held its lock for %u seconds",
					  node->path, seconds);
		nanosleep(&pause, NULL);
	}
	return 0;
}

int sn_region_open(const struct sn_policy *policy, const char *node, bool make,
		   struct sn_region_node *ret, struct sn_err *err)
{
	const char *dir = policy->pool_dir;
	int base = -1, rc, len;

	memset(ret, 0, sizeof(*ret));
	ret->fd = -1;
	ret->provider = policy->pool_provider;
	ret->program = policy->pool_program;
	ret->seconds = policy->pool_timeout;
	len = snprintf(ret->path, sizeof(ret->path), "%s/%s", dir, node);
	if (dir[0] != '/' || len < 0 || (size_t)len >= sizeof(ret->path))
		return sn_err_set(err, -EINVAL,
				  "PoolDir=%s: want an absolute path of at most %zu characters",
				  dir, sizeof(ret->path) - strlen(node) - 2);
	if (!node[0] || node[0] == '.' || strchr(node, '/'))
		return sn_err_set(err, -EINVAL, "\"%s\" is no name of a node", node);
	rc = walk(dir, make, &base, err);
	if (rc)
		return rc;
	rc = check_dir(base, dir, true, err);
	if (!rc) {
		ret->fd = enter(base, node, ret->path, make, 0711, err);
		rc = ret->fd < 0 ? ret->fd : check_dir(ret->fd, ret->path, true, err);
	}
	close(base);
	if (!rc)
		rc = lock(ret, 2 * ret->seconds + 10, err);
	if (rc)
		sn_region_close(ret);
	return rc;
}

void sn_region_close(struct sn_region_node *node)
{
	if (node->fd >= 0)
		close(node->fd);
	node->fd = -1;
}

/* ---- records ------------------------------------------------------------------------ */

int region_info_write(const struct region_slot *slot,
		      const struct region_info *info, struct sn_err *err)
{
	char name[sizeof(slot->name) + 8], fresh[sizeof(slot->name) + 8];
	char text[SN_REGION_NAME_MAX + 64];
	int fd, rc = 0, len;

	snprintf(name, sizeof(name), "%s.info", slot->name);
	snprintf(fresh, sizeof(fresh), "%s.new", slot->name);
	len = snprintf(text, sizeof(text), "%u %" PRIu64 " %s\n", info->kind,
		       info->bytes, info->name);
	fd = openat(slot->dir_fd, fresh,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, (size_t)len) != len ||
	    renameat(slot->dir_fd, fresh, slot->dir_fd, name))
		rc = -(errno ? errno : EIO);
	if (fd >= 0)
		close(fd);
	return rc ? sn_err_set(err, rc, "%s/%s: cannot be written: %s",
			       slot->dir_path, name, strerror(-rc)) : 0;
}

int region_info_read(const struct region_slot *slot, struct region_info *ret)
{
	char name[sizeof(slot->name) + 8], text[SN_REGION_NAME_MAX + 64];
	char *end;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s.info", slot->name);
	fd = openat(slot->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ENOENT;
	text[n] = '\0';
	ret->kind = (uint32_t)strtoul(text, &end, 10);
	ret->bytes = strtoull(end, &end, 10);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(*end ? end + 1 : end, "\n"),
		 *end ? end + 1 : end);
	return 0;
}

static void job_slot(const struct sn_region_node *node, uint32_t job,
		     struct region_slot *ret)
{
	ret->dir_fd = node->fd;
	ret->dir_path = node->path;
	snprintf(ret->name, sizeof(ret->name), "job-%u", job);
	snprintf(ret->id, sizeof(ret->id), "job-%u", job);
}

/* named_fd is the caller's to close, as slot->dir_fd. */
static int named_slot(const struct sn_region_node *node, const char *name,
		      bool make, struct region_slot *ret, struct sn_err *err)
{
	ret->dir_path = node->path;
	ret->dir_fd = enter(node->fd, NAMED, node->path, make, 0700, err);
	if (ret->dir_fd < 0)
		return ret->dir_fd;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->id, sizeof(ret->id), "name-%s", name);
	return 0;
}

/* ---- what a job has ------------------------------------------------------------------- */

int sn_region_find(struct sn_region_node *node, uint32_t job, uint32_t uid,
		   struct sn_region *ret, struct sn_err *err)
{
	struct region_info info;
	struct region_slot slot;

	job_slot(node, job, &slot);
	if (!region_is_mounted(&slot) || region_info_read(&slot, &info))
		return sn_err_set(err, -ENOENT, "job %u has no region in %s", job,
				  node->path);
	if (region_owner(&slot) != uid)
		return sn_err_set(err, -EPERM,
				  "%s/%s belongs to user %u, and job %u to user %u",
				  node->path, slot.name, region_owner(&slot), job, uid);
	snprintf(ret->path, sizeof(ret->path), "%s/%s", node->path, slot.name);
	ret->bytes = info.bytes;
	return 0;
}

static int check_name(const char *name, struct sn_err *err)
{
	const char *c;

	for (c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
			break;
	if (*c || !*name || *name == '.' || strlen(name) >= SN_NAME_MAX)
		return sn_err_set(err, -EINVAL, "\"%s\" is no name of a region", name);
	return 0;
}

/* The region with a name, made here by the first job that wants it. */
static int make_named(struct sn_region_node *node, const struct sn_region_ask *ask,
		      struct region_slot *slot, struct region_info *info,
		      struct sn_err *err)
{
	char name[SN_NAME_MAX + 24];
	int rc = check_name(ask->name, err);

	if (rc)
		return rc;
	snprintf(name, sizeof(name), "%s.%" PRIu64, ask->name, ask->incarnation);
	rc = named_slot(node, name, true, slot, err);
	if (rc)
		return rc;
	if (region_is_mounted(slot) && !region_info_read(slot, info)) {
		if (region_owner(slot) != ask->uid)
			return sn_err_set(err, -EPERM,
					  "the pool region %s belongs to user %u, and job %u to user %u",
					  ask->name, region_owner(slot), ask->job, ask->uid);
		return 0;
	}
	rc = region_clear(node, slot, err);
	if (rc)
		return rc;
	*info = (struct region_info){ .kind = node->provider, .bytes = ask->bytes };
	return region_mount(node, slot, info, ask->uid, ask->gid, err);
}

static int attach(struct sn_region_node *node, const struct sn_region_ask *ask,
		  const struct region_slot *job, struct region_info *ret_info,
		  struct sn_err *err)
{
	struct region_slot named = { .dir_fd = -1 };
	struct region_info info;
	int rc = make_named(node, ask, &named, &info, err);

	if (!rc) {
		*ret_info = (struct region_info){ .kind = REGION_NAMED,
						  .bytes = info.bytes };
		snprintf(ret_info->name, sizeof(ret_info->name), "%s", named.name);
		rc = region_info_write(job, ret_info, err);
	}
	if (!rc)
		rc = region_bind(job, &named, ask->read_only, err);
	if (rc)
		(void)region_clear(node, job, NULL);
	if (named.dir_fd >= 0)
		close(named.dir_fd);
	return rc;
}

int sn_region_make(struct sn_region_node *node, const struct sn_region_ask *ask,
		   struct sn_region *ret, struct sn_err *err)
{
	struct region_info info = { .kind = node->provider, .bytes = ask->bytes };
	struct region_slot slot;
	int rc;

	rc = sn_region_find(node, ask->job, ask->uid, ret, err);
	if (rc != -ENOENT)
		return rc;
	job_slot(node, ask->job, &slot);
	/* Of one that was begun and not ended. */
	rc = region_clear(node, &slot, err);
	if (!rc && ask->name)
		rc = attach(node, ask, &slot, &info, err);
	else if (!rc)
		rc = region_mount(node, &slot, &info, ask->uid, ask->gid, err);
	if (rc)
		return rc;
	snprintf(ret->path, sizeof(ret->path), "%s/%s", node->path, slot.name);
	ret->bytes = info.bytes;
	return 0;
}

int sn_region_destroy(struct sn_region_node *node, uint32_t job,
		      struct sn_err *err)
{
	struct region_slot slot;

	job_slot(node, job, &slot);
	return region_clear(node, &slot, err);
}

/* ---- all that is here ---------------------------------------------------------------- */

static int add(struct sn_region_entry **all, size_t *n, uint32_t job,
	       const char *name)
{
	struct sn_region_entry *grown;

	for (size_t i = 0; i < *n; i++)
		if ((*all)[i].job == job && !strcmp((*all)[i].name, name))
			return 0;
	grown = realloc(*all, (*n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*all = grown;
	grown[*n].job = job;
	snprintf(grown[(*n)++].name, sizeof(grown->name), "%s", name);
	return 0;
}

/* Directories and records alike, as either may be all that is left. */
static int list_dir(int dir_fd, bool named, struct sn_region_entry **all,
		    size_t *n)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while (!rc && (entry = readdir(dir))) {
		char name[sizeof((*all)->name)], *end;
		size_t len;
		unsigned long job;

		len = strlen(entry->d_name);
		if (len >= sizeof(name))
			continue; /* none of ours */
		memcpy(name, entry->d_name, len + 1);
		if (len > 5 && !strcmp(name + len - 5, ".info"))
			name[len - 5] = '\0';
		/* Of a record that was not written whole: the next one goes over it. */
		if (name[0] == '.' || (len > 4 && !strcmp(name + len - 4, ".new")))
			continue;
		if (named) {
			rc = add(all, n, 0, name);
			continue;
		}
		if (strncmp(name, "job-", 4) || !isdigit((unsigned char)name[4]))
			continue;
		job = strtoul(name + 4, &end, 10);
		if (!*end && job && job <= UINT32_MAX)
			rc = add(all, n, (uint32_t)job, "");
	}
	closedir(dir);
	return rc;
}

int sn_region_list(struct sn_region_node *node, struct sn_region_entry **ret,
		   size_t *ret_n, struct sn_err *err)
{
	struct sn_region_entry *all = NULL;
	struct region_slot named;
	size_t n = 0;
	int rc = list_dir(node->fd, false, &all, &n);

	if (!rc && !named_slot(node, "", false, &named, NULL)) {
		rc = list_dir(named.dir_fd, true, &all, &n);
		close(named.dir_fd);
	}
	if (rc) {
		free(all);
		return sn_err_set(err, rc, "%s: %s", node->path, strerror(-rc));
	}
	*ret = all;
	*ret_n = n;
	return 0;
}

static int check_unused(struct sn_region_node *node, const char *name,
			struct sn_err *err)
{
	struct sn_region_entry *all;
	size_t n;
	int rc = sn_region_list(node, &all, &n, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		struct region_info info;
		struct region_slot slot;

		if (!all[i].job)
			continue;
		job_slot(node, all[i].job, &slot);
		if (!region_info_read(&slot, &info) && info.kind == REGION_NAMED &&
		    !strcmp(info.name, name))
			rc = sn_err_set(err, -EBUSY, "job %u has the region %s",
					all[i].job, name);
	}
	free(all);
	return rc;
}

int sn_region_forget(struct sn_region_node *node, const char *name,
		     struct sn_err *err)
{
	struct region_slot slot = { .dir_fd = -1 };
	int rc;

	if (!name[0] || name[0] == '.' || strchr(name, '/'))
		return sn_err_set(err, -EINVAL, "\"%s\" is no name of a region", name);
	rc = check_unused(node, name, err);
	if (!rc)
		rc = named_slot(node, name, false, &slot, err);
	if (!rc)
		rc = region_clear(node, &slot, err);
	if (slot.dir_fd >= 0)
		close(slot.dir_fd);
	return rc == -ENOENT ? 0 : rc;
}
