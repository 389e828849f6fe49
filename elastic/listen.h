/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.h - sockets to listen on.
 */
#ifndef SN_ELASTIC_LISTEN_H
#define SN_ELASTIC_LISTEN_H

#include <stdint.h>
#include <sys/socket.h>

#include "elastic/server.h"
#include "topology/err.h"

/* On all addresses, IPv6 too where there is any. -EADDRINUSE. */
int sn_listen_tcp(uint32_t port, int *ret_fd, uint32_t *ret_port, struct sn_err *err);
/* For every user. A socket that nobody listens on makes room. */
int sn_listen_unix(const char *path, int *ret_fd, struct sn_err *err);

/* Who is at the other end of an accepted connection. */
void sn_listen_peer(int fd, const struct sockaddr_storage *addr, struct sn_peer *ret);

#endif
