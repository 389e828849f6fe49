/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joblost.c - which nodes a running job has lost.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/hostlist.h"
#include "topology/jobcomment.h"
#include "topology/joblost.h"

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int fill(const struct sn_topo *topo, const struct sn_names *names,
		const struct sn_spares_node *node, uint32_t n_nodes,
		struct sn_joblost *ret)
{
	uint32_t *has = calloc((size_t)n_nodes + 1, sizeof(*has));

	ret->node = calloc(names->n + 1, sizeof(*ret->node));
	ret->count = calloc((size_t)topo->n_supernodes + 1, sizeof(*ret->count));
	if (!has || !ret->node || !ret->count) {
		free(has);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_nodes; i++)
		has[i] = node[i].node;
	qsort(has, n_nodes, sizeof(*has), by_number);
	for (size_t i = 0; i < names->n; i++) {
		uint32_t t = sn_topo_find_node(topo, names->name[i]);

		if (t == SN_NONE ||
		    bsearch(&t, has, n_nodes, sizeof(*has), by_number))
			continue;
		ret->node[ret->n++] = t;
		ret->count[topo->node[t].supernode]++;
	}
	qsort(ret->node, ret->n, sizeof(*ret->node), by_number);
	free(has);
	return 0;
}

int sn_joblost_find(const struct sn_topo *topo, const char *comment,
		    const struct sn_spares_node *node, uint32_t n_nodes,
		    struct sn_joblost *ret, struct sn_err *err)
{
	struct sn_names names = { NULL, 0, 0 };
	char *list = NULL;
	int rc = sn_jobcomment_nodes(comment, &list, err);

	memset(ret, 0, sizeof(*ret));
	if (!rc)
		rc = sn_hostlist_expand(list, &names, err);
	if (!rc) {
		rc = fill(topo, &names, node, n_nodes, ret);
		if (rc)
			sn_err_set(err, rc, "no memory for %zu nodes", names.n);
	}
	if (rc)
		sn_joblost_done(ret);
	sn_names_done(&names);
	free(list);
	return rc;
}

void sn_joblost_done(struct sn_joblost *lost)
{
	free(lost->node);
	free(lost->count);
	memset(lost, 0, sizeof(*lost));
}
