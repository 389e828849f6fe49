/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * undo.c - put back what Slurm's counting changes in a try that fails.
 *
 * It lowers a node's CPUs, and where the job has gres, also the cores and the
 * counts of each gres.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"

#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/undo.h"

/* Job gres of one node whose counts are kept. */
#define GRES 8

struct undo_node {
	int inx;
	bitstr_t *cores;
	uint16_t cpus;
	uint64_t res;
	uint32_t n_gres;
	uint64_t gres[GRES];
};

static int save_gres(void *x, void *arg)
{
	struct undo_node *node = arg;
	sock_gres_t *sock = x;

	if (node->n_gres < GRES)
		node->gres[node->n_gres++] = sock->total_cnt;
	return 0;
}

static int put_gres(void *x, void *arg)
{
	struct undo_node *node = arg;
	sock_gres_t *sock = x;

	if (node->n_gres < GRES)
		sock->total_cnt = node->gres[node->n_gres++];
	return 0;
}

int undo_save(struct undo *undo, const topology_eval_t *topo_eval,
	      const struct sn_placement *placed)
{
	bool gres = topo_eval->job_ptr->gres_list_req;
	uint32_t n;

	*undo = (struct undo){ .n = placed->n_nodes };
	undo->node = calloc((size_t)placed->n_nodes + 1, sizeof(*undo->node));
	if (!undo->node)
		return -ENOMEM;
	undo->node_map = bit_copy(topo_eval->node_map);
	for (n = 0; n < placed->n_nodes; n++) {
		struct undo_node *node = &undo->node[n];
		int i = model_node_inx(placed->node[n].node);
		avail_res_t *res = topo_eval->avail_res_array[i];

		node->inx = i;
		node->cpus = res->avail_cpus;
		node->res = SN_AVAIL_RES(res);
		if (!gres)
			continue;
		if (topo_eval->avail_core[i])
			node->cores = bit_copy(topo_eval->avail_core[i]);
		if (res->sock_gres_list)
			(void)list_for_each(res->sock_gres_list, save_gres,
					    node);
	}
	return 0;
}

void undo_all(struct undo *undo, topology_eval_t *topo_eval)
{
	uint32_t n;

	bit_copybits(topo_eval->node_map, undo->node_map);
	for (n = 0; n < undo->n; n++) {
		struct undo_node *node = &undo->node[n];
		avail_res_t *res = topo_eval->avail_res_array[node->inx];

		res->avail_cpus = node->cpus;
		SN_AVAIL_RES(res) = (__typeof__(SN_AVAIL_RES(res)))node->res;
		if (node->cores)
			bit_copybits(topo_eval->avail_core[node->inx],
				     node->cores);
		node->n_gres = 0;
		if (res->sock_gres_list)
			(void)list_for_each(res->sock_gres_list, put_gres, node);
	}
}

void undo_done(struct undo *undo)
{
	uint32_t n;

	for (n = 0; undo->node && n < undo->n; n++)
		FREE_NULL_BITMAP(undo->node[n].cores);
	FREE_NULL_BITMAP(undo->node_map);
	free(undo->node);
	*undo = (struct undo){ 0 };
}
