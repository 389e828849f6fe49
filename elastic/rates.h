/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rates.h - how much of what one job, or one user, causes is taken: pure.
 *
 * Who owns a job can have its snrun, or a program that plays one, say anything as often as
 * he likes. Each may cause so much at once, and then so much a minute; who goes on and on
 * is told of once, and once more when he has been still. Where there are more at a time
 * than there is room for, the one that has caused least is forgotten.
 */
#ifndef SN_ELASTIC_RATES_H
#define SN_ELASTIC_RATES_H

#include <stdbool.h>
#include <stdint.h>

#define SN_RATES_MAX 8192

struct sn_rate {
	uint32_t burst, a_minute;
};

struct sn_rates {
	struct {
		uint64_t key; /* 0: free */
		int64_t at; /* ms */
		float level; /* at that time; a thousandth of one too much */
		uint32_t over; /* not taken since it was still */
	} entry[SN_RATES_MAX];
};

enum sn_rate_word {
	SN_RATE_TAKEN,
	SN_RATE_FIRST, /* the first that is too much, since it was still */
	SN_RATE_OVER,
};

/* key: whose, not 0. *ret_missed (may be NULL), when it is taken: after it was still for
 * long enough, how many were not taken before; else 0. */
enum sn_rate_word sn_rates_take(struct sn_rates *r, uint64_t key, const struct sn_rate *rate,
				int64_t now, uint32_t *ret_missed);

#endif
