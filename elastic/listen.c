/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.c - sockets to listen on.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "elastic/listen.h"

#define BACKLOG 256

static int give_up(int fd, struct sn_err *err, const char *fmt, const char *arg)
{
	int code = errno;

	if (fd >= 0)
		close(fd);
	return sn_err_set(err, -code, "%s%s: %s", fmt, arg, strerror(code));
}

static int try_tcp(const struct sockaddr *addr, socklen_t len, int *ret_fd)
{
	int on = 1, off = 0, code;
	int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (addr->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, addr, len) && !listen(fd, BACKLOG)) {
		*ret_fd = fd;
		return 0;
	}
	code = errno;
	close(fd);
	return -code;
}

int sn_listen_tcp(uint32_t port, int *ret_fd, uint32_t *ret_port, struct sn_err *err)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_storage is;
	socklen_t len = sizeof(is);
	int rc = try_tcp((struct sockaddr *)&in6, sizeof(in6), ret_fd);

	if (rc && rc != -EADDRINUSE)
		rc = try_tcp((struct sockaddr *)&in, sizeof(in), ret_fd);
	if (rc)
		return sn_err_set(err, rc, "TCP port %u: %s", port, strerror(-rc));
	if (getsockname(*ret_fd, (struct sockaddr *)&is, &len))
		return give_up(*ret_fd, err, "TCP port", "");
	/* The port is at the same place in both. */
	*ret_port = ntohs(((struct sockaddr_in *)&is)->sin_port);
	return 0;
}

static int make_room(const struct sockaddr_un *addr, struct sn_err *err)
{
	struct stat st;
	int fd, rc;

	if (lstat(addr->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return sn_err_set(err, -EEXIST, "ElasticdSocket=%s: there is something that is no socket",
				  addr->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = fd < 0 ? -errno : connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (!rc || rc == -EAGAIN || rc == -EINPROGRESS)
		return sn_err_set(err, -EADDRINUSE, "ElasticdSocket=%s: another daemon listens there",
				  addr->sun_path);
	return unlink(addr->sun_path) && errno != ENOENT ?
		give_up(-1, err, "ElasticdSocket=", addr->sun_path) : 0;
}

int sn_listen_unix(const char *path, int *ret_fd, struct sn_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, rc;

	if (strlen(path) >= sizeof(addr.sun_path))
		return sn_err_set(err, -ENAMETOOLONG,
				  "ElasticdSocket=%.40s...: the path has %zu characters, of %zu that a socket can have",
				  path, strlen(path), sizeof(addr.sun_path) - 1);
	strcpy(addr.sun_path, path);
	rc = make_room(&addr, err);
	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(path, 0666) || listen(fd, BACKLOG))
		return give_up(fd, err, "ElasticdSocket=", path);
	*ret_fd = fd;
	return 0;
}

void sn_listen_peer(int fd, const struct sockaddr_storage *addr, struct sn_peer *ret)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	struct ucred cred = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t len = sizeof(cred);

	memset(ret, 0, sizeof(*ret));
	ret->uid = UINT32_MAX;
	if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&ret->addr, &in6->sin6_addr.s6_addr[12], 4);
		inet_ntop(AF_INET, &ret->addr, ret->text, sizeof(ret->text));
	} else if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, ret->text, sizeof(ret->text));
		if (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr))
			ret->addr = htonl(INADDR_LOOPBACK);
	} else if (addr->ss_family == AF_INET) {
		ret->addr = in->sin_addr.s_addr;
		inet_ntop(AF_INET, &ret->addr, ret->text, sizeof(ret->text));
	} else {
		ret->unix_socket = true;
		if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
			ret->uid = cred.uid;
		strcpy(ret->text, "this host");
	}
}
