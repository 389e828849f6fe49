/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_internal.h - what server.c and serverlisten.c share.
 */
#ifndef SN_ELASTIC_SERVER_INTERNAL_H
#define SN_ELASTIC_SERVER_INTERNAL_H

#include "elastic/frame.h"
#include "elastic/server.h"

#define LISTENERS_MAX 4

enum state { READING, BUSY, STREAM };

struct conn {
	struct sn_server *server;
	int fd;
	struct sn_watch *watch;
	enum state state;
	uint32_t uid; /* whose request it is; UINT32_MAX: not known yet */
	bool privileged;
	bool last; /* hang up when all is written */
	bool kept; /* in the list of those */
	struct sn_peer peer;
	struct sn_frame frame;
	uint64_t ticket;
	int64_t end; /* ms; 0: none */
	char *out;
	size_t out_len, out_at;
	struct conn *next, *prev; /* the oldest first */
};

struct sn_server {
	struct sn_loop *loop;
	struct sn_server_limits limits;
	struct sn_server_calls calls;
	void *ctx;
	struct {
		int fd;
		struct sn_watch *watch;
		char *path; /* of a Unix socket */
	} listener[LISTENERS_MAX];
	uint32_t n_listeners, port;
	struct conn *first, *last;
	struct conn *kept;
	struct sn_timer *sweep;
	uint64_t next_ticket;
	size_t out_sum; /* of all out_len */
	bool deaf; /* no descriptors left: the listeners rest till the next sweep */
	struct sn_server_stats stats;
};

void server_on_listener(void *ctx, uint32_t events);

#endif
