/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktablecheck1.c - the rules of rank tables of versions 1.0 and 1.2.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/ranktable.h"
#include "snctl/jsonread.h"
#include "topology/text.h"

#define WHERE_MAX 256

/* What the walk over the servers gathers. The sets are json-c objects. */
struct walk {
	struct sn_ranktable *table;
	const char *file;
	struct json_object *servers; /* id -> number */
	struct json_object *ips; /* device_ip -> "server\ndevice" */
	int family;
	uint32_t no_ip; /* a rank without device_ip, SN_RT_RANKS_MAX: none */
	uint32_t pods; /* 1.2 */
	struct json_object **pod; /* [n_servers] of super_pod_list, its id */
};

/* The text at key: 1 if it is not there, and may be not. */
static int take(struct json_object *object, const char *key, bool needed,
		const char *where, const char **ret, struct sn_err *err)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value)) {
		if (!needed)
			return 1;
		return sn_err_set(err, -EINVAL, "%s: has no %s", where, key);
	}
	if (!json_object_is_type(value, json_type_string))
		return sn_err_set(err, -EINVAL, "%s: %s is %s, and in versions 1.0 and 1.2 all values are strings",
				  where, key, snctl_json_kind(value));
	*ret = json_object_get_string(value);
	if (!needed && !**ret)
		return 1;
	return 0;
}

static int take_number(struct json_object *object, const char *key, bool needed,
		       uint64_t min, uint64_t max, const char *where,
		       uint64_t *ret, struct sn_err *err)
{
	const char *text;
	char shown[64];
	int rc = take(object, key, needed, where, &text, err);

	if (!rc && sn_parse_uint(text, min, max, ret, NULL))
		rc = sn_err_set(err, -EINVAL, "%s: %s is \"%s\", want a whole number from %" PRIu64 " to %" PRIu64,
				where, key, sn_text_clip(text, shown, sizeof(shown)), min, max);
	return rc;
}

static int take_array(struct json_object *object, const char *key,
		      const char *where, struct json_object **ret,
		      struct sn_err *err)
{
	if (!json_object_object_get_ex(object, key, ret))
		return sn_err_set(err, -EINVAL, "%s: has no %s", where, key);
	if (!json_object_is_type(*ret, json_type_array))
		return sn_err_set(err, -EINVAL, "%s: %s is %s, want an array", where, key,
				  snctl_json_kind(*ret));
	if (!json_object_array_length(*ret))
		return sn_err_set(err, -EINVAL, "%s: %s is empty", where, key);
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

static int check_ip(struct walk *walk, const char *ip, uint64_t rank,
		    const char *where, struct sn_err *err)
{
	struct json_object *other;
	int family = sn_inv_ip_family(ip);
	char shown[64];

	if (!family)
		return sn_err_set(err, -EINVAL, "%s: device_ip \"%s\" is no IPv4 or IPv6 address",
				  where, sn_text_clip(ip, shown, sizeof(shown)));
	if (walk->family && family != walk->family)
		return sn_err_set(err, -EINVAL, "%s: device_ip %s is IPv%d, and those before it are IPv%d",
				  where, ip, family, walk->family);
	walk->family = family;
	if (json_object_object_get_ex(walk->ips, ip, &other))
		return sn_err_set(err, -EINVAL, "%s: device_ip %s is that of rank %s too", where,
				  ip, json_object_get_string(other));
	if (json_object_object_add(walk->ips, ip, json_object_new_int64((int64_t)rank)))
		return sn_err_set(err, -ENOMEM, "no memory");
	return 0;
}

static int check_device(struct walk *walk, struct json_object *device,
			const char *server_id, const char *where,
			uint32_t *ret_rank, struct sn_err *err)
{
	struct sn_ranktable *table = walk->table;
	bool pods = table->version == SN_RANK_TABLE_1_2;
	struct sn_rt_rank *rank;
	uint64_t id = 0, number = 0;
	int rc = want_object(device, where, err);

	if (!rc)
		rc = take_number(device, "rank_id", true, 0, table->n_ranks - 1, where, &id, err);
	if (rc)
		return rc;
	rank = &table->rank[id];
	if (rank->server_id)
		return sn_err_set(err, -EINVAL, "%s: rank_id %" PRIu64 " is given twice", where, id);
	rank->server_id = server_id;
	rank->server = table->n_servers;
	*ret_rank = (uint32_t)id;
	rc = take_number(device, "device_id", true, 0, SN_RT_SERVER_DEVICES - 1, where, &number, err);
	if (rc)
		return rc;
	rank->device_id = (uint32_t)number;
	rc = take_number(device, "super_device_id", pods, 0, UINT32_MAX - 1, where, &number, err);
	if (rc < 0)
		return rc;
	rank->has_super_device_id = !rc;
	rank->super_device_id = (uint32_t)number;
	rc = take(device, "device_ip", false, where, &rank->device_ip, err);
	if (rc > 0) {
		rank->device_ip = NULL;
		walk->no_ip = (uint32_t)id;
		return 0;
	}
	return rc ? rc : check_ip(walk, rank->device_ip, id, where, err);
}

static int take_port(struct json_object *device, const char *key,
		     const char *where, uint64_t *ret, struct sn_err *err)
{
	int rc;

	*ret = 0;
	rc = take_number(device, key, false, 1, 65535, where, ret, err);
	return rc < 0 ? rc : 0;
}

/* The device's backup address and all its ports, which depend on those of the
 * server's other devices. */
static int check_ports(struct json_object *list, size_t i, const char *where,
		       struct sn_err *err)
{
	struct json_object *device = json_object_array_get_idx(list, i);
	uint64_t port, backup, host, id = 0, own, other;
	const char *ip, *theirs;
	int rc = take_port(device, "device_port", where, &port, err);

	if (!rc)
		rc = take_port(device, "backup_device_port", where, &backup, err);
	if (!rc)
		rc = take_port(device, "host_port", where, &host, err);
	for (size_t k = 0; !rc && host && k < i; k++) {
		rc = take_port(json_object_array_get_idx(list, k), "host_port", where, &other, err);
		if (!rc && other == host)
			return sn_err_set(err, -EINVAL, "%s: host_port %" PRIu64 " is that of device[%zu] too; on a server they must differ",
					  where, host, k);
	}
	if (rc)
		return rc;
	rc = take(device, "backup_device_ip", false, where, &ip, err);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!sn_inv_ip_family(ip))
		return sn_err_set(err, -EINVAL, "%s: backup_device_ip \"%.40s\" is no IPv4 or IPv6 address",
				  where, ip);
	take_number(device, "device_id", true, 0, UINT32_MAX, where, &id, NULL);
	/* The two dies of a chip are 2n and 2n+1. */
	for (size_t k = 0; k < json_object_array_length(list); k++) {
		struct json_object *die = json_object_array_get_idx(list, k);
		uint64_t die_id = 0;

		if (take_number(die, "device_id", true, 0, UINT32_MAX, where, &die_id, NULL) ||
		    take(die, "device_ip", false, where, &theirs, NULL))
			continue;
		if (die_id == (id ^ 1) && strcmp(theirs, ip))
			return sn_err_set(err, -EINVAL, "%s: backup_device_ip is %s, and the other die of its chip, device %" PRIu64 ", has device_ip %s",
					  where, ip, die_id, theirs);
		if (die_id != (id ^ 1) && !strcmp(theirs, ip))
			return sn_err_set(err, -EINVAL, "%s: backup_device_ip %s is that of device %" PRIu64 ", which is not the other die of its chip (device %" PRIu64 ")",
					  where, ip, die_id, id ^ 1);
		if (die_id == (id ^ 1) && backup &&
		    !take_port(die, "device_port", where, &own, NULL) && own == backup)
			return sn_err_set(err, -EINVAL, "%s: backup_device_port %" PRIu64 " is the device_port of device %" PRIu64 ", whose network card it is; they must differ",
					  where, backup, die_id);
	}
	return 0;
}

static int check_consecutive(const char *server_id, const uint32_t *rank,
			     const struct sn_ranktable *table, size_t n,
			     const char *file, struct sn_err *err)
{
	uint32_t low = rank[0], high = rank[0];

	for (size_t i = 1; i < n; i++) {
		low = rank[i] < low ? rank[i] : low;
		high = rank[i] > high ? rank[i] : high;
		for (size_t k = 0; k < i; k++)
			if (table->rank[rank[k]].device_id == table->rank[rank[i]].device_id)
				return sn_err_set(err, -EINVAL, "%s: server \"%s\": ranks %u and %u both have device_id %u; one rank, one device",
						  file, server_id, rank[k], rank[i],
						  table->rank[rank[i]].device_id);
	}
	if (high - low != n - 1)
		return sn_err_set(err, -EINVAL, "%s: server \"%s\" has %zu ranks between %u and %u; the ranks of a server are consecutive, they do not interleave with other servers'",
				  file, server_id, n, low, high);
	return 0;
}

static int check_server(struct walk *walk, struct json_object *server,
			const char *where, struct sn_err *err)
{
	uint32_t rank[SN_RT_SERVER_DEVICES] = { 0 };
	struct json_object *list = NULL;
	const char *id = NULL, *ip = NULL;
	char at[WHERE_MAX];
	size_t n;
	int rc = want_object(server, where, err);

	if (!rc)
		rc = take(server, "server_id", true, where, &id, err);
	if (!rc && (!*id || strlen(id) > SN_RT_SERVER_ID_MAX))
		rc = sn_err_set(err, -EINVAL, "%s: server_id has %zu characters, want 1 to %u",
				where, strlen(id), SN_RT_SERVER_ID_MAX);
	if (!rc && json_object_object_get_ex(walk->servers, id, NULL))
		rc = sn_err_set(err, -EINVAL, "%s: server_id \"%s\" is given twice", where, id);
	if (!rc && json_object_object_add(walk->servers, id,
					  json_object_new_int64(walk->table->n_servers)))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = take(server, "host_ip", false, where, &ip, err);
	if (!rc && sn_inv_ip_family(ip) != 4)
		rc = sn_err_set(err, -EINVAL, "%s: host_ip \"%.40s\" is no IPv4 address", where, ip);
	if (rc >= 0)
		rc = take_array(server, "device", where, &list, err);
	if (rc)
		return rc;
	n = json_object_array_length(list);
	if (n > SN_RT_SERVER_DEVICES)
		return sn_err_set(err, -EINVAL, "%s: server \"%s\" has %zu devices, and a server at most %u",
				  where, id, n, SN_RT_SERVER_DEVICES);
	for (size_t i = 0; i < n && !rc; i++) {
		snprintf(at, sizeof(at), "%.*s: device[%zu]", WHERE_MAX - 40, where, i);
		rc = check_device(walk, json_object_array_get_idx(list, i), id, at, &rank[i], err);
	}
	for (size_t i = 0; i < n && !rc; i++) {
		snprintf(at, sizeof(at), "%.*s: device[%zu]", WHERE_MAX - 40, where, i);
		rc = check_ports(list, i, at, err);
	}
	if (!rc)
		rc = check_consecutive(id, rank, walk->table, n, walk->file, err);
	walk->table->n_servers++;
	return rc;
}

/* The ranks are as many as the devices, which is how many ids there can be. */
static int count_ranks(struct walk *walk, struct json_object *servers,
		       struct sn_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < json_object_array_length(servers); i++) {
		struct json_object *server = json_object_array_get_idx(servers, i);
		struct json_object *list = json_object_object_get(server, "device");

		if (json_object_is_type(list, json_type_array))
			n += json_object_array_length(list);
	}
	if (n > SN_RT_RANKS_MAX)
		return sn_err_set(err, -EINVAL, "%s: has %zu devices, more than %u", walk->file, n,
				  SN_RT_RANKS_MAX);
	walk->table->n_ranks = (uint32_t)n;
	walk->table->rank = calloc(n + 1, sizeof(*walk->table->rank));
	walk->pod = calloc(json_object_array_length(servers) + 1, sizeof(*walk->pod));
	return walk->table->rank && walk->pod ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

static int check_servers(struct walk *walk, struct sn_err *err)
{
	struct sn_ranktable *table = walk->table;
	struct json_object *list = NULL;
	char where[WHERE_MAX / 2];
	uint64_t count = 0;
	int rc = take_array(table->root, "server_list", walk->file, &list, err);

	if (!rc)
		rc = take_number(table->root, "server_count",
				 table->version == SN_RANK_TABLE_1_0, 1,
				 SN_RT_RANKS_MAX, walk->file, &count, err);
	if (!rc && count != json_object_array_length(list))
		rc = sn_err_set(err, -EINVAL, "%s: server_count is %" PRIu64 ", and server_list has %zu servers",
				walk->file, count, json_object_array_length(list));
	if (rc >= 0)
		rc = count_ranks(walk, list, err);
	for (size_t i = 0; rc >= 0 && i < json_object_array_length(list); i++) {
		snprintf(where, sizeof(where), "%.64s: server_list[%zu]", walk->file, i);
		rc = check_server(walk, json_object_array_get_idx(list, i), where, err);
	}
	return rc;
}

static int check_pod(struct walk *walk, struct json_object *pod,
		     struct json_object *ids, const char *where,
		     struct sn_err *err)
{
	struct json_object *list = NULL, *id, *number, *seen = NULL;
	const char *text = NULL, *server = NULL;
	int rc = want_object(pod, where, err);

	if (!rc)
		rc = take(pod, "super_pod_id", true, where, &text, err);
	if (!rc && !*text)
		rc = sn_err_set(err, -EINVAL, "%s: super_pod_id is empty", where);
	if (!rc && json_object_object_get_ex(ids, text, NULL))
		rc = sn_err_set(err, -EINVAL, "%s: super_pod_id \"%.64s\" is given twice", where, text);
	if (!rc)
		rc = take_array(pod, "server_list", where, &list, err);
	if (!rc && json_object_object_add(ids, text, NULL))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (rc)
		return rc;
	id = json_object_object_get(pod, "super_pod_id");
	for (size_t i = 0; i < json_object_array_length(list) && !rc; i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		rc = want_object(entry, where, err);
		if (!rc)
			rc = take(entry, "server_id", true, where, &server, err);
		if (rc)
			break;
		if (!json_object_object_get_ex(walk->servers, server, &number))
			return sn_err_set(err, -EINVAL, "%s: server \"%.64s\" is not in server_list", where, server);
		seen = walk->pod[json_object_get_int64(number)];
		if (seen)
			return sn_err_set(err, -EINVAL, "%s: server \"%s\" is in super pod \"%.64s\" already",
					  where, server, json_object_get_string(seen));
		walk->pod[json_object_get_int64(number)] = id;
	}
	return rc;
}

/* In server_list's order: each super pod's servers in one run, unique ids in it. */
static int check_runs(struct walk *walk, struct sn_err *err)
{
	struct sn_ranktable *table = walk->table;
	struct json_object *done = json_object_new_object(), *sdids = json_object_new_object();
	int rc = done && sdids ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	for (uint32_t s = 0; s < table->n_servers && !rc; s++) {
		const char *id = json_object_get_string(walk->pod[s]);

		if (!walk->pod[s])
			rc = sn_err_set(err, -EINVAL, "%s: server number %u of server_list is in no super pod of super_pod_list",
					walk->file, s);
		else if (s && walk->pod[s] == walk->pod[s - 1])
			continue;
		else if (json_object_object_get_ex(done, id, NULL))
			rc = sn_err_set(err, -EINVAL, "%s: the servers of super pod \"%.64s\" are not listed together in server_list; put all of a super pod's first, then the next one's",
					walk->file, id);
		else if (json_object_object_add(done, id, NULL))
			rc = sn_err_set(err, -ENOMEM, "no memory");
	}
	for (uint32_t r = 0; r < table->n_ranks && !rc; r++) {
		const char *id = json_object_get_string(walk->pod[table->rank[r].server]);
		struct json_object *other;
		char key[SN_RT_POD_ID_MAX + 32];

		snprintf(key, sizeof(key), "%u %.127s", table->rank[r].super_device_id, id);
		if (json_object_object_get_ex(sdids, key, &other))
			rc = sn_err_set(err, -EINVAL, "%s: ranks %s and %u both have super_device_id %u in super pod \"%.64s\" (EI0014)",
					walk->file, json_object_get_string(other), r,
					table->rank[r].super_device_id, id);
		else if (json_object_object_add(sdids, key, json_object_new_int64(r)))
			rc = sn_err_set(err, -ENOMEM, "no memory");
	}
	json_object_put(done);
	json_object_put(sdids);
	return rc;
}

static int check_pods(struct walk *walk, struct sn_err *err)
{
	struct json_object *list = NULL, *ids = json_object_new_object();
	char where[WHERE_MAX / 2];
	int rc = ids ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	if (!rc)
		rc = take_array(walk->table->root, "super_pod_list", walk->file, &list, err);
	for (size_t i = 0; !rc && i < json_object_array_length(list); i++) {
		snprintf(where, sizeof(where), "%.64s: super_pod_list[%zu]", walk->file, i);
		rc = check_pod(walk, json_object_array_get_idx(list, i), ids, where, err);
	}
	json_object_put(ids);
	if (rc)
		return rc;
	walk->table->n_super_pods = (uint32_t)json_object_array_length(list);
	return check_runs(walk, err);
}

int sn_rt_check_1(struct sn_ranktable *table, const char *file, struct sn_err *err)
{
	struct walk walk = {
		.table = table, .file = file, .no_ip = SN_RT_RANKS_MAX,
		.servers = json_object_new_object(), .ips = json_object_new_object(),
	};
	bool pods = table->version == SN_RANK_TABLE_1_2;
	int rc = walk.servers && walk.ips ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	if (!rc)
		rc = check_servers(&walk, err);
	if (!rc && pods)
		rc = check_pods(&walk, err);
	if (!rc && walk.no_ip < SN_RT_RANKS_MAX &&
	    (pods ? table->n_super_pods : table->n_servers) > 1)
		rc = sn_err_set(err, -EINVAL, "%s: rank %u has no device_ip, which version %s needs with more than one %s",
				file, walk.no_ip, sn_rank_table_name(table->version),
				pods ? "super pod" : "server");
	free(walk.pod);
	json_object_put(walk.servers);
	json_object_put(walk.ips);
	return rc;
}
