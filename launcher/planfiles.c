/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * planfiles.c - write the files of the job directory that say who is where.
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/planfiles.h"
#include "launcher/writefile.h"
#include "topology/dpsplit.h"
#include "topology/groups.h"
#include "topology/text.h"

#define FLAGS JSON_C_TO_STRING_NOSLASHESCAPE

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "not enough memory for the job's files");
}

static void add_int(json_object *to, const char *key, uint32_t value)
{
	json_object_object_add(to, key, json_object_new_int64(value));
}

static void add_text(json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static json_object *list(const uint32_t *value, size_t n)
{
	json_object *to = json_object_new_array_ext((int)n);

	for (size_t i = 0; to && i < n; i++)
		if (json_object_array_add(to, json_object_new_int64(value[i])))
			break;
	return to;
}

/* Takes root. */
static int finish(json_object *root, char **ret, struct sn_err *err)
{
	const char *text = root ? json_object_to_json_string_ext(root, FLAGS) :
		NULL;
	size_t len = text ? strlen(text) : 0;
	char *to = text ? malloc(len + 2) : NULL;

	if (to) {
		memcpy(to, text, len);
		memcpy(to + len, "\n", 2);
	}
	json_object_put(root);
	*ret = to;
	return to ? 0 : no_memory(err);
}

static void add_sizes(json_object *to, const struct sn_layout *l)
{
	add_int(to, "tp", l->tp);
	add_int(to, "cp", l->cp);
	add_int(to, "pp", l->pp);
	add_int(to, "dp", l->dp);
	add_int(to, "ep", l->ep);
	add_int(to, "etp", l->etp);
	add_int(to, "edp", l->edp);
}

/* ---- layout.json ---- */

static json_object *node_json(const struct sn_plan *plan,
			      const struct sn_plan_node *node)
{
	json_object *to = json_object_new_object();

	add_text(to, "name", node->name);
	add_text(to, "address", node->address);
	if (node->origin)
		add_text(to, "origin", node->origin);
	add_text(to, "supernode", plan->supernode[node->supernode]);
	if (node->unit != SN_NONE)
		add_int(to, "unit", node->unit);
	json_object_object_add(to, "cards", list(node->card, node->n_cards));
	add_int(to, "ranks", node->ranks);
	json_object_object_add(to, "spare", json_object_new_boolean(!node->ranks));
	return to;
}

static json_object *layout_json(const struct sn_layout *l)
{
	json_object *to = json_object_new_object();
	char spec[SN_LAYOUT_TEXT_MAX];

	sn_layout_format(l, spec, sizeof(spec));
	add_sizes(to, l);
	add_int(to, "world", l->world);
	add_text(to, "order", sn_order_name(l->order));
	add_text(to, "spec", spec);
	return to;
}

int sn_planfile_layout(const struct sn_plan *plan, char **ret,
		       struct sn_err *err)
{
	json_object *root = json_object_new_object(), *atom, *nodes, *ranks, *in;
	const struct sn_layout *l = &plan->layout;

	atom = json_object_new_object();
	nodes = json_object_new_array_ext((int)plan->n_nodes + 1);
	ranks = json_object_new_array_ext((int)l->world);
	in = json_object_new_array_ext((int)l->world);
	if (!root || !atom || !nodes || !ranks || !in) {
		json_object_put(root);
		json_object_put(atom);
		json_object_put(nodes);
		json_object_put(ranks);
		json_object_put(in);
		return no_memory(err);
	}
	add_int(root, "job", plan->job_id);
	add_int(root, "generation", plan->generation);
	add_int(root, "master_port", plan->master_port);
	json_object_object_add(root, "layout", layout_json(l));
	add_int(atom, "ranks", l->atom);
	add_int(atom, "count", l->world / l->atom);
	json_object_object_add(root, "atom", atom);
	json_object_object_add(root, "nodes", nodes);
	json_object_object_add(root, "ranks", ranks);
	json_object_object_add(root, "supernodes", in);
	for (uint32_t i = 0; i < plan->n_nodes; i++)
		json_object_array_add(nodes, node_json(plan, &plan->node[i]));
	for (uint32_t r = 0; r < l->world; r++) {
		const struct sn_plan_node *node = &plan->node[plan->rank_node[r]];
		json_object *pair = json_object_new_array_ext(2);

		if (!pair)
			break;
		json_object_array_add(pair, json_object_new_string(node->name));
		json_object_array_add(pair, json_object_new_int64(plan->rank_card[r]));
		json_object_array_add(ranks, pair);
		json_object_array_add(in, json_object_new_string(
					      plan->supernode[node->supernode]));
	}
	if (json_object_array_length(in) != l->world) {
		json_object_put(root);
		return no_memory(err);
	}
	return finish(root, ret, err);
}

/* ---- groups.json ---- */

static json_object *sets_json(const struct sn_ranksets *sets)
{
	json_object *to = json_object_new_array_ext((int)sets->n + 1);

	for (uint32_t i = 0; to && i < sets->n; i++)
		json_object_array_add(to, list(sets->rank + sets->first[i],
					       sets->first[i + 1] - sets->first[i]));
	return to;
}

static int split_dp(const struct sn_plan *plan, const struct sn_groups *dp,
		    struct sn_dpsplit *ret, struct sn_err *err)
{
	uint32_t world = plan->layout.world;
	uint32_t *in = malloc((size_t)world * sizeof(*in));
	int rc;

	if (!in)
		return no_memory(err);
	for (uint32_t r = 0; r < world; r++)
		in[r] = plan->node[plan->rank_node[r]].supernode;
	rc = sn_dpsplit_build(dp, in, plan->n_supernodes, ret, err);
	free(in);
	return rc;
}

static int add_kind(const struct sn_plan *plan, enum sn_group_kind kind,
		    json_object *to, struct sn_err *err)
{
	struct sn_dpsplit split = { 0 };
	struct sn_groups g;
	json_object *groups;
	int rc = sn_groups_build(&plan->layout, kind, &g, err);

	if (rc)
		return rc;
	groups = json_object_new_array_ext((int)g.n);
	for (uint32_t i = 0; groups && i < g.n; i++)
		json_object_array_add(groups, list(g.rank + (size_t)i * g.size,
						   g.size));
	json_object_object_add(to, sn_group_name(kind), groups);
	if (kind == SN_GROUP_DP) {
		rc = split_dp(plan, &g, &split, err);
		if (!rc) {
			json_object_object_add(to, "dp_intra", sets_json(&split.intra));
			json_object_object_add(to, "dp_inter", sets_json(&split.inter));
		}
		sn_dpsplit_done(&split);
	}
	sn_groups_done(&g);
	return rc ? rc : groups ? 0 : no_memory(err);
}

int sn_planfile_groups(const struct sn_plan *plan, char **ret,
		       struct sn_err *err)
{
	json_object *root = json_object_new_object();
	json_object *groups = json_object_new_object();
	int rc = 0;

	if (!root || !groups) {
		json_object_put(root);
		json_object_put(groups);
		return no_memory(err);
	}
	add_int(root, "world", plan->layout.world);
	add_text(root, "order", sn_order_name(plan->layout.order));
	add_sizes(root, &plan->layout);
	json_object_object_add(root, "groups", groups);
	for (int kind = 0; !rc && kind < SN_GROUP_KINDS; kind++)
		rc = add_kind(plan, (enum sn_group_kind)kind, groups, err);
	if (!rc)
		return finish(root, ret, err);
	json_object_put(root);
	return rc;
}

/* ---- parallel_group.json ---- */

static void add_comm(json_object *root, const char *kind, uint32_t number,
		     const uint32_t *rank, uint32_t n)
{
	json_object *comm;
	char name[64];

	if (n < 2)
		return;
	comm = json_object_new_object();
	snprintf(name, sizeof(name), "%s_%u", kind, number);
	add_text(comm, "group_name", kind);
	add_int(comm, "group_rank", 0);
	json_object_object_add(comm, "global_ranks", list(rank, n));
	json_object_object_add(root, name, comm);
}

static void add_comms(json_object *root, const char *kind,
		      const struct sn_ranksets *sets)
{
	for (uint32_t i = 0; i < sets->n; i++)
		add_comm(root, kind, i, sets->rank + sets->first[i],
			 sets->first[i + 1] - sets->first[i]);
}

int sn_planfile_parallel_group(const struct sn_plan *plan, char **ret,
			       struct sn_err *err)
{
	json_object *root = json_object_new_object();
	int rc = root ? 0 : no_memory(err);

	for (int kind = 0; !rc && kind < SN_GROUP_KINDS; kind++) {
		struct sn_dpsplit split = { 0 };
		struct sn_groups g;

		rc = sn_groups_build(&plan->layout, (enum sn_group_kind)kind, &g,
				     err);
		if (rc)
			break;
		for (uint32_t i = 0; i < g.n; i++)
			add_comm(root, sn_group_name((enum sn_group_kind)kind), i,
				 g.rank + (size_t)i * g.size, g.size);
		if (kind == SN_GROUP_DP) {
			rc = split_dp(plan, &g, &split, err);
			if (!rc) {
				add_comms(root, "dp_intra", &split.intra);
				add_comms(root, "dp_inter", &split.inter);
			}
			sn_dpsplit_done(&split);
		}
		sn_groups_done(&g);
	}
	if (!rc)
		return finish(root, ret, err);
	json_object_put(root);
	return rc;
}

/* ---- hostfile, and all of them ---- */

int sn_planfile_hostfile(const struct sn_plan *plan, char **ret,
			 struct sn_err *err)
{
	struct sn_buf buf = { 0 };

	for (uint32_t r = 0; r < plan->layout.world; r++)
		sn_buf_add(&buf, "%s\n", plan->node[plan->rank_node[r]].name);
	*ret = buf.text;
	return buf.text ? 0 : no_memory(err);
}

static int write_text(const char *dir, const char *name, char *text,
		      struct sn_err *err)
{
	int rc = sn_write_file(dir, name, text, strlen(text), err);

	free(text);
	return rc;
}

int sn_planfiles_write(const struct sn_plan *plan, const char *dir,
		       sn_planfiles_hook *hook, void *ctx, struct sn_err *err)
{
	static const struct {
		const char *name;
		int (*make)(const struct sn_plan *, char **, struct sn_err *);
	} files[] = {
		{ SN_LAYOUT_JSON, sn_planfile_layout },
		{ SN_GROUPS_JSON, sn_planfile_groups },
		{ SN_PARALLEL_GROUP_JSON, sn_planfile_parallel_group },
		{ SN_HOSTFILE, sn_planfile_hostfile },
	};
	char number[16], *text;
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(files) / sizeof(files[0]); i++) {
		rc = files[i].make(plan, &text, err);
		if (!rc)
			rc = write_text(dir, files[i].name, text, err);
	}
	if (!rc && hook)
		rc = hook(plan, dir, ctx, err);
	if (rc)
		return rc;
	snprintf(number, sizeof(number), "%u\n", plan->generation);
	return sn_write_file(dir, SN_GENERATION, number, strlen(number), err);
}
