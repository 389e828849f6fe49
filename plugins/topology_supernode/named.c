/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.c - pool regions with names: what they hold, and whom they draw.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/node_conf.h"

#include "plugins/topology_supernode/marks.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/named.h"

void named_take(struct offer *offer)
{
	const struct sn_topo *topo = model_topo();
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		uint32_t t = model_topo_node((uint32_t)i);
		const struct marks *marks = marks_of(node_ptr);

		for (size_t k = 0; t != SN_NONE && k < marks->n_pool; k++) {
			uint64_t *left = &offer->supernode[topo->node[t].supernode].pool_free;
			uint64_t bytes = marks->pool[k].bytes;

			if (*left != UINT64_MAX)
				*left -= bytes < *left ? bytes : *left;
		}
	}
}

void named_keep_nodes(const char *name, uint32_t uid, struct offer *offer)
{
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		uint32_t t = model_topo_node((uint32_t)i);
		const struct sn_poolbook_entry *entry = marks_region(node_ptr, name);

		if (t == SN_NONE)
			continue;
		if (!entry || (uid != NAMED_ANY_USER && entry->uid != uid))
			offer->node[t] = (struct sn_place_node){
				.flags = SN_NODE_ABSENT,
			};
	}
}

int named_find(const char *name, uint32_t uid, uint64_t *ret_bytes,
	       struct sn_err *err)
{
	node_record_t *node_ptr;
	bool found = false, others = false;
	int i;

	*ret_bytes = 0;
	for (i = 0; (node_ptr = next_node(&i)); i++) {
		const struct sn_poolbook_entry *entry = marks_region(node_ptr, name);

		if (!entry)
			continue;
		if (entry->uid != uid) {
			others = true;
			continue;
		}
		found = true;
		if (entry->bytes > *ret_bytes)
			*ret_bytes = entry->bytes;
	}
	if (found)
		return 0;
	if (others)
		return sn_err_set(err, -EPERM,
				  "--pool=name:%s: the pool region %s is not yours",
				  name, name);
	return sn_err_set(err, -ENOENT,
			  "--pool=name:%s: there is no pool region %s; snctl pool list shows them, and snctl pool create makes one",
			  name, name);
}
