/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whyask.h - what a pending job asks, and what each node has for it.
 *
 * A job without --parallel is read as topology/supernode reads it (need.c
 * there), from what slurmctld tells clients.
 */
#ifndef SNCTL_WHYASK_H
#define SNCTL_WHYASK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "snctl/live.h"

enum why_cards { WHY_NO_CARDS, WHY_CARDS_NODE, WHY_CARDS_TASK, WHY_CARDS_JOB };

struct why_ask {
	bool parallel; /* then request is the whole of it */
	struct sn_place_request request;
	uint32_t min, max; /* nodes */
	bool open; /* as many nodes as the tasks need */
	bool guessed; /* -N may have been given besides: slurmctld shows clients
		       * the fewest nodes as if it had */
	uint32_t segment; /* nodes that must be in one supernode; 0: none */
	bool spread; /* each segment in a supernode of its own */
	uint32_t tasks, cpus_per_task, cpus, tasks_per_node;
	uint32_t node_cpus; /* the least on each node */
	uint64_t node_memory, cpu_memory; /* MB; 0: none asked or counted */
	enum why_cards cards;
	uint32_t n_cards; /* of a node, a task or the job */
	bool whole; /* nodes that no other job is on */
	uint32_t replaces; /* job, 0: none */
	uint64_t to_replace; /* nodes of it, filled with the first state */
};

/* Why a node is no use to the job. */
enum why_out {
	WHY_IN, WHY_DOWN, WHY_SILENT, WHY_PARTITION, WHY_EXCLUDED, WHY_FEATURE,
	WHY_RESERVED, WHY_BUSY, WHY_CARDS, WHY_MASKED, WHY_CPUS, WHY_MEMORY,
	WHY_SPARE, WHY_REGION, WHY_REPLACES, WHY_OUTS
};
extern const char *const why_out_words[WHY_OUTS];

struct why_node {
	uint64_t cards, free;
	uint32_t cpus, weight, flags; /* SN_NODE_* */
	uint64_t memory; /* MB free */
	bool idle; /* no job has anything of it */
	bool held; /* one of the SpareNodes */
	enum why_out out;
};

struct why_state {
	struct why_node *node; /* [n_nodes] */
	struct sn_place_supernode *supernode; /* [n_supernodes] */
};

/* exact: where that is only a guess, take the number of nodes as given. */
void why_ask_init(const struct live *live, const struct live_job *job,
		  bool count_memory, const partition_info_t *part, bool exact,
		  struct why_ask *ret);

/* A node that the job names and that cannot take it, or SN_NONE. */
uint32_t why_lacking(const struct live *live, const struct why_state *state);
/* One placement; 0 with *ret (sn_placement_done) or as sn_place(). The nodes
 * of the answer are those of a whole job of at least ask->min nodes. */
int why_place(const struct live *live, const struct why_ask *ask,
	      const struct why_state *state, struct sn_placement *ret,
	      struct sn_err *err);

/* How many tasks of a job without --parallel a node holds, cards counted. */
uint32_t why_node_tasks(const struct why_ask *ask, const struct why_node *node);

/* Does the node have what one of `n` nodes must have? */
enum why_out why_node_share(const struct why_ask *ask,
			    const struct why_node *node, uint32_t n);

#endif
