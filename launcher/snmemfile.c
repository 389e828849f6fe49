/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemfile.c - the shards in a region: files that are there whole or do not count.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/snmem_internal.h"
#include "launcher/writeat.h"

static const char magic[8] = "SNMEMCK1";

/* ---- checksums --------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 29;
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

/* Four lanes, so that it goes at the memory's speed; against damage, not malice. */
uint64_t mem_sum(uint64_t seed, const void *data, size_t len)
{
	uint64_t lane[4] = { seed ^ 1, seed ^ 2, seed ^ 3, seed ^ 4 }, word;
	const unsigned char *at = data;
	size_t i, k;

	for (i = 0; i + 32 <= len; i += 32)
		for (k = 0; k < 4; k++) {
			memcpy(&word, at + i + k * 8, 8);
			lane[k] = (lane[k] ^ word) * 0xff51afd7ed558ccdu;
			lane[k] = lane[k] << 31 | lane[k] >> 33;
		}
	for (; i < len; i++)
		lane[i & 3] = (lane[i & 3] ^ at[i]) * 0x100000001b3u;
	return mix(lane[0] ^ mix(lane[1] ^ mix(lane[2] ^ mix(lane[3] ^ len))));
}

static uint64_t head_sum(const struct mem_head *head)
{
	return mem_sum(7, head, offsetof(struct mem_head, head_sum));
}

void mem_head_make(struct mem_head *head, uint64_t tag, const struct mem_id *id,
		   const void *data, uint64_t len)
{
	memset(head, 0, sizeof(*head));
	memcpy(head->magic, magic, sizeof(magic));
	head->tag = tag;
	head->id.iteration = id->iteration;
	head->id.generation = id->generation;
	head->id.world = id->world;
	head->id.rank = id->rank;
	head->len = len;
	head->sum = mem_sum(tag, data, len);
	head->head_sum = head_sum(head);
}

bool mem_head_is_right(const struct mem_head *head, uint64_t tag)
{
	return !memcmp(head->magic, magic, sizeof(magic)) &&
		head->head_sum == head_sum(head) && head->tag == tag &&
		head->len <= MEM_LEN_MAX && head->id.world <= MEM_WORLD_MAX &&
		head->id.rank < head->id.world;
}

/* ---- names ---------------------------------------------------------------------------- */

void mem_name(const struct mem_id *id, char name[MEM_NAME])
{
	snprintf(name, MEM_NAME, "i%" PRIu64 ".g%u.w%u.r%u", id->iteration,
		 id->generation, id->world, id->rank);
}

bool mem_name_parse(const char *name, struct mem_id *ret)
{
	char again[MEM_NAME];

	if (sscanf(name, "i%" SCNu64 ".g%" SCNu32 ".w%" SCNu32 ".r%" SCNu32,
		   &ret->iteration, &ret->generation, &ret->world, &ret->rank) != 4)
		return false;
	mem_name(ret, again);
	return !strcmp(name, again) && ret->world <= MEM_WORLD_MAX &&
		ret->rank < ret->world;
}

/* ---- directories ------------------------------------------------------------------------- */

void mem_region_dir(const char *job_dir, char name[MEM_NAME])
{
	snprintf(name, MEM_NAME, MEM_DIR "-%016" PRIx64,
		 mem_sum(1, job_dir, strlen(job_dir)));
}

int mem_dir_is_own(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

int mem_dir(const char *parent, const char *name)
{
	int up = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, rc = 0;

	if (up < 0)
		return -errno;
	if (mkdirat(up, name, 0700) && errno != EEXIST)
		rc = -errno;
	fd = rc ? -1 : openat(up, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!rc && fd < 0)
		rc = errno == ELOOP ? -ENOTDIR : -errno;
	close(up);
	if (rc)
		return rc;
	rc = mem_dir_is_own(fd);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* ---- one shard ------------------------------------------------------------------------------ */

int mem_write(int dir, const char *name, const struct mem_head *head, const void *data,
	      bool sync)
{
	const struct iovec part[] = {
		{ (void *)(uintptr_t)head, sizeof(*head) }, { (void *)(uintptr_t)data, head->len },
	};

	return sn_write_at(dir, name, part, 2, sync);
}

static int read_all(int fd, void *data, size_t len, off_t at)
{
	char *to = data;

	while (len) {
		ssize_t n = pread(fd, to, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		to += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int mem_read(int fd, const struct mem_head *head, void **ret_data)
{
	char *data = malloc(head->len ? head->len : 1);
	int rc;

	if (!data)
		return -ENOMEM;
	rc = read_all(fd, data, head->len, sizeof(*head));
	if (!rc && mem_sum(head->tag, data, head->len) != head->sum)
		rc = -EBADMSG;
	if (rc)
		free(data);
	else
		*ret_data = data;
	return rc;
}

int mem_open(int dir, const char *name, uint64_t tag, struct mem_head *ret)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;
	struct mem_id id;
	struct stat st;
	void *data;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	rc = fstat(fd, &st) ? -errno : 0;
	if (!rc && (st.st_uid != geteuid() || !S_ISREG(st.st_mode)))
		rc = -EPERM;
	if (!rc)
		rc = read_all(fd, ret, sizeof(*ret), 0);
	if (!rc && (!mem_head_is_right(ret, tag) || !mem_name_parse(name, &id) ||
		    memcmp(&id.iteration, &ret->id.iteration, sizeof(id.iteration)) ||
		    id.generation != ret->id.generation || id.world != ret->id.world ||
		    id.rank != ret->id.rank ||
		    (uint64_t)st.st_size != ret->len + sizeof(*ret)))
		rc = -EBADMSG;
	if (!rc) {
		rc = mem_read(fd, ret, &data);
		if (!rc)
			free(data);
	}
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* The directory from its beginning; readdir's own descriptor. */
static DIR *list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

int mem_scan(int dir, uint64_t tag, bool remove, struct mem_id **ret, size_t *ret_n)
{
	struct mem_id *all = NULL, *grown;
	struct dirent *entry;
	size_t n = 0;
	DIR *d = list(dir);

	if (!d)
		return -errno;
	while ((entry = readdir(d))) {
		struct mem_head head;
		int fd;

		if (*entry->d_name == '.' && entry->d_name[1] != 'i')
			continue;
		fd = mem_open(dir, entry->d_name, tag, &head);
		if (fd < 0) {
			/* Another user's cannot be, and are not ours to remove. */
			if (remove && fd != -EPERM)
				unlinkat(dir, entry->d_name, 0);
			continue;
		}
		close(fd);
		grown = realloc(all, (n + 1) * sizeof(*all));
		if (!grown)
			break;
		all = grown;
		all[n++] = head.id;
	}
	closedir(d);
	*ret = all;
	*ret_n = n;
	return 0;
}

struct choice {
	uint32_t rank;
	bool by_rank, all; /* collect those of a rank, or all */
	/* Else remove what is later than this and of an earlier generation. */
	uint64_t after;
	uint32_t before;
	struct mem_id *found; /* by_rank: [n] */
	size_t n;
};

static void each(int dir, struct choice *c)
{
	struct dirent *entry;
	struct mem_id id, *grown;
	DIR *d = list(dir);

	while (d && (entry = readdir(d))) {
		if (!mem_name_parse(entry->d_name, &id) || (c->by_rank && !c->all && id.rank != c->rank))
			continue;
		if (!c->by_rank) {
			if (id.iteration > c->after && id.generation < c->before)
				unlinkat(dir, entry->d_name, 0);
			continue;
		}
		grown = realloc(c->found, (c->n + 1) * sizeof(*grown));
		if (!grown)
			break;
		c->found = grown;
		c->found[c->n++] = id;
	}
	if (d)
		closedir(d);
}

static int later_first(const void *a, const void *b)
{
	const struct mem_id *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation > y->generation ? -1 : 1;
	return x->iteration > y->iteration ? -1 : x->iteration < y->iteration;
}

int mem_names(int dir, struct mem_id **ret, size_t *ret_n)
{
	struct choice c = { .by_rank = true, .all = true };

	each(dir, &c);
	*ret = c.found;
	*ret_n = c.n;
	return 0;
}

void mem_prune(int dir, uint32_t rank, unsigned keep)
{
	struct choice c = { .rank = rank, .by_rank = true };
	char name[MEM_NAME];

	each(dir, &c);
	if (c.n)
		qsort(c.found, c.n, sizeof(*c.found), later_first);
	for (size_t i = keep; i < c.n; i++) {
		mem_name(&c.found[i], name);
		unlinkat(dir, name, 0);
	}
	free(c.found);
}

unsigned mem_count(int dir, uint32_t rank, uint32_t generation)
{
	struct choice c = { .rank = rank, .by_rank = true };
	unsigned n = 0;

	each(dir, &c);
	for (size_t i = 0; i < c.n; i++)
		n += c.found[i].generation == generation;
	free(c.found);
	return n;
}

void mem_remove_after(int dir, uint32_t generation, uint64_t iteration)
{
	struct choice c = { .after = iteration, .before = generation };

	each(dir, &c);
}

void mem_remove_before(int dir, uint32_t generation)
{
	struct choice c = { .after = 0, .before = generation };

	each(dir, &c);
}
