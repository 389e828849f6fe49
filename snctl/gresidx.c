/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gresidx.c - Slurm's strings of generic resources.
 *
 * They are made by slurmctld, for people; what does not fit the pattern is
 * passed over, since a display must not fail on a new decoration.
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/gresidx.h"

/* The end of the entry at p: a comma outside parentheses, or the end. */
static const char *entry_end(const char *p)
{
	int depth = 0;

	for (; *p && (*p != ',' || depth > 0); p++)
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
	return p;
}

/* The part behind "gres/npu:" or "npu:", or NULL for another resource. */
static const char *after_name(const char *p, const char *end, const char *name)
{
	size_t len = strlen(name);

	if (end - p > 5 && !strncmp(p, "gres", 4) && strchr("/:", p[4]))
		p += 5;
	if ((size_t)(end - p) <= len || strncmp(p, name, len))
		return NULL;
	p += len;
	return *p == ':' || *p == '(' || *p == '=' ? p : NULL;
}

static uint64_t entry_count(const char *p, const char *end)
{
	const char *number = NULL;
	uint64_t n;
	char *after;

	/* The last ":N" or "=N" that the parenthesis of the decoration, or the
	 * end, follows. A type may itself be "(null)". */
	for (const char *q = p; q < end; q++) {
		if ((*q == ':' || *q == '=') && isdigit((unsigned char)q[1])) {
			number = q + 1;
			q++;
			while (q < end && isalnum((unsigned char)*q))
				q++;
			if (q == end || *q == '(')
				break;
			q--;
		}
	}
	if (!number)
		return 0;
	n = strtoull(number, &after, 10);
	if (*after == 'K')
		n <<= 10;
	else if (*after == 'M')
		n <<= 20;
	return n;
}

static void mark_indices(const char *p, const char *end, bool *seen)
{
	for (; p < end && *p != ')'; p++) {
		unsigned long first, last;
		char *after;

		if (!isdigit((unsigned char)*p))
			continue;
		first = last = strtoul(p, &after, 10);
		if (*after == '-' && isdigit((unsigned char)after[1]))
			last = strtoul(after + 1, &after, 10);
		for (unsigned long i = first; i <= last && i < GRES_INDEX_MAX; i++)
			seen[i] = true;
		p = after - 1;
	}
}

static uint64_t entry_bits(const char *p, const char *end)
{
	bool seen[GRES_INDEX_MAX] = { false };
	uint64_t bits = 0;

	mark_indices(p, end, seen);
	for (int i = 0; i < 64; i++)
		bits |= (uint64_t)seen[i] << i;
	return bits;
}

uint64_t gres_count(const char *text, const char *name)
{
	uint64_t n = 0;

	while (text && *text) {
		const char *end = entry_end(text);
		const char *p = after_name(text, end, name);

		if (p)
			n += entry_count(p, end);
		text = *end ? end + 1 : end;
	}
	return n;
}

uint64_t gres_indices(const char *text, const char *name, bool *ret_known)
{
	uint64_t bits = 0;
	bool known = true;

	while (text && *text) {
		const char *end = entry_end(text);
		const char *p = after_name(text, end, name);
		const char *idx = p ? strstr(p, "(IDX:") : NULL;

		if (idx && idx < end)
			bits |= entry_bits(idx + 5, end);
		else if (p && entry_count(p, end))
			known = false;
		text = *end ? end + 1 : end;
	}
	if (ret_known)
		*ret_known = known;
	return bits;
}

size_t gres_list(const char *text, const char *name, uint32_t *ret, size_t max)
{
	bool seen[GRES_INDEX_MAX] = { false };
	size_t n = 0, without = 0;

	while (text && *text) {
		const char *end = entry_end(text);
		const char *p = after_name(text, end, name);
		const char *idx = p ? strstr(p, "(IDX:") : NULL;

		if (idx && idx < end)
			mark_indices(idx + 5, end, seen);
		else if (p)
			without += entry_count(p, end);
		text = *end ? end + 1 : end;
	}
	/* Counted without numbers: the lowest ones, as Slurm would. */
	for (size_t i = 0; i < GRES_INDEX_MAX && without; i++) {
		without -= !seen[i];
		seen[i] = true;
	}
	for (uint32_t i = 0; i < GRES_INDEX_MAX && n < max; i++)
		if (seen[i])
			ret[n++] = i;
	return n;
}
