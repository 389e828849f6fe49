/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steporder.c - have srun put a step's ranks where the layout wants them.
 *
 * How many ranks a node has is how many of its cards the job has, unless it is a
 * spare: slurmctld says that, and nothing else here does for sure.
 */
#include "plugins/compat.h"

#include <errno.h>
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
#include "topology/spares.h"

/* What srun in a job finds of the option that the job was submitted with. */
#define INHERITED "SLURM_SPANK_" SN_JOBOPT_PREFIX

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

/* nodes: with ranks. */
static bool is_whole(slurm_opt_t *opt, uint32_t nodes)
{
	return !slurm_option_set_by_cli(opt, 'N') ||
		((uint32_t)opt->min_nodes == nodes &&
		 (!opt->max_nodes || (uint32_t)opt->max_nodes == nodes));
}

static bool count_cards(const slurm_job_info_t *job, uint32_t n,
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

static void take(slurm_opt_t *opt, char *list, uint32_t nodes)
{
	xfree(opt->nodelist);
	opt->nodelist = list;
	/* Of the allocation's environment, where spares count too. */
	opt->min_nodes = opt->max_nodes = (int)nodes;
	opt->distribution = (opt->distribution & SLURM_DIST_STATE_FLAGS) |
		SLURM_DIST_ARBITRARY;
	/* It follows from the list, and -N beside a list is refused. */
	opt->nodes_set = false;
	setenv(SN_RANKS_ENV, SN_RANKS_BY_LAYOUT, 1);
}

/* From the cards of the job's nodes to the ranks on them. */
static int leave_spares_out(const struct sn_topo *topo,
			    const struct sn_jobspec *spec,
			    struct sn_stepnodes *nodes, uint32_t *ret_used,
			    struct sn_err *err)
{
	struct sn_spares_node *held = xcalloc(nodes->n, sizeof(*held));
	uint32_t *ranks = xcalloc(nodes->n, sizeof(*ranks)), i;
	int rc;

	for (i = 0; i < nodes->n; i++)
		held[i] = (struct sn_spares_node){
			nodes->topo_node[nodes->order[i]], nodes->run[i].ranks,
		};
	rc = sn_spares_find(topo, &spec->layout, spec->spares, held, nodes->n,
			    ranks, NULL, err);
	*ret_used = 0;
	for (i = 0; !rc && i < nodes->n; i++) {
		nodes->run[i].ranks = ranks[i];
		*ret_used += ranks[i] > 0;
	}
	xfree(held);
	xfree(ranks);
	return rc;
}

static int order(slurm_opt_t *opt, const struct sn_jobspec *spec,
		 const struct sn_names *names, const uint16_t *cards,
		 struct sn_err *err)
{
	struct sn_stepnodes nodes = { 0 };
	struct sn_rankmap map = { 0 };
	struct sn_topo *topo = NULL;
	uint32_t used = (uint32_t)names->n;
	int rc;

	rc = sn_site_topology(&topo, NULL, err);
	if (!rc && (sn_stepnodes_know(topo, names) ||
		    sn_stepnodes_make(topo, names, cards, &nodes)))
		rc = sn_err_set(err, -ENOENT, "a node is not in the topology");
	if (!rc && spec->spares)
		rc = leave_spares_out(topo, spec, &nodes, &used, err);
	if (!rc && is_whole(opt, used)) {
		rc = sn_rankmap_build(&spec->layout, nodes.run, nodes.n, &map,
				      err);
		if (!rc && (spec->spares ||
			    !sn_stepnodes_in_turn(&nodes, &map,
						  sn_site_fills_by_topology())))
			take(opt, name_nodes(names, &nodes, &map), used);
	}
	sn_rankmap_done(&map);
	sn_stepnodes_done(&nodes);
	sn_topo_destroy(topo);
	return rc;
}

static int order_in(slurm_opt_t *opt, const struct sn_jobspec *spec,
		    const slurm_job_info_t *job, struct sn_err *err)
{
	struct sn_names names = { NULL, 0, 0 };
	uint16_t *cards = NULL;
	int rc;

	if (!job->nodes || sn_hostlist_expand(job->nodes, &names, NULL) ||
	    !count_cards(job, (uint32_t)names.n, &cards))
		rc = sn_err_set(err, -EPROTO,
				"slurmctld does not tell the cards of the job's nodes");
	else
		rc = order(opt, spec, &names, cards, err);
	xfree(cards);
	sn_names_done(&names);
	return rc;
}

static int ask(slurm_opt_t *opt, const struct sn_jobspec *spec, const char *id,
	       struct sn_err *err)
{
	job_info_msg_t *jobs = NULL;
	int rc = 0;

	if (slurm_load_job(&jobs, SN_WHICH_JOB((uint32_t)strtoul(id, NULL, 10)),
			   SHOW_DETAIL))
		return sn_err_set(err, -EPROTO,
				  "slurmctld does not tell the job's nodes: %s",
				  slurm_strerror(errno));
	if (jobs->record_count == 1)
		rc = order_in(opt, spec, &jobs->job_array[0], err);
	slurm_free_job_info_msg(jobs);
	return rc;
}

bool steporder_set(slurm_opt_t *opt)
{
	struct sn_jobspec_text text = {
		.parallel = getenv(INHERITED "parallel"),
		.spares = getenv(INHERITED "spares"),
	};
	const char *id = getenv("SLURM_JOB_ID");
	struct sn_err err = { "" };
	struct sn_jobspec spec;

	/* An srun inside a task of another one has that one's. Of snrun's own
	 * the plan is still there, which no task sees. */
	if (!getenv(SN_STEPENV_PLAN))
		unsetenv(SN_RANKS_ENV);
	if (!id || !text.parallel || wants_own_order(opt) ||
	    sn_jobspec_parse(&text, 0, &spec, NULL) || !spec.has_parallel ||
	    (SN_SELECT_ORDERS_RANKS && !spec.spares) ||
	    (opt->ntasks_set && (uint32_t)opt->ntasks != spec.layout.world) ||
	    !ask(opt, &spec, id, &err))
		return true;
	if (!spec.spares) {
		verbose("cli_filter/supernode: ranks left in Slurm's order: %s",
			err.text);
		return true;
	}
	error("the ranks of job %s cannot be kept off its spare nodes: %s", id,
	      err.text);
	return false;
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
