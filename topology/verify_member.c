/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify_member.c - do the ranks agree on who is in which communicator?
 *
 * Without a layout the majority is taken to be right: of the instances of a
 * name that disagree about a rank, the one with the fewer holders is the odd
 * one. With a layout, instances of a kind that it knows are held against it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "topology/groups.h"
#include "topology/verify_internal.h"

/* ---- what a rank says about itself ----------------------------------------------- */

static void check_index(struct vf *vf, const struct vf_inst *in,
			const struct vf_holder *h)
{
	const struct sn_rec_set *set = &vf->rec->set[in->set];
	const char *name = sn_records_text(vf->rec, in->name);
	struct sn_buf buf = { 0 };
	uint32_t at = 0;

	if (h->comm->index == SN_REC_NONE ||
	    (h->comm->index < set->n && set->rank[h->comm->index] == h->rank))
		return;
	while (at < set->n && set->rank[at] != h->rank)
		at++;
	vf_put_rank(vf, &buf, h->rank);
	if (at < set->n)
		sn_buf_add(&buf, " takes itself for number %u in %s, and is number %u of ",
			   h->comm->index, name, at);
	else if (in->extra == in->n || in->extra == 0)
		sn_buf_add(&buf, " is not itself in its list of %s: ", name);
	else { /* the members have more to say */
		sn_buf_done(&buf);
		return;
	}
	vf_put_list(&buf, set->rank, set->n);
	vf_find(vf, SN_FIND_INDEX, h->rank, in->name, &h->rank, 1, &buf);
}

static void check_list(struct vf *vf, const struct vf_inst *in)
{
	const struct sn_rec_set *set = &vf->rec->set[in->set];
	const char *name = sn_records_text(vf->rec, in->name);
	uint32_t mark = vf_mark(vf), world = vf->found->world;
	struct sn_buf buf = { 0 };

	for (uint32_t m = 0; m < set->n && !buf.text; m++) {
		uint32_t r = set->rank[m];

		if (world && r >= world)
			sn_buf_add(&buf, "%s has rank %u, in a job of %u ranks: ", name,
				   r, world);
		else if (r < vf->stamps && vf->stamp[r] == mark)
			sn_buf_add(&buf, "%s has rank %u twice: ", name, r);
		if (r < vf->stamps)
			vf->stamp[r] = mark;
	}
	if (!buf.text)
		return;
	vf_put_rank(vf, &buf, vf->holder[in->first].rank);
	sn_buf_add(&buf, " has ");
	vf_put_list(&buf, set->rank, set->n);
	vf_find(vf, SN_FIND_LIST, vf->holder[in->first].rank, in->name,
		&vf->holder[in->first].rank, 1, &buf);
}

/* ---- what ranks say about each other ----------------------------------------------- */

static const struct sn_rec_comm *comm_of(const struct vf *vf, uint32_t rank,
					 uint32_t name)
{
	const struct sn_rec_rank *r = vf_rank(vf, rank);

	for (uint32_t i = 0; r && i < r->n_comms; i++)
		if (r->comm[i].name == name && r->comm[i].set != SN_REC_NONE)
			return &r->comm[i];
	return NULL;
}

/* Its communicator of that kind under another name, where it has just one. */
static const struct sn_rec_comm *comm_of_kind(const struct vf *vf, uint32_t rank,
					      uint32_t kind)
{
	const struct sn_rec_rank *r = vf_rank(vf, rank);
	const struct sn_rec_comm *c = NULL;

	for (uint32_t i = 0; r && kind != SN_REC_NONE && i < r->n_comms; i++)
		if (r->comm[i].kind == kind && r->comm[i].set != SN_REC_NONE) {
			if (c)
				return NULL;
			c = &r->comm[i];
		}
	return c;
}

/* What the member has in the stead of that instance. */
static const struct sn_rec_comm *other_comm(const struct vf *vf,
					    const struct vf_inst *in, uint32_t member)
{
	const struct sn_rec_comm *c = comm_of(vf, member, in->name);

	return c ? c : comm_of_kind(vf, member, in->kind);
}

static struct vf_inst *inst_of(struct vf *vf, const struct sn_rec_comm *c)
{
	uint32_t lo = 0, hi = vf->n_inst;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct vf_inst *in = &vf->inst[mid];

		if (in->name < c->name || (in->name == c->name && in->set < c->set))
			lo = mid + 1;
		else
			hi = mid;
	}
	return &vf->inst[lo];
}

static bool in_set(const struct vf *vf, uint32_t set, uint32_t rank)
{
	const struct sn_rec_set *s = &vf->rec->set[set];

	for (uint32_t i = 0; i < s->n; i++)
		if (s->rank[i] == rank)
			return true;
	return false;
}

/* A list of ranks with one of each kind of holder. */
struct pick {
	uint32_t *rank;
	uint32_t n;
};

static struct pick holders_of(struct vf *vf, const struct vf_inst *in, bool members)
{
	struct pick p = { malloc((in->n + 1) * sizeof(*p.rank)), 0 };
	uint32_t mark = vf_mark(vf);

	vf->failed |= !p.rank;
	for (uint32_t i = 0; i < vf->rec->set[in->set].n; i++)
		if (vf->rec->set[in->set].rank[i] < vf->stamps)
			vf->stamp[vf->rec->set[in->set].rank[i]] = mark;
	for (uint32_t i = 0; p.rank && i < in->n; i++) {
		uint32_t r = vf->holder[in->first + i].rank;

		if ((vf->stamp[r] == mark) == members)
			p.rank[p.n++] = r;
	}
	return p;
}

/* Where two lists of one length differ in a single place, or in two that are
 * exchanged: *a and *b are those places. */
static int differ(const struct sn_rec_set *x, const struct sn_rec_set *y,
		  uint32_t *a, uint32_t *b)
{
	int n = 0;

	if (x->n != y->n)
		return -1;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->rank[i] != y->rank[i]) {
			if (n == 0)
				*a = i;
			else
				*b = i;
			n++;
		}
	return n;
}

/* Long lists say little; the place where they differ says all. */
static void put_difference(struct sn_buf *buf, const struct sn_rec_set *x,
			   const struct sn_rec_set *y)
{
	uint32_t n = x->n < y->n ? x->n : y->n, i = 0;

	if (x->n <= 16 && y->n <= 16)
		return;
	while (i < n && x->rank[i] == y->rank[i])
		i++;
	if (i < n)
		sn_buf_add(buf, "; they differ first in number %u, %u and %u", i,
			   x->rank[i], y->rank[i]);
	else
		sn_buf_add(buf, "; they have %u and %u members", x->n, y->n);
}

static void put_holders(struct vf *vf, struct sn_buf *buf, const struct pick *p,
			uint32_t set)
{
	vf_put_ranks(vf, buf, p->rank, p->n);
	sn_buf_add(buf, p->n == 1 ? " has " : " have ");
	vf_put_list(buf, vf->rec->set[set].rank, vf->rec->set[set].n);
}

/*
 * Two ranks in each other's place: in one instance the member is absent whose
 * stead a stranger holds, who in turn is absent from the instance of the other.
 */
static bool tell_swap(struct vf *vf, struct vf_inst *in, uint32_t member,
		      struct vf_inst *other)
{
	struct pick in_extra, other_extra;
	struct sn_buf buf = { 0 };
	uint32_t pair[2] = { member, 0 };
	bool is;

	if (in->absent != 1 || in->extra != 1 || other->absent != 1 || other->extra != 1)
		return false;
	in_extra = holders_of(vf, in, false);
	other_extra = holders_of(vf, other, false);
	is = in_extra.n == 1 && other_extra.n == 1 && other_extra.rank[0] == member &&
	     in_set(vf, other->set, in_extra.rank[0]);
	if (is) {
		pair[1] = in_extra.rank[0];
		sn_buf_add(&buf, "ranks %u and %u are swapped: ", member, pair[1]);
		vf_put_rank(vf, &buf, member);
		sn_buf_add(&buf, " has ");
		vf_put_list(&buf, vf->rec->set[other->set].rank, vf->rec->set[other->set].n);
		sn_buf_add(&buf, " as %s and ", sn_records_text(vf->rec, other->name));
		vf_put_rank(vf, &buf, pair[1]);
		sn_buf_add(&buf, " has ");
		vf_put_list(&buf, vf->rec->set[in->set].rank, vf->rec->set[in->set].n);
		sn_buf_add(&buf, " as %s, of which the others have them the other way round",
			   sn_records_text(vf->rec, in->name));
		if (member < pair[1]) /* else it is told from the other's side */
			vf_find(vf, SN_FIND_MEMBERS, 0, in->name, pair, 2, &buf);
		sn_buf_done(&buf);
	}
	free(in_extra.rank);
	free(other_extra.rank);
	return is;
}

/* Some of the holders expect `member`, which has another list. */
static void tell_absent(struct vf *vf, struct vf_inst *in, uint32_t member)
{
	const struct sn_rec_comm *c = other_comm(vf, in, member);
	const char *name = sn_records_text(vf->rec, in->name);
	struct pick mine = holders_of(vf, in, true), theirs = { NULL, 0 };
	struct sn_buf buf = { 0 };
	struct vf_inst *other;
	uint32_t who[2] = { member, 0 };

	if (!mine.n)
		goto done; /* nobody expects it but those who are wrong anyway */
	who[1] = mine.rank[0];
	other = inst_of(vf, c);
	if (tell_swap(vf, in, member, other))
		goto done;
	theirs = holders_of(vf, other, true);
	if (!theirs.n) {
		free(theirs.rank);
		theirs = holders_of(vf, other, false);
	}
	/* Each pair is told once, the odd one first. */
	if (in->name == other->name && in_set(vf, other->set, mine.rank[0]) &&
	    (mine.n < theirs.n || (mine.n == theirs.n && in->set < other->set)))
		goto done;
	if (in->name == other->name)
		sn_buf_add(&buf, "%s: ", name);
	put_holders(vf, &buf, &theirs, other->set);
	if (in->name != other->name)
		sn_buf_add(&buf, " as %s", sn_records_text(vf->rec, other->name));
	sn_buf_add(&buf, ", ");
	put_holders(vf, &buf, &mine, in->set);
	if (in->name != other->name)
		sn_buf_add(&buf, " as %s and %s rank %u there", name,
			   mine.n == 1 ? "expects" : "expect", member);
	put_difference(&buf, &vf->rec->set[other->set], &vf->rec->set[in->set]);
	vf_find(vf, SN_FIND_MEMBERS, 1, in->name, who, 2, &buf);
done:
	sn_buf_done(&buf);
	free(mine.rank);
	free(theirs.rank);
}

/* Members that have nothing in its stead: they may not have come so far yet. */
static void tell_lacking(struct vf *vf, struct vf_inst *in, const uint32_t *rank,
			 uint32_t n)
{
	struct pick mine = holders_of(vf, in, true);
	struct sn_buf buf = { 0 };

	if (mine.n) {
		vf_put_ranks(vf, &buf, mine.rank, mine.n);
		sn_buf_add(&buf, mine.n == 1 ? " expects " : " expect ");
		vf_put_ranks(vf, &buf, rank, n);
		sn_buf_add(&buf, " in %s, ", sn_records_text(vf->rec, in->name));
		vf_put_list(&buf, vf->rec->set[in->set].rank, vf->rec->set[in->set].n);
		sn_buf_add(&buf, n == 1 ? ", and it has no such communicator" :
			   ", and they have no such communicator");
		vf_find(vf, SN_FIND_MEMBERS, 3, in->name, rank, n, &buf);
	}
	sn_buf_done(&buf);
	free(mine.rank);
}

/* Ranks that hold a list in which they are not, told where no member that is
 * absent from it has told it already. */
static void tell_strangers(struct vf *vf, struct vf_inst *in)
{
	struct pick p = holders_of(vf, in, false);
	struct sn_buf buf = { 0 };

	if (p.n) {
		vf_put_ranks(vf, &buf, p.rank, p.n);
		sn_buf_add(&buf, p.n == 1 ? " believes itself" : " believe themselves");
		sn_buf_add(&buf, " in %s, whose members are ", sn_records_text(vf->rec, in->name));
		vf_put_list(&buf, vf->rec->set[in->set].rank, vf->rec->set[in->set].n);
		vf_find(vf, SN_FIND_MEMBERS, 2, in->name, p.rank, p.n, &buf);
	}
	free(p.rank);
}

void vf_check_members(struct vf *vf)
{
	for (uint32_t i = 0; i < vf->n_inst && !vf->failed; i++) {
		struct vf_inst *in = &vf->inst[i];
		const struct sn_rec_set *set = &vf->rec->set[in->set];
		uint32_t before = vf->found->count[SN_FIND_MEMBERS], mark, *absent;
		uint32_t n = 0, lacking = 0, told = 0;

		/* The other end of a message may not have come to it: see the waits. */
		if (!strcmp(sn_records_text(vf->rec, in->kind), "p2p"))
			continue;
		check_list(vf, in);
		for (uint32_t h = 0; h < in->n; h++)
			check_index(vf, in, &vf->holder[in->first + h]);
		if (!in->absent && !in->extra)
			continue;
		absent = malloc((set->n + 1) * sizeof(*absent));
		if (!absent) {
			vf->failed = true;
			return;
		}
		mark = vf_mark(vf);
		for (uint32_t h = 0; h < in->n; h++)
			vf->stamp[vf->holder[in->first + h].rank] = mark;
		for (uint32_t m = 0; m < set->n; m++)
			if (vf_rank(vf, set->rank[m]) && vf->stamp[set->rank[m]] != mark)
				absent[n++] = set->rank[m];
		for (uint32_t m = 0; m < n; m++)
			if (!other_comm(vf, in, absent[m]))
				absent[lacking++] = absent[m];
			else if (told++ < 16)
				tell_absent(vf, in, absent[m]);
		if (lacking)
			tell_lacking(vf, in, absent, lacking);
		free(absent);
		if (in->extra && !n && before == vf->found->count[SN_FIND_MEMBERS])
			tell_strangers(vf, in);
	}
}

/* ---- against the layout ---------------------------------------------------------- */

static void tell_layout(struct vf *vf, const struct vf_inst *in, const char *kind,
			uint32_t g, const struct sn_rec_set *want)
{
	const struct sn_rec_set *set = &vf->rec->set[in->set];
	const char *name = sn_records_text(vf->rec, in->name);
	struct pick p = { malloc(in->n * sizeof(*p.rank)), in->n };
	struct sn_buf buf = { 0 };
	uint32_t a = 0, b = 0, who[2];
	int n = differ(set, want, &a, &b);

	if (!p.rank) {
		vf->failed = true;
		return;
	}
	for (uint32_t i = 0; i < in->n; i++)
		p.rank[i] = vf->holder[in->first + i].rank;
	who[0] = p.rank[0];
	who[1] = 0;
	if (n == 1) {
		who[0] = want->rank[a];
		who[1] = set->rank[a];
		sn_buf_add(&buf, "ranks %u and %u are swapped: ", want->rank[a], set->rank[a]);
	} else if (n == 2 && set->rank[a] == want->rank[b] && set->rank[b] == want->rank[a]) {
		who[0] = want->rank[a];
		who[1] = want->rank[b];
		sn_buf_add(&buf, "ranks %u and %u have changed their order: ", who[0], who[1]);
	} else {
		n = 0;
	}
	put_holders(vf, &buf, &p, in->set);
	sn_buf_add(&buf, " as %s, and by the layout %s group %u is ", name, kind, g);
	vf_put_list(&buf, want->rank, want->n);
	if (!n)
		put_difference(&buf, set, want);
	vf_find(vf, SN_FIND_LAYOUT, who[0], in->name, who, n ? 2 : 1, &buf);
	free(p.rank);
}

/* A holder that is a member, where there is one: a stranger says nothing. */
static uint32_t a_member(const struct vf *vf, const struct vf_inst *in)
{
	for (uint32_t i = 0; i < in->n && in->extra; i++)
		if (in_set(vf, in->set, vf->holder[in->first + i].rank))
			return vf->holder[in->first + i].rank;
	return vf->holder[in->first].rank;
}

static void check_kind(struct vf *vf, const char *kind, const struct sn_groups *g)
{
	uint32_t world = vf->opts->layout->world, n_of;
	uint32_t *of = malloc(world * sizeof(*of));

	if (!of) {
		vf->failed = true;
		return;
	}
	memset(of, 0xff, world * sizeof(*of));
	for (uint32_t i = 0; i < g->n * g->size; i++)
		of[g->rank[i]] = i / g->size;
	for (uint32_t i = 0; i < vf->n_inst && !vf->failed; i++) {
		const struct vf_inst *in = &vf->inst[i];
		const struct sn_rec_set *set = &vf->rec->set[in->set];
		const char *k = sn_records_text(vf->rec, in->kind);
		struct sn_rec_set want;
		uint32_t at;

		if (strcmp(k, kind))
			continue;
		at = a_member(vf, in);
		if (at >= world)
			continue;
		n_of = of[at];
		/* embd has members only at the ends of the pipeline. */
		if (n_of == SN_REC_NONE)
			continue;
		want = (struct sn_rec_set){ g->rank + (size_t)n_of * g->size, g->size };
		if (want.n != set->n || memcmp(want.rank, set->rank, set->n * sizeof(*set->rank)))
			tell_layout(vf, in, kind, n_of, &want);
	}
	free(of);
}

void vf_check_layout(struct vf *vf)
{
	for (int k = 0; vf->opts->layout && k < SN_GROUP_KINDS && !vf->failed; k++) {
		enum sn_group_kind kind = (enum sn_group_kind)k;
		struct sn_groups g;

		if (sn_groups_build(vf->opts->layout, kind, &g, NULL)) {
			vf->failed = true;
			return;
		}
		check_kind(vf, sn_group_name(kind), &g);
		sn_groups_done(&g);
	}
}
