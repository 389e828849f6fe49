/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watermark.c - when to advise a job to move data out of a memory, and when back.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "topology/watermark.h"

int sn_watermark_init(struct sn_watermark *mark, uint32_t high, uint32_t low,
		      uint32_t hold, uint32_t rest, struct sn_err *err)
{
	if (high > 100 || low >= high)
		return sn_err_set(err, -EINVAL,
				  "a high mark of %u %% and a low one of %u %%: the low one must be under the high one, and that at most 100",
				  high, low);
	memset(mark, 0, sizeof(*mark));
	mark->high = high * 10;
	mark->low = low * 10;
	mark->hold = hold ? hold : 1;
	mark->rest = rest;
	return 0;
}

static enum sn_advice lean(const struct sn_watermark *mark, uint64_t used,
			   uint64_t total)
{
	unsigned __int128 scaled = (unsigned __int128)used * 1000;

	if (scaled >= (unsigned __int128)total * mark->high)
		return SN_ADVICE_SWAP_OUT;
	if (scaled <= (unsigned __int128)total * mark->low)
		return SN_ADVICE_SWAP_IN;
	return SN_ADVICE_NONE;
}

bool sn_watermark_sample(struct sn_watermark *mark, uint64_t used,
			 uint64_t total, uint64_t now)
{
	enum sn_advice says;

	if (!total)
		return false;
	says = lean(mark, used, total);
	if (says != mark->leaning) {
		mark->leaning = says;
		mark->agreed = 0;
	}
	if (mark->agreed < mark->hold)
		mark->agreed++;
	if (says == SN_ADVICE_NONE || says == mark->advice ||
	    mark->agreed < mark->hold)
		return false;
	if (mark->advice == SN_ADVICE_NONE && says == SN_ADVICE_SWAP_IN)
		return false; /* nothing is out */
	if (mark->advice != SN_ADVICE_NONE && now - mark->since < mark->rest)
		return false;
	mark->advice = says;
	mark->since = now;
	return true;
}

const char *sn_advice_name(enum sn_advice advice)
{
	switch (advice) {
	case SN_ADVICE_SWAP_OUT:
		return "swap-out";
	case SN_ADVICE_SWAP_IN:
		return "swap-in";
	case SN_ADVICE_NONE:
		break;
	}
	return "none";
}
