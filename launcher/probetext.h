/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probetext.h - lines, words and numbers of the vendors' tools.
 */
#ifndef SN_LAUNCHER_PROBETEXT_H
#define SN_LAUNCHER_PROBETEXT_H

#include "launcher/probe.h"

/* A piece of a text; not terminated. */
struct span {
	const char *at;
	size_t n;
};

/* The next line, without its end; false: there is none. */
bool span_line(struct span *text, struct span *ret);
/* The next of the pieces between `by`, blanks trimmed. */
bool span_cut(struct span *text, char by, struct span *ret);
/* The next word. */
bool span_word(struct span *text, struct span *ret);
struct span span_trim(struct span s);
bool span_is(struct span s, const char *word); /* letter case aside */
bool span_has(struct span s, const char *word); /* in it, letter case aside */
void span_copy(struct span s, char *buf, size_t size); /* printable ASCII only */
/* A number at its begin, "47", "92.5 W", "1,024 MiB": false if there is none. */
bool span_number(struct span s, double *ret);
/* A count; SN_PROBE_UNKNOWN if there is none or it makes no sense. */
uint64_t span_count(struct span s);
/* "3162 MiB" in bytes; a number alone is of `unit` bytes. */
uint64_t span_bytes(struct span s, uint64_t unit);
/* "Key   : value", at the first colon that has a blank beside it, else the first. */
bool span_pair(struct span line, struct span *ret_key, struct span *ret_value);

struct sn_probe_card *probe_add_card(struct sn_probe_facts *facts);
void probe_add_process(struct sn_probe_facts *facts, uint32_t number,
		       uint64_t pid, uint64_t memory, struct span name);
void probe_add(uint64_t *to, uint64_t n); /* unknown + n is n */

#endif
