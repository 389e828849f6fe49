/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmem.c - fast checkpoints in memory: what programs call; snmemlast.c has how they begin.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "launcher/snmem_state.h"

void mem_failed(struct snmem *mem, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&mem->lock);
	va_start(ap, fmt);
	vsnprintf(mem->error, sizeof(mem->error), fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&mem->lock);
}

/* ---- opening ----------------------------------------------------------------------------- */

EXPORT struct snmem *snmem_open(const struct snmem_options *options, char *why, size_t size)
{
	static const struct snmem_options none = {
		.rank = -1, .world = -1, .local_rank = -1, .generation = -1,
	};
	struct snmem *mem = calloc(1, sizeof(*mem));
	int rc;

	if (why && size)
		*why = '\0';
	if (!mem) {
		errno = ENOMEM;
		return NULL;
	}
	mem->dir = mem->flush = mem->job = -1;
	pthread_mutex_init(&mem->lock, NULL);
	pthread_mutex_init(&mem->safe_lock, NULL);
	pthread_cond_init(&mem->changed, NULL);
	rc = mem_set_up(mem, options ? options : &none, why, size);
	if (!rc)
		return mem;
	snmem_close(mem);
	errno = -rc;
	return NULL;
}

EXPORT void snmem_close(struct snmem *mem)
{
	if (!mem)
		return;
	mem_copy_stop(mem);
	mem_serve_stop(mem->serve);
	mem_decision_done(&mem->decision);
	free(mem->node);
	free(mem->where);
	free(mem->guest);
	for (const int *fd = (const int[]){ mem->dir, mem->flush, mem->job, -2 }; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	pthread_cond_destroy(&mem->changed);
	pthread_mutex_destroy(&mem->lock);
	pthread_mutex_destroy(&mem->safe_lock);
	free(mem);
}

EXPORT const char *snmem_error(const struct snmem *mem)
{
	return mem ? mem->error : "";
}

EXPORT int snmem_load(struct snmem *mem, int shard, void **ret_data, size_t *ret_len)
{
	struct mem_head head;
	char name[MEM_NAME];
	struct mem_id id;
	uint64_t len = 0;
	int fd, rc;

	if (!mem || !mem->decision.found || shard < 0 || (uint32_t)shard >= mem->decision.id.world)
		return -EINVAL;
	id = mem->decision.id;
	id.rank = (uint32_t)shard;
	mem_name(&id, name);
	fd = mem_open(mem->dir, name, mem->tag, &head);
	if (fd < 0 && !mem->decision.n_servers) {
		fd = mem_open(mem->flush, name, mem->tag, &head);
		if (fd < 0) {
			mem_failed(mem, "shard %d of iteration %llu cannot be read from shared storage: %s",
				   shard, (unsigned long long)id.iteration, strerror(-fd));
			return fd;
		}
	}
	if (fd >= 0) {
		rc = mem_read(fd, &head, ret_data);
		close(fd);
		*ret_len = head.len;
	} else {
		const struct mem_server *from = &mem->decision.server[mem->decision.at[shard]];

		rc = mem_get(from, mem->session, mem->tag, &id, ret_data, &len);
		*ret_len = len;
		if (rc)
			mem_failed(mem, "shard %d of iteration %llu does not come from node %s: %s",
				   shard, (unsigned long long)id.iteration, from->node, mem_why(rc));
	}
	return rc;
}

/* ---- saving ------------------------------------------------------------------------------ */

static int no_room(struct snmem *mem, const struct mem_head *head)
{
	struct statvfs st;
	unsigned long long size = 0, left = 0;

	if (!fstatvfs(mem->dir, &st)) {
		size = (unsigned long long)st.f_blocks * st.f_frsize;
		left = (unsigned long long)st.f_bavail * st.f_frsize;
	}
	mem_failed(mem, "the region is too small for iteration %llu: a shard has %llu bytes, and %llu of %llu are left; each rank of a node takes %u of its shards and as many of a neighbour's, so submit with a larger --pool=SIZE/node",
		   (unsigned long long)head->id.iteration, (unsigned long long)head->len,
		   left, size, mem->keep);
	return -ENOSPC;
}

EXPORT int snmem_save(struct snmem *mem, uint64_t iteration, const void *data, size_t len)
{
	struct mem_head head;
	char name[MEM_NAME];
	struct mem_id id;
	int rc;

	if (!mem || !data || len > MEM_LEN_MAX || !iteration)
		return -EINVAL;
	if (!mem->begun || iteration <= mem->saved)
		return -EINVAL;
	mem_copy_wait(mem);
	id = (struct mem_id){ iteration, mem->generation, mem->world, mem->rank };
	mem_head_make(&head, mem->tag, &id, data, len);
	mem_name(&id, name);
	rc = mem_write(mem->dir, name, &head, data, false);
	if (rc == -ENOSPC) {
		/* Fewer than these would not do: another rank may be one behind. */
		mem_prune(mem->dir, mem->rank, MEM_KEEP - 1);
		rc = mem_write(mem->dir, name, &head, data, false);
	}
	if (rc == -ENOSPC)
		return no_room(mem, &head);
	if (rc) {
		mem_failed(mem, "iteration %llu is not saved: %s",
			   (unsigned long long)iteration, strerror(-rc));
		return rc;
	}
	mem->saved = iteration;
	mem_prune(mem->dir, mem->rank, mem->keep);
	/* Three of this generation are there, so that the first of them is on all ranks. */
	if (!mem->local_rank && mem_count(mem->dir, mem->rank, mem->generation) >= mem->keep)
		mem_remove_before(mem->dir, mem->generation);
	return mem_copy_begin(mem, &head);
}

EXPORT int snmem_wait(struct snmem *mem)
{
	if (!mem)
		return -EINVAL;
	return mem_copy_wait(mem);
}
