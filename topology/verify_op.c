/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify_op.c - do the ranks do the same thing under the same number?
 *
 * Of each communicator only the first operation that differs is told, as what
 * comes after it follows from it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "topology/verify_internal.h"

struct done {
	const struct sn_rec_op *op;
	uint32_t rank;
};

static int by_seq(const void *a, const void *b)
{
	const struct done *x = a, *y = b;

	if (x->op->seq != y->op->seq)
		return x->op->seq < y->op->seq ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Sizes may differ from rank to rank: MPI's names for those end in v. */
static bool has_own_sizes(const char *what)
{
	size_t n = strlen(what);

	return n && what[n - 1] == 'v' && strcmp(what, "send/recv");
}

static uint64_t value(const struct done *d, bool bytes)
{
	return bytes ? d->op->bytes : d->op->what;
}

/* Boyer and Moore's vote; without a majority some value wins, which will do. */
static uint64_t usual(const struct done *d, uint32_t n, bool bytes)
{
	uint64_t best = 0;
	uint32_t votes = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!votes)
			best = value(&d[i], bytes);
		if (value(&d[i], bytes) == best)
			votes++;
		else
			votes--;
	}
	return best;
}

static uint32_t those(const struct done *d, uint32_t n, bool bytes, uint64_t what,
		      uint32_t *rank)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (value(&d[i], bytes) == what)
			rank[k++] = d[i].rank;
	return k;
}

static void put_does(struct vf *vf, struct sn_buf *buf, const struct done *d,
		     uint32_t n, bool bytes, uint64_t what, uint32_t *rank)
{
	uint32_t k = those(d, n, bytes, what, rank);

	vf_put_ranks(vf, buf, rank, k);
	if (bytes)
		sn_buf_add(buf, k == 1 ? " has %llu bytes" : " have %llu bytes",
			   (unsigned long long)what);
	else
		sn_buf_add(buf, k == 1 ? " is in %s" : " are in %s",
			   sn_records_text(vf->rec, (uint32_t)what));
}

/* The n are all of one number; says whether they differ. */
static bool compare(struct vf *vf, const struct vf_inst *in, const struct done *d,
		    uint32_t n, bool bytes)
{
	uint64_t good = usual(d, n, bytes), odd = good, first = UINT64_MAX;
	const char *name = sn_records_text(vf->rec, in->name);
	struct sn_buf buf = { 0 };
	uint32_t *rank, k;

	for (uint32_t i = 0; i < n; i++) {
		if (value(&d[i], bytes) != good && odd == good)
			odd = value(&d[i], bytes);
		if (d[i].op->arrive < first)
			first = d[i].op->arrive;
	}
	if (odd == good)
		return false;
	rank = malloc(n * sizeof(*rank));
	if (!rank) {
		vf->failed = true;
		return true;
	}
	if (bytes)
		sn_buf_add(&buf, "%s, %s %llu: ", name, sn_records_text(vf->rec, d->op->what),
			   (unsigned long long)d->op->seq);
	else
		sn_buf_add(&buf, "%s, operation %llu: ", name, (unsigned long long)d->op->seq);
	put_does(vf, &buf, d, n, bytes, odd, rank);
	sn_buf_add(&buf, ", ");
	put_does(vf, &buf, d, n, bytes, good, rank);
	k = those(d, n, bytes, odd, rank);
	vf_find(vf, bytes ? SN_FIND_BYTES : SN_FIND_OP, first, in->name, rank, k, &buf);
	free(rank);
	return true;
}

static void check_instance(struct vf *vf, const struct vf_inst *in, struct done *d)
{
	uint32_t n = 0;

	for (uint32_t h = 0; h < in->n; h++) {
		const struct vf_holder *holder = &vf->holder[in->first + h];

		for (uint32_t i = 0; i < holder->comm->n_ops; i++)
			d[n++] = (struct done){ &holder->comm->op[i], holder->rank };
	}
	qsort(d, n, sizeof(*d), by_seq);
	for (uint32_t i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && d[i + k].op->seq == d[i].op->seq;)
			k++;
		if (compare(vf, in, d + i, k, false) ||
		    (!has_own_sizes(sn_records_text(vf->rec, d[i].op->what)) &&
		     compare(vf, in, d + i, k, true)))
			return;
	}
}

void vf_check_ops(struct vf *vf)
{
	uint32_t most = 1;
	struct done *d;

	for (uint32_t i = 0; i < vf->n_inst; i++)
		if (vf->inst[i].n > most)
			most = vf->inst[i].n;
	d = malloc((size_t)most * SN_REC_OPS * sizeof(*d));
	vf->failed |= !d;
	for (uint32_t i = 0; d && i < vf->n_inst && !vf->failed; i++)
		check_instance(vf, &vf->inst[i], d);
	free(d);
}
