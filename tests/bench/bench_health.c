/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_health.c - how fast and how rightly the health engine marks, on synthetic
 * traces. docs/health.md says what each is and has the figures.
 *
 *	bench_health [--quick] [--runs N] [--samples N] [--seed N]
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/healthtrace.h"

static const char *const noise_text[] = {
	"Gaussian", "AR(1), rho 0.5", "AR(1), rho 0.9", "Student t, 5 df",
	"Student t, 3 df", "lognormal", "outliers: 1 in 2,000, +100 %",
	"outliers: 1 in 2,000, +400 %", "cards that differ by 3 %",
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	uint64_t samples = 2000000, seed = 1;
	uint32_t runs = 1000;
	double t0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--quick")) {
			runs = 100;
			samples = 200000;
		} else if (i + 1 < argc && !strcmp(argv[i], "--runs")) {
			runs = (uint32_t)strtoul(argv[++i], NULL, 10);
		} else if (i + 1 < argc && !strcmp(argv[i], "--samples")) {
			samples = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
			seed = strtoull(argv[++i], NULL, 10);
		} else {
			fprintf(stderr, "usage: bench_health [--quick] [--runs N] [--samples N] [--seed N]\n");
			return 2;
		}
	}
	printf("384 cards of one supernode, noise 5 %%, one card 20 %% slower from step k on\n");
	printf("%-30s %9s %9s %9s   %s\n", "noise", "within 3", "within 8",
	       "within 20", "false in a million: runs, long");
	for (int n = 0; n < TRACE_NOISES; n++) {
		struct trace_result r = trace_slow_card((enum trace_noise)n, 384, 0.2, runs, seed);
		uint64_t judged;
		uint64_t wrong = trace_healthy((enum trace_noise)n, 384, samples, seed + 1, &judged);

		printf("%-30s %7.1f %% %7.1f %% %7.1f %%   %.2f %.2f\n",
		       noise_text[n], 100.0 * r.within3 / runs, 100.0 * r.within8 / runs,
		       100.0 * r.within20 / runs, 1e6 * (double)r.others / (double)r.samples,
		       1e6 * (double)wrong / (double)judged);
		fflush(stdout);
	}
	printf("\nother sizes, Gaussian:\n");
	for (uint32_t cards = 8; cards <= 64; cards *= 2) {
		struct trace_result r = trace_slow_card(TRACE_GAUSS, cards, 0.2, runs, seed);
		uint64_t judged;
		uint64_t wrong = trace_healthy(TRACE_GAUSS, cards, samples, seed + 1, &judged);

		printf("%3u cards: within 3 %5.1f %%, within 8 %5.1f %%, false %" PRIu64 " in %" PRIu64 "\n",
		       cards, 100.0 * r.within3 / runs, 100.0 * r.within8 / runs,
		       wrong + r.others, judged + r.samples);
	}
	{
		struct trace_uniform u = trace_uniform(384, 0.2, 100, seed);

		printf("\na uniform slowdown of 20 %%, 100 runs: %u times the supernode, after %.1f rows; %u cards\n",
		       u.domains, u.domains ? (double)u.rows / u.domains : 0.0, u.cards);
	}
	t0 = seconds();
	{
		struct trace_load l = trace_load(100000, 4, 12, seed);

		printf("\n100,000 cards, 4 metrics, 12 steps: %.2f million samples/s, %.0f MB, %.0f bytes a card\n",
		       (double)l.samples / (seconds() - t0) / 1e6, (double)l.bytes / 1e6,
		       (double)l.bytes / 100000);
	}
	return 0;
}
