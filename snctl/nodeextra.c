/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeextra.c - change one thing in the `extra` of node records.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "launcher/slurmapi.h"
#include "snctl/nodeextra.h"

struct change {
	const char *node;
	char *old, *fresh;
	bool written;
};

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int read_extra(const char *node, char **ret, struct sn_err *err)
{
	node_info_msg_t *msg = NULL;
	int rc = 0;

	*ret = NULL;
	if (slurm_load_node_single(&msg, (char *)node, SHOW_ALL) || !msg ||
	    !msg->record_count)
		rc = sn_err_set(err, -EIO, "node %s: slurmctld did not tell its record: %s",
				node, slurm_strerror(errno));
	else if (!(*ret = strdup(or_empty(msg->node_array[0].extra))))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (msg)
		slurm_free_node_info_msg(msg);
	return rc;
}

static int write_extra(const char *node, const char *text, struct sn_err *err)
{
	update_node_msg_t msg;

	slurm_init_update_node_msg(&msg);
	msg.node_names = (char *)node;
	msg.extra = (char *)text;
	if (!slurm_update_node(&msg))
		return 0;
	if (errno == ESLURM_USER_ID_MISSING || errno == ESLURM_ACCESS_DENIED)
		return sn_err_set(err, -EPERM,
				  "only root and SlurmUser can write node records");
	return sn_err_set(err, -EIO, "node %s: slurmctld did not take the change: %s",
			  node, slurm_strerror(errno));
}

static int check(const struct change *c, struct sn_err *err)
{
	char *is;
	int rc = read_extra(c->node, &is, err);

	if (!rc && strcmp(is, c->fresh))
		rc = sn_err_set(err, -EBUSY,
				"node %s: somebody else has written its extra at the same time; try again",
				c->node);
	free(is);
	return rc;
}

/* Reading so many nodes takes a while: of what others wrote since then nothing is
 * lost. */
static int write_one(struct change *c, nodeextra_fn change, void *ctx,
		     struct sn_err *err)
{
	char *is = NULL, *fresh = NULL;
	int rc = read_extra(c->node, &is, err);

	if (!rc && strcmp(is, c->old)) {
		rc = change(ctx, c->node, is, &fresh, err);
		if (!rc) {
			free(c->old);
			free(c->fresh);
			c->old = is;
			c->fresh = fresh;
			is = NULL;
		}
	}
	free(is);
	if (!rc)
		rc = write_extra(c->node, c->fresh, err);
	c->written = !rc;
	return rc;
}

int nodeextra_change(const char *const *node, uint32_t n, nodeextra_fn change,
		     void *ctx, struct sn_err *err)
{
	struct change *all = calloc((size_t)n + 1, sizeof(*all));
	uint32_t i;
	int rc = all ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	for (i = 0; !rc && i < n; i++) {
		all[i].node = node[i];
		rc = read_extra(node[i], &all[i].old, err);
		if (!rc)
			rc = change(ctx, node[i], all[i].old, &all[i].fresh, err);
		if (rc)
			sn_err_prefix(err, rc, "node %s: ", node[i]);
	}
	for (i = 0; !rc && i < n; i++) {
		if (strcmp(all[i].old, all[i].fresh))
			rc = write_one(&all[i], change, ctx, err);
	}
	for (i = 0; !rc && i < n; i++)
		rc = check(&all[i], err);
	for (i = 0; all && i < n; i++) {
		/* Not over what somebody else has put there. */
		if (rc && all[i].written && !check(&all[i], NULL))
			(void)write_extra(node[i], all[i].old, NULL);
		free(all[i].old);
		free(all[i].fresh);
	}
	free(all);
	return rc;
}

int nodeextra_check(const char *const *node, uint32_t n, nodeextra_fn change,
		    void *ctx, struct sn_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < n; i++) {
		char *extra, *fresh = NULL;

		rc = read_extra(node[i], &extra, err);
		if (!rc)
			rc = change(ctx, node[i], extra, &fresh, err);
		if (rc)
			sn_err_prefix(err, rc, "node %s: ", node[i]);
		free(extra);
		free(fresh);
	}
	return rc;
}

int nodeextra_drain(const char *node, const char *reason, struct sn_err *err)
{
	node_info_msg_t *info = NULL;
	update_node_msg_t msg;
	bool is;

	if (slurm_load_node_single(&info, (char *)node, SHOW_ALL) || !info || !info->record_count)
		return sn_err_set(err, -EIO, "node %s: slurmctld did not tell its record: %s",
				  node, slurm_strerror(errno));
	is = info->node_array[0].node_state & NODE_STATE_DRAIN;
	slurm_free_node_info_msg(info);
	if (is)
		return 0;
	slurm_init_update_node_msg(&msg);
	msg.node_names = (char *)node;
	msg.node_state = NODE_STATE_DRAIN;
	msg.reason = (char *)reason;
	sn_api_reason_by(&msg, getuid());
	if (slurm_update_node(&msg))
		return sn_err_set(err, -EIO, "node %s: slurmctld did not drain it: %s", node,
				  slurm_strerror(errno));
	return 0;
}
