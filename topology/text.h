/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - numbers with units, and a growing string.
 *
 * Sizes: K M G T P = powers of 1024, an optional fraction ("1.5T"), an
 * optional trailing "B" or "iB". Latencies: n u m, an optional trailing "s",
 * in nanoseconds. Power: W, kW, MW, in milliwatts.
 */
#ifndef SN_TOPOLOGY_TEXT_H
#define SN_TOPOLOGY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

int sn_parse_size(const char *text, uint64_t *ret_bytes, struct sn_err *err);
int sn_parse_latency(const char *text, uint64_t *ret_ns, struct sn_err *err);
int sn_parse_power(const char *text, uint64_t *ret_mw, struct sn_err *err);
/* A decimal integer of min..max, nothing before or after it. */
int sn_parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		  struct sn_err *err);
/* The shortest exact writing of a size: 20T, 1536G, 17. */
void sn_format_size(uint64_t bytes, char *buf, size_t size);

/* A growing string. After an allocation failure text is NULL, failed is set
 * and further appends do nothing, so a chain of appends is checked once. */
struct sn_buf {
	char *text; /* NUL-terminated once anything was appended, else NULL */
	size_t len;
	size_t size;
	bool failed;
};
void sn_buf_add(struct sn_buf *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sn_buf_done(struct sn_buf *buf);

#endif
