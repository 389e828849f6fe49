/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.c - tables of nodes and jobs.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/view.h"

/* A node's strings, one after the other. */
struct sn_view_text {
	uint32_t users; /* atomic */
	char text[];
};

struct sn_view_hold {
	uint32_t users;
	uint64_t mark;
	uint32_t n;
	uint64_t cards[]; /* [n], and the n numbers of the nodes */
};

/* Who still has it? If nobody, it goes. */
static void drop(void *block, uint32_t *users)
{
	if (block && !__atomic_sub_fetch(users, 1, __ATOMIC_ACQ_REL))
		free(block);
}

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
	for (uint32_t i = 0; nodes->node && i < nodes->n; i++)
		drop(nodes->node[i].text, nodes->node[i].text ? &nodes->node[i].text->users : NULL);
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
		drop(jobs->job[i].hold, jobs->job[i].hold ? &jobs->job[i].hold->users : NULL);
		sn_view_ours_free(jobs->job[i].ours);
	}
	free(jobs->job);
	free(jobs);
}

struct sn_view_ours *sn_view_ours_use(struct sn_view_ours *ours)
{
	if (ours)
		__atomic_add_fetch(&ours->users, 1, __ATOMIC_RELAXED);
	return ours;
}

void sn_view_ours_free(struct sn_view_ours *ours)
{
	if (!ours || __atomic_sub_fetch(&ours->users, 1, __ATOMIC_ACQ_REL))
		return;
	free(ours->account);
	free(ours->user);
	free(ours->partition);
	free(ours->comment);
	free(ours->options);
	free(ours->batch_host);
	free(ours->required);
	free(ours);
}

uint32_t sn_view_member_of(const char *comment, uint32_t *ret_restarts)
{
	unsigned int base, restarts;
	int n = 0;

	if (!comment || sscanf(comment, SN_VIEW_MEMBER "%u:%u%n", &base, &restarts, &n) != 2 ||
	    comment[n])
		return 0;
	if (ret_restarts)
		*ret_restarts = restarts;
	return base;
}

/*
 * Slurm has the reason of a user's hold for it, but a text of its own. An operator's hold
 * changes the reason; a release takes the text away. It counts the failed launches of a
 * job's life where a batch job has its 1.
 */
uint32_t sn_view_launch_failures(uint32_t priority, bool held_user, const char *state_desc,
				 uint32_t batch_flag)
{
	if (priority || !held_user || !state_desc ||
	    strcmp(state_desc, "launch failed requeued held"))
		return 0;
	return batch_flag > 1 ? batch_flag - 1 : 1;
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

int sn_view_node_set(struct sn_view_node *node, const char *name, const char *address,
		     const char *host, const char *extra, const struct sn_view_node *old)
{
	size_t a = strlen(name) + 1, b = strlen(address) + 1, c = strlen(host) + 1;
	size_t d = strlen(extra) + 1;

	if (old && old->text && !strcmp(old->name, name) && !strcmp(old->extra, extra) &&
	    !strcmp(old->address, address) && !strcmp(old->host, host)) {
		node->text = old->text;
		__atomic_add_fetch(&node->text->users, 1, __ATOMIC_RELAXED);
		node->name = old->name;
		node->address = old->address;
		node->host = old->host;
		node->extra = old->extra;
		return 0;
	}
	node->text = malloc(sizeof(*node->text) + a + b + c + d);
	if (!node->text)
		return -ENOMEM;
	node->text->users = 1;
	node->name = memcpy(node->text->text, name, a);
	node->address = memcpy(node->text->text + a, address, b);
	node->host = memcpy(node->text->text + a + b, host, c);
	node->extra = memcpy(node->text->text + a + b + c, extra, d);
	return 0;
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

int sn_view_job_hold(struct sn_view_job *job, uint32_t n, uint64_t mark)
{
	struct sn_view_hold *h = calloc(1, sizeof(*h) + n * (sizeof(uint64_t) + sizeof(uint32_t)));

	if (!h)
		return -ENOMEM;
	h->users = 1;
	h->mark = mark;
	h->n = job->n_nodes = n;
	job->hold = h;
	job->cards = h->cards;
	job->node = (uint32_t *)(void *)(h->cards + n);
	return 0;
}

bool sn_view_job_same(struct sn_view_job *job, const struct sn_view_job *old, uint64_t mark)
{
	if (!old || !old->hold || old->hold->mark != mark)
		return false;
	job->hold = old->hold;
	__atomic_add_fetch(&job->hold->users, 1, __ATOMIC_RELAXED);
	job->n_nodes = old->n_nodes;
	job->node = old->node;
	job->cards = old->cards;
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct sn_view_job *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

void sn_view_jobs_seal(struct sn_view_jobs *jobs)
{
	/* slurmctld has them by id but for arrays and what was requeued. */
	for (uint32_t i = 1; i < jobs->n; i++)
		if (jobs->job[i - 1].id > jobs->job[i].id) {
			qsort(jobs->job, jobs->n, sizeof(*jobs->job), by_id);
			return;
		}
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
