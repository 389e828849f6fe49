/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carecheck.c - does a node that a job's snrun has lost still answer?
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "elastic/carecheck.h"

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool accepts(const struct addrinfo *ai, int64_t until)
{
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = ETIMEDOUT, rc;

	p.fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p.fd < 0)
		return true; /* no fault of the node's */
	if (!connect(p.fd, ai->ai_addr, ai->ai_addrlen)) {
		error = 0;
	} else if (errno != EINPROGRESS) {
		error = errno;
	} else {
		do {
			int64_t left = until - now_ms();

			rc = poll(&p, 1, left > 0 ? (int)left : 0);
		} while (rc < 0 && errno == EINTR);
		if (rc > 0 && getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len))
			error = errno;
	}
	close(p.fd);
	return !error;
}

bool sn_node_answers(const char *address, uint16_t port, int64_t ms)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	int64_t until = now_ms() + ms;
	struct addrinfo *all;
	char service[8];
	bool answers = false;

	snprintf(service, sizeof(service), "%u", port);
	if (!port || getaddrinfo(address, service, &hints, &all))
		return true;
	for (const struct addrinfo *ai = all; ai && !answers; ai = ai->ai_next)
		answers = accepts(ai, until);
	freeaddrinfo(all);
	return answers;
}
