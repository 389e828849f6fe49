/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthtrace.h - synthetic traces for the health engine: of healthy cards, of a
 * slow one, of a slow supernode. The same seed gives the same trace everywhere.
 */
#ifndef SN_TESTS_HEALTHTRACE_H
#define SN_TESTS_HEALTHTRACE_H

#include <stddef.h>
#include <stdint.h>

/* All with a standard deviation of 5 % (lognormal and outliers: their body). */
enum trace_noise {
	TRACE_GAUSS, TRACE_AR5, TRACE_AR9, TRACE_T5, TRACE_T3, TRACE_LOGNORMAL,
	TRACE_OUTLIERS, TRACE_HICCUPS, TRACE_SPREAD, TRACE_NOISES
};

struct trace_result {
	uint32_t within3, within8, within20; /* runs in which it was marked */
	uint64_t others; /* other cards that were marked */
	uint64_t samples; /* of other cards */
};
/* In each run a card, a step k from 3 to 60, and noise are drawn anew. */
struct trace_result trace_slow_card(enum trace_noise noise, uint32_t cards,
				    double slower, uint32_t runs, uint64_t seed);

/* Marks among healthy samples; each card is released when it was marked. */
uint64_t trace_healthy(enum trace_noise noise, uint32_t cards, uint64_t samples,
		       uint64_t seed, uint64_t *ret_judged);

struct trace_uniform { uint32_t domains, cards; uint64_t rows; };
/* All cards slow from step 20 on, for 40 steps. */
struct trace_uniform trace_uniform(uint32_t cards, double slower, uint32_t runs,
				   uint64_t seed);

struct trace_load { uint64_t samples; size_t bytes; };
struct trace_load trace_load(uint32_t cards, uint32_t metrics, uint32_t steps,
			     uint64_t seed);

#endif
