/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthdomain.c - is a whole unit or supernode slow?
 *
 * What a supernode does now (the median of its last rows' medians) is held
 * against what is usual for it in that job and metric; that follows slow drift,
 * and is learnt from the first rows. If the job's other supernodes have slowed as
 * much, it is the job's own doing (longer sequences, an evaluation). If a card of
 * it is marked, the others wait for that one. Where values of several supernodes
 * can be compared as they are, one that was slow from the start is found, too.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

#define SLOW_ROWS 3 /* on top of the median of SN_DOMAIN_ROWS */
#define FINE_ROWS 5
#define SIBLING_ROWS 8 /* every so many rows the others are looked at */
#define FOLLOW 128.0 /* rows */

struct sn_hdomain *sn_domain_peek(const struct sn_health *h,
				  enum sn_health_domain domain, uint32_t index)
{
	if (index >= (domain == SN_HEALTH_UNIT ? h->n_units : h->n_supernodes))
		return NULL;
	return h->domain[domain == SN_HEALTH_UNIT ? h->n_supernodes + index : index];
}

struct sn_hdomain *sn_domain_get(struct sn_health *h, enum sn_health_domain domain,
				 uint32_t index)
{
	struct sn_hdomain **at = &h->domain[domain == SN_HEALTH_UNIT ?
					    h->n_supernodes + index : index];

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (*at)
			(*at)->metric = (*at)->past_metric = SN_METRICS_MAX;
	}
	return *at;
}

static struct sn_health_action *put(struct sn_health_actions *actions,
				    enum sn_health_kind kind,
				    enum sn_health_domain domain, uint32_t index,
				    double now, const char *why)
{
	struct sn_health_action *a = sn_health_put(actions, kind, SN_NONE, SN_NONE,
						   now, why);

	a->domain = domain;
	a->index = index;
	return a;
}

static void degrade(struct sn_hdomain *d, enum sn_health_domain domain,
		    uint32_t index, const struct sn_cohort *c, double now,
		    const char *why, struct sn_health_actions *actions)
{
	d->degraded = true;
	d->since = d->seen = now;
	d->job = c->job;
	d->metric = c->metric;
	snprintf(d->why, sizeof(d->why), "%s", why);
	put(actions, SN_HEALTH_DEGRADE, domain, index, now, why);
}

static void restore(struct sn_hdomain *d, enum sn_health_domain domain,
		    uint32_t index, double now, const char *why,
		    struct sn_health_actions *actions)
{
	d->degraded = d->by_hand = d->mass = false;
	d->metric = SN_METRICS_MAX;
	d->slow = d->fine = 0;
	put(actions, SN_HEALTH_RESTORE, domain, index, now, why);
}

/* ---- supernodes ------------------------------------------------------------------ */

static double median_of(const double *v, uint32_t n, uint32_t last, uint32_t at,
			uint32_t size)
{
	double copy[SN_DOMAIN_PAST];

	for (uint32_t i = 0; i < last && i < n; i++)
		copy[i] = v[(at + size - 1 - i) % size];
	return sn_stat_median(copy, last < n ? last : n);
}

static bool is_sibling(const struct sn_cohort *o, const struct sn_cohort *c)
{
	return o->job == c->job && o->metric == c->metric && o->hint == c->hint;
}

/* The medians of the job's other supernodes, by `ratio` relative to what is usual
 * for each; their median, 0: there are too few. */
static double siblings(const struct sn_health *h, const struct sn_cohort *c,
		       uint32_t least, bool ratio)
{
	double v[256];
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n_cohorts && n < 256; i++) {
		const struct sn_cohort *o = h->cohort[i];

		if (o == c || !is_sibling(o, c) || !o->lore || o->lore->now <= 0 ||
		    (ratio && o->lore->usual <= 0))
			continue;
		v[n++] = ratio ? o->lore->now / o->lore->usual : o->lore->now;
	}
	return n < least || !n ? 0 : sn_stat_median(v, n);
}

/* What they do now is usual from now on, in all supernodes of the job. */
static void all_usual(struct sn_health *h, const struct sn_cohort *c)
{
	for (uint32_t i = 0; i < h->n_cohorts; i++) {
		struct sn_cohort *o = h->cohort[i];

		if (!is_sibling(o, c) || !o->lore || o->lore->now <= 0)
			continue;
		o->lore->usual = o->lore->now;
		o->lore->slow = 0;
	}
}

/* A rank's own time; others have waiting in them. */
static bool is_own(const struct sn_health *h, const struct sn_cohort *c)
{
	const char *name = h->conf.metric[c->metric].name;

	return !c->job || !strcmp(name, "own_time") || !strcmp(name, "compute_time");
}

/* Whether a card of the job in this supernode is marked: then all wait for it. */
static bool has_marked(const struct sn_health *h, const struct sn_cohort *c)
{
	if (is_own(h, c))
		return false;
	for (uint32_t i = 0; i < h->n_marks; i++) {
		const struct sn_mark *m = h->mark[i];
		const struct sn_hcard *card;

		if (m->state == SN_HEALTH_HEALTHY ||
		    h->topo->node[m->node].supernode != c->supernode)
			continue;
		card = sn_health_peek(h, m->node, m->card);
		for (const struct sn_series *s = card->series; s; s = s->next)
			if (s->job == c->job && s->hint == c->hint)
				return true;
	}
	return false;
}

static void learn(struct sn_health *h, struct sn_cohort *c, double median)
{
	struct sn_lore *l = c->lore;
	const struct sn_hdomain *d = sn_domain_peek(h, SN_HEALTH_SUPERNODE, c->supernode);

	l->recent[l->at_recent] = median;
	l->at_recent = (l->at_recent + 1) % SN_DOMAIN_PAST;
	if (l->n_recent < SN_DOMAIN_PAST)
		l->n_recent++;
	l->now = l->n_recent < SN_DOMAIN_ROWS ? 0 :
		median_of(l->recent, l->n_recent, SN_DOMAIN_ROWS, l->at_recent,
			  SN_DOMAIN_PAST);
	if (!c->hint && l->usual <= 0 && d && d->past > 0 && d->past_job == c->job &&
	    d->past_metric == c->metric)
		l->usual = d->past;
	if (l->usual <= 0 && l->n_recent == SN_DOMAIN_PAST) {
		l->usual = median_of(l->recent, l->n_recent, SN_DOMAIN_PAST,
				     l->at_recent, SN_DOMAIN_PAST);
		l->noise = 0.02;
	}
}

/* Follow slow drift, a sudden change only a little. */
static void follow(struct sn_lore *l, double median)
{
	double off = median / l->usual - 1;

	l->noise += ((off < 0 ? -off : off) - l->noise) / FOLLOW;
	off = off > 0.05 ? 0.05 : off < -0.05 ? -0.05 : off;
	l->usual *= 1 + off / FOLLOW;
	/* Much faster for good: what was usual says nothing any more. */
	l->fast = l->now > 0 && l->now < 0.9 * l->usual ? l->fast + 1 : 0;
	if (l->fast >= FINE_ROWS) {
		l->usual = l->now;
		l->fast = 0;
	}
}

static void slow_supernode(struct sn_health *h, struct sn_cohort *c,
			   struct sn_hdomain *d, double now,
			   struct sn_health_actions *actions)
{
	const char *metric = h->conf.metric[c->metric].name;
	struct sn_lore *l = c->lore;
	double ratio = l->now / l->usual, others;
	char why[SN_HEALTH_WHY_SIZE];

	others = siblings(h, c, 1, true);
	if (others >= 1 + h->conf.domain_slow / 2) {
		sn_health_why(why, "%s rose %.0f%% in all supernodes of job %u: not this one's doing",
			      metric, (ratio - 1) * 100, c->job);
		put(actions, SN_HEALTH_NOTE, SN_HEALTH_SUPERNODE, c->supernode, now, why);
		all_usual(h, c);
		return;
	}
	if (has_marked(h, c))
		return; /* and look again at the next row */
	sn_health_why(why, "%s %.0f%% worse than usual on the whole supernode (%.4g, usual %.4g), job %u",
		      metric, (ratio - 1) * 100,
		      h->conf.metric[c->metric].low ? 1 / l->now : l->now,
		      h->conf.metric[c->metric].low ? 1 / l->usual : l->usual, c->job);
	if (c->hint) {
		put(actions, SN_HEALTH_NOTE, SN_HEALTH_SUPERNODE, c->supernode, now, why);
		l->usual = l->now;
		return;
	}
	degrade(d, SN_HEALTH_SUPERNODE, c->supernode, c, now, why, actions);
}

/* Slow from the start, where other supernodes' values can be compared: own_time is
 * a ratio to ranks of other supernodes, samples of no job come from the same test. */
static bool slower_than_siblings(struct sn_health *h, const struct sn_cohort *c,
				 double *ret_ratio)
{
	double others;

	if (c->lore->rows % SIBLING_ROWS || c->lore->now <= 0 ||
	    (c->job && strcmp(h->conf.metric[c->metric].name, "own_time")))
		return false;
	others = siblings(h, c, 3, false);
	if (others <= 0)
		return false;
	*ret_ratio = c->lore->now / others;
	return *ret_ratio >= 1 + h->conf.domain_slow;
}

static void mass_row(struct sn_health *h, struct sn_cohort *c, struct sn_hdomain *d,
		     uint32_t slow_cards, uint32_t cards, double now,
		     struct sn_health_actions *actions)
{
	char why[SN_HEALTH_WHY_SIZE];

	if (c->lore->mass < SLOW_ROWS + 2 || d->degraded)
		return;
	sn_health_why(why, "%s: %u of %u cards slow at once, job %u",
		      h->conf.metric[c->metric].name, slow_cards, cards, c->job);
	c->lore->mass = 0;
	if (c->hint) {
		put(actions, SN_HEALTH_NOTE, SN_HEALTH_SUPERNODE, c->supernode, now, why);
		return;
	}
	d->mass = true;
	degrade(d, SN_HEALTH_SUPERNODE, c->supernode, c, now, why, actions);
}

/* A row of the cohort that degraded its supernode. */
static void still_degraded(struct sn_cohort *c, struct sn_hdomain *d, bool fine,
			   double now, struct sn_health_actions *actions)
{
	d->seen = now;
	d->fine = fine ? d->fine + 1 : 0;
	if (d->fine < FINE_ROWS)
		return;
	c->lore->slow = 0;
	restore(d, SN_HEALTH_SUPERNODE, c->supernode, now, "as usual again", actions);
}

void sn_domain_row(struct sn_health *h, struct sn_cohort *c, double median,
		   uint32_t slow_cards, uint32_t cards, bool mass, double now,
		   struct sn_health_actions *actions)
{
	struct sn_hdomain *d = sn_domain_peek(h, SN_HEALTH_SUPERNODE, c->supernode);
	struct sn_lore *l = c->lore;
	char why[SN_HEALTH_WHY_SIZE];
	bool own, slow;
	double ratio = 1;

	own = d->degraded && !d->by_hand && !c->hint && d->job == c->job &&
		d->metric == c->metric;
	learn(h, c, median);
	l->mass = mass ? l->mass + 1 : 0;
	if (mass)
		mass_row(h, c, d, slow_cards, cards, now, actions);
	if (own && d->mass) {
		still_degraded(c, d, !mass, now, actions);
		return;
	}
	if (l->usual <= 0 || l->now <= 0)
		return;
	ratio = l->now / l->usual;
	slow = ratio >= 1 + h->conf.domain_slow && ratio - 1 >= 4 * l->noise;
	if (own) {
		still_degraded(c, d, ratio < 1 + h->conf.domain_slow / 2, now, actions);
		return;
	}
	l->slow = slow ? l->slow + 1 : 0;
	if (!slow)
		follow(l, median);
	if (d->degraded)
		return;
	if (l->slow >= SLOW_ROWS) {
		slow_supernode(h, c, d, now, actions);
	} else if (!slow && !c->hint && slower_than_siblings(h, c, &ratio) &&
		   !has_marked(h, c)) {
		sn_health_why(why, "%s %.0f%% worse than on the other supernodes, job %u",
			      h->conf.metric[c->metric].name, (ratio - 1) * 100, c->job);
		/* Fine again is when it is that much better than now. */
		l->usual = l->now / ratio;
		degrade(d, SN_HEALTH_SUPERNODE, c->supernode, c, now, why, actions);
	}
}

/* ---- units -------------------------------------------------------------------------- */

static void say_unit(const struct sn_health *h, const struct sn_cohort *c,
		     double excess, uint32_t cards, char why[SN_HEALTH_WHY_SIZE])
{
	sn_health_why(why, "%s %.0f%% worse than the rest of its supernode on all %u cards, job %u",
		      h->conf.metric[c->metric].name, excess * 100, cards, c->job);
}

static void hinted_unit(struct sn_health *h, struct sn_cohort *c, uint32_t unit,
			double excess, uint32_t cards, double now,
			struct sn_health_actions *actions)
{
	struct sn_lore *l = c->lore;
	char why[SN_HEALTH_WHY_SIZE];

	if (l->unit_slow && l->unit != unit)
		return;
	l->unit = unit;
	l->unit_slow = excess >= h->conf.domain_slow ? l->unit_slow + 1 : 0;
	if (l->unit_slow < SLOW_ROWS)
		return;
	l->unit_slow = 0;
	say_unit(h, c, excess, cards, why);
	put(actions, SN_HEALTH_NOTE, SN_HEALTH_UNIT, unit, now, why);
}

void sn_domain_unit(struct sn_health *h, struct sn_cohort *c, uint32_t unit,
		    double excess, uint32_t cards, double now,
		    struct sn_health_actions *actions)
{
	struct sn_hdomain *d = sn_domain_peek(h, SN_HEALTH_UNIT, unit);
	char why[SN_HEALTH_WHY_SIZE];

	if (c->hint) {
		hinted_unit(h, c, unit, excess, cards, now, actions);
		return;
	}
	if (d->by_hand)
		return;
	/* One job and metric at a time is followed. */
	if (d->metric != SN_METRICS_MAX && (d->metric != c->metric || d->job != c->job))
		return;
	if (d->degraded) {
		d->seen = now;
		d->fine = excess < h->conf.domain_slow / 2 ? d->fine + 1 : 0;
		if (d->fine >= FINE_ROWS)
			restore(d, SN_HEALTH_UNIT, unit, now, "as its peers again", actions);
		return;
	}
	d->slow = excess >= h->conf.domain_slow ? d->slow + 1 : 0;
	d->metric = d->slow ? c->metric : SN_METRICS_MAX;
	d->job = c->job;
	if (d->slow < SLOW_ROWS)
		return;
	say_unit(h, c, excess, cards, why);
	d->slow = 0;
	degrade(d, SN_HEALTH_UNIT, unit, c, now, why, actions);
}

/* ---- by hand, and by time -------------------------------------------------------- */

int sn_health_set_domain(struct sn_health *h, enum sn_health_domain domain,
			 uint32_t index, bool degraded, const char *why,
			 double now, struct sn_health_actions *actions,
			 struct sn_err *err)
{
	uint32_t n = domain == SN_HEALTH_UNIT ? h->n_units : h->n_supernodes;
	const char *what = domain == SN_HEALTH_UNIT ? "unit" : "supernode";
	struct sn_hdomain *d;
	char line[SN_HEALTH_WHY_SIZE];
	int rc;

	if (index >= n)
		return sn_err_set(err, -EINVAL, "%s number %u of %u", what, index, n);
	rc = sn_health_reserve(actions, 1, err);
	if (rc)
		return rc;
	d = sn_domain_get(h, domain, index);
	if (!d)
		return sn_health_no_memory(err);
	sn_health_why(line, "%s", why && *why ? why : degraded ? "degraded by hand" :
		      "restored by hand");
	if (!degraded) {
		if (d->degraded)
			restore(d, domain, index, now, line, actions);
		return 0;
	}
	d->degraded = d->by_hand = true;
	d->metric = SN_METRICS_MAX;
	d->since = d->seen = now;
	snprintf(d->why, sizeof(d->why), "%s", line);
	put(actions, SN_HEALTH_DEGRADE, domain, index, now, line);
	return 0;
}

uint32_t sn_domains_degraded(const struct sn_health *h)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n_supernodes + h->n_units; i++)
		n += h->domain[i] && h->domain[i]->degraded;
	return n;
}

/* The job that could tell has ended: it is tried again. */
void sn_domains_due(struct sn_health *h, double now,
		    struct sn_health_actions *actions)
{
	uint32_t supernodes = h->n_supernodes;
	char why[SN_HEALTH_WHY_SIZE];

	for (uint32_t i = 0; i < supernodes + h->n_units; i++) {
		struct sn_hdomain *d = h->domain[i];

		if (!d || !d->degraded || d->by_hand)
			continue;
		if (d->seen > now)
			d->seen = now;
		if (now - d->seen < h->conf.domain_hold)
			continue;
		sn_health_why(why, "nothing known of it for %.0f s, it is tried again",
			      now - d->seen);
		restore(d, i < supernodes ? SN_HEALTH_SUPERNODE : SN_HEALTH_UNIT,
			i < supernodes ? i : i - supernodes, now, why, actions);
	}
}
