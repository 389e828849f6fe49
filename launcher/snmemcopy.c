/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemcopy.c - the thread that sends shards to the neighbour, and flushes them.
 *
 * On shared storage an iteration is FLUSH_DIR/memckpt/i100.g0.w16.r3 and so on, in the
 * same form as in regions. Rank 0 writes FLUSH_DIR/memckpt/latest, with the iteration,
 * once all are there: that is the marker of a durable checkpoint.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snmem_state.h"
#include "launcher/writeat.h"

#define LATEST "latest"
#define FLUSH_LOOK_MS 50
#define FLUSH_WAIT_MS 60000 /* for all ranks' */

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static int send_copy(struct snmem *mem, int fd)
{
	const char *node;
	int rc = 0;

	if (mem->neighbour == SIZE_MAX)
		return 0;
	node = mem->node[mem->neighbour].name;
	for (int attempt = 0; attempt < 2; attempt++) {
		struct mem_list list;

		if (!mem->to.port) {
			rc = mem_list_of(mem, node, &list);
			if (rc)
				break;
			mem->to = list.server;
			mem_list_done(&list);
		}
		rc = mem_put(&mem->to, mem->session, &mem->head, fd);
		if (!rc || rc == -ENOSPC)
			break;
		mem->to.port = 0; /* it may have another now */
	}
	if (rc)
		mem_failed(mem, rc == -ENOSPC ?
			   "iteration %" PRIu64 " has no copy: the region of node %s is too small%s" :
			   "iteration %" PRIu64 " has no copy on node %s: %s",
			   mem->head.id.iteration, node, rc == -ENOSPC ? "" : mem_why(rc));
	return rc;
}

/* ---- shared storage -------------------------------------------------------------------- */

static bool all_there(struct snmem *mem)
{
	struct mem_id id = mem->head.id;
	char name[MEM_NAME];
	struct stat st;

	for (id.rank = 0; id.rank < id.world; id.rank++) {
		mem_name(&id, name);
		if (fstatat(mem->flush, name, &st, AT_SYMLINK_NOFOLLOW))
			return false;
	}
	return true;
}

static int mark(struct snmem *mem)
{
	char text[32];
	const struct iovec part = {
		text, (size_t)snprintf(text, sizeof(text), "%" PRIu64 "\n", mem->head.id.iteration),
	};

	for (int waited = 0; !all_there(mem); waited += FLUSH_LOOK_MS) {
		if (waited >= FLUSH_WAIT_MS)
			return -ETIMEDOUT;
		pause_ms(FLUSH_LOOK_MS);
	}
	return sn_write_at(mem->flush, LATEST, &part, 1, true);
}

static int flush(struct snmem *mem, int fd)
{
	char name[MEM_NAME];
	void *data;
	int rc;

	if (mem->flush < 0 || (mem->saves - 1) % mem->flush_every)
		return 0;
	mem_name(&mem->head.id, name);
	rc = mem_read(fd, &mem->head, &data);
	if (!rc) {
		rc = mem_write(mem->flush, name, &mem->head, data, true);
		free(data);
	}
	/* Two stay, should the last be damaged. */
	if (!rc && !mem->rank)
		rc = mark(mem);
	if (!rc)
		mem_prune(mem->flush, mem->rank, MEM_KEEP);
	if (rc)
		mem_failed(mem, "iteration %" PRIu64 " is not flushed: %s",
			   mem->head.id.iteration, strerror(-rc));
	return rc;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static int copy(struct snmem *mem)
{
	char name[MEM_NAME];
	int fd, rc, rc_flush;

	mem_name(&mem->head.id, name);
	fd = openat(mem->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = send_copy(mem, fd);
	rc_flush = flush(mem, fd);
	close(fd);
	return rc ? rc : rc_flush;
}

static void *run(void *arg)
{
	struct snmem *mem = arg;

	pthread_mutex_lock(&mem->lock);
	for (;;) {
		int rc;

		while (!mem->busy && !mem->stop)
			pthread_cond_wait(&mem->changed, &mem->lock);
		if (!mem->busy)
			break;
		pthread_mutex_unlock(&mem->lock);
		rc = copy(mem);
		pthread_mutex_lock(&mem->lock);
		mem->rc = rc;
		mem->busy = false;
		pthread_cond_broadcast(&mem->changed);
	}
	pthread_mutex_unlock(&mem->lock);
	return NULL;
}

int mem_copy_begin(struct snmem *mem, const struct mem_head *head)
{
	int rc = 0;

	if (!mem->has_thread) {
		rc = -pthread_create(&mem->thread, NULL, run, mem);
		mem->has_thread = !rc;
	}
	if (rc)
		return rc;
	pthread_mutex_lock(&mem->lock);
	mem->head = *head;
	mem->saves++;
	mem->busy = true;
	pthread_cond_broadcast(&mem->changed);
	pthread_mutex_unlock(&mem->lock);
	return 0;
}

int mem_copy_wait(struct snmem *mem)
{
	int rc;

	pthread_mutex_lock(&mem->lock);
	while (mem->busy)
		pthread_cond_wait(&mem->changed, &mem->lock);
	rc = mem->rc;
	pthread_mutex_unlock(&mem->lock);
	return rc;
}

void mem_copy_stop(struct snmem *mem)
{
	if (!mem->has_thread)
		return;
	mem_copy_wait(mem);
	pthread_mutex_lock(&mem->lock);
	mem->stop = true;
	pthread_cond_broadcast(&mem->changed);
	pthread_mutex_unlock(&mem->lock);
	pthread_join(mem->thread, NULL);
	mem->has_thread = false;
}
