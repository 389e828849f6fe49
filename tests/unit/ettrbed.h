/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ettrbed.h - what happens to a job, for its account.
 */
#ifndef SN_TESTS_ETTRBED_H
#define SN_TESTS_ETTRBED_H

#include "topology/ettr.h"

#define T0 1.7e9

static inline void do_event(struct sn_ettr *a, enum sn_ettr_kind kind, double at)
{
	const struct sn_ettr_event e = { .kind = kind, .at = T0 + at };

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static inline void cards(struct sn_ettr *a, double at, uint32_t held, uint32_t ranks, uint32_t want)
{
	const struct sn_ettr_event e = { .kind = SN_ETTR_CARDS, .at = T0 + at, .held = held,
					 .ranks = ranks, .want = want };

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static inline void fails(struct sn_ettr *a, double at, enum sn_ettr_fail fail)
{
	const struct sn_ettr_event e = { .kind = SN_ETTR_FAIL, .at = T0 + at, .fail = fail };

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static inline void safe(struct sn_ettr *a, double at, double covers, double took, bool ends)
{
	const struct sn_ettr_event e = { .kind = SN_ETTR_SAFE, .at = T0 + at,
					 .covers = covers ? T0 + covers : 0, .took = took,
					 .ends = ends };

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static inline void ends(struct sn_ettr *a, double at, bool well)
{
	const struct sn_ettr_event e = { .kind = SN_ETTR_DONE, .at = T0 + at, .well = well };

	assert_int_equal(sn_ettr_event(a, &e, NULL), 0);
}

static inline void assert_near(double a, double b)
{
	if (fabs(a - b) > 1e-3)
		fail_msg("%.6f is not %.6f", a, b);
}

static inline void assert_whole(const struct sn_ettr *a)
{
	assert_near(a->held_sum, a->cards.useful + sn_ettr_open(&a->cards) +
		    sn_ettr_lost(&a->cards) + a->idle);
	assert_near(sn_ettr_wall(a), a->at - a->began);
	assert_int_equal(sn_ettr_check(a, NULL), 0);
}

#endif
