/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * warnrecords.c - marks in the records of nodes that cannot be read.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "launcher/cardbook.h"
#include "launcher/poolbook.h"
#include "snctl/slurmconnect.h"
#include "snctl/warn.h"

static int add(struct sn_names *ret, const char *node, const struct sn_err *why)
{
	char *text;
	int rc;

	if (asprintf(&text, "node %s: %s", node, why->text) < 0)
		return -ENOMEM;
	rc = sn_names_add(ret, text);
	free(text);
	return rc;
}

static int look(const node_info_t *node, struct sn_names *ret)
{
	struct sn_poolbook_entry *pool = NULL;
	struct sn_cardbook cards;
	struct sn_err why;
	size_t n = 0;
	int rc = 0;

	if (!node->name || !node->extra)
		return 0;
	if (sn_cardbook_read(node->extra, &cards, &why))
		rc = add(ret, node->name, &why);
	if (!rc && sn_poolbook_read(node->extra, &pool, &n, &why))
		rc = add(ret, node->name, &why);
	free(pool);
	return rc;
}

int snctl_warn_records(struct sn_names *ret, struct sn_err *err)
{
	node_info_msg_t *nodes = NULL;
	int rc = slurmconnect(err);

	if (rc)
		return rc;
	if (slurm_load_node(0, &nodes, SHOW_ALL) || !nodes)
		return sn_err_set(err, -EIO, "slurmctld did not tell its nodes: %s", slurm_strerror(errno));
	for (uint32_t i = 0; i < nodes->record_count && !rc; i++)
		rc = look(&nodes->node_array[i], ret);
	slurm_free_node_info_msg(nodes);
	return rc ? sn_err_set(err, rc, "no memory") : 0;
}
