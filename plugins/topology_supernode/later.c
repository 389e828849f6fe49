/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later.c - what Slurms after 24.11 ask of a topology plugin in addition.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/node_conf.h"
#include "src/common/xmalloc.h"
#include "src/interfaces/topology.h"

#include "plugins/topology_supernode/model.h"

#if SN_SLURM_AT_LEAST(25, 5)
/* A node came or went. topology.conf says where it belongs, or it is loose. */
extern int topology_p_add_rm_node(node_record_t *node_ptr, char *unit,
				  topology_ctx_t *tctx)
{
	(void)node_ptr;
	(void)unit;
	(void)tctx;
	model_build();
	return SLURM_SUCCESS;
}

/* The model stays until a better one is built. */
extern int topology_p_destroy_config(topology_ctx_t *tctx)
{
	tctx->plugin_ctx = NULL;
	return SLURM_SUCCESS;
}
#endif

#if SN_SLURM_AT_LEAST(25, 11)
extern void topology_p_jobinfo_free(void *topo_jobinfo)
{
	(void)topo_jobinfo;
}

extern void topology_p_jobinfo_pack(void *topo_jobinfo, buf_t *buffer,
				    uint16_t protocol_version)
{
	(void)topo_jobinfo;
	(void)buffer;
	(void)protocol_version;
}

extern int topology_p_jobinfo_unpack(void **topo_jobinfo, buf_t *buffer,
				     uint16_t protocol_version)
{
	(void)topo_jobinfo;
	(void)buffer;
	(void)protocol_version;
	return SLURM_SUCCESS;
}

extern int topology_p_jobinfo_get(topology_jobinfo_type_t type,
				  void *topo_jobinfo, void *data)
{
	(void)type;
	(void)topo_jobinfo;
	(void)data;
	return ESLURM_NOT_SUPPORTED;
}

extern void topology_p_get_topology_str(node_record_t *node_ptr,
					char **topology_str_ptr,
					topology_ctx_t *tctx)
{
	(void)node_ptr;
	(void)topology_str_ptr;
	(void)tctx;
}
#endif

#if SN_SLURM_AT_LEAST(26, 5)
/* Slurm's fast way to one node would go past topology_p_eval_nodes(). */
extern bool topology_p_allow_one_node(void *tctx)
{
	(void)tctx;
	return false;
}

extern int topology_p_eval_node(topology_eval_t *topo_eval, int node_inx)
{
	(void)topo_eval;
	(void)node_inx;
	return SLURM_ERROR;
}

struct place {
	uint32_t topo_node, position;
};

static int by_topology(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->topo_node > y->topo_node) - (x->topo_node < y->topo_node);
}

/* Ranks follow the order of topology.conf; see select_supernode/steprank.c for
 * the Slurms that do not ask. */
extern int topology_p_get_rank(bitstr_t *node_bitmap, uint32_t **node_rank,
			       uint32_t *size, void *tctx)
{
	uint32_t count = node_bitmap ? (uint32_t)bit_set_count(node_bitmap) : 0;
	uint32_t n = 0;
	struct place *place;

	(void)tctx;
	*node_rank = NULL;
	*size = 0;
	if (!count || !model_topo())
		return SLURM_SUCCESS;
	place = xcalloc(count, sizeof(*place));
	for (int i = 0; next_node_bitmap(node_bitmap, &i); i++, n++)
		place[n] = (struct place){ model_topo_node((uint32_t)i), n };
	qsort(place, n, sizeof(*place), by_topology);
	*node_rank = xcalloc(count, sizeof(**node_rank));
	for (uint32_t i = 0; i < n; i++)
		(*node_rank)[place[i].position] = i;
	*size = count;
	xfree(place);
	return SLURM_SUCCESS;
}
#endif

/* An empty translation unit is no C. */
typedef int sn_topology_later;
