/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_topoconf.c - a model that is built keeps what topo.h promises.
 */
#include "config.h"

#include "fuzz.h"
#include "fuzzinclude.h"
#include "topology/topo.h"

static void check(const struct sn_topo *t)
{
	uint32_t chain[SN_TOPO_LEVELS_MAX], i, n, next = 0, in_units = 0, levels = 0;

	MUST(t->n_supernodes > 0 && t->n_nodes >= t->n_supernodes);
	for (i = 0; i < t->n_supernodes; i++) {
		const struct sn_topo_supernode *s = &t->supernode[i];

		MUST(s->first_node == next && s->n_nodes > 0);
		MUST(s->spare_nodes < s->n_nodes && !s->loose);
		MUST(sn_topo_find_supernode(t, s->name) == i);
		next += s->n_nodes;
		n = sn_topo_chain(t, i, chain);
		MUST(n <= t->fabric_levels);
		MUST((n == 0) == (s->fabric == SN_NONE));
		if (n)
			MUST(t->fabric[chain[0]].parent == SN_NONE && chain[n - 1] == s->fabric);
	}
	MUST(next == t->n_nodes);
	for (i = 0; i < t->n_nodes; i++) {
		const struct sn_topo_node *node = &t->node[i];
		const struct sn_topo_supernode *s = &t->supernode[node->supernode];

		MUST(i - s->first_node < s->n_nodes);
		MUST(sn_topo_find_node(t, node->name) == i);
		if (node->unit != SN_NONE) {
			MUST(t->unit[node->unit].supernode == node->supernode);
			in_units++;
		}
	}
	for (i = 0; i < t->n_units; i++) {
		MUST(t->unit[i].n_nodes > 0 && t->unit[i].n_nodes <= in_units);
		in_units -= t->unit[i].n_nodes;
		MUST(sn_topo_find_unit(t, t->unit[i].name) == i);
	}
	MUST(in_units == 0);
	for (i = 0; i < t->n_fabrics; i++) {
		const struct sn_topo_fabric *f = &t->fabric[i];

		MUST(f->depth == (f->parent == SN_NONE ? 0 : t->fabric[f->parent].depth + 1));
		if (f->depth + 1 > levels)
			levels = f->depth + 1;
		MUST(sn_topo_find_fabric(t, f->name) == i);
	}
	MUST(levels == t->fabric_levels && levels <= SN_TOPO_LEVELS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_include in = fuzz_include_split(data, &size);
	struct sn_topo *topo = NULL;
	struct sn_err err = { "" };
	int rc;

	rc = sn_topo_parse((const char *)data, size, "t.conf", fuzz_include_read, &in,
			   &topo, &err);
	if (rc) {
		MUST(rc < 0 && !topo);
		fuzz_check_err(&err);
	} else {
		check(topo);
	}
	sn_topo_destroy(topo);
	return 0;
}
