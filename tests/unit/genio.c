/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * genio.c - printing and shrinking of the cases of gen.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

void gen_print_topology(FILE *out, const struct sn_topo *topo)
{
	const char *sep;
	uint32_t s, i, f;

	for (s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];

		if (sn->loose)
			continue;
		fprintf(out, "SupernodeName=%s Nodes=", sn->name);
		for (i = 0; i < sn->n_nodes; i++)
			fprintf(out, "%s%s", i ? "," : "",
				topo->node[sn->first_node + i].name);
		if (sn->spare_nodes)
			fprintf(out, " SpareNodes=%u", sn->spare_nodes);
		fputc('\n', out);
	}
	for (s = 0; s < topo->n_units; s++) {
		if (!topo->unit[s].n_nodes)
			continue;
		fprintf(out, "UnitName=%s Nodes=", topo->unit[s].name);
		for (i = 0, sep = ""; i < topo->n_nodes; i++)
			if (topo->node[i].unit == s) {
				fprintf(out, "%s%s", sep, topo->node[i].name);
				sep = ",";
			}
		fputc('\n', out);
	}
	for (f = 0; f < topo->n_fabrics; f++) {
		fprintf(out, "FabricName=%s", topo->fabric[f].name);
		for (i = 0, sep = " Supernodes="; i < topo->n_supernodes; i++)
			if (topo->supernode[i].fabric == f) {
				fprintf(out, "%s%s", sep, topo->supernode[i].name);
				sep = ",";
			}
		for (i = 0, sep = " Fabrics="; i < topo->n_fabrics; i++)
			if (topo->fabric[i].parent == f) {
				fprintf(out, "%s%s", sep, topo->fabric[i].name);
				sep = ",";
			}
		fputc('\n', out);
	}
}

static void print_limit(FILE *out, const char *name, uint64_t value)
{
	if (value != UINT64_MAX)
		fprintf(out, " %s=%" PRIu64, name, value);
}

void gen_print(FILE *out, const struct gen_case *c)
{
	static const char *const within[] = { "node", "unit", "supernode", "any" };
	static const char *const per[] = { "none", "total", "supernode", "node",
		"card", "named" };
	const struct sn_place_request *r = &c->request;
	const struct sn_layout *y = &c->layout;
	uint32_t i, k;

	fprintf(out, "# case of seed 0x%016" PRIx64 "\n", c->seed);
	gen_print_topology(out, &c->topo);
	for (i = 0; i < c->topo.n_nodes; i++) {
		const struct sn_place_node *node = &c->node[i];

		fprintf(out, "%s: %d cards, free [", c->topo.node[i].name,
			__builtin_popcountll(node->cards));
		for (k = 0; k < SN_CARDS_MAX; k++)
			if (node->free >> k & 1)
				fprintf(out, " %u", k);
		fprintf(out, " ] weight %u", node->weight);
		if (node->max_ranks != UINT32_MAX)
			fprintf(out, " max_ranks %u", node->max_ranks);
		fprintf(out, "%s%s%s%s%s%s%s\n",
			node->flags & SN_NODE_ABSENT ? " ABSENT" : "",
			node->flags & SN_NODE_LATE ? " LATE" : "",
			node->flags & SN_NODE_REQUIRED ? " REQUIRED" : "",
			node->flags & SN_NODE_DEGRADED ? " DEGRADED" : "",
			node->flags & SN_NODE_DRAWS ? " DRAWS" : "",
			node->flags & SN_NODE_PARTLY ? " PARTLY" : "",
			node->flags & SN_NODE_STANDBY ? " STANDBY" : "");
	}
	for (i = 0; i < c->topo.n_supernodes; i++) {
		if (c->supernode[i].pool_free == UINT64_MAX &&
		    c->supernode[i].bandwidth_free == UINT64_MAX &&
		    !c->supernode[i].keep_idle)
			continue;
		fprintf(out, "%s:", c->topo.supernode[i].name);
		print_limit(out, "pool_free", c->supernode[i].pool_free);
		print_limit(out, "bandwidth_free",
			    c->supernode[i].bandwidth_free);
		if (c->supernode[i].keep_idle)
			fprintf(out, " keep_idle %u", c->supernode[i].keep_idle);
		fputc('\n', out);
	}
	fprintf(out, "request: world %u node_block %u unit_block %u atom %u "
		"spares %u exact_nodes %u%s%s", r->world, r->node_block,
		r->unit_block, r->atom, r->spares, r->exact_nodes,
		r->whole_nodes ? " whole_nodes" : "",
		r->use_spare_nodes ? " use_spare_nodes" : "");
	if (r->pool.per != SN_POOL_NONE)
		fprintf(out, " pool %" PRIu64 "/%s,bw=%" PRIu64, r->pool.size,
			per[r->pool.per], r->pool.bandwidth);
	fprintf(out, "\nlayout: tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,order=%s,"
		"tp_within=%s,cp_within=%s,ep_within=%s (etp_within=%s)%s\n",
		y->tp, y->cp, y->ep, y->etp, y->pp, y->dp,
		y->order == SN_ORDER_PP_DP ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp",
		within[y->tp_within], within[y->cp_within],
		within[y->ep_within], within[y->etp_within],
		y->map == SN_MAP_AUTO ? ",map=auto" : "");
}

static void *copy_of(const void *from, size_t size)
{
	void *p = malloc(size + 1);

	if (!p)
		abort();
	if (size)
		memcpy(p, from, size);
	return p;
}

#define COPY_NAMES(array, n) do { \
	uint32_t i_; \
	for (i_ = 0; i_ < (n); i_++) \
		(array)[i_].name = copy_of((array)[i_].name, \
					   strlen((array)[i_].name) + 1); \
} while (0)

static struct gen_case gen_copy(const struct gen_case *c)
{
	struct gen_case to = *c;
	struct sn_topo *t = &to.topo;

	t->node = copy_of(t->node, t->n_nodes * sizeof(*t->node));
	t->supernode = copy_of(t->supernode,
			       t->n_supernodes * sizeof(*t->supernode));
	t->unit = copy_of(t->unit, t->n_units * sizeof(*t->unit));
	t->fabric = copy_of(t->fabric, t->n_fabrics * sizeof(*t->fabric));
	COPY_NAMES(t->node, t->n_nodes);
	COPY_NAMES(t->supernode, t->n_supernodes);
	COPY_NAMES(t->unit, t->n_units);
	COPY_NAMES(t->fabric, t->n_fabrics);
	to.node = copy_of(c->node, t->n_nodes * sizeof(*c->node));
	to.supernode = copy_of(c->supernode,
			       t->n_supernodes * sizeof(*c->supernode));
	to.state.node = to.node;
	to.state.supernode = to.supernode;
	return to;
}

static void drop_node(struct gen_case *c, uint32_t n)
{
	struct sn_topo *t = &c->topo;
	uint32_t s, own = t->node[n].supernode;

	if (t->node[n].unit != SN_NONE)
		t->unit[t->node[n].unit].n_nodes--;
	free(t->node[n].name);
	t->n_nodes--;
	memmove(t->node + n, t->node + n + 1,
		(t->n_nodes - n) * sizeof(*t->node));
	memmove(c->node + n, c->node + n + 1,
		(t->n_nodes - n) * sizeof(*c->node));
	t->supernode[own].n_nodes--;
	for (s = own + 1; s < t->n_supernodes; s++)
		t->supernode[s].first_node--;
	if (t->supernode[own].n_nodes)
		return;
	free(t->supernode[own].name);
	t->n_supernodes--;
	memmove(t->supernode + own, t->supernode + own + 1,
		(t->n_supernodes - own) * sizeof(*t->supernode));
	memmove(c->supernode + own, c->supernode + own + 1,
		(t->n_supernodes - own) * sizeof(*c->supernode));
	for (n = 0; n < t->n_nodes; n++)
		if (t->node[n].supernode > own)
			t->node[n].supernode--;
}

/* The k-th way to make something of the whole case simpler. */
static bool simplify_case(struct gen_case *c, uint32_t k)
{
	struct sn_place_request *r = &c->request;
	uint32_t i;

	switch (k) {
	case 0: /* fewer ranks: the layout no longer fits, but to the engine */
		r->world = r->world > r->atom ? r->world - r->atom : r->world;
		return true;
	case 1:
		r->pool.per = SN_POOL_NONE;
		return true;
	case 2:
		r->pool.bandwidth = 0;
		return true;
	case 3:
		r->spares = r->spares ? r->spares - 1 : 0;
		return true;
	case 4:
		r->exact_nodes = 0;
		return true;
	case 5:
		r->whole_nodes = false;
		return true;
	case 6:
		r->unit_block = r->node_block;
		return true;
	case 7:
		for (i = 0; i < c->topo.n_units; i++)
			free(c->topo.unit[i].name);
		c->topo.n_units = 0;
		for (i = 0; i < c->topo.n_nodes; i++)
			c->topo.node[i].unit = SN_NONE;
		return true;
	case 8:
		for (i = 0; i < c->topo.n_fabrics; i++)
			free(c->topo.fabric[i].name);
		c->topo.n_fabrics = c->topo.fabric_levels = 0;
		for (i = 0; i < c->topo.n_supernodes; i++)
			c->topo.supernode[i].fabric = SN_NONE;
		return true;
	case 9:
		for (i = 0; i < c->topo.n_supernodes; i++)
			c->topo.supernode[i].spare_nodes = 0;
		return true;
	case 10:
		for (i = 0; i < c->topo.n_supernodes; i++)
			c->supernode[i].pool_free =
				c->supernode[i].bandwidth_free = UINT64_MAX;
		return true;
	case 11:
		for (i = 0; i < c->topo.n_supernodes; i++)
			c->supernode[i].keep_idle = 0;
		return true;
	default:
		return false;
	}
}

/* The k-th way to make node n simpler, dropping it first of all. */
static bool simplify_node(struct gen_case *c, uint32_t n, uint32_t k)
{
	struct sn_place_node *node = &c->node[n];

	switch (k) {
	case 0:
		drop_node(c, n);
		return true;
	case 1:
		node->flags = 0;
		return true;
	case 2:
		node->weight = 1;
		return true;
	case 3:
		node->max_ranks = UINT32_MAX;
		return true;
	case 4:
		node->free = node->cards;
		return true;
	default:
		return false;
	}
}

/* Keep the smaller case if it still fails. */
static bool keep(struct gen_case *c, struct gen_case *smaller,
		 bool (*fails)(struct gen_case *c))
{
	if (!fails(smaller)) {
		gen_done(smaller);
		return false;
	}
	gen_done(c);
	*c = *smaller;
	return true;
}

void gen_shrink(struct gen_case *c, bool (*fails)(struct gen_case *c))
{
	uint32_t round, k, n;

	for (round = 0; round < 6; round++) {
		for (k = 0; ; k++) {
			struct gen_case smaller = gen_copy(c);

			if (!simplify_case(&smaller, k)) {
				gen_done(&smaller);
				break;
			}
			keep(c, &smaller, fails);
		}
		for (n = c->topo.n_nodes; n-- > 0;) {
			for (k = 0; c->topo.n_nodes > 1; k++) {
				struct gen_case smaller = gen_copy(c);

				if (!simplify_node(&smaller, n, k)) {
					gen_done(&smaller);
					break;
				}
				if (keep(c, &smaller, fails) && k == 0)
					break;
			}
		}
	}
}
