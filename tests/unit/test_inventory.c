/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_inventory.c - inventories: both forms, what is refused, and where they
 * come from.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "snctl/readfile.h"
#include "tests/unit/tables.h"

static int parse(const char *text, const char *node, struct sn_inventory *ret,
		 struct sn_err *err)
{
	memset(err, 0, sizeof(*err));
	return sn_inventory_parse(text, strlen(text), "inv", node, ret, err);
}

static void a_cluster_in_json(void **state)
{
	struct sn_inventory inv;
	const struct sn_inv_node *node;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse(
		"{\"nodes\": {\"n2\": {\"cards\": [{\"device_id\": 1}, {\"device_id\": \"0\"}]},"
		" \"n1\": {\"node\": \"n1\", \"server_id\": \"s\", \"host_ip\": \"192.0.2.9\","
		" \"super_pod_id\": \"7\", \"cards\": [{\"device_id\": \"0\", \"device_ip\":"
		" \"2001:db8::1\", \"super_device_id\": \"113246208\", \"device_port\": \"16666\","
		" \"backup_device_ip\": \"\", \"backup_device_port\": 16667, \"host_port\": 5}]}}}",
		NULL, &inv, &err), 0);
	assert_int_equal(inv.n_nodes, 2);
	node = sn_inventory_find(&inv, "n1");
	assert_string_equal(sn_inv_server_id(node), "s");
	assert_string_equal(node->host_ip, "192.0.2.9");
	assert_string_equal(node->super_pod_id, "7");
	assert_string_equal(node->card[0].device_ip, "2001:db8::1");
	assert_true(node->card[0].has_super_device_id);
	assert_int_equal(node->card[0].super_device_id, 113246208);
	assert_int_equal(node->card[0].device_port, 16666);
	assert_null(node->card[0].backup_device_ip);
	assert_int_equal(node->card[0].backup_device_port, 16667);
	assert_int_equal(node->card[0].host_port, 5);
	node = sn_inventory_find(&inv, "n2");
	assert_string_equal(sn_inv_server_id(node), "n2");
	assert_int_equal(node->n_cards, 2);
	assert_int_equal(node->card[0].device_id, 0);
	assert_int_equal(sn_inv_node_card(node, 1)->device_id, 1);
	assert_null(sn_inventory_find(&inv, "n3"));
	sn_inventory_done(&inv);
	assert_int_equal(inv.n_nodes, 0);
}

static void a_server_that_lacks_a_device(void **state)
{
	struct sn_inventory inv;
	struct sn_err err;

	(void)state;
	/* /dev/davinci1 is gone: Slurm's card 1 is device 2. */
	assert_int_equal(parse("{\"cards\":[{\"device_id\":0},{\"card\":1,\"device_id\":2}]}", "n1", &inv, &err), 0);
	assert_int_equal(sn_inv_node_card(&inv.node[0], 1)->device_id, 2);
	assert_int_equal(sn_inv_node_card(&inv.node[0], 1)->local_id, 2);
	sn_inventory_done(&inv);
}

static void hccn_conf(void **state)
{
	struct sn_inventory inv;
	struct sn_err err;

	(void)state;
	assert_int_equal(parse("# cards\n address_1=192.0.2.2\r\nnetmask_1=255.255.255.0\n\n"
			       "address_0=192.0.2.1\nnetdetect_0=192.0.2.254\nIPv6address_0=2001:db8::1\n"
			       "send_arp_status_0=1",
			       "n1", &inv, &err), 0);
	assert_int_equal(inv.node[0].n_cards, 2);
	assert_string_equal(inv.node[0].card[0].device_ip, "192.0.2.1");
	assert_string_equal(inv.node[0].card[1].device_ip, "192.0.2.2");
	assert_int_equal(inv.node[0].card[1].device_id, 1);
	sn_inventory_done(&inv);
}

#define NODE(cards) "{\"nodes\":{\"n1\":{\"cards\":" cards "}}}"

static const struct {
	const char *text, *node, *says;
} bad[] = {
	{ "", NULL, "is no JSON" },
	{ "{", NULL, "inv:1: the JSON document is cut short" },
	{ "{}", NULL, "has no \"nodes\"" },
	{ "{}", "n1", "n1: has no \"cards\"" },
	{ "[]", NULL, "is an array, want an object" },
	{ "{\"nodes\":[]}", NULL, "nodes: is an array" },
	{ "{\"nodes\":{},\"x\":1}", NULL, "\"x\": no such key" },
	{ "{\"nodes\":{\"n1\":[]}}", NULL, "n1: is an array" },
	{ "{\"nodes\":{\"n1\":{}}}", NULL, "n1: has no \"cards\"" },
	{ "{\"nodes\":{\"n1\":{\"cards\":[]},\"n1\":{}}}", NULL, "\"n1\" is given twice" },
	{ "{\"nodes\":{\"a/b\":{\"cards\":[]}}}", NULL, "is no name" },
	{ "{\"server_list\":[]}", NULL, "is a rank table, not an inventory" },
	{ "{\"node\":\"n2\",\"cards\":[{\"device_id\":0}]}", "n1", "is about node n2, not about n1" },
	{ "{\"cards\":[{\"device_id\":0}],\"host_ip\":\"2001:db8::1\"}", "n1", "is no IPv4 address" },
	{ "{\"cards\":[{\"device_id\":0}],\"server_id\":\"\"}", "n1", "has 0 characters, want 1 to 64" },
	{ "{\"cards\":[{\"device_id\":0}],\"super_pod_id\":0}", "n1", "super_pod_id: is a whole number, want a string" },
	{ "{\"cards\":[{\"device_id\":0}],\"sever_id\":\"x\"}", "n1", "did you mean \"server_id\"" },
	{ NODE("[]"), NULL, "n1 has no cards" },
	{ NODE("{}"), NULL, "cards: is an object" },
	{ NODE("[1]"), NULL, "cards[0]: is a whole number" },
	{ NODE("[{}]"), NULL, "has no device_id" },
	{ NODE("[{\"device_id\":-1}]"), NULL, "want a whole number from 0 to 64" },
	{ NODE("[{\"device_id\":\"x\"}]"), NULL, "device_id: x: want a whole number" },
	{ NODE("[{\"device_id\":1.5}]"), NULL, "device_id: is a number that is not whole" },
	{ NODE("[{\"device_id\":64}]"), NULL, "as \"card\"" },
	{ NODE("[{\"device_id\":0},{\"device_id\":0}]"), NULL, "card 0 is given twice" },
	{ NODE("[{\"device_id\":0},{\"card\":1,\"device_id\":0}]"), NULL, "cards 0 and 1 both have device_id 0" },
	{ NODE("[{\"device_id\":0},{\"device_id\":2}]"), NULL, "n1: card 1 is missing, of cards up to 2" },
	{ NODE("[{\"device_id\":1}]"), NULL, "card 0 is missing" },
	{ NODE("[{\"device_id\":0,\"device_ip\":\"192.0.2.300\"}]"), NULL, "\"192.0.2.300\" is no IPv4 or IPv6 address" },
	{ NODE("[{\"device_id\":0,\"device_ip\":5}]"), NULL, "device_ip: is a whole number, want a string" },
	{ NODE("[{\"device_id\":0,\"device_port\":0}]"), NULL, "0 is no port" },
	{ NODE("[{\"device_id\":0,\"device_port\":65536}]"), NULL, "from 0 to 65535" },
	{ NODE("[{\"device_id\":0,\"super_device_id\":\"0x6c00000\"}]"), NULL, "super_device_id: 0x6c00000: want" },
	{ NODE("[{\"device_id\":0,\"devise_ip\":\"192.0.2.1\"}]"), NULL, "did you mean \"device_ip\"" },
	{ NODE("[{\"device_id\":0,\"level_list\":{}}]"), NULL, "level_list is an object" },
	{ NODE("[{\"device_id\":0,\"level_list\":[]}]"), NULL, "level_list has 0 entries, want 1 to 8" },
	{ "address_0=192.0.2.1", NULL, "is no JSON; a file of the whole cluster is" },
	{ "address_0=192.0.2.1\naddress_0=192.0.2.2", "n1", "inv:2: address_0 is given twice" },
	{ "address_0=192.0.2.1\naddress_2=192.0.2.2", "n1", "card 1 is missing" },
	{ "\naddress_0=192.0.2.x", "n1", "inv:2: address_0: \"192.0.2.x\" is no IPv4 or IPv6" },
	{ "address_x=192.0.2.1", "n1", "want a device's number from 0 to 63" },
	{ "address_0", "n1", "inv:1: \"address_0\": want KEY_N=VALUE" },
	{ "netmask_0=255.255.255.0", "n1", "has no address_N= line" },
};

static void bad_texts_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sn_inventory inv;
		struct sn_err err;
		int rc = parse(bad[i].text, bad[i].node, &inv, &err);

		if (rc != -EINVAL || !strstr(err.text, bad[i].says))
			fail_msg("%s: %d \"%s\", want \"…%s…\"", bad[i].text, rc,
				 rc ? err.text : "", bad[i].says);
		assert_int_equal(strncmp(err.text, "inv", 3), 0);
	}
}

static const char *const n_names[] = { "n1", "n2", "n3", "n4" };

/* One change of a golden inventory that makes it unfit for a version. */
static const struct {
	const char *file, *old, *new_text;
	enum sn_rank_table version;
	const char *says;
} unfit[] = {
	{ "a2-inventory.json", NULL, NULL, SN_RANK_TABLE_2_0, "inventory: n1: card 0 has no level_list, so this is the inventory of an A2 or A3" },
	{ "a2-inventory.json", NULL, NULL, SN_RANK_TABLE_2_0, "EI0014" },
	{ "a2-inventory.json", NULL, NULL, SN_RANK_TABLE_1_2, "card 0 has no super_device_id, which RankTable=1.2 needs" },
	{ "a2-inventory.json", "192.0.2.17", "192.0.2.2", SN_RANK_TABLE_1_0, "card 1 of n1 and card 0 of n2 both have device_ip 192.0.2.2" },
	{ "a2-inventory.json", "192.0.2.17", "2001:db8::1", SN_RANK_TABLE_1_0, "HCCL wants one family" },
	{ "a2-inventory.json", "192.0.2.17", "", SN_RANK_TABLE_1_0, "n2: card 0 has no device_ip, and the cards of 2 servers" },
	{ "950-inventory.json", NULL, NULL, SN_RANK_TABLE_1_0, "n1: card 0 has a level_list, so this is the inventory of an Ascend 950, which refuses a table of version 1.0 (EI0014)" },
	{ "950-inventory.json", NULL, NULL, SN_RANK_TABLE_1_2, "version 1.2 (EI0014)" },
	{ "950-inventory.json", "00000000000000000000000000010100", "00000000000000000000000000010000", SN_RANK_TABLE_2_0, "card 0 of n1 and card 1 of n1 both have EID 00000000000000000000000000010000" },
	{ "a3-inventory.json", "16777216", "12582912", SN_RANK_TABLE_1_2, "card 0 of n1 and card 0 of n2 both have super_device_id 12582912 in super pod \"0\"" },
	{ "a3-inventory.json", "server-2", "server-1", SN_RANK_TABLE_1_2, "n1 and n2 both have server_id \"server-1\"" },
	{ "a3-inventory.json", "\"device_ip\": \"198.51.100.49\",", "", SN_RANK_TABLE_1_2, "which version 1.2 needs with more than one super pod" },
};

static void what_no_table_can_be_made_of_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++) {
		char *good = tables_golden(unfit[i].file), *text = unfit[i].old ?
			tables_replace(good, unfit[i].old, unfit[i].new_text) : strdup(good);
		struct sn_inventory inv;
		struct sn_plan plan;
		struct sn_err err;
		int rc;

		if (unfit[i].file[1] == '3')
			tables_plan("SupernodeName=sn[1-2] Nodes=n[1-4]\n", n_names, 4, 2, "dp=8", &plan);
		else
			tables_plan("SupernodeName=sn1 Nodes=n[1-2]\n", n_names, 2, 2, "dp=4", &plan);
		if (tables_load(&plan, text, &inv, &err))
			fail_msg("%s", err.text);
		rc = sn_inventory_fits(&inv, unfit[i].version, true, &err);
		if (rc != -EINVAL || !strstr(err.text, unfit[i].says))
			fail_msg("%zu: %d \"%s\", want \"…%s…\"", i, rc, rc ? err.text : "", unfit[i].says);
		sn_inventory_done(&inv);
		sn_plan_done(&plan);
		free(text);
		free(good);
	}
}

static void in_two_super_pods_the_same_id_is_right(void **state)
{
	char *good = tables_golden("a3-inventory.json"), *text;
	struct sn_inventory inv;
	struct sn_plan plan;
	struct sn_err err;

	(void)state;
	/* n3's first card, of super pod 1, gets the id of n1's, of super pod 0. */
	text = tables_replace(good, "20971520", "12582912");
	tables_plan("SupernodeName=sn[1-2] Nodes=n[1-4]\n", n_names, 4, 2, "dp=8", &plan);
	assert_int_equal(tables_load(&plan, text, &inv, &err), 0);
	assert_int_equal(sn_inventory_fits(&inv, SN_RANK_TABLE_1_2, true, &err), 0);
	sn_inventory_done(&inv);
	sn_plan_done(&plan);
	free(text);
	free(good);
}

static void odd_ids_and_counts_are_warned_of(void **state)
{
	struct sn_names names = { 0 };
	struct sn_inventory inv;
	struct sn_err err;
	char *text = tables_golden("a3-inventory.json"), *odd;

	(void)state;
	assert_int_equal(parse(text, NULL, &inv, &err), 0);
	assert_int_equal(sn_inventory_warn(&inv, SN_RANK_TABLE_1_2, &names), 0);
	assert_int_equal(names.n, 0);
	sn_inventory_done(&inv);
	odd = tables_replace(text, "16842753", "16842754");
	assert_int_equal(parse(odd, NULL, &inv, &err), 0);
	assert_int_equal(sn_inventory_warn(&inv, SN_RANK_TABLE_1_2, &names), 0);
	assert_int_equal(names.n, 1);
	assert_non_null(strstr(names.name[0], "1 super_device_id is not server<<22|chip<<18|die<<16|device"));
	assert_non_null(strstr(names.name[0], "16842754 of card 1 of n2"));
	sn_inventory_done(&inv);
	sn_names_done(&names);
	assert_int_equal(parse("{\"nodes\":{\"a\":{\"cards\":[{\"device_id\":0}]},\"b\":{\"cards\":[{\"device_id\":0},{\"device_id\":1}]}}}",
			       NULL, &inv, &err), 0);
	memset(&names, 0, sizeof(names));
	assert_int_equal(sn_inventory_warn(&inv, SN_RANK_TABLE_1_0, &names), 0);
	assert_int_equal(names.n, 2);
	assert_non_null(strstr(names.name[0], "1 node has fewer than 2 cards, the first is a with 1"));
	assert_non_null(strstr(names.name[1], "3 cards have no device_ip, the first is of a"));
	for (uint32_t i = 0; i < inv.n_nodes; i++)
		inv.node[i].super_pod_id = strdup(i ? "1" : "0");
	assert_int_equal(sn_inventory_fits(&inv, SN_RANK_TABLE_1_0, true, &err), -EINVAL);
	assert_int_equal(sn_inventory_fits(&inv, SN_RANK_TABLE_1_0, false, &err), 0);
	sn_inventory_done(&inv);
	sn_names_done(&names);
	free(odd);
	free(text);
}

static void paths(void **state)
{
	char *path;

	(void)state;
	assert_true(sn_inventory_is_pattern("/s/%n.json"));
	assert_false(sn_inventory_is_pattern("/s/%%n.json"));
	path = sn_inventory_path("/s/%n/100%%/%n.json", "n1");
	assert_string_equal(path, "/s/n1/100%/n1.json");
	free(path);
}

/* Loading: wants of one plan of two nodes with two cards. */
struct site {
	char *dir;
	struct sn_policy policy;
	uint32_t card[2];
	struct sn_inv_want want[2];
	struct sn_inv_cache cache;
};

static void site_begin(struct site *site)
{
	memset(site, 0, sizeof(*site));
	site->dir = tables_dir();
	sn_policy_init(&site->policy);
	site->card[1] = 1;
	site->want[0] = (struct sn_inv_want){ "n2", "sn1", site->card, 2 };
	site->want[1] = (struct sn_inv_want){ "n1", "sn1", site->card, 1 };
	site->cache.dir = site->dir;
}

static int load(struct site *site, struct sn_inventory *ret, struct sn_err *err)
{
	memset(err, 0, sizeof(*err));
	memset(ret, 0, sizeof(*ret));
	return sn_inventory_load(&site->policy, site->want, 2, &site->cache, ret, err);
}

static void from_files(void **state)
{
	struct sn_inventory inv;
	struct site site;
	struct sn_err err;

	(void)state;
	site_begin(&site);
	assert_int_equal(load(&site, &inv, &err), -EINVAL);
	assert_non_null(strstr(err.text, "give Inventory=PATH or InventoryProgram=PATH"));
	snprintf(site.policy.inventory_program, sizeof(site.policy.inventory_program), "/x");
	snprintf(site.policy.inventory, sizeof(site.policy.inventory), "%s/%%n.conf", site.dir);
	assert_int_equal(load(&site, &inv, &err), -EINVAL);
	assert_non_null(strstr(err.text, "are both given"));
	site.policy.inventory_program[0] = '\0';
	tables_put(site.dir, "n1.conf", "address_0=192.0.2.1\naddress_1=192.0.2.2\n", false);
	assert_int_equal(load(&site, &inv, &err), -ENOENT);
	assert_non_null(strstr(err.text, "n2.conf"));
	tables_put(site.dir, "n2.conf", "{\"super_pod_id\": \"9\", \"cards\":[{\"device_id\":0},{\"device_id\":1}]}", false);
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_int_equal(inv.n_nodes, 2);
	assert_string_equal(inv.node[0].name, "n1");
	assert_int_equal(inv.node[0].n_cards, 1); /* only what is wanted */
	assert_string_equal(inv.node[0].super_pod_id, "sn1");
	assert_string_equal(inv.node[1].super_pod_id, "9");
	sn_inventory_done(&inv);
	tables_put(site.dir, "n2.conf", "address_0=192.0.2.1\n", false);
	assert_int_equal(load(&site, &inv, &err), -ENOENT);
	assert_non_null(strstr(err.text, "n2.conf: n2 has 1 card, 0 to 0, and Slurm has given the job card 1 of it"));
	snprintf(site.policy.inventory, sizeof(site.policy.inventory), "%s/all", site.dir);
	tables_put(site.dir, "all", "{\"nodes\":{\"n1\":{\"cards\":[{\"device_id\":0}]}}}", false);
	assert_int_equal(load(&site, &inv, &err), -ENOENT);
	assert_non_null(strstr(err.text, "all: node n2 is not in it"));
	tables_rmdir(site.dir);
}

static uint32_t calls(const struct site *site)
{
	char path[1024], *text;
	struct sn_err err;
	uint32_t n = 0;
	size_t len;

	snprintf(path, sizeof(path), "%s/calls", site->dir);
	if (snctl_read_file(path, &text, &len, &err))
		return 0;
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static void from_a_program_and_its_cache(void **state)
{
	struct sn_inventory inv;
	struct site site;
	struct sn_err err;
	char text[2048];

	(void)state;
	site_begin(&site);
	snprintf(site.policy.inventory_program, sizeof(site.policy.inventory_program),
		 "%s/program", site.dir);
	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho $1 $# >>%s/calls\nprintf '{\"node\":\"%%s\",\"cards\":[{\"device_id\":0,\"device_ip\":\"192.0.2.%%s\"},{\"device_id\":1}]}' $1 ${1#n}\n",
		 site.dir);
	tables_put(site.dir, "program", text, true);
	unsetenv("SLURM_RESTART_COUNT");
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_string_equal(inv.node[1].card[0].device_ip, "192.0.2.2");
	assert_int_equal(calls(&site), 2);
	sn_inventory_done(&inv);
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_string_equal(inv.node[1].card[0].device_ip, "192.0.2.2");
	assert_int_equal(calls(&site), 2); /* both are kept */
	sn_inventory_done(&inv);
	site.want[1].name = "n3"; /* a spare has taken a place */
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_string_equal(inv.node[1].card[0].device_ip, "192.0.2.3");
	assert_int_equal(calls(&site), 3);
	sn_inventory_done(&inv);
	site.cache.fresh = true;
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_int_equal(calls(&site), 5);
	sn_inventory_done(&inv);
	site.cache.fresh = false;
	setenv("SLURM_RESTART_COUNT", "1", 1); /* requeued: other machines perhaps */
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_int_equal(calls(&site), 7);
	sn_inventory_done(&inv);
	tables_put(site.dir, SN_INV_CACHE_FILE, "{\"program\":[", false);
	assert_int_equal(load(&site, &inv, &err), 0);
	assert_int_equal(calls(&site), 9);
	sn_inventory_done(&inv);
	unsetenv("SLURM_RESTART_COUNT");
	tables_rmdir(site.dir);
}

static void programs_that_hang_or_lie_are_named(void **state)
{
	static const struct {
		const char *text, *says;
		int code;
	} lie[] = {
		{ "#!/bin/sh\nsleep 300\n", "had not ended after 1 s and was killed", -ETIME },
		{ "#!/bin/sh\nexec yes\n", "printed more than", -EFBIG },
		{ "#!/bin/sh\necho 'no such node' >&2; exit 1\n", "exit status 1: no such node", -ECHILD },
		{ "#!/bin/sh\n", "printed nothing", -EINVAL },
		{ "#!/bin/sh\necho ok\n", "want KEY_N=VALUE", -EINVAL },
		{ "#!/bin/sh\necho '{\"cards\":['\n", "cut short", -EINVAL },
		{ "#!/bin/sh\necho '{\"node\":\"n7\",\"cards\":[]}'\n", "is about node n7, not about n", -EINVAL },
		{ "#!/bin/sh\necho '{\"nodes\":{\"n7\":{\"cards\":[{\"device_id\":0}]}}}'\n", "is not in it", -ENOENT },
		{ "#!/bin/sh\necho '{\"cards\":[{\"device_id\":0},{\"device_id\":0}]}'\n", "card 0 is given twice", -EINVAL },
	};
	struct sn_inventory inv;
	struct site site;
	struct sn_err err;

	(void)state;
	site_begin(&site);
	site.policy.inventory_timeout = 1;
	snprintf(site.policy.inventory_program, sizeof(site.policy.inventory_program),
		 "%s/program", site.dir);
	for (size_t i = 0; i < sizeof(lie) / sizeof(*lie); i++) {
		int rc;

		tables_put(site.dir, "program", lie[i].text, true);
		rc = load(&site, &inv, &err);
		if (rc != lie[i].code || !strstr(err.text, lie[i].says))
			fail_msg("%s: %d \"%s\", want %d \"…%s…\"", lie[i].text, rc,
				 rc ? err.text : "", lie[i].code, lie[i].says);
		/* Who it was: the program's path and the node. */
		assert_non_null(strstr(err.text, site.policy.inventory_program));
	}
	tables_rmdir(site.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cluster_in_json),
		cmocka_unit_test(a_server_that_lacks_a_device),
		cmocka_unit_test(hccn_conf),
		cmocka_unit_test(bad_texts_are_refused),
		cmocka_unit_test(what_no_table_can_be_made_of_is_refused),
		cmocka_unit_test(in_two_super_pods_the_same_id_is_right),
		cmocka_unit_test(odd_ids_and_counts_are_warned_of),
		cmocka_unit_test(paths),
		cmocka_unit_test(from_files),
		cmocka_unit_test(from_a_program_and_its_cache),
		cmocka_unit_test(programs_that_hang_or_lie_are_named),
	};

	return cmocka_run_group_tests_name("inventory", tests, NULL, NULL);
}
