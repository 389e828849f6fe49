/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ladder.c - what to do for a job that has lost something.
 *
 * First the failures are summed up by supernode: nodes that ranks must leave, spares
 * that are gone, atoms that are hit. Then each means is asked whether it can be done
 * and what it costs, and the cheapest is taken.
 */
#include "config.h"

#include <errno.h>
#include <float.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/ladder_internal.h"
#include "topology/text.h"

static const char *const means_name[SN_MEANS_KINDS] = {
	"ignore", "mask", "restart", "swap", "replace", "move", "shrink", "requeue",
	"give-up",
};

const char *sn_means_name(enum sn_means means)
{
	return (unsigned int)means < SN_MEANS_KINDS ? means_name[means] : "?";
}

void sn_ladder_costs_init(struct sn_ladder_costs *costs)
{
	*costs = (struct sn_ladder_costs){
		.restart = 5, .swap = 5, .replace = 30, .move = 60, .shrink = 10,
		.requeue = 300, .horizon = 3600, .spare = 60, .spare_node = 120,
		.slow = 0.2, .flaps = 3, .no_progress = 3,
	};
}

static const struct { const char *name; size_t offset; bool count; } cost_key[] = {
	{ "restart", offsetof(struct sn_ladder_costs, restart), false },
	{ "swap", offsetof(struct sn_ladder_costs, swap), false },
	{ "replace", offsetof(struct sn_ladder_costs, replace), false },
	{ "move", offsetof(struct sn_ladder_costs, move), false },
	{ "shrink", offsetof(struct sn_ladder_costs, shrink), false },
	{ "requeue", offsetof(struct sn_ladder_costs, requeue), false },
	{ "horizon", offsetof(struct sn_ladder_costs, horizon), false },
	{ "spare", offsetof(struct sn_ladder_costs, spare), false },
	{ "spare_node", offsetof(struct sn_ladder_costs, spare_node), false },
	{ "slow", offsetof(struct sn_ladder_costs, slow), false },
	{ "flaps", offsetof(struct sn_ladder_costs, flaps), true },
	{ "no_progress", offsetof(struct sn_ladder_costs, no_progress), true },
};

/* slow is in percent; the others are seconds, card-seconds or counts. */
static int take_cost(struct sn_ladder_costs *costs, const char *word, size_t len,
		     struct sn_err *err)
{
	const char *eq = memchr(word, '=', len);
	size_t n = eq ? (size_t)(eq - word) : 0;
	char number[16];
	uint64_t v;

	for (size_t i = 0; n && i < sizeof(cost_key) / sizeof(*cost_key); i++) {
		char *to = (char *)costs + cost_key[i].offset;

		if (strlen(cost_key[i].name) != n || strncasecmp(word, cost_key[i].name, n))
			continue;
		if (len - n - 1 >= sizeof(number))
			break;
		memcpy(number, eq + 1, len - n - 1);
		number[len - n - 1] = '\0';
		if (sn_parse_uint(number, 0, 1000000000, &v, NULL))
			break;
		if (cost_key[i].count)
			*(uint32_t *)(void *)to = (uint32_t)v;
		else
			*(double *)(void *)to = to == (char *)&costs->slow ? (double)v / 100 : (double)v;
		return 0;
	}
	return sn_err_set(err, -EINVAL,
			  "ElasticCosts: \"%.*s\": want NAME=NUMBER up to 1000000000 with a NAME of restart, swap, replace, move, shrink, requeue, horizon, spare, spare_node, slow, flaps or no_progress, such as \"requeue=600 slow=30\"",
			  len < 40 ? (int)len : 40, word);
}

int sn_ladder_costs_parse(const char *text, struct sn_ladder_costs *ret, struct sn_err *err)
{
	struct sn_ladder_costs costs;
	int rc = 0;

	sn_ladder_costs_init(&costs);
	while (!rc) {
		size_t n;

		text += strspn(text, " \t");
		n = strcspn(text, " \t");
		if (!n)
			break;
		rc = take_cost(&costs, text, n, err);
		text += n;
	}
	if (!rc)
		*ret = costs;
	return rc;
}

static bool is_number(double v)
{
	return v >= 0 && v <= 1e15;
}

static int check(const struct sn_ladder_job *job, const struct sn_ladder_costs *costs,
		 const struct sn_failure *f, uint32_t n, struct sn_err *err)
{
	const double v[] = {
		costs->restart, costs->swap, costs->replace, costs->move, costs->shrink,
		costs->requeue, costs->horizon, costs->spare, costs->spare_node,
		costs->slow, job->since_safe, job->checkpoint,
		job->since_memory < 0 ? 0 : job->since_memory,
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		if (!is_number(v[i]))
			return sn_err_set(err, -EINVAL,
					  "a cost or time of %g; want a number from 0 on", v[i]);
	if (!sn_sizes_is_legal(&job->sizes, job->dp))
		return sn_err_set(err, -EINVAL,
				  "dp=%u is no size of this job, which has %u to %u in steps of %u",
				  job->dp, job->sizes.min, job->sizes.max, job->sizes.step);
	for (uint32_t i = 0; i < n; i++)
		if (f[i].kind > SN_FAIL_STEP ||
		    (f[i].kind != SN_FAIL_STEP && f[i].domain >= job->n_domains))
			return sn_err_set(err, -EINVAL,
					  "failure %u is of kind %d in supernode %u of %u",
					  i, (int)f[i].kind, f[i].domain, job->n_domains);
	return 0;
}

/* ---- what the failures come to -------------------------------------------------------- */

/* A node that is back can be used again unless it goes to and fro. */
bool sn_ladder_must_leave(const struct sn_ladder_state *s, const struct sn_failure *f)
{
	switch (f->kind) {
	case SN_FAIL_SUSPECT:
	case SN_FAIL_STEP:
		return false;
	case SN_FAIL_NODE:
		return !f->back || (s->costs->flaps && f->times >= s->costs->flaps);
	default:
		return true;
	}
}

static int by_node(const void *a, const void *b, void *arg)
{
	const struct sn_ladder_state *s = arg;
	const struct sn_failure *x = &s->failure[*(const uint32_t *)a];
	const struct sn_failure *y = &s->failure[*(const uint32_t *)b];

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static bool hits_ranks(const struct sn_failure *f)
{
	return f->kind == SN_FAIL_STEP || f->kind == SN_FAIL_BATCH ||
		f->kind == SN_FAIL_SUPERNODE || (!f->spare && f->cards);
}

/* The graver, the more it says of why something is done. */
static int gravity(const struct sn_failure *f)
{
	static const int grave[] = {
		[SN_FAIL_SUSPECT] = 1, [SN_FAIL_STEP] = 2, [SN_FAIL_SICK] = 3,
		[SN_FAIL_CARD] = 4, [SN_FAIL_NODE] = 5, [SN_FAIL_SUPERNODE] = 6,
		[SN_FAIL_BATCH] = 7,
	};

	return hits_ranks(f) ? grave[f->kind] : 0;
}

static void note_kind(struct sn_ladder_state *s, const struct sn_failure *f)
{
	if (!s->first || gravity(f) > gravity(s->first))
		s->first = f;
	if (!hits_ranks(f))
		return;
	s->hits++;
	s->suspect |= f->kind == SN_FAIL_SUSPECT;
	s->sick |= f->kind == SN_FAIL_SICK;
	s->step |= f->kind == SN_FAIL_STEP;
	s->batch |= f->kind == SN_FAIL_BATCH;
	s->lost |= f->kind == SN_FAIL_CARD || f->kind == SN_FAIL_NODE ||
		f->kind == SN_FAIL_SUPERNODE || f->kind == SN_FAIL_BATCH;
}

/* All failures of one node. */
static void sum_node(struct sn_ladder_state *s, const uint32_t *order, uint32_t n)
{
	struct sn_hurt *h = &s->hurt[s->failure[order[0]].domain];
	uint64_t cards = 0, most = 0;
	bool leave = false, spare = false, gone = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_failure *f = &s->failure[order[i]];

		/* Its memory, also where it is back. */
		gone |= !f->spare && (f->kind == SN_FAIL_NODE || f->kind == SN_FAIL_BATCH);
		s->gone += f->kind == SN_FAIL_SUPERNODE ? 2 : 0;
		h->whole |= f->kind == SN_FAIL_SUPERNODE;
		if (f->kind == SN_FAIL_SUPERNODE || !sn_ladder_must_leave(s, f))
			continue;
		leave = true;
		spare |= f->spare;
		/* A node's count has those of its cards in it. */
		if (f->kind == SN_FAIL_NODE || f->kind == SN_FAIL_BATCH)
			most = f->cards > most ? f->cards : most;
		else
			cards += f->cards;
	}
	s->gone += gone;
	if (!leave)
		return;
	if (spare) {
		h->spares++;
	} else if (cards || most) {
		h->leave++;
		h->cards += most > cards ? most : cards;
	}
}

struct span { uint32_t from, to; };

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Atoms of a supernode's ranks that are hit, each once. */
static uint32_t atoms_hit(const struct sn_ladder_state *s, uint32_t d, struct span *span)
{
	uint32_t n = 0, atoms = 0, end = 0;

	if (s->hurt[d].whole)
		return s->job->domain[d].atoms;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct sn_failure *f = &s->failure[i];

		if (f->kind != SN_FAIL_STEP && f->domain == d && hits_ranks(f) && sn_ladder_must_leave(s, f))
			span[n++] = (struct span){ f->atom, f->atom + f->n_atoms };
	}
	if (n)
		qsort(span, n, sizeof(*span), by_from);
	for (uint32_t i = 0; i < n; i++) {
		if (span[i].from < end)
			span[i].from = end;
		if (span[i].to > span[i].from) {
			atoms += span[i].to - span[i].from;
			end = span[i].to;
		}
	}
	return atoms < s->job->domain[d].atoms ? atoms : s->job->domain[d].atoms;
}

static bool allowed(const struct sn_ladder_state *s, enum sn_means means)
{
	return !s->job->allowed || s->job->allowed >> means & 1;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Who takes over in each supernode: the job's spares first. */
static void share_out(struct sn_ladder_state *s)
{
	for (uint32_t d = 0; d < s->job->n_domains; d++) {
		const struct sn_ladder_domain *dom = &s->job->domain[d];
		struct sn_hurt *h = &s->hurt[d];
		uint32_t spares = h->whole || dom->spares < h->spares ? 0 : dom->spares - h->spares;

		if (h->whole)
			h->leave = h->leave ? h->leave : 1;
		if (!allowed(s, SN_MEANS_SWAP))
			spares = 0;
		h->from_spares = least(h->leave, spares);
		h->from_nodes = h->whole || !allowed(s, SN_MEANS_REPLACE) ? 0 :
			least(h->leave - h->from_spares, dom->spare_nodes);
		h->open = h->leave > h->from_spares + h->from_nodes;
		s->leave += h->leave;
	}
}

static int sum_up(struct sn_ladder_state *s, struct sn_err *err)
{
	uint32_t n = 0;

	s->hurt = calloc(s->job->n_domains + 1ul, sizeof(*s->hurt));
	s->order = malloc((s->n + 1ul) * sizeof(*s->order));
	if (!s->hurt || !s->order)
		return sn_err_set(err, -ENOMEM, "no memory for %u failures", s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		note_kind(s, &s->failure[i]);
		if (s->failure[i].kind != SN_FAIL_STEP)
			s->order[n++] = i;
	}
	qsort_r(s->order, n, sizeof(*s->order), by_node, s);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && !by_node(&s->order[i], &s->order[k], s);)
			k++;
		sum_node(s, s->order + i, k - i);
	}
	share_out(s);
	return 0;
}

/* ---- what can be done, and what it costs ---------------------------------------------- */

/* The largest legal size below that of now which the live cards take; 0: none. */
static int find_size(struct sn_ladder_state *s, struct sn_err *err)
{
	const struct sn_ladder_job *job = s->job;
	uint32_t dp = sn_sizes_lower(&job->sizes, job->dp);
	uint32_t *cards;

	if (!job->elastic || !dp)
		return 0;
	if (job->fits) {
		while (dp && !job->fits(job->arg, dp))
			dp = sn_sizes_lower(&job->sizes, dp);
		s->shrink_to = dp;
		return 0;
	}
	cards = malloc((job->n_domains + 1ul) * sizeof(*cards));
	if (!cards)
		return sn_err_set(err, -ENOMEM, "no memory for %u supernodes", job->n_domains);
	for (uint32_t d = 0; d < job->n_domains; d++) {
		uint64_t gone = s->hurt[d].cards +
			(uint64_t)s->hurt[d].spares * job->domain[d].spare_cards;

		cards[d] = s->hurt[d].whole || gone >= job->domain[d].cards ? 0 :
			job->domain[d].cards - (uint32_t)gone;
	}
	s->shrink_to = sn_sizes_at_most(&job->sizes,
					least(dp, sn_sizes_fit(&job->sizes, cards, job->n_domains)));
	free(cards);
	return 0;
}

struct need { uint32_t spares, nodes, atoms; double price; };

/* What takes over, where `move` lets atoms go that nothing there takes over. */
static struct need need_of(const struct sn_ladder_state *s, bool move, struct span *span,
			   struct sn_ladder_use *use)
{
	bool all = move;
	struct need need = { 0 };

	for (uint32_t d = 0; d < s->job->n_domains; d++)
		all &= !s->hurt[d].open; /* nobody has to, so all would */
	for (uint32_t d = 0; d < s->job->n_domains; d++) {
		const struct sn_hurt *h = &s->hurt[d];
		struct sn_ladder_use u = { h->from_spares, h->from_nodes, 0 };

		if (move && (all || h->open) && h->leave)
			u = (struct sn_ladder_use){ 0, 0, atoms_hit(s, d, span) };
		need.spares += u.spares;
		need.nodes += u.spare_nodes;
		need.atoms += u.atoms;
		need.price += s->job->domain[d].spare_cards *
			(u.spares * s->costs->spare + u.spare_nodes * s->costs->spare_node);
		if (use)
			use[d] = u;
	}
	return need;
}

static void option(struct sn_ladder_plan *plan, enum sn_means means, bool can, double cost)
{
	plan->option[means].can = can;
	plan->option[means].cost = cost;
}

static void weigh(struct sn_ladder_state *s, struct sn_ladder_plan *plan, struct span *span)
{
	const struct sn_ladder_costs *c = s->costs;
	const struct sn_ladder_job *job = s->job;
	const bool down = sn_ladder_broken(s), act = s->leave > 0 && !s->batch;
	const bool warned = !down && job->can_checkpoint;
	const double lost = warned ? job->checkpoint : sn_ladder_since(s, SN_MEANS_RESTART);
	const bool hopeless = s->step && !s->lost && !s->sick && c->no_progress &&
		job->restarts >= c->no_progress;
	struct need stay = need_of(s, false, span, NULL), away = need_of(s, true, span, NULL);
	double smaller = s->ranks - (double)sn_sizes_ranks(&job->sizes, s->shrink_to);
	double wait = 0; /* card-seconds until a requeued job has what is missing */
	bool open = false;

	for (uint32_t d = 0; d < job->n_domains; d++)
		open |= s->hurt[d].open;
	if (open && away.atoms > job->atoms_elsewhere)
		wait = (job->elastic && s->shrink_to ? smaller : s->ranks) * c->horizon;
	option(plan, SN_MEANS_IGNORE, !down && !s->suspect && !s->sick, 0);
	option(plan, SN_MEANS_RESTART, down && !s->leave && !s->batch && !hopeless &&
	       allowed(s, SN_MEANS_RESTART), s->ranks * (c->restart + lost));
	option(plan, SN_MEANS_SWAP, act && !open && !stay.nodes,
	       s->ranks * (c->swap + lost) + stay.price);
	option(plan, SN_MEANS_REPLACE, act && !open && stay.nodes,
	       s->ranks * (c->replace + lost) + stay.price);
	option(plan, SN_MEANS_MOVE, act && away.atoms && away.atoms <= job->atoms_elsewhere &&
	       allowed(s, SN_MEANS_MOVE),
	       s->ranks * ((away.nodes && c->replace > c->move ? c->replace : c->move) + lost) +
	       away.price);
	option(plan, SN_MEANS_SHRINK, act && s->shrink_to && allowed(s, SN_MEANS_SHRINK),
	       s->ranks * (c->shrink + lost) + smaller * c->horizon);
	option(plan, SN_MEANS_REQUEUE, (s->leave || s->batch || down) && !hopeless &&
	       job->can_requeue && allowed(s, SN_MEANS_REQUEUE),
	       s->ranks * (c->requeue + (warned ? lost : sn_ladder_since(s, SN_MEANS_REQUEUE))) + wait);
	option(plan, SN_MEANS_MASK, !down && (s->suspect || s->sick),
	       s->sick ? s->ranks * c->slow * c->horizon : 0);
	for (int m = SN_MEANS_SWAP; s->sick && m <= SN_MEANS_SHRINK; m++)
		plan->option[SN_MEANS_MASK].can &= !plan->option[m].can;
	option(plan, SN_MEANS_GIVE_UP, true, DBL_MAX);
}

/* ---- the plan ---------------------------------------------------------------------------- */

static void choose(struct sn_ladder_state *s, struct sn_ladder_plan *plan, struct span *span)
{
	int best = SN_MEANS_GIVE_UP;

	weigh(s, plan, span);
	for (int m = SN_MEANS_GIVE_UP; m-- > 0;)
		if (plan->option[m].can && plan->option[m].cost <= plan->option[best].cost)
			best = m;
	plan->means = (enum sn_means)best;
	plan->cost = plan->option[best].cost;
	plan->probe = s->suspect;
	plan->dp = best == SN_MEANS_SHRINK ? s->shrink_to : s->job->dp;
	plan->safe_point = !sn_ladder_broken(s) && best >= SN_MEANS_RESTART && best < SN_MEANS_GIVE_UP;
	if (best >= SN_MEANS_SWAP && best <= SN_MEANS_MOVE)
		plan->atoms = need_of(s, best == SN_MEANS_MOVE, span, plan->use).atoms;
	sn_ladder_say(s, plan);
}

int sn_ladder(const struct sn_ladder_job *job, const struct sn_ladder_costs *costs,
	      const struct sn_failure *failure, uint32_t n_failures,
	      struct sn_ladder_plan *ret, struct sn_err *err)
{
	struct sn_ladder_state s = { .job = job, .costs = costs, .failure = failure, .n = n_failures };
	struct sn_ladder_plan plan = { .n_domains = job->n_domains };
	struct span *span;
	int rc = check(job, costs, failure, n_failures, err);

	if (rc)
		return rc;
	s.ranks = (double)sn_sizes_ranks(&job->sizes, job->dp);
	span = malloc((n_failures + 1ul) * sizeof(*span));
	plan.use = calloc(job->n_domains + 1ul, sizeof(*plan.use));
	if (!span || !plan.use)
		rc = sn_err_set(err, -ENOMEM, "no memory for a plan");
	if (!rc)
		rc = sum_up(&s, err);
	if (!rc)
		rc = find_size(&s, err);
	if (!rc) {
		choose(&s, &plan, span);
		*ret = plan;
	} else {
		sn_ladder_plan_done(&plan);
	}
	free(span);
	free(s.hurt);
	free(s.order);
	return rc;
}

void sn_ladder_plan_done(struct sn_ladder_plan *plan)
{
	free(plan->use);
	memset(plan, 0, sizeof(*plan));
}

void sn_ladder_take(const struct sn_ladder_plan *plan,
		    struct sn_ladder_domain *domain, uint32_t *atoms_elsewhere)
{
	for (uint32_t d = 0; d < plan->n_domains; d++)
		domain[d].spare_nodes -= least(domain[d].spare_nodes, plan->use[d].spare_nodes);
	*atoms_elsewhere -= least(*atoms_elsewhere, plan->atoms);
}
