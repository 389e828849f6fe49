/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * need.h - what a job without --parallel asks, in the placement engine's words.
 *
 * The engine deals ranks. Two ways to say such a job in ranks:
 *   by nodes  the number of nodes is fixed and any node will do: each node runs
 *             one block of as many ranks as the job takes cards there, or one
 *             rank where it takes none; --segment=k is an atom of k blocks.
 *   by tasks  nodes differ in what they have left, or their number follows from
 *             the tasks: a rank is a task (or a card, for --gpus), and a node
 *             holds as many as its CPUs and gres allow.
 * What comes out is a set of nodes. Which CPUs, memory and gres the job gets on
 * them is then counted by Slurm's own code.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_NEED_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_NEED_H

#include "src/interfaces/topology.h"

#include "topology/place.h"

enum need_cards {
	NEED_NO_CARDS,
	NEED_CARDS_NODE, /* --gres */
	NEED_CARDS_TASK, /* --tres-per-task */
	NEED_CARDS_JOB, /* --gpus */
};

/* A node of the model, as Slurm offers it. */
struct need_node {
	uint64_t cards, free;
	uint32_t cpus;
	uint32_t gres_tasks; /* tasks that its gres allow; UINT32_MAX: any number */
	uint32_t weight;
	uint32_t flags; /* SN_NODE_*; absent: not offered */
};

struct need {
	const topology_eval_t *topo_eval;
	struct need_node *node; /* [topo->n_nodes] */
	struct sn_place_node *offer; /* [topo->n_nodes] for the engine */
	struct sn_place_supernode *supernode; /* limits, NULL: none */
	uint32_t min, want, max; /* nodes */
	bool open; /* how many nodes follows from the tasks */
	uint32_t segment; /* nodes, 0: none */
	bool spread; /* no two segments in one supernode */
	enum need_cards cards;
	uint32_t n_cards; /* per node, task or job */
	uint32_t tasks, cpus_per_task; /* of the whole job, at least */
	uint32_t *allow; /* nodes in each supernode, see replacing.h; NULL: any */
};

/* -ENOMEM. need_done() also after a failure. */
int need_init(struct need *need, topology_eval_t *topo_eval);
void need_done(struct need *need);

/*
 * Say that the job takes n nodes, and fill need->offer. False if no request for
 * that number can be made. uneven: not every offered node has its share of the
 * job's CPUs and cards; those that have not are left out.
 */
bool need_by_nodes(struct need *need, uint32_t n, struct sn_place_request *ret,
		   bool *ret_uneven);
/* Say it in tasks; exactly n nodes, 0: as few as will do. */
bool need_by_tasks(struct need *need, uint32_t n, struct sn_place_request *ret);
/* Every offered node that could be one of n, whatever it has left. */
bool need_any_nodes(struct need *need, uint32_t n, struct sn_place_request *ret);

/* The cards that the job takes at least. */
uint64_t need_card_count(const struct need *need);

#endif
