/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whycount.c - what each supernode has for a pending job, and how large a job
 * would fit now.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/why.h"

/* Asking the engine for each supernode is worth it up to so much. */
#define EXACT_WORK (1u << 20)

static bool fits(const struct live *live, const struct why_ask *ask,
		 const struct why_state *state)
{
	struct sn_placement placement;
	bool yes = !why_place(live, ask, state, &placement, NULL);

	if (yes)
		sn_placement_done(&placement);
	return yes;
}

/* ---- supernodes ------------------------------------------------------------------ */

static void count_parallel(const struct live *live, const struct why_state *state,
			   const struct why_ask *ask, struct why_supernode *w)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[w->supernode];
	const struct sn_place_request *r = &ask->request;
	uint32_t keep = r->spares;

	/* From the back, as SpareNodes are. */
	for (uint32_t k = sn->n_nodes; k-- > 0; ) {
		const struct why_node *node = &state->node[sn->first_node + k];
		uint32_t cards = (uint32_t)__builtin_popcountll(node->free);
		uint32_t ranks = why_node_tasks(ask, node);

		if (node->out == WHY_PARTITION || node->out == WHY_EXCLUDED ||
		    node->out == WHY_REGION || node->out == WHY_REPLACES ||
		    node->out == WHY_FEATURE || node->out == WHY_RESERVED) {
			w->out[node->out]++;
			continue;
		}
		w->free += cards;
		if (cards < ranks)
			ranks = cards;
		ranks -= ranks % r->node_block;
		if (node->out) {
			w->out[node->out]++;
		} else if ((node->held && !r->use_spare_nodes) ||
			   (keep && cards && node->free == node->cards &&
			    !(node->flags & SN_NODE_LATE))) {
			keep -= !node->held || r->use_spare_nodes;
			w->held += cards;
			w->out[WHY_SPARE]++;
		} else if (r->whole_nodes && node->free != node->cards) {
			w->out[WHY_BUSY]++;
		} else {
			w->usable += ranks;
			if (why_node_tasks(ask, node) < cards)
				w->out[node->cpus / ask->cpus_per_task < cards ?
				       WHY_CPUS : WHY_MEMORY]++;
			else
				w->out[node->free == node->cards ? WHY_IN : WHY_CARDS]++;
		}
	}
	w->atoms = w->usable / r->atom;
	if (w->atoms > r->world / r->atom)
		w->atoms = r->world / r->atom;
	w->short_by = r->atom - w->usable % r->atom;
}

/* a of the job's A atoms take a/A of the pool that it wants in all. */
static uint64_t part_of(uint64_t size, uint32_t a, uint32_t of)
{
	return (uint64_t)(((unsigned __int128)size * a + of - 1) / of);
}

/* Spares, units, the pool: the engine knows. alone has only this supernode's
 * nodes. */
static void count_exact(const struct live *live, const struct why_ask *ask,
			const struct why_state *alone, struct why_supernode *w)
{
	uint32_t low = 0, high = w->atoms, all = ask->request.world / ask->request.atom;
	struct why_ask some = *ask;

	some.request.exact_nodes = 0;
	some.min = 0;
	some.max = UINT32_MAX;
	while (low < high) {
		/* Mostly all of them do. */
		uint32_t a = high == w->atoms ? high : low + (high - low + 1) / 2;

		some.request.world = a * ask->request.atom;
		if (ask->request.pool.per == SN_POOL_TOTAL) {
			some.request.pool.size = part_of(ask->request.pool.size, a, all);
			some.request.pool.bandwidth = part_of(ask->request.pool.bandwidth, a, all);
		}
		if (fits(live, &some, alone))
			low = a;
		else
			high = a - 1;
	}
	w->atoms = low;
}

static int count_atoms(const struct live *live, const struct why_state *state,
		       struct why *why, struct sn_err *err)
{
	const struct sn_topo *topo = live->topo;
	struct why_state alone = {
		.node = calloc(topo->n_nodes + 1, sizeof(*alone.node)),
		.supernode = state->supernode,
	};

	if (!alone.node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct sn_topo_supernode *sn = &topo->supernode[why->supernode[i].supernode];

		for (uint32_t n = 0; n < topo->n_nodes; n++) {
			alone.node[n] = state->node[n];
			alone.node[n].flags &= ~SN_NODE_REQUIRED;
			if (n < sn->first_node || n >= sn->first_node + sn->n_nodes)
				alone.node[n].out = WHY_PARTITION;
		}
		count_exact(live, &why->ask, &alone, &why->supernode[i]);
	}
	free(alone.node);
	why->atoms_exact = true;
	return 0;
}

static void count_plain(const struct live *live, const struct why_state *state,
			const struct why_ask *ask, struct why_supernode *w)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[w->supernode];
	/* Of nodes that need not be alike, any share will do. */
	uint32_t of = ask->open || (!ask->segment && ask->cards != WHY_CARDS_NODE &&
				    !ask->tasks_per_node) ? UINT32_MAX : ask->min;

	for (uint32_t k = 0; k < sn->n_nodes; k++) {
		const struct why_node *node = &state->node[sn->first_node + k];
		enum why_out out = why_node_share(ask, node, of);

		w->out[out]++;
		if (out == WHY_IN) {
			w->nodes++;
			w->tasks += why_node_tasks(ask, node);
		}
		if (node->out == WHY_IN || node->out == WHY_SPARE)
			w->free += (uint32_t)__builtin_popcountll(node->free);
		if (node->out == WHY_SPARE)
			w->held += (uint32_t)__builtin_popcountll(node->free);
	}
}

static void count_masked(const struct live *live, const struct why_state *state,
			 const struct why_ask *ask, struct why_supernode *w)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[w->supernode];

	if (!ask->parallel && ask->cards == WHY_NO_CARDS)
		return;
	for (uint32_t n = sn->first_node; n < sn->first_node + sn->n_nodes; n++) {
		enum why_out out = state->node[n].out;

		if (live->node[n].up && out != WHY_PARTITION && out != WHY_EXCLUDED &&
		    out != WHY_FEATURE && out != WHY_RESERVED && out != WHY_REGION)
			w->masked += (uint32_t)__builtin_popcountll(live->node[n].masked);
	}
}

int why_count(const struct live *live, const struct why_state *state,
	      struct why *why, struct sn_err *err)
{
	const struct sn_topo *topo = live->topo;
	const struct why_ask *ask = &why->ask;

	why->supernode = calloc(topo->n_supernodes + 1, sizeof(*why->supernode));
	if (!why->supernode)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		struct why_supernode *w = &why->supernode[why->n_supernodes];

		*w = (struct why_supernode) {
			.supernode = s, .pool_free = state->supernode[s].pool_free,
		};
		(ask->parallel ? count_parallel : count_plain)(live, state, ask, w);
		count_masked(live, state, ask, w);
		/* One that the job can never be in says nothing. */
		if (w->out[WHY_PARTITION] + w->out[WHY_EXCLUDED] +
		    w->out[WHY_REGION] + w->out[WHY_FEATURE] +
		    w->out[WHY_REPLACES] <
		    topo->supernode[s].n_nodes)
			why->n_supernodes++;
	}
	if (ask->parallel && (uint64_t)topo->n_supernodes * topo->n_nodes <= EXACT_WORK)
		return count_atoms(live, state, why, err);
	return 0;
}

/* ---- smaller jobs ---------------------------------------------------------------- */

static bool fits_dp(const struct live *live, const struct why_state *state,
		    const struct why *why, uint32_t dp)
{
	struct sn_jobspec spec = why->job->spec;
	struct why_ask ask = why->ask;

	if (sn_layout_set_dp(&spec.layout, dp, NULL))
		return false;
	sn_place_request_init(&ask.request, &spec);
	ask.min = 0;
	ask.max = UINT32_MAX;
	ask.request.whole_nodes = ask.whole;
	if (ask.whole) {
		if (!live->most_cards || spec.layout.world % live->most_cards)
			return false;
		ask.request.exact_nodes = spec.layout.world / live->most_cards;
	}
	return fits(live, &ask, state);
}

/* Tasks, and CPUs with them; the nodes follow. */
static bool fits_tasks(const struct live *live, const struct why_state *state,
		       const struct why *why, uint32_t tasks)
{
	struct why_ask ask = why->ask;

	ask.tasks = tasks;
	ask.cpus = tasks * ask.cpus_per_task;
	ask.min = 1;
	return fits(live, &ask, state);
}

/* Nodes, and the tasks of each with them. */
static bool fits_nodes(const struct live *live, const struct why_state *state,
		       const struct why *why, uint32_t nodes)
{
	struct why_ask ask = why->ask;

	ask.tasks = (uint32_t)((uint64_t)ask.tasks * nodes / why->ask.min);
	ask.cpus = (uint32_t)((uint64_t)ask.cpus * nodes / why->ask.min);
	ask.min = ask.max = nodes;
	return fits(live, &ask, state);
}

/* The largest multiple of `step` under `below` that fits. */
static uint32_t find_largest(const struct live *live, const struct why_state *state,
			     const struct why *why, uint32_t step, uint32_t below,
			     bool (*try)(const struct live *, const struct why_state *,
					 const struct why *, uint32_t))
{
	uint32_t low = 0, high = (below - 1) / step;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (try(live, state, why, middle * step))
			low = middle;
		else
			high = middle - 1;
	}
	return low * step;
}

void why_find_smaller(const struct live *live, const struct why_state *state,
		      struct why *why)
{
	const struct why_ask *ask = &why->ask;

	if (ask->parallel) {
		uint32_t grid = sn_layout_dp_grid(&why->job->spec.layout);

		why->fit_dp = find_largest(live, state, why, grid ? grid : 1,
					   why->job->spec.layout.dp, fits_dp);
	} else if (ask->open && !ask->segment && ask->cards != WHY_CARDS_JOB &&
		   ask->cards != WHY_CARDS_NODE) {
		why->fit_tasks = find_largest(live, state, why, 1, ask->tasks, fits_tasks);
	} else if (ask->min && ask->cards != WHY_CARDS_JOB && !ask->open &&
		   ask->tasks % ask->min == 0 && ask->cpus % ask->min == 0) {
		why->fit_nodes = find_largest(live, state, why,
					      ask->segment ? ask->segment : 1,
					      ask->min, fits_nodes);
	}
}
