/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carelook.h - one look of elastic/care.c at the world of carebed.h, and what comes out.
 */
#ifndef SN_TESTS_CARELOOK_H
#define SN_TESTS_CARELOOK_H

#include "carebed.h"

#define PER 8
#define ELASTIC "elastic=min_dp=2,max_dp=8"

static struct {
	uint32_t n, reliefs, puzzles;
	struct {
		uint32_t job;
		uint64_t number;
		enum sn_means means;
		enum sn_care_how how;
		uint32_t n_orders, card, dp;
		struct sn_control order[SN_CARE_ORDERS];
		char node[64], why[SN_LADDER_WHY];
		bool again, safe_point;
	} d[64];
	struct sn_care_relief relief;
	char puzzle[256];
} out;

static inline void decided(void *arg, const struct sn_care_decision *d)
{
	(void)arg;
	assert_true(out.n < 64);
	out.d[out.n].job = d->job;
	out.d[out.n].number = d->number;
	out.d[out.n].means = d->plan->means;
	out.d[out.n].how = d->how;
	out.d[out.n].n_orders = d->n_orders;
	memcpy(out.d[out.n].order, d->order, sizeof(d->order));
	strcpy(out.d[out.n].node, d->node);
	strcpy(out.d[out.n].why, d->plan->why);
	out.d[out.n].card = d->card;
	out.d[out.n].dp = d->plan->dp;
	out.d[out.n].safe_point = d->plan->safe_point;
	out.d[out.n++].again = d->again;
	/* Orders and what is done by itself exclude each other. */
	assert_int_equal(d->n_orders > 0, d->how == SN_CARE_TELL);
}

static inline void relieved(void *arg, const struct sn_care_relief *relief)
{
	(void)arg;
	out.relief = *relief;
	out.reliefs++;
}

static inline void puzzled(void *arg, uint32_t job, const char *why)
{
	(void)arg, (void)job;
	snprintf(out.puzzle, sizeof(out.puzzle), "%s", why);
	out.puzzles++;
}

static inline uint32_t look_only(void)
{
	const struct sn_care_calls calls = { decided, relieved, puzzled, NULL };
	struct sn_care_eyes eyes = bed_eyes();
	struct sn_err err;

	memset(&out, 0, sizeof(out));
	bed_must(sn_care_look(bed.care, &bed.conf, &eyes, &calls, &err), &err);
	return out.n;
}

/* The number of decisions. */
static inline uint32_t look(void)
{
	bed_tables();
	return look_only();
}

static inline void later(double seconds)
{
	bed.now += seconds;
	bed.ms += (int64_t)(seconds * 1000);
}

/* Other work has all of a supernode but for so many nodes at its end. */
static inline void fill(uint32_t supernode, uint32_t but)
{
	for (uint32_t i = 0; i < bed.per - but; i++)
		bed.closed[supernode * bed.per + i] = true;
}

static inline void set_policy(const char *text)
{
	struct sn_err err;

	bed_must(sn_elastic_policy_parse(text, &bed.conf.policy, &err), &err);
}

#define IS(i, m, h) do { \
	if (out.d[i].means != (m) || out.d[i].how != (h)) \
		fail_msg("%s, how %d", out.d[i].why, out.d[i].how); \
} while (0)

#endif
