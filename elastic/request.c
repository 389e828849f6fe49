/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.c - a request's way: munge, who it is, the operation, the answer.
 *
 * Threads open and make credentials and ask name servers; what an operation finds
 * is then all there, and it decides in the loop without waiting for anybody.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/daemon.h"
#include "elastic/frame.h"
#include "elastic/ops.h"
#include "elastic/report.h"
#include "elastic/resolve.h"
#include "snctl/jsonread.h"

void request_free(struct sn_request *r)
{
	if (!r)
		return;
	json_object_put(r->json);
	json_object_put(r->answer);
	free(r);
}

struct json_object *request_ok(void)
{
	struct json_object *o = json_object_new_object();

	if (o)
		json_object_object_add(o, "ok", json_object_new_boolean(1));
	return o;
}

/* ---- the answer ------------------------------------------------------------------------ */

struct send {
	struct sn_work work;
	struct sn_daemon *d;
	uint64_t ticket;
	uint32_t uid;
	char munge_socket[SN_POLICY_TEXT_MAX];
	char *text;
	char **cred;
	uint32_t n;
	bool more;
	void (*done)(void *ctx, uint64_t ticket, bool sent);
	void *ctx;
	int rc;
	struct sn_err err;
};

static void send_run(struct sn_work *work)
{
	struct send *s = (struct send *)work;
	size_t len = strlen(s->text), at = 0;
	char *chunk = malloc(SN_FRAME_CHUNK + 1);

	s->cred = calloc(len / SN_FRAME_CHUNK + 2, sizeof(*s->cred));
	s->rc = s->cred && chunk ? 0 : sn_err_set(&s->err, -ENOMEM, "no memory");
	while (!s->rc && at < len) {
		size_t n = len - at < SN_FRAME_CHUNK ? len - at : SN_FRAME_CHUNK;

		chunk[0] = at + n < len ? '+' : '.';
		memcpy(chunk + 1, s->text + at, n);
		s->rc = sn_cred_encode(s->munge_socket, s->uid, 0, chunk, n + 1,
				       &s->cred[s->n], &s->err);
		s->n += !s->rc;
		at += n;
	}
	free(chunk);
}

static void send_done(struct sn_work *work)
{
	struct send *s = (struct send *)work;
	bool sent = false;

	if (!s->rc)
		sent = sn_server_send(s->d->server, s->ticket, s->cred, s->n, s->more);
	else if (s->rc != -ECANCELED)
		sn_log_limited(SN_LOG_ERROR, "an answer could not be sent: %s", s->err.text);
	if (s->rc)
		sn_server_drop(s->d->server, s->ticket);
	if (s->done)
		s->done(s->ctx, s->ticket, sent);
	for (uint32_t i = 0; s->cred && i < s->n; i++)
		free(s->cred[i]);
	free(s->cred);
	free(s->text);
	free(s);
}

int request_send(struct sn_daemon *d, uint64_t ticket, uint32_t uid, struct json_object *o,
		 bool more, void (*done)(void *ctx, uint64_t ticket, bool sent), void *ctx)
{
	/* Nothing is made, nor kept, for one who has hung up. */
	const char *text = o && !d->stopping && sn_server_has(d->server, ticket) ?
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : NULL;
	struct send *s = text ? calloc(1, sizeof(*s)) : NULL;

	if (!s || !(s->text = strdup(text))) {
		free(s);
		sn_server_drop(d->server, ticket);
		return -ENOMEM;
	}
	s->work = (struct sn_work){ send_run, send_done, NULL };
	s->d = d;
	s->ticket = ticket;
	s->uid = uid;
	strcpy(s->munge_socket, d->conf.where.munge_socket);
	s->more = more;
	s->done = done;
	s->ctx = ctx;
	s->rc = -ECANCELED;
	sn_pool_give(d->talk, &s->work);
	return 0;
}

void request_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer)
{
	(void)request_send(d, r->ticket, r->cred.uid, answer, false, NULL, NULL);
	json_object_put(answer);
	request_free(r);
}

void request_fail(struct sn_daemon *d, struct sn_request *r, const char *code,
		  const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	struct sn_err text;
	char buf[SN_ERR_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	sn_err_set(&text, 0, "%s", buf);
	if (!strcmp(code, SN_OP_CODE_REFUSED)) {
		d->refused++;
		sn_log_limited(SN_LOG_ERROR, "refused: %s by user %u at %s: %s", r->op,
			       r->cred.uid, r->from, text.text);
	} else {
		sn_log_debug("%s by user %u at %s: %s", r->op, r->cred.uid, r->from, text.text);
	}
	if (o) {
		json_object_object_add(o, "ok", json_object_new_boolean(0));
		json_object_object_add(o, "code", json_object_new_string(code));
		json_object_object_add(o, "error", json_object_new_string(text.text));
	}
	request_answer(d, r, o);
}

/* ---- the operation --------------------------------------------------------------------- */

static const struct {
	const char *op;
	void (*run)(struct sn_daemon *d, struct sn_request *r);
	bool standby; /* also when not in charge */
} ops[] = {
	{ "health.report", op_health_report, false },
	{ "health.show", op_health_show, false },
	{ "health.release", op_health_release, false },
	{ "health.probe", op_health_probe, false },
	{ "health.wanted", op_health_wanted, false },
	{ "card.drain", op_card, false },
	{ "card.resume", op_card, false },
	{ "pool.create", op_pool, false },
	{ "pool.delete", op_pool, false },
	{ "elastic.attach", op_elastic_attach, false },
	{ "elastic.state", op_elastic_state, false },
	{ "elastic.hint", op_elastic_hint, false },
	{ "elastic.tell", op_elastic_tell, false },
	{ "elastic.act", op_elastic_act, false },
	{ "elastic.show", op_elastic_show, false },
	{ "events", op_events, false },
	{ "status", op_status, true },
};

void request_run(struct sn_daemon *d, struct sn_request *r)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (strcmp(ops[i].op, r->op))
			continue;
		if (d->duty != SN_DUTY_IN_CHARGE && !ops[i].standby)
			request_fail(d, r, SN_OP_CODE_STANDBY, "snelasticd on %s stands by%s%s", d->host,
				     *d->other ? ": " : "", d->other);
		else
			ops[i].run(d, r);
		return;
	}
	request_fail(d, r, SN_OP_CODE_INVALID, "\"%s\" is no operation of this snelasticd", r->op);
}

/* ---- opening it -------------------------------------------------------------------------- */

struct take {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_request *r;
	char *cred;
	char munge_socket[SN_POLICY_TEXT_MAX];
	char names[SN_ELASTIC_NAMES_MAX]; /* of this host */
	struct sn_view_nodes *nodes;
	int rc;
	struct sn_err err;
};

/* Only root's word depends on it, so only for root are name servers asked. */
static bool find_at_node(const struct take *t)
{
	const struct sn_request *r = t->r;
	char name[SN_REPORT_NODE_MAX];
	const struct sn_view_node *node;

	if (r->cred.uid || r->origin.local ||
	    sn_request_string(r->json, "node", true, name, sizeof(name), NULL))
		return false;
	node = sn_view_node(t->nodes, name);
	if (!node)
		return sn_resolves_to(name, r->origin.addr);
	return sn_resolves_to(node->address, r->origin.addr) ||
		(strcmp(node->host, node->address) && sn_resolves_to(node->host, r->origin.addr));
}

/* Somebody may have stood in for another host's daemon, and passes on to this one what
 * was meant for that. */
static int check_to(const struct take *t, struct sn_err *err)
{
	char to[SN_ELASTIC_HOST_MAX];
	int rc = sn_request_string(t->r->json, "to", true, to, sizeof(to), err);

	if (rc || !*to || sn_elastic_is_among(t->names, to))
		return rc;
	return sn_err_set(err, -EACCES, "it was meant for snelasticd on %.80s", to);
}

static void take_run(struct sn_work *work)
{
	struct take *t = (struct take *)work;
	struct sn_request *r = t->r;
	char *text;
	size_t len;

	if (__atomic_load_n(&r->gone, __ATOMIC_RELAXED)) {
		t->rc = -ECANCELED;
		return;
	}
	t->rc = sn_cred_decode(t->munge_socket, t->cred, &text, &len, &r->cred, &t->err);
	if (t->rc)
		return;
	sn_auth_find_origin(r->cred.addr, r->peer.addr, r->peer.unix_socket, &r->origin);
	t->rc = snctl_json_parse(text, len, "the request", &r->json, &t->err);
	free(text);
	if (!t->rc && !json_object_is_type(r->json, json_type_object))
		t->rc = sn_err_set(&t->err, -EINVAL, "the request is no JSON object");
	if (!t->rc)
		t->rc = sn_request_string(r->json, "op", false, r->op, sizeof(r->op), &t->err);
	if (!t->rc)
		t->rc = check_to(t, &t->err);
	if (!t->rc)
		r->at_node = find_at_node(t);
}

static bool is_controller(const struct sn_daemon *d, const struct sn_auth_origin *origin)
{
	if (origin->local)
		return true;
	for (uint32_t i = 0; i < d->conf.n_controllers; i++)
		if (d->conf.controller[i] == origin->addr)
			return true;
	return false;
}

static void find_who(struct sn_daemon *d, struct sn_request *r)
{
	struct in_addr in = { r->origin.addr };

	if (r->origin.local)
		snprintf(r->from, sizeof(r->from), "this host");
	else if (!r->origin.addr)
		snprintf(r->from, sizeof(r->from), "%.60s", r->peer.text);
	else
		inet_ntop(AF_INET, &in, r->from, sizeof(r->from));
	r->who.uid = r->cred.uid;
	r->who.slurm_uid = d->conf.where.slurm_uid;
	r->who.at_controller = is_controller(d, &r->origin);
	for (uint32_t i = 0; i < d->conf.n_operators; i++)
		r->who.operator |= d->conf.operator[i] == r->cred.uid;
	r->who.from = r->from;
}

/* Whose word on nodes counts, and must come through whatever users do. */
static bool is_privileged(const struct sn_daemon *d, const struct sn_request *r)
{
	return !r->cred.uid || r->cred.uid == d->conf.where.slurm_uid;
}

/* NULL: it is not in the list. */
static struct sn_request *take_out(struct sn_request **list, uint64_t ticket)
{
	for (struct sn_request **at = list; *at; at = &(*at)->next) {
		struct sn_request *r = *at;

		if (r->ticket != ticket)
			continue;
		*at = r->next;
		r->next = NULL;
		return r;
	}
	return NULL;
}

void request_gone(struct sn_daemon *d, uint64_t ticket)
{
	for (struct sn_request *r = d->opening; r; r = r->next)
		if (r->ticket == ticket)
			__atomic_store_n(&r->gone, true, __ATOMIC_RELAXED);
	request_free(take_out(&d->held, ticket));
	request_free(take_out(&d->waiting, ticket));
}

static void take_done(struct sn_work *work)
{
	struct take *t = (struct take *)work;
	struct sn_daemon *d = t->d;
	struct sn_request *r = t->r;

	take_out(&d->opening, r->ticket);
	sn_view_nodes_free(t->nodes);
	free(t->cred);
	/* Who it was is known: he is told. */
	if (t->rc == -EINVAL && r->cred.uid != UINT32_MAX && !d->stopping) {
		find_who(d, r);
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", t->err.text);
	} else if (t->rc || d->stopping || r->gone) {
		if (t->rc && t->rc != -ECANCELED) {
			d->refused++;
			sn_log_limited(SN_LOG_ERROR, "refused: a request from %s: %s", r->peer.text,
				       t->err.text);
			if (t->rc == -EALREADY || t->rc == -EACCES)
				daemon_refused(d, SN_NONE, r->peer.text, NULL, 0,
					       "a request from %s: %s", r->peer.text, t->err.text);
		}
		sn_server_drop(d->server, r->ticket);
		request_free(r);
	} else {
		find_who(d, r);
		if (sn_server_user(d->server, r->ticket, r->cred.uid, is_privileged(d, r)))
			request_run(d, r);
		else
			request_fail(d, r, SN_OP_CODE_AGAIN,
				     "user %u, or all users together, have too many requests open; try again",
				     r->cred.uid);
	}
	free(t);
}

void request_take(void *ctx, uint64_t ticket, char *cred, const struct sn_peer *peer)
{
	struct sn_daemon *d = ctx;
	struct take *t = calloc(1, sizeof(*t));
	struct sn_request *r = calloc(1, sizeof(*r));
	/* Those who have hung up are in the queue still: it would grow by them. */
	bool full = sn_pool_waiting(d->talk) > d->conf.policy.elasticd_connections;

	if (full)
		sn_log_limited(SN_LOG_ERROR, "too many requests at once, or munge is slow: some are dropped");
	if (!t || !r || full) {
		free(t);
		free(r);
		free(cred);
		sn_server_drop(d->server, ticket);
		return;
	}
	r->ticket = ticket;
	r->peer = *peer;
	r->cred.uid = UINT32_MAX;
	t->work = (struct sn_work){ take_run, take_done, NULL };
	t->d = d;
	t->r = r;
	t->cred = cred;
	strcpy(t->munge_socket, d->conf.where.munge_socket);
	strcpy(t->names, d->conf.names);
	t->nodes = sn_view_nodes_use(d->nodes);
	t->rc = -ECANCELED;
	r->next = d->opening;
	d->opening = r;
	sn_pool_give(d->talk, &t->work);
}
