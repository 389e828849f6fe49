/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.c - the model of topology.conf, tied to Slurm's node table.
 *
 * `scontrol reconfigure` starts a new slurmctld process, so "the old topology
 * stays" cannot mean one in memory: the text of the last good one is kept in
 * StateSaveLocation.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/run_in_daemon.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/interfaces/gres.h"

#include "topology/hostlist.h"
#include "topology/topobuild.h"
#include "plugins/common/sitefiles.h"
#include "plugins/topology_supernode/model.h"

static struct model {
	struct sn_topo *topo;
	struct sn_site_files files; /* what topo was made from */
	struct sn_policy policy;
	bool has_policy;
	uint32_t *topo_node; /* [n_inx] node table -> model */
	uint32_t n_inx;
	int *node_inx; /* [topo->n_nodes] model -> node table, -1 */
	bitstr_t **supernode; /* [topo->n_supernodes], made when asked for */
	bitstr_t **unit, **fabric;
} model;

static char *state_path(void)
{
	return xstrdup_printf("%s/topology_supernode",
			      slurm_conf.state_save_location);
}

static void read_policy(void)
{
	struct sn_policy policy;
	struct sn_err err;

	if (!sn_site_policy(&policy, &err)) {
		model.policy = policy;
		model.has_policy = true;
		return;
	}
	error("topology/supernode: %s; %s", err.text,
	      model.has_policy ? "the old policy stays" :
	      "every key has its default");
	if (!model.has_policy)
		sn_policy_init(&model.policy);
	model.has_policy = true;
}

static struct sn_topo *last_good(struct sn_site_files *ret_files)
{
	struct sn_topo *topo = NULL;
	struct sn_err err;
	char *path;

	if (model.files.n) {
		if (sn_site_topology_again(&model.files, &topo, &err))
			return NULL;
		*ret_files = model.files;
		memset(&model.files, 0, sizeof(model.files));
		return topo;
	}
	if (!running_in_slurmctld())
		return NULL;
	path = state_path();
	if (!sn_site_files_load(path, ret_files, &err) &&
	    sn_site_topology_again(ret_files, &topo, &err)) {
		sn_site_files_done(ret_files);
		topo = NULL;
	}
	xfree(path);
	return topo;
}

static void keep_good(const struct sn_site_files *files)
{
	struct sn_err err;
	char *path;

	if (!running_in_slurmctld())
		return;
	path = state_path();
	if (sn_site_files_save(files, path, &err))
		error("topology/supernode: %s; after a restart a bad topology.conf would leave every node loose",
		      err.text);
	xfree(path);
}

static struct sn_topo *read_topology(struct sn_site_files *ret_files)
{
	struct sn_topo *topo = NULL;
	struct sn_err err;

	if (!sn_site_topology(&topo, ret_files, &err)) {
		keep_good(ret_files);
		return topo;
	}
	topo = last_good(ret_files);
	error("topology/supernode: %s; %s", err.text, topo ?
	      "the last good topology stays" : "every node is loose until it is right");
	return topo ? topo : sn_topo_create();
}

static int by_name(const void *a, const void *b)
{
	return sn_name_cmp(*(char *const *)a, *(char *const *)b);
}

/* Nodes that topology.conf does not name, by name: the same state must give
 * the same answer whatever the node table's order. */
static void add_loose(struct sn_topo *topo)
{
	struct sn_err err;
	node_record_t *node_ptr;
	char **name = xcalloc((size_t)node_record_count + 1, sizeof(*name));
	int n = 0, i;

	for (i = 0; (node_ptr = next_node(&i)); i++)
		if (sn_topo_find_node(topo, node_ptr->name) == SN_NONE)
			name[n++] = node_ptr->name;
	qsort(name, (size_t)n, sizeof(*name), by_name);
	for (i = 0; i < n; i++)
		if (sn_topo_add_loose(topo, name[i], &err))
			error("topology/supernode: %s", err.text);
	if (n && topo->n_nodes > (uint32_t)n)
		verbose("topology/supernode: %d nodes are in no supernode, %s the first",
			n, name[0]);
	xfree(name);
}

static void tie(const struct sn_topo *topo)
{
	node_record_t *node_ptr;
	uint32_t t, unknown = 0;
	int i;

	model.n_inx = (uint32_t)node_record_count;
	model.topo_node = xcalloc((size_t)model.n_inx + 1,
				  sizeof(*model.topo_node));
	model.node_inx = xcalloc((size_t)topo->n_nodes + 1,
				 sizeof(*model.node_inx));
	for (t = 0; t < model.n_inx; t++)
		model.topo_node[t] = SN_NONE;
	for (t = 0; t < topo->n_nodes; t++)
		model.node_inx[t] = -1;
	for (i = 0; (node_ptr = next_node(&i)); i++) {
		t = sn_topo_find_node(topo, node_ptr->name);
		model.topo_node[i] = t;
		if (t != SN_NONE)
			model.node_inx[t] = i;
	}
	for (t = 0; t < topo->n_nodes; t++)
		if (model.node_inx[t] < 0 && !unknown++ && node_record_count)
			verbose("topology/supernode: topology.conf: node %s is not in slurm.conf, ignoring",
				topo->node[t].name);
	model.supernode = xcalloc((size_t)topo->n_supernodes + 1,
				  sizeof(*model.supernode));
	model.unit = xcalloc((size_t)topo->n_units + 1, sizeof(*model.unit));
	model.fabric = xcalloc((size_t)topo->n_fabrics + 1,
			       sizeof(*model.fabric));
}

static void free_bitmaps(bitstr_t ***bitmap, uint32_t n)
{
	uint32_t i;

	for (i = 0; *bitmap && i < n; i++)
		FREE_NULL_BITMAP((*bitmap)[i]);
	xfree(*bitmap);
}

static void untie(void)
{
	if (model.topo) {
		free_bitmaps(&model.supernode, model.topo->n_supernodes);
		free_bitmaps(&model.unit, model.topo->n_units);
		free_bitmaps(&model.fabric, model.topo->n_fabrics);
	}
	xfree(model.topo_node);
	xfree(model.node_inx);
	model.n_inx = 0;
	sn_topo_destroy(model.topo);
	model.topo = NULL;
}

void model_build(void)
{
	struct sn_site_files files = { NULL, 0 };
	struct sn_topo *topo;

	read_policy();
	topo = read_topology(&files);
	untie();
	sn_site_files_done(&model.files);
	model.files = files;
	if (!topo)
		return;
	add_loose(topo);
	tie(topo);
	model.topo = topo;
	verbose("topology/supernode: %u supernodes, %u units, %u fabrics, %u nodes",
		topo->n_supernodes, topo->n_units, topo->n_fabrics,
		topo->n_nodes);
}

void model_done(void)
{
	untie();
	sn_site_files_done(&model.files);
}

const struct sn_topo *model_topo(void)
{
	return model.topo;
}

const struct sn_policy *model_policy(void)
{
	if (!model.has_policy)
		sn_policy_init(&model.policy);
	return &model.policy;
}

uint32_t model_topo_node(uint32_t node_inx)
{
	return node_inx < model.n_inx ? model.topo_node[node_inx] : SN_NONE;
}

int model_node_inx(uint32_t topo_node)
{
	return model.topo && topo_node < model.topo->n_nodes ?
		model.node_inx[topo_node] : -1;
}

static bitstr_t *nodes_bitmap(bitstr_t **kept, bool (*is_in)(uint32_t t, uint32_t what),
			      uint32_t what)
{
	uint32_t t;

	if (*kept && bit_size(*kept) == node_record_count)
		return *kept;
	FREE_NULL_BITMAP(*kept);
	*kept = bit_alloc(node_record_count);
	for (t = 0; t < model.topo->n_nodes; t++)
		if (model.node_inx[t] >= 0 &&
		    model.node_inx[t] < node_record_count && is_in(t, what))
			bit_set(*kept, model.node_inx[t]);
	return *kept;
}

static bool in_unit(uint32_t t, uint32_t unit)
{
	return model.topo->node[t].unit == unit;
}

static bool in_fabric(uint32_t t, uint32_t fabric)
{
	uint32_t f = model.topo->supernode[model.topo->node[t].supernode].fabric;

	for (; f != SN_NONE; f = model.topo->fabric[f].parent)
		if (f == fabric)
			return true;
	return false;
}

bitstr_t *model_supernode_bitmap(uint32_t supernode)
{
	const struct sn_topo_supernode *sn = &model.topo->supernode[supernode];
	bitstr_t **kept = &model.supernode[supernode];
	uint32_t t;

	if (*kept && bit_size(*kept) == node_record_count)
		return *kept;
	FREE_NULL_BITMAP(*kept);
	*kept = bit_alloc(node_record_count);
	for (t = sn->first_node; t < sn->first_node + sn->n_nodes; t++)
		if (model.node_inx[t] >= 0 &&
		    model.node_inx[t] < node_record_count)
			bit_set(*kept, model.node_inx[t]);
	return *kept;
}

bitstr_t *model_bitmap(const char *name)
{
	uint32_t i;

	if (!model.topo || !name || !node_record_count)
		return NULL;
	i = sn_topo_find_supernode(model.topo, name);
	if (i != SN_NONE)
		return model_supernode_bitmap(i);
	for (i = 0; i < model.topo->n_units; i++)
		if (!xstrcmp(model.topo->unit[i].name, name))
			return nodes_bitmap(&model.unit[i], in_unit, i);
	i = sn_topo_find_fabric(model.topo, name);
	if (i != SN_NONE)
		return nodes_bitmap(&model.fabric[i], in_fabric, i);
	return NULL;
}

uint32_t model_card_id(void)
{
	return gres_build_id((char *)model_policy()->card_gres);
}

uint64_t model_cards(const node_record_t *node_ptr)
{
	uint32_t id = model_card_id();
	gres_state_t *state;
	uint64_t n;

	if (!node_ptr->gres_list)
		return 0;
	state = list_find_first(node_ptr->gres_list, gres_find_id, &id);
	if (!state || !state->gres_data)
		return 0;
	n = ((gres_node_state_t *)state->gres_data)->gres_cnt_avail;
	if (!n || n == NO_VAL64)
		n = ((gres_node_state_t *)state->gres_data)->gres_cnt_config;
	if (n == NO_VAL64)
		n = 0;
	return n >= SN_CARDS_MAX ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

uint32_t model_cards_per_node(uint32_t *ret_most)
{
	uint32_t nodes[SN_CARDS_MAX + 1] = { 0 };
	uint32_t best = 0, most = 0, n;
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++)
		nodes[__builtin_popcountll(model_cards(node_ptr))]++;
	for (n = 1; n <= SN_CARDS_MAX; n++) {
		if (nodes[n])
			most = n;
		if (nodes[n] > (best ? nodes[best] : 0))
			best = n;
	}
	if (ret_most)
		*ret_most = most;
	return best;
}
