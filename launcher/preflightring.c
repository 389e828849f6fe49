/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflightring.c - a link's latency and bandwidth, by a TCP connection.
 *
 * All nodes measure at once, each the link to its next and, in a thread, as the
 * other end of its predecessor's. Small messages go to and fro first: the best
 * of them is the link's latency, since a busy host only ever adds to it. Then as
 * much is sent as goes through in a fifth of a second.
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "launcher/preflight.h"
#include "topology/err.h"

#define PINGS 200
#define PINGS_MS 1000 /* no longer than this on a slow link */
#define PING_BYTES 64
#define SEND_MS 200
#define CHUNK (256 << 10)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void limit(int fd, unsigned int seconds)
{
	const struct timeval t = { .tv_sec = seconds };
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* 0, -EPIPE at the other's end, -errno. */
static int get(int fd, void *data, size_t n)
{
	char *p = data;

	while (n) {
		ssize_t k = recv(fd, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -errno : -EPIPE;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

static int put(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

int sn_preflight_listen(unsigned int *ret_port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0, rc = -1;
	socklen_t len;

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		rc = bind(fd, (struct sockaddr *)&six, sizeof(six));
	}
	if (rc) { /* without IPv6 */
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		rc = bind(fd, (struct sockaddr *)&four, sizeof(four));
	}
	len = sizeof(six);
	if (rc || listen(fd, 16) || getsockname(fd, (struct sockaddr *)&six, &len)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*ret_port = ntohs(six.sin6_port); /* the same place in both */
	return fd;
}

/* ---- the other end of the predecessor's link ---- */

struct answer {
	int listening;
	const char *token;
	unsigned int seconds;
};

static int take_call(const struct answer *a)
{
	uint64_t until = now_ns() + (uint64_t)a->seconds * 1000000000u;
	size_t n = strlen(a->token);
	char token[64];

	while (now_ns() < until) {
		struct pollfd p = { .fd = a->listening, .events = POLLIN };
		int fd;

		if (poll(&p, 1, (int)((until - now_ns()) / 1000000u) + 1) <= 0)
			return -1;
		fd = accept4(a->listening, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		limit(fd, 2);
		/* A stranger, such as a port scanner, does not know it. */
		if (n <= sizeof(token) && !get(fd, token, n) && !memcmp(token, a->token, n)) {
			limit(fd, a->seconds);
			return fd;
		}
		close(fd);
	}
	return -1;
}

static void *answer(void *arg)
{
	const struct answer *a = arg;
	char *chunk = malloc(CHUNK), head;
	int fd = take_call(a);
	uint64_t sum = 0;

	while (fd >= 0 && chunk && !get(fd, &head, 1) && head == 'p')
		if (get(fd, chunk, PING_BYTES - 1) || put(fd, chunk, PING_BYTES))
			break;
	for (ssize_t k; fd >= 0 && chunk;) {
		k = recv(fd, chunk, CHUNK, 0);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		sum += (uint64_t)k;
	}
	if (fd >= 0) {
		put(fd, &sum, sizeof(sum));
		close(fd);
	}
	free(chunk);
	return NULL;
}

/* ---- the own link ---- */

static int call(const char *address, const char *port, unsigned int seconds)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *a;
	int fd = -1, rc = -EHOSTUNREACH;

	if (getaddrinfo(address, port, &hints, &list))
		return -ENXIO;
	for (a = list; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		limit(fd, seconds); /* of connect() too */
		if (!connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		rc = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd < 0 ? rc : fd;
}

static int ping(int fd, struct sn_preflight_link *ret)
{
	uint64_t until = now_ns() + (uint64_t)PINGS_MS * 1000000u;
	char out[PING_BYTES] = "p", in[PING_BYTES];

	ret->latency = UINT64_MAX;
	for (int i = 0; i < PINGS && (i < 3 || now_ns() < until); i++) {
		uint64_t begin = now_ns(), took;
		int rc = put(fd, out, sizeof(out));

		if (!rc)
			rc = get(fd, in, sizeof(in));
		if (rc)
			return rc;
		took = now_ns() - begin;
		if (took < ret->latency)
			ret->latency = took;
	}
	return 0;
}

static int stream(int fd, struct sn_preflight_link *ret)
{
	char *chunk = calloc(1, CHUNK);
	uint64_t begin = now_ns(), until = begin + (uint64_t)SEND_MS * 1000000u;
	uint64_t sum = 0;
	int rc = chunk ? put(fd, "s", 1) : -ENOMEM;

	while (!rc && now_ns() < until)
		rc = put(fd, chunk, CHUNK);
	if (!rc && shutdown(fd, SHUT_WR))
		rc = -errno;
	/* When the other has all of it, not when the kernel has taken it. */
	if (!rc)
		rc = get(fd, &sum, sizeof(sum));
	if (!rc)
		ret->bandwidth = (unsigned long long)((double)sum * 1e9 /
						      (double)(now_ns() - begin + 1));
	free(chunk);
	return rc;
}

int sn_preflight_ring(int listening, const char *token, const char *next,
		      const char *address, const char *port, unsigned int seconds,
		      struct sn_preflight_link *ret, struct sn_err *err)
{
	struct answer a = { listening, token, seconds };
	pthread_t thread;
	int fd, rc;

	if (pthread_create(&thread, NULL, answer, &a))
		return sn_err_set(err, -EAGAIN, "no thread");
	fd = call(address, port, seconds);
	rc = fd < 0 ? fd : put(fd, token, strlen(token));
	if (!rc)
		rc = ping(fd, ret);
	if (!rc)
		rc = stream(fd, ret);
	if (fd >= 0)
		close(fd);
	pthread_join(thread, NULL);
	if (rc == -EAGAIN)
		rc = -ETIMEDOUT;
	return rc ? sn_err_set(err, rc, "%s at %s port %s: %s", next, address, port,
			       rc == -ENXIO ? "unknown address" : strerror(-rc)) : 0;
}
