/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serverlisten.c - what snelasticd listens on.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "elastic/listen.h"
#include "elastic/server_internal.h"

static int add_listener(struct sn_server *s, int fd, const char *path, struct sn_err *err)
{
	int rc = s->n_listeners == LISTENERS_MAX ?
		sn_err_set(err, -ENOSPC, "too many sockets") :
		sn_loop_watch(s->loop, fd, EPOLLIN, server_on_listener, s,
			      &s->listener[s->n_listeners].watch, err);

	if (rc) {
		close(fd);
		return rc;
	}
	s->listener[s->n_listeners].fd = fd;
	s->listener[s->n_listeners++].path = path ? strdup(path) : NULL;
	return 0;
}

int sn_server_listen_tcp(struct sn_server *server, uint32_t port, struct sn_err *err)
{
	int fd, rc = sn_listen_tcp(port, &fd, &server->port, err);

	return rc ? rc : add_listener(server, fd, NULL, err);
}

int sn_server_listen_unix(struct sn_server *server, const char *path, struct sn_err *err)
{
	int fd, rc = sn_listen_unix(path, &fd, err);

	return rc ? rc : add_listener(server, fd, path, err);
}

uint32_t sn_server_port(const struct sn_server *server)
{
	return server->port;
}

void sn_server_close(struct sn_server *server)
{
	for (uint32_t i = 0; i < server->n_listeners; i++) {
		sn_watch_end(server->listener[i].watch);
		close(server->listener[i].fd);
		if (server->listener[i].path)
			unlink(server->listener[i].path);
		free(server->listener[i].path);
	}
	server->n_listeners = 0;
}
