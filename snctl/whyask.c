/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whyask.c - what a pending job asks, and where it could be.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/gresidx.h"
#include "snctl/whyask.h"
#include "topology/text.h"

#define SIZES_TRIED 64

const char *const why_out_words[WHY_OUTS] = {
	[WHY_IN] = "usable",
	[WHY_DOWN] = "down",
	[WHY_SILENT] = "not answering",
	[WHY_PARTITION] = "in no such partition",
	[WHY_EXCLUDED] = "excluded",
	[WHY_FEATURE] = "without the feature",
	[WHY_RESERVED] = "reserved",
	[WHY_BUSY] = "busy",
	[WHY_CARDS] = "short of cards",
	[WHY_MASKED] = "with a masked card",
	[WHY_CPUS] = "short of CPUs",
	[WHY_MEMORY] = "short of memory",
	[WHY_SPARE] = "kept spare",
	[WHY_REGION] = "without the pool region",
	[WHY_REPLACES] = "where nothing is to be replaced",
};

static bool is_set32(uint32_t v)
{
	return v && v != NO_VAL && v != INFINITE;
}

static bool is_set16(uint16_t v)
{
	return v && v != (uint16_t)NO_VAL && v != (uint16_t)INFINITE;
}

static uint32_t div_up(uint64_t a, uint64_t b)
{
	return (uint32_t)((a + b - 1) / b);
}

/* ---- the job ------------------------------------------------------------------- */

static uint32_t find_segment(const slurm_job_info_t *info)
{
	static const char mark[] = "supernode:segment=";
	const char *at;
	uint64_t k;
	char text[16] = "";

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	if (is_set16(info->segment_size))
		return info->segment_size;
#endif
	/* 24.11 tells no client; job_submit/supernode does. */
	at = info->admin_comment ? strstr(info->admin_comment, mark) : NULL;
	if (!at)
		return 0;
	at += sizeof(mark) - 1;
	memcpy(text, at, strnlen(at, sizeof(text) - 1));
	text[strspn(text, "0123456789")] = '\0';
	return sn_parse_uint(text, 1, UINT16_MAX, &k, NULL) ? 0 : (uint32_t)k;
}

static void find_cards(const struct live *live, const slurm_job_info_t *info,
		       struct why_ask *ask)
{
	const char *gres = live->policy.card_gres;
	uint64_t n;

	if ((n = gres_count(info->tres_per_task, gres)))
		ask->cards = WHY_CARDS_TASK;
	else if ((n = gres_count(info->tres_per_node, gres)))
		ask->cards = WHY_CARDS_NODE;
	else if ((n = gres_count(info->tres_per_job, gres)))
		ask->cards = WHY_CARDS_JOB;
	if (n > SN_WORLD_MAX || (ask->cards != WHY_CARDS_JOB && n > SN_CARDS_MAX))
		n = 0;
	if (!n)
		ask->cards = WHY_NO_CARDS;
	ask->n_cards = (uint32_t)n;
}

static uint32_t most_cpus(const struct live *live)
{
	uint32_t most = 1;

	for (uint32_t n = 0; n < live->topo->n_nodes; n++)
		if (live->node[n].info && live->node[n].info->cpus > most)
			most = live->node[n].info->cpus;
	return most;
}

/*
 * Before it has first looked at a job, slurmctld shows the fewest nodes that
 * its tasks take as the most, too (_pack_default_job_details() there).
 */
static bool is_guess(const slurm_job_info_t *info, uint32_t least)
{
	return info->max_nodes == info->num_nodes && info->num_nodes == least &&
		!is_set16(info->ntasks_per_node) && is_set32(info->num_tasks) &&
		info->num_tasks > info->num_nodes;
}

static void find_counts(const struct live *live, const slurm_job_info_t *info,
			const partition_info_t *part, bool exact, struct why_ask *ask)
{
	uint32_t tasks = is_set32(info->num_tasks) ? info->num_tasks : 0;
	bool has_max = is_set32(info->max_nodes);

	ask->guessed = ask->cpus_per_task == 1 &&
		is_guess(info, div_up(tasks, most_cpus(live)));
	if (ask->guessed && !exact)
		has_max = false;
	ask->min = info->num_nodes ? info->num_nodes : 1;
	ask->max = has_max ? info->max_nodes : UINT32_MAX;
	if (is_set32(part->min_nodes) && ask->min < part->min_nodes)
		ask->min = part->min_nodes;
	if (is_set32(part->max_nodes) && ask->max > part->max_nodes)
		ask->max = part->max_nodes;
	ask->open = !has_max && !is_set16(info->ntasks_per_node);
	if (ask->max < ask->min || (!has_max && !ask->open))
		ask->max = ask->min;
	ask->tasks_per_node = is_set16(info->ntasks_per_node) ? info->ntasks_per_node : 0;
	ask->cpus = info->num_cpus;
	/* Fewer CPUs than the tasks would have: overcommitted. */
	if (tasks && (uint64_t)tasks * ask->cpus_per_task > ask->cpus)
		ask->cpus_per_task = 1;
	ask->tasks = div_up(ask->cpus, ask->cpus_per_task);
	if (!ask->tasks)
		ask->tasks = 1;
}

void why_ask_init(const struct live *live, const struct live_job *job,
		  bool count_memory, const partition_info_t *part, bool exact,
		  struct why_ask *ret)
{
	const slurm_job_info_t *info = job->info;

	memset(ret, 0, sizeof(*ret));
	ret->whole = info->shared == JOB_SHARED_NONE;
	ret->replaces = job->has_spec ? job->spec.replaces : 0;
	ret->cpus_per_task = is_set16(info->cpus_per_task) ? info->cpus_per_task : 1;
	ret->node_cpus = is_set16(info->pn_min_cpus) ? info->pn_min_cpus : 1;
	if (count_memory && info->pn_min_memory != NO_VAL64) {
		if (info->pn_min_memory & MEM_PER_CPU)
			ret->cpu_memory = info->pn_min_memory & ~MEM_PER_CPU;
		else
			ret->node_memory = info->pn_min_memory;
	}
	if (job->has_spec && job->spec.has_parallel) {
		ret->parallel = live_request(live, job, &ret->request);
		ret->guessed = live->most_cards &&
			is_guess(info, div_up(ret->request.world, live->most_cards));
		if (ret->guessed && !exact)
			ret->request.exact_nodes = 0;
		ret->min = info->num_nodes;
		ret->max = live_most_nodes(live, job);
		if (!ret->max || (ret->guessed && !exact))
			ret->max = UINT32_MAX;
		/* slurmctld may show what it last chose, spares included. */
		if (ret->request.spares && !ret->request.exact_nodes)
			ret->min = 0;
		/* Without -N what is shown as the fewest may be a guess. */
		if (ret->max == UINT32_MAX)
			ret->min = 0;
		if (is_set32(part->max_nodes) && ret->max > part->max_nodes)
			ret->max = part->max_nodes > ret->request.spares ?
				part->max_nodes - ret->request.spares : 1;
		if (ret->whole && live->most_cards &&
		    ret->request.world % live->most_cards == 0)
			ret->request.exact_nodes = ret->request.world / live->most_cards;
		return;
	}
	find_cards(live, info, ret);
	find_counts(live, info, part, exact, ret);
	ret->segment = find_segment(info);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	/* "If all nodes fit within a single segment, this has no effect." */
	if (ret->segment > ret->min && ret->max == ret->min)
		ret->segment = 0;
#endif
#ifdef SPREAD_SEGMENTS
	ret->spread = ret->segment && info->bitflags & SPREAD_SEGMENTS;
#endif
}

/* ---- nodes --------------------------------------------------------------------- */

static uint32_t cpus_of(const struct why_ask *ask, const struct why_node *node)
{
	uint64_t by_memory = ask->cpu_memory ? node->memory / ask->cpu_memory : UINT32_MAX;

	return by_memory < node->cpus ? (uint32_t)by_memory : node->cpus;
}

uint32_t why_node_tasks(const struct why_ask *ask, const struct why_node *node)
{
	uint32_t cards = (uint32_t)__builtin_popcountll(node->free);
	uint32_t n = cpus_of(ask, node) / ask->cpus_per_task;

	if (ask->tasks_per_node && ask->tasks_per_node < n)
		n = ask->tasks_per_node;
	if (ask->cards == WHY_CARDS_TASK && cards / ask->n_cards < n)
		n = cards / ask->n_cards;
	return n;
}

static uint32_t card_share(const struct why_ask *ask, uint32_t n)
{
	switch (ask->cards) {
	case WHY_CARDS_NODE:
		return ask->n_cards;
	case WHY_CARDS_TASK:
		return ask->n_cards * (ask->tasks_per_node ? ask->tasks_per_node :
				       div_up(ask->tasks, n));
	case WHY_CARDS_JOB:
		return div_up(ask->n_cards, n);
	case WHY_NO_CARDS:
		break;
	}
	return 0;
}

enum why_out why_node_share(const struct why_ask *ask,
			    const struct why_node *node, uint32_t n)
{
	uint32_t cards = card_share(ask, n);
	uint32_t cpus = ask->tasks_per_node ?
		ask->tasks_per_node * ask->cpus_per_task : div_up(ask->cpus, n);

	if (node->out)
		return node->out;
	if ((uint32_t)__builtin_popcountll(node->free) < cards)
		return WHY_CARDS;
	if (node->cpus < cpus)
		return WHY_CPUS;
	return cpus_of(ask, node) < cpus ? WHY_MEMORY : WHY_IN;
}

/* ---- the engine ------------------------------------------------------------------ */

struct trial {
	const struct live *live;
	const struct why_ask *ask;
	const struct why_state *state;
	struct sn_place_node *offer; /* [n_nodes] */
	struct sn_place_supernode *supernode; /* [n_supernodes] */
};

static int run(const struct trial *t, const struct sn_place_request *request,
	       bool pools, struct sn_placement *ret, struct sn_err *err)
{
	const struct sn_place_state state = {
		.node = t->offer, .supernode = t->supernode,
	};

	for (uint32_t s = 0; !pools && s < t->live->topo->n_supernodes; s++)
		t->supernode[s] = (struct sn_place_supernode) {
			.pool_free = UINT64_MAX, .bandwidth_free = UINT64_MAX,
			.keep_idle = t->state->supernode[s].keep_idle,
		};
	return sn_place(t->live->topo, &state, request, ret, err);
}

static void offer(const struct trial *t, uint32_t n, uint64_t cards,
		  uint64_t free_cards, uint32_t most)
{
	const struct why_node *node = &t->state->node[n];

	t->offer[n] = (struct sn_place_node) {
		.cards = cards, .free = free_cards & cards,
		.weight = node->weight, .max_ranks = most,
		.flags = node->flags | (node->out ? SN_NODE_ABSENT : 0),
	};
}

static int place_parallel(const struct trial *t, struct sn_placement *ret,
			  struct sn_err *err)
{
	struct sn_place_request request = t->ask->request;
	int rc;

	for (uint32_t n = 0; n < t->live->topo->n_nodes; n++) {
		const struct why_node *node = &t->state->node[n];

		offer(t, n, node->cards, node->free,
		      cpus_of(t->ask, node) / t->ask->cpus_per_task);
	}
	memcpy(t->supernode, t->state->supernode,
	       t->live->topo->n_supernodes * sizeof(*t->supernode));
	rc = run(t, &request, true, ret, err);
	/* -N min-max, or the partition's MaxNodes: the nearest number that is in
	 * the range, as the plugin does. */
	if (!rc && !request.exact_nodes &&
	    (ret->n_nodes > t->ask->max || ret->n_nodes < t->ask->min)) {
		request.exact_nodes = ret->n_nodes > t->ask->max ? t->ask->max : t->ask->min;
		sn_placement_done(ret);
		rc = run(t, &request, true, ret, err);
		if (rc == -EINVAL)
			rc = -ENOSPC;
	}
	return rc;
}

/* n nodes, which all have their share, or else any n: with `share` false the
 * answer says nothing of CPUs. */
static int place_nodes(const struct trial *t, uint32_t n,
		       struct sn_placement *ret, struct sn_err *err)
{
	uint32_t cards = card_share(t->ask, n), block = cards ? cards : 1;
	uint32_t k = t->ask->segment ? t->ask->segment : 1;
	struct sn_place_request request = {
		.world = n * block, .node_block = block, .unit_block = block,
		.atom = k * block, .use_spare_nodes = true,
	};

	if (cards > SN_CARDS_MAX || n % k || (uint64_t)n * block > SN_WORLD_MAX)
		return sn_err_set(err, -ENOSPC, "%u nodes of %u cards cannot be had", n, cards);
	for (uint32_t i = 0; i < t->live->topo->n_nodes; i++) {
		const struct why_node *node = &t->state->node[i];

		offer(t, i, cards ? node->cards : 1, cards ? node->free : 1, block);
		if (why_node_share(t->ask, node, n))
			t->offer[i].flags |= SN_NODE_ABSENT;
	}
	if (t->ask->spread) {
		for (uint32_t s = 0; s < t->live->topo->n_supernodes; s++)
			t->supernode[s] = (struct sn_place_supernode) {
				.pool_free = request.atom, .bandwidth_free = UINT64_MAX,
				.keep_idle = t->state->supernode[s].keep_idle,
			};
		request.pool.per = SN_POOL_CARD;
		request.pool.size = 1;
	}
	return run(t, &request, t->ask->spread, ret, err);
}

static uint64_t first(uint32_t n)
{
	return n >= SN_CARDS_MAX ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* The tasks over nodes as they come; exactly `nodes` of them, if not 0. */
static int place_tasks(const struct trial *t, uint32_t nodes,
		       struct sn_placement *ret, struct sn_err *err)
{
	const struct why_ask *ask = t->ask;
	bool cards = ask->cards == WHY_CARDS_TASK || ask->cards == WHY_CARDS_JOB;
	uint32_t block = ask->cards == WHY_CARDS_TASK ? ask->n_cards : 1;
	uint32_t most = 1, per_rank;
	uint64_t world;
	struct sn_place_request request = {
		.node_block = block, .unit_block = block, .atom = block,
		.exact_nodes = nodes, .use_spare_nodes = true,
	};

	for (uint32_t n = 0; !cards && n < t->live->topo->n_nodes; n++)
		if (!t->state->node[n].out && why_node_tasks(ask, &t->state->node[n]) > most)
			most = why_node_tasks(ask, &t->state->node[n]);
	per_rank = div_up(most < ask->tasks ? most : ask->tasks, SN_CARDS_MAX);
	world = ask->cards == WHY_CARDS_JOB ? ask->n_cards :
		(uint64_t)div_up(ask->tasks, per_rank) * block;
	if (!world || world > SN_WORLD_MAX || nodes > world / block || ask->segment)
		return sn_err_set(err, -ENOSPC, "%u tasks cannot be on %u nodes", ask->tasks, nodes);
	request.world = (uint32_t)world;
	for (uint32_t n = 0; n < t->live->topo->n_nodes; n++) {
		const struct why_node *node = &t->state->node[n];
		uint32_t can = why_node_tasks(ask, node) / per_rank;

		if (ask->cards == WHY_CARDS_TASK)
			offer(t, n, node->cards, node->free, can * block);
		else if (cards)
			offer(t, n, node->cards, node->free, UINT32_MAX);
		else
			offer(t, n, first(can), first(can), can);
		if (ask->cards == WHY_CARDS_NODE && why_node_share(ask, node, 1) == WHY_CARDS)
			t->offer[n].flags |= SN_NODE_ABSENT;
	}
	return run(t, &request, false, ret, err);
}

static int place_counted(const struct trial *t, struct sn_placement *ret,
			 struct sn_err *err)
{
	uint32_t k = t->ask->segment ? t->ask->segment : 1;
	uint32_t n = div_up(t->ask->min, k) * k;
	int rc = place_nodes(t, n, ret, err);

	if (rc && !t->ask->segment && !t->ask->tasks_per_node &&
	    t->ask->cards != WHY_CARDS_NODE && !place_tasks(t, n, ret, NULL))
		return 0;
	for (uint32_t i = 0; rc && i < SIZES_TRIED && n + k <= t->ask->max &&
	     n + k <= t->live->topo->n_nodes; i++) {
		n += k;
		if (!place_nodes(t, n, ret, NULL))
			rc = 0;
	}
	return rc;
}

static int place_open(const struct trial *t, struct sn_placement *ret,
		      struct sn_err *err)
{
	int rc;

	if (t->ask->segment)
		return place_counted(t, ret, err);
	rc = place_tasks(t, 0, ret, err);
	if (!rc && ret->n_nodes < t->ask->min) {
		sn_placement_done(ret);
		rc = place_counted(t, ret, err);
	}
	return rc;
}

uint32_t why_lacking(const struct live *live, const struct why_state *state)
{
	for (uint32_t n = 0; n < live->topo->n_nodes; n++)
		if (state->node[n].flags & SN_NODE_REQUIRED && state->node[n].out)
			return n;
	return SN_NONE;
}

int why_place(const struct live *live, const struct why_ask *ask,
	      const struct why_state *state, struct sn_placement *ret,
	      struct sn_err *err)
{
	uint32_t lacking = why_lacking(live, state);
	struct trial t = {
		.live = live, .ask = ask, .state = state,
		.offer = calloc(live->topo->n_nodes + 1, sizeof(*t.offer)),
		.supernode = calloc(live->topo->n_supernodes + 1, sizeof(*t.supernode)),
	};
	int rc = -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	if (!t.offer || !t.supernode)
		sn_err_set(err, rc, "no memory");
	else if (lacking != SN_NONE)
		rc = sn_err_set(err, -ENOSPC, "node %s is required, and it is %s",
				live->topo->node[lacking].name,
				why_out_words[state->node[lacking].out]);
	else if (ask->parallel)
		rc = place_parallel(&t, ret, err);
	else if (ask->open)
		rc = place_open(&t, ret, err);
	else
		rc = place_counted(&t, ret, err);
	free(t.offer);
	free(t.supernode);
	return rc;
}
