/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - topology/supernode: Slurm's interface.
 *
 * slurm.conf:
 *	TopologyPlugin=topology/supernode
 *	SelectType=select/supernode
 *	SelectTypeParameters=CR_Core_Memory
 *	JobSubmitPlugins=supernode
 *	CliFilterPlugins=supernode
 *	GresTypes=npu
 *	PluginDir=OURS:SLURM'S	(where they are not in one directory)
 * beside it topology.conf, and plugstack.conf with
 *	required spank_supernode.so
 * No topology.yaml: it would put Slurm's own plugins in our place.
 *
 * slurmctld, slurmd and the clients load this; only slurmctld places jobs.
 * Nothing here may end the process.
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/interfaces/topology.h"

#include "src/plugins/topology/common/common_topo.h"

#include "plugins/common/topoapi.h"
#include "plugins/topology_supernode/eval.h"
#include "plugins/topology_supernode/info.h"
#include "plugins/topology_supernode/marks.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/named.h"
#include "plugins/topology_supernode/plain.h"
#include "plugins/topology_supernode/replacing.h"
#include "plugins/topology_supernode/switches.h"

const char plugin_name[] = "Supernode topology plugin";
const char plugin_type[] = "topology/supernode";
#if SN_SLURM_AT_LEAST(25, 5)
const bool supports_exclusive_topo = true;
#endif
const uint32_t plugin_id = SN_TOPOLOGY_PLUGIN_ID;
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern const struct sn_topoapi sn_topoapi_table;
const struct sn_topoapi sn_topoapi_table = {
	.version = SN_TOPOAPI_VERSION,
	.policy = model_policy,
	.topo = model_topo,
	.cards_per_node = model_cards_per_node,
	.topo_node = model_topo_node,
	.could_fit = eval_could_fit,
	.set_mode = plain_set_mode,
	.nodes_changed = model_nodes_changed,

	.region = named_find,
	.replaces = replacing_check,
	.each_masked = marks_each_masked,
};

extern int init(void)
{
	verbose("%s loaded", plugin_type);
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	model_done();
	marks_done();
	return SLURM_SUCCESS;
}

extern int topology_p_build_config(SN_TOPO_CTX_ONLY)
{
	SN_TOPO_UNUSED_CTX;
	model_build();
	return SLURM_SUCCESS;
}

extern int topology_p_eval_nodes(topology_eval_t *topo_eval)
{
	struct sn_jobspec spec;
	int rc;

	if (!eval_is_ours(topo_eval->job_ptr, &spec))
		rc = plain_eval(topo_eval);
	else
		rc = eval_parallel(topo_eval, &spec);
	return !rc && switches_keep_back(topo_eval) ? SLURM_ERROR : rc;
}

extern int topology_p_whole_topo(bitstr_t *node_mask SN_TOPO_CTX)
{
	SN_TOPO_UNUSED_CTX;
	model_whole_supernodes(node_mask);
	return SLURM_SUCCESS;
}

extern bitstr_t *topology_p_get_bitmap(char *name SN_TOPO_CTX)
{
	SN_TOPO_UNUSED_CTX;
	return model_bitmap(name);
}

/* Slurm's node table keeps its order: nothing of ours depends on it. */
extern bool topology_p_generate_node_ranking(SN_TOPO_CTX_ONLY)
{
	SN_TOPO_UNUSED_CTX;
	return false;
}

/* "core.pod1.sn01.u003.n001", "fabric.fabric.supernode.unit.node" */
static void address(const struct sn_topo *topo, uint32_t t, char **addr,
		    char **pattern)
{
	const struct sn_topo_node *node = &topo->node[t];
	uint32_t *chain = calloc((size_t)topo->fabric_levels + 1,
				 sizeof(*chain));
	uint32_t n = chain ? sn_topo_chain(topo, node->supernode, chain) : 0, i;

	for (i = 0; i < n; i++) {
		xstrfmtcat(*addr, "%s.", topo->fabric[chain[i]].name);
		xstrcat(*pattern, "fabric.");
	}
	if (!topo->supernode[node->supernode].loose) {
		xstrfmtcat(*addr, "%s.", topo->supernode[node->supernode].name);
		xstrcat(*pattern, "supernode.");
	}
	if (node->unit != SN_NONE) {
		xstrfmtcat(*addr, "%s.", topo->unit[node->unit].name);
		xstrcat(*pattern, "unit.");
	}
	xstrcat(*addr, node->name);
	xstrcat(*pattern, "node");
	free(chain);
}

extern int topology_p_get_node_addr(char *node_name, char **paddr,
				    char **ppattern SN_TOPO_CTX)
{
	const struct sn_topo *topo = model_topo();
	uint32_t t = topo ? sn_topo_find_node(topo, node_name) : SN_NONE;

	SN_TOPO_UNUSED_CTX;
	if (t == SN_NONE)
		return common_topo_get_node_addr(node_name, paddr, ppattern);
	address(topo, t, paddr, ppattern);
	return SLURM_SUCCESS;
}

extern int topology_p_split_hostlist(hostlist_t *hl, hostlist_t ***sp_hl,
				     int *count, uint16_t tree_width SN_TOPO_CTX)
{
	SN_TOPO_UNUSED_CTX;
	return common_topo_split_hostlist_treewidth(hl, sp_hl, count,
						    tree_width);
}

extern int topology_p_get(topology_data_t type, void *data SN_TOPO_CTX)
{
	const struct sn_topo *topo = model_topo();

	SN_TOPO_UNUSED_CTX;
	switch (type) {
	case TOPO_DATA_TOPOLOGY_PTR: {
		dynamic_plugin_data_t **ret = data;

		*ret = xmalloc(sizeof(**ret));
		(*ret)->data = topoinfo_create();
		(*ret)->plugin_id = plugin_id;
		return SLURM_SUCCESS;
	}
	case TOPO_DATA_REC_CNT:
		*(int *)data = topo ? (int)topo->n_supernodes : 0;
		return SLURM_SUCCESS;
	case TOPO_DATA_EXCLUSIVE_TOPO:
		*(int *)data = 1;
		return SLURM_SUCCESS;
	default:
		return SLURM_ERROR;
	}
}

extern int SN_TOPO_INFO(free)(void *topoinfo_ptr);
extern int SN_TOPO_INFO(pack)(void *topoinfo_ptr, buf_t *buffer,
			      uint16_t protocol_version);
extern int SN_TOPO_INFO(print)(SN_TOPO_PRINT_ARGS);
extern int SN_TOPO_INFO(unpack)(void **topoinfo_pptr, buf_t *buffer,
				uint16_t protocol_version);

extern int SN_TOPO_INFO(free)(void *topoinfo_ptr)
{
	topoinfo_free(topoinfo_ptr);
	return SLURM_SUCCESS;
}

extern int SN_TOPO_INFO(pack)(void *topoinfo_ptr, buf_t *buffer,
			      uint16_t protocol_version)
{
	(void)protocol_version;
	topoinfo_pack(topoinfo_ptr, buffer);
	return SLURM_SUCCESS;
}

extern int SN_TOPO_INFO(print)(SN_TOPO_PRINT_ARGS)
{
	const char *unit_name = SN_TOPO_UNIT;

	*out = topoinfo_print(info, unit_name, nodes);
	if (!*out)
		error("No supernode, unit, fabric or node named %s",
		      unit_name && *unit_name ? unit_name :
		      nodes && *nodes ? nodes : "at all");
	return SLURM_SUCCESS;
}

extern int SN_TOPO_INFO(unpack)(void **topoinfo_pptr, buf_t *buffer,
				uint16_t protocol_version)
{
	(void)protocol_version;
	return topoinfo_unpack((struct topoinfo **)topoinfo_pptr, buffer);
}

/* Backfill asks under bf_topopt_enable, to start jobs when they break least. */
extern uint32_t topology_p_get_fragmentation(bitstr_t *node_mask SN_TOPO_CTX)
{
	SN_TOPO_UNUSED_CTX;
	return model_fragmentation(node_mask);
}
