/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actregion.c - take a pool region with a name out of the nodes' records.
 *
 * On which nodes it is, their records say: so one that was made on some of its nodes
 * only, and one whose deletion stopped half-way, are gone from all when this is done.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "elastic/actslurm.h"
#include "launcher/poolbook.h"
#include "snctl/nodeextra.h"

/* Is it there? A record that cannot be read has none. */
static bool find(const char *extra, const struct sn_act *act, struct sn_poolbook_entry *ret)
{
	return !sn_poolbook_find(extra, act->region, ret, NULL) && ret->id == act->incarnation;
}

static int take_out(void *ctx, const char *node, const char *extra, char **ret,
		    struct sn_err *err)
{
	struct sn_poolbook_entry entry;

	(void)node;
	if (!find(extra, ctx, &entry)) {
		*ret = strdup(extra ? extra : "");
		return *ret ? 0 : sn_err_set(err, -ENOMEM, "no memory");
	}
	entry.bytes = 0;
	return sn_poolbook_write(extra, &entry, ret, err);
}

int sn_act_region_out(const struct sn_act *act, enum sn_act_end *ret, struct sn_err *text)
{
	struct sn_poolbook_entry entry;
	node_info_msg_t *msg = NULL;
	const char **node;
	uint32_t n = 0;
	int rc = 0;

	if (slurm_load_node(0, &msg, SHOW_ALL))
		return sn_err_set(text, -EIO, "slurmctld does not tell of its nodes: %s",
				  slurm_strerror(errno));
	node = calloc((size_t)msg->record_count + 1, sizeof(*node));
	if (!node)
		rc = sn_err_set(text, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < msg->record_count && node; i++)
		if (msg->node_array[i].name && find(msg->node_array[i].extra, act, &entry))
			node[n++] = msg->node_array[i].name;
	if (!rc && n)
		rc = nodeextra_change(node, n, take_out, (void *)act, text);
	free(node);
	slurm_free_node_info_msg(msg);
	if (rc)
		return rc;
	*ret = n ? SN_ACT_DONE : SN_ACT_ALREADY;
	if (n)
		sn_err_set(text, 0, "from %u node%s", n, n == 1 ? "" : "s");
	else
		sn_err_set(text, 0, "no record has it");
	return 0;
}
