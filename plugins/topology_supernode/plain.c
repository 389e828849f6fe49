/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plain.c - choose the nodes of a job without --parallel.
 *
 * The engine names nodes, and on those alone Slurm's own functions count CPUs,
 * memory and gres.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/interfaces/select.h"

#include "src/plugins/topology/common/common_topo.h"
#include "src/plugins/topology/common/eval_nodes.h"
#include "src/plugins/topology/common/gres_sched.h"

#include "plugins/topology_supernode/aggregate.h"
#include "plugins/topology_supernode/keep.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/need.h"
#include "plugins/topology_supernode/offer.h"
#include "plugins/topology_supernode/plain.h"
#include "plugins/topology_supernode/replacing.h"
#include "plugins/topology_supernode/undo.h"

/* How many numbers of segments to try for a job whose nodes nobody counted. */
#define TRIES 8

static __thread uint16_t mode_now;

void plain_set_mode(uint16_t mode)
{
	mode_now = mode & SELECT_MODE_BASE;
}

uint16_t plain_mode(void)
{
	return mode_now;
}

/* ---- Slurm's counting ------------------------------------------------------------ */

/*
 * Take every node of node_map, as the loops of Slurm's own eval functions take
 * the nodes they have chosen. min_nodes is their number.
 */
static int take_all(topology_eval_t *topo_eval)
{
	job_record_t *job_ptr = topo_eval->job_ptr;
	job_details_t *details = job_ptr->details;
	int left = (int)topo_eval->min_nodes, i;
	int64_t rem_cpus = details->min_cpus, rem_max_cpus;
	uint64_t max_tasks;

	topo_eval->avail_cpus = 0;
	topo_eval->gres_per_job = gres_sched_init(job_ptr->gres_list_req);
	rem_max_cpus = eval_nodes_get_rem_max_cpus(details, left);
	max_tasks = eval_nodes_set_max_tasks(job_ptr, (uint64_t)rem_max_cpus,
					     topo_eval->max_nodes);
	for (i = 0; next_node_bitmap(topo_eval->node_map, &i); i++) {
		eval_nodes_select_cores(topo_eval, i, left);
		if (!topo_eval->avail_cpus ||
		    !eval_nodes_cpus_to_use(topo_eval, i, rem_max_cpus, left,
					    &max_tasks, true) ||
		    !topo_eval->avail_cpus)
			return SLURM_ERROR;
		rem_cpus -= topo_eval->avail_cpus;
		rem_max_cpus -= topo_eval->avail_cpus;
		left--;
	}
	if (left > 0 || rem_cpus > 0 ||
	    !gres_sched_test(job_ptr->gres_list_req, job_ptr->job_id))
		return SLURM_ERROR;
	eval_nodes_clip_socket_cores(topo_eval);
	return SLURM_SUCCESS;
}

/* Cores that gres binding took away are no CPUs any more. */
static int lower_cpus(topology_eval_t *topo_eval)
{
	int i;

	if (!topo_eval->job_ptr->gres_list_req)
		return SLURM_SUCCESS;
	for (i = 0; next_node_bitmap(topo_eval->node_map, &i); i++) {
		avail_res_t *res = topo_eval->avail_res_array[i];
		uint32_t cpus;

		if (!topo_eval->avail_core[i])
			continue;
		cpus = (uint32_t)bit_set_count(topo_eval->avail_core[i]) *
			node_record_table_ptr[i]->tpc;
		if (cpus < res->avail_cpus)
			res->avail_cpus = (uint16_t)cpus;
		if (!res->avail_cpus)
			return SLURM_ERROR;
	}
	return SLURM_SUCCESS;
}

static int count_once(topology_eval_t *topo_eval,
		      const struct sn_placement *placed, bool first_pass)
{
	uint32_t n;

	bit_clear_all(topo_eval->node_map);
	for (n = 0; n < placed->n_nodes; n++)
		bit_set(topo_eval->node_map,
			model_node_inx(placed->node[n].node));
	topo_eval->first_pass = first_pass;
	topo_eval->min_nodes = placed->n_nodes;
	topo_eval->req_nodes = placed->n_nodes;
	topo_eval->max_nodes = placed->n_nodes;
	return take_all(topo_eval) || lower_cpus(topo_eval) ? SLURM_ERROR :
		SLURM_SUCCESS;
}

/*
 * Give the job these nodes, all of them, if Slurm finds what it needs there;
 * else everything is as it was. Slurm's common_topo_choose_nodes() does the
 * same, with gres near the cores first and then with any, but it copies the
 * cores of every node of the cluster for it.
 */
static int settle(topology_eval_t *topo_eval, const struct sn_placement *placed)
{
	topology_eval_t was = *topo_eval;
	struct undo undo;
	int rc = SLURM_ERROR, pass;

	if (undo_save(&undo, topo_eval, placed))
		return SLURM_ERROR;
	for (pass = 0; rc && pass < 2; pass++) {
		rc = count_once(topo_eval, placed, pass == 0);
		if (rc) {
			*topo_eval = was;
			undo_all(&undo, topo_eval);
		}
	}
	undo_done(&undo);
	return rc;
}

/* ---- the engine ----------------------------------------------------------------- */

static int place(struct need *need, const struct sn_place_request *request,
		 struct sn_placement *ret)
{
	struct sn_place_state state = {
		.node = need->offer, .supernode = need->supernode,
	};
	struct sn_err err = { "" };
	int rc = aggregate_place(need, &state, request, ret, &err);

	if (!rc && need->allow &&
	    !sn_replace_fits(model_topo(), need->allow, ret, need->offer)) {
		sn_placement_done(ret);
		*ret = (struct sn_placement){ 0 };
		rc = sn_err_set(&err, -ENOSPC, "more nodes than are to be replaced");
	}
	if (rc)
		log_flag(SELECT_TYPE, "topology/supernode: %pJ: %s",
			 need->topo_eval->job_ptr, err.text);
	return rc;
}

/* n nodes: those which all have their share, else any that together do. */
static int place_nodes(struct need *need, uint32_t n, struct sn_placement *ret)
{
	struct sn_place_request request;
	bool uneven;
	int rc = -ENOSPC;

	if (need_by_nodes(need, n, &request, &uneven) &&
	    (!uneven || need->segment))
		rc = place(need, &request, ret);
	if (!rc || !uneven)
		return rc;
	if (need->segment ? need_any_nodes(need, n, &request) :
	    need_by_tasks(need, n, &request))
		rc = place(need, &request, ret);
	return rc;
}

static int settle_nodes(topology_eval_t *topo_eval, struct need *need,
			uint32_t n)
{
	struct sn_placement placed = { 0 };
	int rc = place_nodes(need, n, &placed) ? SLURM_ERROR :
		settle(topo_eval, &placed);

	if (!rc)
		log_flag(SELECT_TYPE, "topology/supernode: %pJ: %u nodes in %u supernodes%s",
			 topo_eval->job_ptr, placed.n_nodes,
			 placed.n_supernodes,
			 placed.exact ? "" : ", perhaps not the best");
	sn_placement_done(&placed);
	return rc;
}

/* The most nodes, of a range, that the engine finds room for. */
static uint32_t most_nodes(struct need *need, uint32_t low, uint32_t high,
			   uint32_t step)
{
	while (low < high) {
		uint32_t mid = low + ((high - low) / step + 1) / 2 * step;
		struct sn_placement placed = { 0 };

		if (place_nodes(need, mid, &placed))
			high = mid - step;
		else
			low = mid;
		sn_placement_done(&placed);
	}
	return low;
}

/* As many as wanted, else as many as there are, but not under the least. */
static int choose_counted(topology_eval_t *topo_eval, struct need *need)
{
	uint32_t k = need->segment ? need->segment : 1;
	uint32_t low = (need->min + k - 1) / k * k, high = need->want / k * k;
	int offered = bit_set_count(topo_eval->node_map), rc;

	if (low > high || low > (uint32_t)offered)
		return SLURM_ERROR;
	if (high > (uint32_t)offered)
		high = (uint32_t)offered / k * k;
	rc = settle_nodes(topo_eval, need, high);
	if (rc && low < high)
		rc = settle_nodes(topo_eval, need,
				  most_nodes(need, low, high - k, k));
	return rc;
}

/* As few as the tasks need. */
static int choose_open(topology_eval_t *topo_eval, struct need *need)
{
	struct sn_place_request request;
	struct sn_placement placed = { 0 };
	int rc = SLURM_ERROR;
	uint32_t n = 0;

	if (need_by_tasks(need, 0, &request) && !place(need, &request, &placed)) {
		n = placed.n_nodes;
		if (n >= need->min && n <= need->max)
			rc = settle(topo_eval, &placed);
	}
	sn_placement_done(&placed);
	if (rc && n < need->min)
		rc = settle_nodes(topo_eval, need, need->min);
	else if (rc && n > need->max)
		rc = settle_nodes(topo_eval, need, need->max);
	return rc;
}

static int choose_open_segments(topology_eval_t *topo_eval, struct need *need)
{
	uint32_t k = need->segment, n = (need->min + k - 1) / k * k, tries;
	int rc = SLURM_ERROR;

	for (tries = 0; rc && tries < TRIES && n <= need->max; tries++, n += k)
		rc = settle_nodes(topo_eval, need, n);
	return rc;
}

static int choose(topology_eval_t *topo_eval, struct need *need)
{
	if (!need->open)
		return choose_counted(topo_eval, need);
	if (need->segment)
		return choose_open_segments(topo_eval, need);
	return choose_open(topo_eval, need);
}

/* Small jobs: loose nodes, then broken supernodes too, then all. */
static int choose_small(topology_eval_t *topo_eval, struct need *need)
{
	uint8_t *level = keep_levels(need);
	uint32_t n = model_topo()->n_nodes, t;
	struct need_node *all = need->node;
	int rc = SLURM_ERROR, upto;

	need->node = calloc((size_t)n + 1, sizeof(*need->node));
	for (upto = KEEP_LOOSE; level && need->node && rc && upto < KEEP_WHOLE;
	     upto++) {
		memcpy(need->node, all, n * sizeof(*all));
		for (t = 0; t < n; t++)
			if (level[t] > upto)
				need->node[t].flags |= SN_NODE_ABSENT;
		rc = choose(topo_eval, need);
	}
	free(need->node);
	need->node = all;
	free(level);
	return rc ? choose(topo_eval, need) : rc;
}

/* ---- which jobs ------------------------------------------------------------------ */

/*
 * Who asks for one of Slurm's own ways to choose nodes gets it. --contiguous is none:
 * neighbours in the node table are no neighbours in the topology, so under every
 * topology but the flat one it has no effect, as its manual says.
 */
static bool is_for_slurm(const topology_eval_t *topo_eval)
{
	const job_record_t *job_ptr = topo_eval->job_ptr;
	const job_details_t *details = job_ptr->details;

	return job_ptr->bit_flags & SPREAD_JOB || details->arbitrary_tpn ||
		topo_eval->cr_type & SN_SELECT_LLN ||
		(job_ptr->part_ptr && job_ptr->part_ptr->flags & PART_FLAG_LLN);
}

/* Slurm's own choice, from what is not kept. */
static int leave_to_slurm(topology_eval_t *topo_eval, struct need *need)
{
	job_details_t *details = topo_eval->job_ptr->details;
	uint16_t contiguous = details->contiguous;
	uint32_t t;
	int i, rc;

	keep_idle(need);
	for (t = 0; t < model_topo()->n_nodes; t++) {
		i = model_node_inx(t);
		if (i >= 0 && need->node[t].flags & SN_NODE_ABSENT)
			bit_clear(topo_eval->node_map, i);
	}
	details->contiguous = 0;
	rc = common_topo_choose_nodes(topo_eval);
	details->contiguous = contiguous;
	return rc;
}

static int eval(topology_eval_t *topo_eval)
{
	struct need need = { 0 };
	int rc = SLURM_ERROR;

	if (need_init(&need, topo_eval)) {
		need_done(&need);
		return SLURM_ERROR;
	}
	/* A spare may be free for use another time, and a job for which Slurm
	 * finds no room at all is held for good. */
	if (mode_now != SELECT_MODE_TEST_ONLY) {
		if (replacing_limit(&need)) {
			need_done(&need);
			return SLURM_ERROR;
		}
		if (!need.allow)
			keep_spares(&need);
	}
	if (need.segment || !is_for_slurm(topo_eval)) {
		if (mode_now != SELECT_MODE_TEST_ONLY && keep_is_small(&need))
			rc = choose_small(topo_eval, &need);
		else
			rc = choose(topo_eval, &need);
	}
	/* Segments that can never be had are refused at submission; what stands
	 * in their way in a test of all nodes may pass. */
	if (rc && !need.allow && (!need.segment || mode_now == SELECT_MODE_TEST_ONLY))
		rc = leave_to_slurm(topo_eval, &need);
	need_done(&need);
	return rc;
}

/*
 * Each node is given CPUs for the tasks that it is to have, also if the job has
 * fewer. Slurms from 25.11 on bound the tasks of a node by the job's, and then round
 * down to --ntasks-per-node: so -n1 --ntasks-per-node=2 comes to none, or to too few
 * CPUs, and waits for ever; with cards too, which had no plugin before this suite and
 * were not asked. The number to count with is that of a node.
 */
int plain_eval(topology_eval_t *topo_eval)
{
	job_details_t *details = topo_eval->job_ptr->details;
	uint32_t tasks = details->num_tasks, cpus = details->min_cpus, least;
	int rc;

	if (!model_topo())
		return common_topo_choose_nodes(topo_eval);
	if (SN_BOUNDS_TASKS_PER_NODE && tasks &&
	    tasks < details->ntasks_per_node) {
		details->num_tasks = details->ntasks_per_node;
		least = details->num_tasks *
			(details->overcommit ? 1 :
			 offer_cpus_per_task(topo_eval->job_ptr));
		if (cpus < least)
			details->min_cpus = least;
	}
	rc = eval(topo_eval);
	details->num_tasks = tasks;
	details->min_cpus = cpus;
	return rc;
}
