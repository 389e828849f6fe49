/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktablecheck2.c - the rules of rank tables of version 2.0.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/ranktable.h"
#include "snctl/jsonread.h"
#include "topology/text.h"

#define WHERE_MAX 320
#define LEVELS_MAX 8
#define ADDRS_MAX 24
#define PORTS_MAX 16

/* Strict: a number in quotes is what a 1.x table has. */
static int take_int(struct json_object *object, const char *key, uint64_t min,
		    uint64_t max, const char *where, uint64_t *ret,
		    struct sn_err *err)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		return sn_err_set(err, -EINVAL, "%s: has no %s", where, key);
	if (!json_object_is_type(value, json_type_int))
		return sn_err_set(err, -EINVAL, "%s: %s is %s, and in version 2.0 it is a whole number (in 1.0 and 1.2 a string)",
				  where, key, snctl_json_kind(value));
	if (json_object_get_int64(value) < 0 ||
	    json_object_get_uint64(value) < min || json_object_get_uint64(value) > max)
		return sn_err_set(err, -EINVAL, "%s: %s is %s, want %" PRIu64 " to %" PRIu64,
				  where, key, json_object_get_string(value), min, max);
	*ret = json_object_get_uint64(value);
	return 0;
}

static int take_string(struct json_object *object, const char *key, int min,
		       int max, const char *where, const char **ret,
		       struct sn_err *err)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		return sn_err_set(err, -EINVAL, "%s: has no %s", where, key);
	if (!json_object_is_type(value, json_type_string))
		return sn_err_set(err, -EINVAL, "%s: %s is %s, want a string", where, key,
				  snctl_json_kind(value));
	if (json_object_get_string_len(value) < min ||
	    json_object_get_string_len(value) > max)
		return sn_err_set(err, -EINVAL, "%s: %s has %d characters, want %d to %d",
				  where, key, json_object_get_string_len(value), min, max);
	*ret = json_object_get_string(value);
	return 0;
}

static int take_list(struct json_object *object, const char *key, size_t min,
		     size_t max, const char *where, struct json_object **ret,
		     struct sn_err *err)
{
	size_t n;

	if (!json_object_object_get_ex(object, key, ret))
		return sn_err_set(err, -EINVAL, "%s: has no %s", where, key);
	if (!json_object_is_type(*ret, json_type_array))
		return sn_err_set(err, -EINVAL, "%s: %s is %s, want an array", where, key,
				  snctl_json_kind(*ret));
	n = json_object_array_length(*ret);
	if (n < min || n > max)
		return sn_err_set(err, -EINVAL, "%s: %s has %zu entries, want %zu to %zu",
				  where, key, n, min, max);
	return 0;
}

static int want_object(struct json_object *value, const char *where,
		       struct sn_err *err)
{
	if (json_object_is_type(value, json_type_object))
		return 0;
	return sn_err_set(err, -EINVAL, "%s: is %s, want an object", where,
			  snctl_json_kind(value));
}

/* In any case of letters: the documentation writes both IPV4 and IPv4. */
static bool is_address(const char *type, const char *text)
{
	size_t n = 0;

	if (!strcasecmp(type, "IPV4"))
		return sn_inv_ip_family(text) == 4;
	if (!strcasecmp(type, "IPV6"))
		return sn_inv_ip_family(text) == 6;
	while (isxdigit((unsigned char)text[n]))
		n++;
	return n == 32 && !text[n];
}

/* Ports of one layer, each with one address only. */
static int check_ports(struct json_object *addr, const char *where,
		       struct json_object *seen, struct sn_err *err)
{
	struct json_object *list;
	int rc = take_list(addr, "ports", 1, PORTS_MAX, where, &list, err);

	for (size_t i = 0; !rc && i < json_object_array_length(list); i++) {
		struct json_object *port = json_object_array_get_idx(list, i);
		int len = json_object_is_type(port, json_type_string) ?
			json_object_get_string_len(port) : 0;

		if (len < 1 || len > 32)
			return sn_err_set(err, -EINVAL, "%s: ports[%zu] is not a string of 1 to 32 characters such as \"0/4\", die and port",
					  where, i);
		if (json_object_object_get_ex(seen, json_object_get_string(port), NULL))
			return sn_err_set(err, -EINVAL, "%s: port \"%s\" has two addresses in one layer",
					  where, json_object_get_string(port));
		if (json_object_object_add(seen, json_object_get_string(port), NULL))
			return sn_err_set(err, -ENOMEM, "no memory");
	}
	return rc;
}

static int check_addr(struct json_object *addr, const char *where,
		      struct json_object *seen, struct sn_err *err)
{
	const char *type = NULL, *text = NULL, *plane;
	char shown[64];
	int rc = want_object(addr, where, err);

	if (!rc)
		rc = take_string(addr, "addr_type", 1, 8, where, &type, err);
	if (!rc && strcmp(type, "EID") && strcasecmp(type, "IPV4") && strcasecmp(type, "IPV6"))
		rc = sn_err_set(err, -EINVAL, "%s: addr_type is \"%s\", want EID, IPV4 or IPV6",
				where, type);
	if (!rc)
		rc = take_string(addr, "addr", 1, 256, where, &text, err);
	if (!rc && !is_address(type, text))
		rc = sn_err_set(err, -EINVAL, "%s: addr \"%s\" is no %s%s", where,
				sn_text_clip(text, shown, sizeof(shown)), type,
				strcmp(type, "EID") ? " address" : ", which has 32 hexadecimal digits");
	if (!rc && json_object_object_get_ex(addr, "plane_id", NULL))
		rc = take_string(addr, "plane_id", 0, 1024, where, &plane, err);
	return rc ? rc : check_ports(addr, where, seen, err);
}

static int check_layer(struct json_object *layer, const char *where,
		       int64_t *before, struct sn_err *err)
{
	struct json_object *list = NULL, *seen;
	const char *text = NULL;
	char at[WHERE_MAX + 64];
	uint64_t number = 0;
	int rc = want_object(layer, where, err);

	if (!rc)
		rc = take_int(layer, "net_layer", 0, LEVELS_MAX - 1, where, &number, err);
	if (!rc && (*before < 0 ? number != 0 : (int64_t)number <= *before))
		rc = sn_err_set(err, -EINVAL, "%s: net_layer is %" PRIu64 ", and layers begin with 0 and ascend",
				where, number);
	*before = (int64_t)number;
	if (!rc)
		rc = take_string(layer, "net_instance_id", 1, 1024, where, &text, err);
	if (!rc)
		rc = take_string(layer, "net_type", 1, 64, where, &text, err);
	if (!rc && strcmp(text, "TOPO_FILE_DESC") && (!number || strcmp(text, "CLOS")))
		rc = sn_err_set(err, -EINVAL, "%s: net_type of layer %" PRIu64 " is \"%s\", want TOPO_FILE_DESC%s",
				where, number, text, number ? " or CLOS" : "");
	if (!rc && json_object_object_get_ex(layer, "net_attr", NULL))
		rc = take_string(layer, "net_attr", 0, 1024, where, &text, err);
	if (!rc)
		rc = take_list(layer, "rank_addr_list", 0, ADDRS_MAX, where, &list, err);
	if (rc)
		return rc;
	seen = json_object_new_object();
	if (!seen)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; i < json_object_array_length(list) && !rc; i++) {
		snprintf(at, sizeof(at), "%s: rank_addr_list[%zu]", where, i);
		rc = check_addr(json_object_array_get_idx(list, i), at, seen, err);
	}
	json_object_put(seen);
	return rc;
}

int sn_rt_check_levels(struct json_object *list, const char *where,
		       struct sn_err *err)
{
	char at[WHERE_MAX];
	int64_t before = -1;
	size_t n;
	int rc = 0;

	if (!json_object_is_type(list, json_type_array))
		return sn_err_set(err, -EINVAL, "%s: level_list is %s, want an array", where,
				  snctl_json_kind(list));
	n = json_object_array_length(list);
	if (n < 1 || n > LEVELS_MAX)
		return sn_err_set(err, -EINVAL, "%s: level_list has %zu entries, want 1 to %d",
				  where, n, LEVELS_MAX);
	for (size_t i = 0; i < n && !rc; i++) {
		snprintf(at, sizeof(at), "%s: level_list[%zu]", where, i);
		rc = check_layer(json_object_array_get_idx(list, i), at, &before, err);
	}
	return rc;
}

static int check_port(struct json_object *rank, const char *key,
		      const char *where, struct sn_err *err)
{
	uint64_t port;

	if (!json_object_object_get_ex(rank, key, NULL))
		return 0;
	return take_int(rank, key, 1, 65535, where, &port, err);
}

static int check_rank(struct sn_ranktable *table, struct json_object *rank,
		      const char *where, struct sn_err *err)
{
	uint64_t id = 0, local = 0, device = 0;
	struct json_object *levels = NULL;
	int rc = want_object(rank, where, err);

	if (!rc)
		rc = take_int(rank, "rank_id", 0, table->n_ranks - 1, where, &id, err);
	if (!rc && table->rank[id].levels)
		rc = sn_err_set(err, -EINVAL, "%s: rank_id %" PRIu64 " is given twice", where, id);
	if (!rc)
		rc = take_int(rank, "local_id", 0, SN_RT_DEVICE_MAX, where, &local, err);
	if (!rc)
		rc = take_int(rank, "device_id", 0, SN_RT_DEVICE_MAX, where, &device, err);
	if (!rc)
		rc = check_port(rank, "device_port", where, err);
	if (!rc)
		rc = check_port(rank, "host_port", where, err);
	if (!rc && !json_object_object_get_ex(rank, "level_list", &levels))
		rc = sn_err_set(err, -EINVAL, "%s: has no level_list", where);
	if (!rc)
		rc = sn_rt_check_levels(levels, where, err);
	if (rc)
		return rc;
	table->rank[id].device_id = (uint32_t)device;
	table->rank[id].levels = levels;
	table->rank[id].server_id = json_object_get_string(json_object_object_get(
		json_object_array_get_idx(levels, 0), "net_instance_id"));
	return 0;
}

/* A layer-0 instance is (part of) a server, where no device runs two ranks. */
static int number_servers(struct sn_ranktable *table, const char *file,
			  struct sn_err *err)
{
	struct json_object *seen = json_object_new_object();
	int rc = seen ? 0 : -ENOMEM;

	for (uint32_t r = 0; r < table->n_ranks && !rc; r++) {
		struct sn_rt_rank *rank = &table->rank[r];
		struct json_object *devices = json_object_object_get(seen, rank->server_id);
		char key[16];

		if (!devices) {
			devices = json_object_new_object();
			if (!devices || json_object_object_add(seen, rank->server_id, devices) ||
			    json_object_object_add(devices, "", json_object_new_int64(table->n_servers))) {
				rc = -ENOMEM;
				break;
			}
			table->n_servers++;
		}
		rank->server = (uint32_t)json_object_get_int64(json_object_object_get(devices, ""));
		snprintf(key, sizeof(key), "%u", rank->device_id);
		if (json_object_object_get_ex(devices, key, NULL))
			rc = sn_err_set(err, -EINVAL, "%s: rank %u has device %u of \"%.64s\", as a rank before it has",
					file, r, rank->device_id, rank->server_id);
		else
			rc = json_object_object_add(devices, key, NULL) ? -ENOMEM : 0;
	}
	json_object_put(seen);
	return rc == -ENOMEM ? sn_err_set(err, rc, "no memory") : rc;
}

int sn_rt_check_2(struct sn_ranktable *table, const char *file, struct sn_err *err)
{
	struct json_object *list = NULL;
	char where[WHERE_MAX / 2];
	uint64_t count = 0;
	int rc = take_int(table->root, "rank_count", 1, SN_RT_RANKS_MAX, file, &count, err);

	if (!rc)
		rc = take_list(table->root, "rank_list", 1, SN_RT_RANKS_MAX, file, &list, err);
	if (!rc && json_object_array_length(list) != count)
		rc = sn_err_set(err, -EINVAL, "%s: rank_count is %" PRIu64 ", and rank_list has %zu ranks",
				file, count, json_object_array_length(list));
	if (rc)
		return rc;
	table->n_ranks = (uint32_t)count;
	table->rank = calloc(count, sizeof(*table->rank));
	if (!table->rank)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; i < count && !rc; i++) {
		snprintf(where, sizeof(where), "%.100s: rank_list[%zu]", file, i);
		rc = check_rank(table, json_object_array_get_idx(list, i), where, err);
	}
	return rc ? rc : number_servers(table, file, err);
}
