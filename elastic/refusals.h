/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refusals.h - how often what was refused is told in the history: pure.
 *
 * Anybody who reaches the port can be refused as often as he likes. So each source
 * is told of once, and then once a minute with how often it was meanwhile; sources
 * that cannot be told apart for their number share one entry.
 */
#ifndef SN_ELASTIC_REFUSALS_H
#define SN_ELASTIC_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#define SN_REFUSALS_MAX 32
#define SN_REFUSALS_MS 60000
#define SN_REFUSALS_OTHERS "others"

struct sn_refusals {
	struct {
		char source[64]; /* "": free */
		int64_t told; /* ms */
		uint32_t more; /* since then */
	} entry[SN_REFUSALS_MAX + 1]; /* the last is that of all others */
};

/* True: tell of it now. */
bool sn_refusals_add(struct sn_refusals *r, const char *source, int64_t now);
/* A source that was refused some more, a minute ago and longer: *ret_more times, its
 * name in ret_source. False: there is none now. */
bool sn_refusals_due(struct sn_refusals *r, int64_t now, char ret_source[64],
		     uint32_t *ret_more);

#endif
