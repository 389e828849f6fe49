/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.c - what a layout comes to on this cluster: nodes, at least, and
 * whether it could fit at all.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/list.h"
#include "src/common/node_conf.h"
#include "src/common/node_features.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/plan.h"
#include "topology/spares.h"

int plan_make(const struct sn_topoapi *api, const struct sn_jobspec *spec,
	      struct plan *ret, struct sn_err *err)
{
	uint32_t block = spec->layout.node_block ? spec->layout.node_block : 1;
	uint32_t per_node;

	memset(ret, 0, sizeof(*ret));
	ret->spec = spec;
	ret->card = api->policy()->card_gres;
	ret->world = spec->layout.world;
	ret->most_spares = sn_spares_most(&spec->layout, spec->spares);
	api->cards_per_node(&ret->most);
	if (!ret->most)
		return sn_err_set(err, -ENOSPC,
				  "--parallel: no node has gres/%s (supernode.conf's CardGres), so there is no card to run on",
				  ret->card);
	per_node = ret->most / block * block;
	if (!per_node)
		return sn_err_set(err, -ENOSPC,
				  "--parallel: %u ranks must share a node, but no node has more than %u cards; tp_within=supernode would let them spread",
				  block, ret->most);
	ret->least_nodes = (ret->world + per_node - 1) / per_node;
	return 0;
}

const char *plan_arithmetic(const struct plan *plan, char *buf, size_t size)
{
	const struct sn_layout *l = &plan->spec->layout;

	snprintf(buf, size, "tp·cp·pp·dp = %u·%u·%u·%u = %u ranks, one card each",
		 l->tp, l->cp, l->pp, l->dp, l->world);
	return buf;
}

/* ---- partitions -------------------------------------------------------------- */

static void each_partition(const job_desc_msg_t *job_desc,
			   void (*act)(part_record_t *part, void *arg),
			   void *arg)
{
	char *names = xstrdup(job_desc->partition), *save = NULL, *name;

	if (!names && default_part_loc)
		names = xstrdup(default_part_loc->name);
	for (name = names ? strtok_r(names, ",", &save) : NULL; name;
	     name = strtok_r(NULL, ",", &save)) {
		part_record_t *part = find_part_record(name);

		if (part)
			act(part, arg);
	}
	xfree(names);
}

static void add_nodes(part_record_t *part, void *arg)
{
	bitstr_t **nodes = arg;

	if (!part->node_bitmap)
		return;
	if (!*nodes)
		*nodes = bit_copy(part->node_bitmap);
	else
		bit_or(*nodes, part->node_bitmap);
}

static int has_feature_name(void *x, void *name)
{
	const node_feature_t *feature = x;

	return !xstrcmp(feature->name, name);
}

/* "a", "a&b" or "a|b": *nodes loses those without. What else there is needs
 * Slurm's own rules, and is left out: that can only promise too much. */
static void keep_features(char *features, bitstr_t *nodes)
{
	bool any = features && strchr(features, '|');
	char *words, *save = NULL, *word;
	bitstr_t *have;

	if (!features || !features[0] || features[strcspn(features, "[](),*!")] ||
	    (any && strchr(features, '&')))
		return;
	have = any ? bit_alloc(bit_size(nodes)) : bit_copy(nodes);
	words = xstrdup(features);
	for (word = strtok_r(words, "&|", &save); word;
	     word = strtok_r(NULL, "&|", &save)) {
		const node_feature_t *feature =
			list_find_first_ro(avail_feature_list,
					   has_feature_name, word);

		if (any && feature)
			bit_or(have, feature->node_bitmap);
		else if (!any && feature)
			bit_and(have, feature->node_bitmap);
		else if (!any)
			bit_clear_all(have);
	}
	bit_and(nodes, have);
	FREE_NULL_BITMAP(have);
	xfree(words);
}

bitstr_t *derive_usable_nodes(const job_desc_msg_t *job_desc)
{
	bitstr_t *nodes = NULL, *without = NULL;

	each_partition(job_desc, add_nodes, &nodes);
	if (nodes && job_desc->exc_nodes &&
	    !node_name2bitmap(job_desc->exc_nodes, true, &without, NULL))
		bit_and_not(nodes, without);
	FREE_NULL_BITMAP(without);
	if (nodes)
		keep_features(job_desc->features, nodes);
	return nodes;
}

/* OverSubscribe=EXCLUSIVE */
static void find_exclusive(part_record_t *part, void *arg)
{
	const char **name = arg;

	if (!part->max_share)
		*name = part->name;
}

int plan_check_whole(const job_desc_msg_t *job_desc, struct plan *plan,
		     struct sn_err *err)
{
	const char *part = NULL;
	char sum[160];

	each_partition(job_desc, find_exclusive, &part);
	plan->whole = part || job_desc->shared == JOB_SHARED_NONE;
	if (!plan->whole)
		return 0;
	if (!(plan->world % plan->most)) {
		plan->exact_nodes = plan->world / plan->most;
		return 0;
	}
	plan_arithmetic(plan, sum, sizeof(sum));
	if (job_desc->shared == JOB_SHARED_NONE)
		return sn_err_set(err, -EINVAL,
				  "--exclusive does not go with this --parallel: %s, which do not fill nodes of %u cards; leave --exclusive out",
				  sum, plan->most);
	return sn_err_set(err, -EINVAL,
			  "partition %s does not go with this --parallel: it gives whole nodes of %u cards, and %s, do not fill them; use another partition",
			  part, plan->most, sum);
}

/* ---- nodes --------------------------------------------------------------------- */

uint32_t plan_count_hosts(char *list)
{
	hostlist_t *hosts = list ? hostlist_create(list) : NULL;
	uint32_t n = 0;

	if (hosts) {
		hostlist_uniq(hosts);
		n = (uint32_t)hostlist_count(hosts);
		hostlist_destroy(hosts);
	}
	return n;
}

int plan_check_nodes(const struct plan *plan, const char *option, uint32_t min,
		     uint32_t max, uint32_t required, struct sn_err *err)
{
	char sum[160], range[64];

	plan_arithmetic(plan, sum, sizeof(sum));
	if (min == max)
		snprintf(range, sizeof(range), "%s%u", option, max);
	else
		snprintf(range, sizeof(range), "%s%u-%u", option, min, max);
	if (min > plan->world)
		return sn_err_set(err, -EINVAL,
				  "%s contradicts --parallel: %s, so at most %u nodes have one; leave it out",
				  range, sum, plan->world);
	if (max < plan->least_nodes)
		return sn_err_set(err, -EINVAL,
				  "%s contradicts --parallel: %s, but %u times %u cards a node are %u; leave it out or give at least %s%u",
				  range, sum, max, plan->most, max * plan->most,
				  option, plan->least_nodes);
	if (max < required)
		return sn_err_set(err, -EINVAL,
				  "%s contradicts -w, which names %u nodes",
				  range, required);
	if (plan->exact_nodes &&
	    (plan->exact_nodes < min || plan->exact_nodes > max))
		return sn_err_set(err, -EINVAL,
				  "%s contradicts --parallel: %u ranks with %u on each node take %u nodes",
				  range, plan->world, plan->most,
				  plan->exact_nodes);
	return 0;
}

static void raise_limit(part_record_t *part, void *arg)
{
	uint32_t *limit = arg;

	if (part->max_nodes > *limit)
		*limit = part->max_nodes;
}

/*
 * Without -N, 26.05 takes the number of tasks for the most nodes, and then lets
 * the job wait for ever if that is over the partition's MaxNodes, however few
 * nodes would do.
 */
static uint32_t most_nodes(const job_desc_msg_t *job_desc,
			   const struct plan *plan, uint32_t min)
{
	uint32_t most = plan->world + plan->most_spares, limit = 0;

	if (!SN_LIMITS_IMPLICIT_NODES)
		return NO_VAL;
	each_partition(job_desc, raise_limit, &limit);
	if (limit < most && limit >= min)
		return limit;
	return plan->most_spares ? most : NO_VAL;
}

/* Slurm's record says what is asked, so that whoever looks at it later need not
 * know why: the least number that could do, -N and -w included. */
int plan_set_nodes(job_desc_msg_t *job_desc, struct plan *plan,
		   struct sn_err *err)
{
	uint32_t required = plan_count_hosts(job_desc->req_nodes);
	uint32_t min = plan_is_set32(job_desc->min_nodes) ? job_desc->min_nodes : 1;
	uint32_t max = plan_is_set32(job_desc->max_nodes) ? job_desc->max_nodes : 0;
	int rc;

	if (job_desc->job_size_str)
		return sn_err_set(err, -EINVAL,
				  "-N %s does not go with --parallel: give one number, or a range such as -N 2-4",
				  job_desc->job_size_str);
	if (max) {
		rc = plan_check_nodes(plan, "-N ", min, max, required, err);
		if (rc)
			return rc;
		plan->min_nodes = min;
		plan->max_nodes = max;
	}
	if (plan->exact_nodes)
		min = max = plan->min_nodes = plan->max_nodes = plan->exact_nodes;
	if (required > plan->world)
		return sn_err_set(err, -EINVAL,
				  "-w names %u nodes, but --parallel has only %u ranks to run on them",
				  required, plan->world);
	/* Fewer than the -w nodes, and Slurm would drop some of them. */
	if (min < required)
		min = required;
	if (min < plan->least_nodes)
		min = plan->least_nodes;
	job_desc->min_nodes = min;
	job_desc->max_nodes = max ? plan_with_spares(plan, max) :
		most_nodes(job_desc, plan, min);
	return 0;
}

/* ---- does it fit? --------------------------------------------------------------- */

int plan_check_fit(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		   const struct plan *plan, struct sn_err *err)
{
	struct sn_topoapi_ask ask = {
		.spec = plan->spec,
		.nodes = derive_usable_nodes(job_desc),
		.cpus_per_task = plan_is_set16(job_desc->cpus_per_task) ?
			job_desc->cpus_per_task : 1,
		.min_nodes = plan->min_nodes,
		.max_nodes = plan->max_nodes,
		.whole_nodes = plan->whole,
	};
	int rc;

	if (job_desc->req_nodes &&
	    node_name2bitmap(job_desc->req_nodes, true, &ask.required, NULL))
		FREE_NULL_BITMAP(ask.required);
	if (ask.required && ask.nodes &&
	    !bit_super_set(ask.required, ask.nodes))
		rc = sn_err_set(err, -ENOSPC,
				"-w %s names nodes that the job may not use",
				job_desc->req_nodes);
	else
		rc = api->could_fit(&ask, err);
	if (rc)
		sn_err_prefix(err, rc, "--parallel can never fit%s%s%s%s: ",
			      job_desc->partition ? " partition " : "",
			      job_desc->partition ? job_desc->partition : "",
			      job_desc->features && job_desc->features[0] ?
			      " with feature " : "",
			      job_desc->features ? job_desc->features : "");
	FREE_NULL_BITMAP(ask.nodes);
	FREE_NULL_BITMAP(ask.required);
	return rc;
}
