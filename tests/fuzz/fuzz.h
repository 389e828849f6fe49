/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - what the fuzzers share. Each is one LLVMFuzzerTestOneInput() that
 * not only must not crash, but checks what every result must fulfil.
 */
#ifndef SN_TESTS_FUZZ_H
#define SN_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert(), never compiled out. */
#define MUST(what) do { \
	if (!(what)) { \
		fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #what); \
		abort(); \
	} \
} while (0)

/* The input as a string, to be freed; it ends at its first NUL. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* A refusal is one sentence that a terminal can show. */
static inline void fuzz_check_err(const struct sn_err *err)
{
	size_t n = strnlen(err->text, SN_ERR_SIZE), i;

	MUST(n > 0 && n < SN_ERR_SIZE);
	for (i = 0; i < n; i++)
		MUST((unsigned char)err->text[i] >= 0x20 && err->text[i] != 0x7f);
}

#endif
