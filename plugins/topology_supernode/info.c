/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * info.c - what `scontrol show topology` gets.
 *
 * A record travels as a few strings, so that a client of another release of
 * ours still prints it.
 */
#include "plugins/topology_supernode/info.h"

#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/node_conf.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "topology/text.h"
#include "plugins/topology_supernode/model.h"

struct record {
	char *key; /* "SupernodeName" */
	char *name;
	char *nodes; /* a hostlist */
	char *more; /* "Fabric=pod1 Units=2", "" */
};

struct topoinfo {
	uint32_t n;
	struct record *record;
};

static char *supernode_more(const struct sn_topo *topo, uint32_t s)
{
	const struct sn_topo_supernode *sn = &topo->supernode[s];
	char *text = NULL, size[32];

	xstrfmtcat(text, "NodeCount=%u", sn->n_nodes);
	if (sn->fabric != SN_NONE)
		xstrfmtcat(text, " Fabric=%s", topo->fabric[sn->fabric].name);
	if (sn->spare_nodes)
		xstrfmtcat(text, " SpareNodes=%u", sn->spare_nodes);
	if (sn->has_pool) {
		sn_format_size(sn->pool_memory, size, sizeof(size));
		xstrfmtcat(text, " PoolMemory=%s", size);
	}
	if (sn->loose)
		xstrcat(text, " Loose=yes");
	return text;
}

static void add(struct topoinfo *info, const char *key, const char *name,
		char *more)
{
	struct record *r = &info->record[info->n++];
	bitstr_t *bitmap = model_group_nodes(name);

	r->key = xstrdup(key);
	r->name = xstrdup(name);
	r->nodes = bitmap ? bitmap2node_name(bitmap) : NULL;
	r->more = more;
	FREE_NULL_BITMAP(bitmap);
}

struct topoinfo *topoinfo_create(void)
{
	const struct sn_topo *topo = model_topo();
	struct topoinfo *info = xmalloc(sizeof(*info));
	uint32_t i;

	if (!topo)
		return info;
	info->record = xcalloc((size_t)topo->n_supernodes + topo->n_units +
			       topo->n_fabrics + 1, sizeof(*info->record));
	for (i = 0; i < topo->n_supernodes; i++)
		add(info, "SupernodeName", topo->supernode[i].name,
		    supernode_more(topo, i));
	for (i = 0; i < topo->n_units; i++)
		add(info, "UnitName", topo->unit[i].name,
		    xstrdup_printf("Supernode=%s",
				   topo->supernode[topo->unit[i].supernode].name));
	for (i = 0; i < topo->n_fabrics; i++)
		add(info, "FabricName", topo->fabric[i].name,
		    topo->fabric[i].parent == SN_NONE ? NULL :
		    xstrdup_printf("Fabric=%s",
				   topo->fabric[topo->fabric[i].parent].name));
	return info;
}

void topoinfo_free(struct topoinfo *info)
{
	uint32_t i;

	if (!info)
		return;
	for (i = 0; info->record && i < info->n; i++) {
		xfree(info->record[i].key);
		xfree(info->record[i].name);
		xfree(info->record[i].nodes);
		xfree(info->record[i].more);
	}
	xfree(info->record);
	xfree(info);
}

void topoinfo_pack(const struct topoinfo *info, buf_t *buffer)
{
	uint32_t i;

	pack32(info->n, buffer);
	for (i = 0; i < info->n; i++) {
		packstr(info->record[i].key, buffer);
		packstr(info->record[i].name, buffer);
		packstr(info->record[i].nodes, buffer);
		packstr(info->record[i].more, buffer);
	}
}

int topoinfo_unpack(struct topoinfo **ret, buf_t *buffer)
{
	struct topoinfo *info = xmalloc(sizeof(*info));
	uint32_t i;

	safe_unpack32(&info->n, buffer);
	/* Four strings are at least four lengths: a damaged count must not take
	 * the client's memory. */
	if (info->n > remaining_buf(buffer) / (4 * sizeof(uint32_t)))
		goto unpack_error;
	info->record = xcalloc((size_t)info->n + 1, sizeof(*info->record));
	for (i = 0; i < info->n; i++) {
		safe_unpackstr(&info->record[i].key, buffer);
		safe_unpackstr(&info->record[i].name, buffer);
		safe_unpackstr(&info->record[i].nodes, buffer);
		safe_unpackstr(&info->record[i].more, buffer);
	}
	*ret = info;
	return SLURM_SUCCESS;

unpack_error:
	topoinfo_free(info);
	*ret = NULL;
	return SLURM_ERROR;
}

static bool matches(const struct record *r, const char *which)
{
	hostlist_t *nodes;
	bool found;

	if (!which || !*which || !xstrcmp(r->name, which))
		return true;
	if (!r->nodes || !(nodes = hostlist_create(r->nodes)))
		return false;
	found = hostlist_find(nodes, which) >= 0;
	hostlist_destroy(nodes);
	return found;
}

char *topoinfo_print(const struct topoinfo *info, const char *name,
		     const char *which)
{
	const char *cut = getenv("SLURM_TOPO_LEN");
	char *out = NULL;
	uint32_t i;

	for (i = 0; i < info->n; i++) {
		const struct record *r = &info->record[i];
		char *line;

		if (name && *name && xstrcmp(r->name, name))
			continue;
		if (!matches(r, which))
			continue;
		line = xstrdup_printf("%s=%s Nodes=%s%s%s", r->key, r->name,
				      r->nodes ? r->nodes : "",
				      r->more ? " " : "",
				      r->more ? r->more : "");
		if (cut)
			xstrfmtcat(out, "%.*s\n", atoi(cut), line);
		else
			xstrfmtcat(out, "%s\n", line);
		xfree(line);
	}
	return out;
}
