/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * planread.c - read a plan back from layout.json.
 *
 * The file is the user's and may be anything: half of one from a disk that was
 * full, one of another job, one that was edited.
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/planfiles.h"
#include "launcher/writefile.h"

#define CARDS_MAX 4096 /* of a node; more is a damaged file */

static int bad(struct sn_err *err, const char *what)
{
	return sn_err_set(err, -EINVAL, SN_LAYOUT_JSON ": %s", what);
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, SN_LAYOUT_JSON ": no memory");
}

static bool get_uint(json_object *from, const char *key, uint32_t max,
		     uint32_t *ret)
{
	json_object *at;
	int64_t value;

	if (!json_object_object_get_ex(from, key, &at) ||
	    !json_object_is_type(at, json_type_int))
		return false;
	value = json_object_get_int64(at);
	if (value < 0 || value > max)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static const char *get_text(json_object *from, const char *key)
{
	json_object *at;

	return json_object_object_get_ex(from, key, &at) &&
		json_object_is_type(at, json_type_string) ?
		json_object_get_string(at) : NULL;
}

static json_object *get_list(json_object *from, const char *key)
{
	json_object *at;

	return json_object_object_get_ex(from, key, &at) &&
		json_object_is_type(at, json_type_array) ? at : NULL;
}

static uint32_t find_supernode(struct sn_plan *plan, const char *name)
{
	/* Nodes of one supernode mostly stand together. */
	for (uint32_t s = plan->n_supernodes; s-- > 0;)
		if (!strcmp(plan->supernode[s], name))
			return s;
	plan->supernode[plan->n_supernodes] = strdup(name);
	return plan->supernode[plan->n_supernodes] ? plan->n_supernodes++ :
		SN_NONE;
}

static int read_node(json_object *from, struct sn_plan *plan, struct sn_err *err)
{
	struct sn_plan_node *node = &plan->node[plan->n_nodes++];
	const char *name = get_text(from, "name");
	const char *address = get_text(from, "address");
	const char *origin = get_text(from, "origin");
	const char *supernode = get_text(from, "supernode");
	json_object *cards = get_list(from, "cards");
	size_t n = cards ? json_object_array_length(cards) : 0;

	if (!name || !*name || !address || !supernode || !cards || n > CARDS_MAX ||
	    !get_uint(from, "ranks", (uint32_t)n, &node->ranks))
		return bad(err, "a node is not described whole");
	if (!get_uint(from, "unit", SN_NONE - 1, &node->unit))
		node->unit = SN_NONE;
	node->name = strdup(name);
	node->address = strdup(address);
	node->origin = origin ? strdup(origin) : NULL;
	node->card = calloc(n + 1, sizeof(*node->card));
	node->supernode = find_supernode(plan, supernode);
	if (!node->name || !node->address || (origin && !node->origin) ||
	    !node->card || node->supernode == SN_NONE)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		json_object *card = json_object_array_get_idx(cards, i);

		if (!json_object_is_type(card, json_type_int) ||
		    json_object_get_int64(card) < 0 ||
		    json_object_get_int64(card) > UINT16_MAX)
			return bad(err, "a card is not a number from 0 on");
		node->card[node->n_cards++] = (uint32_t)json_object_get_int64(card);
	}
	return 0;
}

static int read_nodes(json_object *root, struct sn_plan *plan,
		      struct sn_err *err)
{
	json_object *nodes = get_list(root, "nodes");
	size_t n = nodes ? json_object_array_length(nodes) : 0;
	uint64_t at = 0;
	int rc = 0;

	if (!n || n > SN_TOPO_NODES_MAX)
		return bad(err, "there are no nodes in it");
	plan->node = calloc(n + 1, sizeof(*plan->node));
	plan->supernode = calloc(n + 1, sizeof(*plan->supernode));
	if (!plan->node || !plan->supernode)
		return no_memory(err);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = read_node(json_object_array_get_idx(nodes, i), plan, err);
		plan->node[i].first = (uint32_t)at;
		at += plan->node[i].ranks;
		if (!rc && i && plan->node[i].ranks && !plan->node[i - 1].ranks)
			rc = bad(err, "a spare stands before a node with ranks");
	}
	if (!rc && at != plan->layout.world)
		rc = sn_err_set(err, -EINVAL,
				SN_LAYOUT_JSON ": its nodes run %llu ranks, but the layout has %u",
				(unsigned long long)at, plan->layout.world);
	return rc;
}

/* The place of a node in the plan by its name, from where the last was found. */
static uint32_t find_node(const struct sn_plan *plan, const char *name,
			  uint32_t from)
{
	for (uint32_t k = 0; k < plan->n_nodes; k++) {
		uint32_t i = from + k < plan->n_nodes ? from + k :
			from + k - plan->n_nodes;

		if (!strcmp(plan->node[i].name, name))
			return i;
	}
	return SN_NONE;
}

static int read_ranks(json_object *root, struct sn_plan *plan,
		      struct sn_err *err)
{
	uint32_t world = plan->layout.world, node = 0;
	json_object *ranks = get_list(root, "ranks");
	uint32_t *count = calloc((size_t)plan->n_nodes + 1, sizeof(*count));
	int rc = 0;

	plan->rank_node = calloc(world, sizeof(*plan->rank_node));
	plan->rank_local = calloc(world, sizeof(*plan->rank_local));
	plan->rank_card = calloc(world, sizeof(*plan->rank_card));
	plan->rank_at = calloc(world, sizeof(*plan->rank_at));
	if (!count || !plan->rank_node || !plan->rank_local ||
	    !plan->rank_card || !plan->rank_at)
		rc = no_memory(err);
	else if (!ranks || json_object_array_length(ranks) != world)
		rc = bad(err, "it has not as many ranks as the layout");
	for (uint32_t r = 0; !rc && r < world; r++) {
		json_object *pair = json_object_array_get_idx(ranks, r);
		const char *name = json_object_is_type(pair, json_type_array) ?
			json_object_get_string(json_object_array_get_idx(pair, 0)) :
			NULL;

		node = name ? find_node(plan, name, node) : SN_NONE;
		if (node == SN_NONE || count[node] >= plan->node[node].ranks) {
			rc = sn_err_set(err, -EINVAL,
					SN_LAYOUT_JSON ": rank %u is on no node of it, or on one with too many",
					r);
			break;
		}
		plan->rank_node[r] = node;
		plan->rank_local[r] = count[node]++;
		plan->rank_card[r] = plan->node[node].card[plan->rank_local[r]];
		plan->rank_at[plan->node[node].first + plan->rank_local[r]] = r;
	}
	free(count);
	return rc;
}

int sn_planfile_parse(const char *text, size_t len, struct sn_plan *ret,
		      struct sn_err *err)
{
	struct json_tokener *tok = json_tokener_new();
	struct sn_plan plan = { 0 };
	json_object *root, *layout;
	uint32_t port = 0;
	const char *spec;
	int rc = 0;

	if (!tok || len > SN_LAYOUT_JSON_MAX) {
		if (tok)
			json_tokener_free(tok);
		return bad(err, "cannot be taken in");
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tok, text, (int)len);
	if (json_tokener_get_error(tok) != json_tokener_success ||
	    !json_object_is_type(root, json_type_object))
		rc = bad(err, "not a whole JSON object; it may be half written");
	json_tokener_free(tok);
	if (!rc && (!get_uint(root, "job", UINT32_MAX, &plan.job_id) ||
		    !get_uint(root, "generation", UINT32_MAX - 1, &plan.generation) ||
		    !get_uint(root, "master_port", UINT16_MAX, &port) ||
		    !json_object_object_get_ex(root, "layout", &layout) ||
		    !json_object_is_type(layout, json_type_object) ||
		    !(spec = get_text(layout, "spec"))))
		rc = bad(err, "it lacks the job, the generation, the port or the layout");
	plan.master_port = (uint16_t)port;
	if (!rc)
		rc = sn_layout_parse(spec, 0, &plan.layout, err);
	if (!rc)
		rc = read_nodes(root, &plan, err);
	if (!rc)
		rc = read_ranks(root, &plan, err);
	json_object_put(root);
	if (rc)
		sn_plan_done(&plan);
	else
		*ret = plan;
	return rc;
}

int sn_planfiles_read(const char *dir, struct sn_plan *ret, struct sn_err *err)
{
	size_t len;
	char *text;
	int rc = sn_read_file(dir, SN_LAYOUT_JSON, SN_LAYOUT_JSON_MAX, &text,
			      &len, err);

	if (rc)
		return rc;
	rc = sn_planfile_parse(text, len, ret, err);
	free(text);
	return rc ? sn_err_prefix(err, rc, "%s/", dir) : 0;
}
