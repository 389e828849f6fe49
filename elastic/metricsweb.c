/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metricsweb.c - GET /metrics, by libmicrohttpd in a thread of its own.
 */
#include "config.h"

#include <errno.h>

#include "elastic/metricsweb.h"

#ifndef HAVE_MICROHTTPD

int sn_web_create(struct sn_loop *loop, const char *address, uint32_t port,
		  const char *content_type, sn_web_make make, void *ctx,
		  struct sn_web **ret, struct sn_err *err)
{
	(void)loop;
	(void)address;
	(void)content_type;
	(void)make;
	(void)ctx;
	*ret = NULL;
	return sn_err_set(err, -ENOTSUP,
			  "MetricsPort=%u: this snelasticd was built without libmicrohttpd",
			  port);
}

void sn_web_destroy(struct sn_web *web)
{
	(void)web;
}

uint32_t sn_web_port(const struct sn_web *web)
{
	(void)web;
	return 0;
}

void sn_web_counts(struct sn_web *web, uint64_t *ret_answers, uint64_t *ret_ended)
{
	(void)web;
	*ret_answers = *ret_ended = 0;
}

#else

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATH "/metrics"
#define SWEEP_MS (SN_WEB_LIFE_MS / 5)
#define BACKLOG 1024

struct connection {
	int fd;
	int64_t since; /* ms */
	bool asked; /* its request has come whole */
	bool ended; /* by us */
	struct connection *next;
};

struct sn_web {
	struct sn_loop *loop;
	struct sn_watch *watch; /* of wanted */
	struct sn_timer *sweep;
	struct MHD_Daemon *http;
	uint32_t port;
	int wanted; /* an eventfd: somebody waits for a text */
	sn_web_make make;
	void *ctx;
	char type[80];
	pthread_mutex_t lock;
	pthread_cond_t made;
	/* Below: the lock's. */
	struct MHD_Response *text; /* NULL: none yet */
	int64_t made_at; /* ms */
	bool ending;
	struct connection *connection; /* the latest first */
	uint32_t n_open, n_asked;
	uint64_t answers, cut;
};

/* ---- the loop's side ---- */

static void end_connection(struct sn_web *web, struct connection *c)
{
	if (c->ended)
		return;
	/* libmicrohttpd sees its end, and closes it. */
	c->ended = true;
	web->cut += !c->asked;
	shutdown(c->fd, SHUT_RDWR);
}

static void on_sweep(void *ctx)
{
	struct sn_web *web = ctx;
	int64_t now = sn_loop_now();

	pthread_mutex_lock(&web->lock);
	for (struct connection *c = web->connection; c; c = c->next)
		if (now - c->since >= SN_WEB_LIFE_MS)
			end_connection(web, c);
	pthread_mutex_unlock(&web->lock);
	sn_timer_set(web->sweep, SWEEP_MS);
}

static void on_wanted(void *ctx, uint32_t events)
{
	struct MHD_Response *fresh = NULL, *old = NULL;
	struct sn_web *web = ctx;
	uint64_t count;
	bool good;
	size_t len;
	char *text;

	(void)events;
	if (read(web->wanted, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&web->lock);
	good = web->text && sn_loop_now() - web->made_at < SN_WEB_FRESH_MS;
	pthread_mutex_unlock(&web->lock);
	if (!good) {
		text = web->make(web->ctx, &len);
		if (text)
			fresh = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
		if (text && !fresh)
			free(text);
	}
	if (fresh) {
		MHD_add_response_header(fresh, MHD_HTTP_HEADER_CONTENT_TYPE, web->type);
		MHD_add_response_header(fresh, MHD_HTTP_HEADER_CONNECTION, "close");
	}
	pthread_mutex_lock(&web->lock);
	if (fresh) {
		old = web->text;
		web->text = fresh;
		web->made_at = sn_loop_now();
	}
	pthread_cond_broadcast(&web->made);
	pthread_mutex_unlock(&web->lock);
	if (old)
		MHD_destroy_response(old); /* when the last has got it */
}

/* ---- libmicrohttpd's thread ---- */

static struct timespec in_ms(int64_t ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += ms % 1000 * 1000000;
	ts.tv_sec += ms / 1000 + ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

static enum MHD_Result say(struct MHD_Connection *conn, unsigned int status, const char *text,
			   const char *name, const char *value)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text),
		(void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (name)
		MHD_add_response_header(r, name, value);
	rc = MHD_queue_response(conn, status, r);
	MHD_destroy_response(r);
	return rc;
}

static bool is_fresh(const struct sn_web *web)
{
	return web->text && sn_loop_now() - web->made_at < SN_WEB_FRESH_MS;
}

static enum MHD_Result give_text(struct sn_web *web, struct MHD_Connection *conn)
{
	struct timespec until = in_ms(SN_WEB_WAIT_MS);
	enum MHD_Result rc = MHD_NO;
	uint64_t one = 1;

	pthread_mutex_lock(&web->lock);
	if (!is_fresh(web) && write(web->wanted, &one, sizeof(one)) == sizeof(one))
		while (!is_fresh(web) && !web->ending &&
		       !pthread_cond_timedwait(&web->made, &web->lock, &until))
			;
	if (web->text) {
		rc = MHD_queue_response(conn, MHD_HTTP_OK, web->text);
		web->answers++;
	}
	pthread_mutex_unlock(&web->lock);
	return rc == MHD_YES ? rc :
		say(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "the daemon is busy\n",
		    MHD_HTTP_HEADER_RETRY_AFTER, "5");
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *conn, const char *url,
				  const char *method, const char *version,
				  const char *data, size_t *size, void **ret)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn,
		MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct sn_web *web = cls;

	(void)version;
	(void)data;
	(void)size;
	(void)ret;
	/* It is answered at its head: of a body nothing is read. */
	if (info && info->socket_context) {
		struct connection *c = info->socket_context;

		pthread_mutex_lock(&web->lock);
		web->n_asked += !c->asked;
		c->asked = true;
		pthread_mutex_unlock(&web->lock);
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return say(conn, MHD_HTTP_METHOD_NOT_ALLOWED, "GET " PATH "\n",
			   MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (strcmp(url, PATH))
		return say(conn, MHD_HTTP_NOT_FOUND, "snelasticd's metrics are at " PATH "\n",
			   NULL, NULL);
	return give_text(web, conn);
}

/* Too many that say nothing must not keep out one that does. */
static void make_room(struct sn_web *web)
{
	struct connection *oldest = NULL;

	if (web->n_open - web->n_asked <= SN_WEB_OPEN)
		return;
	for (struct connection *c = web->connection; c; c = c->next)
		if (!c->asked && !c->ended)
			oldest = c;
	if (oldest)
		end_connection(web, oldest);
}

static void on_connection(void *cls, struct MHD_Connection *conn, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct sn_web *web = cls;
	struct connection *c = *context;

	pthread_mutex_lock(&web->lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn,
			MHD_CONNECTION_INFO_CONNECTION_FD);

		/* Without memory it has libmicrohttpd's own limits. */
		c = info ? calloc(1, sizeof(*c)) : NULL;
		if (c) {
			c->fd = info->connect_fd;
			c->since = sn_loop_now();
			c->next = web->connection;
			web->connection = c;
			web->n_open++;
			make_room(web);
		}
		*context = c;
	} else if (c) {
		struct connection **at = &web->connection;

		while (*at != c)
			at = &(*at)->next;
		*at = c->next;
		web->n_open--;
		web->n_asked -= c->asked;
		free(c);
		*context = NULL;
	}
	pthread_mutex_unlock(&web->lock);
}

/* ---- start and end ---- */

static int open_socket(const char *address, uint32_t port, int *ret_fd, struct sn_err *err)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	int fd = -1, on = 1, rc;
	struct addrinfo *ai;
	char text[12];

	snprintf(text, sizeof(text), "%u", port);
	rc = getaddrinfo(*address ? address : NULL, text, &hints, &ai);
	if (rc)
		return sn_err_set(err, -EINVAL,
				  "MetricsAddress=%.80s is no numeric address of this host, such as 127.0.0.1 or 0.0.0.0: %s",
				  address, gai_strerror(rc));
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	rc = fd < 0 || bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, BACKLOG) ?
		-errno : 0;
	freeaddrinfo(ai);
	if (rc) {
		if (fd >= 0)
			close(fd);
		return sn_err_set(err, rc, "MetricsAddress=%.80s MetricsPort=%u: %s", address,
				  port, strerror(-rc));
	}
	*ret_fd = fd;
	return 0;
}

static uint32_t port_of(int fd)
{
	struct sockaddr_storage is;
	socklen_t len = sizeof(is);

	memset(&is, 0, sizeof(is));
	if (getsockname(fd, (struct sockaddr *)&is, &len))
		return 0;
	/* At the same place in both. */
	return ntohs(((struct sockaddr_in *)&is)->sin_port);
}

static int start_http(struct sn_web *web, int fd, struct sn_err *err)
{
	web->http = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0,
		NULL, NULL, on_request, web,
		MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)SN_WEB_MOST,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)((SN_WEB_LIFE_MS + 999) / 1000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SN_WEB_MEMORY,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, web,
		MHD_OPTION_END);
	return web->http ? 0 : sn_err_set(err, -EIO, "libmicrohttpd does not start");
}

int sn_web_create(struct sn_loop *loop, const char *address, uint32_t port,
		  const char *content_type, sn_web_make make, void *ctx,
		  struct sn_web **ret, struct sn_err *err)
{
	struct sn_web *web = calloc(1, sizeof(*web));
	pthread_condattr_t attr;
	int fd = -1, rc;

	*ret = NULL;
	if (!web)
		return sn_err_set(err, -ENOMEM, "no memory");
	web->loop = loop;
	web->make = make;
	web->ctx = ctx;
	snprintf(web->type, sizeof(web->type), "%s", content_type);
	pthread_mutex_init(&web->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&web->made, &attr);
	pthread_condattr_destroy(&attr);
	web->wanted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = web->wanted < 0 ? sn_err_set(err, -errno, "eventfd: %s", strerror(errno)) : 0;
	if (!rc)
		rc = open_socket(address, port, &fd, err);
	if (!rc)
		rc = sn_loop_watch(loop, web->wanted, EPOLLIN, on_wanted, web, &web->watch, err);
	if (!rc)
		rc = sn_loop_timer(loop, on_sweep, web, &web->sweep, err);
	if (!rc)
		rc = start_http(web, fd, err);
	if (rc) {
		if (fd >= 0)
			close(fd);
		sn_web_destroy(web);
		return rc;
	}
	web->port = port_of(fd);
	sn_timer_set(web->sweep, SWEEP_MS);
	*ret = web;
	return 0;
}

void sn_web_destroy(struct sn_web *web)
{
	if (!web)
		return;
	pthread_mutex_lock(&web->lock);
	web->ending = true;
	pthread_cond_broadcast(&web->made);
	pthread_mutex_unlock(&web->lock);
	if (web->http)
		MHD_stop_daemon(web->http); /* it closes all, the socket too */
	sn_watch_end(web->watch);
	sn_timer_end(web->sweep);
	if (web->wanted >= 0)
		close(web->wanted);
	if (web->text)
		MHD_destroy_response(web->text);
	pthread_mutex_destroy(&web->lock);
	pthread_cond_destroy(&web->made);
	free(web);
}

uint32_t sn_web_port(const struct sn_web *web)
{
	return web->port;
}

void sn_web_counts(struct sn_web *web, uint64_t *ret_answers, uint64_t *ret_ended)
{
	pthread_mutex_lock(&web->lock);
	*ret_answers = web->answers;
	*ret_ended = web->cut;
	pthread_mutex_unlock(&web->lock);
}

#endif
