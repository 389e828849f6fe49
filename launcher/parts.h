/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parts.h - a plan over the cards of several Slurm jobs: the job that snrun runs
 * in and its members.
 *
 * A step lives in one job. So a generation has one step, a *part*, in each job
 * that gives it cards, and each part runs the ranks whose cards are its job's. The
 * plan itself knows nothing of this: a node of which two jobs hold cards is one
 * node in it. In a part tasks come in the order of ranks; as node by node they
 * have ascending local numbers and take the job's cards in ascending order, task
 * and rank meet on the same card.
 */
#ifndef SN_LAUNCHER_PARTS_H
#define SN_LAUNCHER_PARTS_H

#include <stdint.h>

#include "launcher/plan.h"
#include "topology/err.h"

/* What one Slurm job holds. */
struct sn_holding {
	uint32_t job;
	const struct sn_plan_offer *offer;
	uint32_t n;
};

/* All that the jobs hold together: each node once, its cards ascending, nodes in
 * the order in which they come first. *ret is one block; free() it. The names
 * are those of the holdings. -EINVAL: two jobs hold the same card. */
int sn_parts_merge(const struct sn_holding *holding, uint32_t n,
		   struct sn_plan_offer **ret, uint32_t *ret_n,
		   struct sn_err *err);

struct sn_part {
	uint32_t job;
	uint32_t holding; /* its number among the holdings */
	uint32_t *rank; /* [n_ranks] ascending: of task 0, 1, … */
	uint32_t n_ranks; /* at least 1 */
	uint32_t n_nodes;
};

/* The parts of a plan, in the order of the holdings, those with ranks only.
 * *ret is [n at most]; sn_parts_done() frees it. -EINVAL: a rank's card is
 * nobody's. */
int sn_parts_make(const struct sn_plan *plan, const struct sn_holding *holding,
		  uint32_t n, struct sn_part **ret, uint32_t *ret_n,
		  struct sn_err *err);
void sn_parts_done(struct sn_part *part, uint32_t n);

/* Texts, yours to free, NULL without memory: the node of each task, a line each;
 * and what the SPANK plugin must know, as stepenv.h has it. */
char *sn_part_hostfile(const struct sn_plan *plan, const struct sn_part *part);
char *sn_part_ranks(const struct sn_plan *plan, const struct sn_part *part);

#endif
