/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.c - how messages stand on the wire between snelasticd and its clients.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "elastic/frame.h"

static const unsigned char magic[4] = { 'S', 'N', 'E', '1' };

void sn_frame_init(struct sn_frame *frame, size_t max)
{
	memset(frame, 0, sizeof(*frame));
	frame->max = max;
}

void sn_frame_done(struct sn_frame *frame)
{
	free(frame->body);
	sn_frame_init(frame, frame->max);
}

void sn_frame_head(unsigned char head[SN_FRAME_HEAD], size_t len)
{
	memcpy(head, magic, sizeof(magic));
	for (int i = 0; i < 4; i++)
		head[4 + i] = (unsigned char)(len >> (24 - 8 * i));
}

static int take_head(struct sn_frame *frame, struct sn_err *err)
{
	uint32_t len = 0;

	if (memcmp(frame->head, magic, sizeof(magic)))
		return sn_err_set(err, -EPROTO, "the message is none of this protocol");
	for (int i = 4; i < SN_FRAME_HEAD; i++)
		len = len << 8 | frame->head[i];
	if (!len || len > frame->max)
		return sn_err_set(err, -EMSGSIZE,
				  "the message has %u bytes; 1 to %zu are allowed",
				  len, frame->max);
	frame->need = len;
	return 0;
}

static int make_room(struct sn_frame *frame, size_t want, struct sn_err *err)
{
	size_t room = frame->room ? frame->room : 4096;
	char *body;

	while (room < want)
		room *= 2;
	if (room > frame->need + 1)
		room = frame->need + 1;
	if (room <= frame->room)
		return 0;
	body = realloc(frame->body, room);
	if (!body)
		return sn_err_set(err, -ENOMEM, "no memory");
	frame->body = body;
	frame->room = room;
	return 0;
}

int sn_frame_feed(struct sn_frame *frame, const void *data, size_t len,
		  size_t *ret_used, bool *ret_whole, struct sn_err *err)
{
	const char *p = data;
	size_t used = 0, n;
	int rc;

	*ret_used = 0;
	*ret_whole = false;
	while (used < len && frame->have < SN_FRAME_HEAD) {
		frame->head[frame->have++] = (unsigned char)p[used++];
		/* What speaks another protocol is found by its first bytes. */
		if (frame->have <= sizeof(magic) &&
		    frame->head[frame->have - 1] != magic[frame->have - 1])
			return sn_err_set(err, -EPROTO,
					  "the message is none of this protocol");
		if (frame->have == SN_FRAME_HEAD) {
			rc = take_head(frame, err);
			if (rc)
				return rc;
		}
	}
	if (frame->have >= SN_FRAME_HEAD) {
		size_t at = frame->have - SN_FRAME_HEAD;

		n = frame->need - at < len - used ? frame->need - at : len - used;
		rc = make_room(frame, at + n + 1, err);
		if (rc)
			return rc;
		memcpy(frame->body + at, p + used, n);
		frame->body[at + n] = '\0';
		frame->have += n;
		used += n;
		*ret_whole = at + n == frame->need;
	}
	*ret_used = used;
	return 0;
}

void sn_frame_keepalive(int fd)
{
	const int on = 1, idle = 30, interval = 10, count = 3;
	const unsigned int unsent = 60000; /* ms */

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unsent, sizeof(unsent));
}
