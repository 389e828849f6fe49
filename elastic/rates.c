/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rates.c - how much of what one job, or one user, causes is taken.
 */
#include "config.h"

#include "elastic/rates.h"

#define PROBES 16 /* places that a key may have */

static double level_at(const struct sn_rates *r, uint32_t i, const struct sn_rate *rate, int64_t now)
{
	double drained = (double)(now - r->entry[i].at) * rate->a_minute / 60000;

	return r->entry[i].level > drained ? r->entry[i].level - drained : 0;
}

/* Its place: its own, a free one, or that of who has caused least. Others may have other
 * rates; it is not worth more than a guess. */
static uint32_t place_of(struct sn_rates *r, uint64_t key, const struct sn_rate *rate, int64_t now)
{
	uint32_t first = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40), place = SN_RATES_MAX;
	double least = 0;

	for (uint32_t k = 0; k < PROBES; k++) {
		uint32_t i = (first + k) % SN_RATES_MAX;
		double level;

		if (r->entry[i].key == key)
			return i;
		level = r->entry[i].key ? level_at(r, i, rate, now) : -1;
		if (place == SN_RATES_MAX || level < least) {
			place = i;
			least = level;
		}
	}
	r->entry[place].key = key;
	r->entry[place].at = now;
	r->entry[place].level = 0;
	r->entry[place].over = 0;
	return place;
}

enum sn_rate_word sn_rates_take(struct sn_rates *r, uint64_t key, const struct sn_rate *rate,
				int64_t now, uint32_t *ret_missed)
{
	uint32_t i = place_of(r, key, rate, now);
	double level = level_at(r, i, rate, now);

	if (level + 1 > rate->burst) {
		r->entry[i].over += r->entry[i].over < UINT32_MAX;
		return r->entry[i].over == 1 ? SN_RATE_FIRST : SN_RATE_OVER;
	}
	if (ret_missed)
		*ret_missed = level > 0 ? 0 : r->entry[i].over;
	if (level <= 0)
		r->entry[i].over = 0;
	r->entry[i].level = (float)(level + 1);
	r->entry[i].at = now;
	return SN_RATE_TAKEN;
}
