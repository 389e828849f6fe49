/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - the sockets of snelasticd: connections, their limits and times.
 *
 * A connection brings one request and gets one answer, or a stream of them. What
 * it brings is not believed here. Anybody may connect, so all is bounded: the
 * number of connections, and of those of one address or user; the size of a
 * request, and of all answers together; the time until it is whole, and in which an answer
 * must be taken. Whose host has gone without a word is noticed within a minute. When there are too many, the oldest that has not brought its request goes first.
 */
#ifndef SN_ELASTIC_SERVER_H
#define SN_ELASTIC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elastic/loop.h"
#include "topology/err.h"

struct sn_peer {
	bool unix_socket;
	uint32_t addr; /* IPv4, network order; 0: none, or IPv6 */
	uint32_t uid; /* as the kernel says, of the Unix socket */
	char text[64]; /* for sentences */
};

struct sn_server_limits {
	uint32_t connections;
	uint32_t of_one; /* address, or user of the Unix socket */
	uint32_t request_ms; /* for a request to come whole */
	uint32_t answer_ms; /* for an answer to be taken in */
	/* These do not bind the privileged, who so always find room. 0: no limit. */
	uint32_t of_user; /* with a request, wherever from */
	size_t out_bytes; /* of all answers that are not taken in yet */
	uint32_t kept; /* connections that stay, see sn_server_keep(); beside the others */
};

struct sn_server_stats {
	uint64_t accepted, requests, refused, evicted, late, garbage;
	uint32_t open, kept; /* open: without those kept */
};

struct sn_server;

struct sn_server_calls {
	/* cred is yours to free. Answer by sn_server_send(), or sn_server_drop(). */
	void (*request)(void *ctx, uint64_t ticket, char *cred, const struct sn_peer *peer);
	/* A connection has gone that had brought a request; kept: by sn_server_keep(), as few
	 * of those are. May be NULL. */
	void (*gone)(void *ctx, uint64_t ticket, bool kept);
};

int sn_server_create(struct sn_loop *loop, const struct sn_server_limits *limits,
		     const struct sn_server_calls *calls, void *ctx,
		     struct sn_server **ret, struct sn_err *err);
void sn_server_destroy(struct sn_server *server); /* NULL is fine; calls nothing */

/* -EADDRINUSE is what a second daemon on the host meets. port 0: any, see below. */
int sn_server_listen_tcp(struct sn_server *server, uint32_t port, struct sn_err *err);
uint32_t sn_server_port(const struct sn_server *server);
/* What is there of that name goes if nobody listens to it. -EADDRINUSE. */
int sn_server_listen_unix(struct sn_server *server, const char *path, struct sn_err *err);
/* No more of it: the port and the Unix socket are free for others. */
void sn_server_close(struct sn_server *server);
void sn_server_limit(struct sn_server *server, const struct sn_server_limits *limits);

/* Whose request it is. False: he has too many already, or all others but the
 * privileged together have; a quarter of all places, and of each address's, is never
 * theirs. Answer him so. */
bool sn_server_user(struct sn_server *server, uint64_t ticket, uint32_t uid, bool privileged);
/* The connection is to stay for long, and no longer counts among those with a request,
 * but has a limit of its own. False: there is no room. */
bool sn_server_keep(struct sn_server *server, uint64_t ticket);
/* Send n credentials as frames. more: a stream, the connection stays. False: it has
 * gone, or there is no room for the answer. The texts are copied. */
bool sn_server_send(struct sn_server *server, uint64_t ticket, char *const *cred,
		    uint32_t n, bool more);
/* Is it still there? */
bool sn_server_has(const struct sn_server *server, uint64_t ticket);
/* Is all written that was sent? For streams, which wait for that. */
bool sn_server_idle(const struct sn_server *server, uint64_t ticket);
void sn_server_drop(struct sn_server *server, uint64_t ticket);
void sn_server_stats(const struct sn_server *server, struct sn_server_stats *ret);

#endif
