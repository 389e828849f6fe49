/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healtharrive.c - which rank keeps the others waiting.
 *
 * Records keep the last SN_REC_OPS operations of each communicator. Of one that has
 * so many, older ones may be missing; they ended before the oldest that is kept. So
 * what a rank did before the latest of these (its horizon) is not known, and only
 * operations behind it count.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/healtharrive.h"

#define NO_GAP UINT64_MAX

/* A communicator as one rank has it. */
struct ref {
	uint32_t name, set, rank;
	const struct sn_rec_comm *comm;
	size_t base; /* of its operations' gaps */
};

struct take {
	const struct sn_records *rec;
	struct ref *ref;
	uint32_t n_refs;
	uint64_t *gap; /* own time before each operation; NO_GAP: not known */
	struct sn_arrival *best; /* [n_ranks] ops 0: none */
	bool failed;
};

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory for arrival times");
}

void sn_arrive_init(struct sn_arrive *a)
{
	memset(a, 0, sizeof(*a));
}

void sn_arrive_done(struct sn_arrive *a)
{
	free(a->seen);
	memset(a, 0, sizeof(*a));
}

void sn_arrivals_done(struct sn_arrivals *arrivals)
{
	free(arrivals->arrival);
	memset(arrivals, 0, sizeof(*arrivals));
}

/* ---- what was seen ---------------------------------------------------------------- */

static uint64_t key_of(const struct sn_records *rec, const struct ref *r)
{
	const struct sn_rec_set *set = &rec->set[r->set];
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *p = rec->text[r->name]; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	for (uint32_t i = 0; i < set->n; i++)
		h = (h ^ set->rank[i]) * 0x9e3779b97f4a7c15u;
	h ^= h >> 32;
	return h ? h : 1;
}

static int grow_seen(struct sn_arrive *a)
{
	uint32_t size = a->size ? a->size * 2 : 64;
	struct sn_arrive_key *seen = calloc(size, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->size; i++) {
		uint32_t at = (uint32_t)a->seen[i].key & (size - 1);

		if (!a->seen[i].key)
			continue;
		while (seen[at].key)
			at = (at + 1) & (size - 1);
		seen[at] = a->seen[i];
	}
	free(a->seen);
	a->seen = seen;
	a->size = size;
	return 0;
}

/* Room for it must be there. */
static uint64_t *seen_of(struct sn_arrive *a, uint64_t key)
{
	uint32_t at = (uint32_t)key & (a->size - 1);

	while (a->seen[at].key && a->seen[at].key != key)
		at = (at + 1) & (a->size - 1);
	if (!a->seen[at].key) {
		a->seen[at].key = key;
		a->n++;
	}
	return &a->seen[at].seq;
}

/* ---- own times --------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How many of the sorted times are at most t. */
static size_t up_to(const uint64_t *time, size_t n, uint64_t t)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (time[mid] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void gaps_of_rank(const struct sn_rec_rank *r, uint64_t *gap, uint64_t *time)
{
	uint64_t horizon = 0;
	size_t n = 0;

	for (uint32_t c = 0; c < r->n_comms; c++) {
		const struct sn_rec_comm *comm = &r->comm[c];

		if (comm->n_ops == SN_REC_OPS && comm->op[0].arrive > horizon)
			horizon = comm->op[0].arrive;
		for (uint32_t i = 0; i < comm->n_ops; i++) {
			time[n++] = comm->op[i].arrive;
			if (comm->op[i].end)
				time[n++] = comm->op[i].end;
		}
	}
	qsort(time, n, sizeof(*time), by_time);
	for (uint32_t c = 0; c < r->n_comms; c++)
		for (uint32_t i = 0; i < r->comm[c].n_ops; i++, gap++) {
			uint64_t arrive = r->comm[c].op[i].arrive;
			size_t before = up_to(time, n, arrive);

			/* The last of them is its own arrival. */
			*gap = before < 2 || arrive <= horizon ? NO_GAP :
				arrive - time[before - 2];
		}
}

static int by_comm(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool of_now(const struct sn_records *rec, uint32_t rank)
{
	return rec->rank[rank].present && rec->rank[rank].gen == rec->gen;
}

static int gather(struct take *t, struct sn_err *err)
{
	const struct sn_records *rec = t->rec;
	size_t comms = 0, ops = 0, most = 0, base = 0;
	uint64_t *time;

	for (uint32_t i = 0; i < rec->n_ranks; i++) {
		size_t own = 0;

		for (uint32_t c = 0; of_now(rec, i) && c < rec->rank[i].n_comms; c++)
			own += rec->rank[i].comm[c].n_ops;
		comms += rec->rank[i].n_comms;
		ops += own;
		most = own > most ? own : most;
	}
	t->ref = malloc((comms + 1) * sizeof(*t->ref));
	t->gap = malloc((ops + 1) * sizeof(*t->gap));
	t->best = calloc(rec->n_ranks + 1ul, sizeof(*t->best));
	time = malloc((2 * most + 1) * sizeof(*time));
	if (!t->ref || !t->gap || !t->best || !time) {
		free(time);
		return no_memory(err);
	}
	for (uint32_t i = 0; i < rec->n_ranks; i++) {
		const struct sn_rec_rank *r = &rec->rank[i];

		if (!of_now(rec, i))
			continue;
		gaps_of_rank(r, t->gap + base, time);
		for (uint32_t c = 0; c < r->n_comms; c++) {
			if (r->comm[c].set != SN_REC_NONE)
				t->ref[t->n_refs++] = (struct ref){
					r->comm[c].name, r->comm[c].set, i, &r->comm[c], base };
			base += r->comm[c].n_ops;
		}
	}
	free(time);
	qsort(t->ref, t->n_refs, sizeof(*t->ref), by_comm);
	return 0;
}

/* ---- one communicator ----------------------------------------------------------------- */

static const struct sn_rec_op *find_op(const struct ref *r, uint64_t seq)
{
	uint32_t lo = 0, hi = r->comm->n_ops;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->comm->op[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->comm->n_ops && r->comm->op[lo].seq == seq ? &r->comm->op[lo] : NULL;
}

static uint64_t gap_at(const struct take *t, const struct ref *r, const struct sn_rec_op *op)
{
	return t->gap[r->base + (size_t)(op - r->comm->op)];
}

/* The operations that four in five of the members have been through, whose own time
 * before is known, and that were not taken yet. */
static uint32_t pick_ops(const struct take *t, const struct ref *r, uint32_t n,
			 uint64_t after, uint64_t seq[SN_REC_OPS])
{
	const struct ref *most = r;
	uint32_t picked = 0;

	for (uint32_t i = 0; i < n; i++)
		if (r[i].comm->n_ops > most->comm->n_ops)
			most = &r[i];
	for (uint32_t k = 0; k < most->comm->n_ops; k++) {
		uint64_t s = most->comm->op[k].seq;
		uint32_t have = 0;

		if (s <= after)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			const struct sn_rec_op *op = find_op(&r[i], s);

			have += op && op->end && gap_at(t, &r[i], op) != NO_GAP;
		}
		if (have >= SN_ARRIVE_MEMBERS && have * 5 >= t->rec->set[r->set].n * 4)
			seq[picked++] = s;
	}
	return picked;
}

struct member {
	uint64_t own; /* of all picked operations that it has */
	uint32_t ops;
	int64_t clock; /* ahead of the median member */
	int64_t late[SN_REC_OPS]; /* by operation; INT64_MIN: it has not got it */
	uint32_t last;
};

static int by_signed(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Reorders; the upper one of an even number. */
static int64_t middle(int64_t *v, uint32_t n)
{
	qsort(v, n, sizeof(*v), by_signed);
	return v[n / 2];
}

/* By how much each member's clock is ahead, from the ends of the operations. */
static void set_clocks(const struct ref *r, uint32_t n, const uint64_t *seq,
		       uint32_t ops, struct member *m, int64_t *scratch)
{
	int64_t ref[SN_REC_OPS], own[SN_REC_OPS];

	for (uint32_t k = 0; k < ops; k++) {
		uint32_t have = 0;

		for (uint32_t i = 0; i < n; i++) {
			const struct sn_rec_op *op = find_op(&r[i], seq[k]);

			if (op && op->end)
				scratch[have++] = (int64_t)op->end;
		}
		ref[k] = have ? middle(scratch, have) : 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t have = 0;

		for (uint32_t k = 0; k < ops; k++) {
			const struct sn_rec_op *op = find_op(&r[i], seq[k]);

			if (op && op->end)
				own[have++] = (int64_t)op->end - ref[k];
		}
		m[i].clock = have ? middle(own, have) : 0;
	}
}

static void find_late(const struct ref *r, uint32_t n, const uint64_t *seq,
		      uint32_t ops, struct member *m, int64_t *scratch)
{
	for (uint32_t k = 0; k < ops; k++) {
		uint32_t have = 0, latest = 0;
		int64_t mid;

		for (uint32_t i = 0; i < n; i++) {
			const struct sn_rec_op *op = find_op(&r[i], seq[k]);

			m[i].late[k] = op ? (int64_t)op->arrive - m[i].clock : INT64_MIN;
			if (op)
				scratch[have++] = m[i].late[k];
			if (m[i].late[k] > m[latest].late[k])
				latest = i;
		}
		mid = have ? middle(scratch, have) : 0;
		for (uint32_t i = 0; i < n; i++)
			if (m[i].late[k] != INT64_MIN)
				m[i].late[k] -= mid;
		m[latest].last++;
	}
}

static int64_t usual_late(const struct member *m, uint32_t ops)
{
	int64_t v[SN_REC_OPS];
	uint32_t n = 0;

	for (uint32_t k = 0; k < ops; k++)
		if (m->late[k] != INT64_MIN)
			v[n++] = m->late[k];
	return n ? middle(v, n) : 0;
}

static void compare(struct take *t, const struct ref *r, uint32_t n, uint32_t ops,
		    const struct member *m, int64_t *scratch)
{
	uint32_t have = 0;
	int64_t median;

	for (uint32_t i = 0; i < n; i++)
		if (m[i].ops && m[i].ops * 5 >= ops * 4)
			scratch[have++] = (int64_t)(m[i].own / m[i].ops);
	if (have < SN_ARRIVE_MEMBERS)
		return;
	median = middle(scratch, have);
	if (median <= 0 || (uint64_t)median * ops < SN_ARRIVE_MIN)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct sn_arrival *best = &t->best[r[i].rank];
		double ratio;

		if (!m[i].ops || m[i].ops * 5 < ops * 4)
			continue;
		/* Where most of its own time is, it is known best. */
		if (best->ops && best->median * best->ops >= (uint64_t)median * m[i].ops)
			continue;
		ratio = (double)(m[i].own / m[i].ops) / (double)median;
		*best = (struct sn_arrival){
			.rank = r[i].rank, .ratio = ratio < 1e-3 ? 1e-3 : ratio,
			.own = m[i].own / m[i].ops, .median = (uint64_t)median,
			.ops = m[i].ops, .last = m[i].last,
			.late = usual_late(&m[i], ops), .comm = r->name,
		};
	}
}

static void take_comm(struct take *t, const struct ref *r, uint32_t n, uint64_t *seen)
{
	uint64_t seq[SN_REC_OPS];
	uint32_t ops = pick_ops(t, r, n, *seen, seq);
	struct member *m;
	int64_t *scratch;

	if (!ops)
		return;
	m = calloc(n, sizeof(*m));
	scratch = malloc(n * sizeof(*scratch));
	if (!m || !scratch) {
		t->failed = true;
	} else {
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < ops; k++) {
				const struct sn_rec_op *op = find_op(&r[i], seq[k]);

				if (!op || gap_at(t, &r[i], op) == NO_GAP)
					continue;
				m[i].own += gap_at(t, &r[i], op);
				m[i].ops++;
			}
		set_clocks(r, n, seq, ops, m, scratch);
		find_late(r, n, seq, ops, m, scratch);
		compare(t, r, n, ops, m, scratch);
		*seen = seq[ops - 1];
	}
	free(m);
	free(scratch);
}

int sn_arrive_take(struct sn_arrive *a, const struct sn_records *rec,
		   struct sn_arrivals *ret, struct sn_err *err)
{
	struct take t = { .rec = rec };
	int rc = gather(&t, err);

	memset(ret, 0, sizeof(*ret));
	if (!rc && a->gen != rec->gen) {
		if (a->seen)
			memset(a->seen, 0, a->size * sizeof(*a->seen));
		a->n = 0;
		a->gen = rec->gen;
	}
	for (uint32_t i = 0, k; !rc && !t.failed && i < t.n_refs; i = k) {
		for (k = i + 1; k < t.n_refs && t.ref[k].name == t.ref[i].name &&
		     t.ref[k].set == t.ref[i].set;)
			k++;
		if (k - i < SN_ARRIVE_MEMBERS)
			continue;
		if (a->n * 2 >= a->size && grow_seen(a))
			t.failed = true;
		else
			take_comm(&t, &t.ref[i], k - i, seen_of(a, key_of(rec, &t.ref[i])));
	}
	if (!rc && !t.failed) {
		for (uint32_t i = 0; i < rec->n_ranks; i++)
			if (t.best[i].ops)
				t.best[ret->n++] = t.best[i];
		ret->arrival = t.best;
		t.best = NULL;
		ret->gen = rec->gen;
		ret->round = ret->n ? ++a->round : a->round;
	}
	free(t.ref);
	free(t.gap);
	free(t.best);
	return rc ? rc : t.failed ? no_memory(err) : 0;
}
