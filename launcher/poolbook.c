/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolbook.c - the book of pool regions with names, kept in node records.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/extratext.h"
#include "launcher/poolbook.h"
#include "snctl/jsonread.h"

#define WHO SN_EXTRA_WHO
#define KEY "pool"

static int get_number(struct json_object *from, const char *name,
		      const char *key, uint64_t max, uint64_t *ret,
		      struct sn_err *err)
{
	struct json_object *value;

	if (!json_object_object_get_ex(from, key, &value) ||
	    !json_object_is_type(value, json_type_int) ||
	    json_object_get_int64(value) < 0 ||
	    (uint64_t)json_object_get_int64(value) > max)
		return sn_err_set(err, -EINVAL,
				  WHO ": the pool region \"%.60s\" has no good \"%s\"",
				  name, key);
	*ret = (uint64_t)json_object_get_int64(value);
	return 0;
}

static bool is_name(const char *name)
{
	const char *c;

	for (c = name; isalnum((unsigned char)*c) || *c == '_' || *c == '-' || *c == '.'; c++)
		;
	return *name && *name != '.' && !*c && strlen(name) < SN_NAME_MAX;
}

static int read_entry(const char *name, struct json_object *value,
		      struct sn_poolbook_entry *ret, struct sn_err *err)
{
	uint64_t uid = 0;
	int rc;

	if (!is_name(name) || !json_object_is_type(value, json_type_object))
		return sn_err_set(err, -EINVAL,
				  WHO ": \"%.60s\" is no pool region", name);
	rc = get_number(value, name, "uid", UINT32_MAX - 1, &uid, err);
	if (!rc)
		rc = get_number(value, name, "bytes", INT64_MAX, &ret->bytes, err);
	if (!rc)
		rc = get_number(value, name, "id", INT64_MAX, &ret->id, err);
	memcpy(ret->name, name, strlen(name) + 1);
	ret->uid = (uint32_t)uid;
	return rc;
}

int sn_poolbook_read(const char *extra, struct sn_poolbook_entry **ret,
		     size_t *ret_n, struct sn_err *err)
{
	struct sn_poolbook_entry *all = NULL;
	struct json_object *root, *pool;
	size_t n = 0;
	int rc;

	*ret = NULL;
	*ret_n = 0;
	/* Most nodes have none, and slurmctld looks often. */
	if (!extra || !strstr(extra, "\"" KEY "\""))
		return 0;
	rc = sn_extratext_parse(extra, &root, err);
	if (rc || !root)
		return rc;
	if (!json_object_object_get_ex(root, KEY, &pool))
		goto out;
	if (!json_object_is_type(pool, json_type_object)) {
		rc = sn_err_set(err, -EINVAL, WHO ": \"" KEY "\" is %s; want an object",
				snctl_json_kind(pool));
		goto out;
	}
	all = calloc((size_t)json_object_object_length(pool) + 1, sizeof(*all));
	if (!all) {
		rc = sn_err_set(err, -ENOMEM, "no memory");
		goto out;
	}
	json_object_object_foreach(pool, name, value) {
		rc = read_entry(name, value, &all[n], err);
		if (rc)
			break;
		n++;
	}
out:
	json_object_put(root);
	if (rc) {
		free(all);
		return rc;
	}
	*ret = all;
	*ret_n = n;
	return 0;
}

int sn_poolbook_find(const char *extra, const char *name,
		     struct sn_poolbook_entry *ret, struct sn_err *err)
{
	struct sn_poolbook_entry *all;
	size_t n, i;
	int rc = sn_poolbook_read(extra, &all, &n, err);

	if (rc)
		return rc;
	for (i = 0; i < n && strcmp(all[i].name, name); i++)
		;
	if (i < n)
		*ret = all[i];
	else
		rc = sn_err_set(err, -ENOENT, "there is no pool region %s", name);
	free(all);
	return rc;
}

static int put_entry(struct json_object *pool,
		     const struct sn_poolbook_entry *entry)
{
	struct json_object *value = json_object_new_object();

	if (!value ||
	    json_object_object_add(value, "uid", json_object_new_int64(entry->uid)) ||
	    json_object_object_add(value, "bytes", json_object_new_int64((int64_t)entry->bytes)) ||
	    json_object_object_add(value, "id", json_object_new_int64((int64_t)entry->id)) ||
	    json_object_object_add(pool, entry->name, value)) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

int sn_poolbook_write(const char *extra, const struct sn_poolbook_entry *entry,
		      char **ret_extra, struct sn_err *err)
{
	struct json_object *root, *pool;
	int rc = sn_extratext_parse(extra, &root, err);

	if (rc)
		return rc;
	if (!root)
		root = json_object_new_object();
	if (!json_object_object_get_ex(root, KEY, &pool) && entry->bytes) {
		pool = json_object_new_object();
		if (pool && json_object_object_add(root, KEY, pool))
			pool = NULL;
	}
	if (pool && !json_object_is_type(pool, json_type_object)) {
		rc = sn_err_set(err, -EINVAL, WHO ": \"" KEY "\" is %s; want an object",
				snctl_json_kind(pool));
	} else if (entry->bytes) {
		rc = pool ? put_entry(pool, entry) : -ENOMEM;
		if (rc)
			sn_err_set(err, rc, "no memory");
	} else if (pool) {
		json_object_object_del(pool, entry->name);
		if (!json_object_object_length(pool))
			json_object_object_del(root, KEY);
	}
	if (!rc)
		rc = sn_extratext_print(root, "delete a region first", ret_extra, err);
	json_object_put(root);
	return rc;
}
