/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * why.c - can a pending job be placed, now or later, and what is in the way?
 *
 * The same engine on the same state as the scheduler's. What a client cannot
 * see (memory, reservations of others, backfill's plans) is left out, so a job
 * that fits here may still have to wait; the reason that Slurm gives is shown
 * beside it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/why.h"
#include "topology/hostlist.h"

struct sim {
	const struct live *live;
	const struct live_job *job;
	const bool *allowed; /* [n_nodes] partition and -x */
	const bool *required; /* [n_nodes] -w */
	struct sn_place_node *node;
	struct sn_place_supernode *supernode;
};

static int mark(const struct live *live, const char *list, bool *set, bool value)
{
	struct sn_names names = { 0 };
	int rc = list && *list ? sn_hostlist_expand(list, &names, NULL) : 0;

	for (size_t i = 0; i < names.n; i++) {
		uint32_t n = sn_topo_find_node(live->topo, names.name[i]);

		if (n != SN_NONE)
			set[n] = value;
	}
	sn_names_done(&names);
	return rc == -ENOMEM ? rc : 0;
}

/* A word of the comma separated list? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		if (strcspn(p, ",") == len && !strncmp(p, word, len))
			return true;
	return false;
}

static int find_allowed(const struct live *live, const slurm_job_info_t *info,
			bool *allowed)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < live->partitions->record_count; i++) {
		const partition_info_t *part = &live->partitions->partition_array[i];

		if (!info->partition || has_word(info->partition, part->name))
			rc = mark(live, part->nodes, allowed, true);
	}
	if (!rc)
		rc = mark(live, info->exc_nodes, allowed, false);
	/* Only a single plain feature: what else there is needs Slurm's own
	 * rules, and leaving it out can only promise too much. */
	if (!rc && info->features && !info->features[strcspn(info->features, "&|*[](),")])
		for (uint32_t n = 0; n < live->topo->n_nodes; n++)
			if (live->node[n].info &&
			    !has_word(live->node[n].info->features_act ?
				      live->node[n].info->features_act :
				      live->node[n].info->features, info->features))
				allowed[n] = false;
	return rc;
}

/* When job lets its nodes go; 0: nobody knows. */
static time_t end_of(const struct live_job *job)
{
	if (job->info->job_state & JOB_COMPLETING)
		return 1;
	if (job->info->time_limit == INFINITE || job->info->time_limit == NO_VAL)
		return 0;
	return job->info->end_time;
}

static uint32_t cpus_on(const struct live_job *job, uint32_t i)
{
	uint64_t share = (uint64_t)__builtin_popcountll(job->node_cards[i]);

	if (job->cards)
		return (uint32_t)(job->info->num_cpus * share / job->cards);
	return job->info->num_cpus / job->n_nodes;
}

/* The state once every running job that ends at `until` or before is gone; all
 * of them are, where `all`. */
static int simulate(struct sim *sim, time_t until, bool all, struct sn_err *err)
{
	const struct live *live = sim->live;
	const slurm_job_info_t *info = sim->job->info;
	uint32_t per_rank = info->cpus_per_task && info->cpus_per_task != (uint16_t)NO_VAL ?
		info->cpus_per_task : 1;
	uint32_t *cpus = calloc(live->topo->n_nodes + 1, sizeof(*cpus));
	int rc;

	free(sim->node);
	free(sim->supernode);
	sim->node = NULL;
	sim->supernode = NULL;
	if (!cpus)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = live_state(live, &sim->node, &sim->supernode, err);
	if (rc) {
		free(cpus);
		return rc;
	}
	for (uint32_t n = 0; n < live->topo->n_nodes; n++)
		cpus[n] = live->node[n].cpus_free;
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];
		time_t end = end_of(job);

		if (!job->running || (!all && (!end || end > until)))
			continue;
		for (uint32_t i = 0; i < job->n_nodes; i++) {
			const struct live_node *node = &live->node[job->node[i]];

			if (node->up)
				sim->node[job->node[i]].free |= job->node_cards[i] &
					node->cards & ~node->masked;
			cpus[job->node[i]] += cpus_on(job, i);
		}
		for (uint32_t s = 0; s < live->topo->n_supernodes; s++) {
			uint64_t bytes, bandwidth;

			live_pool_use(live, job, s, &bytes, &bandwidth);
			sim->supernode[s].pool_free += bytes;
			if (sim->supernode[s].bandwidth_free != UINT64_MAX)
				sim->supernode[s].bandwidth_free += bandwidth;
		}
	}
	for (uint32_t n = 0; n < live->topo->n_nodes; n++) {
		if (!sim->allowed[n])
			sim->node[n].flags |= SN_NODE_ABSENT;
		if (sim->node[n].flags & SN_NODE_ABSENT)
			sim->node[n].free = 0;
		if (sim->required[n])
			sim->node[n].flags |= SN_NODE_REQUIRED;
		sim->node[n].max_ranks = cpus[n] / per_rank;
	}
	free(cpus);
	return 0;
}

static int try_place(const struct sim *sim, const struct sn_place_request *request,
		     struct sn_placement *ret, struct sn_err *err)
{
	const struct sn_place_state state = {
		.node = sim->node, .supernode = sim->supernode,
	};

	return sn_place(sim->live->topo, &state, request, ret, err);
}

static int by_time(const void *a, const void *b)
{
	time_t x = *(const time_t *)a, y = *(const time_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The first end of a running job at which the job fits. More free cards never
 * make a job fit less, so halving the list finds it.
 */
static int find_time(struct sim *sim, struct why *why, struct sn_err *err)
{
	const struct live *live = sim->live;
	time_t *end = calloc(live->n_jobs + 1, sizeof(*end));
	uint32_t n = 0, low = 0, high;
	int rc = 0;

	if (!end)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live->job[j].running && end_of(&live->job[j]))
			end[n++] = end_of(&live->job[j]);
	qsort(end, n, sizeof(*end), by_time);
	high = n; /* n: it does not fit at any of them */
	while (!rc && low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct sn_placement placement;

		rc = simulate(sim, end[middle], false, err);
		if (rc)
			break;
		if (!try_place(sim, &why->request, &placement, NULL)) {
			sn_placement_done(&placement);
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	if (!rc && low < n) {
		why->fits_at = end[low];
		for (why->waits_for = low; why->waits_for < n && end[why->waits_for] <= end[low]; )
			why->waits_for++;
	}
	free(end);
	return rc;
}

static int count_supernodes(const struct sim *sim, struct why *why, struct sn_err *err)
{
	const struct sn_topo *topo = sim->live->topo;
	const struct sn_place_request *r = &why->request;

	why->supernode = calloc(topo->n_supernodes + 1, sizeof(*why->supernode));
	if (!why->supernode)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &topo->supernode[s];
		struct why_supernode *w = &why->supernode[why->n_supernodes];
		uint32_t keep = r->spares + (r->use_spare_nodes ? 0 : sn->spare_nodes);
		bool any = false;

		*w = (struct why_supernode) { .supernode = s };
		/* From the back: SpareNodes are the last wholly free ones. */
		for (uint32_t k = sn->n_nodes; k-- > 0; ) {
			const struct sn_place_node *node = &sim->node[sn->first_node + k];
			uint32_t cards = (uint32_t)__builtin_popcountll(node->free);
			uint32_t ranks = cards < node->max_ranks ? cards : node->max_ranks;

			any = any || !(node->flags & SN_NODE_ABSENT);
			if (r->whole_nodes && node->free != node->cards)
				ranks = 0;
			ranks -= ranks % r->node_block;
			w->free += cards;
			if (keep && cards && node->free == node->cards) {
				keep--;
				w->held += cards;
			} else {
				w->usable += ranks;
			}
		}
		if (!any)
			continue;
		/* Where TP is wider than a node its blocks are whole nodes, and
		 * the engine alone can tell; this is the upper bound. */
		w->atoms = w->usable / r->atom;
		w->short_by = r->atom - w->usable % r->atom;
		why->n_supernodes++;
	}
	return 0;
}

int why_make(const struct live *live, const struct live_job *job,
	     struct why *ret, struct sn_err *err)
{
	bool *allowed = calloc(live->topo->n_nodes + 1, sizeof(*allowed));
	bool *required = calloc(live->topo->n_nodes + 1, sizeof(*required));
	struct sim sim = {
		.live = live, .job = job, .allowed = allowed, .required = required,
	};
	struct sn_placement empty;
	int rc = allowed && required ? 0 : -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	ret->job = job;
	ret->reason = reason_of(job->info);
	ret->from_spec = job->has_spec && job->spec.has_parallel;
	ret->known = live_request(live, job, &ret->request);
	if (!rc && ret->known)
		rc = find_allowed(live, job->info, allowed);
	if (!rc && ret->known)
		rc = mark(live, job->info->req_nodes, required, true);
	if (rc)
		sn_err_set(err, rc, "no memory");
	if (!rc && ret->known)
		rc = simulate(&sim, 0, false, err);
	if (!rc && ret->known)
		rc = count_supernodes(&sim, ret, err);
	if (!rc && ret->known) {
		ret->fits_now = !try_place(&sim, &ret->request, &ret->now, &ret->why);
		if (!ret->fits_now) {
			rc = simulate(&sim, 0, true, err);
			if (!rc && !try_place(&sim, &ret->request, &empty, &ret->never)) {
				ret->fits_ever = true;
				sn_placement_done(&empty);
				rc = find_time(&sim, ret, err);
			}
		}
	}
	free(sim.node);
	free(sim.supernode);
	free(allowed);
	free(required);
	if (rc)
		why_done(ret);
	return rc;
}

void why_done(struct why *why)
{
	if (why->fits_now)
		sn_placement_done(&why->now);
	free(why->supernode);
	memset(why, 0, sizeof(*why));
}
