/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_topobad.c - files that are refused, and why.
 */
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

#define S "SupernodeName=s[1-4] Nodes=n[1-8]\n"

static void bad_lines(void **state)
{
	static const struct bad bad[] = {
		{ "", "t.conf: no supernode", "SupernodeName=sn[01-04]" },
		{ "# nothing\n\n", "t.conf: no supernode", NULL },
		{ S "hello\n", "t.conf:2: \"hello\" is not KEY=VALUE", NULL },
		{ S "=x\n", "t.conf:2: ", "not KEY=VALUE" },
		{ S "SupernodeName=a Nodes=n1, n2\n", "t.conf:2: \"n2\"", "quotes" },
		{ S "SupernodeName=a Nodes=\n", "t.conf:2: Nodes= has no value", NULL },
		{ S "SupernodeName=a Nodes= SpareNodes=1\n", "t.conf:2: Nodes= has no value", NULL },
		{ S "SupernodeName=a Nodes=\"\"\n", "t.conf:2: Nodes= has no value", NULL },
		{ S "SupernodeName=a Nodes=\"  \"\n", "t.conf:2: Nodes=", "empty" },
		{ S "SupernodeName=a Nodes=\"n9\n", "t.conf:2: Nodes=", "quote is not closed" },
		{ S "SupernodeName=a Nodes=\"n9\"x\n", "t.conf:2: Nodes=", "blank" },
		{ S "SupernodeName=a \\\n\\\n Nodez=n9\n", "t.conf:4: Nodez=n9: ", "did you mean Nodes?" },
		{ S "SupernodeName=a Nodes=n9 Weather=fine\n", "t.conf:2: Weather=fine: ", "SpareNodes" },
		{ S "UnitName=u Nodes=n1 SpareNodes=1\n", "t.conf:2: SpareNodes=1: ", "does not belong on a UnitName line" },
		{ S "SupernodeName=a Nodes=n9 MembersPerFabric=1\n", "t.conf:2: MembersPerFabric=1: ", "NodesPerSupernode" },
		{ S "SupernodeName=a Nodes=n9 nodes=n10\n", "t.conf:2: nodes=n10: ", "already" },
		{ S "SupernodeName=a SupernodeName=b Nodes=n9\n", "t.conf:2: SupernodeName=b: ", "already" },
		{ S "SupernodeName=a BlockName=b Nodes=n9\n", "t.conf:2: BlockName=b: ", "a line for each" },
		{ S "Nodes=n9 SupernodeName=a\n", "t.conf:2: Nodes=n9: ", "must begin with SupernodeName=" },
		{ S "SuperNodesName=a Nodes=n9\n", "t.conf:2: SuperNodesName=a: ", "did you mean SupernodeName?" },
		{ S "NodeName=a CPUs=3\n", "t.conf:2: NodeName=a: ", NULL },
		{ S "Zzzzzzzzzzzzz=a\n", "t.conf:2: ", "FabricName=" },
		{ S "SupernodeName=a\n", "t.conf:2: SupernodeName=a: ", "add Nodes=" },
		{ S "UnitName=a\n", "t.conf:2: UnitName=a: ", "add Nodes=" },
		{ S "FabricName=a\n", "t.conf:2: FabricName=a: ", "add Supernodes= or Fabrics=" },
		{ S "Nodes+=n9\n", "t.conf:2: ", "not KEY=VALUE" },
		{ S "abc\001\n", "t.conf:2: ", "not a text file" },
		{ S "# \177ELF\n", "t.conf:2: ", "not a text file" },
	};

	(void)state;
	refused(bad, N(bad), NULL);
}

static void bad_values(void **state)
{
	static const struct bad bad[] = {
		{ S "SupernodeName=a Nodes=n9 PoolMemory=5X\n", "t.conf:2: PoolMemory=5X: ", "48T" },
		{ S "SupernodeName=a Nodes=n9 PoolMemory=-5T\n", "t.conf:2: PoolMemory=-5T: ", NULL },
		{ S "SupernodeName=a Nodes=n9 PoolMemory=0\n", "t.conf:2: PoolMemory=0: ", "leave the key out" },
		{ S "SupernodeName=a Nodes=n9 PoolMemory=9999999P\n", "t.conf:2: PoolMemory=9999999P: ", "too large" },
		{ S "SupernodeName=a Nodes=n9 PowerLimit=400\n", "t.conf:2: PowerLimit=400: ", "400kW" },
		{ S "SupernodeName=a Nodes=n9 CardLatency=1\n", "t.conf:2: CardLatency=1: ", "1u" },
		{ S "SupernodeName=a Nodes=n9 Shape=ring\n", "t.conf:2: Shape=ring: ", "full|fattree|mesh|torus" },
		{ S "SupernodeName=a Nodes=n9 Shape=tor\n", "t.conf:2: Shape=tor: ", "torus" },
		{ S "SupernodeName=a Nodes=n9 SpareNodes=1\n", "t.conf:2: SpareNodes=1: ", "has 1 nodes" },
		{ S "SupernodeName=a Nodes=n[9-10] SpareNodes=5000\n", "t.conf:2: SpareNodes=5000: ", "at most 1" },
		{ S "SupernodeName=a Nodes=n9 SpareNodes=-1\n", "t.conf:2: SpareNodes=-1: ", NULL },
		{ S "SupernodeName=a Nodes=n9 SpareNodes=2147483648\n", "t.conf:2: SpareNodes=2147483648: ", "out of range" },
		{ S "SupernodeName=a Nodes=n9 NodesPerSupernode=0\n", "t.conf:2: NodesPerSupernode=0: ", "from 1" },
		{ S "SupernodeName=a Nodes=n9 NodesPerSupernode=4294967297\n", "t.conf:2: NodesPerSupernode=4294967297: ", "out of range" },
		{ S "SupernodeName=a Nodes=ALL\n", "t.conf:2: Nodes=ALL: ", "must be named" },
		{ S "SupernodeName=a Nodes=m[3-1]\n", "t.conf:2: Nodes=m[3-1]: ", "[1-3]" },
		{ S "SupernodeName=a[ Nodes=m1\n", "t.conf:2: SupernodeName=a[: ", "not closed" },
		{ S "SupernodeName=a Nodes=m[0-4294967295]\n", "t.conf:2: Nodes=m[0-4294967295]: ", "4194304" },
	};

	(void)state;
	refused(bad, N(bad), NULL);
}

static void bad_arithmetic(void **state)
{
	static const struct bad bad[] = {
		{ "SupernodeName=sn[01-16] Nodes=n[001-783] NodesPerSupernode=49\n", "t.conf:1: NodesPerSupernode=49: 16 names x 49 = 784 nodes", "783" },
		{ "SupernodeName=sn[01-16] Nodes=n[001-735] NodesPerSupernode=49\n", "16 names x 49 = 784 nodes", "enough for 15 names" },
		{ "SupernodeName=sn[1-3] Nodes=n[1-10]\n", "t.conf:1: SupernodeName=sn[1-3]: 3 names cannot share 10 nodes", "list 9 or 12" },
		{ "SupernodeName=sn[1-3] Nodes=n[1-2]\n", "3 names cannot share 2 nodes", "at least one" },
		{ S "UnitName=u[1-2] Nodes=n[1-3]\n", "t.conf:2: UnitName=u[1-2]: 2 names cannot share 3 nodes", NULL },
		{ S "UnitName=u[1-2] Nodes=n[1-4] NodesPerUnit=3\n", "t.conf:2: NodesPerUnit=3: 2 names x 3 = 6 nodes", "4" },
		{ S "FabricName=f[1-2] Supernodes=s[1-3]\n", "t.conf:2: FabricName=f[1-2]: 2 names cannot share 3 members", NULL },
		{ S "FabricName=f[1-2] Supernodes=s[1-4] MembersPerFabric=3\n", "t.conf:2: MembersPerFabric=3: 2 names x 3 = 6 members", "4" },
		{ S "FabricName=f Supernodes=s[1-4] MembersPerFabric=2\n", "t.conf:2: MembersPerFabric=2: ", "enough for 2 names" },
	};

	(void)state;
	refused(bad, N(bad), NULL);
}

static void bad_structure(void **state)
{
	static const struct bad bad[] = {
		{ S "SupernodeName=a Nodes=n[8-9]\n", "t.conf:2: Nodes=n[8-9]: n8 is already in supernode s4 (t.conf:1)", NULL },
		{ "SupernodeName=a Nodes=n[1-2],n1\n", "t.conf:1: Nodes=n[1-2],n1: n1 is already in supernode a", NULL },
		{ S "SupernodeName=s3 Nodes=m1\n", "t.conf:2: SupernodeName=s3: supernode s3 is already declared (t.conf:1)", NULL },
		{ "SupernodeName=a,a Nodes=n[1-2]\n", "supernode a is already declared", NULL },
		{ S "UnitName=u Nodes=n[2-3]\n", "t.conf:2: Nodes=n[2-3]: unit u would hold nodes of supernode s1 and n3 of supernode s2", NULL },
		{ S "UnitName=u Nodes=x1\n", "t.conf:2: Nodes=x1: x1 is in no supernode", NULL },
		{ S "UnitName=u Nodes=n1\nUnitName=v Nodes=n[1-2]\n", "t.conf:3: Nodes=n[1-2]: n1 is already in unit u", NULL },
		{ S "UnitName=u Nodes=n1\nUnitName=u Nodes=n2\n", "t.conf:3: UnitName=u: unit u is already declared (t.conf:2)", NULL },
		{ S "FabricName=f Supernodes=s1\nFabricName=f Supernodes=s2\n", "t.conf:3: FabricName=f: fabric f is already declared (t.conf:2)", NULL },
		{ S "FabricName=f Supernodes=s[4-5]\n", "t.conf:2: Supernodes=s[4-5]: there is no supernode s5", "SupernodeName=s5" },
		{ S "FabricName=f Fabrics=g\n", "t.conf:2: Fabrics=g: there is no fabric g", "FabricName=g" },
		{ S "FabricName=f Fabrics=s1\n", "t.conf:2: Fabrics=s1: s1 is a supernode", "Supernodes=" },
		{ S "FabricName=g Supernodes=s1\nFabricName=f Supernodes=g\n", "t.conf:3: Supernodes=g: g is a fabric", "Fabrics=" },
		{ S "FabricName=f Supernodes=n3\n", "t.conf:2: Supernodes=n3: n3 is a node; its supernode s2", NULL },
		{ S "FabricName=f Supernodes=s1\nFabricName=g Supernodes=s[1-2]\n", "t.conf:3: Supernodes=s[1-2]: s1 is already in fabric f and would be in g too", NULL },
		{ S "FabricName=f Supernodes=s1,s1\n", "s1 is already in fabric f", NULL },
		{ S "FabricName=f Supernodes=s1\nFabricName=g Fabrics=f\nFabricName=h Fabrics=f\n", "t.conf:4: Fabrics=f: f is already in fabric g", NULL },
		{ S "FabricName=f Fabrics=f\n", "t.conf:2: FabricName=f: ", "circle: f is in f" },
		{ S "FabricName=f Fabrics=g\nFabricName=g Fabrics=h\nFabricName=h Fabrics=f Supernodes=s1\n", "circle", "in h" },
		/* the circle is above the fabric that is walked from first */
		{ S "FabricName=a Supernodes=s1\nFabricName=f Fabrics=a,g\nFabricName=g Fabrics=f\n", "circle", "in g in f" },
		{ S "FabricName=f[1-2] Supernodes=s1 Fabrics=g\nFabricName=g Supernodes=s2\n", "t.conf:2: FabricName=f[1-2]: ", "a line for each name" },
	};
	struct sn_buf deep = { .text = NULL };
	struct bad too_deep = { .says = "levels", .too = "32" };
	struct sn_topo *t;
	int i;

	(void)state;
	refused(bad, N(bad), NULL);
	sn_buf_add(&deep, "%s", S "FabricName=f1 Supernodes=s1\n");
	for (i = 2; i <= 32; i++)
		sn_buf_add(&deep, "FabricName=f%d Fabrics=f%d\n", i, i - 1);
	t = parsed(deep.text);
	assert_int_equal(t->fabric_levels, 32);
	sn_topo_destroy(t);
	sn_buf_add(&deep, "FabricName=f33 Fabrics=f32\n");
	too_deep.text = deep.text;
	refused(&too_deep, 1, NULL);
	sn_buf_done(&deep);
}

static void bad_includes(void **state)
{
	static const struct file files[] = {
		{ "self", "# me\nInclude self\n" },
		{ "ping", "Include pong\n" }, { "pong", "Include ping\n" },
		{ "bad", "SupernodeName=s1 Nodes=n1\n\nSupernodeName=s1 Nodes=n2\n" },
		{ "1", "Include 2\n" }, { "2", "Include 3\n" }, { "3", "Include 4\n" },
		{ "4", "Include 5\n" }, { "5", "Include 6\n" }, { "6", "Include 7\n" },
		{ "7", "Include 8\n" }, { "8", "Include 9\n" }, { "9", "\n" },
		{ NULL, NULL },
	};
	static const struct bad bad[] = {
		{ S "Include self\n", "self:2: Include self: ", "itself" },
		{ "Include ping\n", "pong:1: Include ping: ", "itself" },
		{ "Include t.conf\n", "t.conf:1: Include t.conf: ", "itself" },
		{ S "Include gone\n", "t.conf:2: Include gone: no such file", NULL },
		{ "Include bad\n", "bad:3: SupernodeName=s1: ", "bad:1" },
		{ "Include 1\n", "8:1: Include 9: ", "8 files" },
		{ "Include \"\"\n", "t.conf:1: Include", "missing" },
	};
	static const struct bad none[] = { { "Include x\n", "t.conf:1: Include x: ", "cannot" } };
	static const struct bad equal[] = { { "Include=x\n", "t.conf:1: Include=x: ", NULL } };
	struct sn_topo *topo;
	struct sn_buf many = { .text = NULL };
	struct sn_err err;
	int i;

	(void)state;
	refused(bad, N(bad), files);
	refused(none, 1, NULL);
	refused(equal, 1, files);
	/* What the reader said is what the caller gets. */
	assert_int_equal(sn_topo_parse("Include gone", 12, "t", read_file, (void *)files, &topo, &err), -ENOENT);
	for (i = 0; i <= 1000; i++)
		sn_buf_add(&many, "Include 9\n");
	assert_int_equal(sn_topo_parse(many.text, many.len, "t", read_file, (void *)files, &topo, &err), -EINVAL);
	assert_non_null(strstr(err.text, "t:1001: Include 9: more than 1000"));
	sn_buf_done(&many);
}

static void binary_and_long(void **state)
{
	const size_t size = 10 << 20;
	char *text = malloc(size);
	struct sn_topo *topo;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_topo_parse("# a\nSuper\0nodeName", 18, "t", NULL, NULL, &topo, &err), -EINVAL);
	assert_non_null(strstr(err.text, "t:2: byte 0x00 at column 6"));
	memset(text, 'x', size);
	assert_int_equal(sn_topo_parse(text, size, "t", NULL, NULL, &topo, &err), -EINVAL);
	assert_non_null(strstr(err.text, "t:1: a line of 10485760 bytes"));
	/* A comment is a line too, and so are many joined ones. */
	text[0] = '#';
	assert_int_equal(sn_topo_parse(text, size, "t", NULL, NULL, &topo, &err), -EINVAL);
	for (size_t i = 0; i + 1 < size; i += 1024)
		memcpy(text + i + 1022, "\\\n", 2);
	text[0] = 'x';
	assert_int_equal(sn_topo_parse(text, size, "t", NULL, NULL, &topo, &err), -EINVAL);
	assert_non_null(strstr(err.text, "continuations"));
	/* Long values are cut in the sentence. */
	memset(text, 'n', 1 << 20);
	memcpy(text, "SupernodeName=", 14);
	assert_int_equal(sn_topo_parse(text, 1 << 20, "t", NULL, NULL, &topo, &err), -EINVAL);
	assert_true(strlen(err.text) < 400);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(bad_arithmetic),
		cmocka_unit_test(bad_structure),
		cmocka_unit_test(bad_includes),
		cmocka_unit_test(binary_and_long),
	};

	return cmocka_run_group_tests_name("topoconf", tests, NULL, NULL);
}
