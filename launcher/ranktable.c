/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktable.c - a rank table from a plan: is its order of ranks one that the
 * version takes, and where to is it written?
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "launcher/ranktable.h"
#include "launcher/writefile.h"
#include "topology/text.h"

#define SHOWN_NODES 4 /* of an order, in a sentence */

int sn_ranktable_wants(const struct sn_plan *plan, struct sn_inv_want **ret,
		       uint32_t *ret_n, struct sn_err *err)
{
	struct sn_inv_want *want = calloc(plan->n_nodes + 1, sizeof(*want));
	uint32_t n = 0;

	if (!want)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *node = &plan->node[i];

		if (node->ranks) /* its ranks have its first cards */
			want[n++] = (struct sn_inv_want){
				node->name, plan->supernode[node->supernode],
				node->card, node->ranks };
	}
	*ret = want;
	*ret_n = n;
	return 0;
}

/* "n001 0-7, n002 8-15, …": the plan's nodes with consecutive ranks. */
static void add_order(const struct sn_plan *plan, struct sn_buf *buf)
{
	uint32_t rank = 0, shown = 0;

	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *node = &plan->node[i];

		if (!node->ranks)
			continue;
		if (shown++ == SHOWN_NODES) {
			sn_buf_add(buf, ", …");
			return;
		}
		sn_buf_add(buf, "%s%s %u-%u", shown > 1 ? ", " : "", node->name, rank,
			   rank + node->ranks - 1);
		rank += node->ranks;
	}
}

/* Say what is wrong (the sentence's begin), and what would be right. */
static int bad_order(const struct sn_plan *plan, enum sn_rank_table version,
		     struct sn_buf *wrong, struct sn_err *err)
{
	const struct sn_layout *l = &plan->layout;
	struct sn_buf order = { 0 };
	const char *how = "the order of ranks that works is";
	int rc;

	if (l->map == SN_MAP_AUTO)
		how = "use map=contiguous; the order that works is";
	else if (l->preset == SN_PRESET_VLLM && l->pp > 1) /* see layout.h */
		how = "preset=vllm with pp > 1 needs all ranks in one supernode; the order that works is";
	add_order(plan, &order);
	if (wrong->failed || order.failed)
		rc = sn_err_set(err, -ENOMEM, "no memory");
	else
		rc = sn_err_set(err, -EINVAL, "rank table %s: %s; %s %s",
				sn_rank_table_name(version), wrong->text, how, order.text);
	sn_buf_done(wrong);
	sn_buf_done(&order);
	return rc;
}

static int consecutive(const struct sn_plan *plan, uint32_t i,
		       enum sn_rank_table version, struct sn_err *err)
{
	const struct sn_plan_node *node = &plan->node[i];
	const uint32_t *rank = plan->rank_at + node->first;
	struct sn_buf wrong = { 0 };

	for (uint32_t k = 1; k < node->ranks; k++) {
		if (rank[k] == rank[k - 1] + 1)
			continue;
		sn_buf_add(&wrong, "%s has ranks %u to %u and then %u, on other nodes are those between, and HCCL wants the ranks of a server consecutive",
			   node->name, rank[0], rank[k - 1], rank[k]);
		return bad_order(plan, version, &wrong, err);
	}
	return 0;
}

static int together(const struct sn_plan *plan, const struct sn_inventory *inv,
		    const uint32_t *order, uint32_t n, struct sn_err *err)
{
	struct json_object *seen = json_object_new_object();
	struct sn_buf wrong = { 0 };
	const char *before = NULL;
	int rc = seen ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	for (uint32_t i = 0; i < n && !rc; i++) {
		const struct sn_plan_node *node = &plan->node[order[i]];
		const char *pod = sn_inventory_find(inv, node->name)->super_pod_id;

		if (before && !strcmp(pod, before))
			continue;
		before = pod;
		if (json_object_object_get_ex(seen, pod, NULL)) {
			sn_buf_add(&wrong, "%s of super pod \"%.64s\" has ranks from %u on, behind those of another super pod, and HCCL wants the servers of a super pod together",
				   node->name, pod, plan->rank_at[node->first]);
			rc = bad_order(plan, SN_RANK_TABLE_1_2, &wrong, err);
		} else if (json_object_object_add(seen, pod, NULL)) {
			rc = sn_err_set(err, -ENOMEM, "no memory");
		}
	}
	json_object_put(seen);
	return rc;
}

/* The plan's nodes that run ranks, by their first rank. */
static uint32_t order_nodes(const struct sn_plan *plan, uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < plan->layout.world; r++)
		if (r == plan->rank_at[plan->node[plan->rank_node[r]].first])
			order[n++] = plan->rank_node[r];
	return n;
}

int sn_ranktable_build(const struct sn_plan *plan,
		       const struct sn_inventory *inv,
		       enum sn_rank_table version, char **ret_text,
		       struct sn_err *err)
{
	uint32_t *order = calloc(plan->n_nodes + 1, sizeof(*order)), n;
	struct json_object *root = NULL;
	struct sn_ranktable table;
	const char *text = NULL;
	int rc;

	if (!order)
		return sn_err_set(err, -ENOMEM, "no memory");
	n = order_nodes(plan, order);
	rc = sn_inventory_fits(inv, version, true, err);
	if (version != SN_RANK_TABLE_2_0) {
		for (uint32_t i = 0; i < plan->n_nodes && !rc; i++)
			rc = consecutive(plan, i, version, err);
		if (!rc && version == SN_RANK_TABLE_1_2)
			rc = together(plan, inv, order, n, err);
	}
	if (!rc) {
		root = version == SN_RANK_TABLE_2_0 ? sn_rt_build_2(plan, inv) :
			sn_rt_build_1(plan, inv, order, n, version);
		text = root ? json_object_to_json_string_ext(
			root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
		if (!text || asprintf(ret_text, "%s\n", text) < 0) {
			*ret_text = NULL;
			rc = sn_err_set(err, -ENOMEM, "no memory");
		}
	}
	/* The rules that no one looked at above, by the table itself. */
	if (!rc) {
		rc = sn_ranktable_parse(*ret_text, strlen(*ret_text), "rank table", &table, err);
		if (rc) {
			free(*ret_text);
			*ret_text = NULL;
		} else {
			sn_ranktable_done(&table);
		}
	}
	json_object_put(root);
	free(order);
	return rc;
}

static int remove_old(const char *dir, struct sn_err *err)
{
	int fd, rc = sn_dir_open(dir, &fd, err);

	if (rc)
		return rc;
	if (unlinkat(fd, SN_RT_FILE, 0) && errno != ENOENT)
		rc = sn_err_set(err, -errno, "%s/%s: an earlier start's table cannot be removed: %s",
				dir, SN_RT_FILE, strerror(errno));
	close(fd);
	return rc;
}

static int write_and_judge(const struct sn_plan *plan,
			   const struct sn_inventory *inv,
			   enum sn_rank_table version, const char *dir,
			   const char *text, struct sn_err *err)
{
	char *path = NULL;
	int rc = sn_write_file(dir, SN_RT_FILE, text, strlen(text), err);

	if (rc)
		return rc;
	if (asprintf(&path, "%s/%s", dir, SN_RT_FILE) < 0)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = sn_ranktable_judge(path, plan, inv, version, err);
	free(path);
	return rc;
}

/* *ret_inv and *ret_text are the caller's also where it fails. */
static int make(const struct sn_plan *plan, const struct sn_policy *policy,
		const struct sn_inv_cache *cache, struct sn_inventory *ret_inv,
		char **ret_text, struct sn_err *err)
{
	struct sn_inv_want *want;
	uint32_t n;
	int rc = sn_ranktable_wants(plan, &want, &n, err);

	if (rc)
		return rc;
	rc = sn_inventory_load(policy, want, n, cache, ret_inv, err);
	if (!rc)
		rc = sn_ranktable_build(plan, ret_inv, policy->rank_table, ret_text, err);
	free(want);
	return rc;
}

int sn_ranktable_write(const struct sn_plan *plan,
		       const struct sn_policy *policy, const char *dir,
		       struct sn_err *err)
{
	/* A relaunch finds the machines that the start found. */
	const struct sn_inv_cache cache = { dir, !plan->generation };
	struct sn_inventory inv = { 0 };
	char *text = NULL;
	int rc;

	/* Whoever reads the directory meanwhile finds no table rather than an
	 * earlier start's. */
	rc = remove_old(dir, err);
	if (rc || policy->rank_table == SN_RANK_TABLE_NONE)
		return rc;
	rc = make(plan, policy, &cache, &inv, &text, err);
	if (!rc)
		rc = write_and_judge(plan, &inv, policy->rank_table, dir, text, err);
	free(text);
	sn_inventory_done(&inv);
	return rc ? rc : 1;
}

int sn_ranktable_try(const struct sn_plan *plan, const struct sn_policy *policy,
		     struct sn_err *err)
{
	struct sn_inventory inv = { 0 };
	char *text = NULL;
	int rc = 0;

	if (policy->rank_table != SN_RANK_TABLE_NONE)
		rc = make(plan, policy, NULL, &inv, &text, err);
	free(text);
	sn_inventory_done(&inv);
	return rc;
}
