/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nalloc.h - every allocation of the core fails once.
 *
 * A program that includes this is linked with
 *	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup,--wrap=free
 * (WRAP_ALLOC in Makemodule.am). nalloc_check() runs a scenario again and again: with no
 * failure, then with the first allocation failing, then the second, …, and
 * asserts that each failing run returns -ENOMEM with a sentence, and that every
 * run gives back what it took. A scenario that ends well despite a failure has
 * swallowed it, which is asserted against too.
 *
 * Only what the objects of the program call is wrapped; the C library's own
 * allocations (stdio, qsort) are not.
 */
#ifndef SN_TESTS_NALLOC_H
#define SN_TESTS_NALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "topology/err.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

static struct {
	bool on; /* a scenario runs */
	unsigned long calls; /* allocations of this run */
	unsigned long fail_at; /* the one that fails, from 1; 0: none */
	bool fail_rest; /* and all after it */
	bool failed; /* one did */
	long live; /* allocations less frees */
} nalloc;

static bool nalloc_fails(void)
{
	if (!nalloc.on)
		return false;
	nalloc.calls++;
	if (!nalloc.fail_at || nalloc.calls < nalloc.fail_at ||
	    (nalloc.calls > nalloc.fail_at && !nalloc.fail_rest))
		return false;
	nalloc.failed = true;
	errno = ENOMEM;
	return true;
}

static void *nalloc_took(void *p)
{
	if (nalloc.on && p)
		nalloc.live++;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return nalloc_fails() ? NULL : nalloc_took(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return nalloc_fails() ? NULL : nalloc_took(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (nalloc_fails())
		return NULL;
	return p ? __real_realloc(p, size) : nalloc_took(__real_realloc(p, size));
}

char *__wrap_strdup(const char *s)
{
	return nalloc_fails() ? NULL : nalloc_took(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
	return nalloc_fails() ? NULL : nalloc_took(__real_strndup(s, n));
}

void __wrap_free(void *p)
{
	if (nalloc.on && p)
		nalloc.live--;
	__real_free(p);
}

/* Does something, gives back all it took, and returns its code. */
typedef int (*nalloc_scenario)(void *arg, struct sn_err *err);

static int nalloc_run(nalloc_scenario scenario, void *arg, struct sn_err *err,
		      unsigned long fail_at, bool fail_rest)
{
	int rc;

	memset(&nalloc, 0, sizeof(nalloc));
	memset(err, 0, sizeof(*err));
	nalloc.fail_at = fail_at;
	nalloc.fail_rest = fail_rest;
	nalloc.on = true;
	rc = scenario(arg, err);
	nalloc.on = false;
	return rc;
}

/* Returns how many allocations the scenario makes; they should be some, but no
 * more than a few thousand, as the cost is their square. expect is what the
 * scenario returns with all the memory it wants. */
static unsigned long nalloc_check(nalloc_scenario scenario, void *arg, int expect)
{
	struct sn_err err;
	unsigned long total, i;
	int rest;

	assert_int_equal(nalloc_run(scenario, arg, &err, 0, false), expect);
	assert_int_equal(nalloc.live, 0);
	total = nalloc.calls;
	for (rest = 0; rest < 2; rest++) {
		for (i = 1; i <= total; i++) {
			assert_int_equal(nalloc_run(scenario, arg, &err, i, rest), -ENOMEM);
			assert_true(nalloc.failed);
			assert_int_equal(nalloc.live, 0);
			assert_string_not_equal(err.text, "");
		}
	}
	return total;
}

#endif
