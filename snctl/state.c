/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.c - what is free: the state.json of the offline commands.
 *
 * Two passes: the first finds the loose nodes, since adding them moves the
 * model's tables; the second fills in the state.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/cli.h"
#include "snctl/jsonread.h"
#include "snctl/state.h"
#include "topology/hostlist.h"
#include "topology/power.h"
#include "topology/text.h"

struct reader {
	const char *file;
	struct sn_topo *topo;
	struct snctl_state *state;
	uint32_t cards;
	uint64_t all; /* every card of a node */
	bool *named; /* [n_nodes] met already */
	struct sn_err *err;
};

static const char *const top_keys[] = { "nodes", "pool_free", "degraded" };
static const char *const node_keys[] = {
	"free", "free_cards", "masked_cards", "weight", "down",
};

int snctl_state_init(const struct sn_topo *topo, uint32_t cards,
		     struct snctl_state *ret, struct sn_err *err)
{
	uint64_t all = cards >= 64 ? UINT64_MAX : (UINT64_C(1) << cards) - 1;
	int rc = sn_degraded_init(topo, &ret->degraded, err);

	ret->node = calloc(topo->n_nodes + 1, sizeof(*ret->node));
	ret->supernode = calloc(topo->n_supernodes + 1, sizeof(*ret->supernode));
	if (rc || !ret->node || !ret->supernode) {
		snctl_state_done(ret);
		return sn_err_set(err, -ENOMEM, "no memory for %u nodes",
				  topo->n_nodes);
	}
	for (uint32_t i = 0; i < topo->n_nodes; i++)
		ret->node[i] = (struct sn_place_node) {
			.cards = all, .free = all, .weight = 1,
			.max_ranks = UINT32_MAX,
		};
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];

		/* No PoolMemory is no pool; no PoolBandwidth is no limit. */
		ret->supernode[s].pool_free = sn->has_pool ? sn->pool_memory : 0;
		ret->supernode[s].bandwidth_free =
			sn->has_pool_bandwidth ? sn->pool_bandwidth : UINT64_MAX;
	}
	return 0;
}

void snctl_state_done(struct snctl_state *state)
{
	free(state->node);
	free(state->supernode);
	sn_degraded_done(&state->degraded);
	memset(state, 0, sizeof(*state));
}

int snctl_state_policy(const struct sn_topo *topo, const struct sn_policy *policy,
		       struct snctl_state *state, struct sn_err *err)
{
	struct sn_power power = sn_power_of(policy->node_power,
					    policy->idle_node_power);
	int rc = 0;

	sn_power_fill(&power, topo, state->supernode);
	if (*policy->degraded)
		rc = sn_degraded_add(&state->degraded, topo, policy->degraded,
				     err);
	sn_degraded_mark(&state->degraded, topo, state->node);
	return rc ? sn_err_prefix(err, rc, "DegradedDomains=%.80s: ",
				  policy->degraded) : 0;
}

static int expect(const struct reader *r, struct json_object *value,
		  enum json_type type, const char *path, const char *key,
		  const char *what)
{
	if (json_object_is_type(value, type))
		return 0;
	return sn_err_set(r->err, -EINVAL, "%s: %s%s must be %s, not %s", r->file,
			  path, key, what, snctl_json_kind(value));
}

static int unknown_key(const struct reader *r, const char *path, const char *key,
		       const char *const *keys, size_t n, const char *all)
{
	const char *near = cli_nearest(key, keys, n, sizeof(*keys));

	if (near)
		return sn_err_set(r->err, -EINVAL,
				  "%s: %s%sunknown key \"%.80s\"; did you mean \"%s\"?",
				  r->file, path, *path ? " " : "", key, near);
	return sn_err_set(r->err, -EINVAL,
			  "%s: %s%sunknown key \"%.80s\"; known are %s", r->file,
			  path, *path ? " " : "", key, all);
}

/* An array of card numbers as bits. */
static int read_cards(const struct reader *r, struct json_object *value,
		      const char *path, const char *key, uint64_t *ret)
{
	int rc = expect(r, value, json_type_array, path, key,
			"an array of card numbers");

	*ret = 0;
	for (size_t i = 0; !rc && i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		int64_t card;

		rc = expect(r, item, json_type_int, path, key,
			    "an array of card numbers");
		if (rc)
			break;
		card = json_object_get_int64(item);
		if (card < 0 || card >= (int64_t)r->cards)
			return sn_err_set(r->err, -EINVAL,
					  "%s: %s%s: there is no card %lld; a node has cards 0 to %u (--cards %u)",
					  r->file, path, key, (long long)card,
					  r->cards - 1, r->cards);
		if (*ret & (UINT64_C(1) << card))
			return sn_err_set(r->err, -EINVAL,
					  "%s: %s%s: card %lld is there twice",
					  r->file, path, key, (long long)card);
		*ret |= UINT64_C(1) << card;
	}
	return rc;
}

static int read_number(const struct reader *r, struct json_object *value,
		       const char *path, const char *key, int64_t max,
		       const char *why, int64_t *ret)
{
	int rc = expect(r, value, json_type_int, path, key, "a whole number");

	if (rc)
		return rc;
	*ret = json_object_get_int64(value);
	if (*ret < 0 || *ret > max)
		return sn_err_set(r->err, -EINVAL,
				  "%s: %s%s must be 0 to %lld%s, not %lld",
				  r->file, path, key, (long long)max, why,
				  (long long)*ret);
	return 0;
}

/* What one entry says of each of its nodes. */
static int read_entry(const struct reader *r, const char *path,
		      struct json_object *entry, struct sn_place_node *node)
{
	struct json_object_iter it;
	char where[128];
	uint64_t masked = 0;
	bool free_given = false;
	int64_t n;
	int rc = 0;

	snprintf(where, sizeof(where), "%.*s:", (int)strlen(path) - 1, path);
	json_object_object_foreachC(entry, it) {
		if (!strcmp(it.key, "free") || !strcmp(it.key, "free_cards")) {
			if (free_given)
				return sn_err_set(r->err, -EINVAL,
						  "%s: %sfree and free_cards cannot both be given",
						  r->file, path);
			free_given = true;
		}
		if (!strcmp(it.key, "free")) {
			rc = read_number(r, it.val, path, it.key, r->cards,
					 " (--cards)", &n);
			if (!rc)
				node->free = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
		} else if (!strcmp(it.key, "free_cards")) {
			rc = read_cards(r, it.val, path, it.key, &node->free);
		} else if (!strcmp(it.key, "masked_cards")) {
			rc = read_cards(r, it.val, path, it.key, &masked);
		} else if (!strcmp(it.key, "weight")) {
			rc = read_number(r, it.val, path, it.key, UINT32_MAX - 1,
					 "", &n);
			if (!rc)
				node->weight = (uint32_t)n;
		} else if (!strcmp(it.key, "down")) {
			rc = expect(r, it.val, json_type_boolean, path, it.key,
				    "true or false");
			if (!rc && json_object_get_boolean(it.val))
				node->flags |= SN_NODE_ABSENT;
		} else {
			return unknown_key(r, where, it.key, node_keys,
					   sizeof(node_keys) / sizeof(*node_keys),
					   "free, free_cards, masked_cards, weight and down");
		}
		if (rc)
			return rc;
	}
	if (node->cards & ~node->free & ~masked)
		node->flags |= SN_NODE_DRAWS;
	node->free &= ~masked;
	if (node->flags & SN_NODE_ABSENT)
		node->free = 0;
	return 0;
}

static int add_loose(struct reader *r, const char *key)
{
	struct sn_names names = { 0 };
	int rc = sn_hostlist_expand(key, &names, r->err);

	if (rc)
		sn_err_prefix(r->err, rc, "%s: nodes.\"%.80s\": ", r->file, key);
	else if (!names.n)
		rc = sn_err_set(r->err, -EINVAL,
				"%s: nodes.\"%.80s\" names no node", r->file, key);
	for (size_t i = 0; i < names.n && !rc; i++) {
		if (sn_topo_find_node(r->topo, names.name[i]) != SN_NONE)
			continue;
		rc = sn_topo_add_loose(r->topo, names.name[i], r->err);
		if (rc)
			sn_err_prefix(r->err, rc, "%s: nodes.\"%.80s\": ",
				      r->file, key);
	}
	sn_names_done(&names);
	return rc;
}

static int fill_nodes(struct reader *r, const char *key, struct json_object *entry)
{
	struct sn_place_node said = {
		.cards = r->all, .free = r->all, .weight = 1,
		.max_ranks = UINT32_MAX,
	};
	struct sn_names names = { 0 };
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "nodes.\"%.80s\".", key);
	rc = json_object_is_type(entry, json_type_object) ? 0 :
		sn_err_set(r->err, -EINVAL,
			   "%s: nodes.\"%.80s\" must be an object such as {\"free\": %u}, not %s",
			   r->file, key, r->cards, snctl_json_kind(entry));
	if (!rc)
		rc = read_entry(r, path, entry, &said);
	if (!rc)
		rc = sn_hostlist_expand(key, &names, r->err);
	for (size_t i = 0; i < names.n && !rc; i++) {
		uint32_t n = sn_topo_find_node(r->topo, names.name[i]);

		if (r->named[n])
			rc = sn_err_set(r->err, -EINVAL,
					"%s: nodes.\"%.80s\": node %s is named twice",
					r->file, key, names.name[i]);
		r->named[n] = true;
		r->state->node[n] = said;
	}
	sn_names_done(&names);
	return rc;
}

/* "20T" or a number of bytes. */
static int read_size(const struct reader *r, const char *key,
		     struct json_object *value, uint64_t *ret)
{
	int rc;

	if (json_object_is_type(value, json_type_int) &&
	    json_object_get_int64(value) >= 0) {
		*ret = (uint64_t)json_object_get_int64(value);
		return 0;
	}
	if (!json_object_is_type(value, json_type_string))
		return sn_err_set(r->err, -EINVAL,
				  "%s: pool_free.\"%.80s\" must be a size such as \"20T\", not %s",
				  r->file, key,
				  json_object_is_type(value, json_type_int) ?
				  "a negative number" : snctl_json_kind(value));
	rc = sn_parse_size(json_object_get_string(value), ret, r->err);
	if (rc)
		return sn_err_prefix(r->err, rc, "%s: pool_free.\"%.80s\": ",
				     r->file, key);
	return 0;
}

static int fill_pool(struct reader *r, const char *key, struct json_object *value,
		     bool *named)
{
	struct sn_names names = { 0 };
	uint64_t size;
	int rc = read_size(r, key, value, &size);

	if (rc)
		return rc;
	rc = sn_hostlist_expand(key, &names, r->err);
	if (rc)
		sn_err_prefix(r->err, rc, "%s: pool_free.\"%.80s\": ", r->file, key);
	else if (!names.n)
		rc = sn_err_set(r->err, -EINVAL,
				"%s: pool_free.\"%.80s\" names no supernode",
				r->file, key);
	for (size_t i = 0; i < names.n && !rc; i++) {
		uint32_t s = sn_topo_find_supernode(r->topo, names.name[i]);
		const struct sn_topo_supernode *sn;

		if (s == SN_NONE) {
			rc = sn_err_set(r->err, -EINVAL,
					"%s: pool_free.\"%.80s\": there is no supernode %.80s",
					r->file, key, names.name[i]);
			break;
		}
		sn = &r->topo->supernode[s];
		if (named[s]) {
			rc = sn_err_set(r->err, -EINVAL,
					"%s: pool_free.\"%.80s\": supernode %s is named twice",
					r->file, key, sn->name);
		} else if (sn->has_pool && size > sn->pool_memory) {
			char is[32], most[32];

			sn_format_size(size, is, sizeof(is));
			sn_format_size(sn->pool_memory, most, sizeof(most));
			rc = sn_err_set(r->err, -EINVAL,
					"%s: pool_free.\"%.80s\" is %s, more than the PoolMemory=%s of supernode %s",
					r->file, key, is, most, sn->name);
		}
		named[s] = true;
		r->state->supernode[s].pool_free = size;
	}
	sn_names_done(&names);
	return rc;
}

static int fill_degraded(struct reader *r, struct json_object *list)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *name;

		rc = expect(r, item, json_type_string, "", "degraded",
			    "an array of names of supernodes and units");
		if (rc)
			break;
		name = json_object_get_string(item);
		rc = sn_degraded_add(&r->state->degraded, r->topo, name, r->err);
		if (rc)
			rc = sn_err_prefix(r->err, rc == -ENOENT ? -EINVAL : rc,
					   "%s: degraded: \"%.80s\": ", r->file,
					   name);
	}
	if (!rc)
		sn_degraded_mark(&r->state->degraded, r->topo, r->state->node);
	return rc;
}

static int read_root(struct reader *r, struct json_object *root)
{
	struct json_object *nodes = NULL, *pools = NULL, *degraded = NULL;
	struct json_object_iter it;
	bool *pool_named = NULL;
	int rc;

	if (!json_object_is_type(root, json_type_object))
		return sn_err_set(r->err, -EINVAL,
				  "%s: must be an object such as {\"nodes\": {\"n001\": {\"free\": %u}}}, not %s",
				  r->file, r->cards, snctl_json_kind(root));
	json_object_object_foreachC(root, it) {
		if (!strcmp(it.key, "nodes"))
			nodes = it.val;
		else if (!strcmp(it.key, "pool_free"))
			pools = it.val;
		else if (!strcmp(it.key, "degraded"))
			degraded = it.val;
		else
			return unknown_key(r, "", it.key, top_keys,
					   sizeof(top_keys) / sizeof(*top_keys),
					   "nodes, pool_free and degraded");
		rc = it.val == degraded ?
			expect(r, it.val, json_type_array, "", it.key,
			       "an array of names of supernodes and units") :
			expect(r, it.val, json_type_object, "", it.key,
			       "an object");
		if (rc)
			return rc;
	}
	if (nodes) {
		json_object_object_foreachC(nodes, it) {
			rc = add_loose(r, it.key);
			if (rc)
				return rc;
		}
	}
	rc = snctl_state_init(r->topo, r->cards, r->state, r->err);
	if (rc)
		return rc;
	r->named = calloc(r->topo->n_nodes + 1, sizeof(*r->named));
	pool_named = calloc(r->topo->n_supernodes + 1, sizeof(*pool_named));
	if (!r->named || !pool_named)
		rc = sn_err_set(r->err, -ENOMEM, "%s: no memory", r->file);
	if (nodes && !rc) {
		json_object_object_foreachC(nodes, it) {
			rc = fill_nodes(r, it.key, it.val);
			if (rc)
				break;
		}
	}
	if (pools && !rc) {
		json_object_object_foreachC(pools, it) {
			rc = fill_pool(r, it.key, it.val, pool_named);
			if (rc)
				break;
		}
	}
	if (degraded && !rc)
		rc = fill_degraded(r, degraded);
	free(pool_named);
	free(r->named);
	if (rc)
		snctl_state_done(r->state);
	return rc;
}

int snctl_state_parse(const char *text, size_t len, const char *file,
		      struct sn_topo *topo, uint32_t cards,
		      struct snctl_state *ret, struct sn_err *err)
{
	struct reader r = {
		.file = file, .topo = topo, .state = ret, .cards = cards,
		.all = cards >= 64 ? UINT64_MAX : (UINT64_C(1) << cards) - 1,
		.err = err,
	};
	struct json_object *root;
	int rc;

	rc = snctl_json_parse(text, len, file, &root, err);
	if (rc)
		return rc;
	rc = read_root(&r, root);
	json_object_put(root);
	return rc;
}
