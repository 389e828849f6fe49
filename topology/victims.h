/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * victims.h - which running jobs have to go so that a job can start.
 *
 * Slurm takes preemptable jobs away in the order of their priority until the
 * job fits: that leaves holes in several supernodes, of which one is used. Here
 * the choice starts from where the job would go. Of all sets of candidates, in
 * lexicographic order:
 *  1 those with which the job gets into the fewest supernodes, which is the
 *    number it gets if every candidate goes;
 *  2 the fewest jobs;
 *  3 the lowest sum of their priorities;
 *  4 the lowest sum of the work that is lost.
 * Between equals, the answer to the same question is always the same.
 *
 * Whether the job fits without some candidates is not known here: the caller's
 * fits() tells (in slurmctld Slurm itself, with all it knows of CPUs, memory
 * and cards). It has to be monotone: a job that fits still does if one more
 * candidate goes or one more supernode is offered, in no more supernodes.
 *
 * The choice is exact as long as max_calls questions (and SN_VICTIMS_STEPS sets
 * looked at for each), and the time that is_over() grants, are enough, and
 * ret->exact says so. Else it is the best found: in each supernode (for a job
 * that fits in one) that was looked at to the end no victim can be spared, and
 * those that free most go first.
 *
 * Pure: no I/O, no globals. Finding the smallest set is set cover, hence hard;
 * the questions are spent on the supernodes that may be best.
 */
#ifndef SN_TOPOLOGY_VICTIMS_H
#define SN_TOPOLOGY_VICTIMS_H

#include <stdbool.h>
#include <stdint.h>

#define SN_VICTIMS_STEPS 64

/* What of a candidate lies in one supernode. */
struct sn_victim_part {
	uint32_t supernode;
	uint32_t units; /* cards, say, that are free once it has gone */
};

struct sn_victim {
	uint64_t priority; /* lower: goes first */
	uint64_t lost;
	const struct sn_victim_part *part;
	uint32_t n_parts;
};

/* The answer to a question; the arrays are there and cleared. */
struct sn_victims_fit {
	uint32_t supernodes; /* how many the job would use */
	bool *hit; /* [n_jobs] the job would use what this one has */
	bool *used; /* [n_supernodes] */
};

struct sn_victims_problem {
	uint32_t n_jobs, n_supernodes;
	const struct sn_victim *job;
	/* What is free now in each supernode, at most, and what the job takes,
	 * at least: they only save questions. need 0: not known. */
	const uint32_t *free_units;
	uint64_t need;
	uint32_t max_calls;
	/* With these candidates gone, and in these supernodes alone (NULL: all)?
	 * 0 and *ret, or -ENOSPC; another -errno ends the search. */
	int (*fits)(void *arg, const bool *gone, const bool *within,
		    struct sn_victims_fit *ret);
	/* NULL, or: has the search taken long enough? Then what it has found by
	 * then is the answer. */
	bool (*is_over)(void *arg);
	void *arg;
};

struct sn_victims {
	bool *job; /* [n_jobs] */
	bool *within; /* [n_supernodes] where the job then goes */
	uint32_t n_jobs, supernodes;
	uint64_t priority, lost;
	uint32_t calls;
	bool exact;
};

/* 0 and *ret (owned by the caller: sn_victims_done), -ENOSPC it does not fit
 * even if all go, -ENOMEM, or what fits() returned. */
int sn_victims_choose(const struct sn_victims_problem *problem,
		      struct sn_victims *ret);
void sn_victims_done(struct sn_victims *victims);

#endif
