/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.c - what rank 0 and the others tell each other during the run.
 *
 * A checkpoint counts once all ranks' parts are on disk; rank 0 marks it then,
 * while everybody goes on. SIGTERM at any rank: rank 0 asks all which step they
 * have begun and to begin no other, and the highest of these is where all stop,
 * since whoever has begun it may have what the others wait for.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/trainer/trainer.h"

static int tell_all(struct trainer *t, enum tr_type type, uint32_t step,
		    struct sn_err *err)
{
	struct tr_frame frame = { .type = type, .step = step };
	int rc = 0;

	for (uint32_t i = 1; !rc && i < t->self.world; i++) {
		frame.dst = i;
		rc = tr_send(t, t->ranks[i], frame, NULL, err);
	}
	return rc ? rc : tr_control(t, NULL, &frame, NULL, err);
}

static int heard_written(struct trainer *t, const struct tr_frame *frame,
			 struct sn_err *err)
{
	uint32_t all = frame->step;
	int rc;

	t->written[frame->src] = frame->step;
	t->stopped += frame->round;
	for (uint32_t i = 0; i < t->self.world; i++)
		if (t->written[i] < all)
			all = t->written[i];
	if (all > t->durable) {
		rc = tr_checkpoint_mark(t, all, err);
		if (rc)
			return rc;
		t->durable = all;
	}
	if (t->stopped == t->self.world)
		return tell_all(t, TR_BYE, 0, err);
	return 0;
}

static int heard_report(struct trainer *t, const struct tr_frame *frame,
			struct sn_err *err)
{
	if (frame->step > t->report_max)
		t->report_max = frame->step;
	if (++t->reports < t->self.world)
		return 0;
	return tell_all(t, TR_STOP, t->report_max, err);
}

static int publish(struct trainer *t, struct sn_err *err)
{
	uint64_t sum = 0;
	char path[4096], text[256];
	int rc = 0;

	for (uint32_t i = 0; i < t->self.world; i++)
		sum = tr_mix(sum ^ tr_mix(t->final_state[i] + i));
	snprintf(text, sizeof(text), "final state %016" PRIx64 " steps %u world %u messages %" PRIu64 " odd %" PRIu64 "\n",
		 sum, t->opt.steps, t->self.world, t->final_messages, t->final_odd);
	if (t->opt.state_dir) {
		snprintf(path, sizeof(path), "%s/final", t->opt.state_dir);
		rc = tr_write_whole(path, text, err);
	}
	if (!rc) {
		fputs(text, stdout);
		fflush(stdout);
	}
	return rc;
}

static int heard_final(struct trainer *t, const struct tr_frame *frame,
		       const unsigned char *body, struct sn_err *err)
{
	struct tr_final final;
	int rc;

	if (frame->length != sizeof(final))
		return sn_err_set(err, -EPROTO, "rank %u: a torn message", frame->src);
	memcpy(&final, body, sizeof(final));
	t->final_state[frame->src] = final.state;
	t->final_messages += final.messages;
	t->final_odd += final.odd;
	if (++t->finals < t->self.world)
		return 0;
	rc = publish(t, err);
	return rc ? rc : tell_all(t, TR_BYE, 0, err);
}

static int heard_term(struct trainer *t, struct sn_err *err)
{
	if (t->ask_sent)
		return 0;
	t->ask_sent = true;
	return tell_all(t, TR_ASK, 0, err);
}

/* At every rank, rank 0 too. */
static int from_rank_0(struct trainer *t, const struct tr_frame *frame,
		       struct sn_err *err)
{
	switch (frame->type) {
	case TR_ASK:
		t->asked = true;
		return tr_tell(t, TR_REPORT, t->begun, 0, NULL, 0, err);
	case TR_STOP:
		t->stopping = true;
		t->stop_at = frame->step;
		return 0;
	case TR_BYE:
		t->bye = true;
		return 0;
	default:
		return sn_err_set(err, -EPROTO, "rank 0 says what it never should (%u)", frame->type);
	}
}

int tr_control(struct trainer *t, struct tr_conn *conn,
	       const struct tr_frame *frame, const unsigned char *body,
	       struct sn_err *err)
{
	if (conn && conn->kind != TR_CONTROL)
		return sn_err_set(err, -EPROTO, "a stranger");
	if (conn && frame->src != conn->peer)
		return sn_err_set(err, -EPROTO, "rank %u says that it is rank %u", conn->peer, frame->src);
	if (!t->self.rank)
		switch (frame->type) {
		case TR_WRITTEN:
			return heard_written(t, frame, err);
		case TR_TERM:
			return heard_term(t, err);
		case TR_REPORT:
			return heard_report(t, frame, err);
		case TR_FINAL:
			return heard_final(t, frame, body, err);
		}
	return from_rank_0(t, frame, err);
}

int tr_tell(struct trainer *t, enum tr_type type, uint32_t step,
	    uint32_t round, const void *body, uint32_t length,
	    struct sn_err *err)
{
	struct tr_frame frame = {
		.type = type, .src = t->self.rank, .step = step,
		.round = round, .length = length,
	};

	if (t->self.rank)
		return tr_send(t, t->control, frame, body, err);
	return tr_control(t, NULL, &frame, body, err);
}
