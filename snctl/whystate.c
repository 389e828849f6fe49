/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whystate.c - what the nodes have for a pending job, now and later.
 *
 * Reservations of parts of nodes (cores, gres) are left out here: who asks
 * slurmctld besides hears of them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/poolbook.h"
#include "snctl/livedomains.h"
#include "snctl/whystate.h"
#include "topology/hostlist.h"

#define YEAR (365 * 24 * 3600)

void why_extra_load(struct why_extra *ret)
{
	slurm_conf_t *conf = NULL;

	memset(ret, 0, sizeof(*ret));
	if (slurm_load_reservations(0, &ret->reservations))
		ret->reservations = NULL;
	if (slurm_load_ctl_conf(0, &conf))
		return;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	ret->count_memory = conf->select_type_param & SELECT_MEMORY;
#else
	ret->count_memory = conf->select_type_param & CR_MEMORY;
#endif
	live_free_conf(conf);
}

void why_extra_done(struct why_extra *extra)
{
	if (extra->reservations)
		slurm_free_reservation_info_msg(extra->reservations);
	memset(extra, 0, sizeof(*extra));
}

bool why_has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		if (strcspn(p, ",") == len && !strncmp(p, word, len))
			return true;
	return false;
}

time_t why_end_of(const struct live_job *job)
{
	if (job->info->job_state & JOB_COMPLETING)
		return 1;
	/* A job without a limit that backfill starts is given a year. */
	if (job->info->time_limit == INFINITE || job->info->time_limit == NO_VAL ||
	    job->info->time_limit >= YEAR / 60)
		return 0;
	return job->info->end_time;
}

/* ---- what is free ---------------------------------------------------------------- */

static uint64_t memory_free(const node_info_t *info)
{
	uint64_t used = 0, all = info->real_memory;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	used = info->alloc_memory;
#else
	if (info->select_nodeinfo)
		slurm_get_select_nodeinfo(info->select_nodeinfo,
					  SELECT_NODEDATA_MEM_ALLOC, 0, &used);
#endif
	used += info->mem_spec_limit;
	return used < all ? all - used : 0;
}

static uint32_t cpus_on(const struct live_job *job, uint32_t i)
{
	uint64_t share = (uint64_t)__builtin_popcountll(job->node_cards[i]);

	if (job->cards)
		return (uint32_t)(job->info->num_cpus * share / job->cards);
	return job->info->num_cpus / job->n_nodes;
}

static uint64_t memory_on(const struct live_job *job, uint32_t i)
{
	uint64_t m = job->info->pn_min_memory;

	if (m == NO_VAL64)
		return 0;
	return m & MEM_PER_CPU ? (m & ~MEM_PER_CPU) * cpus_on(job, i) : m;
}

static bool is_gone(const struct live_job *job, struct why_when when)
{
	time_t end = why_end_of(job);

	return when.all || (when.time && end && end <= when.time);
}

static void give_back(const struct live *live, const struct live_job *job,
		      uint32_t *jobs, struct why_state *ret)
{
	for (uint32_t i = 0; i < job->n_nodes; i++) {
		uint32_t n = job->node[i];
		struct why_node *node = &ret->node[n];
		const node_info_t *info = live->node[n].info;

		node->free |= job->node_cards[i] & live->node[n].cards & ~live->node[n].masked;
		node->cpus += cpus_on(job, i);
		node->memory += memory_on(job, i);
		/* Shares are guesses where jobs are uneven; nobody there is none. */
		if ((--jobs[n] == 0 || node->cpus > info->cpus_efctv) && info)
			node->cpus = info->cpus_efctv;
		if (!jobs[n] && info)
			node->memory = info->real_memory - info->mem_spec_limit;
		node->idle = !jobs[n];
	}
}

static int find_free(const struct live *live, struct why_when when,
		     struct why_state *ret, struct sn_err *err)
{
	uint32_t n_nodes = live->topo->n_nodes;
	uint32_t *jobs = calloc(n_nodes + 1, sizeof(*jobs));
	bool *gone = calloc(live->n_jobs + 1, sizeof(*gone));
	struct sn_place_node *from = NULL;
	int rc;

	ret->node = calloc(n_nodes + 1, sizeof(*ret->node));
	if (!jobs || !gone || !ret->node) {
		free(jobs);
		free(gone);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	rc = live_state(live, &from, &ret->supernode, err);
	for (uint32_t j = 0; !rc && j < live->n_jobs; j++)
		for (uint32_t i = 0; live->job[j].running && i < live->job[j].n_nodes; i++)
			jobs[live->job[j].node[i]]++;
	for (uint32_t n = 0; !rc && n < n_nodes; n++)
		ret->node[n] = (struct why_node) {
			.cards = from[n].cards, .free = from[n].free,
			.cpus = live->node[n].cpus_free, .weight = from[n].weight,
			.flags = from[n].flags & ~SN_NODE_ABSENT,
			.memory = live->node[n].info ? memory_free(live->node[n].info) : 0,
			.idle = !jobs[n] && !live->node[n].taken,
			.out = live->node[n].up ? WHY_IN :
				live->node[n].silent ? WHY_SILENT : WHY_DOWN,
		};
	for (uint32_t j = 0; !rc && j < live->n_jobs; j++)
		if (live->job[j].running && is_gone(&live->job[j], when)) {
			gone[j] = true;
			give_back(live, &live->job[j], jobs, ret);
		}
	if (!rc)
		live_pools(live, gone, ret->supernode);
	for (uint32_t n = 0; !rc && n < n_nodes; n++)
		if (ret->node[n].out)
			ret->node[n].free = 0;
	free(from);
	free(jobs);
	free(gone);
	return rc;
}

/* ---- who may --------------------------------------------------------------------- */

static bool *mark(const struct live *live, const char *list)
{
	bool *set = calloc(live->topo->n_nodes + 1, sizeof(*set));
	struct sn_names names = { 0 };

	if (set && list && *list)
		(void)sn_hostlist_expand(list, &names, NULL);
	for (size_t i = 0; set && i < names.n; i++) {
		uint32_t n = sn_topo_find_node(live->topo, names.name[i]);

		if (n != SN_NONE)
			set[n] = true;
	}
	sn_names_done(&names);
	return set;
}

/* All of a&b,c or one of a|b. What has brackets or counts needs Slurm's own
 * rules; leaving it out can only promise too much. */
static bool has_features(const char *have, const char *want)
{
	bool any = strchr(want, '|') != NULL;
	char word[256];

	if (want[strcspn(want, "*[]()")] || (any && want[strcspn(want, "&,")]))
		return true;
	for (const char *p = want; *p; p += strcspn(p, "&,|"), p += *p != '\0') {
		size_t len = strcspn(p, "&,|");
		bool has;

		if (len >= sizeof(word))
			return true;
		memcpy(word, p, len);
		word[len] = '\0';
		has = why_has_word(have, word);
		if (has == any)
			return any;
	}
	return !any;
}

static bool is_in(const struct live *live, const reserve_info_t *resv, uint32_t n)
{
	const node_info_t *info = live->node[n].info;
	const int32_t *range = resv->node_inx;
	int32_t i = info ? (int32_t)(info - live->nodes->node_array) : -1;

	for (; range && range[0] >= 0; range += 2)
		if (i >= range[0] && i <= range[1])
			return true;
	return false;
}

static bool has_part_of_nodes(const reserve_info_t *resv)
{
	return resv->core_spec_cnt || (resv->tres_str && strstr(resv->tres_str, "gres/"));
}

/* May the job not use the node from `start` to `end` for reservations? */
static bool is_reserved(const struct live *live, const struct why_extra *extra,
			const slurm_job_info_t *info, uint32_t n, time_t start,
			time_t end)
{
	bool own = info->resv_name && *info->resv_name, inside = !own;

	for (uint32_t i = 0; extra->reservations && i < extra->reservations->record_count; i++) {
		const reserve_info_t *resv = &extra->reservations->reservation_array[i];
		bool is_own = own && why_has_word(info->resv_name, resv->name);

		if (is_own && resv->start_time <= start && start < resv->end_time)
			inside |= resv->flags & RESERVE_FLAG_FLEX || is_in(live, resv, n);
		else if (!is_own && !has_part_of_nodes(resv) &&
			 resv->start_time < end && start < resv->end_time && is_in(live, resv, n))
			return true;
	}
	return !inside && extra->reservations;
}

static enum why_out judge(const struct why_ask *ask, const struct live_node *from,
			  const struct why_node *node)
{
	uint64_t cpu_memory = ask->cpu_memory * ask->cpus_per_task;

	if (ask->whole && from->masked)
		return WHY_MASKED;
	if (ask->whole && !node->idle)
		return WHY_BUSY;
	if (ask->parallel && !node->free)
		return node->idle ? WHY_CARDS : WHY_BUSY;
	if (!node->cpus)
		return WHY_BUSY;
	if (node->cpus < ask->node_cpus || node->cpus < ask->cpus_per_task)
		return WHY_CPUS;
	if (node->memory < ask->node_memory || node->memory < cpu_memory)
		return WHY_MEMORY;
	return WHY_IN;
}

/* Does the job name a region of the pool that the node has not? */
static bool lacks_region(const struct live_job *job, const node_info_t *info)
{
	struct sn_poolbook_entry entry;

	return job->has_spec && job->spec.pool.per == SN_POOL_NAMED &&
		(!info || sn_poolbook_find(info->extra, job->spec.pool.name,
					   &entry, NULL) ||
		 entry.uid != job->info->user_id);
}

static int find_usable(const struct live *live, const struct why_extra *extra,
		       const struct live_job *job, const partition_info_t *part,
		       const struct why_ask *ask, struct why_when when,
		       struct why_state *ret, struct sn_err *err)
{
	const slurm_job_info_t *info = job->info;
	bool *in_part = mark(live, part->nodes);
	bool *without = mark(live, info->exc_nodes);
	bool *required = mark(live, info->req_nodes);
	time_t start = when.time > 1 ? when.time : time(NULL), end;
	uint32_t limit = info->time_limit;

	end = start + (limit == INFINITE || limit == NO_VAL ? YEAR : (time_t)limit * 60);
	for (uint32_t n = 0; in_part && without && required && n < live->topo->n_nodes; n++) {
		struct why_node *node = &ret->node[n];
		const node_info_t *is = live->node[n].info;

		if (required[n])
			node->flags |= SN_NODE_REQUIRED;
		if (!in_part[n] || !(part->state_up & PARTITION_SCHED))
			node->out = WHY_PARTITION;
		else if (node->out)
			continue;
		else if (without[n])
			node->out = WHY_EXCLUDED;
		else if (info->features && is &&
			 !has_features(is->features_act ? is->features_act : is->features,
				       info->features))
			node->out = WHY_FEATURE;
		else if (lacks_region(job, is))
			node->out = WHY_REGION;
		else if (!when.all && is_reserved(live, extra, info, n, start, end))
			node->out = WHY_RESERVED;
		else
			node->out = judge(ask, &live->node[n], node);
	}
	free(in_part);
	free(without);
	free(required);
	return in_part && without && required ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

/* ---- SpareNodes ------------------------------------------------------------------ */

/*
 * As topology/supernode keeps them: the last ones that are wholly free, whoever may
 * use them. For --parallel the engine keeps them itself, and is told what it cannot
 * see.
 */
static void keep_spares(const struct live *live, const struct why_ask *ask,
			struct why_state *ret)
{
	for (uint32_t s = 0; s < live->topo->n_supernodes && !ask->replaces; s++) {
		const struct sn_topo_supernode *sn = &live->topo->supernode[s];
		uint32_t left = sn->spare_nodes;

		for (uint32_t k = sn->n_nodes; k-- > 0 && sn->spare_nodes; ) {
			uint32_t n = sn->first_node + k;
			struct why_node *node = &ret->node[n];
			bool whole = live->node[n].up && node->idle &&
				!(node->flags & SN_NODE_LATE) && node->free == node->cards;

			if (!node->idle)
				node->flags |= SN_NODE_PARTLY;
			if (node->out && whole)
				node->flags |= SN_NODE_STANDBY;
			if (!whole || !left)
				continue;
			left--;
			node->held = true;
			if (!node->out && !ask->parallel)
				node->out = WHY_SPARE;
		}
	}
}

/* ---- degraded domains and PowerLimit ---------------------------------------------- */

static bool has_ended(const slurm_job_info_t *info, const void *arg)
{
	const struct why_when *when = arg;
	const struct live_job job = { .info = info };

	return is_gone(&job, *when);
}

/* Of a time when all jobs are gone, only what PowerLimit can ever allow counts. */
static int add_domains(const struct live *live, struct why_when when,
		       struct why_state *ret, struct sn_err *err)
{
	struct live_domains domains;
	int rc = live_domains_make(live, has_ended, &when, &domains, err);

	for (uint32_t n = 0; !rc && !when.all && n < live->topo->n_nodes; n++)
		ret->node[n].flags |= live_domains_flags(&domains, live, n) |
			(live->node[n].taken ? SN_NODE_DRAWS : 0);
	if (!rc)
		sn_power_fill(&domains.power, live->topo, ret->supernode);
	live_domains_done(&domains);
	return rc;
}

static int keep_to_replaced(const struct live *live, const struct live_job *job,
			    struct why_ask *ask, struct why_state *ret,
			    struct sn_err *err)
{
	uint32_t *allow;
	int rc = why_replace(live, job, &allow, &ask->to_replace, err);

	for (uint32_t n = 0; !rc && allow && n < live->topo->n_nodes; n++)
		if (!allow[live->topo->node[n].supernode] && !ret->node[n].out)
			ret->node[n].out = WHY_REPLACES;
	if (!rc && allow && ask->max > ask->to_replace)
		ask->max = (uint32_t)ask->to_replace;
	free(allow);
	return rc;
}

int why_state_make(const struct live *live, const struct why_extra *extra,
		   const struct live_job *job, const partition_info_t *part,
		   struct why_ask *ask, struct why_when when,
		   struct why_state *ret, struct sn_err *err)
{
	int rc;

	why_state_done(ret);
	rc = find_free(live, when, ret, err);
	if (!rc)
		rc = find_usable(live, extra, job, part, ask, when, ret, err);
	if (!rc)
		rc = keep_to_replaced(live, job, ask, ret, err);
	if (!rc)
		keep_spares(live, ask, ret);
	if (!rc)
		rc = add_domains(live, when, ret, err);
	if (rc)
		why_state_done(ret);
	return rc;
}

void why_state_done(struct why_state *state)
{
	free(state->node);
	free(state->supernode);
	memset(state, 0, sizeof(*state));
}
