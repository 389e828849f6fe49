/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.c - ask snelasticd.
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "elastic/client.h"
#include "elastic/cred.h"
#include "elastic/frame.h"
#include "elastic/ops.h"
#include "snctl/jsonread.h"
#include "topology/text.h"

#define REQUEST_TTL 60 /* s */
#define ANSWER_MAX (256u << 20)

struct sn_elastic_conn {
	int fd;
	int64_t end; /* ms, monotonic; 0: no limit */
	const struct sn_elastic_where *where;
	struct sn_elastic_where own; /* *where points here once it is handed out */
	char with[SN_ELASTIC_HOST_MAX + SN_POLICY_TEXT_MAX]; /* for sentences */
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int wait_for(const struct sn_elastic_conn *c, short what, struct sn_err *err)
{
	struct pollfd pfd = { c->fd, what, 0 };

	for (;;) {
		int64_t left = c->end ? c->end - now_ms() : -1;
		int n;

		if (c->end && left <= 0)
			return sn_err_set(err, -ETIMEDOUT,
					  "snelasticd at %s did not answer in time", c->with);
		n = poll(&pfd, 1, c->end ? (int)left : -1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return sn_err_set(err, -errno, "poll: %s", strerror(errno));
	}
}

/* ---- connecting --------------------------------------------------------------------- */

static int finish_connect(struct sn_elastic_conn *c, const struct sockaddr *addr,
			  socklen_t len, struct sn_err *err)
{
	int code = 0, rc;
	socklen_t size = sizeof(code);

	if (c->fd < 0)
		return sn_err_set(err, -errno, "no socket: %s", strerror(errno));
	if (connect(c->fd, addr, len)) {
		code = errno;
		if (code == EINPROGRESS || code == EAGAIN) {
			rc = wait_for(c, POLLOUT, err);
			if (rc)
				return rc;
			if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &size))
				code = errno;
		}
	}
	return code ? sn_err_set(err, -EHOSTUNREACH, "%s: %s", c->with, strerror(code)) : 0;
}

static void hang_up(struct sn_elastic_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static int connect_unix(struct sn_elastic_conn *c, struct sn_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(c->with, sizeof(c->with), "%s", c->where->socket);
	if (strlen(c->where->socket) >= sizeof(addr.sun_path))
		return sn_err_set(err, -EHOSTUNREACH, "%s: the path is too long", c->with);
	strcpy(addr.sun_path, c->where->socket);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return finish_connect(c, (struct sockaddr *)&addr, sizeof(addr), err);
}

static int connect_host(struct sn_elastic_conn *c, const struct sn_elastic_host *host,
			struct sn_err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all, *ai;
	char port[16];
	int rc = -EHOSTUNREACH;

	snprintf(port, sizeof(port), "%u", c->where->port);
	snprintf(c->with, sizeof(c->with), "%s:%s", host->address, port);
	rc = getaddrinfo(host->address, port, &hints, &all);
	if (rc)
		return sn_err_set(err, -EHOSTUNREACH, "%s: %s", c->with, gai_strerror(rc));
	rc = sn_err_set(err, -EHOSTUNREACH, "%s: no address", c->with);
	for (ai = all; ai && rc; ai = ai->ai_next) {
		c->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		rc = finish_connect(c, ai->ai_addr, ai->ai_addrlen, err);
		if (rc)
			hang_up(c);
		else
			sn_frame_keepalive(c->fd);
	}
	freeaddrinfo(all);
	return rc;
}

/* ---- messages ------------------------------------------------------------------------ */

static int send_all(struct sn_elastic_conn *c, const void *data, size_t len,
		    struct sn_err *err)
{
	const char *p = data;
	int rc;

	while (len) {
		ssize_t n = send(c->fd, p, len, MSG_NOSIGNAL);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return sn_err_set(err, -ECONNRESET, "snelasticd at %s: %s",
					  c->with, strerror(errno));
		rc = wait_for(c, POLLOUT, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Who alone may open the request. While the daemon is down anybody can listen at its
 * port, so that what is root's must not be of use to him: it says which host it is
 * for, and not for long. */
static int find_reader(const struct sn_elastic_conn *c, bool local, uint32_t *ret,
		       struct sn_err *err)
{
	struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t len = sizeof(peer);

	*ret = c->where->slurm_uid ? SN_CRED_ANYONE : 0;
	if (!local || getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return 0;
	if (peer.uid && peer.uid != c->where->slurm_uid)
		return sn_err_set(err, -EACCES,
				  "what listens at %s runs as user %u, and snelasticd is SlurmUser's (%s) or root's",
				  c->with, peer.uid, c->where->slurm_user);
	*ret = peer.uid;
	return 0;
}

static int send_request(struct sn_elastic_conn *c, const char *to, struct json_object *request,
			struct sn_err *err)
{
	const char *text;
	uint32_t reader;
	unsigned char head[SN_FRAME_HEAD];
	char *cred;
	size_t len;
	int rc;

	rc = find_reader(c, !to, &reader, err);
	if (rc)
		return rc;
	json_object_object_del(request, "to");
	if (to)
		json_object_object_add(request, "to", json_object_new_string(to));
	text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
	if (!text)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = sn_cred_encode(c->where->munge_socket, reader, REQUEST_TTL, text, strlen(text),
			    &cred, err);
	json_object_object_del(request, "to");
	if (rc)
		return rc;
	len = strlen(cred);
	if (len > SN_FRAME_REQUEST_MAX) {
		rc = sn_err_set(err, -EMSGSIZE,
				"the request is too large: %zu bytes of %u; send it in parts",
				len, SN_FRAME_REQUEST_MAX);
	} else {
		sn_frame_head(head, len);
		rc = send_all(c, head, sizeof(head), err);
		if (!rc)
			rc = send_all(c, cred, len, err);
	}
	free(cred);
	return rc;
}

static int read_frame(struct sn_elastic_conn *c, struct sn_frame *frame,
		      struct sn_err *err)
{
	char data[16384];
	bool whole = false;
	size_t used, want;
	ssize_t n;
	int rc = 0;

	while (!rc && !whole) {
		/* Not into the next frame. */
		want = frame->have < SN_FRAME_HEAD ? SN_FRAME_HEAD - frame->have :
			frame->need + SN_FRAME_HEAD - frame->have;
		n = recv(c->fd, data, want < sizeof(data) ? want : sizeof(data), 0);
		if (n > 0)
			rc = sn_frame_feed(frame, data, (size_t)n, &used, &whole, err);
		else if (!n)
			rc = sn_err_set(err, -ECONNRESET, "snelasticd at %s has hung up", c->with);
		else if (errno == EAGAIN || errno == EINTR)
			rc = wait_for(c, POLLIN, err);
		else
			rc = sn_err_set(err, -ECONNRESET, "snelasticd at %s: %s", c->with,
					strerror(errno));
	}
	return rc;
}

static int read_chunk(struct sn_elastic_conn *c, struct sn_buf *buf, bool *ret_more,
		      struct sn_err *err)
{
	struct sn_frame frame;
	struct sn_cred who;
	char *text = NULL;
	size_t len = 0;
	int rc;

	sn_frame_init(&frame, SN_FRAME_ANSWER_MAX);
	rc = read_frame(c, &frame, err);
	if (!rc)
		rc = sn_cred_decode(c->where->munge_socket, frame.body, &text, &len, &who, err);
	if (!rc && who.uid && who.uid != c->where->slurm_uid)
		rc = sn_err_set(err, -EACCES,
				"what answers at %s runs as user %u, and snelasticd is SlurmUser's (%s) or root's",
				c->with, who.uid, c->where->slurm_user);
	if (!rc && (!len || (text[0] != '+' && text[0] != '.') ||
		    memchr(text, '\0', len) || buf->len + len > ANSWER_MAX))
		rc = sn_err_set(err, -EPROTO, "what answers at %s speaks no known protocol",
				c->with);
	if (!rc) {
		*ret_more = text[0] == '+';
		sn_buf_add(buf, "%s", text + 1);
		if (buf->failed)
			rc = sn_err_set(err, -ENOMEM, "no memory");
	}
	free(text);
	sn_frame_done(&frame);
	return rc;
}

static const char *string_of(struct json_object *o, const char *key)
{
	struct json_object *v = json_object_object_get(o, key);

	return v && json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static int code_of(struct json_object *answer)
{
	static const struct {
		const char *word;
		int code;
	} codes[] = {
		{ SN_OP_CODE_REFUSED, -EPERM },
		{ SN_OP_CODE_NOT_FOUND, -ENOENT },
		{ SN_OP_CODE_AGAIN, -EAGAIN },
		{ SN_OP_CODE_STANDBY, -EHOSTUNREACH },
	};
	const char *word = string_of(answer, "code");

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (!strcmp(word, codes[i].word))
			return codes[i].code;
	return -EINVAL;
}

static int read_answer(struct sn_elastic_conn *c, struct json_object **ret,
		       struct sn_err *err)
{
	struct sn_buf buf = { 0 };
	bool more = true;
	int rc = 0;

	*ret = NULL;
	while (!rc && more)
		rc = read_chunk(c, &buf, &more, err);
	if (!rc)
		rc = snctl_json_parse(buf.text, buf.len, "snelasticd's answer", ret, err);
	free(buf.text);
	if (rc)
		return rc;
	if (json_object_get_boolean(json_object_object_get(*ret, "ok")))
		return 0;
	rc = sn_err_set(err, code_of(*ret), "%s", string_of(*ret, "error"));
	json_object_put(*ret);
	*ret = NULL;
	return rc;
}

/* ---- the whole ------------------------------------------------------------------------ */

static int try_one(struct sn_elastic_conn *c, const struct sn_elastic_host *host,
		   struct json_object *request, struct json_object **ret,
		   struct sn_err *err)
{
	int rc = host ? connect_host(c, host, err) : connect_unix(c, err);

	if (!rc)
		rc = send_request(c, host ? host->name : NULL, request, err);
	/* A daemon that refuses a connection at once closes it under our hands; what
	 * it said before is still to be read. */
	if (!rc || rc == -ECONNRESET)
		rc = read_answer(c, ret, err);
	if (rc)
		hang_up(c);
	return rc;
}

static bool is_elsewhere(int rc)
{
	return rc == -EHOSTUNREACH || rc == -ECONNRESET;
}

static int ask(struct sn_elastic_conn *c, struct json_object *request,
	       struct json_object **ret, struct sn_err *err)
{
	struct sn_err why;
	char said[256] = "";
	size_t n = 0;
	int rc = -EHOSTUNREACH;

	*ret = NULL;
	for (uint32_t i = 0; i <= c->where->n_hosts && is_elsewhere(rc); i++) {
		if (!i && !*c->where->socket)
			continue;
		rc = try_one(c, i ? &c->where->host[i - 1] : NULL, request, ret, &why);
		/* The socket of another host does not count as an answer. */
		if (is_elsewhere(rc) && (i || !c->where->n_hosts) && n < sizeof(said))
			n += (size_t)snprintf(said + n, sizeof(said) - n, "%s%.100s",
					      n ? "; " : "", why.text);
	}
	if (is_elsewhere(rc))
		return sn_err_set(err, rc, "no snelasticd answers: %s", said);
	if (rc && err)
		*err = why;
	return rc;
}

int sn_elastic_ask(const struct sn_elastic_where *where,
		   struct json_object *request, uint32_t timeout_ms,
		   struct json_object **ret, struct sn_err *err)
{
	struct sn_elastic_conn c = { .fd = -1, .where = where };
	int rc;

	c.end = timeout_ms ? now_ms() + timeout_ms : 0;
	rc = ask(&c, request, ret, err);
	hang_up(&c);
	return rc;
}

int sn_elastic_open(const struct sn_elastic_where *where,
		    struct json_object *request, uint32_t timeout_ms,
		    struct sn_elastic_conn **ret, struct json_object **ret_first,
		    struct sn_err *err)
{
	struct sn_elastic_conn *c = calloc(1, sizeof(*c));
	int rc;

	*ret = NULL;
	if (!c)
		return sn_err_set(err, -ENOMEM, "no memory");
	c->fd = -1;
	c->own = *where;
	c->where = &c->own;
	c->end = timeout_ms ? now_ms() + timeout_ms : 0;
	rc = ask(c, request, ret_first, err);
	if (rc)
		free(c);
	else
		*ret = c;
	return rc;
}

int sn_elastic_next(struct sn_elastic_conn *conn, uint32_t timeout_ms,
		    struct json_object **ret, struct sn_err *err)
{
	conn->end = timeout_ms ? now_ms() + timeout_ms : 0;
	return read_answer(conn, ret, err);
}

int sn_elastic_fd(const struct sn_elastic_conn *conn)
{
	return conn->fd;
}

void sn_elastic_close(struct sn_elastic_conn *conn)
{
	if (!conn)
		return;
	hang_up(conn);
	free(conn);
}
