/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventorycache.c - what a site's program has said of a job's nodes, kept for
 * the job's relaunches:
 *	{"program": "/site/inventory", "restart": "0", "nodes": {"n001": NODE, …}}
 *
 * It is read as what it is, a file of the user's: whatever is wrong with it, the
 * program is asked again.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/inventory.h"
#include "launcher/writefile.h"
#include "snctl/jsonread.h"

#define CACHE_MAX (64u << 20)

static const char *restart(void)
{
	const char *count = getenv("SLURM_RESTART_COUNT");

	return count ? count : "0";
}

static bool is_text(struct json_object *root, const char *key, const char *text)
{
	struct json_object *value;

	return json_object_object_get_ex(root, key, &value) &&
	       json_object_is_type(value, json_type_string) &&
	       !strcmp(json_object_get_string(value), text);
}

struct json_object *sn_inv_cache_read(const struct sn_inv_cache *cache,
				      const char *program)
{
	struct json_object *root = NULL, *nodes = NULL;
	struct sn_err err;
	char *text;
	size_t len;

	if (!cache || cache->fresh ||
	    sn_read_file(cache->dir, SN_INV_CACHE_FILE, CACHE_MAX, &text, &len, &err))
		return json_object_new_object();
	if (!snctl_json_parse(text, len, SN_INV_CACHE_FILE, &root, &err) &&
	    json_object_is_type(root, json_type_object) &&
	    is_text(root, "program", program) && is_text(root, "restart", restart()) &&
	    json_object_object_get_ex(root, "nodes", &nodes) &&
	    json_object_is_type(nodes, json_type_object))
		nodes = json_object_get(nodes);
	else
		nodes = json_object_new_object();
	json_object_put(root);
	free(text);
	return nodes;
}

void sn_inv_cache_write(const struct sn_inv_cache *cache, const char *program,
			struct json_object *nodes)
{
	struct json_object *root = cache ? json_object_new_object() : NULL;
	struct sn_err err;
	const char *text;

	if (!root)
		return;
	json_object_object_add(root, "program", json_object_new_string(program));
	json_object_object_add(root, "restart", json_object_new_string(restart()));
	json_object_object_add(root, "nodes", json_object_get(nodes));
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
	if (text)
		sn_write_file(cache->dir, SN_INV_CACHE_FILE, text, strlen(text), &err);
	json_object_put(root);
}
