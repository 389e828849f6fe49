/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.c - the placement engine's front: checks a request and runs a pass
 * without late and degraded nodes, then, if need be, some with them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/place_internal.h"

void sn_place_request_init(struct sn_place_request *request,
			   const struct sn_jobspec *spec)
{
	const struct sn_layout *layout = &spec->layout;

	*request = (struct sn_place_request){
		.world = layout->world,
		.node_block = layout->node_block,
		.unit_block = layout->unit_block,
		.atom = layout->atom,
		.pool = spec->pool,
		.spares = spec->spares,
		.use_spare_nodes = spec->replaces != 0,
	};
}

static int check_request(const struct sn_place_request *r, struct sn_err *err)
{
	if (!r->world || !r->node_block || !r->unit_block || !r->atom)
		return sn_err_set(err, -EINVAL,
				  "a job of %u ranks in atoms of %u, unit blocks of %u and node blocks of %u ranks: none may be 0",
				  r->world, r->atom, r->unit_block,
				  r->node_block);
	if (r->world > SN_WORLD_MAX)
		return sn_err_set(err, -EINVAL, "%u ranks are over %u",
				  r->world, SN_WORLD_MAX);
	if (r->world % r->atom)
		return sn_err_set(err, -EINVAL,
				  "%u ranks are not whole atoms of %u ranks: %u or %u would be",
				  r->world, r->atom,
				  r->world / r->atom * r->atom,
				  (r->world / r->atom + 1) * r->atom);
	if (r->atom % r->unit_block)
		return sn_err_set(err, -EINVAL,
				  "an atom of %u ranks is not whole unit blocks of %u",
				  r->atom, r->unit_block);
	if (r->unit_block % r->node_block)
		return sn_err_set(err, -EINVAL,
				  "a unit block of %u ranks is not whole node blocks of %u",
				  r->unit_block, r->node_block);
	if (r->exact_nodes > r->world / r->node_block)
		return sn_err_set(err, -EINVAL,
				  "%u nodes are asked for, but %u ranks in node blocks of %u can be on %u at most",
				  r->exact_nodes, r->world, r->node_block,
				  r->world / r->node_block);
	return 0;
}

static int check_state(const struct sn_topo *topo,
		       const struct sn_place_state *state, uint32_t *ret_flags,
		       struct sn_err *err)
{
	*ret_flags = 0;
	for (uint32_t i = 0; i < topo->n_nodes; i++) {
		const struct sn_place_node *node = &state->node[i];

		if (node->free & ~node->cards)
			return sn_err_set(err, -EINVAL,
					  "node %s: free cards %#llx are not among its cards %#llx",
					  topo->node[i].name,
					  (unsigned long long)node->free,
					  (unsigned long long)node->cards);
		if (!(node->flags & SN_NODE_ABSENT))
			*ret_flags |= node->flags;
	}
	return 0;
}

static int run_pass(struct pl *p, struct sn_placement *ret, struct sn_err *err)
{
	struct pl_choice choice = { 0 };
	int rc;

	rc = pl_prep(p);
	if (!rc)
		rc = pl_local_caps(p);
	if (!rc)
		rc = p->greedy ? pl_bound(p, &choice) : pl_choose(p, &choice);
	if (!rc)
		rc = pl_fill(p, &choice, ret);
	ret->exact = p->exact;
	if (rc)
		sn_placement_done(ret);
	if (rc == -ENOSPC)
		rc = pl_reason(p, err);
	else if (rc == -ENOMEM)
		sn_err_set(err, rc, "out of memory while placing %u ranks",
			   p->req->world);
	else if (rc && rc != -E2BIG)
		sn_err_set(err, rc, "placing %u ranks failed: a bug",
			   p->req->world);
	free(choice.pick);
	pl_done(p);
	return rc;
}

/* The best placement of all is the best with so many nodes too if it has as
 * many, which is the rule; only else it is searched for, by tables or, where they
 * would be too large, without. */
static int run_bound(struct pl *p, struct sn_placement *ret, struct sn_err *err)
{
	const struct pl fresh = *p;
	uint32_t want = p->req->exact_nodes;
	int rc;

	rc = run_pass(p, ret, err);
	if (rc || !want || ret->n_nodes == want)
		return rc;
	sn_placement_done(ret);
	*p = fresh;
	p->bound = want;
	rc = run_pass(p, ret, err);
	if (rc != -E2BIG)
		return rc;
	*p = fresh;
	p->bound = want;
	p->greedy = true;
	return run_pass(p, ret, err);
}

int sn_place(const struct sn_topo *topo, const struct sn_place_state *state,
	     const struct sn_place_request *request, struct sn_placement *ret,
	     struct sn_err *err)
{
	uint32_t flags;
	int rc;

	*ret = (struct sn_placement){ 0 };
	rc = check_request(request, err);
	if (!rc)
		rc = check_state(topo, state, &flags, err);
	if (rc)
		return rc;
	for (int pass = 0; pass < 4; pass++) {
		struct pl p = {
			.topo = topo, .state = state, .req = request,
			.late = pass & 1, .degraded = pass & 2,
		};

		if ((p.late && !(flags & SN_NODE_LATE)) ||
		    (p.degraded && !(flags & SN_NODE_DEGRADED)))
			continue;
		rc = run_bound(&p, ret, err);
		if (rc != -ENOSPC)
			break;
	}
	return rc;
}

void sn_placement_done(struct sn_placement *placement)
{
	if (!placement)
		return;
	free(placement->supernode);
	free(placement->node);
	free(placement->spare);
	free(placement->score.fabrics);
	*placement = (struct sn_placement){ 0 };
}
