/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolve.c - is a name this address?
 */
#include "config.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "elastic/resolve.h"

#define SLOTS 1024
#define ADDRS_MAX 8
#define KEEP_S 60
#define WRONG_KEEP_S 5 /* another than asked for: it may just have changed */

struct slot {
	char name[128];
	uint32_t addr[ADDRS_MAX];
	uint32_t n;
	time_t at;
};

static struct slot slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static struct slot *slot_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return &slots[hash % SLOTS];
}

static bool has(const struct slot *s, uint32_t addr)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->addr[i] == addr)
			return true;
	return false;
}

static bool ask(const char *name, struct slot *ret)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *all;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (getaddrinfo(name, NULL, &hints, &all))
		return false;
	for (struct addrinfo *ai = all; ai && ret->n < ADDRS_MAX; ai = ai->ai_next)
		ret->addr[ret->n++] = ((struct sockaddr_in *)ai->ai_addr)->sin_addr.s_addr;
	freeaddrinfo(all);
	ret->at = now();
	return true;
}

bool sn_resolves_to(const char *name, uint32_t addr)
{
	struct slot *s, fresh;
	struct in_addr in;
	bool known, is;

	if (!*name || !addr || strlen(name) >= sizeof(s->name))
		return false;
	if (inet_pton(AF_INET, name, &in) == 1)
		return in.s_addr == addr;
	s = slot_of(name);
	pthread_mutex_lock(&lock);
	is = has(s, addr);
	known = !strcmp(s->name, name) && now() - s->at < (is ? KEEP_S : WRONG_KEEP_S);
	pthread_mutex_unlock(&lock);
	if (known)
		return is;
	if (!ask(name, &fresh))
		return false;
	pthread_mutex_lock(&lock);
	*s = fresh;
	pthread_mutex_unlock(&lock);
	return has(&fresh, addr);
}
