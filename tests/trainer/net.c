/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net.c - sockets of one rank in one epoll set, and frames over them.
 *
 * Edge-triggered, for data may lie on a link long before its turn comes, and
 * would wake a level-triggered wait again and again. A connection that closes
 * while the run goes on is a peer that died: everybody who notices exits, which
 * others notice in turn, so that the whole job is down in no time.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/trainer/trainer.h"

#define READ_ROOM 65536u
#define EVENTS 64

uint64_t tr_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int tr_net_open(struct trainer *t, struct sn_err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (t->epoll < 0 || t->signals < 0 ||
	    epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->signals, &event))
		return sn_err_set(err, -errno, "cannot make an epoll set: %s", strerror(errno));
	return 0;
}

/* A node that vanishes sends nothing, so somebody must ask. */
static void set_options(int fd)
{
	int on = 1, idle = 2, interval = 1, count = 3, unsent_ms = 5000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unsent_ms, sizeof(unsent_ms));
}

int tr_net_add(struct trainer *t, int fd, enum tr_kind kind, uint32_t peer,
	       struct tr_conn **ret, struct sn_err *err)
{
	struct tr_conn *conn = calloc(1, sizeof(*conn));
	struct epoll_event event = {
		.events = kind == TR_LISTENER ? EPOLLIN :
			EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = conn,
	};

	if (!conn) {
		close(fd);
		return sn_err_set(err, -ENOMEM, "out of memory");
	}
	conn->fd = fd;
	conn->kind = kind;
	conn->peer = peer;
	conn->next = t->conns;
	t->conns = conn;
	if (kind != TR_LISTENER)
		set_options(fd);
	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event))
		return sn_err_set(err, -errno, "cannot watch a connection: %s", strerror(errno));
	if (ret)
		*ret = conn;
	return 0;
}

/* The entry stays, for events of this turn may still point to it. */
void tr_net_drop(struct trainer *t, struct tr_conn *conn)
{
	(void)t;
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	conn->readable = false;
	conn->out_len = conn->out_at = 0;
}

void tr_net_close(struct trainer *t)
{
	struct tr_conn *conn;

	while ((conn = t->conns)) {
		t->conns = conn->next;
		tr_net_drop(t, conn);
		free(conn->in);
		free(conn->out);
		free(conn->kept);
		free(conn);
	}
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->signals >= 0)
		close(t->signals);
}

int tr_net_listen(struct trainer *t, uint16_t port, uint64_t deadline,
		  struct sn_err *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return sn_err_set(err, -errno, "no socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* A rank of the last generation may be about to let go of it. */
	while (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		if (errno != EADDRINUSE || tr_now_ms() > deadline) {
			int code = -errno;

			close(fd);
			return sn_err_set(err, code, "port %u cannot be had: %s", port, strerror(-code));
		}
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	if (listen(fd, SOMAXCONN)) {
		int code = -errno;

		close(fd);
		return sn_err_set(err, code, "cannot listen: %s", strerror(-code));
	}
	return tr_net_add(t, fd, TR_LISTENER, UINT32_MAX, &t->listener, err);
}

int tr_net_connect(uint32_t ip, uint16_t port, int *ret_fd)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ip,
	};
	struct timeval limit = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		*ret_fd = fd;
		return 0;
	}
	code = -errno;
	close(fd);
	return code;
}

/* ---- frames --------------------------------------------------------------- */

static int lost(struct trainer *t, struct tr_conn *conn, struct sn_err *err)
{
	bool link = conn->kind == TR_IN || conn->kind == TR_OUT;

	/* Once everything has been said, who is told first goes first. */
	if (conn->kind == TR_NEW || t->bye || (t->finishing && link)) {
		tr_net_drop(t, conn);
		return 0;
	}
	return sn_err_set(err, -EPIPE, "rank %u is gone (%s), step %u", conn->peer,
			  link ? tr_axis_name(conn->axis) : "control", t->begun);
}

static int make_room(unsigned char **buf, size_t *size, size_t want,
		     struct sn_err *err)
{
	unsigned char *bigger;

	if (want <= *size)
		return 0;
	bigger = realloc(*buf, want);
	if (!bigger)
		return sn_err_set(err, -ENOMEM, "out of memory");
	*buf = bigger;
	*size = want;
	return 0;
}

static int flush_conn(struct trainer *t, struct tr_conn *conn,
		      struct sn_err *err)
{
	while (conn->fd >= 0 && conn->out_at < conn->out_len) {
		ssize_t n = send(conn->fd, conn->out + conn->out_at,
				 conn->out_len - conn->out_at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return lost(t, conn, err);
		conn->out_at += (size_t)n;
	}
	conn->out_at = conn->out_len = 0;
	return 0;
}

int tr_send(struct trainer *t, struct tr_conn *conn, struct tr_frame frame,
	    const void *body, struct sn_err *err)
{
	size_t want = conn->out_len + sizeof(frame) + frame.length;
	int rc;

	if (conn->fd < 0)
		return lost(t, conn, err);
	frame.magic = TR_MAGIC;
	rc = make_room(&conn->out, &conn->out_size, want, err);
	if (rc)
		return rc;
	memcpy(conn->out + conn->out_len, &frame, sizeof(frame));
	if (frame.length)
		memcpy(conn->out + conn->out_len + sizeof(frame), body, frame.length);
	conn->out_len = want;
	return flush_conn(t, conn, err);
}

/* 1: *ret is a whole frame of what has been read. 0: more is needed. */
static int next_frame(struct tr_conn *conn, struct tr_frame *ret,
		      const unsigned char **ret_body, struct sn_err *err)
{
	size_t whole;

	if (conn->taken) {
		conn->in_len -= conn->taken;
		memmove(conn->in, conn->in + conn->taken, conn->in_len);
		conn->taken = 0;
	}
	if (conn->in_len < sizeof(*ret))
		return 0;
	memcpy(ret, conn->in, sizeof(*ret));
	if (ret->magic != TR_MAGIC || ret->length > TR_LENGTH_MAX)
		return sn_err_set(err, -EPROTO, "what came from rank %u is no frame of ours", conn->peer);
	whole = sizeof(*ret) + ret->length;
	if (conn->in_len < whole)
		return make_room(&conn->in, &conn->in_size, whole, err);
	conn->taken = whole;
	*ret_body = conn->in + sizeof(*ret);
	return 1;
}

/* 1: something was read. 0: there is nothing now. */
static int read_some(struct trainer *t, struct tr_conn *conn,
		     struct sn_err *err)
{
	ssize_t n;
	int rc;

	if (!conn->readable || conn->fd < 0)
		return 0;
	rc = make_room(&conn->in, &conn->in_size, READ_ROOM, err);
	if (rc)
		return rc;
	n = recv(conn->fd, conn->in + conn->in_len, conn->in_size - conn->in_len, MSG_DONTWAIT);
	if (n > 0) {
		conn->in_len += (size_t)n;
		return 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		conn->readable = errno == EINTR;
		return 0;
	}
	conn->readable = false;
	return lost(t, conn, err);
}

int tr_receive(struct trainer *t, struct tr_conn *conn, struct tr_frame *ret,
	       const unsigned char **ret_body, struct sn_err *err)
{
	int rc;

	for (;;) {
		rc = next_frame(conn, ret, ret_body, err);
		if (rc)
			return rc < 0 ? rc : 0;
		rc = read_some(t, conn, err);
		if (!rc)
			rc = tr_turn(t, UINT64_MAX, err);
		if (rc < 0)
			return rc;
	}
}

/* ---- events ---------------------------------------------------------------- */

static int accept_all(struct trainer *t, struct sn_err *err)
{
	int fd, rc = 0;

	while (!rc && (fd = accept4(t->listener->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		rc = tr_net_add(t, fd, TR_NEW, UINT32_MAX, NULL, err);
	if (!rc && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		return sn_err_set(err, -errno, "cannot accept: %s", strerror(errno));
	return rc;
}

/* Whoever is not a rank of ours may connect and say anything: not our affair. */
static int hear(struct trainer *t, struct tr_conn *conn, struct sn_err *err)
{
	struct tr_frame frame;
	const unsigned char *body;
	int rc;

	while (conn->kind == TR_NEW || conn->kind == TR_CONTROL) {
		bool stranger = conn->kind == TR_NEW;

		rc = next_frame(conn, &frame, &body, err);
		if (!rc) {
			rc = read_some(t, conn, err);
			if (rc <= 0)
				return rc;
			continue;
		}
		if (rc > 0)
			rc = t->handler(t, conn, &frame, body, err);
		if (rc == -EPROTO && stranger) {
			tr_net_drop(t, conn);
			return 0;
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int got_signal(struct trainer *t, struct sn_err *err)
{
	struct signalfd_siginfo info;

	while (read(t->signals, &info, sizeof(info)) > 0)
		;
	if (t->terminated)
		return 0;
	t->terminated = true;
	t->grace_end = tr_now_ms() + t->opt.grace_s * 1000ull;
	if (t->handler != tr_control)
		return sn_err_set(err, -ECANCELED, "terminated before the first step");
	return tr_tell(t, TR_TERM, 0, 0, NULL, 0, err);
}

static int handle(struct trainer *t, const struct epoll_event *event,
		  struct sn_err *err)
{
	struct tr_conn *conn = event->data.ptr;
	int rc = 0;

	if (!conn)
		return got_signal(t, err);
	if (conn->fd < 0)
		return 0;
	if (conn == t->listener)
		return accept_all(t, err);
	if (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn->readable = true;
	if (event->events & EPOLLOUT)
		rc = flush_conn(t, conn, err);
	if (!rc && (conn->kind == TR_NEW || conn->kind == TR_CONTROL))
		rc = hear(t, conn, err);
	/* A link that closes is a rank that died, whatever it said before. */
	else if (!rc && event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		rc = lost(t, conn, err);
	return rc;
}

int tr_turn(struct trainer *t, uint64_t deadline, struct sn_err *err)
{
	struct epoll_event event[EVENTS];
	uint64_t now = tr_now_ms();
	int n, rc = 0, wait = -1;

	if (t->terminated && now >= t->grace_end)
		return sn_err_set(err, -ECANCELED, "terminated, and the ranks could not agree on a step to stop after within %u s", t->opt.grace_s);
	if (t->terminated && deadline > t->grace_end)
		deadline = t->grace_end;
	if (deadline != UINT64_MAX)
		wait = deadline <= now ? 0 : deadline - now > 60000 ? 60000 : (int)(deadline - now);
	n = epoll_wait(t->epoll, event, EVENTS, wait);
	if (n < 0 && errno != EINTR)
		return sn_err_set(err, -errno, "epoll_wait: %s", strerror(errno));
	for (int i = 0; !rc && i < n; i++)
		rc = handle(t, &event[i], err);
	return rc;
}

int tr_flush(struct trainer *t, struct sn_err *err)
{
	for (;;) {
		struct tr_conn *conn = t->conns;
		int rc;

		while (conn && conn->out_at == conn->out_len)
			conn = conn->next;
		if (!conn)
			return 0;
		rc = tr_turn(t, UINT64_MAX, err);
		if (rc)
			return rc;
	}
}
