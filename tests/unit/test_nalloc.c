/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_nalloc.c - the core without memory: see nalloc.h.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nalloc.h"
#include "topology/conf.h"
#include "topology/hostlist.h"
#include "topology/topo.h"

static int expand(void *arg, struct sn_err *err)
{
	struct sn_names names = { .name = NULL };
	int rc = sn_names_add(&names, "first");

	if (rc) {
		sn_err_set(err, rc, "add");
		assert_int_equal(names.n, 0);
	} else {
		rc = sn_hostlist_expand(arg, &names, err);
		/* Nothing of a list that failed may stay behind. */
		if (rc)
			assert_int_equal(names.n, 1);
	}
	sn_names_done(&names);
	return rc;
}

static int compress(void *arg, struct sn_err *err)
{
	static const char *const name[] = { "n1", "n2", "login", "x07", "x08",
		"a-rather-long-name-that-does-not-fit-in-the-first-allocation-0001" };
	char *text = sn_hostlist_compress(name, 6);

	(void)arg;
	if (!text)
		return sn_err_set(err, -ENOMEM, "compress");
	free(text);
	return 0;
}

static int read_other(void *ctx, const char *path, const char *from,
		      char **ret_text, size_t *ret_len, struct sn_err *err)
{
	(void)ctx;
	(void)path;
	(void)from;
	*ret_text = strdup("SupernodeName=inc Nodes=\"i1, \\\n i2\"\n");
	if (!*ret_text)
		return sn_err_set(err, -ENOMEM, "read");
	*ret_len = strlen(*ret_text);
	return 0;
}

static int parse(void *arg, struct sn_err *err)
{
	struct sn_topo *topo = NULL;
	int rc = sn_topo_parse(arg, strlen(arg), "t.conf", read_other, NULL,
			       &topo, err);

	/* Nothing is handed out on failure. */
	if (rc)
		assert_null(topo);
	sn_topo_destroy(topo);
	return rc;
}

static int add_loose(void *arg, struct sn_err *err)
{
	char name[24];
	struct sn_topo *topo = NULL;
	int rc = sn_topo_parse(arg, strlen(arg), "t.conf", NULL, NULL, &topo, err);
	int i;

	/* Enough for the arrays and tables to grow. */
	for (i = 0; !rc && i < 70; i++) {
		snprintf(name, sizeof(name), "loose%d", i);
		rc = sn_topo_add_loose(topo, name, err);
		if (!rc)
			continue;
		/* No half of it stays. */
		assert_int_equal(topo->n_nodes, 4 + i);
		assert_int_equal(topo->n_supernodes, 2 + i);
		assert_int_equal(sn_topo_find_node(topo, name), SN_NONE);
		assert_int_equal(sn_topo_find_supernode(topo, name), SN_NONE);
	}
	sn_topo_destroy(topo);
	return rc;
}

static void hostlists(void **state)
{
	(void)state;
	assert_true(nalloc_check(expand, "n[1-3,5,7,9,11,13,15,17,19],r[1-2]u[1-4]", 0) > 20);
	assert_true(nalloc_check(compress, NULL, 0) > 1);
	/* A list that is wrong at its end, after names were made. */
	nalloc_check(expand, "n[1-20],n[3-1]", -EINVAL);
}

static void topologies(void **state)
{
	(void)state;
	assert_true(nalloc_check(parse,
		"SupernodeName=s[1-4] Nodes=n[1-40] PoolMemory=1T\n"
		"Include other\n"
		"UnitName=u[1-20] Nodes=n[1-40] NodesPerUnit=2\n"
		"FabricName=top Fabrics=f[1-2] Supernodes=inc\n"
		"FabricName=f[1-2] Supernodes=s[1-4]\n", 0) > 100);
	nalloc_check(add_loose, "SupernodeName=s[1-2] Nodes=n[1-4]\n", 0);
}

static void refusals(void **state)
{
	(void)state;
	nalloc_check(parse, "BlockName=b[1-6] Nodes=n[1-12]\nBlockSizes=2,4,12\n", -EINVAL);
	nalloc_check(parse, "SupernodeName=s[1-2] Nodes=n[1-2],n1\n", -EINVAL);
	nalloc_check(parse, "SupernodeName=s1 Nodes=n1\nFabricName=f Fabrics=g\nFabricName=g Fabrics=f\n", -EINVAL);
	nalloc_check(parse, "SupernodeName=s1 Nodes=n1\nFabricName=f,f Supernodes=s1,s1\n", -EINVAL);
	nalloc_check(parse, "SupernodeName=s1 Nodes=n1\nUnitName=u Nodes=n2\n", -EINVAL);
	nalloc_check(parse, "Include t.conf\n", -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostlists),
		cmocka_unit_test(topologies),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests_name("nalloc", tests, NULL, NULL);
}
