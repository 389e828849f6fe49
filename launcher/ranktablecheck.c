/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktablecheck.c - read any rank table, and is an existing one this plan's?
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/ranktable.h"
#include "snctl/jsonread.h"
#include "snctl/readfile.h"
#include "topology/text.h"

void sn_ranktable_done(struct sn_ranktable *table)
{
	free(table->rank);
	json_object_put(table->root);
	memset(table, 0, sizeof(*table));
}

static int read_head(struct sn_ranktable *table, const char *file,
		     struct sn_err *err)
{
	struct json_object *version, *status;
	const char *text;

	if (!json_object_is_type(table->root, json_type_object))
		return sn_err_set(err, -EINVAL, "%s: is %s, want an object", file,
				  snctl_json_kind(table->root));
	if (!json_object_object_get_ex(table->root, "version", &version) ||
	    !json_object_is_type(version, json_type_string))
		return sn_err_set(err, -EINVAL, "%s: has no version \"1.0\", \"1.2\" or \"2.0\"; this is no rank table",
				  file);
	text = json_object_get_string(version);
	for (int v = SN_RANK_TABLE_1_0; v <= SN_RANK_TABLE_2_0; v++)
		if (!strcmp(text, sn_rank_table_name(v)))
			table->version = v;
	if (!table->version)
		return sn_err_set(err, -EINVAL, "%s: version is \"%.16s\", want 1.0, 1.2 or 2.0",
				  file, text);
	if (!json_object_object_get_ex(table->root, "status", &status))
		return table->version == SN_RANK_TABLE_2_0 ? 0 :
			sn_err_set(err, -EINVAL, "%s: has no status", file);
	text = json_object_get_string(status);
	if (json_object_is_type(status, json_type_string) && !strcmp(text, "completed"))
		return 0;
	if (json_object_is_type(status, json_type_string) && !strcmp(text, "initializing"))
		return sn_err_set(err, -EAGAIN, "%s: status is \"initializing\": the table is not finished yet",
				  file);
	return sn_err_set(err, -EINVAL, "%s: status is %.40s, want \"completed\"", file,
			  text ? text : "null");
}

int sn_ranktable_parse(const char *text, size_t len, const char *file,
		       struct sn_ranktable *ret, struct sn_err *err)
{
	struct sn_ranktable table = { 0 };
	size_t end = len;
	int rc;

	while (end && strchr(" \t\r\n", text[end - 1]) && text[end - 1])
		end--;
	if (!end)
		return sn_err_set(err, -EAGAIN, "%s: is empty: whoever writes it has not finished, or its disk is full",
				  file);
	rc = snctl_json_parse(text, len, file, &table.root, err);
	if (rc) /* a whole table ends with its brace */
		return text[end - 1] == '}' ? rc :
			sn_err_prefix(err, -EAGAIN, "half-written rank table: ");
	rc = read_head(&table, file, err);
	if (!rc)
		rc = table.version == SN_RANK_TABLE_2_0 ?
			sn_rt_check_2(&table, file, err) : sn_rt_check_1(&table, file, err);
	if (rc) {
		sn_ranktable_done(&table);
		return rc;
	}
	*ret = table;
	return 0;
}

#define STALE "; it is of an earlier start, and snrun writes this one's"

/* Others name servers by addresses; then nothing can be told from the names. */
static bool names_nodes(const struct sn_ranktable *table,
			const struct sn_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_nodes; i++)
		for (uint32_t r = 0; r < table->n_ranks; r++)
			if (!strcmp(table->rank[r].server_id, plan->node[i].name))
				return true;
	return false;
}

/* One rank of the table against the plan and, where it is known, the inventory. */
static int judge_rank(const struct sn_ranktable *table, const char *path,
		      const struct sn_plan *plan, uint32_t r, bool named,
		      const struct sn_inventory *inv, struct sn_err *err)
{
	const struct sn_plan_node *node = &plan->node[plan->rank_node[r]];
	const struct sn_rt_rank *rank = &table->rank[r];
	const struct sn_inv_node *server = inv ? sn_inventory_find(inv, node->name) : NULL;
	const struct sn_inv_card *card = server ? sn_inv_node_card(server, plan->rank_card[r]) : NULL;
	const char *id = server ? sn_inv_server_id(server) : node->name;

	if (inv && !card)
		return sn_err_set(err, -ENOENT, "inventory: card %u of %s is not in it",
				  plan->rank_card[r], node->name);
	if (named && table->version != SN_RANK_TABLE_2_0 && strcmp(rank->server_id, id))
		return sn_err_set(err, -ESTALE, "%s: rank %u is on server \"%s\", and in generation %u of job %u it runs on %s%s%s" STALE,
				  path, r, rank->server_id, plan->generation, plan->job_id,
				  node->name, strcmp(id, node->name) ? ", server_id " : "",
				  strcmp(id, node->name) ? id : "");
	if (!card)
		return 0;
	if (rank->device_id != card->device_id)
		return sn_err_set(err, -ESTALE, "%s: rank %u has device %u, and in generation %u of job %u it has device %u of %s" STALE,
				  path, r, rank->device_id, plan->generation, plan->job_id,
				  card->device_id, node->name);
	if (table->version == SN_RANK_TABLE_2_0)
		return json_object_equal(rank->levels, card->levels) ? 0 :
			sn_err_set(err, -ESTALE, "%s: the level_list of rank %u is not that of card %u of %s in the inventory" STALE,
				   path, r, card->card, node->name);
	if (rank->device_ip && card->device_ip && strcmp(rank->device_ip, card->device_ip))
		return sn_err_set(err, -ESTALE, "%s: rank %u has device_ip %s, and card %u of %s has %s in the inventory" STALE,
				  path, r, rank->device_ip, card->card, node->name,
				  card->device_ip);
	if (rank->has_super_device_id && card->has_super_device_id &&
	    rank->super_device_id != card->super_device_id)
		return sn_err_set(err, -ESTALE, "%s: rank %u has super_device_id %u, and card %u of %s has %u in the inventory" STALE,
				  path, r, rank->super_device_id, card->card, node->name,
				  card->super_device_id);
	return 0;
}

int sn_ranktable_judge(const char *path, const struct sn_plan *plan,
		       const struct sn_inventory *inv,
		       enum sn_rank_table version, struct sn_err *err)
{
	struct sn_ranktable table;
	bool named;
	char *text;
	size_t len;
	int rc = snctl_read_file(path, &text, &len, err);

	if (rc == -ENOENT)
		return sn_err_set(err, rc, "%s: there is no rank table; snrun writes it", path);
	if (rc)
		return rc;
	rc = sn_ranktable_parse(text, len, path, &table, err);
	free(text);
	if (rc)
		return rc;
	named = inv || names_nodes(&table, plan);
	if (version && table.version != version)
		rc = sn_err_set(err, -ESTALE, "%s: has version %s, and RankTable=%s in supernode.conf; a card refuses another generation's table (EI0014)",
				path, sn_rank_table_name(table.version),
				sn_rank_table_name(version));
	else if (table.n_ranks != plan->layout.world)
		rc = sn_err_set(err, -ESTALE, "%s: has %u ranks, and the job %u" STALE, path,
				table.n_ranks, plan->layout.world);
	for (uint32_t r = 0; r < plan->layout.world && !rc; r++)
		rc = judge_rank(&table, path, plan, r, named, inv, err);
	sn_ranktable_done(&table);
	return rc;
}
