/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktable2.c - the JSON of rank tables of version 2.0: a list of ranks, each
 * with the levels that the inventory has of its card.
 */
#include "config.h"

#include <stdlib.h>

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

static bool add_int(struct json_object *to, const char *key, uint32_t n)
{
	return add(to, key, json_object_new_int64(n));
}

static bool fill_rank(struct json_object *to, const struct sn_inv_card *card,
		      uint32_t rank)
{
	return add_int(to, "rank_id", rank) &&
	       add_int(to, "local_id", card->local_id) &&
	       add_int(to, "device_id", card->device_id) &&
	       (!card->device_port || add_int(to, "device_port", card->device_port)) &&
	       (!card->host_port || add_int(to, "host_port", card->host_port)) &&
	       add(to, "level_list", json_object_get(card->levels));
}

static bool fill(struct json_object *root, const struct sn_plan *plan,
		 const struct sn_inventory *inv)
{
	struct json_object *list = json_object_new_array();

	if (!add(root, "status", json_object_new_string("completed")) ||
	    !add(root, "version", json_object_new_string("2.0")) ||
	    !add_int(root, "rank_count", plan->layout.world)) {
		json_object_put(list);
		return false;
	}
	if (!add(root, "rank_list", list))
		return false;
	for (uint32_t r = 0; r < plan->layout.world; r++) {
		const char *name = plan->node[plan->rank_node[r]].name;
		struct json_object *rank = json_object_new_object();

		if (!rank || json_object_array_add(list, rank)) {
			json_object_put(rank);
			return false;
		}
		if (!fill_rank(rank, sn_inv_node_card(sn_inventory_find(inv, name),
						      plan->rank_card[r]), r))
			return false;
	}
	return true;
}

struct json_object *sn_rt_build_2(const struct sn_plan *plan,
				  const struct sn_inventory *inv)
{
	struct json_object *root = json_object_new_object();

	if (root && fill(root, plan, inv))
		return root;
	json_object_put(root);
	return NULL;
}
