/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carecheck.c - what is at the port of a node's slurmd?
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

static enum sn_node_word word_of(int error)
{
	switch (error) {
	case 0:
		return SN_NODE_ANSWERS;
	case ECONNREFUSED:
		return SN_NODE_REFUSES;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
		return SN_NODE_IS_SILENT;
	}
	/* This host has no network, no port, no descriptor, a packet filter: its own fault. */
	return SN_NODE_UNKNOWN;
}

static enum sn_node_word ask(const struct addrinfo *ai, int64_t until)
{
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = ETIMEDOUT, rc;

	p.fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p.fd < 0)
		return SN_NODE_UNKNOWN;
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
	return word_of(error);
}

enum sn_node_word sn_node_ask(const char *address, uint16_t port, int64_t ms)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	int64_t until = now_ms() + ms;
	enum sn_node_word word = SN_NODE_UNKNOWN, one;
	struct addrinfo *all;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	if (!port || getaddrinfo(address, service, &hints, &all))
		return SN_NODE_UNKNOWN;
	/* What says most for its life counts, of several addresses. */
	for (const struct addrinfo *ai = all; ai && word != SN_NODE_ANSWERS; ai = ai->ai_next) {
		one = ask(ai, until);
		if (one < word)
			word = one;
	}
	freeaddrinfo(all);
	return word;
}
