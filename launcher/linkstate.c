/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkstate.c - what snrun says of the job (elastic/attachstate.h): what `snctl elastic
 * status` shows, and where its ranks are.
 */
#include "config.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "launcher/linkstate.h"
#include "topology/hostlist.h"

static uint64_t cards_of(const struct sn_plan_node *node)
{
	uint64_t bits = 0;

	for (uint32_t c = 0; c < node->ranks && c < node->n_cards; c++)
		if (node->card[c] < 64)
			bits |= UINT64_C(1) << node->card[c];
	return bits;
}

static void add_run(json_object *list, uint32_t nodes, uint32_t ranks, uint64_t cards)
{
	json_object *run = json_object_new_array();

	json_object_array_add(run, json_object_new_int64(nodes));
	json_object_array_add(run, json_object_new_int64(ranks));
	json_object_array_add(run, json_object_new_uint64(cards));
	json_object_array_add(list, run);
}

/* As many in a row as are alike are one entry. */
static json_object *on(const struct sn_plan *plan)
{
	json_object *list = json_object_new_array();
	uint32_t ranks = 0, n = 0;
	uint64_t cards = 0;

	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *node = &plan->node[i];

		if (!node->ranks)
			continue;
		if (n && (node->ranks != ranks || cards_of(node) != cards)) {
			add_run(list, n, ranks, cards);
			n = 0;
		}
		ranks = node->ranks;
		cards = cards_of(node);
		n++;
	}
	if (n)
		add_run(list, n, ranks, cards);
	return list;
}

static void add_names(json_object *to, const char *key, const struct sn_plan *plan,
		      bool spares)
{
	const char **name = calloc((size_t)plan->n_nodes + 1, sizeof(*name));
	char *list = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; name && i < plan->n_nodes; i++)
		if (!plan->node[i].ranks == spares)
			name[n++] = plan->node[i].name;
	if (name)
		list = sn_hostlist_compress(name, n);
	json_object_object_add(to, key, json_object_new_string(list ? list : ""));
	free(list);
	free(name);
}

struct json_object *snrun_link_state(const struct snrun *run)
{
	json_object *root = snrun_status(run);

	json_object_object_del(root, "ok");
	/* Before there is a plan it has no ranks either. */
	json_object_object_add(root, "ranks", json_object_new_int64(
		run->plan.n_nodes ? run->plan.layout.world : 0));
	add_names(root, "nodes", &run->plan, false);
	json_object_object_add(root, "on", on(&run->plan));
	add_names(root, "spares", &run->plan, true);
	json_object_object_add(root, "requests", json_object_new_int64(run->ckpt.requests));
	return root;
}

char *snrun_link_essence(struct json_object *state)
{
	static const char *const figures[] = {
		"since_safe", "since_memory", "memory_iteration", "checkpoint_age",
		"checkpoint_iteration", "progress",
		"account",
	};
	json_object *copy = NULL;
	const char *text = NULL;
	char *ret;

	if (!json_object_deep_copy(state, &copy, NULL)) {
		for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
			json_object_object_del(copy, figures[i]);
		text = json_object_to_json_string_ext(copy, JSON_C_TO_STRING_PLAIN);
	}
	ret = text ? strdup(text) : NULL;
	json_object_put(copy);
	return ret;
}
