/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work.c - threads for what may block.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "elastic/work.h"

struct queue {
	struct sn_work *first, **last;
};

struct sn_pool {
	char name[16];
	pthread_mutex_t lock;
	pthread_cond_t more; /* work has come, or the end */
	pthread_cond_t ended; /* a thread has */
	struct queue todo, done;
	uint32_t n_todo;
	uint32_t alive; /* threads */
	bool stop;
	int event_fd; /* counts in `done` */
	struct sn_watch *watch;
};

static void queue_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static void put(struct queue *q, struct sn_work *work)
{
	work->next = NULL;
	*q->last = work;
	q->last = &work->next;
}

static struct sn_work *take(struct queue *q)
{
	struct sn_work *work = q->first;

	if (work) {
		q->first = work->next;
		if (!q->first)
			q->last = &q->first;
		work->next = NULL;
	}
	return work;
}

static void *thread(void *arg)
{
	struct sn_pool *pool = arg;
	uint64_t one = 1;

	prctl(PR_SET_NAME, pool->name);
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		struct sn_work *work = take(&pool->todo);

		if (!work) {
			pthread_cond_wait(&pool->more, &pool->lock);
			continue;
		}
		pool->n_todo--;
		pthread_mutex_unlock(&pool->lock);
		work->run(work);
		pthread_mutex_lock(&pool->lock);
		put(&pool->done, work);
		/* It can only fail when 2^64 are waiting. */
		if (write(pool->event_fd, &one, sizeof(one)) < 0)
			continue;
	}
	pool->alive--;
	pthread_cond_broadcast(&pool->ended);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void bring_back(struct sn_pool *pool)
{
	struct sn_work *work;

	for (;;) {
		pthread_mutex_lock(&pool->lock);
		work = take(&pool->done);
		pthread_mutex_unlock(&pool->lock);
		if (!work)
			return;
		work->done(work);
	}
}

static void on_done(void *ctx, uint32_t events)
{
	struct sn_pool *pool = ctx;
	uint64_t count;

	(void)events;
	if (read(pool->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	bring_back(pool);
}

static int start(struct sn_pool *pool, uint32_t threads, struct sn_err *err)
{
	pthread_attr_t attr;
	pthread_t id;
	int rc = 0;

	/* Detached, for one that hangs in a call cannot be waited for. */
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_mutex_lock(&pool->lock);
	for (uint32_t i = 0; i < threads && !rc; i++) {
		rc = pthread_create(&id, &attr, thread, pool);
		pool->alive += !rc;
	}
	pthread_mutex_unlock(&pool->lock);
	pthread_attr_destroy(&attr);
	return rc ? sn_err_set(err, -rc, "no thread: %s", strerror(rc)) : 0;
}

int sn_pool_create(struct sn_loop *loop, const char *name, uint32_t threads,
		   struct sn_pool **ret, struct sn_err *err)
{
	struct sn_pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t attr;
	int rc;

	if (!pool)
		return sn_err_set(err, -ENOMEM, "no memory");
	strncpy(pool->name, name, sizeof(pool->name) - 1);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->more, NULL);
	pthread_cond_init(&pool->ended, &attr);
	pthread_condattr_destroy(&attr);
	queue_init(&pool->todo);
	queue_init(&pool->done);
	pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool->event_fd < 0)
		rc = sn_err_set(err, -errno, "eventfd: %s", strerror(errno));
	else
		rc = sn_loop_watch(loop, pool->event_fd, EPOLLIN, on_done, pool,
				   &pool->watch, err);
	if (!rc)
		rc = start(pool, threads, err);
	if (rc) {
		sn_pool_destroy(pool, 1000);
		return rc;
	}
	*ret = pool;
	return 0;
}

void sn_pool_give(struct sn_pool *pool, struct sn_work *work)
{
	pthread_mutex_lock(&pool->lock);
	put(&pool->todo, work);
	pool->n_todo++;
	pthread_cond_signal(&pool->more);
	pthread_mutex_unlock(&pool->lock);
}

uint32_t sn_pool_waiting(struct sn_pool *pool)
{
	uint32_t n;

	pthread_mutex_lock(&pool->lock);
	n = pool->n_todo;
	pthread_mutex_unlock(&pool->lock);
	return n;
}

bool sn_pool_destroy(struct sn_pool *pool, int64_t wait_ms)
{
	struct timespec end;
	struct sn_work *work;
	bool all;

	if (!pool)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += wait_ms / 1000;
	end.tv_nsec += wait_ms % 1000 * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->more);
	while (pool->alive && pthread_cond_timedwait(&pool->ended, &pool->lock, &end) != ETIMEDOUT)
		;
	all = !pool->alive;
	pthread_mutex_unlock(&pool->lock);
	sn_watch_end(pool->watch);
	pool->watch = NULL;
	bring_back(pool);
	for (;;) {
		pthread_mutex_lock(&pool->lock);
		work = take(&pool->todo);
		pthread_mutex_unlock(&pool->lock);
		if (!work)
			break;
		work->done(work);
	}
	if (!all)
		return false;
	if (pool->event_fd >= 0)
		close(pool->event_fd);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->more);
	pthread_cond_destroy(&pool->ended);
	free(pool);
	return true;
}
