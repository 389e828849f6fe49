/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * degraded.c - supernodes and units whose links are degraded.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/degraded.h"
#include "topology/hostlist.h"

#define LISTED 8 /* domains that a warning names */

int sn_degraded_init(const struct sn_topo *topo, struct sn_degraded *ret,
		     struct sn_err *err)
{
	*ret = (struct sn_degraded){
		.supernode = calloc((size_t)topo->n_supernodes + 1, 1),
		.unit = calloc((size_t)topo->n_units + 1, 1),
	};
	if (ret->supernode && ret->unit)
		return 0;
	return sn_err_set(err, -ENOMEM, "no memory for %u supernodes",
			  topo->n_supernodes);
}

void sn_degraded_done(struct sn_degraded *degraded)
{
	if (!degraded)
		return;
	free(degraded->supernode);
	free(degraded->unit);
	*degraded = (struct sn_degraded){ 0 };
}

int sn_degraded_add(struct sn_degraded *degraded, const struct sn_topo *topo,
		    const char *hostlist, struct sn_err *err)
{
	struct sn_names names = { 0 };
	int rc = sn_hostlist_expand(hostlist, &names, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < names.n; i++) {
		uint32_t s = sn_topo_find_supernode(topo, names.name[i]);
		uint32_t u = sn_topo_find_unit(topo, names.name[i]);

		if (s != SN_NONE)
			degraded->supernode[s] = 1;
		if (u != SN_NONE)
			degraded->unit[u] = 1;
		if (s != SN_NONE || u != SN_NONE)
			degraded->any = true;
		else if (!rc)
			rc = sn_err_set(err, -ENOENT,
					"there is no supernode or unit %.80s",
					names.name[i]);
	}
	sn_names_done(&names);
	return rc;
}

void sn_degraded_add_node(struct sn_degraded *degraded,
			  const struct sn_topo *topo, uint32_t node,
			  bool supernode, bool unit)
{
	const struct sn_topo_node *n = &topo->node[node];

	if (supernode) {
		degraded->supernode[n->supernode] = 1;
		degraded->any = true;
	}
	if (unit && n->unit < topo->n_units) {
		degraded->unit[n->unit] = 1;
		degraded->any = true;
	}
}

bool sn_degraded_is(const struct sn_degraded *degraded,
		    const struct sn_topo *topo, uint32_t node)
{
	const struct sn_topo_node *n = &topo->node[node];

	return degraded->any &&
	       (degraded->supernode[n->supernode] ||
		(n->unit < topo->n_units && degraded->unit[n->unit]));
}

void sn_degraded_mark(const struct sn_degraded *degraded,
		      const struct sn_topo *topo, struct sn_place_node *node)
{
	for (uint32_t i = 0; degraded->any && i < topo->n_nodes; i++)
		if (sn_degraded_is(degraded, topo, i))
			node[i].flags |= SN_NODE_DEGRADED;
}

/* ---- what to say ------------------------------------------------------------ */

struct line {
	char *buf;
	size_t size, n;
};

static void put(struct line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (l->n + 1 >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->n, l->size - l->n, fmt, ap);
	va_end(ap);
	l->n += n > 0 ? (size_t)n : 0;
	if (l->n >= l->size)
		l->n = l->size - 1;
}

/* A bit for each domain that is used: seen[s], seen[n_supernodes + u]. */
static void see(const struct sn_degraded *d, const struct sn_topo *topo,
		uint32_t node, uint8_t *seen)
{
	const struct sn_topo_node *n = &topo->node[node];

	if (d->supernode[n->supernode])
		seen[n->supernode] = 1;
	if (n->unit < topo->n_units && d->unit[n->unit])
		seen[(size_t)topo->n_supernodes + n->unit] = 1;
}

static void put_names(struct line *l, const struct sn_topo *topo,
		      const uint8_t *seen, bool units, uint32_t *left)
{
	uint32_t n = units ? topo->n_units : topo->n_supernodes, all = 0, k = 0;

	if (units)
		seen += topo->n_supernodes;
	for (uint32_t i = 0; i < n; i++)
		all += seen[i];
	if (!all || !*left)
		return;
	put(l, "%s%s%s ", l->n ? " and " : "", units ? "unit" : "supernode",
	    all > 1 ? "s" : "");
	for (uint32_t i = 0; i < n && *left; i++) {
		if (!seen[i])
			continue;
		put(l, "%s%.40s", k++ ? ", " : "",
		    units ? topo->unit[i].name : topo->supernode[i].name);
		--*left;
	}
}

uint32_t sn_degraded_warning(const struct sn_degraded *degraded,
			     const struct sn_topo *topo,
			     const struct sn_placement *placed, char *buf,
			     size_t size)
{
	size_t room = (size_t)topo->n_supernodes + topo->n_units;
	struct line l = { .buf = buf, .size = size };
	uint32_t n = 0, left = LISTED;
	uint8_t *seen;

	if (size)
		*buf = '\0';
	if (!degraded->any)
		return 0;
	seen = calloc(room + 1, 1);
	for (uint32_t i = 0; seen && i < placed->n_nodes; i++)
		see(degraded, topo, placed->node[i].node, seen);
	for (uint32_t i = 0; seen && i < placed->n_spares; i++)
		see(degraded, topo, placed->spare[i].node, seen);
	for (size_t i = 0; seen && i < room; i++)
		n += seen[i];
	if (n) {
		put_names(&l, topo, seen, false, &left);
		put_names(&l, topo, seen, true, &left);
		if (n > LISTED)
			put(&l, " and %u more", n - LISTED);
		put(&l, " %s used though %s links are degraded: no whole ones had room",
		    n > 1 ? "are" : "is", n > 1 ? "their" : "its");
	}
	free(seen);
	return n;
}
