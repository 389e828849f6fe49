/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventoryload.c - the inventory of the nodes of a job, from a site's files or
 * program.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/inventory.h"
#include "launcher/program.h"
#include "snctl/readfile.h"
#include "topology/text.h"

#define PROGRAMS_AT_ONCE 16

static int out_of_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory");
}

/* The cards that the node's ranks have, in place of all there are. */
static int choose_cards(struct sn_inv_node *node, const struct sn_inv_want *want,
			const char *from, struct sn_err *err)
{
	struct sn_inv_card *chosen = calloc(want->n_cards + 1, sizeof(*chosen));
	uint32_t n = node->n_cards;

	if (!want->card) {
		free(chosen);
		return 0;
	}
	if (!chosen)
		return out_of_memory(err);
	for (uint32_t i = 0; i < want->n_cards; i++)
		if (!sn_inv_node_card(node, want->card[i])) {
			free(chosen);
			return sn_err_set(err, -ENOENT,
					  "%s: %s has %u card%s, 0 to %u, and Slurm has given the job card %u of it; what lists the cards of the node must list all",
					  from, node->name, n, n == 1 ? "" : "s", n - 1,
					  want->card[i]);
		}
	for (uint32_t i = 0; i < want->n_cards; i++) {
		struct sn_inv_card *card = sn_inv_node_card(node, want->card[i]);

		chosen[i] = *card;
		memset(card, 0, sizeof(*card));
		card->card = UINT32_MAX; /* not found again */
	}
	for (uint32_t i = 0; i < n; i++) {
		free(node->card[i].device_ip);
		free(node->card[i].backup_device_ip);
		json_object_put(node->card[i].levels);
	}
	free(node->card);
	node->card = chosen;
	node->n_cards = want->n_cards;
	return 0;
}

/* Move a wanted node from what was read into ret, whose order is not yet right. */
static int take(struct sn_inventory *read, const struct sn_inv_want *want,
		const char *from, struct sn_inventory *ret, struct sn_err *err)
{
	struct sn_inv_node *node = sn_inventory_find(read, want->name), *to;
	char *name;
	int rc;

	if (!node)
		return sn_err_set(err, -ENOENT, "%s: node %s is not in it", from, want->name);
	rc = choose_cards(node, want, from, err);
	if (rc)
		return rc;
	if (!node->super_pod_id) {
		node->super_pod_id = strdup(want->supernode);
		if (!node->super_pod_id)
			return out_of_memory(err);
	}
	to = sn_inventory_add(ret, want->name);
	if (!to)
		return out_of_memory(err);
	name = node->name; /* by which read is still searched */
	free(to->name);
	*to = *node;
	memset(node, 0, sizeof(*node));
	node->name = strdup(name);
	return node->name ? 0 : out_of_memory(err);
}

static int from_cluster_file(const char *path, const struct sn_inv_want *want,
			     uint32_t n, struct sn_inventory *ret,
			     struct sn_err *err)
{
	struct sn_inventory read = { 0 };
	char *text;
	size_t len;
	int rc = snctl_read_file(path, &text, &len, err);

	if (rc)
		return sn_err_prefix(err, rc, "Inventory: ");
	rc = sn_inventory_parse(text, len, path, NULL, &read, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = take(&read, &want[i], path, ret, err);
	sn_inventory_done(&read);
	free(text);
	return rc;
}

static int from_node_text(const char *text, size_t len, const char *from,
			  const struct sn_inv_want *want,
			  struct sn_inventory *ret, struct sn_err *err)
{
	struct sn_inventory read = { 0 };
	int rc = sn_inventory_parse(text, len, from, want->name, &read, err);

	if (!rc)
		rc = take(&read, want, from, ret, err);
	sn_inventory_done(&read);
	return rc;
}

static int from_node_files(const char *pattern, const struct sn_inv_want *want,
			   uint32_t n, struct sn_inventory *ret,
			   struct sn_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		char *path = sn_inventory_path(pattern, want[i].name), *text = NULL;
		size_t len;

		if (!path)
			return out_of_memory(err);
		rc = snctl_read_file(path, &text, &len, err);
		if (rc)
			sn_err_prefix(err, rc, "Inventory: ");
		else
			rc = from_node_text(text, len, path, &want[i], ret, err);
		free(text);
		free(path);
	}
	return rc;
}

/* What the program has printed, as it goes into the cache: parsed strictly. */
static int take_answer(const struct sn_program *answer,
		       const struct sn_inv_want *want, struct json_object *nodes,
		       struct sn_inventory *ret, struct sn_err *err)
{
	struct json_object *json;
	char from[600];
	int rc;

	snprintf(from, sizeof(from), "%s %s", answer->argv[0], want->name);
	if (!answer->len)
		return sn_err_set(err, -EINVAL, "%s: printed nothing, and must print the inventory of %s as JSON",
				  from, want->name);
	rc = from_node_text(answer->out, answer->len, from, want, ret, err);
	if (rc)
		return rc;
	json = json_tokener_parse(answer->out);
	if (!json)
		return 0; /* hccn.conf's form, which costs a run each time */
	if (json_object_object_add(nodes, want->name, json)) {
		json_object_put(json);
		return out_of_memory(err);
	}
	return 0;
}

static int ask(const struct sn_policy *policy, const struct sn_inv_want *want,
	       uint32_t n, struct json_object *nodes, struct sn_inventory *ret,
	       struct sn_err *err)
{
	const struct sn_program_limits limits = {
		.at_once = PROGRAMS_AT_ONCE, .seconds = policy->inventory_timeout,
		.bytes = SN_INV_NODE_MAX,
	};
	struct sn_program *program = calloc(n, sizeof(*program));
	const char *(*argv)[3] = calloc(n, sizeof(*argv));
	const struct sn_inv_want **asked = calloc(n, sizeof(*asked));
	uint32_t m = 0;
	int rc = program && argv && asked ? 0 : out_of_memory(err);

	for (uint32_t i = 0; i < n && !rc; i++) {
		if (json_object_object_get_ex(nodes, want[i].name, NULL))
			continue;
		argv[m][0] = policy->inventory_program;
		argv[m][1] = want[i].name;
		program[m].argv = argv[m];
		program[m].about = want[i].name;
		asked[m++] = &want[i];
	}
	if (!rc && m) {
		rc = sn_programs_run(program, m, &limits, err);
		if (rc)
			sn_err_prefix(err, rc, "InventoryProgram: ");
	}
	for (uint32_t i = 0; i < m && !rc; i++)
		rc = take_answer(&program[i], asked[i], nodes, ret, err);
	if (program)
		sn_programs_done(program, m);
	free(program);
	free(argv);
	free(asked);
	return rc;
}

static int from_program(const struct sn_policy *policy,
			const struct sn_inv_want *want, uint32_t n,
			const struct sn_inv_cache *cache,
			struct sn_inventory *ret, struct sn_err *err)
{
	struct json_object *nodes = sn_inv_cache_read(cache, policy->inventory_program);
	int had, rc = 0;

	if (!nodes)
		return out_of_memory(err);
	for (uint32_t i = 0; i < n; i++) {
		struct json_object *node;
		const char *text;

		if (!json_object_object_get_ex(nodes, want[i].name, &node))
			continue;
		text = json_object_to_json_string_ext(node, JSON_C_TO_STRING_PLAIN);
		/* Another card of the node may be wanted now than when the
		 * program was asked: then it is asked again. */
		if (!text || from_node_text(text, strlen(text), SN_INV_CACHE_FILE,
					    &want[i], ret, NULL))
			json_object_object_del(nodes, want[i].name);
	}
	had = json_object_object_length(nodes);
	rc = ask(policy, want, n, nodes, ret, err);
	if (!rc && json_object_object_length(nodes) != had)
		sn_inv_cache_write(cache, policy->inventory_program, nodes);
	json_object_put(nodes);
	return rc;
}

int sn_inventory_load(const struct sn_policy *policy,
		      const struct sn_inv_want *want, uint32_t n,
		      const struct sn_inv_cache *cache,
		      struct sn_inventory *ret, struct sn_err *err)
{
	bool file = *policy->inventory, program = *policy->inventory_program;
	struct sn_inventory inv = { 0 };
	int rc;

	if (file == program)
		return sn_err_set(err, -EINVAL, file ?
				  "supernode.conf: Inventory and InventoryProgram are both given; keep one" :
				  "supernode.conf: a rank table needs the addresses of the cards: give Inventory=PATH or InventoryProgram=PATH");
	if (program)
		rc = from_program(policy, want, n, cache, &inv, err);
	else if (sn_inventory_is_pattern(policy->inventory))
		rc = from_node_files(policy->inventory, want, n, &inv, err);
	else
		rc = from_cluster_file(policy->inventory, want, n, &inv, err);
	if (!rc) /* the cards chosen may have gaps, so only the order */
		rc = sn_inventory_sort(&inv, err);
	if (rc) {
		sn_inventory_done(&inv);
		return rc;
	}
	*ret = inv;
	return 0;
}
