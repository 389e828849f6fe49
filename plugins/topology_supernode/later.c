/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later.c - what Slurms after 24.11 ask of a topology plugin in addition.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/interfaces/topology.h"

#include "src/plugins/topology/common/common_topo.h"

#include "plugins/topology_supernode/model.h"

#if SN_SLURM_AT_LEAST(25, 5)
static const struct sn_topo_supernode *supernode_of(const node_record_t *node_ptr)
{
	const struct sn_topo *topo = model_topo();
	uint32_t t = topo ? sn_topo_find_node(topo, node_ptr->name) : SN_NONE;

	return t == SN_NONE ? NULL :
		&topo->supernode[topo->node[t].supernode];
}

/* In the model, and tied to this place of Slurm's node table. */
static bool model_has_node(const node_record_t *node_ptr)
{
	uint32_t t = model_topo() ?
		sn_topo_find_node(model_topo(), node_ptr->name) : SN_NONE;

	return t != SN_NONE && model_node_inx(t) == (int)node_ptr->index;
}

/*
 * A node came, or "scontrol update NodeName=n1 Topology=default:sn2", which
 * Slurm says again at each start. Where a node belongs stands in topology.conf:
 * two truths would differ between hosts, where snctl and the tasks' environment
 * read the file. So a move is refused in so many words.
 */
extern int topology_p_add_rm_node(node_record_t *node_ptr, char *unit,
				  topology_ctx_t *tctx)
{
	const struct sn_topo_supernode *is;

	(void)tctx;
	if (!model_has_node(node_ptr))
		model_nodes_changed();
	is = supernode_of(node_ptr);
	if (!unit || !*unit || !is || !xstrcmp(unit, is->name))
		return SLURM_SUCCESS;
	error("topology/supernode: node %s cannot move to %s: topology.conf has it in %s; change it there and run scontrol reconfigure",
	      node_ptr->name, unit, is->loose ? "no supernode" : is->name);
	return SLURM_ERROR;
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
	(void)buffer;
	(void)protocol_version;
	*topo_jobinfo = NULL;
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

/* "default:sn03". A loose node has none, as under topology/block. */
extern void topology_p_get_topology_str(node_record_t *node_ptr,
					char **topology_str_ptr,
					topology_ctx_t *tctx)
{
	const struct sn_topo_supernode *is = supernode_of(node_ptr);

	if (is && !is->loose)
		xstrfmtcat(*topology_str_ptr, "%s%s:%s",
			   *topology_str_ptr ? "," : "", tctx->name, is->name);
}
#endif

#if SN_SLURM_AT_LEAST(26, 5)
/* The short cut for jobs of one node takes the first that fits; ours may not
 * be that one, and it cannot be told which job asks. */
extern bool topology_p_allow_one_node(void *tctx)
{
	(void)tctx;
	return false;
}

extern int topology_p_eval_node(topology_eval_t *topo_eval, int node_idx)
{
	return common_test_node(topo_eval, node_idx);
}

/*
 * The order in which Slurm fills a step's nodes with ranks: topology.conf's,
 * which is what sn_rankmap_build() lays consecutive blocks along. The upper
 * half tells supernodes apart (loose nodes are one each), so that a step of
 * some of the nodes begins in the next one.
 */
extern int topology_p_get_rank(bitstr_t *node_bitmap, uint32_t **node_rank,
			       uint32_t *size, void *tctx)
{
	const struct sn_topo *topo = model_topo();
	uint32_t n = 0;
	int i;

	(void)tctx;
	*node_rank = NULL;
	*size = 0;
	if (!topo || !node_bitmap || !bit_set_count(node_bitmap))
		return SLURM_SUCCESS;
	*node_rank = xcalloc((size_t)bit_set_count(node_bitmap),
			     sizeof(**node_rank));
	for (i = 0; next_node_bitmap(node_bitmap, &i); i++, n++) {
		uint32_t t = model_topo_node((uint32_t)i), s;

		if (t == SN_NONE) {
			(*node_rank)[n] = UINT32_MAX;
			continue;
		}
		s = topo->node[t].supernode;
		(*node_rank)[n] = s << TOPO_RANK_ID_SHIFT |
			(t - topo->supernode[s].first_node);
	}
	*size = n;
	return SLURM_SUCCESS;
}
#endif

/* An empty translation unit is no C. */
typedef int sn_topology_later;
