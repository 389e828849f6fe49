/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktable1.c - the JSON of rank tables of versions 1.0 and 1.2.
 *
 * What is not known is left away: none of it is mandatory where the inventory
 * was found fit.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/ranktable.h"

/* Takes value, also where it fails. */
static bool add(struct json_object *to, const char *key, struct json_object *value)
{
	if (value && !json_object_object_add(to, key, value))
		return true;
	json_object_put(value);
	return false;
}

static bool add_text(struct json_object *to, const char *key, const char *text)
{
	return !text || add(to, key, json_object_new_string(text));
}

static bool add_number(struct json_object *to, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return add_text(to, key, text);
}

static bool add_port(struct json_object *to, const char *key, uint16_t port)
{
	return !port || add_number(to, key, port);
}

/* Takes the array's new last entry. */
static bool append(struct json_object *to, struct json_object *value)
{
	if (value && !json_object_array_add(to, value))
		return true;
	json_object_put(value);
	return false;
}

static bool fill_device(struct json_object *to, const struct sn_inv_card *card,
			uint32_t rank, enum sn_rank_table version)
{
	bool super = version == SN_RANK_TABLE_1_2;

	return add_number(to, "device_id", card->device_id) &&
	       (!super || add_number(to, "super_device_id", card->super_device_id)) &&
	       add_text(to, "device_ip", card->device_ip) &&
	       add_port(to, "device_port", card->device_port) &&
	       add_text(to, "backup_device_ip", super ? card->backup_device_ip : NULL) &&
	       add_port(to, "backup_device_port", super ? card->backup_device_port : 0) &&
	       add_port(to, "host_port", card->host_port) &&
	       add_number(to, "rank_id", rank);
}

static bool fill_server(struct json_object *to, const struct sn_plan *plan,
			const struct sn_plan_node *node,
			const struct sn_inv_node *inv, enum sn_rank_table version)
{
	struct json_object *list = json_object_new_array();

	if (!add_text(to, "server_id", sn_inv_server_id(inv)) ||
	    !add_text(to, "host_ip", inv->host_ip)) {
		json_object_put(list);
		return false;
	}
	if (!add(to, "device", list))
		return false;
	for (uint32_t i = 0; i < node->ranks; i++) {
		uint32_t rank = plan->rank_at[node->first + i];
		struct json_object *device = json_object_new_object();

		if (!append(list, device) ||
		    !fill_device(device, sn_inv_node_card(inv, plan->rank_card[rank]),
				 rank, version))
			return false;
	}
	return true;
}

/* One entry for each run of servers of the same super pod, which are all there
 * are (the caller has seen to it). */
static bool fill_pods(struct json_object *to, const struct sn_plan *plan,
		      const struct sn_inventory *inv, const uint32_t *order,
		      uint32_t n)
{
	struct json_object *servers = NULL;
	const char *before = NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_inv_node *node = sn_inventory_find(inv, plan->node[order[i]].name);
		struct json_object *entry;

		if (!before || strcmp(before, node->super_pod_id)) {
			struct json_object *pod = json_object_new_object();

			if (!append(to, pod) ||
			    !add_text(pod, "super_pod_id", node->super_pod_id))
				return false;
			servers = json_object_new_array();
			if (!add(pod, "server_list", servers))
				return false;
			before = node->super_pod_id;
		}
		entry = json_object_new_object();
		if (!append(servers, entry) ||
		    !add_text(entry, "server_id", sn_inv_server_id(node)))
			return false;
	}
	return true;
}

static bool fill(struct json_object *root, const struct sn_plan *plan,
		 const struct sn_inventory *inv, const uint32_t *order,
		 uint32_t n, enum sn_rank_table version)
{
	struct json_object *list;

	if (!add_text(root, "status", "completed") ||
	    !add_text(root, "version", sn_rank_table_name(version)) ||
	    !add_number(root, "server_count", n))
		return false;
	list = json_object_new_array();
	if (!add(root, "server_list", list))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_plan_node *node = &plan->node[order[i]];
		struct json_object *server = json_object_new_object();

		if (!append(list, server) ||
		    !fill_server(server, plan, node, sn_inventory_find(inv, node->name), version))
			return false;
	}
	if (version != SN_RANK_TABLE_1_2)
		return true;
	list = json_object_new_array();
	return add(root, "super_pod_list", list) && fill_pods(list, plan, inv, order, n);
}

struct json_object *sn_rt_build_1(const struct sn_plan *plan,
				  const struct sn_inventory *inv,
				  const uint32_t *order, uint32_t n,
				  enum sn_rank_table version)
{
	struct json_object *root = json_object_new_object();

	if (root && fill(root, plan, inv, order, n, version))
		return root;
	json_object_put(root);
	return NULL;
}
