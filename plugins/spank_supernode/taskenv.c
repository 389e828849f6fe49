/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskenv.c - the environment of one rank: torchrun's variables, its
 * coordinates on every axis, and where it is.
 *
 * What the user has set is kept. Nothing is exported that is not sure: ranks
 * of a step that is not the whole layout have no coordinates.
 */
#include "plugins/compat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/spank_supernode/spank_supernode.h"

/* The habit with Slurm; all of the range is above Linux's ephemeral ports. */
#define PORT_FIRST 61000
#define PORTS 4536
/* Prime to PORTS, so that the steps of a job have ports far apart and not
 * those of the next jobs. */
#define PORT_STEP 577
#define PORT_RESTART 1151

static void set(spank_t sp, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void set(spank_t sp, const char *name, const char *fmt, ...)
{
	char value[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	spank_setenv(sp, name, value, 0);
}

static const char *role_name(enum sn_role role)
{
	switch (role) {
	case SN_ROLE_TRAIN:
		return "train";
	case SN_ROLE_PREFILL:
		return "prefill";
	case SN_ROLE_DECODE:
		return "decode";
	case SN_ROLE_INFER:
		return "infer";
	default:
		return "default";
	}
}

static uint32_t restarts(spank_t sp)
{
	char text[32];

	if (spank_getenv(sp, "SLURM_RESTART_COUNT", text, sizeof(text)) !=
	    ESPANK_SUCCESS)
		return 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

struct task {
	uint32_t rank, local, local_world, world;
	uint32_t job, step;
};

static bool get_task(spank_t sp, struct task *ret)
{
	return spank_get_item(sp, S_TASK_GLOBAL_ID, &ret->rank) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_TASK_ID, &ret->local) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &ret->local_world) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &ret->world) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_ID, &ret->job) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_STEPID, &ret->step) == ESPANK_SUCCESS;
}

static void set_torchrun(spank_t sp, const struct stepmap *map,
			 const struct task *task)
{
	uint32_t restarted = restarts(sp);

	set(sp, "RANK", "%u", task->rank);
	set(sp, "LOCAL_RANK", "%u", task->local);
	set(sp, "WORLD_SIZE", "%u", task->world);
	set(sp, "LOCAL_WORLD_SIZE", "%u", task->local_world);
	set(sp, "GROUP_WORLD_SIZE", "%u", map->n_nodes);
	set(sp, "ROLE_RANK", "%u", task->rank);
	set(sp, "ROLE_NAME", "%s", role_name(map->spec.role));
	set(sp, "ROLE_WORLD_SIZE", "%u", task->world);
	set(sp, "MASTER_PORT", "%u", PORT_FIRST +
	    (uint32_t)(((uint64_t)task->job + (uint64_t)task->step * PORT_STEP +
			(uint64_t)restarted * PORT_RESTART) % PORTS));
	set(sp, "TORCHELASTIC_RESTART_COUNT", "%u", restarted);
	set(sp, "TORCHELASTIC_MAX_RESTARTS", "%u", 0);
	set(sp, "TORCHELASTIC_RUN_ID", "%u", task->job);
	/* Else rank 0 waits for a store that no agent has started. */
	set(sp, "TORCHELASTIC_USE_AGENT_STORE", "False");
	set(sp, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

static void set_coordinates(spank_t sp, const struct sn_layout *layout,
			    uint32_t rank)
{
	struct sn_coords at;

	sn_layout_coords(layout, rank, &at);
	set(sp, "TP_RANK", "%u", at.tp);
	set(sp, "CP_RANK", "%u", at.cp);
	set(sp, "DP_RANK", "%u", at.dp);
	set(sp, "PP_RANK", "%u", at.pp);
	set(sp, "EP_RANK", "%u", at.ep);
	set(sp, "ETP_RANK", "%u", at.etp);
	set(sp, "EDP_RANK", "%u", at.edp);
	set(sp, "TP_SIZE", "%u", layout->tp);
	set(sp, "CP_SIZE", "%u", layout->cp);
	set(sp, "DP_SIZE", "%u", layout->dp);
	set(sp, "PP_SIZE", "%u", layout->pp);
	set(sp, "EP_SIZE", "%u", layout->ep);
	set(sp, "ETP_SIZE", "%u", layout->etp);
	set(sp, "EDP_SIZE", "%u", layout->edp);
}

static void set_atom(spank_t sp, const struct sn_layout *layout, uint32_t rank)
{
	uint32_t *block = calloc(layout->world, sizeof(*block));

	if (block && !sn_layout_blocks(layout, SN_IN_SUPERNODE, block)) {
		set(sp, "SUPERNODE_ATOM", "%u", block[rank]);
		set(sp, "SUPERNODE_ATOMS", "%u", layout->world / layout->atom);
	}
	free(block);
}

static bool agrees(const struct stepmap *map, const struct task *task)
{
	return map->map.node[task->rank] == map->here &&
	       map->map.local[task->rank] == task->local;
}

/* From 25.05 on nothing in slurmctld sees to the order of ranks, so a wrong one
 * is no odd case but what a step gets that went past cli_filter/supernode. */
static void tell_refusal(const struct task *task)
{
	if (task->rank)
		return; /* one sentence is enough */
	slurm_error("supernode: Slurm %s gives ranks to nodes in the order of its node table, which would split the groups of --parallel, so the tasks do not run; start them by srun inside sbatch or salloc, with CliFilterPlugins=supernode in slurm.conf and without -m, -w and -x",
		    SLURM_VERSION_STRING);
}

static void tell_split(const struct task *task, const char *why)
{
	if (task->rank)
		return;
	slurm_error("supernode: the tasks do not run, for groups of --parallel would be split: %s (nodes in topology.conf's order); where the step is given less than the job has, give it all; where topology.conf has changed under the job, requeue it (scontrol requeue %u)",
		    why, task->job);
}

bool taskenv_set(spank_t sp, const struct stepmap *map)
{
	struct task task;

	if (!get_task(sp, &task))
		return true;
	if (map->refused) {
		tell_refusal(&task);
		return false;
	}
	if (map->split) {
		tell_split(&task, map->why.text);
		return false;
	}
	set_torchrun(sp, map, &task);
	if (map->supernode) {
		set(sp, "SUPERNODE_NAME", "%s", map->supernode);
		set(sp, "SUPERNODE_INDEX", "%u", map->supernode_index);
		set(sp, "SUPERNODE_COUNT", "%u", map->n_supernodes);
	}
	if (map->unit)
		set(sp, "SUPERNODE_UNIT", "%s", map->unit);
	if (map->whole && task.rank < map->spec.layout.world) {
		set_coordinates(sp, &map->spec.layout, task.rank);
		set_atom(sp, &map->spec.layout, task.rank);
	}
	if (map->has_map && !agrees(map, &task)) {
		slurm_error("supernode: rank %u is not where the layout puts it, so %s; topology.conf here may differ from slurmctld's",
			    task.rank, SN_SELECT_ORDERS_RANKS ?
			    "MASTER_ADDR and GROUP_RANK are not set" :
			    "it does not run");
		return SN_SELECT_ORDERS_RANKS;
	}
	if (map->has_map)
		set(sp, "GROUP_RANK", "%u", map->here);
	if (map->master)
		set(sp, "MASTER_ADDR", "%s", map->master);
	return true;
}
