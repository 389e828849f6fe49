/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify_wait.c - who waits for whom, and who never arrived.
 *
 * A *wait* is an operation of a communicator which some members are in and
 * others have not reached. It leads to each wait that one of those others is
 * itself in. Waits that lead nowhere are taken off until none is left, or only
 * such as lead to a cycle.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "topology/verify_internal.h"

#define NUMBERS_MAX 64 /* of a communicator that are looked at */

struct wait {
	const struct vf_inst *in;
	const struct sn_rec_op *op; /* of its first waiter */
	uint64_t since; /* when its first waiter arrived */
	uint32_t in_first, n_in; /* ranks in it: waits.rank[in_first] … */
	uint32_t out_first, n_out; /* those that have not reached it */
	uint32_t leads; /* to how many (rank, wait) that are left */
	bool gone;
	uint32_t from; /* breadth first: the wait before it */
};

struct waits {
	struct wait *wait;
	uint32_t n;
	uint32_t *rank;
	uint32_t n_ranks, size;
	/* by rank: the waits that it is in, and those that it lacks in */
	uint32_t *in_at, *in_wait, *out_at, *out_wait;
	uint32_t *queue;
};

static bool add_rank(struct vf *vf, struct waits *w, uint32_t rank)
{
	if (w->n_ranks == w->size) {
		uint32_t size = w->size ? w->size * 2 : 1024, *grown;

		grown = realloc(w->rank, size * sizeof(*grown));
		if (!grown) {
			vf->failed = true;
			return false;
		}
		w->rank = grown;
		w->size = size;
	}
	w->rank[w->n_ranks++] = rank;
	return true;
}

static const struct sn_rec_op *last_op(const struct vf_holder *h)
{
	return h->comm->n_ops ? &h->comm->op[h->comm->n_ops - 1] : NULL;
}

/* Those in the operation of number seq, and those that have not reached it. */
static void add_wait(struct vf *vf, struct waits *w, const struct vf_inst *in, uint64_t seq)
{
	const struct sn_rec_set *set = &vf->rec->set[in->set];
	struct wait *grown, wait = { .in = in, .since = UINT64_MAX, .in_first = w->n_ranks };
	uint32_t reached = vf_mark(vf);
	uint64_t age;

	for (uint32_t h = 0; h < in->n; h++) {
		const struct vf_holder *holder = &vf->holder[in->first + h];
		const struct sn_rec_op *op = last_op(holder);

		if (!op || op->seq < seq)
			continue;
		vf->stamp[holder->rank] = reached;
		if (op->seq > seq || op->end || !add_rank(vf, w, holder->rank))
			continue;
		if (op->arrive < wait.since) {
			wait.since = op->arrive;
			wait.op = op;
		}
	}
	wait.n_in = w->n_ranks - wait.in_first;
	wait.out_first = w->n_ranks;
	for (uint32_t m = 0; m < set->n; m++)
		if (set->rank[m] >= vf->stamps || vf->stamp[set->rank[m]] != reached)
			add_rank(vf, w, set->rank[m]);
	wait.n_out = w->n_ranks - wait.out_first;
	age = vf->opts->now > wait.since ? vf->opts->now - wait.since : 0;
	if (wait.op && wait.n_out && age < vf->opts->stall) {
		vf->found->waiting += wait.n_in;
		wait.n_out = 0;
	}
	if (!wait.op || !wait.n_out || vf->failed) {
		w->n_ranks = wait.in_first;
		return;
	}
	/* Powers of two, so that this costs little. */
	if (!(w->n & (w->n - 1))) {
		grown = realloc(w->wait, (w->n ? w->n * 2 : 1) * sizeof(*grown));
		if (!grown) {
			vf->failed = true;
			return;
		}
		w->wait = grown;
	}
	w->wait[w->n++] = wait;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void find_waits(struct vf *vf, struct waits *w)
{
	uint64_t *seq = malloc((vf->n_holders ? vf->n_holders : 1) * sizeof(*seq));

	vf->failed |= !seq;
	for (uint32_t i = 0; seq && i < vf->n_inst && !vf->failed; i++) {
		const struct vf_inst *in = &vf->inst[i];
		uint64_t least = UINT64_MAX;
		uint32_t n = 0, numbers = 0;

		for (uint32_t h = 0; h < in->n; h++) {
			const struct sn_rec_op *op = last_op(&vf->holder[in->first + h]);

			if (op && op->seq < least)
				least = op->seq;
			else if (!op)
				least = 0;
			if (op && !op->end)
				seq[n++] = op->seq;
		}
		/* All at one number, and all members there: nobody waits. */
		if (n > 1)
			qsort(seq, n, sizeof(*seq), by_number);
		/* In a live job they are one or two. */
		for (uint32_t k = 0; k < n && numbers < NUMBERS_MAX; k++)
			if ((!k || seq[k] != seq[k - 1]) &&
			    (seq[k] > least || in->absent)) {
				numbers++;
				add_wait(vf, w, in, seq[k]);
			}
	}
	free(seq);
}

/* By rank, the waits in whose list (the in or the out one) it is. */
static void index_ranks(struct vf *vf, struct waits *w, bool out, uint32_t **ret_at,
			uint32_t **ret_wait)
{
	uint32_t *at = calloc(vf->stamps + 2, sizeof(*at));
	uint32_t *list = malloc((w->n_ranks + 1) * sizeof(*list));

	*ret_at = at;
	*ret_wait = list;
	if (!at || !list) {
		vf->failed = true;
		return;
	}
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < w->n; i++) {
			const struct wait *x = &w->wait[i];
			uint32_t first = out ? x->out_first : x->in_first;
			uint32_t n = out ? x->n_out : x->n_in;

			for (uint32_t k = 0; k < n; k++) {
				uint32_t r = w->rank[first + k];

				if (r >= vf->stamps)
					continue;
				if (pass)
					list[at[r + 1]++] = i;
				else
					at[r + 2]++;
			}
		}
		for (uint32_t r = 0; !pass && r < vf->stamps; r++)
			at[r + 2] += at[r + 1];
	}
}

/* Does the rank wait? */
static bool waits(const struct vf *vf, const struct waits *w, uint32_t rank)
{
	return rank < vf->stamps && w->in_at[rank] != w->in_at[rank + 1];
}

static void take_off(struct waits *w, uint32_t at)
{
	uint32_t head = 0, tail = 0;

	w->queue[tail++] = at;
	w->wait[at].gone = true;
	while (head < tail) {
		const struct wait *x = &w->wait[w->queue[head++]];

		for (uint32_t k = 0; k < x->n_in; k++) {
			uint32_t r = w->rank[x->in_first + k];

			for (uint32_t j = w->out_at[r]; j < w->out_at[r + 1]; j++) {
				struct wait *y = &w->wait[w->out_wait[j]];

				if (!y->gone && --y->leads == 0) {
					y->gone = true;
					w->queue[tail++] = w->out_wait[j];
				}
			}
		}
	}
}

static void peel(struct vf *vf, struct waits *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct wait *x = &w->wait[i];

		for (uint32_t k = 0; k < x->n_out; k++) {
			uint32_t r = w->rank[x->out_first + k];

			if (r < vf->stamps)
				x->leads += w->in_at[r + 1] - w->in_at[r];
		}
	}
	for (uint32_t i = 0; i < w->n; i++)
		if (!w->wait[i].leads && !w->wait[i].gone)
			take_off(w, i);
}

/* A rank that a lacks and that is in b. */
static uint32_t link_of(const struct vf *vf, const struct waits *w, const struct wait *a, uint32_t b)
{
	for (uint32_t k = 0; k < a->n_out; k++) {
		uint32_t r = w->rank[a->out_first + k];

		/* A rank without records is in no wait, and in no table. */
		for (uint32_t j = r < vf->stamps ? w->in_at[r] : 0;
		     r < vf->stamps && j < w->in_at[r + 1]; j++)
			if (w->in_wait[j] == b)
				return r;
	}
	return 0;
}

/* The length of a shortest cycle through `at`, below `limit`; its waits are
 * then path[0] = at, path[1] … in the order of leading. 0: none. */
static uint32_t cycle_through(struct vf *vf, struct waits *w, uint32_t at,
			      uint32_t limit, uint32_t *path)
{
	uint32_t head = 0, tail = 0, n = 0, end = SN_REC_NONE;

	for (uint32_t i = 0; i < w->n; i++)
		w->wait[i].from = SN_REC_NONE;
	w->queue[tail++] = at;
	while (head < tail && end == SN_REC_NONE) {
		uint32_t i = w->queue[head++];
		const struct wait *x = &w->wait[i];

		for (uint32_t k = 0; k < x->n_out && end == SN_REC_NONE; k++) {
			uint32_t r = w->rank[x->out_first + k];

			for (uint32_t j = r < vf->stamps ? w->in_at[r] : 0;
			     r < vf->stamps && j < w->in_at[r + 1]; j++) {
				uint32_t to = w->in_wait[j];

				if (to == at) {
					end = i;
					break;
				}
				if (w->wait[to].gone || w->wait[to].from != SN_REC_NONE)
					continue;
				w->wait[to].from = i;
				w->queue[tail++] = to;
			}
		}
	}
	if (end == SN_REC_NONE)
		return 0;
	for (uint32_t i = end; i != at; i = w->wait[i].from)
		n++;
	n++;
	if (n >= limit)
		return 0;
	for (uint32_t i = end, k = n; k-- > 0; i = w->wait[i].from)
		path[k] = i;
	return n;
}

static void put_in(struct vf *vf, struct sn_buf *buf, const struct wait *x)
{
	sn_buf_add(buf, "%s (%s %llu)", sn_records_text(vf->rec, x->in->name),
		   sn_records_text(vf->rec, x->op->what), (unsigned long long)x->op->seq);
}

static void tell_cycle(struct vf *vf, struct waits *w, const uint32_t *path, uint32_t n)
{
	uint32_t *rank = malloc(n * sizeof(*rank));
	struct sn_buf buf = { 0 };
	uint64_t since = UINT64_MAX;

	if (!rank) {
		vf->failed = true;
		return;
	}
	/* rank[i] is in path[i]; path[i] lacks rank[i + 1]. */
	for (uint32_t i = 0; i < n; i++) {
		rank[(i + 1) % n] = link_of(vf, w, &w->wait[path[i]], path[(i + 1) % n]);
		if (w->wait[path[i]].since < since)
			since = w->wait[path[i]].since;
	}
	sn_buf_add(&buf, "a cycle: ");
	for (uint32_t i = 0; i < n; i++) {
		if (n > 12 && i == 8) {
			sn_buf_add(&buf, ", and so on over %u more communicators, back to rank %u",
				   n - i, rank[0]);
			break;
		}
		if (i)
			sn_buf_add(&buf, ", which");
		else
			vf_put_rank(vf, &buf, rank[0]);
		sn_buf_add(&buf, " waits in ");
		put_in(vf, &buf, &w->wait[path[i]]);
		sn_buf_add(&buf, " for ");
		vf_put_rank(vf, &buf, rank[(i + 1) % n]);
	}
	vf_find(vf, SN_FIND_CYCLE, since, w->wait[path[0]].in->name, rank, n, &buf);
	free(rank);
}

/* The shortest first. A search from each wait left would be quadratic, so from
 * some of them only. */
static void tell_cycles(struct vf *vf, struct waits *w)
{
	uint32_t *path = malloc((w->n + 1) * sizeof(*path));
	uint32_t *best = malloc((w->n + 1) * sizeof(*best));

	vf->failed |= !path || !best;
	for (int round = 0; !vf->failed && round < 16; round++) {
		uint32_t shortest = w->n + 1, tried = 0;

		for (uint32_t i = 0; i < w->n && tried < 64 && shortest > 2; i++) {
			uint32_t n;

			if (w->wait[i].gone)
				continue;
			tried++;
			n = cycle_through(vf, w, i, shortest, path);
			if (n) {
				shortest = n;
				memcpy(best, path, n * sizeof(*best));
			}
		}
		if (shortest > w->n)
			break;
		tell_cycle(vf, w, best, shortest);
		for (uint32_t i = 0; i < shortest; i++)
			if (!w->wait[best[i]].gone)
				take_off(w, best[i]);
	}
	free(path);
	free(best);
}

/* ---- who never arrived -------------------------------------------------------------- */

static void put_last(struct vf *vf, struct sn_buf *buf, const struct wait *x, uint32_t rank)
{
	const struct sn_rec_op *op = NULL;

	if (!vf_rank(vf, rank)) {
		sn_buf_add(buf, "; there are no records of it");
		return;
	}
	for (uint32_t h = 0; h < x->in->n; h++)
		if (vf->holder[x->in->first + h].rank == rank)
			op = last_op(&vf->holder[x->in->first + h]);
	if (op)
		sn_buf_add(buf, "; the last it did there is %s %llu",
			   sn_records_text(vf->rec, op->what), (unsigned long long)op->seq);
	else
		sn_buf_add(buf, "; it has done nothing there");
}

static void tell_absent(struct vf *vf, const struct waits *w, const struct wait *x,
			uint32_t *rank, uint32_t told)
{
	uint64_t s = vf->opts->now > x->since ? (vf->opts->now - x->since) / 1000000000u : 0;
	struct sn_buf buf = { 0 };
	uint32_t n = 0;

	for (uint32_t k = 0; k < x->n_out; k++) {
		uint32_t r = w->rank[x->out_first + k];

		if (waits(vf, w, r) || (r < vf->stamps && vf->stamp[r] == told))
			continue;
		if (r < vf->stamps)
			vf->stamp[r] = told;
		rank[n++] = r;
	}
	if (!n)
		return;
	vf_put_ranks(vf, &buf, rank, n);
	sn_buf_add(&buf, " never arrived in ");
	put_in(vf, &buf, x);
	sn_buf_add(&buf, ", where ");
	vf_put_ranks(vf, &buf, w->rank + x->in_first, x->n_in);
	sn_buf_add(&buf, x->n_in == 1 ? " waits" : " wait");
	if (s && s < 86400)
		sn_buf_add(&buf, " for %llu s now", (unsigned long long)s);
	if (n == 1)
		put_last(vf, &buf, x, rank[0]);
	vf_find(vf, SN_FIND_ABSENT, x->since, x->in->name, rank, n, &buf);
}

static int by_since(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->since < y->since ? -1 : x->since > y->since;
}

void vf_check_waits(struct vf *vf)
{
	struct waits w = { 0 };
	uint32_t *rank = NULL, told;

	find_waits(vf, &w);
	if (!vf->failed && w.n) {
		/* The earliest is told first, and each rank once. */
		qsort(w.wait, w.n, sizeof(*w.wait), by_since);
		index_ranks(vf, &w, false, &w.in_at, &w.in_wait);
		index_ranks(vf, &w, true, &w.out_at, &w.out_wait);
		w.queue = malloc((w.n + 1) * sizeof(*w.queue));
		rank = malloc((w.n_ranks + 1) * sizeof(*rank));
		vf->failed |= !w.queue || !rank;
	}
	if (!vf->failed && w.n) {
		told = vf_mark(vf);
		for (uint32_t i = 0; i < w.n && !vf->failed; i++)
			tell_absent(vf, &w, &w.wait[i], rank, told);
		peel(vf, &w);
		tell_cycles(vf, &w);
	}
	free(w.wait);
	free(w.rank);
	free(w.in_at);
	free(w.in_wait);
	free(w.out_at);
	free(w.out_wait);
	free(w.queue);
	free(rank);
}
