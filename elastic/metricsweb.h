/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metricsweb.h - GET /metrics, by libmicrohttpd in a thread of its own.
 *
 * The loop makes the text, when somebody asks and the last one is older than
 * SN_WEB_FRESH_MS; so it makes two a second at most, however many ask, and nothing of
 * a client's is read, waited for or written by it. A loop that is held up costs a
 * client SN_WEB_WAIT_MS, and then it gets the text before.
 *
 * Anybody who can connect may ask: there is no authentication, so what is told has
 * nothing that squeue and sinfo do not. A request is at most SN_WEB_MEMORY bytes and
 * must be whole, and its answer taken, within SN_WEB_LIFE_MS; where more than
 * SN_WEB_OPEN are open the oldest that has not asked goes.
 */
#ifndef SN_ELASTIC_METRICSWEB_H
#define SN_ELASTIC_METRICSWEB_H

#include <stddef.h>
#include <stdint.h>

#include "elastic/loop.h"
#include "topology/err.h"

#define SN_WEB_OPEN 64
#define SN_WEB_MOST 256 /* the next waits in the kernel */
#define SN_WEB_MEMORY 16384
#ifndef SN_WEB_LIFE_MS /* tests do not wait so long */
#define SN_WEB_LIFE_MS 10000
#define SN_WEB_WAIT_MS 2000
#endif
#define SN_WEB_FRESH_MS 500

struct sn_web;

/* The text, as malloc() gives it; NULL: no memory. Called by the loop. */
typedef char *(*sn_web_make)(void *ctx, size_t *ret_len);

/* address: a number of IPv4 or IPv6; "": all. port 0: any, see below. -EADDRINUSE;
 * -ENOTSUP: built without libmicrohttpd. */
int sn_web_create(struct sn_loop *loop, const char *address, uint32_t port,
		  const char *content_type, sn_web_make make, void *ctx,
		  struct sn_web **ret, struct sn_err *err);
void sn_web_destroy(struct sn_web *web); /* NULL is fine */
uint32_t sn_web_port(const struct sn_web *web);
/* How many answers were given, and connections ended before they had asked. */
void sn_web_counts(struct sn_web *web, uint64_t *ret_answers, uint64_t *ret_ended);

#endif
