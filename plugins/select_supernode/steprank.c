/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steprank.c - put a step's ranks where the layout wants them.
 *
 * Called after the step's resources are settled and before slurmctld answers
 * srun, so the task ids may still be permuted, the counts no more.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/log.h"
#include "src/common/xstring.h"

#include "topology/hostlist.h"
#include "topology/rankmap.h"
#include "plugins/common/jobopts.h"
#include "plugins/common/stepnodes.h"
#include "plugins/common/topoapi.h"
#include "plugins/select_supernode/steprank.h"

static bool one_task_a_node(const slurm_step_layout_t *layout)
{
	uint32_t i;

	for (i = 0; i < layout->node_cnt; i++)
		if (layout->tasks[i] != 1)
			return false;
	return true;
}

/* A user who asks for an order of his own gets it. */
static bool order_is_free(const slurm_step_layout_t *layout)
{
	switch (layout->task_dist & SLURM_DIST_NODEMASK) {
	case SLURM_DIST_NODEBLOCK:
	case SLURM_DIST_UNKNOWN:
	case 0:
		return true;
	case SLURM_DIST_NODECYCLIC:
		/* srun's default where it is the same as block. */
		return one_task_a_node(layout);
	default:
		return false;
	}
}

static bool get_spec(const job_record_t *job_ptr, uint32_t cards,
		     struct sn_jobspec *ret)
{
	struct sn_jobspec_text text;

	return sn_jobopts_find(job_ptr->spank_job_env,
			       job_ptr->spank_job_env_size, &text) &&
	       text.parallel && !sn_jobspec_parse(&text, cards, ret, NULL) &&
	       ret->has_parallel;
}

static void give(slurm_step_layout_t *layout, const struct sn_stepnodes *nodes,
		 const struct sn_rankmap *map)
{
	uint32_t rank;

	for (rank = 0; rank < map->world; rank++)
		layout->tids[nodes->order[map->node[rank]]][map->local[rank]] =
			rank;
}

void steprank_order(step_record_t *step_ptr)
{
	slurm_step_layout_t *layout = step_ptr->step_layout;
	const struct sn_topoapi *api;
	const struct sn_topo *topo;
	struct sn_stepnodes nodes = { 0 };
	struct sn_rankmap map = { 0 };
	struct sn_names names = { NULL, 0, 0 };
	struct sn_jobspec spec;
	struct sn_err err = { "" };

	if (!layout || !layout->tids || !layout->node_list ||
	    !step_ptr->job_ptr || !step_ptr->job_ptr->spank_job_env_size ||
	    step_ptr->step_id.step_id > SLURM_MAX_NORMAL_STEP_ID)
		return;
	/* Under --stepmgr this runs in slurmstepd, which has no model. */
	api = sn_topoapi_find();
	topo = api ? api->topo() : NULL;
	if (!topo || !get_spec(step_ptr->job_ptr, api->cards_per_node(NULL), &spec) ||
	    layout->task_cnt != spec.layout.world || !order_is_free(layout))
		return;
	if (sn_hostlist_expand(layout->node_list, &names, &err) ||
	    names.n != layout->node_cnt)
		goto out;
	if (sn_stepnodes_make(topo, &names, layout->tasks, &nodes)) {
		sn_err_set(&err, 0, "a node of the step is not in the topology");
		goto out;
	}
	if (!sn_rankmap_build(&spec.layout, nodes.run, nodes.n, &map, &err))
		give(layout, &nodes, &map);
out:
	if (!map.world)
		verbose("select/supernode: %pS: ranks left in Slurm's order: %s",
			step_ptr, err.text);
	sn_rankmap_done(&map);
	sn_stepnodes_done(&nodes);
	sn_names_done(&names);
}
