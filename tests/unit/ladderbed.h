/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ladderbed.h - a job, and a world to lose parts of.
 */
#ifndef SN_TESTS_LADDERBED_H
#define SN_TESTS_LADDERBED_H

#include "topology/ladder.h"

/* tp=8 on nodes of 8 cards, dp=8 of 4 to 12 in steps of 2: an atom of 16 ranks is
 * two nodes. Two supernodes with two atoms each. */
struct bed {
	struct sn_ladder_domain domain[2];
	struct sn_ladder_job job;
	struct sn_ladder_costs costs;
	struct sn_ladder_plan plan;
	struct sn_err err;
};

static inline void make(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	sn_ladder_costs_init(&b->costs);
	for (int d = 0; d < 2; d++)
		b->domain[d] = (struct sn_ladder_domain){
			.name = d ? "sn02" : "sn01", .cards = 40, .atoms = 2, .spares = 1,
			.spare_cards = 8, .spare_nodes = 1,
		};
	b->job = (struct sn_ladder_job){
		.sizes = { .min = 4, .want = 8, .max = 12, .step = 2, .replica = 8, .atom = 16, .atoms = 1 },
		.dp = 8, .elastic = true, .running = true, .can_checkpoint = true,
		.can_requeue = true, .since_safe = 100, .since_memory = -1, .checkpoint = 20,
		.domain = b->domain, .n_domains = 2, .atoms_elsewhere = 1,
	};
}

static inline enum sn_means run(struct bed *b, const struct sn_failure *f, uint32_t n)
{
	if (b->plan.use)
		sn_ladder_plan_done(&b->plan);
	assert_int_equal(sn_ladder(&b->job, &b->costs, f, n, &b->plan, &b->err), 0);
	return b->plan.means;
}

static inline void done(struct bed *b)
{
	sn_ladder_plan_done(&b->plan);
}

static inline struct sn_failure node(uint32_t domain, uint32_t number)
{
	return (struct sn_failure){
		.kind = SN_FAIL_NODE, .domain = domain, .node = number, .name = "n007",
		.cards = 8, .atom = number / 2, .n_atoms = 1, .times = 1,
	};
}

#endif
