/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmembed.h - a shard in a region, nodes that give it out, and a relay that hears, and
 * cuts off, what goes between them and a peer; for test_snmemnet.c and test_snmemends.c.
 */
#ifndef SN_TESTS_SNMEMBED_H
#define SN_TESTS_SNMEMBED_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/snmem_internal.h"

#define TAG 9
#define SESSION 77
#define TOKEN "0123456789abcdef0123456789abcdef"
#define BIG (4u << 20) /* more than sockets hold */

static char top[64];
static const struct mem_id id = { 5, 0, 4, 2 };
static struct mem_head head;
static char name[MEM_NAME];
static char *data; /* [BIG] */
static int dir, file;

/* A shard in a region, to be sent and to be had. */
static inline int set_up(void **state)
{
	(void)state;
	alarm(100);
	strcpy(top, "/tmp/sn-memnet-XXXXXX");
	data = malloc(BIG);
	if (!mkdtemp(top) || !data)
		return -1;
	for (size_t i = 0; i < BIG; i++)
		data[i] = (char)(i * 2654435761u >> 13);
	dir = mem_dir(top, "own");
	mem_head_make(&head, TAG, &id, data, BIG);
	mem_name(&id, name);
	if (dir < 0 || mem_write(dir, name, &head, data, false))
		return -1;
	file = mem_open(dir, name, TAG, &head);
	return file < 0;
}

static inline int tear_down(void **state)
{
	char command[128];

	(void)state;
	close(file);
	close(dir);
	free(data);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static inline struct mem_serve *serve(int in, unsigned stranger_ms, struct mem_server *to)
{
	const struct mem_serve_options o = {
		.dir = in, .tag = TAG, .session = SESSION, .keep = 3, .token = TOKEN,
		.stranger_ms = stranger_ms,
	};
	struct mem_serve *is;

	memset(to, 0, sizeof(*to));
	strcpy(to->node, "x");
	strcpy(to->address, "127.0.0.1");
	strcpy(to->token, TOKEN);
	assert_int_equal(mem_serve_start(&o, &is, &to->port), 0);
	return is;
}

static inline int get(const struct mem_server *from)
{
	uint64_t len = 0;
	void *got = NULL;
	int rc = mem_get(from, SESSION, TAG, &id, &got, &len);

	if (!rc) {
		assert_int_equal(len, BIG);
		assert_memory_equal(got, data, BIG);
		free(got);
	}
	return rc;
}

/* How many shards the region has, whole or not. */
static inline size_t count(int in)
{
	struct mem_id *all = NULL;
	size_t n = 0;

	assert_int_equal(mem_names(in, &all, &n), 0);
	free(all);
	return n;
}

static inline int listen_to(uint16_t *ret_port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&sa, len) && !listen(fd, 16) &&
		    !getsockname(fd, (struct sockaddr *)&sa, &len));
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

/* From 127.0.0.`host`; -1: it was refused, as it may be at such a time. */
static inline int call(uint16_t port, unsigned host)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000 | host) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&from, sizeof(from)));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

/* ---- the wire ----------------------------------------------------------------------------- */

/* Between a peer and a node: what goes by is kept, and cut off after some of it. */
struct relay {
	pthread_t thread;
	int fd;
	uint16_t port;
	size_t cut[2]; /* bytes from the peer, from the node; 0: never */
	pid_t victim; /* killed then; 0: nobody */
	/* what went by */
	char *said[2]; /* [MOST] */
	size_t n[2];
};
#define MOST (BIG + (64u << 10))

static inline bool pass(struct relay *r, int way, int from, int to)
{
	char buf[32768];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	if (n <= 0 || r->n[way] + (size_t)n > MOST || (r->cut[way] && r->n[way] + (size_t)n > r->cut[way])) {
		if (n > 0 && r->victim)
			kill(r->victim, SIGKILL);
		return false;
	}
	memcpy(r->said[way] + r->n[way], buf, (size_t)n);
	r->n[way] += (size_t)n;
	return send(to, buf, (size_t)n, MSG_NOSIGNAL) == n;
}

static inline void *run_relay(void *arg)
{
	struct relay *r = arg;
	int peer = accept(r->fd, NULL, NULL), node = call(r->port, 1);
	struct pollfd p[2] = { { .fd = peer, .events = POLLIN }, { .fd = node, .events = POLLIN } };
	bool on = true;

	while (on && poll(p, 2, -1) > 0)
		for (int way = 0; way < 2 && on; way++)
			if (p[way].revents)
				on = pass(r, way, p[way].fd, p[!way].fd);
	close(peer);
	close(node);
	return NULL;
}

/* *to leads through it then. */
static inline void begin_relay(struct relay *r, struct mem_server *to)
{
	r->port = to->port;
	for (int way = 0; way < 2; way++)
		assert_non_null(r->said[way] = malloc(MOST));
	r->fd = listen_to(&to->port);
	assert_int_equal(pthread_create(&r->thread, NULL, run_relay, r), 0);
}

static inline void end_relay(struct relay *r)
{
	pthread_join(r->thread, NULL);
	close(r->fd);
}

static inline void free_relay(struct relay *r)
{
	free(r->said[0]);
	free(r->said[1]);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
