/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steporder.c - have srun put a step's ranks where the layout wants them.
 *
 * How many ranks a node has is how many of its cards the job has: slurmctld
 * says that, and nothing else here does for sure.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/log.h"
#include "src/common/slurm_opt.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "launcher/stepenv.h"
#include "plugins/cli_filter_supernode/steporder.h"
#include "plugins/common/jobopts.h"
#include "plugins/common/sitefiles.h"
#include "plugins/common/stepnodes.h"
#include "snctl/gresidx.h"

/* What srun in a job finds of the option that the job was submitted with. */
#define INHERITED "SLURM_SPANK_" SN_JOBOPT_PREFIX "parallel"

static bool wants_own_order(slurm_opt_t *opt)
{
	uint32_t dist = opt->distribution & SLURM_DIST_STATE_BASE;

	return opt->srun_opt->interactive || opt->nodelist || opt->nodefile ||
		opt->exclude || getenv("SLURM_HOSTFILE") ||
		getenv("SLURM_HET_SIZE") ||
		slurm_option_isset(opt, "relative") ||
		(dist && dist != SLURM_DIST_UNKNOWN &&
		 (dist & SLURM_DIST_NODEMASK) != SLURM_DIST_NODEBLOCK);
}

static bool is_whole(slurm_opt_t *opt, const struct sn_layout *layout,
		     uint32_t nodes)
{
	if (opt->ntasks_set && (uint32_t)opt->ntasks != layout->world)
		return false;
	return !slurm_option_set_by_cli(opt, 'N') ||
		((uint32_t)opt->min_nodes == nodes &&
		 (!opt->max_nodes || (uint32_t)opt->max_nodes == nodes));
}

static bool count_ranks(const slurm_job_info_t *job, uint32_t n,
			uint16_t **ret)
{
	struct sn_policy policy;
	struct sn_err err;
	uint32_t i;

	if (job->gres_detail_cnt != n)
		return false;
	if (sn_site_policy(&policy, &err))
		verbose("cli_filter/supernode: %s", err.text);
	*ret = xcalloc(n, sizeof(**ret));
	for (i = 0; i < n; i++)
		(*ret)[i] = (uint16_t)gres_count(job->gres_detail_str[i],
						 policy.card_gres);
	return true;
}

/* n003,n003,n001,…: the node of rank 0, of rank 1, … */
static char *name_nodes(const struct sn_names *names,
			const struct sn_stepnodes *nodes,
			const struct sn_rankmap *map)
{
	char *list = NULL, *at = NULL;
	uint32_t rank;

	for (rank = 0; rank < map->world; rank++)
		xstrfmtcatat(list, &at, "%s%s", rank ? "," : "",
			     names->name[nodes->order[map->node[rank]]]);
	return list;
}

static void take(slurm_opt_t *opt, char *list)
{
	xfree(opt->nodelist);
	opt->nodelist = list;
	opt->distribution = (opt->distribution & SLURM_DIST_STATE_FLAGS) |
		SLURM_DIST_ARBITRARY;
	/* It follows from the list, and -N beside a list is refused. */
	opt->nodes_set = false;
	setenv(SN_RANKS_ENV, SN_RANKS_BY_LAYOUT, 1);
}

static void order(slurm_opt_t *opt, const struct sn_layout *layout,
		  const struct sn_names *names, const uint16_t *ranks)
{
	struct sn_stepnodes nodes = { 0 };
	struct sn_rankmap map = { 0 };
	struct sn_topo *topo = NULL;
	struct sn_err err = { "a node is not in the topology" };

	if (sn_site_topology(&topo, NULL, &err) ||
	    sn_stepnodes_know(topo, names) ||
	    sn_stepnodes_make(topo, names, ranks, &nodes) ||
	    sn_rankmap_build(layout, nodes.run, nodes.n, &map, &err))
		verbose("cli_filter/supernode: ranks left in Slurm's order: %s",
			err.text);
	else if (!sn_stepnodes_in_turn(&nodes, &map,
				       sn_site_fills_by_topology()))
		take(opt, name_nodes(names, &nodes, &map));
	sn_rankmap_done(&map);
	sn_stepnodes_done(&nodes);
	sn_topo_destroy(topo);
}

static void order_in(slurm_opt_t *opt, const struct sn_layout *layout,
		     const slurm_job_info_t *job)
{
	struct sn_names names = { NULL, 0, 0 };
	uint16_t *ranks = NULL;

	if (job->nodes && !sn_hostlist_expand(job->nodes, &names, NULL) &&
	    is_whole(opt, layout, (uint32_t)names.n) &&
	    count_ranks(job, (uint32_t)names.n, &ranks))
		order(opt, layout, &names, ranks);
	xfree(ranks);
	sn_names_done(&names);
}

void steporder_set(slurm_opt_t *opt)
{
	struct sn_jobspec_text text = { .parallel = getenv(INHERITED) };
	const char *id = getenv("SLURM_JOB_ID");
	job_info_msg_t *jobs = NULL;
	struct sn_jobspec spec;

	/* An srun inside a task of another one has that one's. Of snrun's own
	 * the plan is still there, which no task sees. */
	if (!getenv(SN_STEPENV_PLAN))
		unsetenv(SN_RANKS_ENV);
	if (SN_SELECT_ORDERS_RANKS || !id || !text.parallel ||
	    wants_own_order(opt) || sn_jobspec_parse(&text, 0, &spec, NULL) ||
	    !spec.has_parallel ||
	    (opt->ntasks_set && (uint32_t)opt->ntasks != spec.layout.world))
		return;
	if (slurm_load_job(&jobs, SN_WHICH_JOB((uint32_t)strtoul(id, NULL, 10)),
			   SHOW_DETAIL)) {
		verbose("cli_filter/supernode: slurmctld does not tell job %s's nodes: %s",
			id, slurm_strerror(errno));
		return;
	}
	if (jobs->record_count == 1)
		order_in(opt, &spec.layout, &jobs->job_array[0]);
	slurm_free_job_info_msg(jobs);
}

void steporder_keep_block(slurm_opt_t *opt)
{
	uint32_t dist = opt->distribution & SLURM_DIST_STATE_BASE;

	/* A hostfile makes it arbitrary later, but only what is not set. */
	if (!sn_site_fills_by_topology() || getenv("SLURM_HOSTFILE") ||
	    (dist && dist != SLURM_DIST_UNKNOWN))
		return;
	opt->distribution = (opt->distribution & SLURM_DIST_STATE_FLAGS) |
		SLURM_DIST_BLOCK;
}
