/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthworld.h - a job on many cards, which are as fast as the test says, and the health
 * engine that hears of them.
 */
#ifndef SN_TESTS_HEALTHWORLD_H
#define SN_TESTS_HEALTHWORLD_H

#include "tests/unit/healthbed.h"

/* How much worse each card is than usual, in the supernodes from node 0 on. */
struct world {
	struct bed b;
	uint32_t nodes;
	double off[16][BED_CARDS];
	double noise, level;
	const char *metric;
	uint32_t job;
	bool hint;
	uint64_t step;
};

static inline void world_make(struct world *w, const char *topo, const char *policy, uint32_t nodes)
{
	memset(w, 0, sizeof(*w));
	bed_make(&w->b, topo, policy);
	w->nodes = nodes;
	w->noise = 0.02;
	w->level = 1;
	w->metric = "compute_time";
	w->job = 1;
}

static inline double value_of(struct world *w, uint32_t n, uint32_t c)
{
	double v = w->level * (1 + w->off[n][c]) * (1 + w->noise * bed_noise(&w->b));

	return !strcmp(w->metric, "flops") ? 1 / v : v;
}

static inline void world_step(struct world *w)
{
	for (uint32_t n = 0; n < w->nodes; n++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			bed_sample_as(&w->b, n, c, w->metric, w->step, value_of(w, n, c),
				      w->job, w->hint, 1000);
	w->step++;
	bed_tick(&w->b, 1);
}

static inline void world_steps(struct world *w, int n)
{
	while (n--)
		world_step(w);
}

static inline uint32_t marked(const struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->nodes; i++)
		for (uint32_t c = 0; c < BED_CARDS; c++)
			n += bed_state(&w->b, i, c) != SN_HEALTH_HEALTHY;
	return n;
}

#endif
