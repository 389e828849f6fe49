/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_reason.c - why a job does not fit, in one sentence with the numbers.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "topology/place_internal.h"
#include "topology/text.h"

#define LISTED 3 /* supernodes that are named */

struct tally {
	uint64_t cards, free; /* of nodes that are not absent */
	uint64_t room; /* atoms */
	uint32_t absent, late, degraded, held, idle, partly; /* nodes that do not serve */
	uint64_t too_small; /* cards in nodes that hold no whole block more */
	uint32_t pool_short, spares_short; /* supernodes that could hold more */
	uint32_t richest; /* of pool_short, the one with the most pool free */
	uint32_t best[LISTED], n_best; /* supernodes, most room first */
};

struct text {
	char buf[SN_ERR_SIZE];
	size_t n;
};

static void add(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->n, sizeof(t->buf) - t->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n;
	if (t->n >= sizeof(t->buf))
		t->n = sizeof(t->buf) - 1;
}

static const char *s_of(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static uint64_t n_cards(const struct pl *p, uint32_t s)
{
	const struct sn_topo_supernode *t = &p->topo->supernode[s];
	uint64_t n = 0;

	for (uint32_t i = t->first_node; i < t->first_node + t->n_nodes; i++)
		if (!(p->state->node[i].flags & SN_NODE_ABSENT))
			n += (uint32_t)__builtin_popcountll(
				p->state->node[i].cards);
	return n;
}

static bool is_better(const struct pl *p, uint32_t a, uint32_t b)
{
	if (p->sn[a].cap != p->sn[b].cap)
		return p->sn[a].cap > p->sn[b].cap;
	return p->sn[a].free > p->sn[b].free;
}

static void keep_best(const struct pl *p, struct tally *t, uint32_t s)
{
	uint32_t i = t->n_best;

	while (i && is_better(p, s, t->best[i - 1]))
		i--;
	if (i == LISTED)
		return;
	if (t->n_best < LISTED)
		t->n_best++;
	for (uint32_t j = t->n_best - 1; j > i; j--)
		t->best[j] = t->best[j - 1];
	t->best[i] = s;
}

static void count_node(const struct pl *p, struct tally *t, uint32_t i)
{
	const struct sn_place_node *node = &p->state->node[i];
	uint32_t n = (uint32_t)__builtin_popcountll(node->free);

	if (node->flags & SN_NODE_ABSENT)
		t->absent++;
	else if (p->held[i])
		(*(p->held[i] == PL_HELD_IDLE ? &t->idle : &t->held))++;
	else if (node->flags & SN_NODE_LATE && !p->late)
		t->late++;
	else if (node->flags & SN_NODE_DEGRADED && !p->degraded)
		t->degraded++;
	else if (!pl_usable(p, i))
		t->partly++;
	else
		t->too_small += n - pl_blocks(p, i) * p->req->node_block;
}

static uint64_t pool_free(const struct pl *p, uint32_t s)
{
	return p->state->supernode ? p->state->supernode[s].pool_free :
				     UINT64_MAX;
}

static void count_pool_short(const struct pl *p, struct tally *t, uint32_t s)
{
	if (!t->pool_short++ || pool_free(p, s) > pool_free(p, t->richest))
		t->richest = s;
}

static void count(const struct pl *p, struct tally *t)
{
	*t = (struct tally){ 0 };
	for (uint32_t s = 0; s < p->topo->n_supernodes; s++) {
		const struct pl_supernode *sn = &p->sn[s];
		uint64_t blocks = 0;

		for (uint32_t i = 0; i < sn->n_items; i++)
			blocks += sn->item[i].cap;
		t->cards += n_cards(p, s);
		t->free += sn->free;
		t->room += sn->cap;
		if (sn->cap < p->atoms && sn->cap < blocks / p->per_atom) {
			if (sn->pool_atoms <= sn->cap ||
			    sn->q_max < sn->n_items)
				count_pool_short(p, t, s);
			else if (p->req->spares)
				t->spares_short++;
		}
		keep_best(p, t, s);
	}
	for (uint32_t i = 0; i < p->topo->n_nodes; i++)
		count_node(p, t, i);
}

/* The bandwidth may be what is short: then the size is no help. */
static void say_pool(const struct pl *p, const struct tally *t,
		     struct text *out)
{
	static const char *const per[] = {
		[SN_POOL_TOTAL] = " in all", [SN_POOL_SUPERNODE] = "/supernode",
		[SN_POOL_NODE] = "/node", [SN_POOL_CARD] = "/card",
	};
	const struct sn_pool *pool = &p->req->pool;
	uint64_t most = pool_free(p, t->richest);
	char want[32], have[32];

	add(out, "the memory pool is short in %u supernode%s", t->pool_short,
	    s_of(t->pool_short));
	if (pool->per == SN_POOL_NAMED || !pool->size || most == UINT64_MAX)
		return;
	sn_format_size(pool->size, want, sizeof(want));
	sn_format_size(most, have, sizeof(have));
	add(out, " (%s%s is wanted; the most they have free is %s, %s)", want,
	    per[pool->per], have, p->topo->supernode[t->richest].name);
}

static void say_obstacles(const struct pl *p, const struct tally *t,
			  struct text *out)
{
	uint64_t busy = t->cards - t->free;
	const char *sep = "; ";

	if (busy) {
		add(out, "%s%llu of %llu cards are busy or masked", sep,
		    (unsigned long long)busy, (unsigned long long)t->cards);
		sep = ", ";
	}
	if (t->too_small && p->req->node_block > 1) {
		add(out, "%s%llu free card%s in nodes without %u more to make a block",
		    sep, (unsigned long long)t->too_small, s_of(t->too_small),
		    p->req->node_block);
		sep = ", ";
	}
	if (t->held) {
		add(out, "%s%u node%s held back as SpareNodes", sep, t->held,
		    s_of(t->held));
		sep = ", ";
	}
	if (t->idle) {
		add(out, "%s%u node%s kept idle by the PowerLimit", sep,
		    t->idle, s_of(t->idle));
		sep = ", ";
	}
	if (t->absent) {
		add(out, "%s%u node%s down or not offered", sep, t->absent,
		    s_of(t->absent));
		sep = ", ";
	}
	if (t->partly) {
		add(out, "%s%u node%s not wholly free, as --exclusive needs",
		    sep, t->partly, s_of(t->partly));
		sep = ", ";
	}
	if (t->pool_short) {
		add(out, "%s", sep);
		say_pool(p, t, out);
		sep = ", ";
	}
	if (t->spares_short)
		add(out, "%s%u spare node%s in each supernode used take room in %u",
		    sep, p->req->spares, s_of(p->req->spares),
		    t->spares_short);
}

static void say_best(const struct pl *p, const struct tally *t,
		     struct text *out)
{
	for (uint32_t i = 0; i < t->n_best; i++) {
		uint32_t s = t->best[i];

		add(out, "%s%s %u (%llu of %llu cards free)", i ? ", " : ": ",
		    p->topo->supernode[s].name, p->sn[s].cap,
		    (unsigned long long)p->sn[s].free,
		    (unsigned long long)n_cards(p, s));
	}
	if (p->topo->n_supernodes > t->n_best)
		add(out, ", %u more with no more than that",
		    p->topo->n_supernodes - t->n_best);
}

/* A required node that cannot serve is the whole reason. */
static bool say_required(const struct pl *p, struct text *out)
{
	for (uint32_t i = 0; i < p->topo->n_nodes; i++) {
		const struct sn_place_node *node = &p->state->node[i];
		const char *name = p->topo->node[i].name;

		if (!(node->flags & SN_NODE_REQUIRED) ||
		    (pl_usable(p, i) && pl_blocks(p, i)))
			continue;
		if (node->flags & SN_NODE_ABSENT)
			add(out, "node %s is required, but it is down or not offered",
			    name);
		else if (p->held[i] == PL_HELD_IDLE)
			add(out, "node %s is required, but the PowerLimit of %s keeps it idle",
			    name,
			    p->topo->supernode[p->topo->node[i].supernode].name);
		else if (p->held[i])
			add(out, "node %s is required, but it is held back as one of the SpareNodes of %s",
			    name,
			    p->topo->supernode[p->topo->node[i].supernode].name);
		else
			add(out, "node %s is required, but of its %d cards %d are free and it has room for %u ranks, while %s",
			    name, __builtin_popcountll(node->cards),
			    __builtin_popcountll(node->free),
			    pl_blocks(p, i) * p->req->node_block,
			    p->req->whole_nodes ? "all are needed" :
						  "a node block is needed");
		if (!p->req->whole_nodes && !p->held[i] &&
		    !(node->flags & SN_NODE_ABSENT))
			add(out, " (%u ranks)", p->req->node_block);
		return true;
	}
	return false;
}

static void say_required_supernodes(const struct pl *p, struct text *out)
{
	uint32_t n = 0, full = SN_NONE;
	uint64_t min = 0;

	for (uint32_t s = 0; s < p->topo->n_supernodes; s++) {
		if (!p->sn[s].forced)
			continue;
		n++;
		min += p->sn[s].min;
		if (!p->sn[s].cap && full == SN_NONE)
			full = s;
	}
	if (full != SN_NONE)
		add(out, "; %s has a required node, but no room for an atom on its required nodes",
		    p->topo->supernode[full].name);
	else if (n)
		add(out, "; the required nodes are in %u supernode%s and take %llu atom%s at least",
		    n, s_of(n), (unsigned long long)min, s_of(min));
}

/* Returns -ENOSPC. */
int pl_reason(const struct pl *p, struct sn_err *err)
{
	struct text out = { .n = 0 };
	struct tally t;

	if (!err)
		return -ENOSPC;
	if (say_required(p, &out))
		return sn_err_set(err, -ENOSPC, "%s", out.buf);
	count(p, &t);
	add(&out, "%u atom%s of %u card%s %s wanted", p->atoms, s_of(p->atoms),
	    p->req->atom, s_of(p->req->atom), p->atoms == 1 ? "is" : "are");
	if (t.room < p->atoms)
		add(&out, ", room for %llu", (unsigned long long)t.room);
	else if (p->req->exact_nodes)
		add(&out, " on exactly %u node%s, %s", p->req->exact_nodes,
		    s_of(p->req->exact_nodes),
		    p->exact ? "which no choice of nodes gives" :
			       "for which no choice was found in a limited search");
	say_best(p, &t, &out);
	say_required_supernodes(p, &out);
	say_obstacles(p, &t, &out);
	return sn_err_set(err, -ENOSPC, "%s", out.buf);
}
