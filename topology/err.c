/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.c - a caller-owned sentence that says what went wrong.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "topology/err.h"

/* User text may hold anything; a terminal and a log line may not. Bytes over
 * 127 stay, as names in UTF-8 are legal. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			*text = '?';
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
	make_printable(err->text);
	cut_whole(err->text);
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
	make_printable(err->text);
	cut_whole(err->text);
	return code;
}
