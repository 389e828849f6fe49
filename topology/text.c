/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.c - numbers with units, near misses, and a growing string.
 *
 * Numbers are read digit by digit: strtod() and strtoull() depend on the
 * locale, take signs and spaces, and lose bits of sizes over 2^53.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/text.h"

#define CLIP 64 /* bytes of user text shown in a sentence */

/* What is not ASCII or not a digit is refused whatever the locale says. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* A decimal number, num / 10^places. More than 18 places of a fraction are
 * beyond any unit here and are read but not kept. */
struct decimal {
	unsigned __int128 num;
	uint64_t scale; /* 10^places */
};

/* Returns where the number ends, or NULL if text does not begin with one. A
 * whole part over 2^64 is kept at 2^64, which every caller refuses. */
static const char *read_decimal(const char *text, struct decimal *ret)
{
	const unsigned __int128 top = (unsigned __int128)1 << 64;

	ret->num = 0;
	ret->scale = 1;
	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++) {
		ret->num = ret->num * 10 + (unsigned)(*text - '0');
		if (ret->num > top)
			ret->num = top;
	}
	if (*text != '.')
		return text;
	if (!is_digit(*++text))
		return NULL;
	for (; is_digit(*text); text++) {
		if (ret->scale >= 1000000000000000000u)
			continue;
		ret->num = ret->num * 10 + (unsigned)(*text - '0');
		ret->scale *= 10;
	}
	return text;
}

/* num / scale · unit, to the nearest; false if it is over max. num is at most
 * 2^64 · 10^18, about 2^124, so the product is made in two parts, of at most
 * 2^114 and 2^110. */
static bool scale_to(const struct decimal *d, uint64_t unit, uint64_t max,
		     uint64_t *ret)
{
	unsigned __int128 whole = d->num / d->scale;
	unsigned __int128 part = d->num % d->scale;

	part = (part * unit + d->scale / 2) / d->scale;
	whole = whole * unit + part;
	if (whole > max)
		return false;
	*ret = (uint64_t)whole;
	return true;
}

int sn_parse_size(const char *text, uint64_t *ret_bytes, struct sn_err *err)
{
	static const char units[] = "kmgtp";
	struct decimal d;
	char clip[CLIP];
	const char *end = read_decimal(text, &d);
	const char *u;
	uint64_t unit = 1;

	if (!end)
		goto bad;
	if (*end && (u = strchr(units, lower(*end)))) {
		unit <<= 10 * (unsigned)(u - units + 1);
		end++;
		if (lower(*end) == 'i' && lower(end[1]) == 'b')
			end++;
	} else if (d.scale != 1) {
		return sn_err_set(err, -EINVAL, "%s is not a whole number of bytes; write a unit (K, M, G, T or P), such as 1.5T",
				  sn_text_clip(text, clip, sizeof(clip)));
	}
	if (lower(*end) == 'b')
		end++;
	if (*end)
		goto bad;
	if (!scale_to(&d, unit, SN_SIZE_MAX, ret_bytes))
		return sn_err_set(err, -EINVAL, "%s is too large; a size is below 8192P",
				  sn_text_clip(text, clip, sizeof(clip)));
	return 0;
bad:
	return sn_err_set(err, -EINVAL, "\"%s\" is not a size; write a number and a unit K, M, G, T or P (powers of 1024), such as 48T",
			  sn_text_clip(text, clip, sizeof(clip)));
}

int sn_parse_latency(const char *text, uint64_t *ret_ns, struct sn_err *err)
{
	struct decimal d;
	char clip[CLIP];
	const char *end = read_decimal(text, &d);
	uint64_t unit;

	if (!end)
		goto bad;
	switch (*end) {
	case 'n': unit = 1; break;
	case 'u': unit = 1000; break;
	case 'm': unit = 1000000; break;
	case 's': unit = 1000000000; break;
	case '\0':
		return sn_err_set(err, -EINVAL, "%s has no unit; write %sn, %su or %sm for nano-, micro- or milliseconds",
				  sn_text_clip(text, clip, 24), clip, clip, clip);
	default: goto bad;
	}
	if (*end++ != 's' && *end == 's')
		end++;
	if (*end)
		goto bad;
	if (!scale_to(&d, unit, SN_SIZE_MAX, ret_ns))
		return sn_err_set(err, -EINVAL, "%s is too large for a latency",
				  sn_text_clip(text, clip, sizeof(clip)));
	return 0;
bad:
	return sn_err_set(err, -EINVAL, "\"%s\" is not a latency; write a number and n, u or m (nano-, micro- or milliseconds), such as 1.5u",
			  sn_text_clip(text, clip, sizeof(clip)));
}

int sn_parse_power(const char *text, uint64_t *ret_mw, struct sn_err *err)
{
	struct decimal d;
	char clip[CLIP];
	const char *end = read_decimal(text, &d);
	uint64_t unit = 1000;

	if (!end)
		goto bad;
	if (!*end)
		return sn_err_set(err, -EINVAL, "%s has no unit; write %sW, %skW or %sMW",
				  sn_text_clip(text, clip, 24), clip, clip, clip);
	/* A small m would be milli, so M is the one letter whose case counts. */
	if (*end == 'k' || *end == 'K') {
		unit = 1000000;
		end++;
	} else if (*end == 'M') {
		unit = 1000000000;
		end++;
	}
	if (lower(*end) != 'w' || end[1])
		goto bad;
	if (!scale_to(&d, unit, SN_SIZE_MAX, ret_mw))
		return sn_err_set(err, -EINVAL, "%s is too large for a power",
				  sn_text_clip(text, clip, sizeof(clip)));
	return 0;
bad:
	return sn_err_set(err, -EINVAL, "\"%s\" is not a power; write a number and W, kW or MW, such as 400kW",
			  sn_text_clip(text, clip, sizeof(clip)));
}

int sn_parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		  struct sn_err *err)
{
	char clip[CLIP];
	uint64_t v = 0;
	const char *c;
	bool over = false;

	for (c = text; is_digit(*c); c++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v))
			over = true;
	}
	if (c == text || *c)
		return sn_err_set(err, -EINVAL, "\"%s\" is not a number; write a whole number from %" PRIu64 " to %" PRIu64,
				  sn_text_clip(text, clip, sizeof(clip)), min, max);
	if (over || v < min || v > max)
		return sn_err_set(err, -EINVAL, "%s is out of range; write a whole number from %" PRIu64 " to %" PRIu64,
				  sn_text_clip(text, clip, sizeof(clip)), min, max);
	*ret = v;
	return 0;
}

void sn_format_size(uint64_t bytes, char *buf, size_t size)
{
	static const char units[] = "KMGTP";
	int u = -1;

	while (bytes && !(bytes & 1023) && u < 4) {
		bytes >>= 10;
		u++;
	}
	if (u < 0)
		snprintf(buf, size, "%" PRIu64, bytes);
	else
		snprintf(buf, size, "%" PRIu64 "%c", bytes, units[u]);
}

/* Levenshtein's distance, letter case aside; words over 31 letters are no
 * one's slip of a key. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], n = strlen(b), i, j;

	if (strlen(a) > 31 || n > 31)
		return SIZE_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			size_t best = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

const char *sn_text_nearest(const char *word, const char *const *known,
			    size_t n)
{
	const char *best = NULL;
	size_t i, d, best_d = SIZE_MAX;

	for (i = 0; i < n; i++) {
		d = distance(word, known[i]);
		/* A word that shares less than half its letters is no slip. */
		if (d < best_d && d <= (strlen(known[i]) + 1) / 2 &&
		    d < strlen(word)) {
			best_d = d;
			best = known[i];
		}
	}
	return best;
}

const char *sn_text_clip(const char *text, char *buf, size_t size)
{
	size_t n = strnlen(text, size);

	if (n < size) {
		memcpy(buf, text, n + 1);
		return buf;
	}
	n = size > 4 ? size - 4 : 0;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(buf, text, n);
	snprintf(buf + n, size - n, "...");
	return buf;
}

void sn_buf_add(struct sn_buf *buf, const char *fmt, ...)
{
	size_t size;
	char *text;
	va_list ap;
	int n;

	if (buf->failed)
		return;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		goto fail;
	if (buf->len + (size_t)n >= buf->size) {
		size = buf->size ? buf->size : 64;
		while (size <= buf->len + (size_t)n)
			size *= 2;
		text = realloc(buf->text, size);
		if (!text)
			goto fail;
		buf->text = text;
		buf->size = size;
	}
	va_start(ap, fmt);
	vsnprintf(buf->text + buf->len, buf->size - buf->len, fmt, ap);
	va_end(ap);
	buf->len += (size_t)n;
	return;
fail:
	sn_buf_done(buf);
	buf->failed = true;
}

void sn_buf_done(struct sn_buf *buf)
{
	free(buf->text);
	memset(buf, 0, sizeof(*buf));
}
