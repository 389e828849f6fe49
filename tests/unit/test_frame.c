/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "elastic/frame.h"

static size_t make(unsigned char *to, const char *body)
{
	sn_frame_head(to, strlen(body));
	memcpy(to + SN_FRAME_HEAD, body, strlen(body));
	return SN_FRAME_HEAD + strlen(body);
}

static void in_any_pieces(void **state)
{
	unsigned char wire[64];
	size_t len = make(wire, "MUNGE:abc:"), used;
	bool whole;

	(void)state;
	for (size_t piece = 1; piece <= len; piece++) {
		struct sn_frame f;

		sn_frame_init(&f, 100);
		whole = false;
		for (size_t at = 0; at < len; at += used) {
			size_t n = piece < len - at ? piece : len - at;

			assert_false(whole);
			assert_int_equal(sn_frame_feed(&f, wire + at, n, &used, &whole, NULL), 0);
			assert_int_equal(used, n);
		}
		assert_true(whole);
		assert_string_equal(f.body, "MUNGE:abc:");
		sn_frame_done(&f);
	}
}

static void not_into_the_next(void **state)
{
	unsigned char wire[64];
	size_t len = make(wire, "one"), used;
	struct sn_frame f;
	bool whole;

	(void)state;
	make(wire + len, "two");
	sn_frame_init(&f, 100);
	assert_int_equal(sn_frame_feed(&f, wire, 2 * len, &used, &whole, NULL), 0);
	assert_true(whole);
	assert_int_equal(used, len);
	assert_string_equal(f.body, "one");
	sn_frame_done(&f);
}

static void other_protocols(void **state)
{
	static const char *const bad[] = { "GET / HTTP/1.1\r\n", "\x16\x03\x01", "SNE2", "SNX", "s" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sn_frame f;
		struct sn_err err;
		size_t used;
		bool whole;

		sn_frame_init(&f, 100);
		assert_int_equal(sn_frame_feed(&f, bad[i], strlen(bad[i]), &used, &whole, &err), -EPROTO);
		sn_frame_done(&f);
	}
}

static void sizes(void **state)
{
	unsigned char head[SN_FRAME_HEAD];
	struct sn_frame f;
	struct sn_err err;
	size_t used;
	bool whole;

	(void)state;
	sn_frame_init(&f, 100);
	sn_frame_head(head, 101);
	assert_int_equal(sn_frame_feed(&f, head, sizeof(head), &used, &whole, &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "101"));
	sn_frame_init(&f, 100);
	sn_frame_head(head, 0);
	assert_int_equal(sn_frame_feed(&f, head, sizeof(head), &used, &whole, &err), -EMSGSIZE);
	/* What is announced costs no memory, only what comes. */
	sn_frame_init(&f, 1u << 30);
	sn_frame_head(head, 1u << 29);
	assert_int_equal(sn_frame_feed(&f, head, sizeof(head), &used, &whole, &err), 0);
	assert_int_equal(sn_frame_feed(&f, "x", 1, &used, &whole, &err), 0);
	assert_true(f.room <= 65536);
	sn_frame_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_any_pieces),
		cmocka_unit_test(not_into_the_next),
		cmocka_unit_test(other_protocols),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
