/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.c - do the ranks of a job agree on their communicators?
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/verify_internal.h"

static const char *const names[SN_FIND_KINDS] = {
	[SN_FIND_TWICE] = "twice",
	[SN_FIND_PLACE] = "place",
	[SN_FIND_WORLD] = "world",
	[SN_FIND_INDEX] = "index",
	[SN_FIND_LIST] = "list",
	[SN_FIND_MEMBERS] = "members",
	[SN_FIND_LAYOUT] = "layout",
	[SN_FIND_OP] = "operation",
	[SN_FIND_BYTES] = "bytes",
	[SN_FIND_CYCLE] = "cycle",
	[SN_FIND_ABSENT] = "absent",
	[SN_FIND_MISSING] = "missing",
};

const char *sn_find_name(enum sn_find_kind kind)
{
	return names[kind];
}

void vf_find(struct vf *vf, enum sn_find_kind kind, uint64_t order,
	     uint32_t comm, const uint32_t *rank, uint32_t n_ranks,
	     struct sn_buf *buf)
{
	struct sn_findings *found = vf->found;
	struct sn_finding f = { .kind = kind, .order = order }, *grown;

	if (found->count[kind]++ >= SN_FINDINGS_MAX) {
		sn_buf_done(buf);
		return;
	}
	grown = realloc(found->find, (found->n + 1) * sizeof(*grown));
	if (grown)
		found->find = grown;
	f.rank = malloc((n_ranks ? n_ranks : 1) * sizeof(*rank));
	f.comm = comm == SN_REC_NONE ? NULL : strdup(sn_records_text(vf->rec, comm));
	if (!grown || !f.rank || buf->failed || !buf->text ||
	    (comm != SN_REC_NONE && !f.comm)) {
		free(f.rank);
		free(f.comm);
		sn_buf_done(buf);
		vf->failed = true;
		return;
	}
	if (n_ranks)
		memcpy(f.rank, rank, n_ranks * sizeof(*rank));
	f.n_ranks = n_ranks;
	f.text = buf->text;
	memset(buf, 0, sizeof(*buf));
	found->find[found->n++] = f;
}

/* ---- words ---------------------------------------------------------------------- */

void vf_put_rank(const struct vf *vf, struct sn_buf *buf, uint32_t rank)
{
	const struct sn_rec_rank *r = vf_rank(vf, rank);

	sn_buf_add(buf, "rank %u", rank);
	if (r && r->host != SN_REC_NONE)
		sn_buf_add(buf, " (%s)", sn_records_text(vf->rec, r->host));
}

void vf_put_ranks(const struct vf *vf, struct sn_buf *buf, const uint32_t *rank,
		  uint32_t n)
{
	uint32_t shown = n > 6 ? 4 : n;

	if (n == 1) {
		vf_put_rank(vf, buf, rank[0]);
		return;
	}
	sn_buf_add(buf, "ranks ");
	for (uint32_t i = 0; i < shown; i++)
		sn_buf_add(buf, i == 0 ? "%u" : i + 1 == n ? " and %u" : ", %u",
			   rank[i]);
	if (shown < n)
		sn_buf_add(buf, " and %u more", n - shown);
}

void vf_put_list(struct sn_buf *buf, const uint32_t *rank, uint32_t n)
{
	struct sn_buf text = { 0 };

	if (n > 16)
		sn_ranks_format(rank, n, &text);
	sn_buf_add(buf, "[");
	if (n > 16 && text.text && text.len < 100)
		sn_buf_add(buf, "%s", text.text);
	else
		for (uint32_t i = 0; i < n && i < 16; i++)
			sn_buf_add(buf, i ? ",%u" : "%u", rank[i]);
	sn_buf_add(buf, n > 16 && !(text.text && text.len < 100) ?
		   ",... %u in all]" : "]", n);
	buf->failed |= text.failed;
	sn_buf_done(&text);
}

/* ---- instances ------------------------------------------------------------------ */

struct key {
	uint32_t name, set, rank;
	const struct sn_rec_comm *comm;
};

/* qsort() would be most of the time that large jobs take. */
static int sort_keys(struct key *key, uint32_t n, uint32_t n_names, uint32_t n_sets)
{
	struct key *other = malloc((n ? n : 1) * sizeof(*other));
	uint32_t top = n_names > n_sets ? n_names : n_sets;
	uint32_t *at = malloc((top + 2) * sizeof(*at));

	/* Stable, by counting: first by set, then by name; ranks come in order. */
	for (int pass = 0; other && at && pass < 2; pass++) {
		struct key *swap = pass ? other : key, *to = pass ? key : other;

		memset(at, 0, (top + 2) * sizeof(*at));
		for (uint32_t i = 0; i < n; i++)
			at[(pass ? swap[i].name : swap[i].set) + 1]++;
		for (uint32_t i = 0; i <= top; i++)
			at[i + 1] += at[i];
		for (uint32_t i = 0; i < n; i++)
			to[at[pass ? swap[i].name : swap[i].set]++] = swap[i];
	}
	free(at);
	if (!at || !other) {
		free(other);
		return -ENOMEM;
	}
	free(other);
	return 0;
}

static uint32_t count_comms(const struct vf *vf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < vf->rec->n_ranks; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);

		for (uint32_t c = 0; r && c < r->n_comms; c++)
			n += r->comm[c].set != SN_REC_NONE;
	}
	return n;
}

static void count_members(struct vf *vf, struct vf_inst *in)
{
	const struct sn_rec_set *set = &vf->rec->set[in->set];
	uint32_t mark = vf_mark(vf), held = 0;

	for (uint32_t m = 0; m < set->n; m++)
		if (set->rank[m] < vf->stamps)
			vf->stamp[set->rank[m]] = mark;
	for (uint32_t h = 0; h < in->n; h++)
		held += vf->stamp[vf->holder[in->first + h].rank] == mark;
	in->extra = in->n - held;
	in->absent = set->n > held ? set->n - held : 0;
}

static int make_instances(struct vf *vf)
{
	const struct sn_records *rec = vf->rec;
	uint32_t n = count_comms(vf), k = 0;
	struct key *key = malloc((n ? n : 1) * sizeof(*key));

	vf->holder = malloc((n ? n : 1) * sizeof(*vf->holder));
	vf->inst = malloc((n ? n : 1) * sizeof(*vf->inst));
	vf->stamps = rec->n_ranks;
	vf->stamp = calloc(vf->stamps ? vf->stamps : 1, sizeof(*vf->stamp));
	if (!key || !vf->holder || !vf->inst || !vf->stamp) {
		free(key);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < rec->n_ranks; i++) {
		const struct sn_rec_rank *r = vf_rank(vf, i);

		for (uint32_t c = 0; r && c < r->n_comms; c++)
			if (r->comm[c].set != SN_REC_NONE)
				key[k++] = (struct key){ r->comm[c].name,
					r->comm[c].set, i, &r->comm[c] };
	}
	if (sort_keys(key, n, rec->n_texts, rec->n_sets)) {
		free(key);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct vf_inst *in = vf->n_inst ? &vf->inst[vf->n_inst - 1] : NULL;

		if (!in || in->name != key[i].name || in->set != key[i].set) {
			in = &vf->inst[vf->n_inst++];
			*in = (struct vf_inst){ key[i].name, key[i].comm->kind,
				key[i].set, i, 0, 0, 0 };
		}
		vf->holder[i] = (struct vf_holder){ key[i].rank, key[i].comm };
		in->n++;
	}
	vf->n_holders = n;
	free(key);
	for (uint32_t i = 0; i < vf->n_inst; i++)
		count_members(vf, &vf->inst[i]);
	return 0;
}

/* ---- the whole -------------------------------------------------------------------- */

static int by_cause(const void *a, const void *b)
{
	const struct sn_finding *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->text, y->text);
}

int sn_verify(const struct sn_records *rec, const struct sn_verify_opts *opts,
	      struct sn_findings *ret, struct sn_err *err)
{
	struct vf vf = { .rec = rec, .opts = opts, .found = ret };
	int rc;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < rec->n_ranks; i++) {
		const struct sn_rec_rank *r = vf_rank(&vf, i);

		ret->ranks += r != NULL;
		if (r && r->world > ret->world)
			ret->world = r->world;
	}
	if (!ret->ranks)
		return sn_err_set(err, -EINVAL, "there are no records of any rank");
	rc = make_instances(&vf);
	if (!rc) {
		ret->comms = vf.n_inst;
		vf_check_ranks(&vf);
		vf_check_members(&vf);
		vf_check_layout(&vf);
		vf_check_ops(&vf);
		vf_check_waits(&vf);
	}
	free(vf.inst);
	free(vf.holder);
	free(vf.stamp);
	if (rc || vf.failed) {
		sn_findings_done(ret);
		return sn_err_set(err, -ENOMEM, "no memory to compare %u ranks",
				  rec->n_ranks);
	}
	if (ret->n)
		qsort(ret->find, ret->n, sizeof(*ret->find), by_cause);
	return 0;
}

void sn_findings_done(struct sn_findings *found)
{
	for (uint32_t i = 0; i < found->n; i++) {
		free(found->find[i].text);
		free(found->find[i].comm);
		free(found->find[i].rank);
	}
	free(found->find);
	memset(found, 0, sizeof(*found));
}
