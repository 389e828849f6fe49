/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepnodes.c - a step's nodes in Slurm's order and in topology order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/common/stepnodes.h"

struct pair {
	uint32_t topo_node, slurm;
};

static int by_topology(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->topo_node > y->topo_node) - (x->topo_node < y->topo_node);
}

int sn_stepnodes_make(const struct sn_topo *topo, const struct sn_names *names,
		      const uint16_t *tasks, struct sn_stepnodes *ret)
{
	uint32_t n = (uint32_t)names->n, i;
	size_t size = n ? n : 1;
	struct pair *pair = calloc(size, sizeof(*pair));
	int rc = -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	ret->n = n;
	ret->topo_node = calloc(size, sizeof(*ret->topo_node));
	ret->order = calloc(size, sizeof(*ret->order));
	ret->position = calloc(size, sizeof(*ret->position));
	ret->run = calloc(size, sizeof(*ret->run));
	if (!pair || !ret->topo_node || !ret->order || !ret->position ||
	    !ret->run)
		goto out;
	rc = -ENOENT;
	for (i = 0; i < n; i++) {
		uint32_t t = sn_topo_find_node(topo, names->name[i]);

		if (t == SN_NONE)
			goto out;
		ret->topo_node[i] = t;
		pair[i] = (struct pair){ t, i };
	}
	qsort(pair, n, sizeof(*pair), by_topology);
	for (i = 0; i < n; i++) {
		ret->order[i] = pair[i].slurm;
		ret->position[pair[i].slurm] = i;
		ret->run[i] = (struct sn_rankmap_node){
			.supernode = topo->node[pair[i].topo_node].supernode,
			.ranks = tasks[pair[i].slurm],
			.unit = topo->node[pair[i].topo_node].unit,
		};
	}
	rc = 0;
out:
	free(pair);
	if (rc)
		sn_stepnodes_done(ret);
	return rc;
}

void sn_stepnodes_done(struct sn_stepnodes *nodes)
{
	free(nodes->topo_node);
	free(nodes->order);
	free(nodes->position);
	free(nodes->run);
	memset(nodes, 0, sizeof(*nodes));
}

int sn_stepnodes_know(struct sn_topo *topo, const struct sn_names *names)
{
	size_t i;

	for (i = 0; i < names->n; i++) {
		int rc = 0;

		if (sn_topo_find_node(topo, names->name[i]) == SN_NONE)
			rc = sn_topo_add_loose(topo, names->name[i], NULL);
		if (rc)
			return rc;
	}
	return 0;
}

bool sn_stepnodes_in_turn(const struct sn_stepnodes *nodes,
			  const struct sn_rankmap *map, bool by_topology)
{
	uint32_t last = 0, rank;

	for (rank = 0; rank < map->world; rank++) {
		uint32_t turn = by_topology ? map->node[rank] :
			nodes->order[map->node[rank]];

		if (turn < last)
			return false;
		last = turn;
	}
	return true;
}
