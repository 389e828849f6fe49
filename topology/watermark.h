/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watermark.h - when to advise a job to move data out of a memory, and when back.
 *
 * Occupancy at or over `high` advises to swap out, at or under `low` to swap in;
 * between them the last advice stands. A sample is only believed when `hold` in
 * a row agree, and one advice stands for at least `rest` seconds: so a job whose
 * occupancy swings, because it follows the advice, is not told to and fro.
 */
#ifndef SN_TOPOLOGY_WATERMARK_H
#define SN_TOPOLOGY_WATERMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

enum sn_advice { SN_ADVICE_NONE, SN_ADVICE_SWAP_OUT, SN_ADVICE_SWAP_IN };

struct sn_watermark {
	uint32_t high, low; /* permille */
	uint32_t hold; /* samples in a row, at least 1 */
	uint32_t rest; /* seconds */
	enum sn_advice advice; /* what stands; NONE until something was advised */
	enum sn_advice leaning; /* what the last samples say */
	uint32_t agreed; /* how many of them in a row */
	uint64_t since; /* when the advice was given */
};

/* high and low in percent. -EINVAL unless 0 <= low < high <= 100. */
int sn_watermark_init(struct sn_watermark *mark, uint32_t high, uint32_t low,
		      uint32_t hold, uint32_t rest, struct sn_err *err);

/*
 * One sample at the time `now` (seconds of a clock that never goes back).
 * Returns true if the advice has changed: mark->advice is to be passed on. A
 * total of 0 says nothing and changes nothing. Swapping in is only advised to
 * one that was advised to swap out before.
 */
bool sn_watermark_sample(struct sn_watermark *mark, uint64_t used,
			 uint64_t total, uint64_t now);

const char *sn_advice_name(enum sn_advice advice); /* "none", "swap-out", "swap-in" */

#endif
