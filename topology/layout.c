/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.c - the arithmetic of a layout: checks, blocks, coordinates.
 *
 * Everything is reckoned on the places of one pipeline stage (layout.h):
 * no bound axis leaves a stage, and all stages look alike. Inside a stage the
 * groups repeat with the period lcm(tp·cp, etp·ep), so a block never needs more
 * than one period to be found.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/layout.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* Both are at most 2^48 here, and their quotients by the gcd at most 2^24. */
static uint64_t lcm(uint64_t a, uint64_t b)
{
	return a / gcd(a, b) * b;
}

static uint32_t stage_size(const struct sn_layout *l)
{
	return l->world / l->pp;
}

static uint32_t period(const struct sn_layout *l)
{
	return (uint32_t)lcm((uint64_t)l->tp * l->cp,
			     (uint64_t)l->etp * l->ep);
}

uint32_t sn_layout_dp_grid(const struct sn_layout *layout)
{
	return period(layout) / (layout->tp * layout->cp);
}

/* Which axes tie ranks together inside a domain. An axis of size 1 ties
 * nothing, so it may be counted in, which makes more sets prefixes. */
struct bound {
	bool tp, cp, ep, etp;
};

static struct bound bound_in(const struct sn_layout *l, enum sn_domain domain)
{
	return (struct bound){
		.tp = l->tp == 1 || l->tp_within <= domain,
		.cp = l->cp == 1 || l->cp_within <= domain,
		.ep = l->ep == 1 || l->ep_within <= domain,
		.etp = l->etp == 1 || l->etp_within <= domain,
	};
}

static uint32_t find(uint32_t *parent, uint32_t s)
{
	while (parent[s] != s) {
		parent[s] = parent[parent[s]];
		s = parent[s];
	}
	return s;
}

/* The smaller one becomes the root, so a root is its block's first place. */
static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = find(parent, a);
	b = find(parent, b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

static int blocks_by_union(const struct sn_layout *l, const struct bound *b,
			   uint32_t **ret_block, uint32_t *ret_size)
{
	uint32_t n = period(l);
	uint32_t blocks = 0;
	uint32_t *parent, *count;
	int rc = 0;

	parent = malloc(n * sizeof(*parent));
	count = calloc(n, sizeof(*count));
	if (!parent || !count) {
		rc = -ENOMEM;
		goto out;
	}
	for (uint32_t s = 0; s < n; s++)
		parent[s] = s;
	for (uint32_t s = 0; s < n; s++) {
		if (b->tp && s % l->tp)
			unite(parent, s, s - 1);
		if (b->cp && s / l->tp % l->cp)
			unite(parent, s, s - l->tp);
		if (b->etp && s % l->etp)
			unite(parent, s, s - 1);
		if (b->ep && s / l->etp % l->ep)
			unite(parent, s, s - l->etp);
	}
	for (uint32_t s = 0; s < n; s++)
		count[find(parent, s)]++;
	*ret_size = count[0];
	/* From places to numbers: a root is met before the rest of its block,
	 * and once flattened, parent is final below s. */
	for (uint32_t s = 0; s < n; s++) {
		if (count[s] && count[s] != *ret_size) {
			rc = -EINVAL;
			goto out;
		}
		parent[s] = find(parent, s);
	}
	for (uint32_t s = 0; s < n; s++) {
		if (parent[s] == s)
			count[s] = blocks++;
		parent[s] = count[parent[s]];
	}
	*ret_block = parent;
	parent = NULL;
out:
	free(parent);
	free(count);
	return rc;
}

/*
 * The blocks of one period of a stage. *ret_block is NULL where they are
 * *ret_size consecutive places each, else the number of each place's block
 * (free). -EINVAL: they differ in size.
 *
 * Axes that are a prefix of their grid make intervals, of a places in the
 * dense grid and b in the expert one; both cut only at common multiples.
 */
static int period_blocks(const struct sn_layout *l, enum sn_domain domain,
			 uint32_t **ret_block, uint32_t *ret_size)
{
	struct bound b = bound_in(l, domain);
	uint64_t dense, expert;

	*ret_block = NULL;
	if ((b.cp && !b.tp && l->cp > 1) || (b.ep && !b.etp && l->ep > 1))
		return blocks_by_union(l, &b, ret_block, ret_size);
	dense = b.tp ? (uint64_t)l->tp * (b.cp ? l->cp : 1) : 1;
	expert = b.etp ? (uint64_t)l->etp * (b.ep ? l->ep : 1) : 1;
	*ret_size = (uint32_t)lcm(dense, expert);
	return 0;
}

static int block_size(const struct sn_layout *l, enum sn_domain domain,
		      uint32_t *ret_size, struct sn_err *err)
{
	uint32_t *block;
	int rc = period_blocks(l, domain, &block, ret_size);

	free(block);
	if (rc == -ENOMEM)
		return sn_err_set(err, rc, "not enough memory for the layout");
	if (rc)
		return sn_err_set(err, rc,
				  "the groups bound to the %s tie unequal numbers of ranks (tp=%u cp=%u etp=%u ep=%u, tp_within=%s, cp_within=%s, ep_within=%s); bind tp with cp, and leave ep to the supernode",
				  sn_domain_name(domain), l->tp, l->cp, l->etp,
				  l->ep, sn_domain_name(l->tp_within),
				  sn_domain_name(l->cp_within),
				  sn_domain_name(l->ep_within));
	return 0;
}

static int check_world(struct sn_layout *l, struct sn_err *err)
{
	const struct { const char *key; uint32_t size; } axis[] = {
		{ "tp", l->tp }, { "cp", l->cp }, { "ep", l->ep },
		{ "etp", l->etp }, { "pp", l->pp }, { "dp", l->dp },
	};
	uint64_t w = 1;

	for (size_t i = 0; i < sizeof(axis) / sizeof(axis[0]); i++) {
		if (axis[i].size < 1 || axis[i].size > SN_WORLD_MAX)
			return sn_err_set(err, -EINVAL,
					  "%s=%u: a size is a whole number from 1 to %u",
					  axis[i].key, axis[i].size,
					  SN_WORLD_MAX);
		if (!strcmp(axis[i].key, "ep") || !strcmp(axis[i].key, "etp"))
			continue;
		w *= axis[i].size;
		if (w > SN_WORLD_MAX)
			return sn_err_set(err, -EINVAL,
					  "tp*cp*pp*dp = %u*%u*%u*%u is more than %u ranks, the most a layout may have",
					  l->tp, l->cp, l->pp, l->dp,
					  SN_WORLD_MAX);
	}
	l->world = (uint32_t)w;
	return 0;
}

/* Values of etp that would do, ", or etp=1 or 2": only those that divide tp,
 * as nobody shards an expert wider than the dense layers. */
static void suggest_etp(const struct sn_layout *l, char *buf, size_t size)
{
	uint32_t s = stage_size(l);
	uint32_t found[6], n = 0;
	size_t at = 0;

	buf[0] = '\0';
	for (uint32_t e = 1; e <= l->tp && n < 6; e++)
		if (!(l->tp % e) && !(s % ((uint64_t)e * l->ep)))
			found[n++] = e;
	for (uint32_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%u",
				       i == 0 ? "etp=" :
				       i == n - 1 ? " or " : ", ", found[i]);
}

/* The dp nearest to the one given at which etp·ep divides tp·cp·dp. */
static void suggest_dp(const struct sn_layout *l, char *buf, size_t size)
{
	uint64_t dense = (uint64_t)l->tp * l->cp;
	uint64_t grid = lcm(dense, (uint64_t)l->etp * l->ep) / dense;
	uint64_t below = l->dp / grid * grid;

	if (below)
		snprintf(buf, size, "dp=%" PRIu64 " or %" PRIu64, below,
			 below + grid);
	else
		snprintf(buf, size, "dp=%" PRIu64, grid);
}

static int check_experts(struct sn_layout *l, struct sn_err *err)
{
	uint64_t tied = (uint64_t)l->etp * l->ep;
	uint32_t s = stage_size(l);
	char etp[96], dp[64];

	if (tied > SN_WORLD_MAX)
		return sn_err_set(err, -EINVAL,
				  "etp*ep = %u*%u = %" PRIu64 " is more than %u ranks, the most a layout may have",
				  l->etp, l->ep, tied, SN_WORLD_MAX);
	if (l->preset == SN_PRESET_VLLM && l->ep > 1) {
		if (l->ep != s)
			return sn_err_set(err, -EINVAL,
					  "ep=%u: with preset=vllm the experts span a whole pipeline stage, so ep is 1 or tp*cp*dp = %u*%u*%u = %u",
					  l->ep, l->tp, l->cp, l->dp, s);
		if (l->etp != 1)
			return sn_err_set(err, -EINVAL,
					  "etp=%u: with preset=vllm and ep=%u each expert is whole on one rank, so etp must be 1",
					  l->etp, l->ep);
	}
	if (s % tied) {
		suggest_etp(l, etp, sizeof(etp));
		suggest_dp(l, dp, sizeof(dp));
		return sn_err_set(err, -EINVAL,
				  "etp*ep*pp = %u*%u*%u = %" PRIu64 "%s%u, the world tp*cp*pp*dp = %u*%u*%u*%u%s; %s%s%s would do",
				  l->etp, l->ep, l->pp, tied * l->pp,
				  tied > s ? " > " : " does not divide ",
				  l->world, l->tp, l->cp, l->pp, l->dp,
				  tied > s ? ", which it must divide" : "",
				  etp, etp[0] ? ", or " : "", dp);
	}
	l->edp = s / (uint32_t)tied;
	if (l->order == SN_ORDER_PP_DP && l->preset != SN_PRESET_VLLM &&
	    l->pp > 1 && l->edp != l->dp)
		return sn_err_set(err, -EINVAL,
				  "order=%s with pp=%u: the pipeline groups of dense and expert layers differ, as etp*ep = %u*%u = %" PRIu64 " is not tp*cp = %u*%u = %u; make them equal or use order=%s",
				  sn_order_name(l->order), l->pp, l->etp, l->ep,
				  tied, l->tp, l->cp, l->tp * l->cp,
				  sn_order_name(SN_ORDER_DP_PP));
	return 0;
}

static int check_domains(const struct sn_layout *l, struct sn_err *err)
{
	if (l->tp_within > SN_IN_SUPERNODE || l->cp_within > SN_IN_SUPERNODE ||
	    l->etp_within > SN_IN_SUPERNODE)
		return sn_err_set(err, -EINVAL,
				  "only ep can be free of every domain (ep_within=any)");
	if (l->ep_within > SN_IN_ANY)
		return sn_err_set(err, -EINVAL, "ep_within=%d is no domain",
				  (int)l->ep_within);
	return 0;
}

static int check_node_fits(const struct sn_layout *l, uint32_t cards,
			   struct sn_err *err)
{
	const struct { const char *key; uint32_t size; enum sn_domain in; }
	axis[] = {
		{ "tp", l->tp, l->tp_within },
		{ "cp", l->cp, l->cp_within },
		{ "ep", l->ep, l->ep_within },
	};
	char which[64] = "", sizes[96] = "";

	if (!cards || l->node_block <= cards)
		return 0;
	for (size_t i = 0; i < sizeof(axis) / sizeof(axis[0]); i++) {
		size_t w = strlen(which), n = strlen(sizes);

		if (axis[i].in != SN_IN_NODE || axis[i].size == 1)
			continue;
		snprintf(which + w, sizeof(which) - w, "%s%s_within=node",
			 w ? ", " : "", axis[i].key);
		snprintf(sizes + n, sizeof(sizes) - n, "%s%s=%u",
			 n ? " with " : "", axis[i].key, axis[i].size);
	}
	return sn_err_set(err, -EINVAL,
			  "%s: %s ties %u ranks to one node, but %u > %u, the cards of a node; bind to unit or supernode",
			  which, sizes, l->node_block, l->node_block, cards);
}

int sn_layout_finish(struct sn_layout *layout, uint32_t cards_per_node,
		     struct sn_err *err)
{
	struct sn_layout l = *layout;
	int rc;

	if ((rc = check_domains(&l, err)) || (rc = check_world(&l, err)) ||
	    (rc = check_experts(&l, err)) ||
	    (rc = block_size(&l, SN_IN_NODE, &l.node_block, err)) ||
	    (rc = check_node_fits(&l, cards_per_node, err)) ||
	    (rc = block_size(&l, SN_IN_UNIT, &l.unit_block, err)) ||
	    (rc = block_size(&l, SN_IN_SUPERNODE, &l.atom, err)))
		return rc;
	/* tp and cp never leave the supernode, so an atom is whole replicas. */
	l.dp_step = l.atom / (l.tp * l.cp);
	*layout = l;
	return 0;
}

int sn_layout_set_dp(struct sn_layout *layout, uint32_t dp, struct sn_err *err)
{
	struct sn_layout l = *layout;
	int rc;

	/* No block depends on dp, so what fitted a node fits it still. */
	l.dp = dp;
	rc = sn_layout_finish(&l, 0, err);
	if (!rc)
		*layout = l;
	return rc;
}

uint32_t sn_layout_rank(const struct sn_layout *l, uint32_t pp, uint32_t s)
{
	uint32_t dense = l->tp * l->cp;

	if (l->order == SN_ORDER_DP_PP)
		return s + dense * l->dp * pp;
	return s % dense + dense * (pp + l->pp * (s / dense));
}

/* The inverse of sn_layout_rank(). */
static void place_of(const struct sn_layout *l, uint32_t rank,
		     uint32_t *ret_pp, uint32_t *ret_s)
{
	uint32_t dense = l->tp * l->cp;

	if (l->order == SN_ORDER_DP_PP) {
		*ret_pp = rank / (dense * l->dp);
		*ret_s = rank % (dense * l->dp);
	} else {
		*ret_pp = rank / dense % l->pp;
		*ret_s = rank % dense + rank / dense / l->pp * dense;
	}
}

void sn_layout_coords(const struct sn_layout *layout, uint32_t rank,
		      struct sn_coords *ret)
{
	const struct sn_layout *l = layout;
	uint32_t s;

	place_of(l, rank, &ret->pp, &s);
	ret->tp = s % l->tp;
	ret->cp = s / l->tp % l->cp;
	ret->dp = s / (l->tp * l->cp);
	ret->etp = s % l->etp;
	ret->ep = s / l->etp % l->ep;
	ret->edp = s / (l->etp * l->ep);
}

int sn_layout_blocks(const struct sn_layout *layout, enum sn_domain domain,
		     uint32_t *block)
{
	const struct sn_layout *l = layout;
	uint32_t n = period(l), stage = stage_size(l);
	uint32_t size, per_stage, next = 0;
	uint32_t *in_period, *number;
	int rc = period_blocks(l, domain, &in_period, &size);

	if (rc)
		return rc;
	per_stage = stage / size;
	number = malloc((size_t)per_stage * l->pp * sizeof(*number));
	if (!number) {
		free(in_period);
		return -ENOMEM;
	}
	memset(number, 0xff, (size_t)per_stage * l->pp * sizeof(*number));
	for (uint32_t rank = 0; rank < l->world; rank++) {
		uint32_t pp, s, key;

		place_of(l, rank, &pp, &s);
		key = in_period ? in_period[s % n] + s / n * (n / size) :
				  s / size;
		key += pp * per_stage;
		if (number[key] == UINT32_MAX)
			number[key] = next++;
		block[rank] = number[key];
	}
	free(in_period);
	free(number);
	return 0;
}
