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

#include "snctl/state.h"

static const char conf[] =
	"SupernodeName=sn[1-2] Nodes=n[001-008] NodesPerSupernode=4 PoolMemory=48T\n"
	"SupernodeName=sn3 Nodes=m[1-2]\n";

static struct sn_topo *topology(void)
{
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

/* n cards of a node in what the text says, or fail. */
static struct snctl_state good(struct sn_topo *topo, const char *text, uint32_t cards)
{
	struct snctl_state state;
	struct sn_err err;

	if (snctl_state_parse(text, strlen(text), "s.json", topo, cards, &state, &err))
		fail_msg("%s: %s", text, err.text);
	return state;
}

static const struct sn_place_node *node_of(const struct sn_topo *topo,
					   const struct snctl_state *state,
					   const char *name)
{
	uint32_t n = sn_topo_find_node(topo, name);

	assert_int_not_equal(n, SN_NONE);
	return &state->node[n];
}

static void an_empty_state_is_all_free(void **unused)
{
	struct sn_topo *topo = topology();
	struct snctl_state state = good(topo, " {\n\t}\r\n ", 8);

	(void)unused;
	for (uint32_t n = 0; n < topo->n_nodes; n++) {
		assert_int_equal(state.node[n].cards, 0xff);
		assert_int_equal(state.node[n].free, 0xff);
		assert_int_equal(state.node[n].weight, 1);
		assert_int_equal(state.node[n].flags, 0);
	}
	assert_true(state.supernode[0].pool_free == UINT64_C(48) << 40);
	/* sn3 has no pool, so nothing of it is free. */
	assert_true(state.supernode[2].pool_free == 0);
	assert_true(state.supernode[0].bandwidth_free == UINT64_MAX);
	snctl_state_done(&state);
	sn_topo_destroy(topo);
}

static void the_example_of_the_contract_means_what_it_says(void **unused)
{
	struct sn_topo *topo = topology();
	struct snctl_state state = good(topo,
		"{\"nodes\": {\"n[001-004]\": {\"free\": 8},\n"
		" \"n005\": {\"free_cards\": [0,1,2,3,6], \"masked_cards\": [6], \"weight\": 10},\n"
		" \"n006\": {\"down\": true}, \"n007\": {\"free\": 3}, \"n008\": {\"masked_cards\": [0]}},\n"
		" \"pool_free\": {\"sn1\": \"20T\", \"sn2\": 1024}}", 8);

	(void)unused;
	assert_int_equal(node_of(topo, &state, "n001")->free, 0xff);
	assert_int_equal(node_of(topo, &state, "n005")->free, 0x0f);
	assert_int_equal(node_of(topo, &state, "n005")->cards, 0xff);
	assert_int_equal(node_of(topo, &state, "n005")->weight, 10);
	assert_int_equal(node_of(topo, &state, "n006")->free, 0);
	assert_true(node_of(topo, &state, "n006")->flags & SN_NODE_ABSENT);
	assert_int_equal(node_of(topo, &state, "n007")->free, 0x07);
	assert_int_equal(node_of(topo, &state, "n008")->free, 0xfe);
	assert_int_equal(node_of(topo, &state, "m1")->free, 0xff);
	assert_true(state.supernode[0].pool_free == UINT64_C(20) << 40);
	assert_true(state.supernode[1].pool_free == 1024);
	snctl_state_done(&state);
	sn_topo_destroy(topo);
}

static void degraded_domains_and_busy_nodes_are_marked(void **unused)
{
	struct sn_topo *topo = topology();
	struct snctl_state state = good(topo,
		"{\"nodes\": {\"n001\": {\"free\": 7}, \"n002\": {\"masked_cards\": [0]},"
		" \"x1\": {}}, \"degraded\": [\"sn[2-3]\", \"x1\"]}", 8);
	struct sn_policy policy;
	struct sn_err err = { "" };

	(void)unused;
	assert_int_equal(node_of(topo, &state, "n001")->flags, SN_NODE_DRAWS);
	assert_int_equal(node_of(topo, &state, "n002")->flags, 0);
	assert_int_equal(node_of(topo, &state, "n005")->flags, SN_NODE_DEGRADED);
	assert_int_equal(node_of(topo, &state, "m2")->flags, SN_NODE_DEGRADED);
	assert_int_equal(node_of(topo, &state, "x1")->flags, SN_NODE_DEGRADED);
	sn_policy_init(&policy);
	assert_int_equal(snctl_state_policy(topo, &policy, &state, &err), 0);
	assert_int_equal(node_of(topo, &state, "n003")->flags, 0);
	strcpy(policy.degraded, "sn1");
	assert_int_equal(snctl_state_policy(topo, &policy, &state, &err), 0);
	assert_int_equal(node_of(topo, &state, "n003")->flags, SN_NODE_DEGRADED);
	assert_int_equal(state.supernode[0].keep_idle, 0);
	snctl_state_done(&state);
	sn_topo_destroy(topo);
}

static void sixty_four_cards_are_a_whole_mask(void **unused)
{
	struct sn_topo *topo = topology();
	struct snctl_state state = good(topo,
		"{\"nodes\": {\"n001\": {\"free\": 64}, \"n002\": {\"free_cards\": [63]}, \"n003\": {\"free\": 0}}}", 64);

	(void)unused;
	assert_true(node_of(topo, &state, "n001")->free == UINT64_MAX);
	assert_true(node_of(topo, &state, "n002")->free == UINT64_C(1) << 63);
	assert_true(node_of(topo, &state, "n003")->free == 0);
	assert_true(node_of(topo, &state, "n004")->free == UINT64_MAX);
	snctl_state_done(&state);
	sn_topo_destroy(topo);
}

static void a_node_in_no_supernode_is_loose_and_comes_last(void **unused)
{
	struct sn_topo *topo = topology();
	uint32_t before = topo->n_nodes;
	struct snctl_state state = good(topo,
		"{\"nodes\": {\"x[1-2]\": {\"free\": 2}, \"n001\": {\"free\": 1}}}", 8);

	(void)unused;
	assert_int_equal(topo->n_nodes, before + 2);
	assert_int_equal(sn_topo_find_node(topo, "x1"), before);
	assert_int_equal(sn_topo_find_node(topo, "x2"), before + 1);
	assert_true(topo->supernode[topo->node[before].supernode].loose);
	assert_int_equal(node_of(topo, &state, "x2")->free, 0x3);
	assert_int_equal(node_of(topo, &state, "n001")->free, 0x1);
	assert_int_equal(node_of(topo, &state, "n002")->free, 0xff);
	snctl_state_done(&state);
	sn_topo_destroy(topo);
}

/* One sentence with the file, and in it what names the culprit. */
static void refused(const char *text, size_t len, const char *part)
{
	struct sn_topo *topo = topology();
	struct snctl_state state;
	struct sn_err err = { "" };

	if (!snctl_state_parse(text, len, "s.json", topo, 8, &state, &err))
		fail_msg("accepted: %s", text);
	if (strncmp(err.text, "s.json:", 7) || !strstr(err.text, part))
		fail_msg("%s\n  gave \"%s\"\n  without \"%s\"", text, err.text, part);
	assert_null(strchr(err.text, '\n'));
	sn_topo_destroy(topo);
}

static void bad_text_is_refused_with_its_place(void **unused)
{
	static const char *const bad[][2] = {
		{ "", "empty" },
		{ " \n", "empty" },
		{ "{\"nodes\": {\n\n\"n001\" 3}}", "s.json:3:" },
		{ "{\"nodes\":\n{", "s.json:2:" },
		{ "{} {}", "s.json:1:" },
		{ "null", "an object" },
		{ "[]", "an array" },
		{ "3", "whole number" },
		{ "{\"node\": {}}", "\"nodes\"" },
		{ "{\"colour\": {}}", "colour" },
		{ "{\"nodes\": []}", "nodes must be an object" },
		{ "{\"nodes\": {\"n001\": 8}}", "n001" },
		{ "{\"nodes\": {\"n001\": {\"fre\": 8}}}", "\"free\"" },
		{ "{\"nodes\": {\"n001\": {\"free\": 9}}}", "0 to 8" },
		{ "{\"nodes\": {\"n001\": {\"free\": -1}}}", "-1" },
		{ "{\"nodes\": {\"n001\": {\"free\": 2147483648}}}", "2147483648" },
		{ "{\"nodes\": {\"n001\": {\"free\": 1e3}}}", "not whole" },
		{ "{\"nodes\": {\"n001\": {\"free\": \"8\"}}}", "a string" },
		{ "{\"nodes\": {\"n001\": {\"free\": null}}}", "null" },
		{ "{\"nodes\": {\"n001\": {\"free\": 1, \"free_cards\": [1]}}}", "both" },
		{ "{\"nodes\": {\"n001\": {\"free_cards\": [8]}}}", "no card 8" },
		{ "{\"nodes\": {\"n001\": {\"free_cards\": [-1]}}}", "no card -1" },
		{ "{\"nodes\": {\"n001\": {\"free_cards\": [1,1]}}}", "twice" },
		{ "{\"nodes\": {\"n001\": {\"free_cards\": [\"1\"]}}}", "a string" },
		{ "{\"nodes\": {\"n001\": {\"masked_cards\": 3}}}", "masked_cards" },
		{ "{\"nodes\": {\"n001\": {\"masked_cards\": [64]}}}", "no card 64" },
		{ "{\"nodes\": {\"n001\": {\"weight\": -3}}}", "weight" },
		{ "{\"nodes\": {\"n001\": {\"weight\": 4294967295}}}", "weight" },
		{ "{\"nodes\": {\"n001\": {\"down\": 1}}}", "true or false" },
		{ "{\"nodes\": {\"n001\": {\"free\": 1, \"free\": 2}}}", "twice" },
		{ "{\"nodes\": {\"n[001-002]\": {}, \"n002\": {}}}", "n002 is named twice" },
		{ "{\"nodes\": {\"n001,n001\": {}}}", "n001 is named twice" },
		{ "{\"nodes\": {\"\": {}}}", "nodes.\"\"" },
		{ "{\"nodes\": {\"n[001\": {}}}", "n[001" },
		{ "{\"nodes\": {\"n[0-4294967295]\": {}}}", "n[0-4294967295]" },
		{ "{\"pool_free\": {\"sn9\": \"1T\"}}", "no supernode sn9" },
		{ "{\"pool_free\": {\"sn1\": \"1X\"}}", "1X" },
		{ "{\"pool_free\": {\"sn1\": -5}}", "sn1" },
		{ "{\"pool_free\": {\"sn1\": 1.5}}", "sn1" },
		{ "{\"pool_free\": {\"sn1\": \"49T\"}}", "48T" },
		{ "{\"pool_free\": {\"sn1\": \"1T\", \"sn[1-2]\": \"1T\"}}", "sn1 is named twice" },
		{ "{\"pool_free\": {\"\": \"1T\"}}", "pool_free.\"\"" },
		{ "{\"pool_free\": 3}", "pool_free must be an object" },
		{ "{\"degraded\": {}}", "degraded must be an array" },
		{ "{\"degraded\": [1]}", "a whole number" },
		{ "{\"degraded\": [\"sn9\"]}", "no supernode or unit sn9" },
		{ "{\"degraded\": [\"sn[1\"]}", "degraded: \"sn[1\"" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refused(bad[i][0], strlen(bad[i][0]), bad[i][1]);
}

static void binary_text_is_refused(void **unused)
{
	static const char nul[] = "{\"nodes\": {}}\n\0{}";
	static const char elf[] = "\177ELF\2\1\1\0\0\0";

	(void)unused;
	refused(nul, sizeof(nul) - 1, "s.json:2:");
	refused(elf, sizeof(elf) - 1, "binary");
	refused("{\"no\xff\": 1}", 10, "s.json");
}

static void nesting_does_not_exhaust_the_stack(void **unused)
{
	size_t n = 1u << 20;
	char *text = malloc(n);

	(void)unused;
	assert_non_null(text);
	memset(text, '[', n);
	refused(text, n, "s.json:1:");
	free(text);
}

static void a_line_of_ten_megabytes_is_read_or_refused_in_a_sentence(void **unused)
{
	size_t n = 10u << 20;
	char *text = malloc(n);
	struct sn_topo *topo = topology();
	struct snctl_state state;

	(void)unused;
	assert_non_null(text);
	memset(text, ' ', n);
	text[0] = '{';
	text[n - 1] = '}';
	assert_int_equal(snctl_state_parse(text, n, "s.json", topo, 8, &state, NULL), 0);
	snctl_state_done(&state);
	memset(text, 'a', n);
	refused(text, n, "s.json:1:");
	/* A key of that length is no host list. */
	memcpy(text, "{\"nodes\": {\"", 12);
	memcpy(text + n - 7, "\": {}}}", 7);
	refused(text, n, "nodes");
	free(text);
	sn_topo_destroy(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_state_is_all_free),
		cmocka_unit_test(the_example_of_the_contract_means_what_it_says),
		cmocka_unit_test(degraded_domains_and_busy_nodes_are_marked),
		cmocka_unit_test(sixty_four_cards_are_a_whole_mask),
		cmocka_unit_test(a_node_in_no_supernode_is_loose_and_comes_last),
		cmocka_unit_test(bad_text_is_refused_with_its_place),
		cmocka_unit_test(binary_text_is_refused),
		cmocka_unit_test(nesting_does_not_exhaust_the_stack),
		cmocka_unit_test(a_line_of_ten_megabytes_is_read_or_refused_in_a_sentence),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
