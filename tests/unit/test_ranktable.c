/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_ranktable.c - rank tables: what is written is what HCCL's documentation
 * shows, and each of its rules refuses what breaks it.
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
#include "topology/text.h"

static const char *const n_names[] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8" };

static const struct generation {
	enum sn_rank_table version;
	const char *inventory, *table, *conf, *spec;
	uint32_t nodes, ranks;
} generations[] = {
	{ SN_RANK_TABLE_1_0, "a2-inventory.json", "1.0.json",
	  "SupernodeName=sn1 Nodes=n[1-2]\n", "dp=4", 2, 4 },
	{ SN_RANK_TABLE_1_2, "a3-inventory.json", "1.2.json",
	  "SupernodeName=sn[1-2] Nodes=n[1-4]\n", "dp=8", 4, 8 },
	{ SN_RANK_TABLE_2_0, "950-inventory.json", "2.0.json",
	  "SupernodeName=sn1 Nodes=n[1-2]\n", "dp=4", 2, 4 },
};

static int parse(const char *text, struct sn_ranktable *ret, struct sn_err *err)
{
	memset(err, 0, sizeof(*err));
	return sn_ranktable_parse(text, strlen(text), "t.json", ret, err);
}

static void made_of(const struct generation *g, struct sn_plan *plan,
		    struct sn_inventory *inv)
{
	char *text = tables_golden(g->inventory);
	struct sn_err err;

	tables_plan(g->conf, n_names, g->nodes, 2, g->spec, plan);
	if (tables_load(plan, text, inv, &err))
		fail_msg("%s", err.text);
	free(text);
}

static void golden_tables(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct generation *g = &generations[i];
		struct sn_inventory inv;
		struct sn_ranktable table;
		struct sn_plan plan;
		struct sn_err err;
		char *text;

		made_of(g, &plan, &inv);
		if (sn_ranktable_build(&plan, &inv, g->version, &text, &err))
			fail_msg("%s", err.text);
		tables_equal_golden(g->table, text);
		assert_int_equal(parse(text, &table, &err), 0);
		assert_int_equal(table.version, g->version);
		assert_int_equal(table.n_ranks, g->ranks);
		assert_int_equal(table.n_servers, g->nodes);
		assert_int_equal(table.n_super_pods, i == 1 ? 2 : 0);
		sn_ranktable_done(&table);
		free(text);
		sn_inventory_done(&inv);
		sn_plan_done(&plan);
	}
}

/* The cards of a table's server, as an inventory has them. */
static struct json_object *cards_of(struct json_object *devices)
{
	struct json_object *cards = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		struct json_object *card = NULL;

		assert_int_equal(json_object_deep_copy(json_object_array_get_idx(devices, i), &card, NULL), 0);
		json_object_object_del(card, "rank_id");
		json_object_array_add(cards, card);
	}
	return cards;
}

static struct json_object *get(struct json_object *from, const char *key)
{
	return json_object_object_get(from, key);
}

/* From a table the inventory and the topology that it could be made from. */
static struct json_object *unmake_1(struct json_object *table, struct sn_buf *conf,
				    const char **name, uint32_t *n)
{
	struct json_object *nodes = json_object_new_object(), *list = get(table, "server_list");
	struct json_object *pods = get(table, "super_pod_list");

	*n = (uint32_t)json_object_array_length(list);
	for (uint32_t i = 0; i < *n; i++) {
		struct json_object *server = json_object_array_get_idx(list, i);
		struct json_object *node = json_object_new_object();

		name[i] = json_object_get_string(get(server, "server_id"));
		if (get(server, "host_ip"))
			json_object_object_add(node, "host_ip", json_object_get(get(server, "host_ip")));
		json_object_object_add(node, "cards", cards_of(get(server, "device")));
		json_object_object_add(nodes, name[i], node);
		if (!pods)
			sn_buf_add(conf, "%s%s", i ? "," : "SupernodeName=s Nodes=", name[i]);
	}
	for (size_t p = 0; pods && p < json_object_array_length(pods); p++) {
		struct json_object *pod = json_object_array_get_idx(pods, p);
		struct json_object *servers = get(pod, "server_list");

		/* The supernode's name is the super pod's id then. */
		sn_buf_add(conf, "SupernodeName=%s Nodes=",
			   json_object_get_string(get(pod, "super_pod_id")));
		for (size_t s = 0; s < json_object_array_length(servers); s++)
			sn_buf_add(conf, "%s%s", s ? "," : "", json_object_get_string(
				get(json_object_array_get_idx(servers, s), "server_id")));
		sn_buf_add(conf, "\n");
	}
	return nodes;
}

static struct json_object *unmake_2(struct json_object *table, struct sn_buf *conf,
				    const char **name, uint32_t *n)
{
	struct json_object *nodes = json_object_new_object(), *list = get(table, "rank_list");

	*n = 0;
	for (size_t r = 0; r < json_object_array_length(list); r++) {
		struct json_object *rank = json_object_array_get_idx(list, r), *one = json_object_new_array();
		const char *id = json_object_get_string(get(json_object_array_get_idx(
			get(rank, "level_list"), 0), "net_instance_id"));
		struct json_object *node = get(nodes, id);

		if (!node) {
			sn_buf_add(conf, "%s%s", *n ? "," : "SupernodeName=s Nodes=", id);
			name[(*n)++] = id;
			node = json_object_new_object();
			json_object_object_add(node, "cards", json_object_new_array());
			json_object_object_add(nodes, id, node);
		}
		json_object_array_add(one, json_object_get(rank));
		rank = cards_of(one);
		json_object_array_add(get(node, "cards"), json_object_get(json_object_array_get_idx(rank, 0)));
		json_object_put(rank);
		json_object_put(one);
	}
	return nodes;
}

/* A table that others wrote obeys the rules, and ours, made from the same
 * machines, is the same in every key, type and value. */
static void check_remade(const char *path)
{
	struct json_object *theirs, *ours, *nodes, *root = json_object_new_object();
	const char *name[64];
	struct sn_buf conf = { 0 };
	struct sn_ranktable table;
	struct sn_inventory inv;
	struct sn_plan plan;
	struct sn_err err;
	char *text, spec[32];
	uint32_t n;
	size_t len;

	if (snctl_read_file(path, &text, &len, &err) ||
	    sn_ranktable_parse(text, len, path, &table, &err))
		fail_msg("%s", err.text);
	theirs = table.root;
	free(text);
	nodes = (table.version == SN_RANK_TABLE_2_0 ? unmake_2 : unmake_1)(theirs, &conf, name, &n);
	json_object_object_add(root, "nodes", nodes);
	snprintf(spec, sizeof(spec), "dp=%u", table.n_ranks);
	tables_plan(conf.text, name, n, table.n_ranks / n, spec, &plan);
	if (tables_load(&plan, json_object_to_json_string(root), &inv, &err) ||
	    sn_ranktable_build(&plan, &inv, table.version, &text, &err))
		fail_msg("%s: %s", path, err.text);
	ours = json_tokener_parse(text);
	if (!json_object_equal(ours, theirs))
		fail_msg("%s: made anew it is\n%s", path, text);
	json_object_put(ours);
	json_object_put(root);
	free(text);
	sn_inventory_done(&inv);
	sn_plan_done(&plan);
	sn_ranktable_done(&table);
	sn_buf_done(&conf);
}

static void the_documentations_examples(void **state)
{
	static const char *const file[] = { "v1.0_a2.json", "v1.2_a3_superpod.json", "v2.0_a5_ipv4.json" };
	const char *shared = getenv("SN_SHARED"), *src = getenv("SN_SRCDIR");
	char path[1024];

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/tests/golden/ranktable/%s", src ? src : ".",
			 generations[i].table);
		/* The golden A3 servers have ids that are not their names. */
		if (i != 1)
			check_remade(path);
	}
	for (int i = 0; i < 3; i++) {
		if (shared)
			snprintf(path, sizeof(path), "%s/data/ranktables/%s", shared, file[i]);
		else
			snprintf(path, sizeof(path), "%s/../shared/data/ranktables/%s",
				 src ? src : ".", file[i]);
		if (access(path, F_OK)) {
			print_message("# no %s (SN_SHARED is not set): not compared\n", file[i]);
			continue;
		}
		check_remade(path);
		print_message("# %s: the same made anew\n", file[i]);
	}
}

/* Each breaks one rule of a golden table. */
static const struct slip {
	int table; /* in generations */
	const char *old, *new_text, *says;
	int code;
} slips[] = {
	{ 0, "\"completed\"", "\"initializing\"", "not finished", -EAGAIN },
	{ 0, "\"completed\"", "\"done\"", "want \"completed\"", -EINVAL },
	{ 0, "\"status\":\"completed\",", "", "has no status", -EINVAL },
	{ 0, "\"version\":\"1.0\"", "\"version\":\"1.1\"", "want 1.0, 1.2 or 2.0", -EINVAL },
	{ 0, "\"version\":\"1.0\"", "\"version\":1.0", "no rank table", -EINVAL },
	{ 0, "\"server_count\":\"2\"", "\"server_count\":\"3\"", "server_list has 2", -EINVAL },
	{ 0, "\"server_count\":\"2\"", "\"server_count\":2", "all values are strings", -EINVAL },
	{ 0, "\"server_count\":\"2\",", "", "has no server_count", -EINVAL },
	{ 0, "\"server_id\":\"n2\"", "\"server_id\":\"n1\"", "\"n1\" is given twice", -EINVAL },
	{ 0, "\"server_id\":\"n2\"",
	  "\"server_id\":\"1234567890123456789012345678901234567890123456789012345678901234x\"",
	  "has 65 characters, want 1 to 64", -EINVAL },
	{ 0, "\"server_id\":\"n2\"", "\"server_id\":\"\"", "has 0 characters", -EINVAL },
	{ 0, "\"rank_id\":\"3\"", "\"rank_id\":\"4\"", "whole number from 0 to 3", -EINVAL },
	{ 0, "\"rank_id\":\"3\"", "\"rank_id\":\"2\"", "rank_id 2 is given twice", -EINVAL },
	{ 0, "\"rank_id\":\"3\"", "\"rank_id\":3", "is a whole number, and in versions 1.0 and 1.2", -EINVAL },
	{ 0, "\"device_id\":\"1\"", "\"device_id\":\"0\"", "both have device_id 0", -EINVAL },
	{ 0, "\"device_id\":\"1\"", "\"device_id\":\"16\"", "from 0 to 15", -EINVAL },
	{ 0, "\"device_id\":\"1\",", "", "has no device_id", -EINVAL },
	{ 0, "\"device_ip\":\"192.0.2.2\"", "\"device_ip\":\"192.0.2.1\"", "is that of rank 0 too", -EINVAL },
	{ 0, "\"device_ip\":\"192.0.2.2\"", "\"device_ip\":\"192.0.2.256\"", "no IPv4 or IPv6", -EINVAL },
	{ 0, "\"device_ip\":\"192.0.2.2\"", "\"device_ip\":\"2001:db8::2\"", "is IPv6, and those before it are IPv4", -EINVAL },
	{ 0, "\"device_ip\":\"192.0.2.2\",", "", "rank 1 has no device_ip", -EINVAL },
	{ 0, "\"device_port\":\"16667\"", "\"device_port\":\"0\"", "from 1 to 65535", -EINVAL },
	{ 0, "\"device_port\":\"16667\"", "\"device_port\":\"65536\"", "from 1 to 65535", -EINVAL },
	{ 1, "\"host_ip\":\"203.0.113.1\"", "\"host_ip\":\"2001:db8::1\"", "no IPv4 address", -EINVAL },
	{ 1, "\"host_ip\":\"203.0.113.1\"", "\"host_ip\":7", "host_ip is a whole number", -EINVAL },
	{ 1, "\"super_device_id\":\"12582912\",", "", "has no super_device_id", -EINVAL },
	{ 1, "\"super_device_id\":\"12582912\"", "\"super_device_id\":\"\"", "super_device_id is \"\"", -EINVAL },
	{ 1, "\"super_device_id\":\"12582912\"", "\"super_device_id\":\"16777216\"", "both have super_device_id 16777216", -EINVAL },
	{ 1, "\"device_ip\":\"198.51.100.49\",", "", "rank 6 has no device_ip, which version 1.2 needs", -EINVAL },
	{ 1, "\"host_port\":\"60002\"", "\"host_port\":\"60001\"", "host_port 60001 is that of device[0] too", -EINVAL },
	{ 1, "\"backup_device_ip\":\"198.51.100.2\"", "\"backup_device_ip\":\"198.51.100.3\"", "the other die of its chip, device 1, has device_ip 198.51.100.2", -EINVAL },
	{ 1, "\"backup_device_ip\":\"198.51.100.2\"", "\"backup_device_ip\":\"die\"", "no IPv4 or IPv6", -EINVAL },
	{ 1, "\"backup_device_port\":\"16667\"", "\"backup_device_port\":\"16666\"", "they must differ", -EINVAL },
	{ 1, "\"super_pod_list\"", "\"super_pods\"", "has no super_pod_list", -EINVAL },
	{ 1, "\"super_pod_id\":\"1\"", "\"super_pod_id\":\"0\"", "\"0\" is given twice", -EINVAL },
	{ 2, "\"rank_count\":4", "\"rank_count\":5", "rank_list has 4", -EINVAL },
	{ 2, "\"rank_count\":4", "\"rank_count\":\"4\"", "in version 2.0 it is a whole number", -EINVAL },
	{ 2, "\"rank_count\":4", "\"rank_count\":0", "want 1 to 65536", -EINVAL },
	{ 2, "\"rank_id\":3", "\"rank_id\":\"3\"", "is a string", -EINVAL },
	{ 2, "\"rank_id\":3", "\"rank_id\":2", "rank_id 2 is given twice", -EINVAL },
	{ 2, "\"rank_id\":3", "\"rank_id\":4", "want 0 to 3", -EINVAL },
	{ 2, "\"device_id\":1", "\"device_id\":65", "want 0 to 64", -EINVAL },
	{ 2, "\"device_id\":1", "\"device_id\":0", "as a rank before it has", -EINVAL },
	{ 2, "\"local_id\":1", "\"local_id\":-1", "want 0 to 64", -EINVAL },
	{ 2, "\"local_id\":1,", "", "has no local_id", -EINVAL },
	{ 2, "\"device_port\":16666", "\"device_port\":0", "want 1 to 65535", -EINVAL },
	{ 2, "\"net_layer\":0", "\"net_layer\":1", "begin with 0", -EINVAL },
	{ 2, "\"net_layer\":1", "\"net_layer\":0", "begin with 0 and ascend", -EINVAL },
	{ 2, "\"net_layer\":1", "\"net_layer\":8", "want 0 to 7", -EINVAL },
	{ 2, "\"net_type\":\"TOPO_FILE_DESC\"", "\"net_type\":\"CLOS\"", "want TOPO_FILE_DESC", -EINVAL },
	{ 2, "\"net_type\":\"CLOS\"", "\"net_type\":\"MESH\"", "TOPO_FILE_DESC or CLOS", -EINVAL },
	{ 2, "\"net_instance_id\":\"pod0\"", "\"net_instance_id\":\"\"", "want 1 to 1024", -EINVAL },
	{ 2, "\"addr_type\":\"EID\"", "\"addr_type\":\"MAC\"", "want EID, IPV4 or IPV6", -EINVAL },
	{ 2, "\"addr_type\":\"EID\"", "\"addr_type\":\"IPV4\"", "is no IPV4 address", -EINVAL },
	{ 2, "\"addr\":\"0", "\"addr\":\"", "32 hexadecimal digits", -EINVAL },
	{ 2, "\"0/5\"", "\"0/4\"", "port \"0/4\" has two addresses", -EINVAL },
	{ 2, "\"0/5\"", "5", "not a string of 1 to 32", -EINVAL },
	{ 2, "\"rank_list\"", "\"ranks\"", "has no rank_list", -EINVAL },
};

/* Without the blanks, so that the slips can be written down. */
static char *squeezed(const char *name)
{
	char *text = tables_golden(name), *plain;
	struct json_object *root = json_tokener_parse(text);

	assert_non_null(root);
	plain = strdup(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
	free(text);
	return plain;
}

static void each_rule_refuses_what_breaks_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(slips) / sizeof(*slips); i++) {
		const struct slip *slip = &slips[i];
		char *good = squeezed(generations[slip->table].table);
		char *bad = tables_replace(good, slip->old, slip->new_text);
		struct sn_ranktable table;
		struct sn_err err;
		int rc = parse(bad, &table, &err);

		if (rc != slip->code || !strstr(err.text, slip->says))
			fail_msg("%s -> %s: %d \"%s\", want %d \"…%s…\"", slip->old,
				 slip->new_text, rc, rc ? err.text : "", slip->code, slip->says);
		assert_non_null(strstr(err.text, "t.json"));
		free(bad);
		free(good);
	}
}

/* Ranks and servers in an order that a rule forbids. */
static void orders(void **state)
{
	char *good = squeezed("1.2.json"), *bad, *other;
	struct sn_ranktable table;
	struct sn_err err;

	(void)state;
	/* Ranks 1 and 2 change places between two servers. */
	bad = tables_replace(good, "\"rank_id\":\"1\"", "\"rank_id\":\"X\"");
	other = tables_replace(bad, "\"rank_id\":\"2\"", "\"rank_id\":\"1\"");
	free(bad);
	bad = tables_replace(other, "\"rank_id\":\"X\"", "\"rank_id\":\"2\"");
	free(other);
	assert_int_equal(parse(bad, &table, &err), -EINVAL);
	assert_non_null(strstr(err.text, "2 ranks between 0 and 2; the ranks of a server are consecutive"));
	free(bad);
	/* Whole servers may come in any order of ranks within a super pod. */
	bad = tables_replace(good, "{\"server_id\":\"server-1\"},{\"server_id\":\"server-2\"}",
			     "{\"server_id\":\"server-2\"},{\"server_id\":\"server-1\"}");
	assert_int_equal(parse(bad, &table, &err), 0);
	sn_ranktable_done(&table);
	free(bad);
	bad = tables_replace(good, "{\"server_id\":\"server-2\"}]},", "{\"server_id\":\"server-3\"}]},");
	assert_int_equal(parse(bad, &table, &err), -EINVAL);
	assert_non_null(strstr(err.text, "server \"server-3\" is in super pod \"0\" already"));
	other = tables_replace(bad, "[{\"server_id\":\"server-3\"}", "[{\"server_id\":\"server-2\"}");
	assert_int_equal(parse(other, &table, &err), -EINVAL);
	assert_non_null(strstr(err.text, "super pod \"0\" are not listed together"));
	free(other);
	free(bad);
	bad = tables_replace(good, "{\"server_id\":\"server-2\"}]},", "{\"server_id\":\"server-9\"}]},");
	assert_int_equal(parse(bad, &table, &err), -EINVAL);
	assert_non_null(strstr(err.text, "\"server-9\" is not in server_list"));
	free(bad);
	bad = tables_replace(good, "{\"server_id\":\"server-1\"},{\"server_id\":\"server-2\"}",
			     "{\"server_id\":\"server-1\"}");
	assert_int_equal(parse(bad, &table, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is in no super pod"));
	free(bad);
	free(good);
}

static void seventeen_dies_are_too_many(void **state)
{
	struct sn_buf buf = { 0 };
	struct sn_ranktable table;
	struct sn_err err;

	(void)state;
	sn_buf_add(&buf, "{\"status\":\"completed\",\"version\":\"1.0\",\"server_count\":\"1\",\"server_list\":[{\"server_id\":\"a\",\"device\":[");
	for (int i = 0; i < 17; i++)
		sn_buf_add(&buf, "%s{\"device_id\":\"%d\",\"rank_id\":\"%d\"}", i ? "," : "", i, i);
	sn_buf_add(&buf, "]}]}");
	assert_int_equal(parse(buf.text, &table, &err), -EINVAL);
	assert_non_null(strstr(err.text, "17 devices, and a server at most 16"));
	/* With 16 all is well, also without addresses on one server. */
	memcpy(strstr(buf.text, ",{\"device_id\":\"16\""), "]}]}\0", 5);
	assert_int_equal(parse(buf.text, &table, &err), 0);
	sn_ranktable_done(&table);
	sn_buf_done(&buf);
}

static void no_part_of_a_table_passes_for_the_whole(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		char *text = tables_golden(generations[i].table);
		struct sn_ranktable table;
		struct sn_err err;

		for (size_t len = 0; len < strlen(text); len++) {
			if (text[len] == '\n' && len + 1 == strlen(text))
				continue; /* the last newline is no loss */
			if (!sn_ranktable_parse(text, len, "t.json", &table, &err))
				fail_msg("%zu of %zu bytes pass", len, strlen(text));
			assert_non_null(strstr(err.text, "t.json"));
		}
		assert_int_equal(sn_ranktable_parse(text, 0, "t.json", &table, &err), -EAGAIN);
		assert_int_equal(sn_ranktable_parse(text, (size_t)(strrchr(text, '"') - text),
						    "t.json", &table, &err), -EAGAIN);
		assert_non_null(strstr(err.text, "half-written"));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_tables),
		cmocka_unit_test(the_documentations_examples),
		cmocka_unit_test(each_rule_refuses_what_breaks_it),
		cmocka_unit_test(orders),
		cmocka_unit_test(seventeen_dies_are_too_many),
		cmocka_unit_test(no_part_of_a_table_passes_for_the_whole),
	};

	return cmocka_run_group_tests_name("ranktable", tests, NULL, NULL);
}
