/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h - ask snelasticd.
 *
 * One request is one JSON object {"op": "health.report", …}, one answer
 * {"ok": true, …} or {"ok": false, "error": "sentence"}. Who asks is proved by
 * munge, never by what the request says. The calls block, up to a time limit.
 *
 *	struct sn_elastic_where where;
 *	rc = sn_elastic_find(NULL, &policy, &where, &err);
 *	rc = sn_elastic_ask(&where, request, 5000, &answer, &err);
 *
 * The operations, and what their requests and answers hold, are in elastic/ops.h.
 */
#ifndef SN_ELASTIC_CLIENT_H
#define SN_ELASTIC_CLIENT_H

#include <stdint.h>

#include <json-c/json.h>

#include "elastic/where.h"
#include "topology/err.h"

/*
 * Ask the daemon that is in charge: its socket on this host, else the hosts in
 * their order; one that stands by is passed over. *ret (json_object_put) is an
 * answer with "ok": true.
 *	-EHOSTUNREACH	no daemon answered
 *	-EPERM		it refused: the sentence is its own
 *	-ENOENT		it knows no such thing (its sentence)
 *	-EINVAL		it did not understand the request (its sentence)
 *	-EAGAIN		it cannot now (its sentence), e.g. slurmctld is down
 *	-EPROTO, -EACCES	what answered is no daemon of SlurmUser's or root's
 *	-ETIMEDOUT, -EIO
 */
int sn_elastic_ask(const struct sn_elastic_where *where,
		   struct json_object *request, uint32_t timeout_ms,
		   struct json_object **ret, struct sn_err *err);

/* A connection that stays, for answers that keep coming (events with "follow"). */
struct sn_elastic_conn;
int sn_elastic_open(const struct sn_elastic_where *where,
		    struct json_object *request, uint32_t timeout_ms,
		    struct sn_elastic_conn **ret, struct json_object **ret_first,
		    struct sn_err *err);
/* The next answer; timeout_ms 0: however long it takes. -ECONNRESET: the daemon
 * has hung up, as when it stops or another takes over. */
int sn_elastic_next(struct sn_elastic_conn *conn, uint32_t timeout_ms,
		    struct json_object **ret, struct sn_err *err);
/* To wait for: readable when an answer comes, or the end. */
int sn_elastic_fd(const struct sn_elastic_conn *conn);
void sn_elastic_close(struct sn_elastic_conn *conn);

#endif
