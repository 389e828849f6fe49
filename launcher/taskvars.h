/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskvars.h - the environment of a rank, as a function of what is known of it.
 *
 * One table (sn_taskvars) drives what is set, the check of what the user has set
 * himself, and docs/user-guide.md, which lists it row by row.
 *
 * Who wins: the user's own value, then supernode.conf's TaskEnv, then ours.
 * What an outer step of ours had set (a task may call srun) is not the user's:
 * SUPERNODE_VARS names it, and it is set anew or taken out.
 */
#ifndef SN_LAUNCHER_TASKVARS_H
#define SN_LAUNCHER_TASKVARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/jobspec.h"
#include "topology/layout.h"
#include "topology/policy.h"
#include "topology/topo.h"

/* Texts may be NULL: not known, and nothing is set from them. */
struct sn_task {
	uint32_t rank, local, world, local_world;
	uint32_t n_nodes;
	bool has_group; /* group counts */
	uint32_t group; /* the node's place in the order of ranks */
	uint32_t job, step;
	uint32_t restarts; /* SLURM_RESTART_COUNT */
	uint32_t generation, max_restarts; /* snrun's */
	const char *master;
	uint16_t port; /* 0: by job, step and restarts */
	enum sn_role role;
	const struct sn_layout *layout; /* NULL: the step is not all of it */
	uint32_t atom; /* with layout */
	const char *supernode, *unit;
	uint32_t supernode_index, n_supernodes; /* with supernode */
	bool loose; /* the node is in no supernode of topology.conf */
	enum sn_shape shape; /* with supernode, unless loose */
	uint32_t spares; /* --spares */
	const char *job_dir;
	const char *cards; /* its own, "3" or "2,3" */
	const char *node_cards; /* the step's on this node */
	const char *bound; /* the CPUs it was bound to */
	const char *table; /* the HCCL table that is there */
	const char *visible; /* the user's ASCEND_RT_VISIBLE_DEVICES; NULL: ours */
	const char *if_ip; /* address of HcclIfIp's interface */
	bool imex; /* an IMEX channel device exists */
	enum sn_vendor vendor;
	const struct sn_policy *policy;
};

/* Whether a value that the user has set, which is the same in every task, can
 * be right. */
enum sn_vary {
	SN_VARY_FREE, /* his business */
	SN_VARY_NOT, /* where it is ours */
	SN_VARY_RANK, /* never with several ranks */
	SN_VARY_LOCAL, /* where every node has one rank */
	SN_VARY_NODE, /* where there is one node */
	SN_VARY_AXIS, /* where the axis has size 1 */
	SN_VARY_CARD, /* where a rank sees one card only, or every node has one rank */
};

#define SN_TASKVAR_MAX 4096 /* a value, with the NUL */

/* The cards that an Ascend task sees, "3" or "2,3", the user's word first; NULL:
 * not known, or another vendor's. */
const char *sn_task_visible(const struct sn_task *task);

struct sn_taskvar {
	const char *name;
	enum sn_vary vary;
	/* False: not set. */
	bool (*value)(const struct sn_task *task, char *buf, size_t size);
	const char *when; /* for the documentation */
	const char *help;
};
extern const struct sn_taskvar sn_taskvars[]; /* ends with name NULL */

/* The names of what the suite set, for inner steps. */
#define SN_TASKVARS_OWN "SUPERNODE_VARS"

/* An environment. get() may give a pointer that the next call invalidates. */
struct sn_taskenv {
	const char *(*get)(void *ctx, const char *name);
	void (*set)(void *ctx, const char *name, const char *value);
	void (*unset)(void *ctx, const char *name);
	void *ctx;
};

/*
 * Set what the table and TaskEnv say. complaint (may be NULL) gets one sentence
 * on all of the user's values that would break the run, "" where there is none;
 * they stay. Returns 0 or -ENOMEM.
 */
int sn_taskvars_apply(const struct sn_task *task, const struct sn_taskenv *env,
		      struct sn_err *complaint);

#endif
