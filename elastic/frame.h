/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - how messages stand on the wire between snelasticd and its clients.
 *
 * A frame is "SNE1", its length in four bytes, highest first, and as many bytes: a
 * munge credential. A request is one frame, whose payload is a JSON object. An
 * answer is one frame or several: each payload begins with '+' where another
 * follows and '.' in the last, and the rest of all together is a JSON object.
 */
#ifndef SN_ELASTIC_FRAME_H
#define SN_ELASTIC_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "topology/err.h"

#define SN_FRAME_HEAD 8
#define SN_FRAME_REQUEST_MAX (256u << 10) /* of a request's credential */
#define SN_FRAME_ANSWER_MAX (1u << 20) /* munge's own limit of a message */
#define SN_FRAME_CHUNK (256u << 10) /* of an answer, in one credential */

struct sn_frame {
	unsigned char head[SN_FRAME_HEAD];
	size_t have; /* bytes of head and body together */
	size_t need; /* bytes of the body, once the head is there */
	size_t max;
	char *body; /* NUL-terminated once whole */
	size_t room; /* grows with what comes, not with what is announced */
};

void sn_frame_init(struct sn_frame *frame, size_t max);
void sn_frame_done(struct sn_frame *frame);

/* Take in bytes until the frame is whole; *ret_used of them were, and a whole
 * frame takes no more. -EPROTO, -EMSGSIZE: this is no frame, hang up. */
int sn_frame_feed(struct sn_frame *frame, const void *data, size_t len,
		  size_t *ret_used, bool *ret_whole, struct sn_err *err);

/* For a TCP connection that stays: a host at the other end that has gone without a word
 * is noticed within a minute. */
void sn_frame_keepalive(int fd);

void sn_frame_head(unsigned char head[SN_FRAME_HEAD], size_t len);

#endif
