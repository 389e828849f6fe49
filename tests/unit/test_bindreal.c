/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_bindreal.c - real machines, where the shared data is.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/bind.h"
#include "tests/unit/bindbed.h"

/* ---- real machines, where the shared data is ------------------------------- */

static hwloc_topology_t real(const char *name)
{
	const char *dir = getenv("SN_SHARED"), *src = getenv("SN_SRCDIR");
	hwloc_topology_t topology;
	struct sn_err err = { "" };
	char path[4096];

	if (dir)
		snprintf(path, sizeof(path), "%s/data/hwloc/%s", dir, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/data/hwloc/%s",
			 src ? src : ".", name);
	if (access(path, R_OK))
		return NULL;
	if (sn_bind_load(path, &topology, &err))
		fail_msg("%s", err.text);
	return topology;
}

/* places: how many memory domains the cards are in; they may share no cache. */
static void check_real(const char *name, uint32_t cards, uint32_t places)
{
	hwloc_topology_t topology = real(name);
	hwloc_obj_t near[16], all[16];
	struct sn_bind bind;
	uint32_t r, q, distinct = 0;

	if (!topology)
		return;
	for (r = 0; r < cards; r++) {
		near[r] = sn_bind_near_name(topology, r);
		assert_non_null(near[r]);
		for (q = 0; q < r && !hwloc_bitmap_isequal(near[q]->nodeset, near[r]->nodeset); q++)
			;
		distinct += q == r;
	}
	assert_int_equal(distinct, places);
	assert_null(sn_bind_near_name(topology, cards));
	decide(topology, NULL, near, cards, &bind);
	for (r = 0; r < cards; r++) {
		/* Local memory, and not all of it. */
		if (places > 1 && bind.how[r] == SN_BIND_LOCAL)
			assert_true(bind.memory[r] &&
				    hwloc_bitmap_isincluded(bind.memory[r], near[r]->nodeset));
	}
	sn_bind_done(&bind);
	decide(topology, "0", near, cards, &bind);
	list_is(bind.cpus[cards - 1], "0");
	sn_bind_done(&bind);
	decide(topology, NULL, NULL, cards, &bind);
	sn_bind_done(&bind);
	/* All cards at one place, as if the rest were another job's. */
	for (r = 0; r < cards; r++)
		all[r] = near[0];
	decide(topology, NULL, all, cards, &bind);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void eight_gcds_in_four_numa_domains(void **state)
{
	(void)state;
	check_real("mpibind_eas-tioga.xml", 8, 4);
}

static void eight_t4_in_two_numa_domains(void **state)
{
	(void)state;
	check_real("mpibind_g4dnmetal.xml", 8, 2);
}

static void eight_mi50(void **state)
{
	(void)state;
	check_real("flux_rsmi_corona240.xml", 8, 2);
}

static void sixteen_v100_and_fewer_cpus(void **state)
{
	(void)state;
	check_real("dgx2_v2.xml", 16, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_gcds_in_four_numa_domains),
		cmocka_unit_test(eight_t4_in_two_numa_domains),
		cmocka_unit_test(eight_mi50),
		cmocka_unit_test(sixteen_v100_and_fewer_cpus),
	};

	return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
