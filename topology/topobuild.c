/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topobuild.c - supernodes and units of the model, from declarations.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/topobuild.h"

#define CLIP 64

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "out of memory");
}

int sn_decl_expand(const struct sn_decl *d, enum sn_key key,
		   struct sn_names *ret, struct sn_err *err)
{
	const char *text = *(char *const *)((const char *)d + sn_topo_option[key].offset);
	int rc = sn_hostlist_expand(text, ret, err);

	if (!rc && !ret->n)
		rc = sn_err_set(err, -EINVAL, "the list is empty");
	return rc ? sn_decl_at(err, rc, d, key) : 0;
}

uint64_t sn_decl_deal(const struct sn_decl *d, uint64_t n_names,
		      uint64_t n_members, enum sn_key per_key,
		      const char *members, struct sn_err *err)
{
	const char *per = sn_topo_option[per_key].name;

	if (d->per) {
		if (n_names * d->per == n_members)
			return d->per;
		if (n_members % d->per == 0)
			sn_err_set(err, -EINVAL, "%s:%u: %s=%" PRIu64 ": %" PRIu64 " names x %" PRIu64 " = %" PRIu64 " %s, but the line lists %" PRIu64 ", enough for %" PRIu64 " names; the counts must agree",
				   d->file, d->line[per_key], per, d->per, n_names, d->per,
				   n_names * d->per, members, n_members, n_members / d->per);
		else
			sn_err_set(err, -EINVAL, "%s:%u: %s=%" PRIu64 ": %" PRIu64 " names x %" PRIu64 " = %" PRIu64 " %s, but the line lists %" PRIu64 "; the counts must agree",
				   d->file, d->line[per_key], per, d->per, n_names, d->per,
				   n_names * d->per, members, n_members);
		return 0;
	}
	if (n_members % n_names == 0)
		return n_members / n_names;
	sn_err_set(err, -EINVAL, "%" PRIu64 " names cannot share %" PRIu64 " %s evenly (%" PRIu64 " each leaves %" PRIu64 "); list %" PRIu64 " or %" PRIu64 ", or write a line for each name",
		   n_names, n_members, members, n_members / n_names,
		   n_members % n_names, n_members / n_names * n_names,
		   (n_members / n_names + 1) * n_names);
	if (n_members < n_names)
		sn_err_set(err, -EINVAL, "%" PRIu64 " names cannot share %" PRIu64 " %s; each needs at least one",
			   n_names, n_members, members);
	sn_decl_at(err, -EINVAL, d, d->name_key);
	return 0;
}

int sn_build_reserve(uint32_t **array, size_t have, size_t more,
		     struct sn_err *err)
{
	size_t size = 16;
	uint32_t *p;

	/* The size is what the same calls led to before: the next power of two. */
	while (size < have + more)
		size *= 2;
	if (*array && have > size / 2 && have <= size)
		return 0;
	p = realloc(*array, size * sizeof(*p));
	if (!p)
		return no_memory(err);
	*array = p;
	return 0;
}

/* "topology.conf:3" of the line that declared something. */
static const char *origin(const struct sn_build *b, uint32_t decl, char *buf,
			  size_t size)
{
	const struct sn_decl *d = &b->decls->decl[decl];
	char file[CLIP];

	snprintf(buf, size, "%s:%u", sn_text_clip(d->file, file, sizeof(file)),
		 d->line[d->name_key]);
	return buf;
}

static int node_twice(struct sn_build *b, const struct sn_decl *d,
		      const char *name, uint32_t node)
{
	uint32_t s = b->topo->node[node].supernode;
	char at[CLIP + 16], clip[CLIP], clip2[CLIP];

	sn_text_clip(name, clip, sizeof(clip));
	sn_text_clip(b->topo->supernode[s].name, clip2, sizeof(clip2));
	sn_err_set(b->err, -EINVAL, "%s is already in supernode %s (%s); a node is in one supernode, once",
		   clip, clip2, origin(b, b->decl_of_supernode[s], at, sizeof(at)));
	return sn_decl_at(b->err, -EINVAL, d, SN_KEY_NODES);
}

static int push_failed(struct sn_build *b, int rc, const struct sn_decl *d,
		       enum sn_key key, const char *what)
{
	if (rc == -ENOMEM)
		return no_memory(b->err);
	sn_err_set(b->err, -EINVAL, "more than %u %s", SN_TOPO_NODES_MAX, what);
	return sn_decl_at(b->err, -EINVAL, d, key);
}

static int name_twice(struct sn_build *b, const struct sn_decl *d,
		      const char *what, const char *name, uint32_t by)
{
	char at[CLIP + 16], clip[CLIP];

	sn_err_set(b->err, -EINVAL, "%s %s is already declared (%s); a name is declared once",
		   what, sn_text_clip(name, clip, sizeof(clip)),
		   origin(b, by, at, sizeof(at)));
	return sn_decl_at(b->err, -EINVAL, d, d->name_key);
}

static void set_supernode(struct sn_topo_supernode *s, const struct sn_decl *d)
{
	s->shape = (enum sn_shape)d->shape;
	s->spare_nodes = (uint32_t)d->spare_nodes;
	s->has_pool = d->line[SN_KEY_POOL_MEMORY] != 0;
	s->pool_memory = d->pool_memory;
	s->has_pool_bandwidth = d->line[SN_KEY_POOL_BANDWIDTH] != 0;
	s->pool_bandwidth = d->pool_bandwidth;
	s->power_limit = d->power_limit;
	s->card_bandwidth = d->card_bandwidth;
	s->card_latency = d->card_latency;
}

/* Hand name i of names over to the model by way of push. */
#define PUSH(push, topo, names, i, ret) __extension__ ({ \
	int rc_ = push(topo, (names)->name[i], ret); \
	if (!rc_) \
		(names)->name[i] = NULL; \
	rc_; \
})

static int add_supernodes(struct sn_build *b, const struct sn_decl *d,
			  struct sn_names *names, struct sn_names *nodes,
			  uint64_t per)
{
	uint32_t decl = (uint32_t)(d - b->decls->decl), got;
	size_t i, j = 0, end;
	int rc;

	for (i = 0; i < names->n; i++) {
		rc = PUSH(sn_topo_push_supernode, b->topo, names, i, &got);
		if (rc == -EEXIST)
			return name_twice(b, d, "supernode", names->name[i],
					  b->decl_of_supernode[got]);
		if (rc)
			return push_failed(b, rc, d, d->name_key, "supernodes");
		b->decl_of_supernode[got] = decl;
		set_supernode(&b->topo->supernode[got], d);
		for (end = j + per; j < end; j++) {
			rc = PUSH(sn_topo_push_node, b->topo, nodes, j, &got);
			if (rc == -EEXIST)
				return node_twice(b, d, nodes->name[j], got);
			if (rc)
				return push_failed(b, rc, d, SN_KEY_NODES, "nodes");
		}
	}
	return 0;
}

static int build_supernode_line(struct sn_build *b, const struct sn_decl *d)
{
	struct sn_names names = { .name = NULL }, nodes = { .name = NULL };
	uint64_t per = 0;
	int rc;

	/* Slurm's word for every node there is, which only Slurm knows. */
	if (strcasecmp(d->nodes, "ALL") == 0) {
		sn_err_set(b->err, -EINVAL, "the nodes must be named, such as n[001-032]");
		return sn_decl_at(b->err, -EINVAL, d, SN_KEY_NODES);
	}
	rc = sn_decl_expand(d, d->name_key, &names, b->err);
	if (!rc)
		rc = sn_decl_expand(d, SN_KEY_NODES, &nodes, b->err);
	if (!rc) {
		per = sn_decl_deal(d, names.n, nodes.n, SN_KEY_NODES_PER_SUPERNODE,
				   "nodes", b->err);
		rc = per ? 0 : -EINVAL;
	}
	if (!rc && d->spare_nodes >= per)
		rc = sn_err_set(b->err, -EINVAL, "%s:%u: SpareNodes=%" PRIu64 ": a supernode of the line has %" PRIu64 " nodes; at most %" PRIu64 " can be spares",
				d->file, d->line[SN_KEY_SPARE_NODES], d->spare_nodes, per, per - 1);
	if (!rc)
		rc = sn_build_reserve(&b->decl_of_supernode, b->topo->n_supernodes,
				      names.n, b->err);
	if (!rc)
		rc = add_supernodes(b, d, &names, &nodes, per);
	sn_names_done(&names);
	sn_names_done(&nodes);
	return rc;
}

int sn_build_supernodes(struct sn_build *b)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < b->decls->n; i++) {
		if (b->decls->decl[i].kind == SN_DECL_SUPERNODE)
			rc = build_supernode_line(b, &b->decls->decl[i]);
	}
	return rc;
}

/* Put the node named so into unit u. */
static int add_to_unit(struct sn_build *b, const struct sn_decl *d, uint32_t u,
		       const char *name)
{
	struct sn_topo *topo = b->topo;
	struct sn_topo_unit *unit = &topo->unit[u];
	uint32_t node = sn_topo_find_node(topo, name);
	char clip[CLIP], clip2[CLIP], clip3[CLIP], clip4[CLIP];

	sn_text_clip(name, clip, sizeof(clip));
	sn_text_clip(unit->name, clip2, sizeof(clip2));
	if (node == SN_NONE) {
		sn_err_set(b->err, -EINVAL, "%s is in no supernode; a unit is a part of a supernode: name the node on a SupernodeName line",
			   clip);
	} else if (topo->node[node].unit != SN_NONE) {
		sn_err_set(b->err, -EINVAL, "%s is already in unit %s; a node is in one unit, once",
			   clip, sn_text_clip(topo->unit[topo->node[node].unit].name, clip3, sizeof(clip3)));
	} else if (unit->n_nodes && unit->supernode != topo->node[node].supernode) {
		sn_err_set(b->err, -EINVAL, "unit %s would hold nodes of supernode %s and %s of supernode %s; a unit is inside one supernode",
			   clip2, sn_text_clip(topo->supernode[unit->supernode].name, clip3, sizeof(clip3)),
			   clip, sn_text_clip(topo->supernode[topo->node[node].supernode].name, clip4, sizeof(clip4)));
	} else {
		topo->node[node].unit = u;
		unit->supernode = topo->node[node].supernode;
		unit->n_nodes++;
		return 0;
	}
	return sn_decl_at(b->err, -EINVAL, d, SN_KEY_NODES);
}

static int add_units(struct sn_build *b, const struct sn_decl *d,
		     struct sn_names *names, struct sn_names *nodes, uint64_t per)
{
	uint32_t decl = (uint32_t)(d - b->decls->decl), u;
	size_t i, j = 0, end;
	int rc;

	for (i = 0; i < names->n; i++) {
		rc = PUSH(sn_topo_push_unit, b->topo, names, i, &u);
		if (rc == -EEXIST)
			return name_twice(b, d, "unit", names->name[i],
					  b->decl_of_unit[u]);
		if (rc)
			return push_failed(b, rc, d, d->name_key, "units");
		b->decl_of_unit[u] = decl;
		b->topo->unit[u].card_bandwidth = d->card_bandwidth;
		b->topo->unit[u].card_latency = d->card_latency;
		for (end = j + per; j < end; j++) {
			rc = add_to_unit(b, d, u, nodes->name[j]);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int build_unit_line(struct sn_build *b, const struct sn_decl *d)
{
	struct sn_names names = { .name = NULL }, nodes = { .name = NULL };
	uint64_t per = 0;
	int rc;

	rc = sn_decl_expand(d, d->name_key, &names, b->err);
	if (!rc)
		rc = sn_decl_expand(d, SN_KEY_NODES, &nodes, b->err);
	if (!rc) {
		per = sn_decl_deal(d, names.n, nodes.n, SN_KEY_NODES_PER_UNIT,
				   "nodes", b->err);
		rc = per ? 0 : -EINVAL;
	}
	if (!rc)
		rc = sn_build_reserve(&b->decl_of_unit, b->topo->n_units,
				      names.n, b->err);
	if (!rc)
		rc = add_units(b, d, &names, &nodes, per);
	sn_names_done(&names);
	sn_names_done(&nodes);
	return rc;
}

int sn_build_units(struct sn_build *b)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < b->decls->n; i++) {
		if (b->decls->decl[i].kind == SN_DECL_UNIT)
			rc = build_unit_line(b, &b->decls->decl[i]);
	}
	return rc;
}
