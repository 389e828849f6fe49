/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthtrace.c - synthetic traces for the health engine.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/healthtrace.h"
#include "topology/health.h"

#define SD 0.05
#define CARDS_PER_NODE 8

#define CHECK(what) do { \
	if (!(what)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
		abort(); \
	} \
} while (0)

/* xoshiro256++ (Blackman, Vigna), seeded by splitmix64. */
struct rng { uint64_t s[4]; double spare; int has; };

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static uint64_t next(struct rng *r)
{
	uint64_t *s = r->s, out = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return out;
}

static void seed_rng(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		r->s[i] = z ^ z >> 31;
	}
	r->has = 0;
}

static double uniform(struct rng *r)
{
	return ((double)(next(r) >> 11) + 0.5) / 9007199254740992.0;
}

static double gauss(struct rng *r)
{
	double radius, angle;

	if (r->has) {
		r->has = 0;
		return r->spare;
	}
	radius = sqrt(-2 * log(uniform(r)));
	angle = 6.283185307179586 * uniform(r);
	r->spare = radius * sin(angle);
	r->has = 1;
	return radius * cos(angle);
}

static double student(struct rng *r, int df)
{
	double chi = 0, z = gauss(r);

	for (int i = 0; i < df; i++) {
		double g = gauss(r);

		chi += g * g;
	}
	return z / sqrt(chi / df) * sqrt((df - 2) / (double)df); /* variance 1 */
}

/* memory: of the card, for what lasts; starts as NaN. */
static double draw(enum trace_noise noise, struct rng *r, double *memory)
{
	double rho = noise == TRACE_AR9 ? 0.9 : 0.5;

	switch (noise) {
	case TRACE_AR5:
	case TRACE_AR9:
		*memory = isnan(*memory) ? gauss(r) :
			rho * *memory + sqrt(1 - rho * rho) * gauss(r);
		return SD * *memory;
	case TRACE_T5:
		return SD * student(r, 5);
	case TRACE_T3:
		return SD * student(r, 3);
	case TRACE_LOGNORMAL:
		return exp(SD * gauss(r)) - 1;
	case TRACE_OUTLIERS:
		return SD * gauss(r) + (uniform(r) < 1.0 / 2000 ? 1.0 : 0);
	case TRACE_HICCUPS:
		return SD * gauss(r) + (uniform(r) < 1.0 / 2000 ? 4.0 : 0);
	case TRACE_SPREAD:
		if (isnan(*memory))
			*memory = 0.03 * gauss(r);
		return SD * gauss(r) + *memory;
	default:
		return SD * gauss(r);
	}
}

/* ---- an engine with supernodes of so many cards ---------------------------------- */

struct bed {
	struct sn_topo *topo;
	struct sn_health *h;
	struct sn_health_actions actions;
	double now;
};

static void make(struct bed *b, uint32_t cards, uint32_t supernodes)
{
	struct sn_health_conf conf;
	struct sn_policy policy;
	struct sn_err err;
	char text[256];
	uint32_t nodes = (cards + CARDS_PER_NODE - 1) / CARDS_PER_NODE;

	memset(b, 0, sizeof(*b));
	snprintf(text, sizeof(text), "SupernodeName=sn[001-%03u] Nodes=n[00001-%05u] NodesPerSupernode=%u\n",
		 supernodes, nodes * supernodes, nodes);
	CHECK(!sn_topo_parse(text, strlen(text), "t", NULL, NULL, &b->topo, &err));
	sn_policy_init(&policy);
	CHECK(!sn_health_conf_init(&policy, &conf, &err));
	CHECK(!sn_health_create(b->topo, &conf, NULL, &b->h, &err));
	b->now = 1700000000;
}

static void done(struct bed *b)
{
	sn_health_actions_done(&b->actions);
	sn_health_destroy(b->h);
	sn_topo_destroy(b->topo);
}

static void feed(struct bed *b, uint32_t node, uint32_t card, const char *metric,
		 uint64_t step, double value)
{
	struct sn_health_sample s = {
		.node = node, .card = card, .metric = metric, .job = 1, .step = step,
		.time = b->now, .value = value < 0.01 ? 0.01 : value,
	};
	struct sn_err err;

	CHECK(!sn_health_sample(b->h, &s, b->now, &b->actions, &err));
}

static uint32_t expected_rows(uint32_t cards)
{
	return (cards + CARDS_PER_NODE - 1) / CARDS_PER_NODE * CARDS_PER_NODE;
}

/* A step of all cards; slow: index of one, or all with `cards`. */
static void step_of(struct bed *b, enum trace_noise noise, struct rng *r,
		    double *memory, uint32_t cards, uint64_t step, uint32_t slow,
		    double slower)
{
	struct sn_err err;

	for (uint32_t i = 0; i < cards; i++) {
		double v = 1 + draw(noise, r, &memory[i]);

		if (i == slow || slow == cards)
			v += slower;
		feed(b, i / CARDS_PER_NODE, i % CARDS_PER_NODE, "compute_time", step, v);
	}
	b->now += 1;
	CHECK(!sn_health_tick(b->h, b->now, &b->actions, &err));
}

static double *new_memory(uint32_t cards)
{
	double *memory = malloc(cards * sizeof(*memory));

	CHECK(memory);
	for (uint32_t i = 0; i < cards; i++)
		memory[i] = NAN;
	return memory;
}

struct trace_result trace_slow_card(enum trace_noise noise, uint32_t cards,
				    double slower, uint32_t runs, uint64_t seed)
{
	struct trace_result ret = { 0 };
	struct rng r;

	cards = expected_rows(cards);
	for (uint32_t run = 0; run < runs; run++) {
		double *memory = new_memory(cards);
		uint32_t card, after = 0;
		uint64_t k;
		struct bed b;

		seed_rng(&r, seed * 1000003 + run);
		card = (uint32_t)(next(&r) % cards);
		k = 3 + next(&r) % 58;
		make(&b, cards, 1);
		for (uint64_t step = 0; step < k + 20 && !after; step++) {
			b.actions.n = 0;
			step_of(&b, noise, &r, memory, cards, step,
				step >= k ? card : SN_NONE, slower);
			ret.samples += cards - 1;
			for (size_t i = 0; i < b.actions.n; i++) {
				const struct sn_health_action *a = &b.actions.action[i];

				if (a->kind != SN_HEALTH_MASK)
					continue;
				if (a->node * CARDS_PER_NODE + a->card != card)
					ret.others++;
				else if (step >= k)
					after = (uint32_t)(step - k) + 1;
			}
		}
		ret.within3 += after && after <= 3;
		ret.within8 += after && after <= 8;
		ret.within20 += after && after <= 20;
		done(&b);
		free(memory);
	}
	return ret;
}

uint64_t trace_healthy(enum trace_noise noise, uint32_t cards, uint64_t samples,
		       uint64_t seed, uint64_t *ret_judged)
{
	struct sn_health_stats stats;
	uint64_t marks = 0;
	double *memory;
	struct bed b;
	struct rng r;

	cards = expected_rows(cards);
	memory = new_memory(cards);
	seed_rng(&r, seed);
	make(&b, cards, 1);
	for (uint64_t step = 0; step * cards < samples; step++) {
		b.actions.n = 0;
		step_of(&b, noise, &r, memory, cards, step, SN_NONE, 0);
		for (size_t i = 0, n = b.actions.n; i < n; i++) {
			struct sn_health_action a = b.actions.action[i];

			if (a.kind == SN_HEALTH_DEGRADE)
				marks++;
			if (a.kind != SN_HEALTH_MASK && a.kind != SN_HEALTH_NEEDS_RELEASE)
				continue;
			marks++;
			CHECK(!sn_health_release(b.h, a.node, a.card, NULL, b.now, &b.actions, NULL));
		}
	}
	sn_health_stats(b.h, &stats);
	*ret_judged = stats.judged;
	done(&b);
	free(memory);
	return marks;
}

struct trace_uniform trace_uniform(uint32_t cards, double slower, uint32_t runs,
				   uint64_t seed)
{
	struct trace_uniform ret = { 0 };
	struct rng r;

	cards = expected_rows(cards);
	for (uint32_t run = 0; run < runs; run++) {
		double *memory = new_memory(cards);
		struct bed b;
		int found = 0;

		seed_rng(&r, seed * 7919 + run);
		make(&b, cards, 1);
		for (uint64_t step = 0; step < 60; step++) {
			b.actions.n = 0;
			step_of(&b, TRACE_GAUSS, &r, memory, cards, step,
				step >= 20 ? cards : SN_NONE, slower);
			for (size_t i = 0; i < b.actions.n; i++) {
				ret.cards += b.actions.action[i].kind == SN_HEALTH_MASK;
				if (b.actions.action[i].kind == SN_HEALTH_DEGRADE && !found) {
					found = 1;
					ret.domains++;
					ret.rows += step - 19;
				}
			}
		}
		done(&b);
		free(memory);
	}
	return ret;
}

struct trace_load trace_load(uint32_t cards, uint32_t metrics, uint32_t steps,
			     uint64_t seed)
{
	static const char *const name[] = { "step_time", "compute_time", "own_time", "flops" };
	struct sn_health_stats stats;
	struct trace_load ret;
	struct bed b;
	struct rng r;

	seed_rng(&r, seed);
	make(&b, 384, (cards + 383) / 384);
	for (uint64_t step = 0; step < steps; step++) {
		for (uint32_t i = 0; i < cards; i++)
			for (uint32_t m = 0; m < metrics && m < 4; m++)
				feed(&b, i / CARDS_PER_NODE, i % CARDS_PER_NODE, name[m],
				     step, 1 + (uniform(&r) - 0.5) / 10);
		b.now += 10;
		CHECK(!sn_health_tick(b.h, b.now, &b.actions, NULL));
	}
	sn_health_stats(b.h, &stats);
	ret.samples = stats.samples;
	ret.bytes = stats.bytes;
	done(&b);
	return ret;
}
