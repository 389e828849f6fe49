/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_caps.c - how many atoms each supernode can host.
 *
 * All that its nodes hold, unit by unit in whole unit blocks; with spares, for
 * some greatest share m of a node, none counts for more than m, and that many
 * nodes that hold m are set aside where it costs fewest unit blocks. Only where
 * nodes are bound (required, -N, /node of the pool) is a profile needed.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

/* A node runs at most that many blocks: the greatest m that counts. */
uint32_t pl_largest(const struct pl_supernode *sn)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < sn->n_items; i++)
		if (sn->item[i].cap > most)
			most = sn->item[i].cap;
	return most;
}

/* Blocks in whole unit blocks, without regard to spares and bounds. */
static uint64_t plain_blocks(const struct pl *p, const struct pl_supernode *sn)
{
	uint64_t sum = 0, unit = 0;

	for (uint32_t i = 0; i < sn->n_items; i++) {
		unit += sn->item[i].cap;
		if (sn->item[i].last) {
			sum += unit / p->per_unit * p->per_unit;
			unit = 0;
		}
	}
	return sum;
}

uint32_t pl_plain_atoms(const struct pl *p, const struct pl_supernode *sn)
{
	uint64_t n = plain_blocks(p, sn) / p->per_atom;

	return n < p->atoms ? (uint32_t)n : p->atoms;
}

/*
 * Without units of their own to keep whole, a node set aside costs its m.
 * Returns node blocks, 0 if there are not enough nodes.
 */
static uint64_t spared_blocks(const struct pl *p, const struct pl_supernode *sn,
			      uint32_t m)
{
	uint64_t sum = 0, big = 0;

	for (uint32_t i = 0; i < sn->n_items; i++) {
		big += sn->item[i].cap >= m;
		sum += sn->item[i].cap < m ? sn->item[i].cap : m;
	}
	return big < p->req->spares ? 0 : sum - (uint64_t)m * p->req->spares;
}

struct unit {
	uint64_t blocks; /* node blocks, none over m */
	uint32_t big; /* nodes that hold m and may be set aside */
};

static uint32_t find_units(const struct pl_supernode *sn, uint32_t m,
			   struct unit *unit)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sn->n_items; i++) {
		const struct pl_item *it = &sn->item[i];

		if (!i || it[-1].last)
			unit[n++] = (struct unit){ 0 };
		unit[n - 1].blocks += it->cap < m ? it->cap : m;
		unit[n - 1].big += it->cap >= m && !it->must;
	}
	return n;
}

/* best[j] = most unit blocks in the first units with j nodes set aside, or -1;
 * from[u][j] how many of them in unit u. */
static void set_aside(const struct pl *p, const struct unit *unit, uint32_t n,
		      uint32_t m, int64_t *best, uint32_t *from)
{
	uint32_t spares = p->req->spares;

	best[0] = 0;
	for (uint32_t j = 1; j <= spares; j++)
		best[j] = -1;
	for (uint32_t u = 0; u < n; u++)
		for (uint32_t j = spares + 1; j--;) {
			int64_t most = -1;

			for (uint32_t x = 0; x <= j && x <= unit[u].big; x++) {
				int64_t b = (int64_t)((unit[u].blocks -
						       (uint64_t)x * m) /
						      p->per_unit);

				if (best[j - x] < 0 || best[j - x] + b <= most)
					continue;
				most = best[j - x] + b;
				from[(size_t)u * (spares + 1) + j] = x;
			}
			best[j] = most;
		}
}

/*
 * Unit blocks that s can host if no node runs more than m and the spares hold
 * m. take, if not NULL, gets how many nodes to set aside in each unit, in the
 * order of the items; it has room for n_items. -ENOMEM, and in *ret -1 if
 * there are not enough nodes.
 */
int pl_spared_units(const struct pl *p, const struct pl_supernode *sn,
		    uint32_t m, uint32_t *take, int64_t *ret)
{
	uint32_t spares = p->req->spares, n, j = spares;
	struct unit *unit = pl_alloc(sn->n_items, sizeof(*unit));
	int64_t *best = pl_alloc((size_t)spares + 1, sizeof(*best));
	uint32_t *from = NULL;
	int rc = -ENOMEM;

	if (!unit || !best)
		goto out;
	n = find_units(sn, m, unit);
	from = pl_alloc(n * ((size_t)spares + 1), sizeof(*from));
	if (!from)
		goto out;
	set_aside(p, unit, n, m, best, from);
	*ret = best[spares];
	for (uint32_t u = n; take && *ret >= 0 && u--;) {
		take[u] = from[(size_t)u * (spares + 1) + j];
		j -= take[u];
	}
	rc = 0;
out:
	free(unit);
	free(best);
	free(from);
	return rc;
}

static int spared_atoms(const struct pl *p, struct pl_supernode *sn)
{
	uint64_t most = 0, blocks;
	int64_t units;

	for (uint32_t m = pl_largest(sn); m; m--) {
		if (p->per_unit == 1) {
			blocks = spared_blocks(p, sn, m);
		} else {
			if (pl_spared_units(p, sn, m, NULL, &units))
				return -ENOMEM;
			blocks = units < 0 ? 0 : (uint64_t)units * p->per_unit;
		}
		if (blocks > most)
			most = blocks;
	}
	most /= p->per_atom;
	if (most < sn->cap)
		sn->cap = (uint32_t)most;
	return 0;
}

static void caps_from_profile(struct pl_supernode *sn)
{
	const struct pl_profile *f = sn->profile;
	uint32_t width = f->q + 1;

	sn->cap = 0;
	for (uint32_t a = 1; a <= f->atoms && a <= sn->pool_atoms; a++)
		for (uint32_t q = 0; q < width; q++)
			if (f->cost[(size_t)a * width + q] < PL_INF) {
				if (!sn->cap)
					sn->min = a;
				sn->cap = a;
			}
}

/* The profiles for an exact number of nodes: of all supernodes, or -E2BIG. */
static int find_profiles(struct pl *p)
{
	uint32_t n = p->topo->n_supernodes, *s = pl_alloc(n, sizeof(*s)), k = 0;
	bool all;
	int rc;

	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (pl_plain_atoms(p, &p->sn[i]))
			s[k++] = i;
	rc = pl_local_profiles(p, s, k, &all);
	free(s);
	return rc ? rc : all ? 0 : -E2BIG;
}

/* How many atoms each supernode can host. */
int pl_local_caps(struct pl *p)
{
	bool tables = p->bound && !p->greedy;
	int rc = tables ? find_profiles(p) : 0;

	if (rc)
		return rc;
	for (uint32_t s = 0; s < p->topo->n_supernodes; s++) {
		struct pl_supernode *sn = &p->sn[s];

		sn->min = 1;
		sn->cap = pl_plain_atoms(p, sn);
		if (sn->pool_atoms < sn->cap)
			sn->cap = sn->pool_atoms;
		if (!sn->cap || (!p->req->spares && !sn->n_must &&
				 !tables &&
				 sn->q_max >= sn->n_items))
			continue;
		if (!sn->q_max || p->req->spares >= sn->n_items) {
			sn->cap = 0;
			continue;
		}
		if (!sn->n_must && !tables && sn->q_max >= sn->n_items) {
			rc = spared_atoms(p, sn);
			if (rc)
				return rc;
			continue;
		}
		rc = p->greedy ? 0 : pl_local_profile(p, s);
		if (rc)
			return rc;
		if (pl_has_costs(sn))
			caps_from_profile(sn);
		else
			rc = pl_large_cap(p, s);
		if (rc)
			return rc;
	}
	return 0;
}
