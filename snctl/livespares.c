/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livespares.c - which nodes of a running job are its spares, and which are held as
 * SpareNodes.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "snctl/live.h"
#include "topology/hostlist.h"
#include "topology/spares.h"

/* No job has anything of it, and every card may be given out. */
static bool is_wholly_free(const struct live_node *node)
{
	return node->info && node->up && !node->late &&
		live_free(node) == node->cards &&
		node->cpus_free == node->info->cpus_efctv;
}

char *live_held_nodes(const struct live *live, uint32_t s)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[s];
	const char **name = calloc((size_t)sn->n_nodes + 1, sizeof(*name));
	uint32_t left = sn->spare_nodes, at = sn->n_nodes;
	char *list = NULL;

	for (uint32_t k = sn->n_nodes; name && k-- > 0 && left; ) {
		uint32_t n = sn->first_node + k;

		if (!is_wholly_free(&live->node[n]))
			continue;
		name[--at] = live->topo->node[n].name;
		left--;
	}
	if (name && at < sn->n_nodes)
		list = sn_hostlist_compress(&name[at], sn->n_nodes - at);
	free(name);
	return list;
}

struct at {
	struct sn_spares_node node;
	uint32_t i; /* in the job's nodes */
};

static int by_topology(const void *a, const void *b)
{
	uint32_t x = ((const struct at *)a)->node.node;
	uint32_t y = ((const struct at *)b)->node.node;

	return x < y ? -1 : x > y;
}

int live_find_spares(const struct live *live, struct live_job *job,
		     struct sn_err *err)
{
	size_t n = job->n_nodes;
	struct at *at = calloc(n + 1, sizeof(*at));
	struct sn_spares_node *node = calloc(n + 1, sizeof(*node));
	uint32_t *ranks = calloc(n + 1, sizeof(*ranks));
	int rc = 0;

	job->spare = calloc(n + 1, sizeof(*job->spare));
	if (!at || !node || !ranks || !job->spare)
		rc = sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; !rc && i < n; i++)
		at[i] = (struct at) {
			{ job->node[i], (uint32_t)__builtin_popcountll(job->node_cards[i]) }, i,
		};
	if (!rc)
		qsort(at, n, sizeof(*at), by_topology);
	for (uint32_t i = 0; !rc && i < n; i++)
		node[i] = at[i].node;
	/* Where too much was lost, none can be told from the others. */
	if (!rc && !sn_spares_find(live->topo, &job->spec.layout, job->spec.spares,
				   node, (uint32_t)n, ranks, NULL, NULL))
		for (uint32_t i = 0; i < n; i++) {
			job->spare[at[i].i] = !ranks[i];
			job->n_spares += !ranks[i];
		}
	free(at);
	free(node);
	free(ranks);
	return rc;
}

uint32_t live_most_nodes(const struct live *live, const struct live_job *job)
{
	const slurm_job_info_t *info = job->info;
	const struct sn_layout *l = &job->spec.layout;
	uint32_t room = sn_spares_most(l, job->spec.spares);
	uint32_t per_node = l->node_block ?
		live->most_cards / l->node_block * l->node_block : 0;

	if (!info->max_nodes || info->max_nodes == NO_VAL || info->max_nodes == INFINITE)
		return 0;
	/* Without -N, slurmctld first shows the fewest nodes as the most as well;
	 * with it, there is room for spares. */
	if (room && per_node && info->max_nodes <= info->num_nodes &&
	    info->num_nodes <= (l->world + per_node - 1) / per_node)
		return 0;
	return info->max_nodes > room ? info->max_nodes - room : info->max_nodes;
}
