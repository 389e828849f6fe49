/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzzinclude.h - Include lines in a fuzzer: "Include x" reads the bytes of the input
 * after its first NUL.
 */
#ifndef SN_TESTS_FUZZINCLUDE_H
#define SN_TESTS_FUZZINCLUDE_H

#include <errno.h>

#include "fuzz.h"

struct fuzz_include {
	const char *other;
	size_t len;
};

/* *size is then what there is before the NUL. */
static inline struct fuzz_include fuzz_include_split(const uint8_t *data, size_t *size)
{
	const uint8_t *nul = *size ? memchr(data, '\0', *size) : NULL;
	struct fuzz_include in = { .other = "", .len = 0 };

	if (nul) {
		in.other = (const char *)nul + 1;
		in.len = *size - (size_t)(nul + 1 - data);
		*size = (size_t)(nul - data);
	}
	return in;
}

static inline int fuzz_include_read(void *ctx, const char *path, const char *from,
				    char **ret_text, size_t *ret_len,
				    struct sn_err *err)
{
	const struct fuzz_include *in = ctx;

	MUST(*path && *from);
	if (strcmp(path, "x"))
		return sn_err_set(err, -ENOENT, "no such file");
	*ret_text = malloc(in->len + 1);
	MUST(*ret_text);
	memcpy(*ret_text, in->other, in->len);
	*ret_len = in->len;
	return 0;
}

#endif
