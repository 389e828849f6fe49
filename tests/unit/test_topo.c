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

#include "topology/topo.h"

static struct sn_topo *parsed(const char *text)
{
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(text, strlen(text), "t.conf", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

static void lookups(void **state)
{
	struct sn_topo *t = parsed("SupernodeName=b,a Nodes=x[2,1,4,3]\n"
				   "UnitName=u[1-2] Nodes=x[1-4]\n"
				   "FabricName=f Supernodes=a\n");

	(void)state;
	/* The file's order, not the alphabet's. */
	assert_int_equal(sn_topo_find_supernode(t, "b"), 0);
	assert_int_equal(sn_topo_find_supernode(t, "a"), 1);
	assert_int_equal(sn_topo_find_node(t, "x2"), 0);
	assert_int_equal(sn_topo_find_node(t, "x1"), 1);
	assert_int_equal(sn_topo_find_node(t, "x4"), 2);
	assert_int_equal(sn_topo_find_node(t, "x3"), 3);
	assert_int_equal(sn_topo_find_unit(t, "u2"), 1);
	assert_int_equal(sn_topo_find_fabric(t, "f"), 0);
	/* Names keep their case and their name space. */
	assert_int_equal(sn_topo_find_node(t, "X2"), SN_NONE);
	assert_int_equal(sn_topo_find_node(t, "a"), SN_NONE);
	assert_int_equal(sn_topo_find_node(t, ""), SN_NONE);
	assert_int_equal(sn_topo_find_supernode(t, "f"), SN_NONE);
	assert_int_equal(sn_topo_find_fabric(t, "a"), SN_NONE);
	sn_topo_destroy(t);
	sn_topo_destroy(NULL);
}

static void chains_of_mixed_depth(void **state)
{
	struct sn_topo *t = parsed("SupernodeName=s[1-5] Nodes=n[1-5]\n"
				   "FabricName=top Fabrics=mid Supernodes=s4\n"
				   "FabricName=mid Fabrics=low\n"
				   "FabricName=low Supernodes=s[1-2]\n"
				   "FabricName=other Supernodes=s3\n");
	uint32_t chain[3];

	(void)state;
	assert_int_equal(t->fabric_levels, 3);
	assert_int_equal(sn_topo_chain(t, 0, chain), 3);
	assert_int_equal(chain[0], sn_topo_find_fabric(t, "top"));
	assert_int_equal(chain[1], sn_topo_find_fabric(t, "mid"));
	assert_int_equal(chain[2], sn_topo_find_fabric(t, "low"));
	assert_int_equal(sn_topo_chain(t, 2, chain), 1);
	assert_int_equal(chain[0], sn_topo_find_fabric(t, "other"));
	assert_int_equal(sn_topo_chain(t, 3, chain), 1);
	assert_int_equal(chain[0], sn_topo_find_fabric(t, "top"));
	assert_int_equal(sn_topo_chain(t, 4, chain), 0);
	sn_topo_destroy(t);
}

static void loose_nodes(void **state)
{
	struct sn_topo *t = parsed("SupernodeName=s1 Nodes=n[1-2]\nFabricName=f Supernodes=s1\n");
	struct sn_err err;
	char name[24];
	uint32_t chain[1], i;

	(void)state;
	assert_int_equal(sn_topo_add_loose(t, "login", &err), 0);
	assert_int_equal(t->n_nodes, 3);
	assert_int_equal(t->n_supernodes, 2);
	assert_true(t->supernode[1].loose);
	assert_false(t->supernode[0].loose);
	assert_string_equal(t->supernode[1].name, "login");
	assert_int_equal(t->supernode[1].first_node, 2);
	assert_int_equal(t->supernode[1].n_nodes, 1);
	assert_int_equal(t->supernode[1].fabric, SN_NONE);
	assert_int_equal(t->supernode[1].spare_nodes, 0);
	assert_false(t->supernode[1].has_pool);
	assert_int_equal(t->node[2].supernode, 1);
	assert_int_equal(t->node[2].unit, SN_NONE);
	assert_int_equal(sn_topo_chain(t, 1, chain), 0);
	assert_int_equal(sn_topo_add_loose(t, "login", &err), -EEXIST);
	assert_int_equal(sn_topo_add_loose(t, "n1", &err), -EEXIST);
	assert_non_null(strstr(err.text, "s1"));
	assert_int_equal(sn_topo_add_loose(t, "s1", &err), -EEXIST);
	assert_int_equal(sn_topo_add_loose(t, "", &err), -EINVAL);
	assert_int_equal(sn_topo_add_loose(t, "a,b", &err), -EINVAL);
	assert_int_equal(sn_topo_add_loose(t, "a[1-2]", &err), -EINVAL);
	assert_int_equal(sn_topo_add_loose(t, "a[1]", NULL), -EINVAL);
	assert_int_equal(t->n_nodes, 3);
	/* The numbers of what was there stay, however many come. */
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(sn_topo_add_loose(t, name, &err), 0);
	}
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(sn_topo_find_node(t, name), 3 + i);
		assert_int_equal(sn_topo_find_supernode(t, name), 2 + i);
	}
	assert_int_equal(sn_topo_find_node(t, "n2"), 1);
	sn_topo_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookups),
		cmocka_unit_test(chains_of_mixed_depth),
		cmocka_unit_test(loose_nodes),
	};

	return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
