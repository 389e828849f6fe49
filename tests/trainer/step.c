/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step.c - one training step: the exchanges of a forward and a backward pass
 * and of the gradients, each message made from the sender's integer and mixed
 * into the receiver's.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/trainer/trainer.h"

/* Which pass of the step a round belongs to. */
#define FORWARD 0u
#define BACKWARD 0x10000u

/* A bijection of 64 bits in which every bit of x reaches every bit. */
uint64_t tr_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t label(const struct tr_frame *frame)
{
	uint64_t sum = tr_mix(((uint64_t)frame->src << 32 | frame->dst) + 1);

	sum = tr_mix(sum ^ ((uint64_t)frame->step << 32 | frame->axis));
	return tr_mix(sum ^ ((uint64_t)frame->round << 32 | frame->length));
}

static void fill(unsigned char *body, uint32_t length, uint64_t word)
{
	for (uint32_t at = 0; at < length; at += 8) {
		uint32_t n = length - at < 8 ? length - at : 8;

		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		memcpy(body + at, &word, n);
	}
}

static uint64_t digest(const unsigned char *body, uint32_t length, uint64_t sum)
{
	for (uint32_t at = 0; at < length; at += 8) {
		uint32_t n = length - at < 8 ? length - at : 8;
		uint64_t word = 0;

		memcpy(&word, body + at, n);
		sum ^= word;
		sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15u;
	}
	return tr_mix(sum);
}

/* The fault strikes the first message of the rank in that step. */
static enum tr_fault fault_now(struct trainer *t, uint32_t step)
{
	enum tr_fault fault = t->opt.fault;

	if (step != t->opt.fault_step || t->self.rank != t->opt.fault_rank)
		return TR_FAULT_NONE;
	t->opt.fault = TR_FAULT_NONE;
	return fault;
}

static int send_data(struct trainer *t, struct tr_conn *conn, uint32_t step,
		     uint32_t round, struct sn_err *err)
{
	struct tr_frame frame = {
		.type = TR_DATA, .src = t->self.rank, .dst = conn->peer,
		.step = step, .axis = conn->axis, .round = round,
		.length = t->opt.payload,
	};
	enum tr_fault fault = fault_now(t, step);
	int rc;

	if (fault == TR_FAULT_DIE && !t->self.generation)
		raise(SIGKILL);
	/* As if another rank's message had come here. */
	if (fault == TR_FAULT_MISROUTE)
		frame.dst = (frame.dst + 1) % t->self.world;
	/* Its place stays, for a stream with a hole only stands still. */
	if (fault == TR_FAULT_DROP)
		frame.length = 0;
	fill(t->body, frame.length, tr_mix(t->state ^ label(&frame)) | 1);
	rc = tr_send(t, conn, frame, t->body, err);
	if (!rc && fault == TR_FAULT_DUP)
		rc = tr_send(t, conn, frame, t->body, err);
	return rc;
}

static void take(struct trainer *t, const struct tr_frame *frame,
		 const unsigned char *body)
{
	t->state = tr_mix(t->state ^ digest(body, frame->length, label(frame)));
	t->messages++;
}

static void note_odd(struct trainer *t, const struct tr_conn *conn,
		     const struct tr_frame *frame)
{
	if (!t->odd++)
		fprintf(stderr, "sntrain: rank %u: in step %u, %s from rank %u: got a message of rank %u to rank %u, step %u, %s, round %u, %u bytes\n",
			t->self.rank, t->begun, tr_axis_name(conn->axis), conn->peer, frame->src,
			frame->dst, frame->step, tr_axis_name(frame->axis),
			frame->round, frame->length);
}

static int receive_data(struct trainer *t, struct tr_conn *conn, uint32_t step,
			uint32_t round, struct sn_err *err)
{
	struct tr_frame frame;
	const unsigned char *body;
	int rc;

	rc = tr_receive(t, conn, &frame, &body, err);
	if (rc)
		return rc;
	if (frame.type != TR_DATA)
		return sn_err_set(err, -EPROTO, "rank %u (%s) ended in step %u", conn->peer, tr_axis_name(conn->axis), step);
	/* Only said: the integer is the judge. */
	if (frame.src != conn->peer || frame.dst != t->self.rank ||
	    frame.axis != conn->axis || frame.step != step ||
	    frame.round != round || frame.length != t->opt.payload)
		note_odd(t, conn, &frame);
	take(t, &frame, body);
	return 0;
}

static int exchange(struct trainer *t, enum tr_axis axis, uint32_t step,
		    uint32_t pass, struct sn_err *err)
{
	const struct tr_group *group = &t->self.group[axis];
	uint64_t number;
	int rc = 0;

	if (group->n < 2)
		return 0;
	number = tr_record_begin(t, axis);
	for (uint32_t hop = 0; hop < tr_hops(group, axis); hop++)
		for (uint32_t i = 0; !rc && i < tr_rounds(group, axis); i++) {
			rc = send_data(t, t->out[axis][hop], step, pass + i, err);
			if (!rc)
				rc = receive_data(t, t->in[axis][hop], step, pass + i, err);
		}
	if (!rc)
		tr_record_end(t, axis, number);
	return rc;
}

static int pass_on(struct trainer *t, struct tr_conn *conn, bool sends,
		   uint32_t step, uint32_t pass, struct sn_err *err)
{
	uint64_t number;
	int rc;

	if (!conn)
		return 0;
	number = tr_record_pass(t, sends, conn->peer);
	rc = sends ? send_data(t, conn, step, pass, err) :
		receive_data(t, conn, step, pass, err);
	if (!rc)
		tr_record_passed(t, sends, conn->peer, number);
	return rc;
}

/* Activations come from the stage before, gradients from the one behind. */
static int run_pass(struct trainer *t, uint32_t step, uint32_t pass,
		    struct sn_err *err)
{
	uint32_t hop = pass == FORWARD ? 0 : 1;
	int rc = pass_on(t, t->in[TR_PP][hop], false, step, pass, err);

	for (uint32_t axis = TR_TP; !rc && axis <= TR_EP; axis++)
		rc = exchange(t, axis, step, pass, err);
	return rc ? rc : pass_on(t, t->out[TR_PP][hop], true, step, pass, err);
}

static int compute(struct trainer *t, struct sn_err *err)
{
	uint64_t ms = t->opt.step_ms, end;
	int rc = 0;

	if (t->self.rank == t->opt.slow_rank)
		ms = ms * (100 + t->opt.slow_percent) / 100;
	end = tr_now_ms() + ms;
	while (!rc && tr_now_ms() < end)
		rc = tr_turn(t, end, err);
	return rc;
}

int tr_step(struct trainer *t, uint32_t step, struct sn_err *err)
{
	int rc = compute(t, err);

	if (!rc)
		rc = run_pass(t, step, FORWARD, err);
	if (!rc)
		rc = run_pass(t, step, BACKWARD, err);
	return rc ? rc : exchange(t, TR_DP, step, FORWARD, err);
}

/* What is left on a link, down to its end, is one message too many. */
static int drain(struct trainer *t, struct tr_conn *conn, struct sn_err *err)
{
	struct tr_frame frame;
	const unsigned char *body;
	int rc;

	while (!(rc = tr_receive(t, conn, &frame, &body, err)) &&
	       frame.type == TR_DATA) {
		note_odd(t, conn, &frame);
		take(t, &frame, body);
	}
	return rc;
}

int tr_finish(struct trainer *t, struct sn_err *err)
{
	int rc = 0;

	for (uint32_t axis = 0; axis < TR_AXES; axis++)
		for (uint32_t hop = 0; !rc && hop < TR_HOPS; hop++)
			if (t->out[axis][hop])
				rc = tr_send(t, t->out[axis][hop], (struct tr_frame){ .type = TR_END }, NULL, err);
	for (uint32_t axis = 0; axis < TR_AXES; axis++)
		for (uint32_t hop = 0; !rc && hop < TR_HOPS; hop++)
			if (t->in[axis][hop])
				rc = drain(t, t->in[axis][hop], err);
	return rc ? rc : tr_flush(t, err);
}
