/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bindbed.h - what every binding must be.
 */
#ifndef SN_TESTS_BINDBED_H
#define SN_TESTS_BINDBED_H

#include "launcher/bind.h"

static inline hwloc_topology_t synthetic(const char *text)
{
	hwloc_topology_t topology;

	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_synthetic(topology, text), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	return topology;
}

static inline hwloc_cpuset_t cpus(const char *list)
{
	hwloc_cpuset_t set = hwloc_bitmap_alloc();

	assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
	return set;
}

static inline hwloc_obj_t node(hwloc_topology_t topology, unsigned int n)
{
	hwloc_obj_t obj = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, n);

	assert_non_null(obj);
	return obj;
}

static inline void list_is(hwloc_const_bitmap_t set, const char *want)
{
	char *text;

	if (!set) {
		assert_null(want);
		return;
	}
	assert_true(hwloc_bitmap_list_asprintf(&text, set) >= 0);
	assert_string_equal(text, want);
	free(text);
}

/* What holds whatever is asked. */
static inline void promises_hold(const struct sn_bind_ask *ask,
			  const struct sn_bind *bind)
{
	hwloc_cpuset_t allowed = hwloc_bitmap_dup(ask->allowed);
	uint32_t r, q, alike;

	hwloc_bitmap_and(allowed, allowed,
			 hwloc_topology_get_topology_cpuset(ask->topology));
	assert_int_equal(bind->n, ask->n);
	for (r = 0; r < ask->n; r++) {
		hwloc_obj_t near = ask->near ? ask->near[r] : NULL;
		hwloc_cpuset_t local = hwloc_bitmap_dup(allowed);

		assert_false(hwloc_bitmap_iszero(bind->cpus[r]));
		assert_true(hwloc_bitmap_isincluded(bind->cpus[r], allowed));
		if (ask->n <= (uint32_t)hwloc_bitmap_weight(allowed))
			for (q = 0; q < r; q++)
				assert_false(hwloc_bitmap_intersects(bind->cpus[r],
								     bind->cpus[q]));
		if (near)
			hwloc_bitmap_and(local, local, near->cpuset);
		for (alike = 0, q = 0; near && q < ask->n; q++)
			alike += !ask->near[q] ||
				hwloc_bitmap_intersects(ask->near[q]->cpuset,
							near->cpuset) ||
				!hwloc_bitmap_intersects(ask->near[q]->cpuset,
							 allowed);
		/* Enough for all that might want them: it must be here. */
		if (near && (uint32_t)hwloc_bitmap_weight(local) >= alike)
			assert_true(hwloc_bitmap_isincluded(bind->cpus[r], local));
		if (bind->how[r] == SN_BIND_LOCAL)
			assert_true(hwloc_bitmap_isincluded(bind->cpus[r], local));
		if (bind->memory[r]) {
			assert_false(hwloc_bitmap_iszero(bind->memory[r]));
			assert_true(hwloc_bitmap_isincluded(bind->memory[r],
				hwloc_topology_get_topology_nodeset(ask->topology)));
		}
		hwloc_bitmap_free(local);
	}
	hwloc_bitmap_free(allowed);
}

static inline void decide(hwloc_topology_t topology, const char *allowed,
		   const hwloc_obj_t *near, uint32_t n, struct sn_bind *ret)
{
	hwloc_cpuset_t set = allowed ? cpus(allowed) :
		hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology));
	struct sn_bind_ask ask = { topology, set, near, n };
	struct sn_err err = { "" };

	assert_int_equal(sn_bind_decide(&ask, ret, &err), 0);
	promises_hold(&ask, ret);
	hwloc_bitmap_free(set);
}

#endif
