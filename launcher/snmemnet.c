/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemnet.c - shards between nodes: a thread that listens, one for each connection,
 * and the client's side.
 *
 * Who connects says the secret and the session first; nothing else is read from a
 * stranger. A peer that does not go on for PATIENCE_S is left.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snmem_internal.h"

#define PATIENCE_S 30
#define CONNECTIONS 256 /* at once; others are closed at once and try again */

enum { OP_PUT = 1, OP_GET };

struct hello {
	char token[MEM_TOKEN];
	uint64_t session;
	uint32_t op, zero;
	struct mem_head head; /* PUT: of what follows; GET: its id is asked for */
};

struct mem_serve {
	int dir, fd;
	uint64_t tag, session;
	unsigned keep;
	char token[MEM_TOKEN + 1];
	pthread_t thread;
	atomic_int open;
};

struct guest {
	struct mem_serve *serve;
	int fd;
};

/* ---- bytes ----------------------------------------------------------------------------- */

static int put_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? -ETIMEDOUT : n < 0 ? -errno : -EPIPE;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int get_all(int fd, void *data, size_t len)
{
	char *to = data;

	while (len) {
		ssize_t n = recv(fd, to, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? -ETIMEDOUT : n < 0 ? -errno : -EPIPE;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

/* sendfile() has no MSG_NOSIGNAL, and a peer that dies must not end a program which
 * has never heard of it. */
static ssize_t send_some(int to, int fd, off_t *at, size_t len)
{
	sigset_t pipe, old, pending;
	bool was;
	ssize_t n;
	int code;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	n = sendfile(to, fd, at, len > 1u << 30 ? 1u << 30 : len);
	code = errno;
	if (n < 0 && code == EPIPE && !was)
		while (sigtimedwait(&pipe, NULL, &(struct timespec){ 0, 0 }) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = code;
	return n;
}

static int put_file(int to, int fd, size_t len)
{
	off_t at = sizeof(struct mem_head);

	while (len) {
		ssize_t n = send_some(to, fd, &at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? -ETIMEDOUT : n < 0 ? -errno : -EBADMSG;
		len -= (size_t)n;
	}
	return 0;
}

static void be_patient(int fd)
{
	const struct timeval tv = { .tv_sec = PATIENCE_S };
	const int yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/* ---- the server --------------------------------------------------------------------------- */

static int room_for(int dir, uint64_t bytes)
{
	struct statvfs st;

	if (fstatvfs(dir, &st))
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize > bytes + bytes / 64 + 65536;
}

static int take_in(struct mem_serve *serve, int fd, const struct mem_head *head)
{
	char name[MEM_NAME];
	void *data;
	int rc;

	if (!mem_head_is_right(head, serve->tag))
		return -EBADMSG;
	/* Older ones make way before any room is taken for nothing. */
	if (!room_for(serve->dir, head->len))
		mem_prune(serve->dir, head->id.rank, MEM_KEEP - 1);
	if (!room_for(serve->dir, head->len))
		return -ENOSPC;
	data = mmap(NULL, head->len + 1, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return -ENOMEM;
	rc = get_all(fd, data, head->len);
	if (!rc && mem_sum(serve->tag, data, head->len) != head->sum)
		rc = -EBADMSG;
	if (!rc) {
		mem_name(&head->id, name);
		rc = mem_write(serve->dir, name, head, data, false);
	}
	munmap(data, head->len + 1);
	if (!rc)
		mem_prune(serve->dir, head->id.rank, serve->keep);
	return rc;
}

static int give_out(struct mem_serve *serve, int fd, const struct mem_id *id)
{
	struct mem_head head;
	char name[MEM_NAME];
	int32_t answer = 0;
	int file, rc;

	mem_name(id, name);
	file = mem_open(serve->dir, name, serve->tag, &head);
	if (file < 0)
		return file;
	rc = put_all(fd, &answer, sizeof(answer));
	if (!rc)
		rc = put_all(fd, &head, sizeof(head));
	if (!rc)
		rc = put_file(fd, file, head.len);
	close(file);
	return rc ? rc : 1;
}

static void *attend(void *arg)
{
	struct guest guest = *(struct guest *)arg;
	struct mem_serve *serve = guest.serve;
	struct hello hello;
	int32_t answer;
	int rc;

	free(arg);
	rc = get_all(guest.fd, &hello, sizeof(hello));
	if (!rc && !memcmp(hello.token, serve->token, MEM_TOKEN)) {
		if (hello.session != serve->session)
			rc = -ESTALE;
		else if (hello.op == OP_PUT)
			rc = take_in(serve, guest.fd, &hello.head);
		else if (hello.op == OP_GET)
			rc = give_out(serve, guest.fd, &hello.head.id);
		else
			rc = -EINVAL;
		answer = rc;
		if (rc <= 0)
			(void)put_all(guest.fd, &answer, sizeof(answer));
	}
	close(guest.fd);
	atomic_fetch_sub(&serve->open, 1);
	return NULL;
}

static void *listen_on(void *arg)
{
	struct mem_serve *serve = arg;

	for (;;) {
		int fd = accept4(serve->fd, NULL, NULL, SOCK_CLOEXEC);
		struct guest *guest;
		pthread_t thread;

		/* Whatever is wrong with one connection, or short for a while, is no end. */
		if (fd < 0 && errno != EINVAL && errno != EBADF) {
			const struct timespec pause = { 0, 10000000 };

			nanosleep(&pause, NULL);
			continue;
		}
		if (fd < 0)
			return NULL; /* shut down */
		guest = atomic_load(&serve->open) < CONNECTIONS ? malloc(sizeof(*guest)) : NULL;
		if (!guest) {
			close(fd);
			continue;
		}
		be_patient(fd);
		*guest = (struct guest){ serve, fd };
		atomic_fetch_add(&serve->open, 1);
		if (pthread_create(&thread, NULL, attend, guest)) {
			atomic_fetch_sub(&serve->open, 1);
			close(fd);
			free(guest);
			continue;
		}
		pthread_detach(thread);
	}
}

int mem_serve_start(int dir, uint64_t tag, uint64_t session, unsigned keep,
		    const char *token, struct mem_serve **ret, uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct mem_serve *serve = calloc(1, sizeof(*serve));
	socklen_t len = sizeof(address);
	int rc = 0;

	if (!serve)
		return -ENOMEM;
	*serve = (struct mem_serve){ .dir = dir, .tag = tag, .session = session, .keep = keep };
	memcpy(serve->token, token, MEM_TOKEN);
	serve->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
	while (atomic_load(&serve->open))
		nanosleep(&pause, NULL);
	free(serve);
}

/* ---- the client ------------------------------------------------------------------------------ */

static int connect_to(const struct mem_server *to, int *ret)
{
	const struct addrinfo want = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found, *at;
	char port[8];
	int rc = -EHOSTUNREACH;

	snprintf(port, sizeof(port), "%u", to->port);
	if (getaddrinfo(to->address, port, &want, &found) &&
	    getaddrinfo(to->node, port, &want, &found))
		return -EHOSTUNREACH;
	for (at = found; at && rc; at = at->ai_next) {
		int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);

		if (fd < 0)
			continue;
		/* The time to send holds for connecting, too. */
		be_patient(fd);
		if (connect(fd, at->ai_addr, at->ai_addrlen)) {
			rc = -errno;
			close(fd);
			continue;
		}
		*ret = fd;
		rc = 0;
	}
	freeaddrinfo(found);
	return rc;
}

static void greet(struct hello *hello, const struct mem_server *to, uint64_t session,
		  uint32_t op)
{
	memset(hello, 0, sizeof(*hello));
	memcpy(hello->token, to->token, MEM_TOKEN);
	hello->session = session;
	hello->op = op;
}

int mem_put(const struct mem_server *to, uint64_t session, const struct mem_head *head,
	    int file)
{
	struct hello hello;
	int32_t answer = 0;
	int fd, rc = connect_to(to, &fd), heard;

	if (rc)
		return rc;
	greet(&hello, to, session, OP_PUT);
	hello.head = *head;
	rc = put_all(fd, &hello, sizeof(hello));
	if (!rc)
		rc = put_file(fd, file, head->len);
	/* It may have said why it does not read on. */
	heard = get_all(fd, &answer, sizeof(answer));
	close(fd);
	return !heard ? answer : rc ? rc : heard;
}

int mem_get(const struct mem_server *from, uint64_t session, uint64_t tag,
	    const struct mem_id *id, void **ret_data, uint64_t *ret_len)
{
	struct mem_head head;
	struct hello hello;
	int32_t answer = 0;
	char *data = NULL;
	int fd, rc = connect_to(from, &fd);

	if (rc)
		return rc;
	greet(&hello, from, session, OP_GET);
	hello.head.id = *id;
	rc = put_all(fd, &hello, sizeof(hello));
	if (!rc)
		rc = get_all(fd, &answer, sizeof(answer));
	if (!rc)
		rc = answer;
	if (!rc)
		rc = get_all(fd, &head, sizeof(head));
	if (!rc && (!mem_head_is_right(&head, tag) || head.id.rank != id->rank ||
		    head.id.iteration != id->iteration))
		rc = -EBADMSG;
	if (!rc) {
		data = malloc(head.len ? head.len : 1);
		rc = data ? get_all(fd, data, head.len) : -ENOMEM;
	}
	close(fd);
	if (!rc && mem_sum(tag, data, head.len) != head.sum)
		rc = -EBADMSG;
	if (rc) {
		free(data);
		return rc > 0 ? -EPROTO : rc;
	}
	*ret_data = data;
	*ret_len = head.len;
	return 0;
}
