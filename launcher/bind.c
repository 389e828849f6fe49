/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind.c - which CPUs and which memory each rank of a node should use.
 *
 * Sharing out is a bipartite flow: in each round every rank that still can gets
 * one more unit (core or thread), if need be by handing units on along a chain
 * of ranks. A rank that once could not never can again, so the result is the
 * max-min fair one. Which units of equal standing a rank gets is decided last,
 * so that they are neighbours.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/bind.h"

#define NOBODY UINT32_MAX

struct work {
	const struct sn_bind_ask *ask;
	hwloc_cpuset_t allowed; /* of those in the topology */
	hwloc_cpuset_t *where; /* [n] the CPUs that rank may have */
	enum sn_bind_how *how; /* [n] */
	hwloc_cpuset_t *unit; /* [units] */
	uint32_t *owner; /* [units] */
	uint32_t units;
	uint8_t *may; /* [units * n] */
	uint32_t *count; /* [n] units of each rank */
};

static void free_units(struct work *w)
{
	uint32_t u;

	for (u = 0; u < w->units; u++)
		hwloc_bitmap_free(w->unit[u]);
	free(w->unit);
	free(w->owner);
	free(w->may);
	free(w->count);
	w->unit = NULL;
	w->owner = NULL;
	w->may = NULL;
	w->count = NULL;
	w->units = 0;
}

/* The allowed part of each core, or each thread. */
static int make_units(struct work *w, hwloc_obj_type_t type)
{
	int most = hwloc_get_nbobjs_by_type(w->ask->topology, type);
	uint32_t n = w->ask->n, r;
	hwloc_obj_t obj = NULL;
	size_t size = most > 0 ? (size_t)most : 1;

	w->unit = calloc(size, sizeof(*w->unit));
	w->owner = calloc(size, sizeof(*w->owner));
	w->may = calloc(size * n, 1);
	w->count = calloc(n, sizeof(*w->count));
	if (!w->unit || !w->owner || !w->may || !w->count)
		return -ENOMEM;
	while (most > 0 &&
	       (obj = hwloc_get_next_obj_by_type(w->ask->topology, type, obj))) {
		hwloc_cpuset_t part;

		if (!hwloc_bitmap_intersects(obj->cpuset, w->allowed))
			continue;
		part = hwloc_bitmap_alloc();
		if (!part || hwloc_bitmap_and(part, obj->cpuset, w->allowed)) {
			hwloc_bitmap_free(part);
			return -ENOMEM;
		}
		for (r = 0; r < n; r++)
			w->may[w->units * n + r] =
				(uint8_t)hwloc_bitmap_intersects(part, w->where[r]);
		w->owner[w->units] = NOBODY;
		w->unit[w->units++] = part;
	}
	return 0;
}

/* Give rank one more: a free unit, or one of another rank that finds another
 * for it in turn. via and from are [n] of the caller. */
static bool give_one(struct work *w, uint32_t rank, uint32_t *queue,
		     uint32_t *via, uint32_t *from)
{
	uint32_t n = w->ask->n, head = 0, tail = 0, r, u;

	for (r = 0; r < n; r++)
		from[r] = NOBODY;
	from[rank] = rank;
	queue[tail++] = rank;
	while (head < tail) {
		r = queue[head++];
		for (u = 0; u < w->units; u++) {
			uint32_t owner = w->owner[u];

			if (!w->may[u * n + r] || owner == r)
				continue;
			if (owner != NOBODY && from[owner] == NOBODY) {
				from[owner] = r;
				via[owner] = u;
				queue[tail++] = owner;
			}
			if (owner != NOBODY)
				continue;
			/* Hand on, from the end of the chain to its head. */
			for (w->owner[u] = r; r != rank; r = from[r])
				w->owner[via[r]] = from[r];
			w->count[rank]++;
			return true;
		}
	}
	return false;
}

static int share_out(struct work *w)
{
	uint32_t n = w->ask->n, r, left = n;
	uint32_t *queue = calloc(n, sizeof(*queue)), *via = calloc(n, sizeof(*via));
	uint32_t *from = calloc(n, sizeof(*from));
	bool *full = calloc(n, sizeof(*full));
	int rc = queue && via && from && full ? 0 : -ENOMEM;

	while (!rc && left)
		for (r = 0; r < n; r++)
			if (!full[r] && !give_one(w, r, queue, via, from)) {
				full[r] = true;
				left--;
			}
	free(queue);
	free(via);
	free(from);
	free(full);
	return rc;
}

/* Units that the same ranks may have are alike: deal each kind out anew, as
 * many to each rank, in order. */
static int make_neighbours(struct work *w)
{
	uint32_t n = w->ask->n, u, v, r;
	uint32_t *had = calloc(n, sizeof(*had));
	bool *dealt = calloc(w->units ? w->units : 1, sizeof(*dealt));

	if (!had || !dealt) {
		free(had);
		free(dealt);
		return -ENOMEM;
	}
	for (u = 0; u < w->units; u++) {
		uint32_t spare = 0;

		if (dealt[u])
			continue;
		memset(had, 0, n * sizeof(*had));
		for (v = u; v < w->units; v++) {
			if (memcmp(&w->may[u * n], &w->may[v * n], n))
				continue;
			if (w->owner[v] == NOBODY)
				spare++;
			else
				had[w->owner[v]]++;
		}
		for (v = u, r = 0; v < w->units; v++) {
			if (memcmp(&w->may[u * n], &w->may[v * n], n))
				continue;
			dealt[v] = true;
			while (r < n && !had[r])
				r++;
			w->owner[v] = r < n ? r : NOBODY;
			if (r < n)
				had[r]--;
			else
				spare--;
		}
	}
	free(had);
	free(dealt);
	return 0;
}

static bool all_have_some(const struct work *w)
{
	uint32_t r;

	for (r = 0; r < w->ask->n; r++)
		if (!w->count[r])
			return false;
	return true;
}

static int try(struct work *w, hwloc_obj_type_t type)
{
	int rc;

	free_units(w);
	rc = make_units(w, type);
	return rc ? rc : share_out(w);
}

static int cores_or_threads(struct work *w)
{
	int rc = try(w, HWLOC_OBJ_CORE);

	return rc || all_have_some(w) ? rc : try(w, HWLOC_OBJ_PU);
}

/* Where there are fewer threads than ranks, all of those ranks may go
 * elsewhere, for one thread for all of them would be worse. */
static int widen(struct work *w)
{
	uint32_t n = w->ask->n, r, q;
	bool *poor = calloc(n, sizeof(*poor));

	if (!poor)
		return -ENOMEM;
	for (r = 0; r < n; r++)
		for (q = 0; q < n; q++)
			if (!w->count[q] &&
			    hwloc_bitmap_isequal(w->where[q], w->where[r]))
				poor[r] = true;
	for (r = 0; r < n; r++) {
		if (!poor[r] || hwloc_bitmap_isequal(w->where[r], w->allowed))
			continue;
		hwloc_bitmap_copy(w->where[r], w->allowed);
		w->how[r] = SN_BIND_REMOTE;
	}
	free(poor);
	return 0;
}

static hwloc_obj_t no_io(hwloc_obj_t obj)
{
	while (obj && !obj->cpuset)
		obj = obj->parent;
	return obj;
}

static int find_places(struct work *w)
{
	uint32_t r;

	for (r = 0; r < w->ask->n; r++) {
		hwloc_obj_t near = w->ask->near ? no_io(w->ask->near[r]) : NULL;
		hwloc_obj_t obj = near;

		/* A memory node may have no CPUs; what is around it has. */
		while (obj && !hwloc_bitmap_intersects(obj->cpuset, w->allowed))
			obj = no_io(obj->parent);
		w->where[r] = hwloc_bitmap_dup(w->allowed);
		if (!w->where[r])
			return -ENOMEM;
		if (obj)
			hwloc_bitmap_and(w->where[r], w->allowed, obj->cpuset);
		/* Near the whole machine is near nothing. */
		if (!near || !near->parent)
			w->how[r] = SN_BIND_SLICE;
		else
			w->how[r] = obj == near ? SN_BIND_LOCAL : SN_BIND_NEAREST;
	}
	return 0;
}

/* More ranks than threads: those without one take turns over all that they may
 * have. */
static void double_up(struct work *w, struct sn_bind *ret)
{
	uint32_t n = w->ask->n, r, next = 0;

	for (r = 0; r < n; r++) {
		if (w->count[r])
			continue;
		while (!w->may[next * n + r])
			next = (next + 1) % w->units;
		hwloc_bitmap_copy(ret->cpus[r], w->unit[next]);
		ret->how[r] = SN_BIND_SHARED;
		next = (next + 1) % w->units;
	}
}

/* Memory that belongs to a card or is slow is not for the host's heap. */
static bool is_plain_memory(hwloc_obj_t node)
{
	return !node->subtype || (strcmp(node->subtype, "GPUMemory") &&
				  strcmp(node->subtype, "SPM") &&
				  strcmp(node->subtype, "NVM"));
}

static hwloc_nodeset_t prefer(const struct work *w, uint32_t r,
			      hwloc_const_cpuset_t cpus, enum sn_bind_how how)
{
	hwloc_topology_t topology = w->ask->topology;
	hwloc_obj_t near = w->ask->near ? no_io(w->ask->near[r]) : NULL;
	hwloc_nodeset_t set = hwloc_bitmap_alloc();
	hwloc_obj_t node = NULL;
	bool all = true;

	if (!set)
		return NULL;
	if ((how == SN_BIND_LOCAL || how == SN_BIND_NEAREST) && near)
		hwloc_bitmap_copy(set, near->nodeset);
	if (hwloc_bitmap_iszero(set))
		hwloc_cpuset_to_nodeset(topology, cpus, set);
	hwloc_bitmap_and(set, set, hwloc_topology_get_topology_nodeset(topology));
	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
		if (!is_plain_memory(node))
			hwloc_bitmap_clr(set, node->os_index);
		else if (!hwloc_bitmap_isset(set, node->os_index))
			all = false;
	}
	if (all || hwloc_bitmap_iszero(set)) {
		hwloc_bitmap_free(set);
		return NULL;
	}
	return set;
}

static int hand_over(struct work *w, struct sn_bind *ret)
{
	uint32_t n = w->ask->n, u, r;

	ret->n = n;
	ret->cpus = calloc(n, sizeof(*ret->cpus));
	ret->memory = calloc(n, sizeof(*ret->memory));
	ret->how = calloc(n, sizeof(*ret->how));
	if (!ret->cpus || !ret->memory || !ret->how)
		return -ENOMEM;
	for (r = 0; r < n; r++) {
		ret->how[r] = w->how[r];
		ret->cpus[r] = hwloc_bitmap_alloc();
		if (!ret->cpus[r])
			return -ENOMEM;
	}
	for (u = 0; u < w->units; u++)
		if (w->owner[u] != NOBODY)
			hwloc_bitmap_or(ret->cpus[w->owner[u]],
					ret->cpus[w->owner[u]], w->unit[u]);
	double_up(w, ret);
	for (r = 0; r < n; r++)
		ret->memory[r] = prefer(w, r, ret->cpus[r], ret->how[r]);
	return 0;
}

static int decide(struct work *w, struct sn_bind *ret)
{
	int rc = find_places(w);

	if (!rc)
		rc = cores_or_threads(w);
	/* At most one turn per place that is too small. */
	while (!rc && !all_have_some(w) && w->units >= w->ask->n) {
		rc = widen(w);
		if (!rc)
			rc = cores_or_threads(w);
	}
	if (!rc)
		rc = make_neighbours(w);
	return rc ? rc : hand_over(w, ret);
}

int sn_bind_decide(const struct sn_bind_ask *ask, struct sn_bind *ret,
		   struct sn_err *err)
{
	struct work w = { .ask = ask };
	uint32_t r;
	int rc = -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	if (!ask->n || ask->n > SN_BIND_RANKS_MAX)
		return sn_err_set(err, -E2BIG, "%u ranks on one node: want 1 to %u",
				  ask->n, SN_BIND_RANKS_MAX);
	w.allowed = hwloc_bitmap_dup(ask->allowed);
	w.where = calloc(ask->n, sizeof(*w.where));
	w.how = calloc(ask->n, sizeof(*w.how));
	if (w.allowed && w.where && w.how) {
		hwloc_bitmap_and(w.allowed, w.allowed,
				 hwloc_topology_get_topology_cpuset(ask->topology));
		rc = hwloc_bitmap_iszero(w.allowed) ? -ENOSPC : decide(&w, ret);
	}
	free_units(&w);
	for (r = 0; r < ask->n && w.where; r++)
		hwloc_bitmap_free(w.where[r]);
	free(w.where);
	free(w.how);
	hwloc_bitmap_free(w.allowed);
	if (!rc)
		return 0;
	sn_bind_done(ret);
	return sn_err_set(err, rc, rc == -ENOSPC ?
			  "none of the CPUs that the ranks may use is on this machine" :
			  "out of memory");
}

void sn_bind_done(struct sn_bind *bind)
{
	uint32_t r;

	for (r = 0; r < bind->n; r++) {
		if (bind->cpus)
			hwloc_bitmap_free(bind->cpus[r]);
		if (bind->memory)
			hwloc_bitmap_free(bind->memory[r]);
	}
	free(bind->cpus);
	free(bind->memory);
	free(bind->how);
	memset(bind, 0, sizeof(*bind));
}
