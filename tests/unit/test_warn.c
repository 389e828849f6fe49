/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/warn.h"

/* Exactly one warning, with part in it; or none where part is NULL. */
static void warned(const char *conf, const char *part)
{
	struct sn_names names = { 0 };
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	assert_int_equal(snctl_warn_topology(topo, &names), 0);
	if (names.n != (part ? 1u : 0u))
		fail_msg("%s\n%zu warnings, the first: %s", conf, names.n,
			 names.n ? names.name[0] : "none");
	if (part && !strstr(names.name[0], part))
		fail_msg("\"%s\" is not in \"%s\"", part, names.name[0]);
	sn_names_done(&names);
	sn_topo_destroy(topo);
}

static void a_plain_cluster_is_not_warned_of(void **state)
{
	(void)state;
	warned("SupernodeName=sn[01-16] Nodes=n[001-784] NodesPerSupernode=49 SpareNodes=1 PoolMemory=48T PoolBandwidth=20T CardBandwidth=784G CardLatency=1u\n"
	       "UnitName=u[001-112] Nodes=n[001-784] NodesPerUnit=7\n"
	       "FabricName=pod[1-4] Supernodes=sn[01-16] MembersPerFabric=4 CardBandwidth=50G CardLatency=20u\n"
	       "FabricName=core Fabrics=pod[1-4] CardBandwidth=25G CardLatency=30u\n", NULL);
	warned("SupernodeName=sn1 Nodes=n[1-4]\n", NULL);
}

static void oddities_are_warned_of_once(void **state)
{
	(void)state;
	warned("SupernodeName=sn1 Nodes=n[1-4]\nSupernodeName=sn2 Nodes=n[5-7]\n",
	       "sn1 has 4");
	warned("SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4\nUnitName=u[1-2] Nodes=n[1-4] NodesPerUnit=2\n",
	       "4 nodes are in no unit");
	warned("SupernodeName=sn1 Nodes=n[1-6]\nUnitName=u1 Nodes=n[1-4]\nUnitName=u2 Nodes=n[5-6]\n",
	       "u2 has 2 nodes, u1 has 4");
	warned("SupernodeName=sn[1-3] Nodes=n[1-6] NodesPerSupernode=2\nFabricName=f Supernodes=sn[1-2]\n",
	       "1 of 3 supernodes is in no fabric");
	warned("SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4 SpareNodes=2\n",
	       "SpareNodes=2");
	warned("SupernodeName=sn1 Nodes=n[1-4] PoolMemory=1T\nSupernodeName=sn2 Nodes=n[5-8]\n",
	       "1 of 2 supernodes have PoolMemory");
	warned("SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4 CardBandwidth=10G\nFabricName=f Supernodes=sn[1-2] CardBandwidth=20G\n",
	       "20G");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_cluster_is_not_warned_of),
		cmocka_unit_test(oddities_are_warned_of_once),
	};

	return cmocka_run_group_tests_name("warn", tests, NULL, NULL);
}
