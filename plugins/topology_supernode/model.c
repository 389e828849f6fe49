/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.c - the model of topology.conf, tied to Slurm's node table.
 *
 * `scontrol reconfigure` starts a new process, of slurmctld and of slurmd, so
 * "the old topology stays" cannot mean one in memory: the text of the last good
 * one is kept where the daemon keeps its state.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/read_config.h"
#include "src/common/run_in_daemon.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

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
	list_t *kept; /* struct kept, what model_bitmap() gave away */
} model;

struct kept {
	char *name;
	bitstr_t *nodes;
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

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
	char *path = sn_site_state_path();

	/* Before what this process has in memory: a backup slurmctld that has
	 * been in charge before may hold what is long out of date. */
	if (path && !sn_site_files_load(path, ret_files, &err) &&
	    sn_site_topology_again(ret_files, &topo, &err)) {
		sn_site_files_done(ret_files);
		topo = NULL;
	}
	free(path);
	if (topo || sn_site_topology_again(&model.files, &topo, &err))
		return topo;
	*ret_files = model.files;
	memset(&model.files, 0, sizeof(model.files));
	return topo;
}

static void keep_good(const struct sn_site_files *files)
{
	struct sn_err err;
	char *path;

	/* slurmstepd only reads what slurmd has kept. */
	if (running_in_slurmstepd())
		return;
	path = sn_site_state_path();
	if (path && sn_site_files_save(files, path, &err))
		error("topology/supernode: %s; after a restart a bad topology.conf would leave every node loose",
		      err.text);
	free(path);
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
}

static void untie(void)
{
	FREE_NULL_LIST(model.kept);
	xfree(model.topo_node);
	xfree(model.node_inx);
	model.n_inx = 0;
	sn_topo_destroy(model.topo);
	model.topo = NULL;
}

static void take(struct sn_topo *topo)
{
	untie();
	if (!topo)
		return;
	add_loose(topo);
	tie(topo);
	model.topo = topo;
}

void model_build(void)
{
	struct sn_site_files files = { NULL, 0 };
	const struct sn_topo *topo;

	read_policy();
	take(read_topology(&files));
	sn_site_files_done(&model.files);
	model.files = files;
	topo = model.topo;
	if (!topo)
		return;
	verbose("topology/supernode: %u supernodes, %u units, %u fabrics, %u nodes",
		topo->n_supernodes, topo->n_units, topo->n_fabrics,
		topo->n_nodes);
}

/* Slurm uses the places of deleted nodes again, for other names. */
static bool is_tied(void)
{
	node_record_t *node_ptr;
	uint32_t n = 0, t;
	int i;

	if (model.n_inx != (uint32_t)node_record_count)
		return false;
	for (i = 0; (node_ptr = next_node(&i)); i++, n++) {
		t = model.topo_node[i];
		if (t == SN_NONE || xstrcmp(model.topo->node[t].name,
					    node_ptr->name))
			return false;
	}
	for (t = 0; t < model.topo->n_nodes; t++)
		n -= model.node_inx[t] >= 0;
	return !n;
}

void model_nodes_changed(void)
{
	struct sn_topo *topo = NULL;

	if (!model.topo || is_tied())
		return;
	/* Not the file itself: a change of it waits for a reconfiguration. */
	if (sn_site_topology_again(&model.files, &topo, NULL))
		topo = sn_topo_create();
	if (!topo)
		return;
	take(topo);
	verbose("topology/supernode: nodes came or went, %d are there",
		active_node_record_count);
}

void model_done(void)
{
	untie();
	sn_site_files_done(&model.files);
}

const struct sn_topo *model_topo(void)
{
	/* The slurmstepd that manages a job's steps (--stepmgr) starts them with
	 * our select plugin and has never been told to build a topology. */
	if (!model.topo && running_in_slurmstepd())
		model_build();
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

static bool in_supernode(uint32_t t, uint32_t supernode)
{
	return model.topo->node[t].supernode == supernode;
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

typedef bool (*is_in_fn)(uint32_t t, uint32_t what);

static is_in_fn find_group(const char *name, uint32_t *ret)
{
	if ((*ret = sn_topo_find_supernode(model.topo, name)) != SN_NONE)
		return in_supernode;
	if ((*ret = sn_topo_find_unit(model.topo, name)) != SN_NONE)
		return in_unit;
	if ((*ret = sn_topo_find_fabric(model.topo, name)) != SN_NONE)
		return in_fabric;
	return NULL;
}

bitstr_t *model_group_nodes(const char *name)
{
	bitstr_t *nodes;
	is_in_fn is_in;
	uint32_t what, t, end;

	if (!model.topo || !name || !node_record_count)
		return NULL;
	is_in = find_group(name, &what);
	if (!is_in)
		return NULL;
	t = 0;
	end = model.topo->n_nodes;
	if (is_in == in_supernode) {
		t = model.topo->supernode[what].first_node;
		end = t + model.topo->supernode[what].n_nodes;
	}
	nodes = bit_alloc(node_record_count);
	for (; t < end; t++)
		if (model.node_inx[t] >= 0 &&
		    model.node_inx[t] < node_record_count && is_in(t, what))
			bit_set(nodes, model.node_inx[t]);
	return nodes;
}

static int kept_name(void *x, void *key)
{
	return !xstrcmp(((struct kept *)x)->name, key);
}

static void free_kept(void *x)
{
	struct kept *kept = x;

	xfree(kept->name);
	FREE_NULL_BITMAP(kept->nodes);
	xfree(kept);
}

bitstr_t *model_bitmap(const char *name)
{
	struct kept *kept;
	bitstr_t *nodes;

	/* Asked for under read locks, so by several threads. */
	slurm_mutex_lock(&kept_lock);
	if (!model.kept)
		model.kept = list_create(free_kept);
	kept = list_find_first(model.kept, kept_name, (void *)name);
	if (!kept && (nodes = model_group_nodes(name))) {
		kept = xmalloc(sizeof(*kept));
		kept->name = xstrdup(name);
		kept->nodes = nodes;
		list_append(model.kept, kept);
	}
	nodes = kept ? kept->nodes : NULL;
	slurm_mutex_unlock(&kept_lock);
	return nodes;
}

void model_whole_supernodes(bitstr_t *nodes)
{
	const struct sn_topo *topo = model.topo;
	uint32_t t = 0, s;

	for (s = 0; topo && s < topo->n_supernodes; s++) {
		uint32_t first = topo->supernode[s].first_node;
		uint32_t end = first + topo->supernode[s].n_nodes;

		for (t = first; t < end; t++)
			if (model.node_inx[t] >= 0 &&
			    bit_test(nodes, model.node_inx[t]))
				break;
		if (t == end)
			continue;
		for (t = first; t < end; t++)
			if (model.node_inx[t] >= 0)
				bit_set(nodes, model.node_inx[t]);
	}
}

uint32_t model_fragmentation(bitstr_t *nodes)
{
	const struct sn_topo *topo = model.topo;
	struct { uint32_t nodes; bool broken; } *fabric;
	uint32_t s, t, f, sum = 0;

	if (!topo)
		return 0;
	fabric = xcalloc((size_t)topo->n_fabrics + 1, sizeof(*fabric));
	for (s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		uint32_t n = 0, missing = 0;

		if (sn->loose)
			continue;
		for (t = sn->first_node; t < sn->first_node + sn->n_nodes; t++) {
			if (model.node_inx[t] < 0)
				continue;
			n++;
			missing += !bit_test(nodes, model.node_inx[t]);
		}
		sum += missing + (missing ? n : 0);
		for (f = sn->fabric; f != SN_NONE; f = topo->fabric[f].parent) {
			fabric[f].nodes += n;
			fabric[f].broken |= missing;
		}
	}
	for (f = 0; f < topo->n_fabrics; f++)
		sum += fabric[f].broken ? fabric[f].nodes : 0;
	xfree(fabric);
	return sum;
}
