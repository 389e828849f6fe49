/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemserve.c - shards for other nodes: a thread that listens, and one for each peer.
 *
 * Anybody may connect. The listening thread itself hears strangers out, all at once and
 * never waiting for one: so many bytes, within so much time, and where there are too
 * many the oldest goes, of his own host first. A thread and memory only those get that
 * have proved that they have the secret, and they are counted apart. A peer that does
 * not go on for PATIENCE_S is left.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snmem_internal.h"

#define PEERS 256 /* at once; others are told to try again */
#define STRANGERS 256
#define OF_ONE 64 /* of one address */
#define STRANGER_MS 5000

struct stranger {
	int fd;
	uint32_t address;
	int64_t end; /* ms */
	struct mem_auth auth;
	struct mem_hello hello;
	size_t got; /* bytes of it */
};

struct mem_serve {
	struct mem_serve_options with;
	char token[MEM_TOKEN];
	int fd;
	pthread_t thread;
	atomic_int peers;
	/* The listening thread's; the oldest first. */
	struct stranger stranger[STRANGERS];
	uint32_t n;
};

struct peer {
	struct mem_serve *serve;
	int fd;
	struct mem_auth auth;
	struct mem_hello hello;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- a peer ----------------------------------------------------------------------------- */

static int welcome(const struct peer *peer, int answer, const struct mem_head *head)
{
	struct mem_welcome w;
	int rc;

	memset(&w, 0, sizeof(w));
	w.answer = answer;
	if (head)
		w.head = *head;
	rc = mem_sign(&peer->auth, MEM_WELCOME, &w, offsetof(struct mem_welcome, mac), w.mac);
	return rc ? rc : mem_put_all(peer->fd, &w, sizeof(w));
}

static int room_for(int dir, uint64_t bytes)
{
	struct statvfs st;

	if (fstatvfs(dir, &st))
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize > bytes + bytes / 64 + 65536;
}

/* May it come? */
static int check_put(const struct mem_serve *serve, const struct mem_head *head)
{
	if (!mem_head_is_right(head, serve->with.tag))
		return -EBADMSG;
	/* Older ones make way before any room is taken for nothing. */
	if (!room_for(serve->with.dir, head->len))
		mem_prune(serve->with.dir, head->id.rank, MEM_KEEP - 1);
	return room_for(serve->with.dir, head->len) ? 0 : -ENOSPC;
}

static int take_in(const struct mem_serve *serve, int fd, const struct mem_head *head)
{
	char name[MEM_NAME];
	void *data;
	int rc;

	data = mmap(NULL, head->len + 1, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return -ENOMEM;
	rc = mem_get_all(fd, data, head->len);
	if (!rc && mem_sum(serve->with.tag, data, head->len) != head->sum)
		rc = -EBADMSG;
	if (!rc) {
		mem_name(&head->id, name);
		rc = mem_write(serve->with.dir, name, head, data, false);
	}
	munmap(data, head->len + 1);
	if (!rc)
		mem_prune(serve->with.dir, head->id.rank, serve->with.keep);
	return rc;
}

static void serve_put(const struct peer *peer)
{
	struct mem_receipt receipt = { 0 };
	int rc = check_put(peer->serve, &peer->hello.head);

	if (welcome(peer, rc, NULL) || rc)
		return;
	receipt.answer = take_in(peer->serve, peer->fd, &peer->hello.head);
	if (!mem_sign(&peer->auth, MEM_RECEIPT, &receipt, offsetof(struct mem_receipt, mac),
		      receipt.mac))
		(void)mem_put_all(peer->fd, &receipt, sizeof(receipt));
	/* Not before: it may take its time on shared storage. */
	if (!receipt.answer && peer->serve->with.took)
		peer->serve->with.took(peer->serve->with.arg, &peer->hello.head.id);
}

static void serve_get(const struct peer *peer)
{
	const struct mem_serve *serve = peer->serve;
	struct mem_head head;
	char name[MEM_NAME];
	int file;

	mem_name(&peer->hello.head.id, name);
	file = mem_open(serve->with.dir, name, serve->with.tag, &head);
	if (file < 0) {
		(void)welcome(peer, file, NULL);
		return;
	}
	if (!welcome(peer, 0, &head))
		(void)mem_put_file(peer->fd, file, head.len);
	close(file);
}

static void *attend(void *arg)
{
	struct peer *peer = arg;
	struct mem_serve *serve = peer->serve;

	if (peer->hello.session != serve->with.session)
		(void)welcome(peer, -ESTALE, NULL);
	else if (peer->hello.op == MEM_PUT)
		serve_put(peer);
	else if (peer->hello.op == MEM_GET)
		serve_get(peer);
	else
		(void)welcome(peer, -EINVAL, NULL);
	close(peer->fd);
	free(peer);
	atomic_fetch_sub(&serve->peers, 1);
	return NULL;
}

/* The connection is the peer's thread's, or closed. */
static void begin_peer(struct mem_serve *serve, const struct stranger *s)
{
	struct peer *peer = malloc(sizeof(*peer));
	pthread_t thread;
	int flags = fcntl(s->fd, F_GETFL);

	if (!peer || flags < 0 || fcntl(s->fd, F_SETFL, flags & ~O_NONBLOCK)) {
		free(peer);
		close(s->fd);
		return;
	}
	mem_be_patient(s->fd);
	*peer = (struct peer){ serve, s->fd, s->auth, s->hello };
	if (atomic_load(&serve->peers) < PEERS) {
		atomic_fetch_add(&serve->peers, 1);
		if (!pthread_create(&thread, NULL, attend, peer)) {
			pthread_detach(thread);
			return;
		}
		atomic_fetch_sub(&serve->peers, 1);
	}
	(void)welcome(peer, -EBUSY, NULL);
	close(peer->fd);
	free(peer);
}

/* ---- strangers ---------------------------------------------------------------------------- */

static void forget(struct mem_serve *serve, uint32_t i)
{
	memmove(&serve->stranger[i], &serve->stranger[i + 1],
		(--serve->n - i) * sizeof(*serve->stranger));
}

static void leave(struct mem_serve *serve, uint32_t i)
{
	close(serve->stranger[i].fd);
	forget(serve, i);
}

/* So that one more has a place. */
static void make_room(struct mem_serve *serve, uint32_t address)
{
	uint32_t own = 0, oldest = serve->n;

	for (uint32_t i = serve->n; i-- > 0;)
		if (serve->stranger[i].address == address) {
			own++;
			oldest = i;
		}
	if (own >= OF_ONE)
		leave(serve, oldest);
	else if (serve->n == STRANGERS)
		leave(serve, 0);
}

static void greet(struct mem_serve *serve, int fd, uint32_t address)
{
	struct mem_greeting greeting;
	struct stranger *s;
	bool good;

	make_room(serve, address);
	s = &serve->stranger[serve->n];
	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->address = address;
	s->end = now_ms() + serve->with.stranger_ms;
	memcpy(s->auth.token, serve->token, sizeof(s->auth.token));
	good = !mem_nonce(s->auth.server);
	memcpy(greeting.magic, mem_magic, sizeof(greeting.magic));
	memcpy(greeting.nonce, s->auth.server, sizeof(greeting.nonce));
	/* A fresh connection takes that much at once. */
	if (good && send(fd, &greeting, sizeof(greeting), MSG_NOSIGNAL) == sizeof(greeting))
		serve->n++;
	else
		close(fd);
}

/* Whatever is wrong with one connection, or short for a while, is no end; false: it is. */
static bool accept_one(struct mem_serve *serve)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	socklen_t len = sizeof(from);
	int fd = accept4(serve->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		greet(serve, fd, from.sin_addr.s_addr);
	else if (errno == EINVAL || errno == EBADF)
		return false; /* shut down */
	else if (errno != EAGAIN)
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	return true;
}

/* What one has said so far. It may have gone from its place then. */
static void hear(struct mem_serve *serve, uint32_t i)
{
	struct stranger *s = &serve->stranger[i];
	ssize_t n = recv(s->fd, (char *)&s->hello + s->got, sizeof(s->hello) - s->got, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		leave(serve, i);
		return;
	}
	s->got += (size_t)n;
	if (s->got < sizeof(s->hello))
		return;
	memcpy(s->auth.client, s->hello.nonce, MEM_NONCE);
	if (mem_check(&s->auth, MEM_HELLO, &s->hello, offsetof(struct mem_hello, mac), s->hello.mac)) {
		leave(serve, i);
		return;
	}
	begin_peer(serve, s);
	forget(serve, i);
}

static int wait_for(const struct mem_serve *serve, struct pollfd fd[STRANGERS + 1])
{
	int64_t now = now_ms(), until = INT64_MAX;

	fd[0] = (struct pollfd){ .fd = serve->fd, .events = POLLIN };
	for (uint32_t i = 0; i < serve->n; i++) {
		fd[i + 1] = (struct pollfd){ .fd = serve->stranger[i].fd, .events = POLLIN };
		if (serve->stranger[i].end < until)
			until = serve->stranger[i].end;
	}
	return poll(fd, serve->n + 1, until == INT64_MAX ? -1 : until > now ? (int)(until - now) : 0);
}

static void *listen_on(void *arg)
{
	struct mem_serve *serve = arg;
	struct pollfd fd[STRANGERS + 1];
	bool on = true;

	while (on) {
		bool any = wait_for(serve, fd) > 0;

		/* From the last on: those that go leave the places before them as they are. */
		for (uint32_t i = serve->n; any && i-- > 0;)
			if (fd[i + 1].revents)
				hear(serve, i);
		for (uint32_t i = serve->n; i-- > 0;)
			if (serve->stranger[i].end <= now_ms())
				leave(serve, i);
		if (any && fd[0].revents)
			on = accept_one(serve);
	}
	while (serve->n)
		leave(serve, serve->n - 1);
	return NULL;
}

/* ---- beginning and end ------------------------------------------------------------------------ */

int mem_serve_start(const struct mem_serve_options *options, struct mem_serve **ret,
		    uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct mem_serve *serve = calloc(1, sizeof(*serve));
	socklen_t len = sizeof(address);
	int rc = 0;

	if (!serve)
		return -ENOMEM;
	serve->with = *options;
	serve->with.token = NULL;
	if (!serve->with.stranger_ms)
		serve->with.stranger_ms = STRANGER_MS;
	memcpy(serve->token, options->token, MEM_TOKEN);
	serve->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (serve->fd < 0 || bind(serve->fd, (struct sockaddr *)&address, len) ||
	    listen(serve->fd, 128) ||
	    getsockname(serve->fd, (struct sockaddr *)&address, &len))
		rc = -errno;
	if (!rc)
		rc = -pthread_create(&serve->thread, NULL, listen_on, serve);
	if (rc) {
		if (serve->fd >= 0)
			close(serve->fd);
		free(serve);
		return rc;
	}
	*ret_port = ntohs(address.sin_port);
	*ret = serve;
	return 0;
}

void mem_serve_stop(struct mem_serve *serve)
{
	const struct timespec pause = { 0, 5000000 };

	if (!serve)
		return;
	shutdown(serve->fd, SHUT_RDWR);
	pthread_join(serve->thread, NULL);
	close(serve->fd);
	while (atomic_load(&serve->peers))
		nanosleep(&pause, NULL);
	free(serve);
}
