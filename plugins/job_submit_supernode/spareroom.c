/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spareroom.c - a job that would need nodes which are held back as SpareNodes.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/node_conf.h"

#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/plan.h"
#include "plugins/job_submit_supernode/spareroom.h"
#include "plugins/job_submit_supernode/tres.h"

static bool has_spare_nodes(const struct sn_topo *topo)
{
	uint32_t s;

	for (s = 0; s < topo->n_supernodes; s++)
		if (topo->supernode[s].spare_nodes)
			return true;
	return false;
}

/* Of the supernode's nodes that Slurm knows. inx[t]: 1 + its index. */
static void hold_last(const struct sn_topo_supernode *sn, const int *inx,
		      bitstr_t *nodes)
{
	uint32_t left = sn->spare_nodes, n;

	for (n = sn->n_nodes; n-- && left;) {
		if (!inx[sn->first_node + n])
			continue;
		bit_set(nodes, inx[sn->first_node + n] - 1);
		left--;
	}
}

bitstr_t *spareroom_nodes(const struct sn_topoapi *api)
{
	const struct sn_topo *topo = api->topo();
	bitstr_t *nodes;
	uint32_t s, t;
	int *inx, i;

	if (!has_spare_nodes(topo))
		return NULL;
	inx = calloc((size_t)topo->n_nodes + 1, sizeof(*inx));
	if (!inx)
		return NULL;
	for (i = 0; next_node(&i); i++) {
		t = api->topo_node((uint32_t)i);
		if (t != SN_NONE)
			inx[t] = i + 1;
	}
	nodes = bit_alloc(node_record_count);
	for (s = 0; s < topo->n_supernodes; s++)
		hold_last(&topo->supernode[s], inx, nodes);
	free(inx);
	return nodes;
}

static uint32_t div_up(uint64_t a, uint32_t b)
{
	return b ? (uint32_t)((a + b - 1) / b) : 0;
}

static uint64_t cards_in(const char *list, const struct sn_topoapi *api)
{
	struct tres_cards cards;

	if (!tres_find_cards(list, api->policy()->card_gres, &cards))
		return 0;
	free(cards.rest);
	return cards.count;
}

static uint32_t most_cpus(void)
{
	node_record_t *node_ptr;
	uint32_t most = 0;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++)
		if (node_ptr->cpus > most)
			most = node_ptr->cpus;
	return most;
}

/* The fewest nodes that could do, were each like the largest. */
static uint32_t least_nodes(const job_desc_msg_t *job_desc,
			    const struct sn_topoapi *api, const char **ret_by)
{
	uint32_t tasks = plan_is_set32(job_desc->num_tasks) ?
		job_desc->num_tasks : 1;
	uint64_t cards = cards_in(job_desc->tres_per_task, api) * tasks;
	uint64_t of_job = cards_in(job_desc->tres_per_job, api);
	uint64_t cpus = plan_is_set32(job_desc->min_cpus) ?
		job_desc->min_cpus : 0;
	uint32_t n = plan_is_set32(job_desc->min_nodes) ?
		job_desc->min_nodes : 1, most, k;

	if (plan_is_set16(job_desc->cpus_per_task) && !job_desc->overcommit &&
	    (uint64_t)tasks * job_desc->cpus_per_task > cpus)
		cpus = (uint64_t)tasks * job_desc->cpus_per_task;
	*ret_by = "nodes are wanted";
	(void)api->cards_per_node(&most);
	k = div_up(cards > of_job ? cards : of_job, most);
	if (k > n) {
		n = k;
		*ret_by = "nodes at least have the cards that are wanted";
	}
	k = job_desc->overcommit ? 0 : div_up(cpus, most_cpus());
	if (k > n) {
		n = k;
		*ret_by = "nodes at least have the CPUs that are wanted";
	}
	return n;
}

/* "n010" of supernode a, the first that -w names. */
static int check_required(const job_desc_msg_t *job_desc,
			  const struct sn_topoapi *api, bitstr_t *held,
			  struct sn_err *err)
{
	const struct sn_topo *topo = api->topo();
	const struct sn_topo_supernode *sn;
	bitstr_t *required = NULL;
	int i, rc = 0;

	if (!job_desc->req_nodes ||
	    node_name2bitmap(job_desc->req_nodes, true, &required, NULL)) {
		FREE_NULL_BITMAP(required);
		return 0;
	}
	bit_and(required, held);
	i = (int)bit_ffs(required);
	if (i >= 0) {
		sn = &topo->supernode[topo->node[api->topo_node((uint32_t)i)].supernode];
		rc = sn_err_set(err, -ENOSPC,
				"-w %s might never be had: node %s is held back as one of the SpareNodes of %s, the last %u of its %u nodes, which only jobs with --replaces get while they are wholly free",
				job_desc->req_nodes,
				node_record_table_ptr[i]->name, sn->name,
				sn->spare_nodes, sn->n_nodes);
	}
	FREE_NULL_BITMAP(required);
	return rc;
}

static int check(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		 bitstr_t *held, struct sn_err *err)
{
	bitstr_t *usable = derive_usable_nodes(job_desc);
	uint32_t all, kept, want;
	const char *by;
	char *names;
	int rc;

	if (usable)
		bit_and(held, usable);
	all = (uint32_t)(usable ? bit_set_count(usable) :
			 active_node_record_count);
	kept = (uint32_t)bit_set_count(held);
	FREE_NULL_BITMAP(usable);
	rc = check_required(job_desc, api, held, err);
	want = least_nodes(job_desc, api, &by);
	/* What is more than there is at all is Slurm's to refuse. */
	if (rc || want <= all - kept || want > all)
		return rc;
	names = bitmap2node_name(held);
	rc = sn_err_set(err, -ENOSPC,
			"the job might never run: %u %s, and of the %u that it may use %u %s held back as SpareNodes (%.120s) for jobs with --replaces, so that %u are left",
			want, by, all, kept, kept == 1 ? "is" : "are", names,
			all - kept);
	xfree(names);
	return rc;
}

int spareroom_check(const job_desc_msg_t *job_desc,
		    const struct sn_topoapi *api, struct sn_err *err)
{
	bitstr_t *held = api && api->topo() ? spareroom_nodes(api) : NULL;
	int rc = 0;

	if (held && !job_desc->job_size_str)
		rc = check(job_desc, api, held, err);
	FREE_NULL_BITMAP(held);
	return rc;
}

int spareroom_check_update(const job_desc_msg_t *job_desc,
			   const job_record_t *job_ptr,
			   const struct sn_topoapi *api, struct sn_err *err)
{
	job_desc_msg_t desc;

	if (!job_ptr || !job_ptr->details || !IS_JOB_PENDING(job_ptr) ||
	    (!plan_is_set32(job_desc->min_nodes) && !job_desc->req_nodes &&
	     !job_desc->exc_nodes && !job_desc->partition &&
	     !job_desc->features))
		return 0;
	slurm_init_job_desc_msg(&desc);
	desc.min_nodes = plan_is_set32(job_desc->min_nodes) ?
		job_desc->min_nodes : job_ptr->details->min_nodes;
	desc.req_nodes = job_desc->req_nodes ? job_desc->req_nodes :
		job_ptr->details->req_nodes;
	desc.exc_nodes = job_desc->exc_nodes ? job_desc->exc_nodes :
		job_ptr->details->exc_nodes;
	desc.partition = job_desc->partition ? job_desc->partition :
		job_ptr->partition;
	desc.features = job_desc->features ? job_desc->features :
		job_ptr->details->features;
	return spareroom_check(&desc, api, err);
}
