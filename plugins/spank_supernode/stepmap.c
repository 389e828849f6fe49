/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepmap.c - where a step's ranks are, worked out again on each node.
 *
 * slurmctld gave the ranks; nothing carries its map to the nodes. But the map
 * depends only on the step's task counts, the layout and topology.conf, so
 * each node comes to the same one. What all nodes must agree on (the node of
 * rank 0, the order of nodes) is decided only by what all nodes see alike.
 */
#include "plugins/compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/stepenv.h"
#include "topology/hostlist.h"
#include "plugins/common/jobopts.h"
#include "plugins/common/sitefiles.h"
#include "plugins/common/stepnodes.h"
#include "plugins/spank_supernode/spank_supernode.h"

static bool get_env(spank_t sp, const char *name, char **ret)
{
	*ret = stepfacts_env(sp, name);
	return *ret;
}

/* "8(x2),6" into counts of n nodes. */
static bool parse_tasks(const char *text, uint16_t *ret, size_t n)
{
	size_t i = 0;

	while (*text) {
		char *end;
		unsigned long tasks = strtoul(text, &end, 10), times = 1;

		if (end == text || tasks > UINT16_MAX)
			return false;
		if (!strncmp(end, "(x", 2)) {
			times = strtoul(end + 2, &end, 10);
			if (*end++ != ')')
				return false;
		}
		while (times-- && i < n)
			ret[i++] = (uint16_t)tasks;
		text = end;
		if (*text == ',')
			text++;
		else if (*text)
			return false;
	}
	return i == n;
}

static bool starts_with(spank_t sp, const char *name, const char *with)
{
	char *value = NULL;
	bool does = get_env(sp, name, &value) &&
		!strncmp(value, with, strlen(with));

	free(value);
	return does;
}

static bool is_arbitrary(spank_t sp)
{
	return starts_with(sp, "SLURM_DISTRIBUTION", "arbitrary");
}

/* cli_filter/supernode had srun name the node of each rank. */
static bool by_layout(spank_t sp)
{
	return is_arbitrary(sp) &&
		starts_with(sp, SN_RANKS_ENV, SN_RANKS_BY_LAYOUT);
}

static bool is_block(spank_t sp)
{
	char *dist = NULL;
	bool is = !get_env(sp, "SLURM_DISTRIBUTION", &dist) ||
		!strncmp(dist, "block", 5);

	free(dist);
	return is;
}

/* Block distribution, and cyclic, srun's default for one task a node, which is
 * then the same. What else a user asks for is an order of his own. */
static bool left_to_us(spank_t sp, const uint16_t *tasks, uint32_t n)
{
	uint32_t i;

	if (is_block(sp))
		return true;
	for (i = 0; i < n; i++)
		if (tasks[i] != 1)
			return false;
	return starts_with(sp, "SLURM_DISTRIBUTION", "cyclic");
}

/* The ranks are in the map's order only where something had a reason to put
 * them so: select/supernode, or srun itself; from 25.05 on it is then checked. */
static bool ranks_follow_map(spank_t sp, const uint16_t *tasks, uint32_t n)
{
	if (SN_SELECT_ORDERS_RANKS && !sn_site_selects_supernode())
		return false;
	return by_layout(sp) || left_to_us(sp, tasks, n);
}

/* In slurmctld's order of ranks, whatever that is, groups would be split. */
static bool out_of_order(spank_t sp, const struct sn_stepnodes *nodes,
			 const struct sn_rankmap *map)
{
	return !SN_SELECT_ORDERS_RANKS && !by_layout(sp) &&
		!sn_stepnodes_in_turn(nodes, map, is_block(sp) &&
				      sn_site_fills_by_topology());
}

/*
 * What snrun says of a step that it starts. A list that is not of this step's
 * nodes came from a step around it, and is nothing to go by.
 */
static void take_plan(spank_t sp, const struct sn_names *names, uint32_t here,
		      struct sn_names *ret_all, struct stepmap *ret)
{
	struct sn_names order = { NULL, 0, 0 };
	struct sn_stepenv plan;
	char *text = NULL, *list = NULL;
	size_t i;

	/* Then it is a part, or nothing of ours. */
	if (ret->ranks)
		ret->whole = false;
	if (!is_arbitrary(sp) ||
	    !get_env(sp, SN_STEPENV_PLAN, &text) ||
	    sn_stepenv_parse(text, &plan, NULL) ||
	    /* It may be too long for a variable. */
	    (get_env(sp, SN_STEPENV_NODES, &list) &&
	     sn_hostlist_expand(list, &order, NULL)))
		goto out;
	for (i = 0; i < order.n && strcmp(order.name[i], names->name[here]); i++)
		;
	if (list && ((ret->ranks ? order.n < names->n : order.n != names->n) ||
		     i == order.n))
		goto out;
	ret->whole |= ret->ranks != NULL;
	ret->planned = true;
	ret->has_group = list;
	ret->group = (uint32_t)i;
	ret->generation = plan.generation;
	ret->max_restarts = plan.max_restarts;
	ret->port = plan.port;
	if (*plan.master || order.n)
		ret->master = strdup(*plan.master ? plan.master : order.name[0]);
	if (ret->ranks && order.n) {
		*ret_all = order;
		order = (struct sn_names){ NULL, 0, 0 };
	}
out:
	sn_names_done(&order);
	free(text);
	free(list);
}

/*
 * Is the layout started on more nodes than have ranks? Nodes are only listed in
 * the environment as they were when the job began, so that after a loss this
 * finds less. Whoever names the node of each rank knows what he does.
 */
static bool is_on_spares(spank_t sp, const struct sn_topo *topo,
			 struct stepmap *map)
{
	bool *used = calloc((size_t)topo->n_supernodes + 1, sizeof(*used));
	struct sn_names names = { NULL, 0, 0 };
	uint64_t supernodes = 0, spares;
	char *list = NULL;
	size_t i;

	if (used && get_env(sp, "SLURM_JOB_NODELIST", &list))
		(void)sn_hostlist_expand(list, &names, NULL);
	for (i = 0; i < names.n; i++) {
		uint32_t t = sn_topo_find_node(topo, names.name[i]);

		if (t == SN_NONE) {
			supernodes++; /* loose */
		} else if (!used[topo->node[t].supernode]) {
			used[topo->node[t].supernode] = true;
			supernodes++;
		}
	}
	spares = supernodes * map->spec.spares;
	map->on_spares = names.n > spares && map->n_nodes > names.n - spares;
	if (map->on_spares)
		sn_err_set(&map->why, 0,
			   "%llu of the job's %zu nodes are spares, and this step has ranks on %u nodes",
			   (unsigned long long)spares, names.n, map->n_nodes);
	sn_names_done(&names);
	free(list);
	free(used);
	return map->on_spares;
}

static void place_here(const struct sn_topo *topo,
		       const struct sn_stepnodes *nodes, uint32_t here,
		       struct stepmap *ret)
{
	uint32_t t = nodes->topo_node[here], s = topo->node[t].supernode, i;
	uint32_t last = SN_NONE;

	ret->supernode = strdup(topo->supernode[s].name);
	ret->loose = topo->supernode[s].loose;
	ret->shape = topo->supernode[s].shape;
	if (topo->node[t].unit != SN_NONE)
		ret->unit = strdup(topo->unit[topo->node[t].unit].name);
	for (i = 0; i < nodes->n; i++) {
		uint32_t other = topo->node[nodes->topo_node[nodes->order[i]]].supernode;

		if (other == last)
			continue;
		last = other;
		if (other == s)
			ret->supernode_index = ret->n_supernodes;
		ret->n_supernodes++;
	}
}

/* The nodes of all parts say where this one is among the supernodes. */
static void place_part(struct sn_topo *topo, const struct sn_names *all,
		       struct stepmap *ret)
{
	uint16_t *tasks = calloc(all->n + 1, sizeof(*tasks));
	struct sn_stepnodes nodes = { 0 };

	if (tasks && !sn_stepnodes_know(topo, all) &&
	    !sn_stepnodes_make(topo, all, tasks, &nodes))
		place_here(topo, &nodes, ret->group, ret);
	sn_stepnodes_done(&nodes);
	free(tasks);
}

static void make(spank_t sp, struct stepmap *ret, struct sn_names *names,
		 uint16_t *tasks, uint32_t here)
{
	struct sn_names all = { NULL, 0, 0 };
	struct sn_stepnodes nodes = { 0 };
	struct sn_topo *topo = NULL;
	struct sn_err err;
	bool follow;

	take_plan(sp, names, here, &all, ret);
	follow = ret->whole && !ret->planned &&
		ranks_follow_map(sp, tasks, (uint32_t)names->n);
	/* Where another part's layout put its ranks is not known here. */
	if (!is_arbitrary(sp) && !follow && (!ret->other_part || names->n == 1))
		ret->master = strdup(names->name[0]);
	if (sn_site_topology_in_effect(&topo, &err)) {
		slurm_debug("supernode: %s", err.text);
		goto out;
	}
	if (all.n) {
		ret->n_nodes = (uint32_t)all.n;
		place_part(topo, &all, ret);
		goto out;
	}
	if (ret->whole && ret->spec.spares && !is_arbitrary(sp) &&
	    is_on_spares(sp, topo, ret))
		goto out;
	if (sn_stepnodes_know(topo, names) ||
	    sn_stepnodes_make(topo, names, tasks, &nodes))
		goto out;
	place_here(topo, &nodes, here, ret);
	if (!follow)
		goto out;
	if (sn_rankmap_build(&ret->spec.layout, nodes.run, nodes.n, &ret->map,
			     &ret->why)) {
		/* slurmctld came to the same end and left the ranks alone: its
		 * nodes are in other supernodes now than when the job started,
		 * or the step has other counts than the job. */
		ret->split = true;
		goto out;
	}
	if (out_of_order(sp, &nodes, &ret->map)) {
		sn_rankmap_done(&ret->map);
		ret->refused = true;
		goto out;
	}
	ret->has_map = true;
	ret->here = nodes.position[here];
	ret->has_group = true;
	ret->group = ret->here;
	ret->master = strdup(names->name[nodes.order[ret->map.node[0]]]);
out:
	sn_names_done(&all);
	sn_stepnodes_done(&nodes);
	sn_topo_destroy(topo);
}

/* Of a layout in several jobs this step is a part, whose tasks are told their
 * ranks. */
static void take_ranks(spank_t sp, uint32_t n_tasks, struct stepmap *ret)
{
	char *text = stepfacts_env(sp, SN_STEPENV_PLAN_RANKS);
	struct sn_stepenv_rank *ranks;
	struct sn_err err = { "no memory" };

	if (!text)
		return;
	ranks = calloc((size_t)n_tasks + 1, sizeof(*ranks));
	if (ranks && !sn_stepenv_ranks_parse(text, ranks, n_tasks, &err)) {
		ret->ranks = ranks;
	} else {
		slurm_error("supernode: %s", err.text);
		free(ranks);
	}
	free(text);
	for (uint32_t i = 0; ret->ranks && i < n_tasks; i++)
		if (ranks[i].rank >= ret->spec.layout.world) {
			free(ranks);
			ret->ranks = NULL;
		}
}

/* The script of a heterogeneous job, and every srun in it, knows the options of
 * the first part only. */
static bool is_other_part(spank_t sp)
{
	char *first = NULL;
	uint32_t job;
	bool is = get_env(sp, "SLURM_JOB_ID_HET_GROUP_0", &first) &&
		spank_get_item(sp, S_JOB_ID, &job) == ESPANK_SUCCESS &&
		job != strtoul(first, NULL, 10);

	free(first);
	return is;
}

static void prepare_tasks(spank_t sp, struct stepmap *ret)
{
	char *mode = stepfacts_env(sp, SN_STEPENV_BIND);

	stepfacts_make(sp, &ret->facts);
	ret->bind = taskbind_prepare(mode, &ret->facts.policy);
	free(mode);
	/* They are for this step, not for one that a task may start. */
	spank_unsetenv(sp, SN_STEPENV_PLAN);
	spank_unsetenv(sp, SN_STEPENV_NODES);
	spank_unsetenv(sp, SN_STEPENV_PLAN_RANKS);
}

void stepmap_make(spank_t sp, struct stepmap *ret)
{
	struct sn_names names = { NULL, 0, 0 };
	char *list = NULL, *counts = NULL;
	uint16_t *tasks = NULL;
	uint32_t step_id, here, total;

	memset(ret, 0, sizeof(*ret));
	/* A batch script or a prolog is no rank. If it had their variables,
	 * the srun in it would hand them on to the real ones. */
	if (spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
	    step_id > SLURM_MAX_NORMAL_STEP_ID)
		return;
	if (!options_parallel(&ret->spec))
		return;
	ret->parallel = true;
	ret->other_part = is_other_part(sp);
	if (!ret->other_part &&
	    spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &total) == ESPANK_SUCCESS) {
		ret->whole = total == ret->spec.layout.world;
		take_ranks(sp, total, ret);
	}
	if (spank_get_item(sp, S_JOB_NNODES, &ret->n_nodes) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_NODEID, &here) != ESPANK_SUCCESS ||
	    !get_env(sp, "SLURM_STEP_NODELIST", &list) ||
	    !get_env(sp, "SLURM_STEP_TASKS_PER_NODE", &counts) ||
	    sn_hostlist_expand(list, &names, NULL))
		goto out;
	/* Another step's variables, handed on by hand, do not fit ours. */
	tasks = calloc(names.n ? names.n : 1, sizeof(*tasks));
	if (tasks && names.n == ret->n_nodes && here < names.n &&
	    parse_tasks(counts, tasks, names.n))
		make(sp, ret, &names, tasks, here);
out:
	prepare_tasks(sp, ret);
	free(tasks);
	sn_names_done(&names);
	free(list);
	free(counts);
}
