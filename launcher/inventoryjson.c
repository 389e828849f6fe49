/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventoryjson.c - an inventory in JSON.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/inventory.h"
#include "launcher/ranktable.h"
#include "snctl/jsonread.h"
#include "topology/text.h"

#define WHERE_MAX 256

/* A name, as far as a sentence needs it. */
static const char *clip(const char *text, char *buf, size_t size)
{
	return sn_text_clip(text, buf, size);
}

int sn_inv_uint(struct json_object *value, uint64_t max, const char *where,
		uint64_t *ret, struct sn_err *err)
{
	char shown[64];
	struct sn_err why;

	if (json_object_is_type(value, json_type_int)) {
		if (json_object_get_int64(value) >= 0 &&
		    json_object_get_uint64(value) <= max) {
			*ret = json_object_get_uint64(value);
			return 0;
		}
	} else if (json_object_is_type(value, json_type_string)) {
		const char *text = json_object_get_string(value);

		if (strlen(text) == (size_t)json_object_get_string_len(value) &&
		    !sn_parse_uint(text, 0, max, ret, &why))
			return 0;
	} else {
		return sn_err_set(err, -EINVAL, "%s: is %s, want a whole number from 0 to %" PRIu64,
				  where, snctl_json_kind(value), max);
	}
	return sn_err_set(err, -EINVAL, "%s: %s: want a whole number from 0 to %" PRIu64,
			  where, clip(json_object_get_string(value), shown, sizeof(shown)), max);
}

/* What of a card or node is a text or an address. */
static int take_text(struct json_object *value, size_t max, const char *where,
		     char **ret, struct sn_err *err)
{
	const char *text = json_object_get_string(value);
	size_t len;

	if (!json_object_is_type(value, json_type_string))
		return sn_err_set(err, -EINVAL, "%s: is %s, want a string", where,
				  snctl_json_kind(value));
	len = strlen(text);
	if (len != (size_t)json_object_get_string_len(value) || !len || len > max)
		return sn_err_set(err, -EINVAL, "%s: has %d characters, want 1 to %zu and no NUL",
				  where, json_object_get_string_len(value), max);
	*ret = strdup(text);
	return *ret ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

static int take_ip(struct json_object *value, int family, const char *where,
		   char **ret, struct sn_err *err)
{
	char shown[64];
	int rc, is;

	/* The tables' documentation allows "" for an address that is not used. */
	if (json_object_is_type(value, json_type_string) &&
	    !json_object_get_string_len(value))
		return 0;
	rc = take_text(value, 64, where, ret, err);
	if (rc)
		return rc;
	is = sn_inv_ip_family(*ret);
	if (!is || (family && is != family))
		return sn_err_set(err, -EINVAL, "%s: \"%s\" is no IPv4%s address", where,
				  clip(*ret, shown, sizeof(shown)), family ? "" : " or IPv6");
	return 0;
}

static int unknown(const char *where, const char *key, const char *const *known,
		   size_t n, struct sn_err *err)
{
	const char *near = sn_text_nearest(key, known, n);
	char shown[64];

	return sn_err_set(err, -EINVAL, "%s: \"%s\": no such key; %s%s%s", where,
			  clip(key, shown, sizeof(shown)),
			  near ? "did you mean \"" : "the keys are in supernode.conf(5)",
			  near ? near : "", near ? "\"?" : "");
}

static const char *const card_keys[] = {
	"card", "device_id", "local_id", "super_device_id", "device_ip",
	"device_port", "backup_device_ip", "backup_device_port", "host_port",
	"level_list",
};

static int take_port(struct json_object *value, const char *where,
		     uint16_t *ret, struct sn_err *err)
{
	uint64_t n;
	int rc = sn_inv_uint(value, 65535, where, &n, err);

	if (rc)
		return rc;
	if (!n)
		return sn_err_set(err, -EINVAL, "%s: 0 is no port; leave the key away, or give 1 to 65535",
				  where);
	*ret = (uint16_t)n;
	return 0;
}

static int take_u32(struct json_object *value, uint64_t max, const char *where,
		    uint32_t *ret, struct sn_err *err)
{
	uint64_t n;
	int rc = sn_inv_uint(value, max, where, &n, err);

	if (!rc)
		*ret = (uint32_t)n;
	return rc;
}

static int card_key(const char *key, struct json_object *value, const char *at,
		    struct sn_inv_card *card, bool *ret_card, bool *ret_local,
		    struct sn_err *err)
{
	char where[WHERE_MAX + 64], shown[40];

	snprintf(where, sizeof(where), "%s: %s", at, clip(key, shown, sizeof(shown)));
	if (!strcmp(key, "card")) {
		*ret_card = true;
		return take_u32(value, SN_INV_CARD_MAX - 1, where, &card->card, err);
	}
	if (!strcmp(key, "device_id"))
		return take_u32(value, SN_RT_DEVICE_MAX, where, &card->device_id, err);
	if (!strcmp(key, "local_id")) {
		*ret_local = true;
		return take_u32(value, SN_RT_DEVICE_MAX, where, &card->local_id, err);
	}
	if (!strcmp(key, "super_device_id")) {
		card->has_super_device_id = true;
		return take_u32(value, UINT32_MAX - 1, where, &card->super_device_id, err);
	}
	if (!strcmp(key, "device_ip"))
		return take_ip(value, 0, where, &card->device_ip, err);
	if (!strcmp(key, "backup_device_ip"))
		return take_ip(value, 0, where, &card->backup_device_ip, err);
	if (!strcmp(key, "device_port"))
		return take_port(value, where, &card->device_port, err);
	if (!strcmp(key, "backup_device_port"))
		return take_port(value, where, &card->backup_device_port, err);
	if (!strcmp(key, "host_port"))
		return take_port(value, where, &card->host_port, err);
	if (!strcmp(key, "level_list")) {
		int rc = sn_rt_check_levels(value, at, err);

		if (!rc)
			card->levels = json_object_get(value);
		return rc;
	}
	return unknown(at, key, card_keys, sizeof(card_keys) / sizeof(*card_keys), err);
}

static int read_card(struct json_object *value, const char *at,
		     struct sn_inv_card *card, struct sn_err *err)
{
	bool has_card = false, has_local = false;
	int rc;

	if (!json_object_is_type(value, json_type_object))
		return sn_err_set(err, -EINVAL, "%s: is %s, want an object", at,
				  snctl_json_kind(value));
	json_object_object_foreach(value, key, v) {
		rc = card_key(key, v, at, card, &has_card, &has_local, err);
		if (rc)
			return rc;
	}
	if (!json_object_object_get_ex(value, "device_id", NULL))
		return sn_err_set(err, -EINVAL, "%s: has no device_id, the N of /dev/davinciN", at);
	if (!has_card)
		card->card = card->device_id;
	if (!has_local)
		card->local_id = card->device_id;
	if (card->card >= SN_INV_CARD_MAX)
		return sn_err_set(err, -EINVAL, "%s: device_id %u is over %u, so give Slurm's number of it as \"card\"",
				  at, card->device_id, SN_INV_CARD_MAX - 1);
	return 0;
}

static const char *const node_keys[] = {
	"node", "server_id", "host_ip", "super_pod_id", "cards",
};

static int read_cards(struct json_object *list, const char *at,
		      struct sn_inv_node *node, struct sn_err *err)
{
	size_t n;

	if (!json_object_is_type(list, json_type_array))
		return sn_err_set(err, -EINVAL, "%s: cards: is %s, want an array", at,
				  snctl_json_kind(list));
	n = json_object_array_length(list);
	if (n > SN_INV_CARD_MAX)
		return sn_err_set(err, -EINVAL, "%s: has %zu cards, more than the %u that a node can have",
				  at, n, SN_INV_CARD_MAX);
	for (size_t i = 0; i < n; i++) {
		struct sn_inv_card *card = sn_inv_node_add(node);
		char where[WHERE_MAX];
		int rc;

		if (!card)
			return sn_err_set(err, -ENOMEM, "no memory");
		snprintf(where, sizeof(where), "%.*s: cards[%zu]", WHERE_MAX - 40, at, i);
		rc = read_card(json_object_array_get_idx(list, i), where, card, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int node_key(const char *key, struct json_object *value, const char *at,
		    struct sn_inv_node *node, struct sn_err *err)
{
	char where[WHERE_MAX + 64], shown[40], *text = NULL;
	int rc;

	snprintf(where, sizeof(where), "%s: %s", at, clip(key, shown, sizeof(shown)));
	if (!strcmp(key, "cards"))
		return read_cards(value, at, node, err);
	if (!strcmp(key, "server_id"))
		return take_text(value, SN_RT_SERVER_ID_MAX, where, &node->server_id, err);
	if (!strcmp(key, "host_ip"))
		return take_ip(value, 4, where, &node->host_ip, err);
	if (!strcmp(key, "super_pod_id"))
		return take_text(value, SN_RT_POD_ID_MAX, where, &node->super_pod_id, err);
	if (strcmp(key, "node"))
		return unknown(at, key, node_keys, sizeof(node_keys) / sizeof(*node_keys), err);
	rc = take_text(value, 255, where, &text, err);
	if (!rc && strcmp(text, node->name)) {
		rc = sn_err_set(err, -EINVAL, "%s: is about node %s, not about %s", at,
				clip(text, shown, sizeof(shown)), node->name);
	}
	free(text);
	return rc;
}

static int read_node(struct json_object *value, const char *file,
		     const char *name, struct sn_inventory *inv,
		     struct sn_err *err)
{
	char at[WHERE_MAX], shown[72], path[128];
	struct sn_inv_node *node;

	snprintf(at, sizeof(at), "%s: %s", clip(file, path, sizeof(path)),
		 clip(name, shown, sizeof(shown)));
	if (!json_object_is_type(value, json_type_object))
		return sn_err_set(err, -EINVAL, "%s: is %s, want an object", at,
				  snctl_json_kind(value));
	if (!*name || strlen(name) > 255 || strchr(name, '/'))
		return sn_err_set(err, -EINVAL, "%s: is no name of a node", at);
	node = sn_inventory_add(inv, name);
	if (!node)
		return sn_err_set(err, -ENOMEM, "no memory");
	json_object_object_foreach(value, key, v) {
		int rc = node_key(key, v, at, node, err);

		if (rc)
			return rc;
	}
	if (!json_object_object_get_ex(value, "cards", NULL))
		return sn_err_set(err, -EINVAL, "%s: has no \"cards\"", at);
	return 0;
}

static int read_nodes(struct json_object *root, const char *file,
		      struct sn_inventory *inv, struct sn_err *err)
{
	struct json_object *nodes = NULL;

	json_object_object_foreach(root, key, v) {
		static const char *const known[] = { "nodes" };

		if (!strcmp(key, "nodes"))
			nodes = v;
		else
			return unknown(file, key, known, 1, err);
	}
	if (!json_object_is_type(nodes, json_type_object))
		return sn_err_set(err, -EINVAL, "%s: nodes: is %s, want an object with a key for each node",
				  file, snctl_json_kind(nodes));
	json_object_object_foreach(nodes, name, node) {
		int rc = read_node(node, file, name, inv, err);

		if (rc)
			return rc;
	}
	return 0;
}

int sn_inventory_json(const char *text, size_t len, const char *file,
		      const char *node, struct sn_inventory *ret,
		      struct sn_err *err)
{
	struct json_object *root;
	int rc = snctl_json_parse(text, len, file, &root, err);

	if (rc)
		return rc;
	if (!json_object_is_type(root, json_type_object))
		rc = sn_err_set(err, -EINVAL, "%s: is %s, want an object with \"nodes\" or \"cards\"",
				file, snctl_json_kind(root));
	else if (json_object_object_get_ex(root, "server_list", NULL) ||
		 json_object_object_get_ex(root, "rank_list", NULL))
		rc = sn_err_set(err, -EINVAL, "%s: is a rank table, not an inventory: it numbers the ranks of one job",
				file);
	else if (json_object_object_get_ex(root, "nodes", NULL))
		rc = read_nodes(root, file, ret, err);
	else if (node)
		rc = read_node(root, file, node, ret, err);
	else
		rc = sn_err_set(err, -EINVAL, "%s: has no \"nodes\"; for one file a node, put %%n into the path in supernode.conf",
				file);
	json_object_put(root);
	return rc;
}
