/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steptopo.c - keep the ranks of a supernode together.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "topology/hostlist.h"
#include "plugins/common/jobopts.h"
#include "plugins/common/topoapi.h"
#include "plugins/select_supernode/steptopo.h"

/* A node of the step. */
struct place {
	uint32_t first; /* node of the step, first of its supernode */
	uint32_t inx; /* node of the step */
};

static bool is_parallel(const job_record_t *job_ptr)
{
	struct sn_jobspec_text text;

	return sn_jobopts_find(job_ptr->spank_job_env,
			       job_ptr->spank_job_env_size, &text) &&
	       text.parallel;
}

/* Are the ranks dealt node by node? A user's own order may come out so too, but
 * then under another name. */
static bool is_in_blocks(const slurm_step_layout_t *layout)
{
	uint32_t n, k, rank = 0;

	switch (layout->task_dist & SLURM_DIST_NODEMASK) {
	case SLURM_DIST_NODEBLOCK:
	case SLURM_DIST_NODECYCLIC:
	case SLURM_DIST_UNKNOWN:
	case 0:
		break;
	default:
		return false;
	}
	for (n = 0; n < layout->node_cnt; n++)
		for (k = 0; k < layout->tasks[n]; k++)
			if (layout->tids[n][k] != rank++)
				return false;
	return true;
}

static int by_supernode(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->inx < y->inx ? -1 : x->inx > y->inx;
}

/* False if a node is not in the model. */
static bool find_places(const struct sn_topo *topo, const struct sn_names *names,
			struct place *place)
{
	uint32_t *first = malloc(((size_t)topo->n_supernodes + 1) *
				 sizeof(*first));
	uint32_t n, t = 0;

	for (n = 0; first && n < topo->n_supernodes; n++)
		first[n] = SN_NONE;
	for (n = 0; first && n < names->n && t != SN_NONE; n++) {
		uint32_t s;

		t = sn_topo_find_node(topo, names->name[n]);
		if (t == SN_NONE)
			break;
		s = topo->node[t].supernode;
		if (first[s] == SN_NONE)
			first[s] = n;
		place[n] = (struct place){ .first = first[s], .inx = n };
	}
	free(first);
	return n == names->n;
}

static void deal(slurm_step_layout_t *layout, const struct place *place)
{
	uint32_t n, k, rank = 0;

	for (n = 0; n < layout->node_cnt; n++)
		for (k = 0; k < layout->tasks[place[n].inx]; k++)
			layout->tids[place[n].inx][k] = rank++;
}

void steptopo_order(step_record_t *step_ptr)
{
	slurm_step_layout_t *layout = step_ptr->step_layout;
	struct sn_names names = { NULL, 0, 0 };
	const struct sn_topoapi *api;
	struct place *place = NULL;
	struct sn_err err;

	if (!layout || !layout->tids || !layout->node_list ||
	    layout->node_cnt < 2 || !step_ptr->job_ptr ||
	    step_ptr->step_id.step_id > SLURM_MAX_NORMAL_STEP_ID ||
	    is_parallel(step_ptr->job_ptr) || !is_in_blocks(layout))
		return;
	/* Under --stepmgr this runs in slurmstepd, which has no model. */
	api = sn_topoapi_find();
	if (!api || !api->topo() ||
	    sn_hostlist_expand(layout->node_list, &names, &err))
		return;
	if (names.n == layout->node_cnt)
		place = calloc(names.n, sizeof(*place));
	if (place && find_places(api->topo(), &names, place)) {
		qsort(place, names.n, sizeof(*place), by_supernode);
		deal(layout, place);
	}
	free(place);
	sn_names_done(&names);
}
