/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sizes.c - the data-parallel sizes that an elastic job may have.
 */
#include "config.h"

#include "topology/sizes.h"

void sn_sizes_init(struct sn_sizes *sizes, const struct sn_layout *layout,
		   const struct sn_elastic *elastic)
{
	uint32_t step = sn_layout_dp_grid(layout);
	uint32_t atom = layout->atom ? layout->atom : 1;

	*sizes = (struct sn_sizes){
		.min = elastic ? elastic->min_dp : layout->dp,
		.want = elastic && elastic->want ? elastic->want : layout->dp,
		.max = elastic ? elastic->max_dp : layout->dp,
		.step = step ? step : 1,
		.gbs = elastic ? elastic->gbs : 0,
		.mbs = elastic ? elastic->mbs : 0,
		.replica = layout->tp * layout->cp * layout->pp,
		.atom = atom,
	};
	sizes->atoms = (uint32_t)((uint64_t)sizes->step * sizes->replica / atom);
}

static bool fits_batches(const struct sn_sizes *s, uint64_t dp)
{
	return !s->gbs || !s->mbs || !(s->gbs % (dp * s->mbs));
}

bool sn_sizes_is_legal(const struct sn_sizes *s, uint64_t dp)
{
	return dp && dp >= s->min && dp <= s->max && !(dp % s->step) &&
		fits_batches(s, dp);
}

uint32_t sn_sizes_at_most(const struct sn_sizes *s, uint64_t dp)
{
	if (dp > s->max)
		dp = s->max;
	for (dp -= dp % s->step; dp && dp >= s->min; dp -= s->step)
		if (fits_batches(s, dp))
			return (uint32_t)dp;
	return 0;
}

uint32_t sn_sizes_at_least(const struct sn_sizes *s, uint64_t dp)
{
	if (dp < s->min)
		dp = s->min;
	if (!dp)
		dp = 1;
	for (dp = (dp + s->step - 1) / s->step * s->step; dp <= s->max;
	     dp += s->step)
		if (fits_batches(s, dp))
			return (uint32_t)dp;
	return 0;
}

uint32_t sn_sizes_lower(const struct sn_sizes *s, uint32_t dp)
{
	return dp ? sn_sizes_at_most(s, dp - 1) : 0;
}

uint32_t sn_sizes_higher(const struct sn_sizes *s, uint32_t dp)
{
	return sn_sizes_at_least(s, (uint64_t)dp + 1);
}

uint64_t sn_sizes_ranks(const struct sn_sizes *s, uint32_t dp)
{
	return (uint64_t)s->replica * dp;
}

uint32_t sn_sizes_micro_batches(const struct sn_sizes *s, uint32_t dp)
{
	if (!s->gbs || !s->mbs || !dp)
		return 0;
	return (uint32_t)(s->gbs / ((uint64_t)s->mbs * dp));
}

uint32_t sn_sizes_fit(const struct sn_sizes *s, const uint32_t *cards,
		      size_t n_supernodes)
{
	uint64_t atoms = 0;

	for (size_t i = 0; i < n_supernodes; i++)
		atoms += cards[i] / s->atom;
	/* atoms·step/s->atoms, without a step's being cut. */
	return sn_sizes_at_most(s, s->atoms ? atoms / s->atoms * s->step : 0);
}

size_t sn_sizes_members(const struct sn_sizes *s, uint32_t from, uint32_t to,
			size_t most, uint32_t *ret)
{
	size_t ways = 0, n = 0, each;
	uint32_t at = from;

	for (uint32_t dp = from; dp && dp < to; dp = sn_sizes_higher(s, dp))
		ways++;
	each = most ? (ways + most - 1) / most : ways;
	while (at && at < to) {
		uint32_t next = at;

		for (size_t i = 0; i < each && next && next < to; i++)
			next = sn_sizes_higher(s, next);
		if (!next || next > to)
			break;
		ret[n++] = next - at;
		at = next;
	}
	return n;
}
