/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caredecide.c - what is to be done for a job that has lost something.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/care_internal.h"

#define ALONE_MS 30000 /* that a job's snrun has for what it does by itself */
#define STUCK_MS 10000 /* for members that wait; by ElasticHelp it gives up */
#define LOOK_AGAIN_MS 60000 /* where nothing can be done at present */
#define WELL_S 60 /* that what is left must be well: its mark may not be written yet */
#define CHECKPOINT 10.0 /* s, of a job that has made none yet */

/* ---- what is to be done ---------------------------------------------------------------------- */

static bool must_leave(const struct sn_failure *f)
{
	return f->kind != SN_FAIL_SUSPECT && f->kind != SN_FAIL_STEP;
}

static bool has_told(const struct care_job *job, uint32_t node, uint64_t cards)
{
	for (uint32_t i = 0; i < job->n_told; i++) {
		uint64_t told = job->told[i].cards; /* 0: the node */

		if (job->told[i].node == node && (!told || (cards && !(cards & ~told))))
			return true;
	}
	return false;
}

static void add_order(const struct care_job *job, enum sn_control_op op, uint32_t node,
		      const char *name, uint64_t cards, uint32_t well,
		      struct sn_care_decision *ret)
{
	struct sn_control *order = &ret->order[ret->n_orders];

	if (ret->n_orders == SN_CARE_ORDERS || has_told(job, node, cards))
		return;
	*order = (struct sn_control){ .op = op, .cards = cards, .well = well };
	snprintf(order->node, sizeof(order->node), "%s", name);
	ret->n_orders++;
}

/* Its snrun knows nodes only. */
static void leave_supernode(const struct care_job *job, const struct sn_view_nodes *nodes,
			    enum sn_control_op op, uint32_t domain,
			    struct sn_care_decision *ret)
{
	for (uint32_t i = 0; i < job->n_at; i++)
		if (job->at[i].domain == domain && !job->at[i].spare)
			add_order(job, op, job->at[i].node, nodes->node[job->at[i].node].name,
				  0, WELL_S, ret);
}

/* Orders that take the ranks off what is sick; and off what is lost, where snrun has
 * had its time to do so by itself. A node that comes and goes is not trusted sooner than
 * it counts as such (flaps). */
static void make_orders(const struct care_job *job, const struct sn_view_nodes *nodes,
			enum sn_control_op op, bool lost_too, uint32_t flaps,
			struct sn_care_decision *ret)
{
	for (uint32_t i = 0; i < job->n_failures; i++) {
		const struct sn_failure *f = &job->failure[i];
		bool again = false, whole = false, flapping = false;
		uint64_t cards = 0;

		if (!must_leave(f) || f->spare || f->node == SN_NONE ||
		    (!lost_too && f->kind != SN_FAIL_SICK && f->kind != SN_FAIL_CARD))
			continue;
		if (f->kind == SN_FAIL_SUPERNODE) {
			leave_supernode(job, nodes, op, f->domain, ret);
			continue;
		}
		for (uint32_t k = 0; k < job->n_failures; k++) {
			if (job->failure[k].node != f->node || !must_leave(&job->failure[k]))
				continue;
			again |= k < i;
			flapping |= flaps && job->failure[k].times >= flaps;
			if (job->name[k].card == SN_NONE)
				whole = true;
			else
				cards |= UINT64_C(1) << job->name[k].card;
		}
		if (whole)
			cards = 0;
		if (!again)
			add_order(job, op, f->node, job->name[i].node, cards,
				  flapping ? CARE_LATE : WELL_S, ret);
	}
}

static bool any_lost(const struct care_job *job)
{
	for (uint32_t i = 0; i < job->n_failures; i++)
		if (job->failure[i].kind == SN_FAIL_NODE || job->failure[i].kind == SN_FAIL_SUPERNODE)
			return true;
	return false;
}

uint32_t care_same_order(enum sn_means means)
{
	switch (means) {
	case SN_MEANS_SWAP:
	case SN_MEANS_MOVE:
	case SN_MEANS_SHRINK:
		return 1u << SN_MEANS_SWAP | 1u << SN_MEANS_MOVE | 1u << SN_MEANS_SHRINK;
	case SN_MEANS_REPLACE:
	case SN_MEANS_REQUEUE:
		return 1u << means;
	default:
		return 0;
	}
}

/* late: snrun has had its time. */
static void find_how(const struct care_job *job, const struct sn_view_nodes *nodes,
		     uint32_t flaps, bool here, bool late, struct sn_care_decision *ret)
{
	ret->how = SN_CARE_NOTHING;
	switch (ret->plan->means) {
	case SN_MEANS_SWAP:
	case SN_MEANS_MOVE:
	case SN_MEANS_SHRINK:
		make_orders(job, nodes, SN_CONTROL_SWAP, late, flaps, ret);
		ret->how = ret->n_orders ? SN_CARE_TELL : SN_CARE_ALONE;
		break;
	case SN_MEANS_RESTART:
		ret->how = SN_CARE_ALONE;
		break;
	case SN_MEANS_REPLACE:
		make_orders(job, nodes, SN_CONTROL_REPLACE, late, flaps, ret);
		/* What is lost it leaves by itself, and only fetches who stands in. */
		if (!ret->n_orders && any_lost(job))
			ret->order[ret->n_orders++] = (struct sn_control){ .op = SN_CONTROL_REPLACE };
		ret->how = ret->n_orders ? SN_CARE_TELL : SN_CARE_ALONE;
		break;
	case SN_MEANS_REQUEUE:
		ret->how = here ? SN_CARE_TELL : SN_CARE_REQUEUE;
		if (here)
			ret->order[ret->n_orders++] = (struct sn_control){ .op = SN_CONTROL_REQUEUE };
		break;
	default:
		break;
	}
}

/* Atoms that fit into supernodes without a failure of this job's. */
static uint32_t atoms_elsewhere(const struct sn_care *care, const struct care_job *job)
{
	const struct sn_topo *topo = care->eyes->topo;
	uint64_t atoms = 0;

	/* Others want them, too, or it cannot be just anywhere. */
	if (job->ours->bound ||
	    (care->world.wanted && job->ours->priority <= care->world.wanted))
		return 0;
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		bool hit = false;

		for (uint32_t i = 0; i < job->n_failures && !hit; i++)
			hit = job->supernode[job->failure[i].domain] == s && must_leave(&job->failure[i]);
		if (!hit)
			atoms += care->world.free_cards[s] / job->sizes.atom;
	}
	return atoms < UINT32_MAX ? (uint32_t)atoms : UINT32_MAX;
}

static void note_took(struct care_job *job, uint32_t s, uint32_t nodes, uint32_t cards)
{
	if ((nodes || cards) && job->n_took < sizeof(job->took) / sizeof(*job->took))
		job->took[job->n_took++] = (struct care_took){ s, nodes, cards };
}

/* domain: the job's, with what is free there. */
static void take(struct sn_care *care, struct care_job *job, const struct sn_ladder_plan *plan,
		 struct sn_ladder_domain *domain)
{
	struct care_world *w = &care->world;
	uint32_t atoms = plan->atoms, none = 0;

	job->n_took = 0;
	sn_ladder_take(plan, domain, &none);
	for (uint32_t d = 0; d < job->n_domains; d++) {
		uint32_t s = job->supernode[d];

		note_took(job, s, w->spare_nodes[s] - domain[d].spare_nodes, 0);
		w->spare_nodes[s] = domain[d].spare_nodes;
	}
	/* Which supernodes they go to is for Slurm to say: the first that have room. */
	for (uint32_t s = 0; atoms && s < care->eyes->topo->n_supernodes; s++) {
		uint32_t n = w->free_cards[s] / job->sizes.atom;

		n = n < atoms ? n : atoms;
		note_took(job, s, 0, n * job->sizes.atom);
		w->free_cards[s] -= n * job->sizes.atom;
		atoms -= n;
	}
}

static void note_past(struct care_job *job, const struct sn_care_decision *d, double now)
{
	job->decisions++;
	if (!job->past && !(job->past = calloc(SN_CARE_PAST, sizeof(*job->past))))
		return;
	memmove(job->past + 1, job->past, (SN_CARE_PAST - 1) * sizeof(*job->past));
	job->past[0] = (struct sn_care_past){ .at = now, .means = d->plan->means, .how = d->how };
	snprintf(job->past[0].why, sizeof(job->past->why), "%s", d->plan->why);
	job->n_past += job->n_past < SN_CARE_PAST;
}

static int64_t due_in(const struct sn_care *care, const struct care_job *job, enum sn_care_how how)
{
	switch (how) {
	case SN_CARE_ALONE:
		return job->stuck ? STUCK_MS : ALONE_MS;
	case SN_CARE_TELL:
		return (int64_t)(care->conf->order_wait * 1000);
	case SN_CARE_REQUEUE:
		return care_retry_ms(job);
	default:
		if (job->means == SN_MEANS_IGNORE)
			return INT64_MAX / 2;
		/* Something that takes over may turn up, or snrun may come to its senses. */
		return job->refused && care_retry_ms(job) > LOOK_AGAIN_MS ? care_retry_ms(job) :
			LOOK_AGAIN_MS;
	}
}

/* The failures are decided for; what is done about it is the caller's. */
static void settle(struct sn_care *care, struct care_job *job, struct sn_care_decision *d)
{
	bool fresh = job->stands != job->key;

	/* A spare with a sick card that was told of is no news when other things are over. */
	d->again = d->plan->means == SN_MEANS_IGNORE ? job->stands == job->ignored :
		!fresh && d->plan->means == job->means;
	if (d->plan->means == SN_MEANS_IGNORE)
		job->ignored = job->stands;
	d->number = ++care->numbers;
	if (fresh) {
		if (!job->key || job->how == SN_CARE_NOTHING)
			job->decided = care->eyes->now;
		job->tries = 0;
	} else {
		job->tries++;
	}
	job->key = job->stands;
	job->number = d->number;
	job->means = d->plan->means;
	job->how = d->how;
	job->due = care->eyes->ms + due_in(care, job, d->how);
	if (d->how == SN_CARE_NOTHING)
		job->refused = 0;
	job->can = 0;
	for (int m = 0; m < SN_MEANS_KINDS; m++)
		job->can |= d->plan->option[m].can ? 1u << m : 0;
	snprintf(job->node, sizeof(job->node), "%s", d->node);
	for (uint32_t i = 0; i < d->n_orders; i++) {
		const struct sn_view_node *is = sn_view_node(care->eyes->nodes, d->order[i].node);

		if (is && job->n_told < sizeof(job->told) / sizeof(*job->told)) {
			job->told[job->n_told].node = (uint32_t)(is - care->eyes->nodes->node);
			job->told[job->n_told++].cards = d->order[i].cards;
		}
	}
	if (!d->again)
		note_past(job, d, care->eyes->now);
	care->calls->decided(care->calls->arg, d);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* The gravest one, for the event: as ladder.c's sentence begins with it. */
static void name_it(const struct care_job *job, struct sn_care_decision *d)
{
	const struct care_name *name = &job->name[0];
	enum sn_failure_kind kind = job->failure[0].kind;

	for (uint32_t i = 1; i < job->n_failures; i++)
		if (job->failure[i].kind > kind) {
			kind = job->failure[i].kind;
			name = &job->name[i];
		}
	snprintf(d->node, sizeof(d->node), "%.63s", name->node);
	d->card = name->card;
}

static uint32_t allowed(const struct sn_care *care, const struct care_job *job, bool here)
{
	uint32_t bits = sn_elastic_allowed(sn_elastic_policy_find(&care->conf->policy,
								  job->ours->account));

	/* Atoms come elsewhere as member jobs. */
	if (!job->spec.has_elastic || !care->conf->members)
		bits &= ~(1u << SN_MEANS_MOVE);
	/* Only its snrun can do more. */
	if (!here)
		bits &= 1u << SN_MEANS_IGNORE | 1u << SN_MEANS_MASK | 1u << SN_MEANS_REQUEUE |
			1u << SN_MEANS_GIVE_UP;
	return bits;
}

static bool describe(struct sn_care *care, const struct care_job *job,
		     const struct sn_attach *attach, struct sn_ladder_job *ret)
{
	const struct sn_attach_state *s = attach ? &attach->state : NULL;
	uint32_t dp = s && s->dp ? s->dp : job->spec.layout.dp;

	*ret = (struct sn_ladder_job){
		.sizes = job->sizes, .dp = sn_sizes_at_most(&job->sizes, dp),
		.elastic = job->spec.has_elastic,
		.running = s && s->phase == SN_ATTACH_RUNNING,
		.can_checkpoint = s && s->can_checkpoint,
		.can_requeue = job->ours->batch && job->ours->requeue,
		.since_safe = care_since_safe(job, attach, care->eyes),
		.since_memory = care_since_memory(attach, care->eyes),
		.checkpoint = s && s->checkpoint_seconds >= 0 ? s->checkpoint_seconds : CHECKPOINT,
		.allowed = allowed(care, job, attach && attach->here),
		.n_domains = job->n_domains,
	};
	if (ret->since_safe < 0)
		ret->since_safe = 0;
	return ret->dp;
}

/* What the ladder cannot know of the ways here; 0: the plan will do. */
static uint32_t not_so(const struct sn_care *care, const struct care_job *job, bool late,
		       const struct sn_ladder_plan *plan)
{
	const uint32_t own = 1u << SN_MEANS_RESTART | care_same_order(SN_MEANS_SWAP);
	bool smaller = plan->option[SN_MEANS_SHRINK].can;

	/* It has come to nothing by itself, and soon gives up; what helps is an order, or
	 * members that start in a moment. */
	if (job->stuck) {
		bool order = plan->option[SN_MEANS_REPLACE].can || plan->option[SN_MEANS_REQUEUE].can;

		if (plan->means == SN_MEANS_MOVE && job->comes && !late)
			return 0;
		return order && own & 1u << plan->means ? 1u << plan->means : 0;
	}

	/* What is smaller grows again by member jobs; what is requeued may wait for long. */
	if (plan->means == SN_MEANS_REQUEUE && smaller && care->conf->members)
		return 1u << SN_MEANS_REQUEUE;
	/* It is left first, and members come then. */
	if (plan->means == SN_MEANS_MOVE && !smaller && !any_lost(job))
		return 1u << SN_MEANS_MOVE;
	return 0;
}

static int ask_ladder(const struct sn_care *care, const struct care_job *job, bool late,
		      struct sn_ladder_job *about, struct sn_ladder_plan *ret, struct sn_err *err)
{
	uint32_t drop;
	int rc = sn_ladder(about, &care->conf->costs, job->failure, job->n_failures, ret, err);

	while (!rc && (drop = not_so(care, job, late, ret))) {
		about->allowed &= ~drop;
		sn_ladder_plan_done(ret);
		rc = sn_ladder(about, &care->conf->costs, job->failure, job->n_failures, ret, err);
	}
	return rc;
}

int care_decide(struct sn_care *care, struct care_job *job, struct sn_err *err)
{
	const struct sn_attach *attach = care->eyes->attach(care->eyes->arg, job->id);
	bool here = attach && attach->here, same = job->stands == job->key;
	bool late = same && !job->at_once;
	struct sn_care_decision d = { .job = job->id, .restarts = job->restarts,
				      .uid = job->is->uid };
	char (*name)[96] = calloc(job->n_failures, sizeof(*name));
	struct sn_ladder_domain *domain = NULL;
	struct sn_ladder_plan plan = { 0 };
	struct sn_ladder_job about;
	int rc = name ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	if (!rc && !describe(care, job, attach, &about)) {
		care_puzzled(care, job, "its snrun tells of a size that it cannot have");
		free(name);
		return 0;
	}
	if (!rc)
		rc = care_job_domains(job, &care->world, care->eyes, &domain, err);
	for (uint32_t i = 0; !rc && i < job->n_failures; i++) {
		if (job->name[i].card == SN_NONE)
			snprintf(name[i], sizeof(name[i]), "%s", job->name[i].node);
		else
			snprintf(name[i], sizeof(name[i]), "%s:%u", job->name[i].node, job->name[i].card);
		job->failure[i].name = *name[i] ? name[i] : NULL;
	}
	if (!rc) {
		about.domain = domain;
		about.atoms_elsewhere = atoms_elsewhere(care, job);
		job->stuck = here && attach->state.phase == SN_ATTACH_STUCK;
		job->comes = here && attach->state.pending;
		job->refused = same ? job->refused : 0;
		about.allowed &= ~job->refused;
		rc = ask_ladder(care, job, late, &about, &plan, err);
	}
	if (!rc) {
		if (same)
			job->n_told = 0;
		job->at_once = false;
		d.plan = &plan;
		name_it(job, &d);
		find_how(job, care->eyes->nodes, care->conf->costs.flaps, here, late, &d);
		take(care, job, &plan, domain);
		settle(care, job, &d);
	} else if (rc != -ENOMEM) {
		care_puzzled(care, job, err->text);
		rc = 0;
	}
	sn_ladder_plan_done(&plan);
	free(domain);
	free(name);
	return rc;
}
