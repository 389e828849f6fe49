/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * warn.c - what is legal in a topology, but seldom meant.
 *
 * One sentence a kind, with the first case named and the others counted: a
 * slip in a pattern shows in every supernode at once.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "snctl/warn.h"
#include "topology/text.h"

int snctl_warn(struct sn_names *ret, const char *fmt, ...)
{
	char text[SN_ERR_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return sn_names_add(ret, text);
}

static int warn_unequal_supernodes(const struct sn_topo *t, struct sn_names *ret)
{
	uint32_t small = SN_NONE, large = SN_NONE;

	for (uint32_t s = 0; s < t->n_supernodes; s++) {
		if (t->supernode[s].loose)
			continue;
		if (small == SN_NONE || t->supernode[s].n_nodes < t->supernode[small].n_nodes)
			small = s;
		if (large == SN_NONE || t->supernode[s].n_nodes > t->supernode[large].n_nodes)
			large = s;
	}
	if (small == SN_NONE)
		return snctl_warn(ret, "there is no supernode at all: every node is loose");
	if (t->supernode[small].n_nodes == t->supernode[large].n_nodes)
		return 0;
	return snctl_warn(ret, "supernodes are not of one size: %s has %u nodes, %s has %u",
			  t->supernode[small].name, t->supernode[small].n_nodes,
			  t->supernode[large].name, t->supernode[large].n_nodes);
}

static int warn_units(const struct sn_topo *t, struct sn_names *ret)
{
	uint32_t first = SN_NONE, without = 0, small = 0, large = 0;
	int rc = 0;

	if (!t->n_units)
		return 0;
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		if (t->node[n].unit != SN_NONE || t->supernode[t->node[n].supernode].loose)
			continue;
		if (!without++)
			first = n;
	}
	if (without)
		rc = snctl_warn(ret, "units do not cover the supernodes: %u node%s in no unit, the first is %s of %s; each counts as a unit of its own",
				without, without == 1 ? " is" : "s are",
				t->node[first].name,
				t->supernode[t->node[first].supernode].name);
	for (uint32_t u = 1; u < t->n_units; u++) {
		if (t->unit[u].n_nodes < t->unit[small].n_nodes)
			small = u;
		if (t->unit[u].n_nodes > t->unit[large].n_nodes)
			large = u;
	}
	if (!rc && t->unit[small].n_nodes != t->unit[large].n_nodes)
		rc = snctl_warn(ret, "units are not of one size: %s has %u nodes, %s has %u",
				t->unit[small].name, t->unit[small].n_nodes,
				t->unit[large].name, t->unit[large].n_nodes);
	return rc;
}

static int warn_fabrics(const struct sn_topo *t, struct sn_names *ret)
{
	uint32_t first = SN_NONE, outside = 0, total = 0;
	uint32_t *members;
	int rc = 0;

	if (!t->n_fabrics)
		return 0;
	members = calloc(t->n_fabrics, sizeof(*members));
	if (!members)
		return -ENOMEM;
	for (uint32_t s = 0; s < t->n_supernodes; s++) {
		if (t->supernode[s].loose)
			continue;
		total++;
		if (t->supernode[s].fabric != SN_NONE)
			members[t->supernode[s].fabric]++;
		else if (!outside++)
			first = s;
	}
	for (uint32_t f = 0; f < t->n_fabrics; f++)
		if (t->fabric[f].parent != SN_NONE)
			members[t->fabric[f].parent]++;
	if (outside)
		rc = snctl_warn(ret, "%u of %u supernodes %s in no fabric, the first is %s; each counts as a fabric of its own",
				outside, total, outside == 1 ? "is" : "are",
				t->supernode[first].name);
	for (uint32_t f = 0; !rc && f < t->n_fabrics; f++) {
		if (members[f] == 1 && total > 1) {
			rc = snctl_warn(ret, "fabric %s has a single member", t->fabric[f].name);
			break;
		}
	}
	free(members);
	return rc;
}

static int warn_spares(const struct sn_topo *t, struct sn_names *ret)
{
	for (uint32_t s = 0; s < t->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &t->supernode[s];

		if (sn->spare_nodes && 2 * (uint64_t)sn->spare_nodes >= sn->n_nodes)
			return snctl_warn(ret, "supernode %s holds back SpareNodes=%u of its %u nodes, half of them or more",
					  sn->name, sn->spare_nodes, sn->n_nodes);
	}
	return 0;
}

static int warn_pools(const struct sn_topo *t, struct sn_names *ret)
{
	uint32_t with = 0, total = 0, without = SN_NONE;
	int rc = 0;

	for (uint32_t s = 0; s < t->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &t->supernode[s];

		if (sn->loose)
			continue;
		total++;
		with += sn->has_pool;
		if (!sn->has_pool && without == SN_NONE)
			without = s;
		if (!rc && sn->has_pool_bandwidth && !sn->has_pool)
			rc = snctl_warn(ret, "supernode %s has PoolBandwidth but no PoolMemory, so no pool",
					sn->name);
	}
	if (!rc && with && with < total)
		rc = snctl_warn(ret, "%u of %u supernodes have PoolMemory, %s has not: --pool jobs keep off it",
				with, total, t->supernode[without].name);
	return rc;
}

/* A wider domain that is faster than a narrower one is a slip of the pen. */
static int warn_speeds(const struct sn_topo *t, struct sn_names *ret)
{
	for (uint32_t s = 0; s < t->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &t->supernode[s];
		const struct sn_topo_fabric *f;

		if (sn->fabric == SN_NONE)
			continue;
		f = &t->fabric[sn->fabric];
		if (sn->card_bandwidth && f->card_bandwidth > sn->card_bandwidth) {
			char in[32], out[32];

			sn_format_size(sn->card_bandwidth, in, sizeof(in));
			sn_format_size(f->card_bandwidth, out, sizeof(out));
			return snctl_warn(ret, "fabric %s is faster (CardBandwidth=%s) than supernode %s inside it (%s)",
					  f->name, out, sn->name, in);
		}
		if (f->card_latency && sn->card_latency > f->card_latency)
			return snctl_warn(ret, "fabric %s has a lower CardLatency than supernode %s inside it",
					  f->name, sn->name);
	}
	return 0;
}

int snctl_warn_topology(const struct sn_topo *topo, struct sn_names *ret)
{
	static int (*const check[])(const struct sn_topo *, struct sn_names *) = {
		warn_unequal_supernodes, warn_units, warn_fabrics, warn_spares,
		warn_pools, warn_speeds,
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(check) / sizeof(*check); i++)
		rc = check[i](topo, ret);
	return rc;
}

int snctl_warn_slurmconf(const struct sn_topo *topo,
			 const struct snctl_slurmconf *conf,
			 struct sn_names *ret)
{
	uint32_t n_nodes = topo->n_nodes, unknown = 0, first = SN_NONE;
	size_t loose = 0, first_loose = 0;
	bool *known = calloc(n_nodes + 1, sizeof(*known));
	int rc = 0;

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < conf->nodes.n; i++) {
		uint32_t n = sn_topo_find_node(topo, conf->nodes.name[i]);

		if (n != SN_NONE)
			known[n] = true;
		else if (!loose++)
			first_loose = i;
	}
	for (uint32_t n = n_nodes; n-- > 0; ) {
		if (known[n])
			continue;
		first = n;
		unknown++;
	}
	if (unknown)
		rc = snctl_warn(ret, "%u node%s not in slurm.conf, the first is %s of supernode %s; Slurm ignores what it does not know",
				unknown, unknown == 1 ? " is" : "s are",
				topo->node[first].name,
				topo->supernode[topo->node[first].supernode].name);
	if (!rc && loose)
		rc = snctl_warn(ret, "%zu node%s of slurm.conf %s in no supernode, the first is %s; each is loose, a supernode of its own",
				loose, loose == 1 ? "" : "s", loose == 1 ? "is" : "are",
				conf->nodes.name[first_loose]);
	if (!rc && (!conf->topology_plugin ||
		    strcasecmp(conf->topology_plugin, "topology/supernode")))
		rc = snctl_warn(ret, "slurm.conf has %s%s, so Slurm does not read this file for this suite; TopologyPlugin=topology/supernode would",
				conf->topology_plugin ? "TopologyPlugin=" : "no TopologyPlugin",
				conf->topology_plugin ? conf->topology_plugin : "");
	free(known);
	return rc;
}
