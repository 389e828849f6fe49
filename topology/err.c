/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.c - a caller-owned sentence that says what went wrong.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "topology/err.h"

/* How many bytes the UTF-8 character at c has, 0: it is none, or a control
 * character (U+0080 to U+009F are those of terminals). */
static size_t printable(const unsigned char *c)
{
	uint32_t code;
	size_t n, i;

	if (c[0] < 0x80)
		return c[0] >= 0x20 && c[0] != 0x7f;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	code = c[0] & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3fu);
	}
	if (code < 0xa0 || (n == 3 && code < 0x800) ||
	    (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

/* User text may hold anything; a terminal and a log line may not, or tools take
 * the log for a binary file. Names in UTF-8 are legal. */
static void make_printable(char *text)
{
	while (*text) {
		size_t n = printable((unsigned char *)text);

		if (!n)
			*text = '?';
		text += n ? n : 1;
	}
}

/* Never end in the middle of a UTF-8 character. */
static void cut_whole(char *text)
{
	size_t n = strlen(text);
	size_t back = 0;

	if (n < SN_ERR_SIZE - 1)
		return;
	while (back < 4 && back < n &&
	       ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < n && ((unsigned char)text[n - 1 - back] & 0x80))
		text[n - 1 - back] = '\0';
}

int sn_err_set(struct sn_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	cut_whole(err->text);
	make_printable(err->text);
	return code;
}

int sn_err_prefix(struct sn_err *err, int code, const char *fmt, ...)
{
	char old[SN_ERR_SIZE];
	size_t n;
	va_list ap;

	if (!err)
		return code;
	memcpy(old, err->text, sizeof(old));
	old[sizeof(old) - 1] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, "%s", old);
	cut_whole(err->text);
	make_printable(err->text);
	return code;
}
