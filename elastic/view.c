/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.c - tables of nodes and jobs.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/view.h"

struct sn_view_nodes *sn_view_nodes_use(struct sn_view_nodes *nodes)
{
	if (nodes)
		__atomic_add_fetch(&nodes->users, 1, __ATOMIC_RELAXED);
	return nodes;
}

void sn_view_nodes_free(struct sn_view_nodes *nodes)
{
	if (!nodes || __atomic_sub_fetch(&nodes->users, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; nodes->node && i < nodes->n; i++) {
		free(nodes->node[i].name);
		free(nodes->node[i].address);
		free(nodes->node[i].host);
		free(nodes->node[i].extra);
	}
	free(nodes->node);
	free(nodes->by_name);
	free(nodes);
}

struct sn_view_jobs *sn_view_jobs_use(struct sn_view_jobs *jobs)
{
	if (jobs)
		__atomic_add_fetch(&jobs->users, 1, __ATOMIC_RELAXED);
	return jobs;
}

void sn_view_jobs_free(struct sn_view_jobs *jobs)
{
	if (!jobs || __atomic_sub_fetch(&jobs->users, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; jobs->job && i < jobs->n; i++) {
		free(jobs->job[i].node);
		free(jobs->job[i].cards);
	}
	free(jobs->job);
	free(jobs);
}

struct sn_view_nodes *sn_view_nodes_new(uint32_t n)
{
	struct sn_view_nodes *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->users = 1;
	v->n = n;
	v->node = calloc((size_t)n + 1, sizeof(*v->node));
	v->by_name = calloc((size_t)n + 1, sizeof(*v->by_name));
	if (!v->node || !v->by_name) {
		sn_view_nodes_free(v);
		return NULL;
	}
	return v;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct sn_view_node *node = arg;

	return strcmp(node[*(const uint32_t *)a].name, node[*(const uint32_t *)b].name);
}

int sn_view_nodes_seal(struct sn_view_nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		struct sn_view_node *n = &nodes->node[i];

		if (!n->name || !n->address || !n->host || !n->extra)
			return -ENOMEM;
		nodes->by_name[i] = i;
	}
	qsort_r(nodes->by_name, nodes->n, sizeof(*nodes->by_name), by_name, nodes->node);
	return 0;
}

struct sn_view_jobs *sn_view_jobs_new(uint32_t n)
{
	struct sn_view_jobs *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->users = 1;
	v->n = n;
	v->job = calloc((size_t)n + 1, sizeof(*v->job));
	if (!v->job) {
		free(v);
		return NULL;
	}
	return v;
}

const struct sn_view_node *sn_view_node(const struct sn_view_nodes *nodes, const char *name)
{
	uint32_t lo = 0, hi = nodes ? nodes->n : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct sn_view_node *n = &nodes->node[nodes->by_name[mid]];
		int cmp = strcmp(name, n->name);

		if (!cmp)
			return n;
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

const struct sn_view_job *sn_view_job(const struct sn_view_jobs *jobs, uint32_t id)
{
	uint32_t lo = 0, hi = jobs ? jobs->n : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (jobs->job[mid].id == id)
			return &jobs->job[mid];
		if (id < jobs->job[mid].id)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

uint64_t sn_view_job_cards(const struct sn_view_nodes *nodes, const struct sn_view_job *job,
			   const char *node)
{
	for (uint32_t i = 0; nodes && i < job->n_nodes; i++)
		if (job->node[i] < nodes->n && !strcmp(nodes->node[job->node[i]].name, node))
			return job->cards[i];
	return 0;
}
