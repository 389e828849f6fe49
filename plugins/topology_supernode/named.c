/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.c - pool regions with names: what they hold, and whom they draw.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/log.h"
#include "src/common/node_conf.h"

#include "launcher/poolbook.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/named.h"

/* The regions on a node; *ret is the caller's (free). */
static size_t read_book(const node_record_t *node_ptr,
			struct sn_poolbook_entry **ret)
{
	static bool told;
	struct sn_err err;
	size_t n = 0;

	*ret = NULL;
	if (node_ptr->extra && sn_poolbook_read(node_ptr->extra, ret, &n, &err) &&
	    !told) {
		error("topology/supernode: node %s: %s; its pool regions are passed over",
		      node_ptr->name, err.text);
		told = true;
	}
	return n;
}

void named_take(struct offer *offer)
{
	const struct sn_topo *topo = model_topo();
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		uint32_t t = model_topo_node((uint32_t)i);
		struct sn_poolbook_entry *all;
		size_t n = t == SN_NONE ? 0 : read_book(node_ptr, &all);

		for (size_t k = 0; k < n; k++) {
			uint64_t *left = &offer->supernode[topo->node[t].supernode].pool_free;

			if (*left != UINT64_MAX)
				*left -= all[k].bytes < *left ? all[k].bytes : *left;
		}
		if (t != SN_NONE)
			free(all);
	}
}

void named_keep_nodes(const char *name, uint32_t uid, struct offer *offer)
{
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		uint32_t t = model_topo_node((uint32_t)i);
		struct sn_poolbook_entry entry;

		if (t == SN_NONE)
			continue;
		if (!node_ptr->extra ||
		    sn_poolbook_find(node_ptr->extra, name, &entry, NULL) ||
		    (uid != NAMED_ANY_USER && entry.uid != uid))
			offer->node[t] = (struct sn_place_node){
				.flags = SN_NODE_ABSENT,
			};
	}
}

int named_find(const char *name, uint32_t uid, uint64_t *ret_bytes,
	       struct sn_err *err)
{
	struct sn_poolbook_entry entry;
	node_record_t *node_ptr;
	bool found = false, others = false;
	int i;

	*ret_bytes = 0;
	for (i = 0; (node_ptr = next_node(&i)); i++) {
		if (!node_ptr->extra ||
		    sn_poolbook_find(node_ptr->extra, name, &entry, NULL))
			continue;
		if (entry.uid != uid) {
			others = true;
			continue;
		}
		found = true;
		if (entry.bytes > *ret_bytes)
			*ret_bytes = entry.bytes;
	}
	if (found)
		return 0;
	if (others)
		return sn_err_set(err, -EPERM,
				  "--pool=name:%s: the pool region %s is not yours",
				  name, name);
	return sn_err_set(err, -ENOENT,
			  "--pool=name:%s: there is no pool region %s; snctl pool list shows them, and an administrator makes one with snctl pool create",
			  name, name);
}
