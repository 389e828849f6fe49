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

#include "topology/text.h"
#include "topology/topo.h"
#include "tests/unit/topobed.h"

static void the_contract_s_example(void **state)
{
	struct sn_topo *t = parsed(
		"SupernodeName=sn[01-16] Nodes=n[001-784] NodesPerSupernode=49 SpareNodes=1 PoolMemory=48T PoolBandwidth=20T PowerLimit=400kW Shape=torus CardBandwidth=784G CardLatency=1u\n"
		"UnitName=u[001-112] Nodes=n[001-784] NodesPerUnit=7\n"
		"FabricName=pod[1-4] Supernodes=sn[01-16] MembersPerFabric=4 CardBandwidth=50G CardLatency=20u\n"
		"FabricName=core Fabrics=pod[1-4] CardBandwidth=25G CardLatency=30u\n");
	uint32_t i, core;

	(void)state;
	assert_int_equal(t->n_nodes, 784);
	assert_int_equal(t->n_supernodes, 16);
	assert_int_equal(t->n_units, 112);
	assert_int_equal(t->n_fabrics, 5);
	assert_int_equal(t->fabric_levels, 2);
	core = sn_topo_find_fabric(t, "core");
	for (i = 0; i < 784; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%03u", i + 1);
		assert_string_equal(t->node[i].name, name);
		assert_int_equal(t->node[i].supernode, i / 49);
		assert_int_equal(t->node[i].unit, i / 7);
	}
	for (i = 0; i < 16; i++) {
		const struct sn_topo_supernode *s = &t->supernode[i];
		char pod[8];

		assert_int_equal(s->first_node, 49 * i);
		assert_int_equal(s->n_nodes, 49);
		assert_int_equal(s->spare_nodes, 1);
		assert_true(s->has_pool);
		assert_true(s->pool_memory == 48ull << 40);
		assert_true(s->has_pool_bandwidth);
		assert_true(s->pool_bandwidth == 20ull << 40);
		assert_true(s->power_limit == 400000000);
		assert_int_equal(s->shape, SN_SHAPE_TORUS);
		assert_true(s->card_bandwidth == 784ull << 30);
		assert_true(s->card_latency == 1000);
		assert_false(s->loose);
		snprintf(pod, sizeof(pod), "pod%u", i / 4 + 1);
		assert_int_equal(s->fabric, sn_topo_find_fabric(t, pod));
		assert_int_equal(t->fabric[s->fabric].parent, core);
		assert_int_equal(t->fabric[s->fabric].depth, 1);
		assert_true(t->fabric[s->fabric].card_bandwidth == 50ull << 30);
	}
	assert_int_equal(t->fabric[core].depth, 0);
	assert_int_equal(t->fabric[core].parent, SN_NONE);
	assert_true(t->fabric[core].card_latency == 30000);
	assert_int_equal(t->unit[111].n_nodes, 7);
	assert_int_equal(t->unit[111].supernode, 15);
	sn_topo_destroy(t);
}

static void defaults(void **state)
{
	struct sn_topo *t = parsed("SupernodeName=s Nodes=n1\n");

	(void)state;
	assert_int_equal(t->supernode[0].shape, SN_SHAPE_FULL);
	assert_int_equal(t->supernode[0].spare_nodes, 0);
	assert_false(t->supernode[0].has_pool);
	assert_false(t->supernode[0].has_pool_bandwidth);
	assert_true(t->supernode[0].power_limit == 0);
	assert_true(t->supernode[0].card_bandwidth == 0);
	assert_int_equal(t->supernode[0].fabric, SN_NONE);
	assert_int_equal(t->fabric_levels, 0);
	assert_int_equal(t->node[0].unit, SN_NONE);
	sn_topo_destroy(t);
}

/* All of these say the same. */
static void writings(void **state)
{
	static const char *const text[] = {
		"SupernodeName=s[1-2] Nodes=n[1-4] SpareNodes=1",
		"SupernodeName=s[1-2] Nodes=n[1-4] SpareNodes=1\n",
		"SupernodeName=s[1-2] Nodes=n[1-4] SpareNodes=1\r\n",
		"\xef\xbb\xbfSupernodeName=s[1-2] Nodes=n[1-4] SpareNodes=1\n",
		"SUPERNODENAME=s[1-2] nodes=n[1-4] sparenodes=1\n",
		"  SupernodeName = s[1-2]\tNodes =n[1-4]  SpareNodes= 1 \n",
		"# top\n\n \t\nSupernodeName=s[1-2] Nodes=n[1-4] SpareNodes=1# end\n",
		"SupernodeName=s[1-2] \\\n Nodes=n[1-4] \\  \r\n SpareNodes=1\n",
		/* joined in the middle of a value */
		"SupernodeName=s[1-2] Nodes=n[1-\\\n4] SpareNodes=1\\\n",
		"SupernodeName=s[1-2] \\ # why\nNodes=n[1-4] SpareNodes=1\n",
		"SupernodeName=\"s1, s2\" Nodes=\"n[1-2] n3,n4\" SpareNodes=\"1\"\n",
		"BlockName=s[1-2] Nodes=n[1-4] SpareNodes=1\n",
		"SupernodeName=s1 Nodes=n[1-2] SpareNodes=1\nSupernodeName=s2 Nodes=n[3-4] SpareNodes=1\n",
		"SupernodeName=s[1-2] NodesPerSupernode=2 Nodes=n[1-4] SpareNodes=1\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < N(text); i++) {
		struct sn_topo *t = parsed(text[i]);

		assert_int_equal(t->n_supernodes, 2);
		assert_int_equal(t->n_nodes, 4);
		assert_int_equal(t->node[1].supernode, 0);
		assert_int_equal(t->node[2].supernode, 1);
		assert_string_equal(t->node[3].name, "n4");
		assert_string_equal(t->supernode[1].name, "s2");
		assert_int_equal(t->supernode[1].spare_nodes, 1);
		sn_topo_destroy(t);
	}
}

static void an_escaped_hash_is_no_comment(void **state)
{
	struct sn_topo *t = parsed("SupernodeName=s\\#1 Nodes=n1 # \\\nSupernodeName=s2 Nodes=n2\n");

	(void)state;
	assert_string_equal(t->supernode[0].name, "s#1");
	/* A backslash in a comment joins nothing. */
	assert_int_equal(t->n_supernodes, 2);
	sn_topo_destroy(t);
}

static void includes(void **state)
{
	static const struct file files[] = {
		{ "a.conf", "SupernodeName=s2 Nodes=n2\ninclude \"b b.conf\" # x\n" },
		{ "b b.conf", "SupernodeName=s3 Nodes=n3" },
		{ NULL, NULL },
	};
	struct sn_topo *t = parsed_with("SupernodeName=s1 Nodes=n1\nInclude a.conf\nINCLUDE b b2.conf\nSupernodeName=s4 Nodes=n4\n",
		(const struct file[]){ files[0], files[1], { "b b2.conf", "" }, { NULL, NULL } });

	(void)state;
	assert_int_equal(t->n_supernodes, 4);
	assert_string_equal(t->supernode[1].name, "s2");
	assert_string_equal(t->supernode[2].name, "s3");
	assert_string_equal(t->supernode[3].name, "s4");
	sn_topo_destroy(t);
	/* Included only to be sent along: never asked for. */
	t = parsed_with("Include supernode.conf\nInclude /etc/slurm/supernode.conf\nSupernodeName=s1 Nodes=n1\n",
			(const struct file[]){ { NULL, NULL } });
	assert_int_equal(t->n_supernodes, 1);
	sn_topo_destroy(t);
}

static void from_topology_block(void **state)
{
	static const struct bad bad[] = {
		{ "BlockName=b[1-4] Nodes=n[1-8]\nBlockSizes=2\n", "t.conf:2: BlockSizes=2: ", "leave the line out" },
		{ "BlockSizes=2,4\nBlockName=b[1-4] Nodes=n[1-8]\n", "t.conf:1: BlockSizes=2,4: ",
		  "FabricName=fabric4-[1-2] Supernodes=b[1-4] MembersPerFabric=2" },
		{ "BlockName=b[1-5] Nodes=n[1-10]\nBlockSizes=2,4\n", "FabricName=fabric4-[1-2] Supernodes=b[1-4] MembersPerFabric=2",
		  "FabricName=fabric4-3 Supernodes=b5" },
		{ "BlockName=b[1-3] Nodes=n[1-6]\nBlockSizes=2,16\n", "write in its place FabricName=fabric16-1 Supernodes=b[1-3]", NULL },
		{ "BlockName=b[1-8] Nodes=n[1-16]\nBlockSizes=2,4,16\n", "FabricName=fabric4-[1-4] Supernodes=b[1-8] MembersPerFabric=2",
		  "FabricName=fabric16-[1-1] Fabrics=fabric4-[1-4] MembersPerFabric=4" },
		{ "BlockName=b[1-4] Nodes=n[1-8]\nBlockSizes=huge\n", "t.conf:2: BlockSizes=huge: ", "MembersPerFabric" },
		{ "BlockName=b[1-4] Nodes=n[1-8]\nBlockSizes=0,0\n", "t.conf:2: BlockSizes=0,0: ", "MembersPerFabric" },
		{ "BlockName=b[1-4] Nodes=n[1-8]\nBlockSizes=4,2\n", "t.conf:2: BlockSizes=4,2: ", "MembersPerFabric" },
		{ "BlockSizes=2,4\n", "t.conf:1: BlockSizes=2,4: ", "MembersPerFabric" },
		{ "SwitchName=leaf1 Nodes=n[1-8]\n", "t.conf:1: SwitchName=leaf1: ", "SupernodeName=leaf1 Nodes=n[1-8]" },
		{ "SwitchName=top Switches=leaf[1-2]\n", "t.conf:1: SwitchName=top: ", "FabricName=top Supernodes=leaf[1-2]" },
	};
	struct sn_topo *t;

	(void)state;
	refused(bad, N(bad), NULL);
	/* What the sentence tells to write is legal and says that. */
	t = parsed("BlockName=b[1-8] Nodes=n[1-16]\n"
		   "FabricName=fabric4-[1-4] Supernodes=b[1-8] MembersPerFabric=2\n"
		   "FabricName=fabric16-[1-1] Fabrics=fabric4-[1-4] MembersPerFabric=4\n");
	assert_int_equal(t->fabric_levels, 2);
	sn_topo_destroy(t);
}

static void the_table_documents_every_key(void **state)
{
	size_t n, i;
	const struct sn_option *o = sn_topo_options(&n);

	(void)state;
	assert_true(n > 0);
	for (i = 0; i < n; i++) {
		assert_non_null(o[i].name);
		assert_true(strlen(o[i].help) > 10);
		assert_true(o[i].on != 0);
		assert_int_equal(sn_option_find(o, n, o[i].name), i);
	}
}

/* A check of duplicates by pairs would not end here. */
static void a_million_nodes(void **state)
{
	struct sn_topo *t;

	(void)state;
	t = parsed("SupernodeName=s[1-20000] Nodes=node[0000001-1000000]\n"
		   "UnitName=u[1-200000] Nodes=node[0000001-1000000]\n"
		   "FabricName=f[1-5000] Supernodes=s[1-20000]\n");
	assert_int_equal(t->n_nodes, 1000000);
	assert_int_equal(sn_topo_find_node(t, "node0999999"), 999998);
	assert_int_equal(t->node[999998].supernode, 19999);
	sn_topo_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_contract_s_example),
		cmocka_unit_test(defaults),
		cmocka_unit_test(writings),
		cmocka_unit_test(an_escaped_hash_is_no_comment),
		cmocka_unit_test(includes),
		cmocka_unit_test(from_topology_block),
		cmocka_unit_test(the_table_documents_every_key),
		cmocka_unit_test(a_million_nodes),
	};

	return cmocka_run_group_tests_name("topoconf", tests, NULL, NULL);
}
