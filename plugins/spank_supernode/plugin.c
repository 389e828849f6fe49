/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - spank_supernode: which context does what.
 *
 * plugstack.conf:
 *	required spank_supernode.so
 * on every host that submits jobs or runs them.
 */
#include "plugins/compat.h"

#include "plugins/common/jobopts.h"
#include "plugins/spank_supernode/hint.h"
#include "plugins/spank_supernode/pool.h"
#include "plugins/spank_supernode/spank_supernode.h"

const char plugin_name[] = SN_SPANK_NAME;
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

/* One slurmstepd is one step on one node. */
static struct stepmap step;

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	spank_context_t context = spank_context();

	(void)ac;
	(void)av;
	if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR ||
	    context == S_CTX_REMOTE)
		return options_register(sp);
	if (context == S_CTX_SLURMD)
		pool_sweep_start();
	return ESPANK_SUCCESS;
}

static uint32_t planned_ranks(spank_t sp)
{
	uint32_t tasks = 0;

	if (step.planned && step.whole)
		(void)spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks);
	return tasks;
}

/* In a client it is called once for each part of a heterogeneous job. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		options_forget(sp);
		return options_check();
	case S_CTX_REMOTE:
		/* As root, once, before the tasks are forked. */
		stepmap_make(sp, &step);
		pool_prepare(sp, planned_ranks(sp));
		container_step(sp, step.parallel ? step.facts.job_dir : NULL);
		return ESPANK_SUCCESS;
	default:
		return ESPANK_SUCCESS;
	}
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE && !pool_task_may_run(sp))
		return -1;
	if (spank_context() == S_CTX_REMOTE && step.parallel &&
	    !taskenv_set(sp, &step))
		return -1;
	if (spank_context() == S_CTX_REMOTE) {
		uint32_t rank = 0;

		spank_get_item(sp, S_TASK_GLOBAL_ID, &rank);
		container_task(sp, !rank);
	}
	/* Never fail a task for want of a variable. */
	return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE && step.parallel)
		hint_task_exit(sp);
	return ESPANK_SUCCESS;
}

/* In slurmstepd before slurmctld hears that the step has ended. */
int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE && step.parallel)
		hint_step_ends(sp);
	return ESPANK_SUCCESS;
}

/* A process of its own, in slurmd's namespaces. Whatever it returns would drain
 * the node, and no node is ill for that. */
int slurm_spank_job_epilog(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	pool_job_ends(sp);
	hint_job_ends(sp);
	return ESPANK_SUCCESS;
}

/* With it, slurmd loads the plugin at all. */
int slurm_spank_slurmd_exit(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	pool_sweep_stop();
	return ESPANK_SUCCESS;
}
