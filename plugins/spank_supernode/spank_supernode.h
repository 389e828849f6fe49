/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_supernode.h - the parts of the SPANK plugin.
 *
 * options.c: the job options, in sbatch, salloc, srun and slurmstepd.
 * stepmap.c: once a step and node, where the step's ranks are.
 * stepfacts.c: and what else they have in common.
 * taskenv.c: in each task, the environment; taskcards.c: its cards; taskbind.c: its
 *	CPUs.
 * pool.c, poolsweep.c: the job's pool region on this node; ctlask.c: what slurmctld
 *	has on record.
 * container.c: what container runtimes are told.
 * hint.c: snelasticd is told to look.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_H
#define SN_PLUGINS_SPANK_SUPERNODE_H

#include <stdbool.h>
#include <stdint.h>

#include "slurm/spank.h"

#include "launcher/stepenv.h"
#include "topology/jobspec.h"
#include "topology/rankmap.h"
#include "topology/topo.h"
#include "plugins/spank_supernode/stepfacts.h"
#include "plugins/spank_supernode/taskbind.h"

int options_register(spank_t sp);
/* All options together; a sentence to the user on error. */
int options_check(void);
/* A further part of a heterogeneous job has its own options: drop those that
 * were not given again since the last call. SPANK itself keeps them. */
void options_forget(spank_t sp);
/* False if the job has none or --parallel is not among them. */
bool options_parallel(struct sn_jobspec *ret);

/* Is --pool among them? */
bool options_has_pool(void);

/* What a step's tasks have in common. */
struct stepmap {
	bool parallel; /* the rest counts only then */
	struct sn_jobspec spec;
	bool other_part; /* of a heterogeneous job: spec is the first one's */
	bool whole; /* as many tasks as the layout has ranks */
	bool refused; /* the ranks are not in the layout's order and cannot be */
	bool split; /* no order would do: why says what cannot be whole */
	bool on_spares; /* ranks are on spare nodes: why says the numbers */
	struct sn_err why;
	char *master; /* node of rank 0, NULL: not known */
	bool planned; /* by snrun, which named the node of each rank */
	/* Of a part of a layout whose ranks lie in several jobs: what each of
	 * the step's tasks is in the whole; NULL: the step is the whole. */
	struct sn_stepenv_rank *ranks;
	uint32_t generation, max_restarts; /* snrun's */
	uint16_t port; /* 0: not given */
	bool has_group;
	uint32_t group; /* the node's number in the order of ranks */
	bool has_map; /* map counts */
	struct sn_rankmap map;
	uint32_t here; /* this node's position in the map's nodes */
	uint32_t n_nodes;
	/* Where this node is; names are NULL where topology.conf cannot say. */
	char *supernode, *unit;
	uint32_t supernode_index, n_supernodes; /* among those of the step */
	bool loose; /* this node is in no supernode of topology.conf */
	enum sn_shape shape;
	struct stepfacts facts;
	struct taskbind *bind; /* NULL: nothing to bind */
};

void stepmap_make(spank_t sp, struct stepmap *ret);
/* False: the task must not run; the user has been told. */
bool taskenv_set(spank_t sp, const struct stepmap *map);

/* container.c: once a step, before pyxis starts a container; job_dir is the job's
 * directory where it is known, NULL. In each task, behind all that sets its
 * variables; tell: it is the one that complains. */
void container_step(spank_t sp, const char *job_dir);
void container_task(spank_t sp, bool tell);

#endif
