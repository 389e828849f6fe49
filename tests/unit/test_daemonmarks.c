/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/daemonbed.h"

/* Nodes that Slurm has and topology.conf has not come with the first poll, into a
 * topology that the engine knows already. */
static void nodes_that_topology_conf_has_not(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= BED_NODES; n++) {
		bed_begin(n);
		bed_start("SupernodeName=sn1 Nodes=n1\n");
		bed_fault(0, 1);
		bed_settle();
		assert_int_equal(bed.d->topo->n_nodes, n);
		for (uint32_t i = 0; i < n; i++)
			bed_fault(i, 2);
		bed_settle();
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(bed_book(i).unhealthy, i ? 4 : 6);
		assert_int_equal(bed.d->n_dirty, 0);
		bed_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_that_topology_conf_has_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
