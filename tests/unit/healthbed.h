/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthbed.h - a small cluster with a health engine, for its tests.
 */
#ifndef SN_TESTS_HEALTHBED_H
#define SN_TESTS_HEALTHBED_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health.h"

#define T0 1700000000.0
#define BED_CARDS 8 /* of a node */

struct bed {
	struct sn_topo *topo;
	struct sn_health *h;
	struct sn_health_conf conf;
	struct sn_health_actions actions;
	double now;
	uint64_t rng;
};

static const char bed_topo[] =
	"SupernodeName=sn[1-4] Nodes=n[01-16] NodesPerSupernode=4\n"
	"UnitName=u[1-8] Nodes=n[01-16] NodesPerUnit=2\n";

static inline void bed_make(struct bed *b, const char *text, const char *policy_text)
{
	struct sn_policy policy;
	struct sn_err err;

	memset(b, 0, sizeof(*b));
	if (sn_topo_parse(text, strlen(text), "topology.conf", NULL, NULL, &b->topo, &err) ||
	    sn_policy_parse(policy_text, strlen(policy_text), "supernode.conf", &policy, &err) ||
	    sn_health_conf_init(&policy, &b->conf, &err) ||
	    sn_health_create(b->topo, &b->conf, NULL, &b->h, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	b->now = T0;
	b->rng = 1;
}

static inline void bed_done(struct bed *b)
{
	sn_health_actions_done(&b->actions);
	sn_health_destroy(b->h);
	sn_topo_destroy(b->topo);
}

/* Uniform in [-1, 1], the same in every run. */
static inline double bed_noise(struct bed *b)
{
	b->rng = b->rng * 6364136223846793005u + 1442695040888963407u;
	return (double)(int64_t)b->rng / 9223372036854775808.0;
}

static inline int bed_sample_as(struct bed *b, uint32_t node, uint32_t card,
				const char *metric, uint64_t step, double value,
				uint32_t job, bool hint, uint32_t by)
{
	struct sn_health_sample s = {
		.node = node, .card = card, .metric = metric, .value = value,
		.time = b->now, .step = step, .job = job, .hint = hint, .by = by,
	};

	return sn_health_sample(b->h, &s, b->now, &b->actions, NULL);
}

static inline int bed_sample(struct bed *b, uint32_t node, uint32_t card,
			     const char *metric, uint64_t step, double value)
{
	return bed_sample_as(b, node, card, metric, step, value, 1, false, 0);
}

static inline void bed_tick(struct bed *b, double later)
{
	b->now += later;
	if (sn_health_tick(b->h, b->now, &b->actions, NULL))
		abort();
}

static inline int bed_fault(struct bed *b, uint32_t node, uint32_t card, const char *code)
{
	struct sn_health_fault f = { .node = node, .card = card, .code = code };

	return sn_health_fault(b->h, &f, b->now, &b->actions, NULL);
}

static inline enum sn_health_state bed_state(const struct bed *b, uint32_t node, uint32_t card)
{
	struct sn_health_card_info info;

	sn_health_card(b->h, node, card, &info);
	return info.state;
}

/* How many actions of a kind there are since the list was emptied. */
static inline uint32_t bed_count(const struct bed *b, enum sn_health_kind kind)
{
	uint32_t n = 0;

	for (size_t i = 0; i < b->actions.n; i++)
		n += b->actions.action[i].kind == kind;
	return n;
}

static inline const struct sn_health_action *bed_find(const struct bed *b,
						      enum sn_health_kind kind)
{
	for (size_t i = 0; i < b->actions.n; i++)
		if (b->actions.action[i].kind == kind)
			return &b->actions.action[i];
	return NULL;
}

static inline void bed_clear(struct bed *b)
{
	b->actions.n = 0;
}

#endif
