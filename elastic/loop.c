/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.c - snelasticd's event loop, on epoll, timerfd and signalfd.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "elastic/loop.h"

#define BATCH 64

struct sn_watch {
	struct sn_loop *loop;
	int fd;
	sn_watch_fn fn; /* NULL: ended */
	void *ctx;
	struct sn_watch *next, **prev;
};

struct sn_timer {
	struct sn_loop *loop;
	int64_t due; /* ms; -1: off */
	sn_timer_fn fn;
	void *ctx;
	struct sn_timer *next, **prev;
};

struct sn_loop {
	int epoll_fd, timer_fd, signal_fd;
	struct sn_watch *watches;
	struct sn_watch *ended; /* freed when no event of theirs can be pending */
	struct sn_watch *own_timer, *own_signal;
	struct sn_timer *timers; /* a dozen at most, so a list will do */
	int64_t armed; /* what timer_fd is set to; -1: off */
	sn_signal_fn signal_fn;
	void *signal_ctx;
	bool stop;
};

int64_t sn_loop_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- descriptors ------------------------------------------------------------------- */

int sn_loop_watch(struct sn_loop *loop, int fd, uint32_t events, sn_watch_fn fn,
		  void *ctx, struct sn_watch **ret, struct sn_err *err)
{
	struct sn_watch *w = calloc(1, sizeof(*w));
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (!w)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev)) {
		int code = errno;

		free(w);
		return sn_err_set(err, -code, "epoll: %s", strerror(code));
	}
	*w = (struct sn_watch){ loop, fd, fn, ctx, loop->watches, &loop->watches };
	if (w->next)
		w->next->prev = &w->next;
	loop->watches = w;
	*ret = w;
	return 0;
}

int sn_watch_change(struct sn_watch *watch, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = watch };

	return epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &ev) ? -errno : 0;
}

void sn_watch_end(struct sn_watch *watch)
{
	struct sn_loop *loop;

	if (!watch || !watch->fn)
		return;
	loop = watch->loop;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	*watch->prev = watch->next;
	if (watch->next)
		watch->next->prev = watch->prev;
	/* An event of it may be among those just fetched. */
	watch->fn = NULL;
	watch->next = loop->ended;
	loop->ended = watch;
}

static void free_ended(struct sn_loop *loop)
{
	while (loop->ended) {
		struct sn_watch *next = loop->ended->next;

		free(loop->ended);
		loop->ended = next;
	}
}

/* ---- timers -------------------------------------------------------------------------- */

static void arm(struct sn_loop *loop)
{
	struct itimerspec spec = { { 0, 0 }, { 0, 0 } };
	int64_t first = -1;

	for (struct sn_timer *t = loop->timers; t; t = t->next)
		if (t->due >= 0 && (first < 0 || t->due < first))
			first = t->due;
	if (first == loop->armed)
		return;
	if (first >= 0) {
		spec.it_value.tv_sec = first / 1000;
		/* All zero would turn it off. */
		spec.it_value.tv_nsec = first % 1000 * 1000000 + 1;
	}
	if (!timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL))
		loop->armed = first;
}

int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx,
		  struct sn_timer **ret, struct sn_err *err)
{
	struct sn_timer *t = calloc(1, sizeof(*t));

	if (!t)
		return sn_err_set(err, -ENOMEM, "no memory");
	*t = (struct sn_timer){ loop, -1, fn, ctx, loop->timers, &loop->timers };
	if (t->next)
		t->next->prev = &t->next;
	loop->timers = t;
	*ret = t;
	return 0;
}

void sn_timer_set(struct sn_timer *timer, int64_t in_ms)
{
	timer->due = sn_loop_now() + (in_ms > 0 ? in_ms : 0);
	arm(timer->loop);
}

void sn_timer_off(struct sn_timer *timer)
{
	timer->due = -1;
	arm(timer->loop);
}

void sn_timer_end(struct sn_timer *timer)
{
	struct sn_loop *loop;

	if (!timer)
		return;
	loop = timer->loop;
	*timer->prev = timer->next;
	if (timer->next)
		timer->next->prev = timer->prev;
	free(timer);
	arm(loop);
}

static struct sn_timer *first_due(const struct sn_loop *loop, int64_t now)
{
	struct sn_timer *first = NULL;

	for (struct sn_timer *t = loop->timers; t; t = t->next)
		if (t->due >= 0 && t->due <= now && (!first || t->due < first->due))
			first = t;
	return first;
}

static void on_timer(void *ctx, uint32_t events)
{
	struct sn_loop *loop = ctx;
	int64_t now = sn_loop_now();
	struct sn_timer *t;
	uint64_t count;

	(void)events;
	if (read(loop->timer_fd, &count, sizeof(count)) < 0 && errno == EAGAIN)
		return;
	loop->armed = -1;
	/* Counted, for one that sets itself to 0 is due again in this millisecond. */
	for (int i = 0; i < BATCH && (t = first_due(loop, now)); i++) {
		t->due = -1;
		t->fn(t->ctx);
	}
	arm(loop);
}

/* ---- signals ------------------------------------------------------------------------- */

static void on_signal(void *ctx, uint32_t events)
{
	struct sn_loop *loop = ctx;
	struct signalfd_siginfo info;

	(void)events;
	while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop->signal_fn(loop->signal_ctx, (int)info.ssi_signo);
}

int sn_loop_signals(struct sn_loop *loop, const int *signals, uint32_t n,
		    sn_signal_fn fn, void *ctx, struct sn_err *err)
{
	sigset_t set;
	int rc;

	sigemptyset(&set);
	for (uint32_t i = 0; i < n; i++)
		sigaddset(&set, signals[i]);
	loop->signal_fn = fn;
	loop->signal_ctx = ctx;
	rc = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!rc) {
		loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
		rc = loop->signal_fd < 0 ? errno : 0;
	}
	if (rc)
		return sn_err_set(err, -rc, "signals: %s", strerror(rc));
	return sn_loop_watch(loop, loop->signal_fd, EPOLLIN, on_signal, loop,
			     &loop->own_signal, err);
}

/* ---- the loop ------------------------------------------------------------------------ */

int sn_loop_create(struct sn_loop **ret, struct sn_err *err)
{
	struct sn_loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (!loop)
		return sn_err_set(err, -ENOMEM, "no memory");
	loop->signal_fd = -1;
	loop->armed = -1;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->epoll_fd < 0 || loop->timer_fd < 0)
		rc = sn_err_set(err, -errno, "no event loop: %s", strerror(errno));
	else
		rc = sn_loop_watch(loop, loop->timer_fd, EPOLLIN, on_timer, loop,
				   &loop->own_timer, err);
	if (rc) {
		sn_loop_destroy(loop);
		return rc;
	}
	*ret = loop;
	return 0;
}

int sn_loop_run(struct sn_loop *loop, struct sn_err *err)
{
	struct epoll_event ev[BATCH];

	loop->stop = false;
	while (!loop->stop) {
		int n = epoll_wait(loop->epoll_fd, ev, BATCH, -1);

		if (n < 0 && errno != EINTR)
			return sn_err_set(err, -errno, "epoll: %s", strerror(errno));
		for (int i = 0; i < n; i++) {
			struct sn_watch *w = ev[i].data.ptr;

			if (w->fn)
				w->fn(w->ctx, ev[i].events);
		}
		free_ended(loop);
	}
	return 0;
}

void sn_loop_stop(struct sn_loop *loop)
{
	loop->stop = true;
}

void sn_loop_destroy(struct sn_loop *loop)
{
	if (!loop)
		return;
	while (loop->timers)
		sn_timer_end(loop->timers);
	while (loop->watches)
		sn_watch_end(loop->watches);
	free_ended(loop);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	if (loop->timer_fd >= 0)
		close(loop->timer_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	free(loop);
}
