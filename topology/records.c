/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * records.c - what the ranks of a job say about their communicators, gathered.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/groups.h"
#include "topology/records.h"

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory for the records");
}

/* ---- a table of numbers, open addressing; the caller compares ----------------- */

static uint64_t mix(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h ^ h >> 32;
}

/* Half of the slots stay free. rehash gives an entry's hash. */
static int table_room(struct sn_rec_table *t, const struct sn_records *rec,
		      uint64_t (*rehash)(const struct sn_records *, uint32_t))
{
	uint32_t size = t->size ? t->size * 2 : 256, *slot;

	if (t->n * 2 < t->size)
		return 0;
	slot = malloc(size * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	memset(slot, 0xff, size * sizeof(*slot));
	for (uint32_t i = 0; i < t->size; i++) {
		uint32_t at;

		if (t->slot[i] == SN_REC_NONE)
			continue;
		at = (uint32_t)rehash(rec, t->slot[i]) & (size - 1);
		while (slot[at] != SN_REC_NONE)
			at = (at + 1) & (size - 1);
		slot[at] = t->slot[i];
	}
	free(t->slot);
	t->slot = slot;
	t->size = size;
	return 0;
}

static uint64_t hash_text(const struct sn_records *rec, uint32_t n)
{
	return mix(rec->text[n], strlen(rec->text[n]));
}

static uint64_t hash_set(const struct sn_records *rec, uint32_t n)
{
	return mix(rec->set[n].rank, rec->set[n].n * sizeof(uint32_t));
}

/* Arrays of the n-th power of two grow when that is reached. */
static int grow(void *array, uint32_t n, size_t size)
{
	void **at = array, *grown;

	if (n & (n - 1) || (n && n < 4))
		return 0;
	grown = realloc(*at, (n ? (size_t)n * 2 : 4) * size);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	return 0;
}

static int intern(struct sn_records *rec, const char *text, uint32_t *ret)
{
	struct sn_rec_table *t = &rec->texts;
	uint32_t at;

	if (table_room(t, rec, hash_text) ||
	    grow(&rec->text, rec->n_texts, sizeof(*rec->text)) ||
	    grow(&rec->text_set, rec->n_texts, sizeof(*rec->text_set)))
		return -ENOMEM;
	at = (uint32_t)mix(text, strlen(text)) & (t->size - 1);
	while (t->slot[at] != SN_REC_NONE) {
		if (!strcmp(rec->text[t->slot[at]], text)) {
			*ret = t->slot[at];
			return 0;
		}
		at = (at + 1) & (t->size - 1);
	}
	rec->text[rec->n_texts] = strdup(text);
	if (!rec->text[rec->n_texts])
		return -ENOMEM;
	rec->text_set[rec->n_texts] = SN_REC_NONE;
	*ret = t->slot[at] = rec->n_texts++;
	t->n++;
	return 0;
}

/* Takes over rank[]. */
static int intern_set(struct sn_records *rec, uint32_t *rank, uint32_t n,
		      uint32_t *ret, struct sn_err *err)
{
	struct sn_rec_table *t = &rec->sets;
	uint32_t at;

	if (table_room(t, rec, hash_set) ||
	    grow(&rec->set, rec->n_sets, sizeof(*rec->set))) {
		free(rank);
		return no_memory(err);
	}
	at = (uint32_t)mix(rank, n * sizeof(*rank)) & (t->size - 1);
	while (t->slot[at] != SN_REC_NONE) {
		const struct sn_rec_set *s = &rec->set[t->slot[at]];

		if (s->n == n && !memcmp(s->rank, rank, n * sizeof(*rank))) {
			free(rank);
			*ret = t->slot[at];
			return 0;
		}
		at = (at + 1) & (t->size - 1);
	}
	if (n > SN_REC_MEMBERS_MAX - rec->n_members) {
		free(rank);
		return sn_err_set(err, -EINVAL,
				  "the distinct lists of members have more than %u entries together",
				  SN_REC_MEMBERS_MAX);
	}
	rec->n_members += n;
	rec->set[rec->n_sets] = (struct sn_rec_set){ rank, n };
	*ret = t->slot[at] = rec->n_sets++;
	t->n++;
	return 0;
}

/* ---- ranks and their communicators --------------------------------------------- */

void sn_records_init(struct sn_records *rec)
{
	memset(rec, 0, sizeof(*rec));
}

static void empty_rank(struct sn_rec_rank *r)
{
	for (uint32_t i = 0; i < r->n_comms; i++)
		free(r->comm[i].op);
	free(r->comm);
	memset(r, 0, sizeof(*r));
	r->host = r->other_host = SN_REC_NONE;
}

void sn_records_done(struct sn_records *rec)
{
	for (uint32_t i = 0; i < rec->n_ranks; i++)
		empty_rank(&rec->rank[i]);
	for (uint32_t i = 0; i < rec->n_sets; i++)
		free(rec->set[i].rank);
	for (uint32_t i = 0; i < rec->n_texts; i++)
		free(rec->text[i]);
	free(rec->rank);
	free(rec->set);
	free(rec->text);
	free(rec->text_set);
	free(rec->texts.slot);
	free(rec->sets.slot);
	memset(rec, 0, sizeof(*rec));
}

/* The rank in that generation; *ret NULL if it has a newer one. */
static int of_rank(struct sn_records *rec, uint32_t rank, uint32_t gen,
		   struct sn_rec_rank **ret, struct sn_err *err)
{
	struct sn_rec_rank *r;

	if (rank >= SN_REC_RANKS_MAX)
		return sn_err_set(err, -EINVAL,
				  "rank %u is more than the %u ranks that are read",
				  rank, SN_REC_RANKS_MAX);
	if (rank >= rec->n_ranks) {
		uint32_t n = rec->n_ranks ? rec->n_ranks : 64;

		while (n <= rank)
			n *= 2;
		r = realloc(rec->rank, n * sizeof(*r));
		if (!r)
			return no_memory(err);
		memset(r + rec->n_ranks, 0, (n - rec->n_ranks) * sizeof(*r));
		rec->rank = r;
		rec->n_ranks = n;
	}
	r = &rec->rank[rank];
	*ret = r;
	if (r->present && gen < r->gen) {
		*ret = NULL;
		return 0;
	}
	if (!r->present || gen > r->gen)
		empty_rank(r);
	r->present = true;
	r->gen = gen;
	if (gen > rec->gen && !rec->newest)
		rec->gen = gen;
	return 0;
}

int sn_records_start(struct sn_records *rec, uint32_t rank, uint32_t gen,
		     uint32_t world, const char *host, uint32_t pid,
		     uint64_t time, struct sn_err *err)
{
	uint32_t name = SN_REC_NONE;
	struct sn_rec_rank *r;
	int rc;

	if (rank < rec->n_ranks && rec->rank[rank].pid && pid &&
	    rec->rank[rank].pid != pid && gen < rec->rank[rank].gen)
		empty_rank(&rec->rank[rank]);
	rc = of_rank(rec, rank, gen, &r, err);
	if (rc || !r)
		return rc;
	if (time > rec->newest) {
		rec->newest = time;
		rec->gen = gen;
	} else if (!time && gen > rec->gen) {
		rec->gen = gen;
	}
	if (host && *host && intern(rec, host, &name))
		return no_memory(err);
	if (r->host != SN_REC_NONE && name != SN_REC_NONE && r->host != name) {
		r->twice = true;
		r->other_host = name;
		return 0;
	}
	if (r->pid && pid && r->pid != pid) {
		empty_rank(r);
		r->present = true;
		r->gen = gen;
	}
	if (name != SN_REC_NONE)
		r->host = name;
	if (world)
		r->world = world;
	if (pid)
		r->pid = pid;
	return 0;
}

static int of_comm(struct sn_rec_rank *r, uint32_t name,
		   struct sn_rec_comm **ret)
{
	/* The last one first: lines come in runs. */
	for (uint32_t i = r->n_comms; i-- > 0;)
		if (r->comm[i].name == name) {
			*ret = &r->comm[i];
			return 0;
		}
	if (grow(&r->comm, r->n_comms, sizeof(*r->comm)))
		return -ENOMEM;
	*ret = &r->comm[r->n_comms++];
	memset(*ret, 0, sizeof(**ret));
	(*ret)->name = name;
	(*ret)->kind = (*ret)->set = (*ret)->index = SN_REC_NONE;
	return 0;
}

/* "tp_4" and "tp" are of kind tp, unless something else is said. */
static const char *kind_of_name(const char *name)
{
	size_t n = strlen(name);

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	while (n && (name[n - 1] == '_' || name[n - 1] == '-'))
		n--;
	for (int k = 0; k < SN_GROUP_KINDS; k++) {
		const char *kind = sn_group_name((enum sn_group_kind)k);

		if (strlen(kind) == n && !memcmp(kind, name, n))
			return kind;
	}
	return NULL;
}

static int members_of(struct sn_records *rec, const struct sn_rec_new *new,
		      uint32_t *ret, struct sn_err *err)
{
	uint32_t *rank = NULL, n = 0, text = SN_REC_NONE;
	int rc;

	if (new->members) {
		if (intern(rec, new->members, &text))
			return no_memory(err);
		*ret = rec->text_set[text];
		if (*ret != SN_REC_NONE)
			return 0;
		rc = sn_ranks_parse(new->members, SN_REC_RANKS_MAX, &rank, &n, err);
		if (rc) {
			free(rank);
			return rc;
		}
	} else if (new->n_list) {
		n = new->n_list;
		rank = malloc(n * sizeof(*rank));
		if (!rank)
			return no_memory(err);
		memcpy(rank, new->list, n * sizeof(*rank));
	}
	if (!n) {
		free(rank);
		return sn_err_set(err, -EINVAL,
				  "the communicator %.60s has no members", new->name);
	}
	for (uint32_t i = 0; i < n; i++)
		if (rank[i] >= SN_REC_RANKS_MAX) {
			uint32_t wrong = rank[i];

			free(rank);
			return sn_err_set(err, -EINVAL,
					  "the communicator %.60s has rank %u; at most %u ranks are read",
					  new->name, wrong, SN_REC_RANKS_MAX);
		}
	rc = intern_set(rec, rank, n, ret, err);
	if (!rc && text != SN_REC_NONE)
		rec->text_set[text] = *ret;
	return rc;
}

int sn_records_comm(struct sn_records *rec, uint32_t rank, uint32_t gen,
		    const struct sn_rec_new *new, struct sn_err *err)
{
	const char *kind = new->kind && *new->kind ? new->kind : kind_of_name(new->name);
	uint32_t name, set = SN_REC_NONE, of = SN_REC_NONE;
	struct sn_rec_comm *c;
	struct sn_rec_rank *r;
	int rc;

	rc = of_rank(rec, rank, gen, &r, err);
	if (rc || !r)
		return rc;
	rc = members_of(rec, new, &set, err);
	if (rc)
		return rc;
	if (intern(rec, new->name, &name) || (kind && intern(rec, kind, &of)) ||
	    of_comm(r, name, &c))
		return no_memory(err);
	/* Created anew with other members: it begins from the start. */
	if (c->set != SN_REC_NONE && c->set != set)
		c->n_ops = 0;
	c->kind = of;
	c->set = set;
	c->index = new->index;
	if (new->took)
		c->took = new->took;
	return 0;
}

static int add_op(struct sn_records *rec, struct sn_rec_comm *c, uint64_t seq,
		  const char *what, uint64_t bytes, uint64_t arrive, uint64_t end)
{
	struct sn_rec_op *op;
	uint32_t at = c->n_ops, name = SN_REC_NONE;

	while (at && c->op[at - 1].seq > seq)
		at--;
	op = at && c->op[at - 1].seq == seq ? &c->op[at - 1] : NULL;
	if (!what) {
		if (op)
			op->end = end;
		return 0;
	}
	if (intern(rec, what, &name))
		return -ENOMEM;
	if (!op) {
		if (c->n_ops == SN_REC_OPS) {
			if (!at)
				return 0; /* older than all that are kept */
			memmove(c->op, c->op + 1, (SN_REC_OPS - 1) * sizeof(*op));
			c->n_ops--;
			at--;
		} else if (grow(&c->op, c->n_ops, sizeof(*op))) {
			return -ENOMEM;
		}
		op = c->op + at;
		memmove(op + 1, op, (c->n_ops - at) * sizeof(*op));
		c->n_ops++;
	}
	*op = (struct sn_rec_op){ seq, bytes, arrive, end, name };
	return 0;
}

int sn_records_op(struct sn_records *rec, uint32_t rank, uint32_t gen,
		  const char *comm, uint64_t seq, const char *what,
		  uint64_t bytes, uint64_t arrive, uint64_t end,
		  struct sn_err *err)
{
	struct sn_rec_comm *c;
	struct sn_rec_rank *r;
	uint32_t name;
	int rc;

	rc = of_rank(rec, rank, gen, &r, err);
	if (rc || !r)
		return rc;
	if (intern(rec, comm, &name) || of_comm(r, name, &c) ||
	    add_op(rec, c, seq, what, bytes, arrive, end))
		return no_memory(err);
	return 0;
}

int sn_records_p2p(struct sn_records *rec, uint32_t rank, uint32_t gen,
		   const char *comm, uint32_t from, uint32_t to, uint64_t seq,
		   bool ends, uint64_t bytes, uint64_t arrive, uint64_t end,
		   struct sn_err *err)
{
	const uint32_t pair[2] = { from, to };
	char name[256];
	const struct sn_rec_new new = {
		.name = name, .kind = "p2p", .list = pair, .n_list = 2,
		.index = rank == to,
	};
	int rc;

	snprintf(name, sizeof(name), "%.200s %u>%u", comm, from, to);
	rc = sn_records_comm(rec, rank, gen, &new, err);
	return rc ? rc : sn_records_op(rec, rank, gen, name, seq,
				       ends ? NULL : "send/recv", bytes, arrive,
				       end, err);
}
