/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemnet.c - shards between nodes: bytes, and the client's end. snmemserve.c has the
 * server's.
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snmem_internal.h"

#define PATIENCE_S 30
#define TRIES 20 /* where strangers crowd the server, or it has too many peers */
#define TRY_MS 10 /* the first pause; then ever longer ones */

const char mem_magic[8] = "SNMEMNT1";

/* ---- bytes ----------------------------------------------------------------------------- */

int mem_put_all(int fd, const void *data, size_t len)
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

int mem_get_all(int fd, void *data, size_t len)
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

int mem_put_file(int to, int fd, size_t len)
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

void mem_be_patient(int fd)
{
	const struct timeval tv = { .tv_sec = PATIENCE_S };
	const int yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
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
		mem_be_patient(fd);
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

const char *mem_why(int rc)
{
	switch (rc) {
	case -EKEYREJECTED:
		return "whoever has its port is not the job's";
	case -EBUSY:
		return "it has too many peers at once";
	case -ENOSYS:
		return "libsnmem was built without libgcrypt";
	default:
		return strerror(-rc);
	}
}

/* Who answers proves that he is the one, before he is sent anything. */
static int shake(int fd, const struct mem_server *to, struct mem_hello *hello,
		 struct mem_auth *auth, struct mem_welcome *ret)
{
	struct mem_greeting greeting;
	int rc = mem_get_all(fd, &greeting, sizeof(greeting));

	if (!rc && memcmp(greeting.magic, mem_magic, sizeof(mem_magic)))
		rc = -EPROTO;
	if (rc)
		return rc;
	memcpy(auth->token, to->token, sizeof(auth->token));
	memcpy(auth->server, greeting.nonce, MEM_NONCE);
	rc = mem_nonce(auth->client);
	if (rc)
		return rc;
	memcpy(hello->nonce, auth->client, MEM_NONCE);
	rc = mem_sign(auth, MEM_HELLO, hello, offsetof(struct mem_hello, mac), hello->mac);
	if (!rc)
		rc = mem_put_all(fd, hello, sizeof(*hello));
	if (!rc)
		rc = mem_get_all(fd, ret, sizeof(*ret));
	if (!rc)
		rc = mem_check(auth, MEM_WELCOME, ret, offsetof(struct mem_welcome, mac), ret->mac);
	return !rc ? ret->answer : rc;
}

/* On success *ret_fd is yours to close. */
static int meet(const struct mem_server *to, struct mem_hello *hello, struct mem_auth *auth,
		struct mem_welcome *ret, int *ret_fd)
{
	long ms = TRY_MS;
	int fd = -1, rc;

	for (int i = 1;; i++, ms += TRY_MS) {
		rc = connect_to(to, &fd);
		if (rc)
			return rc;
		rc = shake(fd, to, hello, auth, ret);
		if (!rc) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
		if (i == TRIES || (rc != -EBUSY && rc != -EPIPE && rc != -ECONNRESET))
			return rc > 0 ? -EPROTO : rc;
		nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
	}
}

static void ask_for(struct mem_hello *hello, uint64_t session, enum mem_op op)
{
	memset(hello, 0, sizeof(*hello));
	hello->session = session;
	hello->op = op;
}

int mem_put(const struct mem_server *to, uint64_t session, const struct mem_head *head,
	    int file)
{
	struct mem_receipt receipt = { 0 };
	struct mem_welcome w;
	struct mem_hello hello;
	struct mem_auth auth;
	int fd = -1, rc, heard;

	ask_for(&hello, session, MEM_PUT);
	hello.head = *head;
	rc = meet(to, &hello, &auth, &w, &fd);
	if (rc)
		return rc;
	rc = mem_put_file(fd, file, head->len);
	/* It may have said why it does not read on. */
	heard = mem_get_all(fd, &receipt, sizeof(receipt));
	if (!heard)
		heard = mem_check(&auth, MEM_RECEIPT, &receipt, offsetof(struct mem_receipt, mac),
				  receipt.mac);
	close(fd);
	return !heard ? receipt.answer : rc ? rc : heard;
}

int mem_get(const struct mem_server *from, uint64_t session, uint64_t tag,
	    const struct mem_id *id, void **ret_data, uint64_t *ret_len)
{
	struct mem_welcome w;
	struct mem_hello hello;
	struct mem_auth auth;
	char *data = NULL;
	int fd = -1, rc;

	ask_for(&hello, session, MEM_GET);
	hello.head.id = *id;
	rc = meet(from, &hello, &auth, &w, &fd);
	if (rc)
		return rc;
	if (!mem_head_is_right(&w.head, tag) || w.head.id.rank != id->rank ||
	    w.head.id.iteration != id->iteration)
		rc = -EBADMSG;
	if (!rc) {
		data = malloc(w.head.len ? w.head.len : 1);
		rc = data ? mem_get_all(fd, data, w.head.len) : -ENOMEM;
	}
	close(fd);
	if (!rc && mem_sum(tag, data, w.head.len) != w.head.sum)
		rc = -EBADMSG;
	if (rc) {
		free(data);
		return rc;
	}
	*ret_data = data;
	*ret_len = w.head.len;
	return 0;
}
