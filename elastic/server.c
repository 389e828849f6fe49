/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.c - the sockets of snelasticd: connections, their limits and times.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elastic/frame.h"
#include "elastic/listen.h"
#include "elastic/server_internal.h"

#define ACCEPTS 32 /* in a row */
#define SWEEP_MS 500
#define CHUNK 65536
#define SN_NOBODY UINT32_MAX

/* ---- connections ---------------------------------------------------------------------- */

static void unlink_conn(struct conn *c)
{
	struct sn_server *s = c->server;

	if (c->prev)
		c->prev->next = c->next;
	else
		*(c->kept ? &s->kept : &s->first) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else if (!c->kept)
		s->last = c->prev;
	*(c->kept ? &s->stats.kept : &s->stats.open) -= 1;
}

static void free_conn(struct conn *c)
{
	struct sn_server *s = c->server;

	sn_watch_end(c->watch);
	close(c->fd);
	unlink_conn(c);
	s->out_sum -= c->out_len;
	sn_frame_done(&c->frame);
	free(c->out);
	free(c);
}

static void end_conn(struct conn *c)
{
	struct sn_server *s = c->server;
	uint64_t ticket = c->ticket;
	bool had = c->state != READING, kept = c->kept;

	free_conn(c);
	if (had && s->calls.gone)
		s->calls.gone(s->ctx, ticket, kept);
}

static struct conn *find(const struct sn_server *s, uint64_t ticket)
{
	struct conn *c;

	for (c = s->last; c && c->ticket != ticket; c = c->prev)
		;
	if (!c)
		for (c = s->kept; c && c->ticket != ticket; c = c->next)
			;
	return c;
}

static bool same_peer(const struct sn_peer *a, const struct sn_peer *b)
{
	if (a->unix_socket != b->unix_socket)
		return false;
	/* IPv6 has no number here, but a text. */
	return a->unix_socket ? a->uid == b->uid : !strcmp(a->text, b->text);
}

/* False: the connection has ended. */
static bool write_out(struct conn *c)
{
	while (c->out_at < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			sn_watch_change(c->watch, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
			return true;
		}
		if (n <= 0) {
			end_conn(c);
			return false;
		}
		c->out_at += (size_t)n;
		c->end = sn_loop_now() + c->server->limits.answer_ms;
	}
	free(c->out);
	c->out = NULL;
	c->server->out_sum -= c->out_len;
	c->out_len = c->out_at = 0;
	if (c->last) {
		end_conn(c);
		return false;
	}
	c->end = c->state == READING ? c->end : 0;
	sn_watch_change(c->watch, EPOLLIN | EPOLLRDHUP);
	return true;
}

static void take_request(struct conn *c)
{
	struct sn_server *s = c->server;
	char *cred = c->frame.body;

	c->frame.body = NULL;
	sn_frame_done(&c->frame);
	c->state = BUSY;
	c->end = 0;
	s->stats.requests++;
	s->calls.request(s->ctx, c->ticket, cred, &c->peer);
}

/* Behind its request nothing may come; what comes is only read to see the end. */
static void read_in(struct conn *c)
{
	char data[CHUNK];
	bool whole = false;
	size_t used;
	ssize_t n = recv(c->fd, data, sizeof(data), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || c->state != READING) {
		c->server->stats.garbage += n > 0;
		end_conn(c);
		return;
	}
	if (sn_frame_feed(&c->frame, data, (size_t)n, &used, &whole, NULL) ||
	    (whole && used < (size_t)n)) {
		c->server->stats.garbage++;
		end_conn(c);
	} else if (whole) {
		take_request(c);
	}
}

static void on_conn(void *ctx, uint32_t events)
{
	struct conn *c = ctx;

	if (events & (EPOLLERR | EPOLLHUP)) {
		end_conn(c);
		return;
	}
	if ((events & EPOLLOUT) && !write_out(c))
		return;
	if (events & (EPOLLIN | EPOLLRDHUP))
		read_in(c);
}

/* ---- accepting ------------------------------------------------------------------------ */

/* Room for one more: the oldest that has brought nothing goes. */
static bool make_room(struct sn_server *s, const struct sn_peer *peer)
{
	uint32_t of_one = 0;
	struct conn *c, *oldest = NULL, *own = NULL;

	for (c = s->first; c; c = c->next) {
		bool is_own = same_peer(&c->peer, peer);

		if (c->state == READING && !oldest)
			oldest = c;
		if (is_own && c->state == READING && !own)
			own = c;
		of_one += is_own;
	}
	if (of_one >= s->limits.of_one)
		oldest = own;
	else if (s->stats.open < s->limits.connections)
		return true;
	if (!oldest)
		return false;
	s->stats.evicted++;
	end_conn(oldest);
	return true;
}

static int add_conn(struct sn_server *s, int fd, const struct sn_peer *peer)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->server = s;
	c->fd = fd;
	c->peer = *peer;
	c->uid = SN_NOBODY;
	if (sn_loop_watch(s->loop, fd, EPOLLIN | EPOLLRDHUP, on_conn, c, &c->watch, NULL)) {
		free(c);
		return -ENOMEM;
	}
	sn_frame_init(&c->frame, SN_FRAME_REQUEST_MAX);
	c->ticket = ++s->next_ticket;
	c->end = sn_loop_now() + s->limits.request_ms;
	c->prev = s->last;
	*(s->last ? &s->last->next : &s->first) = c;
	s->last = c;
	s->stats.open++;
	s->stats.accepted++;
	return 0;
}

static void set_deaf(struct sn_server *s, bool deaf)
{
	s->deaf = deaf;
	for (uint32_t i = 0; i < s->n_listeners; i++)
		sn_watch_change(s->listener[i].watch, deaf ? 0 : EPOLLIN);
}

static void accept_some(struct sn_server *s, int listener)
{
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
		socklen_t len = sizeof(addr);
		struct sn_peer peer;
		int fd = accept4(listener, (struct sockaddr *)&addr, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
				set_deaf(s, true);
			return;
		}
		sn_listen_peer(fd, &addr, &peer);
		if (!peer.unix_socket) {
			sn_frame_keepalive(fd);
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		}
		if (!make_room(s, &peer) || add_conn(s, fd, &peer)) {
			s->stats.refused++;
			close(fd);
		}
	}
}

void server_on_listener(void *ctx, uint32_t events)
{
	struct sn_server *s = ctx;

	(void)events;
	for (uint32_t i = 0; i < s->n_listeners && !s->deaf; i++)
		accept_some(s, s->listener[i].fd);
}

/* ---- the whole -------------------------------------------------------------------------- */

static struct conn *find_late(struct conn *first, int64_t now)
{
	while (first && (!first->end || first->end > now))
		first = first->next;
	return first;
}

static void on_sweep(void *ctx)
{
	struct sn_server *s = ctx;
	int64_t now = sn_loop_now();
	struct conn *c;

	/* `gone` may drop others: begin anew after each. */
	while ((c = find_late(s->first, now)) || (c = find_late(s->kept, now))) {
		s->stats.late++;
		end_conn(c);
	}
	if (s->deaf)
		set_deaf(s, false);
	sn_timer_set(s->sweep, SWEEP_MS);
}

int sn_server_create(struct sn_loop *loop, const struct sn_server_limits *limits,
		     const struct sn_server_calls *calls, void *ctx,
		     struct sn_server **ret, struct sn_err *err)
{
	struct sn_server *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return sn_err_set(err, -ENOMEM, "no memory");
	s->loop = loop;
	s->limits = *limits;
	s->calls = *calls;
	s->ctx = ctx;
	rc = sn_loop_timer(loop, on_sweep, s, &s->sweep, err);
	if (rc) {
		free(s);
		return rc;
	}
	sn_timer_set(s->sweep, SWEEP_MS);
	*ret = s;
	return 0;
}

void sn_server_destroy(struct sn_server *server)
{
	if (!server)
		return;
	server->calls.gone = NULL;
	while (server->first)
		free_conn(server->first);
	while (server->kept)
		free_conn(server->kept);
	sn_server_close(server);
	sn_timer_end(server->sweep);
	free(server);
}

void sn_server_limit(struct sn_server *server, const struct sn_server_limits *limits)
{
	server->limits = *limits;
}

bool sn_server_user(struct sn_server *server, uint64_t ticket, uint32_t uid, bool privileged)
{
	uint32_t own = 0, all = 0, beside = 0;
	struct conn *mine = find(server, ticket);

	if (!mine)
		return true;
	for (struct conn *c = server->first; c; c = c->next) {
		if (c == mine || c->uid == SN_NOBODY || c->privileged)
			continue;
		own += c->uid == uid;
		beside += same_peer(&c->peer, &mine->peer);
		all++;
	}
	mine->uid = uid;
	mine->privileged = privileged;
	return privileged || !server->limits.of_user ||
		(own < server->limits.of_user && all < server->limits.connections / 4 * 3 &&
		 beside < server->limits.of_one / 4 * 3);
}

bool sn_server_keep(struct sn_server *server, uint64_t ticket)
{
	struct conn *c = find(server, ticket);

	if (!c || c->kept)
		return true;
	if (server->stats.kept >= server->limits.kept)
		return false;
	unlink_conn(c);
	c->kept = true;
	c->prev = NULL;
	c->next = server->kept;
	if (c->next)
		c->next->prev = c;
	server->kept = c;
	server->stats.kept++;
	return true;
}

bool sn_server_send(struct sn_server *server, uint64_t ticket, char *const *cred,
		    uint32_t n, bool more)
{
	struct conn *c = find(server, ticket);
	size_t len = 0;
	char *out;

	if (!c)
		return false;
	for (uint32_t i = 0; i < n; i++)
		len += SN_FRAME_HEAD + strlen(cred[i]);
	out = server->limits.out_bytes && !c->privileged && server->out_sum &&
		server->out_sum + len > server->limits.out_bytes ? NULL :
		realloc(c->out, c->out_len + len + 1);
	if (!out) {
		end_conn(c);
		return false;
	}
	c->out = out;
	for (uint32_t i = 0; i < n; i++) {
		size_t size = strlen(cred[i]);

		sn_frame_head((unsigned char *)c->out + c->out_len, size);
		memcpy(c->out + c->out_len + SN_FRAME_HEAD, cred[i], size);
		c->out_len += SN_FRAME_HEAD + size;
	}
	server->out_sum += len;
	c->state = more ? STREAM : BUSY;
	c->last = !more;
	c->end = sn_loop_now() + server->limits.answer_ms;
	write_out(c);
	return true;
}

bool sn_server_has(const struct sn_server *server, uint64_t ticket)
{
	return find(server, ticket);
}

bool sn_server_idle(const struct sn_server *server, uint64_t ticket)
{
	const struct conn *c = find(server, ticket);

	return c && !c->out_len;
}

void sn_server_drop(struct sn_server *server, uint64_t ticket)
{
	struct conn *c = find(server, ticket);

	if (c)
		free_conn(c);
}

void sn_server_stats(const struct sn_server *server, struct sn_server_stats *ret)
{
	*ret = server->stats;
}
