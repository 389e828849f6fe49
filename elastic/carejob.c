/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carejob.c - one job: where its ranks are, and what it has lost.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/care_internal.h"
#include "topology/hostlist.h"
#include "topology/jobcomment.h"

void care_job_free(struct care_job *job)
{
	if (!job)
		return;
	sn_view_ours_free(job->ours);
	free(job->at);
	free(job->supernode);
	free(job->failure);
	free(job->name);
	free(job->past);
	free(job);
}

void care_job_take(struct care_job *job, const struct sn_view_job *is)
{
	bool same = job->ours && (job->ours == is->ours ||
				  !strcmp(job->ours->options, is->ours->options));

	job->is = is;
	job->uid = is->uid;
	if (job->ours != is->ours) {
		sn_view_ours_free(job->ours);
		job->ours = sn_view_ours_use(is->ours);
	}
	if (same)
		return;
	/* Not of ours but by its comment, or of an older version: nobody's to decide. */
	job->good = !sn_jobcomment_read(is->ours->options, 0, &job->spec, NULL) &&
		job->spec.has_parallel;
	if (job->good)
		sn_sizes_init(&job->sizes, &job->spec.layout,
			      job->spec.has_elastic ? &job->spec.elastic : NULL);
}

/* ---- where it is --------------------------------------------------------------------- */

static uint32_t count(uint64_t bits)
{
	return (uint32_t)__builtin_popcountll(bits);
}

static uint32_t domain_of(struct care_job *job, const struct care_world *w,
			  const struct sn_topo *topo, uint32_t node)
{
	uint32_t s = topo->node[w->node[node].topo].supernode;

	/* The last ones are the likeliest: nodes come supernode by supernode. */
	for (uint32_t d = job->n_domains; d-- > 0;)
		if (job->supernode[d] == s)
			return d;
	return SN_NONE;
}

/* Nodes that the tables have not are passed over. -ENOMEM. */
static int add_at(struct care_job *job, const struct care_world *w, const struct sn_topo *topo,
		  const struct care_at *at)
{
	uint32_t d;

	if (at->node >= w->n || w->node[at->node].topo == SN_NONE)
		return 0;
	d = domain_of(job, w, topo, at->node);
	if (d == SN_NONE) {
		uint32_t *more = realloc(job->supernode, (job->n_domains + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		job->supernode = more;
		d = job->n_domains++;
		job->supernode[d] = topo->node[w->node[at->node].topo].supernode;
	}
	if (job->n_at == job->max_at) {
		struct care_at *more = realloc(job->at, (job->max_at * 2ul + 8) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		job->at = more;
		job->max_at = job->max_at * 2 + 8;
	}
	job->at[job->n_at] = *at;
	job->at[job->n_at++].domain = d;
	return 0;
}

static uint32_t number_of(const struct sn_view_nodes *nodes, const char *name)
{
	const struct sn_view_node *is = sn_view_node(nodes, name);

	return is ? (uint32_t)(is - nodes->node) : SN_NONE;
}

static uint64_t held(const struct sn_view_job *is, uint32_t node)
{
	for (uint32_t i = 0; i < is->n_nodes; i++)
		if (is->node[i] == node)
			return is->cards[i];
	return 0;
}

static int place_by_state(struct care_job *job, const struct care_world *w,
			  const struct sn_care_eyes *eyes, const struct sn_attach_state *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->name.n; i++)
		rc = add_at(job, w, eyes->topo, &(struct care_at){
			.node = number_of(eyes->nodes, s->name.name[i]), .ranks = s->node[i].ranks,
			.first = s->node[i].first, .cards = s->node[i].cards });
	for (size_t i = 0; !rc && i < s->spare.n; i++) {
		uint32_t node = number_of(eyes->nodes, s->spare.name[i]);

		rc = add_at(job, w, eyes->topo, &(struct care_at){
			.node = node, .cards = held(job->is, node), .spare = true });
	}
	return rc;
}

/* Without its snrun's word: what Slurm says that it holds, as if no node were spare. */
static int place_by_slurm(struct care_job *job, const struct care_world *w,
			  const struct sn_care_eyes *eyes)
{
	uint32_t first = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < job->is->n_nodes; i++) {
		uint32_t ranks = count(job->is->cards[i]);

		rc = add_at(job, w, eyes->topo, &(struct care_at){
			.node = job->is->node[i], .ranks = ranks, .first = first,
			.cards = job->is->cards[i] });
		first += ranks;
	}
	return rc;
}

static int find_place(struct care_job *job, const struct care_world *w,
		      const struct sn_care_eyes *eyes, const struct sn_attach *attach)
{
	if (job->placed && job->attached == !!attach &&
	    (attach ? job->heard == attach->heard : job->hold == job->is->hold))
		return 0;
	job->n_at = job->n_domains = 0;
	job->placed = true;
	job->attached = attach;
	job->heard = attach ? attach->heard : 0;
	job->hold = job->is->hold;
	return attach ? place_by_state(job, w, eyes, &attach->state) : place_by_slurm(job, w, eyes);
}

/* ---- what it has lost ------------------------------------------------------------------ */

static int add_failure(struct care_job *job, const struct sn_failure *f, const char *name,
		       uint32_t card)
{
	if (job->n_failures == job->max_failures) {
		uint32_t max = job->max_failures * 2 + 8;
		struct sn_failure *more = realloc(job->failure, max * sizeof(*more));
		struct care_name *names;

		if (more)
			job->failure = more;
		names = more ? realloc(job->name, max * sizeof(*names)) : NULL;
		if (!names)
			return -ENOMEM;
		job->name = names;
		job->max_failures = max;
	}
	job->failure[job->n_failures] = *f;
	snprintf(job->name[job->n_failures].node, sizeof(job->name->node), "%s", name);
	job->name[job->n_failures++].card = card;
	return 0;
}

static struct sn_failure failure_at(const struct care_job *job, const struct care_at *at,
				    enum sn_failure_kind kind, uint32_t cards)
{
	uint32_t atom = job->sizes.atom ? job->sizes.atom : 1;

	return (struct sn_failure){
		.kind = kind, .domain = at->domain, .node = at->node,
		.cards = at->spare ? 0 : cards, .spare = at->spare, .atom = at->first / atom,
		.n_atoms = at->ranks ? (at->first + at->ranks - 1) / atom - at->first / atom + 1 : 0,
	};
}

/* A node with trouble. */
static int add_node(struct care_job *job, const struct care_world *w,
		    const struct sn_care_eyes *eyes, const struct care_at *at)
{
	const char *name = eyes->nodes->node[at->node].name;
	const struct care_node *n = &w->node[at->node];
	struct sn_failure f;
	int rc = 0;

	if (n->lost || n->failing) {
		f = failure_at(job, at, n->lost ? SN_FAIL_NODE : SN_FAIL_SICK, at->ranks);
		f.times = n->times;
		return add_failure(job, &f, name, SN_NONE);
	}
	for (uint32_t c = 0; !rc && c < 64; c++) {
		uint64_t bit = at->cards & UINT64_C(1) << c;

		if (!(bit & (n->gone | n->sick | n->suspect)))
			continue;
		f = failure_at(job, at, bit & n->gone ? SN_FAIL_CARD : bit & n->sick ? SN_FAIL_SICK :
			       SN_FAIL_SUSPECT, 1);
		rc = add_failure(job, &f, name, c);
	}
	return rc;
}

/* Its script was there, and it has none any more. */
static int add_batch(struct care_job *job, const struct care_world *w,
		     const struct sn_care_eyes *eyes)
{
	uint32_t node = job->ours->batch && *job->ours->batch_host ?
		number_of(eyes->nodes, job->ours->batch_host) : SN_NONE;
	struct care_at at = { .node = node };

	if (node == SN_NONE || w->node[node].topo == SN_NONE)
		return 0;
	/* What hosts a job's script is among its nodes until Slurm takes it out. */
	for (uint32_t i = 0; i < job->is->n_nodes; i++)
		if (job->is->node[i] == node && !w->node[node].lost)
			return 0;
	for (uint32_t i = 0; i < job->n_at; i++)
		if (job->at[i].node == node)
			at = job->at[i];
	at.spare = false;
	at.domain = domain_of(job, w, eyes->topo, node);
	if (at.domain == SN_NONE) {
		if (add_at(job, w, eyes->topo, &at))
			return -ENOMEM;
		at = job->at[job->n_at - 1];
		job->placed = false; /* it is not really there */
	}
	for (uint32_t i = 0; i < job->n_failures; i++)
		if (job->failure[i].node == node) {
			job->failure[i].kind = SN_FAIL_BATCH;
			job->failure[i].spare = false;
			return 0;
		}
	return add_failure(job, &(struct sn_failure){ .kind = SN_FAIL_BATCH, .domain = at.domain,
		.node = node, .cards = at.ranks }, job->ours->batch_host, SN_NONE);
}

static bool is_at(const struct care_job *job, uint32_t node)
{
	for (uint32_t i = 0; i < job->n_at; i++)
		if (job->at[i].node == node)
			return true;
	return false;
}

/* It is too small for any size. Which nodes are missing: those that it began with and
 * has no more. */
static int add_missing(struct care_job *job, const struct care_world *w,
		       const struct sn_care_eyes *eyes)
{
	struct sn_names names = { NULL, 0, 0 };
	char *list = NULL;
	int rc = 0;

	if (sn_jobcomment_nodes(job->ours->options, &list, NULL))
		list = NULL;
	if (list && sn_hostlist_expand_max(list, w->n, &names, NULL))
		names.n = 0;
	for (size_t i = 0; !rc && i < names.n; i++) {
		struct care_at at = { .node = number_of(eyes->nodes, names.name[i]) };

		if (at.node == SN_NONE || w->node[at.node].topo == SN_NONE || is_at(job, at.node) ||
		    held(job->is, at.node))
			continue;
		at.ranks = count(eyes->nodes->node[at.node].cards);
		rc = add_at(job, w, eyes->topo, &at);
		at.domain = domain_of(job, w, eyes->topo, at.node);
		job->placed = false;
		if (!rc)
			rc = add_failure(job, &(struct sn_failure){ .kind = SN_FAIL_NODE,
				.domain = at.domain, .node = at.node, .cards = at.ranks,
				.n_atoms = 1, .atom = (uint32_t)i }, names.name[i], SN_NONE);
	}
	/* Something is, or it would run. */
	if (!rc && !job->n_failures && job->n_domains)
		rc = add_failure(job, &(struct sn_failure){ .kind = SN_FAIL_NODE, .node = SN_NONE,
			.cards = job->sizes.atom, .n_atoms = 1 }, "", SN_NONE);
	sn_names_done(&names);
	free(list);
	return rc;
}

/* Where all of a supernode is lost, that is what has happened. */
static void sum_up(struct care_job *job, const struct care_world *w, const struct sn_topo *topo)
{
	for (uint32_t d = 0; d < job->n_domains; d++) {
		const struct sn_topo_supernode *s = &topo->supernode[job->supernode[d]];
		bool told = false;
		uint32_t k = 0;

		if (w->supernode_left[job->supernode[d]] || s->n_nodes < 2)
			continue;
		for (uint32_t i = 0; i < job->n_failures; i++) {
			bool mine = job->failure[i].domain == d && job->failure[i].kind != SN_FAIL_BATCH;

			if (mine && told)
				continue;
			job->failure[k] = job->failure[i];
			job->name[k] = job->name[i];
			if (mine) {
				job->failure[k].kind = SN_FAIL_SUPERNODE;
				snprintf(job->name[k].node, sizeof(job->name->node), "%s", s->name);
				told = true;
			}
			k++;
		}
		job->n_failures = k;
	}
}

static int by_place(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The same failures, in whatever order, make the same key; never 0. */
static int make_key(const struct care_job *job, bool stuck, uint64_t *ret)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ job->restarts, *one;

	one = calloc(job->n_failures, sizeof(*one));
	if (!one)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->n_failures; i++)
		one[i] = (uint64_t)job->failure[i].spare << 56 | (uint64_t)job->failure[i].kind << 48 |
			(uint64_t)job->name[i].card % 1024 << 32 | job->failure[i].node;
	qsort(one, job->n_failures, sizeof(*one), by_place);
	for (uint32_t i = 0; i < job->n_failures; i++)
		h = (h ^ one[i]) * UINT64_C(1099511628211);
	free(one);
	h = (h ^ stuck) * UINT64_C(1099511628211);
	*ret = h ? h : 1;
	return 0;
}

static bool is_hit(const struct care_at *at, const struct care_node *n)
{
	return n->lost || n->failing || at->cards & (n->sick | n->gone | n->suspect);
}

int care_job_failures(struct care_job *job, const struct care_world *w,
		      const struct sn_care_eyes *eyes, const struct sn_attach *attach,
		      uint64_t *ret_key, struct sn_err *err)
{
	bool stuck = attach && attach->here && attach->state.phase == SN_ATTACH_STUCK;
	int rc;

	*ret_key = 0;
	job->n_failures = 0;
	rc = find_place(job, w, eyes, attach);
	for (uint32_t i = 0; !rc && attach && attach->here && i < job->n_at; i++)
		if (is_hit(&job->at[i], &w->node[job->at[i].node]))
			rc = add_node(job, w, eyes, &job->at[i]);
	if (!rc)
		rc = add_batch(job, w, eyes);
	if (!rc && stuck)
		rc = add_missing(job, w, eyes);
	if (!rc && job->n_failures) {
		sum_up(job, w, eyes->topo);
		rc = make_key(job, stuck, ret_key);
	}
	if (rc)
		job->placed = false;
	return rc ? sn_err_set(err, rc, "no memory for job %u", job->id) : 0;
}

/* ---- for the ladder -------------------------------------------------------------------- */

int care_job_domains(const struct care_job *job, const struct care_world *w,
		     const struct sn_care_eyes *eyes, struct sn_ladder_domain **ret,
		     struct sn_err *err)
{
	uint32_t atom = job->sizes.atom ? job->sizes.atom : 1;
	struct sn_ladder_domain *d = calloc((size_t)job->n_domains + 1, sizeof(*d));

	if (!d)
		return sn_err_set(err, -ENOMEM, "no memory for %u supernodes", job->n_domains);
	for (uint32_t i = 0; i < job->n_domains; i++) {
		d[i].name = eyes->topo->supernode[job->supernode[i]].name;
		d[i].spare_nodes = w->spare_nodes[job->supernode[i]];
	}
	for (uint32_t i = 0; i < job->n_at; i++) {
		const struct care_at *at = &job->at[i];
		struct sn_ladder_domain *is = &d[at->domain];
		uint64_t has = held(job->is, at->node);
		uint32_t cards = at->spare ? count(at->cards) : at->ranks;

		is->cards += count(has) > cards ? count(has) : cards;
		is->atoms += at->ranks; /* divided below */
		is->spares += at->spare;
		if (cards > is->spare_cards)
			is->spare_cards = cards;
	}
	for (uint32_t i = 0; i < job->n_domains; i++)
		d[i].atoms = (d[i].atoms + atom - 1) / atom;
	*ret = d;
	return 0;
}

/* What was told then, now. */
static double since(double then, const struct sn_attach *attach, const struct sn_care_eyes *eyes)
{
	bool runs = attach->state.phase == SN_ATTACH_RUNNING || attach->state.phase == SN_ATTACH_ENDING;

	return then + (runs ? (double)(eyes->ms - attach->heard) / 1000 : 0);
}

double care_since_memory(const struct sn_attach *attach, const struct sn_care_eyes *eyes)
{
	return attach && attach->state.since_memory >= 0 ?
		since(attach->state.since_memory, attach, eyes) : -1;
}

double care_since_safe(const struct care_job *job, const struct sn_attach *attach,
		       const struct sn_care_eyes *eyes)
{
	if (attach && attach->state.since_safe >= 0)
		return since(attach->state.since_safe, attach, eyes);
	/* None was seen: all since it began. */
	return job->ours->start > 0 && eyes->now > (double)job->ours->start ?
		eyes->now - (double)job->ours->start : 0;
}
