/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - numbers with units, near misses, and a growing string.
 *
 * Sizes: K M G T P (either case) = powers of 1024, an optional fraction
 * ("1.5T", rounded to the nearest byte), an optional trailing "B" or "iB"; at
 * most SN_SIZE_MAX. Latencies: n u m, an optional trailing "s", in nanoseconds;
 * "s" alone is seconds. Power: W, kW, MW, in milliwatts. A latency or a power
 * without its unit is refused, as nobody could tell 20 seconds from 20 u.
 *
 * All return 0, or -EINVAL with a sentence that begins with the text.
 */
#ifndef SN_TOPOLOGY_TEXT_H
#define SN_TOPOLOGY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

/* Below UINT64_MAX, which means "no limit" elsewhere, and whole in JSON. */
#define SN_SIZE_MAX ((uint64_t)INT64_MAX)

int sn_parse_size(const char *text, uint64_t *ret_bytes, struct sn_err *err);
int sn_parse_latency(const char *text, uint64_t *ret_ns, struct sn_err *err);
int sn_parse_power(const char *text, uint64_t *ret_mw, struct sn_err *err);
/* A decimal integer of min..max, nothing before or after it. */
int sn_parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		  struct sn_err *err);
/* The shortest exact writing of a size: 20T, 1536G, 17. */
void sn_format_size(uint64_t bytes, char *buf, size_t size);

/* The entry of known (n strings) that word is most likely a slip of, letter case
 * aside; NULL if none is near. */
const char *sn_text_nearest(const char *word, const char *const *known,
			    size_t n);
/* Copy text for a sentence: at most size - 1 bytes, a cut marked by "...". */
const char *sn_text_clip(const char *text, char *buf, size_t size);

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
