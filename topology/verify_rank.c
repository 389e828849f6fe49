/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify_rank.c - is every rank there, once, and where the plan puts it?
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "topology/verify_internal.h"

static void check_twice(struct vf *vf)
{
	for (uint32_t i = 0; i < vf->rec->n_ranks; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);
		struct sn_buf buf = { 0 };

		if (!r || !r->twice)
			continue;
		sn_buf_add(&buf, "two processes claim to be rank %u, one on %s and one on %s: RANK is set wrong on one of them",
			   i, sn_records_text(vf->rec, r->host),
			   sn_records_text(vf->rec, r->other_host));
		vf_find(vf, SN_FIND_TWICE, i, SN_REC_NONE, &i, 1, &buf);
	}
}

/* A rank on the node that the plan gives to `rank`, but in its stead; or NONE. */
static uint32_t in_its_place(const struct vf *vf, uint32_t rank, const char *host)
{
	const struct sn_layout *l = vf->opts->layout;

	for (uint32_t i = 0; i < l->world; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);

		if (i != rank && r && r->host != SN_REC_NONE &&
		    !strcmp(vf->opts->rank_node[i], host) &&
		    !strcmp(sn_records_text(vf->rec, r->host), vf->opts->rank_node[rank]))
			return i;
	}
	return SN_REC_NONE;
}

static bool is_node_of_job(const struct vf *vf, const char *host)
{
	for (uint32_t i = 0; i < vf->opts->layout->world; i++)
		if (!strcmp(vf->opts->rank_node[i], host))
			return true;
	return false;
}

static void check_places(struct vf *vf)
{
	const struct sn_layout *l = vf->opts->layout;

	for (uint32_t i = 0; l && vf->opts->rank_node && i < l->world; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);
		const char *want = vf->opts->rank_node[i], *host;
		struct sn_buf buf = { 0 };
		uint32_t pair[2] = { i, 0 };

		if (!r || r->host == SN_REC_NONE)
			continue;
		host = sn_records_text(vf->rec, r->host);
		/* A host name that is no node's name says nothing. */
		if (!strcmp(host, want) || vf->found->count[SN_FIND_PLACE] >= SN_FINDINGS_MAX ||
		    !is_node_of_job(vf, host))
			continue;
		pair[1] = in_its_place(vf, i, host);
		if (pair[1] < i)
			continue; /* told with the other */
		if (pair[1] != SN_REC_NONE)
			sn_buf_add(&buf, "ranks %u and %u have changed places: rank %u runs on %s and rank %u on %s, and the layout has them the other way round",
				   i, pair[1], i, host, pair[1], want);
		else
			sn_buf_add(&buf, "rank %u runs on %s, and the layout has it on %s",
				   i, host, want);
		vf_find(vf, SN_FIND_PLACE, i, SN_REC_NONE, pair,
			pair[1] == SN_REC_NONE ? 1 : 2, &buf);
	}
}

/* The world's size that most ranks say. */
static uint32_t usual_world(const struct vf *vf)
{
	uint32_t best = 0, votes = 0;

	/* Boyer and Moore's majority vote. */
	for (uint32_t i = 0; i < vf->rec->n_ranks; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);

		if (!r || !r->world)
			continue;
		if (!votes)
			best = r->world;
		if (r->world == best)
			votes++;
		else
			votes--;
	}
	return best;
}

static void check_world(struct vf *vf)
{
	uint32_t usual = usual_world(vf), world = usual;

	if (vf->opts->layout)
		world = vf->opts->layout->world;
	for (uint32_t i = 0; world && i < vf->rec->n_ranks; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);
		struct sn_buf buf = { 0 };

		if (!r)
			continue;
		if (r->world && r->world != world)
			sn_buf_add(&buf, "rank %u believes in %u ranks, %s %u", i, r->world,
				   vf->opts->layout ? "the layout has" : "the others in",
				   world);
		else if (i >= world)
			sn_buf_add(&buf, "there are records of rank %u, in a job of %u ranks (0 to %u)",
				   i, world, world - 1);
		else
			continue;
		vf_find(vf, SN_FIND_WORLD, i, SN_REC_NONE, &i, 1, &buf);
	}
	if (world)
		vf->found->world = world;
}

static void check_missing(struct vf *vf)
{
	uint32_t world = vf->found->world;
	uint32_t *rank = malloc((world ? world : 1) * sizeof(*rank));

	for (int old = 0; rank && old < 2; old++) {
		struct sn_buf buf = { 0 };
		uint32_t n = 0;

		for (uint32_t i = 0; i < world; i++) {
			bool any = i < vf->rec->n_ranks && vf->rec->rank[i].present;

			if (!vf_rank(vf, i) && any == old)
				rank[n++] = i;
		}
		if (!n)
			continue;
		sn_buf_add(&buf, "there are no records of ");
		if (n == 1)
			sn_buf_add(&buf, "rank %u", rank[0]);
		else
			sn_buf_add(&buf, "%u of %u ranks: ", n, world);
		if (n > 1)
			sn_ranks_format(rank, n < 32 ? n : 32, &buf);
		if (n > 32)
			sn_buf_add(&buf, ",...");
		if (old && n == 1)
			sn_buf_add(&buf, " of generation %u, only of generation %u",
				   vf->rec->gen, vf->rec->rank[rank[0]].gen);
		else if (old)
			sn_buf_add(&buf, " of generation %u, only of earlier ones",
				   vf->rec->gen);
		vf_find(vf, SN_FIND_MISSING, (uint64_t)old, SN_REC_NONE, rank, n, &buf);
	}
	vf->failed |= !rank;
	free(rank);
}

void vf_check_ranks(struct vf *vf)
{
	check_twice(vf);
	check_places(vf);
	check_world(vf);
	check_missing(vf);
}
