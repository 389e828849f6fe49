/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meet.c - how the ranks of a generation find each other: all come to rank 0 at
 * MASTER_ADDR:MASTER_PORT and say on which port they listen and whom they want
 * to reach. When all are there, rank 0 answers each with those addresses and the
 * checkpoint to begin with. Nothing is shared but the name and the port.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/trainer/trainer.h"

struct hello {
	uint64_t layout_sum;
	uint32_t generation, world;
	uint32_t port, n_wanted;
};

struct address {
	uint32_t ip; /* network order */
	uint32_t port;
};

static bool is_loopback(uint32_t ip)
{
	return ntohl(ip) >> 24 == 127;
}

static uint16_t port_of(const struct trainer *t)
{
	struct sockaddr_in address = { 0 };
	socklen_t len = sizeof(address);

	getsockname(t->listener->fd, (struct sockaddr *)&address, &len);
	return ntohs(address.sin_port);
}

/* For every connection that this rank opens, in the order of axis and hop. */
static uint32_t wanted(const struct trainer *t, uint32_t *rank)
{
	uint32_t n = 0;

	for (uint32_t axis = 0; axis < TR_AXES; axis++) {
		const struct tr_group *group = &t->self.group[axis];

		for (uint32_t hop = 0; hop < tr_hops(group, axis); hop++) {
			uint32_t peer = tr_peer(group, axis, hop, 1);

			if (peer != UINT32_MAX)
				rank[n++] = peer;
		}
	}
	return n;
}

static uint32_t expected(const struct trainer *t)
{
	uint32_t n = 0;

	for (uint32_t axis = 0; axis < TR_AXES; axis++)
		for (uint32_t hop = 0; hop < tr_hops(&t->self.group[axis], axis); hop++)
			n += tr_peer(&t->self.group[axis], axis, hop, -1) != UINT32_MAX;
	return n;
}

/* For when all are there. */
static int keep(struct tr_conn *conn, const struct tr_frame *frame,
		const unsigned char *body, struct sn_err *err)
{
	if (!frame->length)
		return 0;
	conn->kept = malloc(frame->length);
	if (!conn->kept)
		return sn_err_set(err, -ENOMEM, "out of memory");
	memcpy(conn->kept, body, frame->length);
	conn->kept_len = frame->length;
	return 0;
}

/* ---- at rank 0 -------------------------------------------------------------- */

static int heard_hello(struct trainer *t, struct tr_conn *conn,
		       const struct tr_frame *frame,
		       const unsigned char *body, struct sn_err *err)
{
	struct sockaddr_in address = { 0 };
	socklen_t len = sizeof(address);
	struct hello hello;

	if (t->self.rank || frame->length < sizeof(hello) || !frame->src ||
	    frame->src >= t->self.world)
		return sn_err_set(err, -EPROTO, "a stranger");
	memcpy(&hello, body, sizeof(hello));
	/* Left over from before the relaunch, or another job's. */
	if (hello.generation != t->self.generation || hello.world != t->self.world ||
	    t->ranks[frame->src])
		return sn_err_set(err, -EPROTO, "a rank of another generation");
	if (hello.layout_sum != t->self.layout_sum)
		return sn_err_set(err, -EINVAL, "rank %u has other groups than rank 0: they do not read the same layout", frame->src);
	if (frame->length != sizeof(hello) + hello.n_wanted * sizeof(uint32_t))
		return sn_err_set(err, -EPROTO, "a torn hello");
	conn->kind = TR_CONTROL;
	conn->peer = frame->src;
	t->ranks[frame->src] = conn;
	t->present++;
	getpeername(conn->fd, (struct sockaddr *)&address, &len);
	conn->ip = address.sin_addr.s_addr;
	conn->port = (uint16_t)hello.port;
	return keep(conn, frame, body, err);
}

/* The address by which other nodes know this one, should its own name mean
 * 127.0.1.1 here. */
static uint32_t own_address(const struct trainer *t)
{
	for (uint32_t i = 1; i < t->self.world; i++) {
		struct sockaddr_in address = { 0 };
		socklen_t len = sizeof(address);

		if (is_loopback(t->ranks[i]->ip))
			continue;
		getsockname(t->ranks[i]->fd, (struct sockaddr *)&address, &len);
		return address.sin_addr.s_addr;
	}
	return htonl(INADDR_LOOPBACK);
}

static struct address address_of(const struct trainer *t, uint32_t rank,
				 uint32_t own)
{
	if (!rank)
		return (struct address){ own, port_of(t) };
	return (struct address){
		is_loopback(t->ranks[rank]->ip) ? own : t->ranks[rank]->ip,
		t->ranks[rank]->port,
	};
}

static int answer(struct trainer *t, uint32_t rank, uint32_t own,
		  struct sn_err *err)
{
	struct tr_conn *conn = t->ranks[rank];
	struct hello hello;
	struct address *table;
	uint32_t peer;
	int rc;

	memcpy(&hello, conn->kept, sizeof(hello));
	table = calloc(hello.n_wanted + 1u, sizeof(*table));
	if (!table)
		return sn_err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < hello.n_wanted; i++) {
		memcpy(&peer, conn->kept + sizeof(hello) + i * sizeof(peer), sizeof(peer));
		table[i] = address_of(t, peer < t->self.world ? peer : 0, own);
	}
	rc = tr_send(t, conn, (struct tr_frame){
		.type = TR_TABLE, .dst = rank, .step = t->resume,
		.length = (uint32_t)(hello.n_wanted * sizeof(*table)) }, table, err);
	free(table);
	return rc;
}

static int say_who_is_missing(struct trainer *t, struct sn_err *err)
{
	uint32_t i = 1;

	while (i < t->self.world - 1 && t->ranks[i])
		i++;
	return sn_err_set(err, -EPIPE, "after %u s only %u of %u ranks have come, rank %u has not",
			  t->opt.meet_s, t->present + 1, t->self.world, i);
}

static int wait_for_all(struct trainer *t, uint64_t deadline,
			struct address *table, struct sn_err *err)
{
	uint32_t *peer, n, own;
	int rc = 0;

	while (!rc && t->present + 1 < t->self.world) {
		if (tr_now_ms() >= deadline)
			return say_who_is_missing(t, err);
		rc = tr_turn(t, deadline, err);
	}
	if (!rc)
		rc = tr_checkpoint_last(t, &t->on_disk, err);
	if (rc)
		return rc;
	t->resume = t->memory_step > t->on_disk ? t->memory_step : t->on_disk;
	t->begun = t->resume;
	own = own_address(t);
	for (uint32_t i = 1; !rc && i < t->self.world; i++)
		rc = answer(t, i, own, err);
	peer = malloc(TR_AXES * TR_HOPS * sizeof(*peer));
	if (!peer)
		return sn_err_set(err, -ENOMEM, "out of memory");
	n = wanted(t, peer);
	for (uint32_t i = 0; i < n; i++)
		table[i] = address_of(t, peer[i], own);
	free(peer);
	return rc;
}

/* ---- at the others ------------------------------------------------------------ */

static int resolve(const struct trainer *t, uint32_t *ret, struct sn_err *err)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
	int rc = getaddrinfo(t->self.master, NULL, &hints, &found);

	if (rc)
		return sn_err_set(err, -ENOENT, "MASTER_ADDR=%s is unknown here: %s", t->self.master, gai_strerror(rc));
	*ret = ((struct sockaddr_in *)found->ai_addr)->sin_addr.s_addr;
	freeaddrinfo(found);
	return 0;
}

/* Rank 0 may start last; nobody tells when it listens. */
static int reach_master(struct trainer *t, uint64_t deadline,
			struct sn_err *err)
{
	uint32_t ip = 0;
	int fd = -1, rc, code;
	long wait_ms = 5;

	rc = resolve(t, &ip, err);
	while (!rc && (code = tr_net_connect(ip, (uint16_t)t->self.master_port, &fd))) {
		if (tr_now_ms() >= deadline)
			return sn_err_set(err, -EPIPE, "rank 0 does not listen at %s:%u: %s",
					  t->self.master, t->self.master_port, strerror(-code));
		rc = tr_turn(t, tr_now_ms() + (uint64_t)wait_ms, err);
		wait_ms += wait_ms < 50 ? 5 : 0;
	}
	return rc ? rc : tr_net_add(t, fd, TR_CONTROL, 0, &t->control, err);
}

static int say_hello(struct trainer *t, struct sn_err *err)
{
	struct {
		struct hello hello;
		uint32_t peer[TR_AXES * TR_HOPS];
	} body = { .hello = {
		.layout_sum = t->self.layout_sum,
		.generation = t->self.generation,
		.world = t->self.world,
		.port = port_of(t),
	} };

	body.hello.n_wanted = wanted(t, body.peer);
	return tr_send(t, t->control, (struct tr_frame){
		.type = TR_HELLO, .src = t->self.rank,
		.length = (uint32_t)(sizeof(body.hello) + body.hello.n_wanted * sizeof(uint32_t)) },
		&body, err);
}

/* ---- both ------------------------------------------------------------------------ */

static int heard_link(struct trainer *t, struct tr_conn *conn,
		      const struct tr_frame *frame, struct sn_err *err)
{
	if (frame->axis >= TR_AXES || frame->round >= tr_hops(&t->self.group[frame->axis], frame->axis) ||
	    frame->step != t->self.generation || frame->dst != t->self.rank ||
	    frame->src != tr_peer(&t->self.group[frame->axis], frame->axis, frame->round, -1) ||
	    t->in[frame->axis][frame->round])
		return sn_err_set(err, -EPROTO, "a stranger");
	conn->kind = TR_IN;
	conn->peer = frame->src;
	conn->axis = frame->axis;
	conn->hop = frame->round;
	t->in[frame->axis][frame->round] = conn;
	t->links++;
	return 0;
}

static int on_meeting(struct trainer *t, struct tr_conn *conn,
		      const struct tr_frame *frame,
		      const unsigned char *body, struct sn_err *err)
{
	if (conn->kind == TR_NEW && frame->type == TR_HELLO)
		return heard_hello(t, conn, frame, body, err);
	if (conn->kind == TR_NEW && frame->type == TR_LINK)
		return heard_link(t, conn, frame, err);
	if (conn->kind == TR_CONTROL && frame->type == TR_TABLE) {
		t->resume = t->begun = frame->step;
		t->present = 1;
		return keep(conn, frame, body, err);
	}
	if (conn->kind == TR_CONTROL) /* others are further already */
		return tr_control(t, conn, frame, body, err);
	return sn_err_set(err, -EPROTO, "rank %u says what nobody asked", conn->peer);
}

static int open_links(struct trainer *t, const struct address *table,
		      struct sn_err *err)
{
	uint32_t n = 0;
	int rc = 0;

	for (uint32_t axis = 0; !rc && axis < TR_AXES; axis++)
		for (uint32_t hop = 0; !rc && hop < tr_hops(&t->self.group[axis], axis); hop++) {
			uint32_t peer = tr_peer(&t->self.group[axis], axis, hop, 1);
			struct tr_conn **out = &t->out[axis][hop];
			int fd, code;

			if (peer == UINT32_MAX)
				continue;
			code = tr_net_connect(table[n].ip, (uint16_t)table[n].port, &fd);
			n++;
			if (code)
				return sn_err_set(err, -EPIPE, "rank %u (%s) cannot be reached: %s", peer, tr_axis_name(axis), strerror(-code));
			rc = tr_net_add(t, fd, TR_OUT, peer, out, err);
			if (rc)
				return rc;
			(*out)->axis = axis;
			(*out)->hop = hop;
			rc = tr_send(t, *out, (struct tr_frame){
				.type = TR_LINK, .src = t->self.rank, .dst = peer,
				.step = t->self.generation, .axis = axis, .round = hop }, NULL, err);
		}
	return rc;
}

static int get_table(struct trainer *t, uint64_t deadline,
		     struct address *table, struct sn_err *err)
{
	int rc;

	rc = reach_master(t, deadline, err);
	if (!rc)
		rc = say_hello(t, err);
	while (!rc && !t->present) {
		if (tr_now_ms() >= deadline)
			return sn_err_set(err, -EPIPE, "after %u s rank 0 has not said where the others are", t->opt.meet_s);
		rc = tr_turn(t, deadline, err);
	}
	if (rc)
		return rc;
	if (t->control->kept_len > TR_AXES * TR_HOPS * sizeof(*table))
		return sn_err_set(err, -EPROTO, "rank 0's table is too long");
	if (t->control->kept)
		memcpy(table, t->control->kept, t->control->kept_len);
	return 0;
}

int tr_meet(struct trainer *t, struct sn_err *err)
{
	struct address table[TR_AXES * TR_HOPS] = { { 0 } };
	uint64_t deadline = tr_now_ms() + t->opt.meet_s * 1000ull;
	int rc;

	t->handler = on_meeting;
	if (!t->self.rank) {
		t->ranks = calloc(t->self.world, sizeof(*t->ranks));
		if (!t->ranks)
			return sn_err_set(err, -ENOMEM, "out of memory");
	}
	rc = tr_net_listen(t, t->self.rank ? 0 : (uint16_t)t->self.master_port, tr_now_ms() + 3000, err);
	if (!rc)
		rc = t->self.rank ? get_table(t, deadline, table, err) :
			wait_for_all(t, deadline, table, err);
	/* From here on control messages may come, those of a hasty end. */
	if (!rc)
		rc = open_links(t, table, err);
	while (!rc && t->links < expected(t)) {
		if (tr_now_ms() >= deadline)
			return sn_err_set(err, -EPIPE, "after %u s %u of %u neighbours have not connected",
					  t->opt.meet_s, expected(t) - t->links, expected(t));
		rc = tr_turn(t, deadline, err);
	}
	t->handler = tr_control;
	return rc;
}
