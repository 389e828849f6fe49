/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthjudge.c - a row judged: who is slower than the peers, by more than chance.
 *
 * What everyone does together is taken out first: the row's median, then each
 * unit's. What then remains of a card is its own. Where a quarter of the cards
 * stand out at once it is none of theirs, and the row counts for nobody.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

#define EXCESS_MAX 10.0 /* a sample more than 11 times the median says no more */
#define GROSS_AFTER 4000 /* samples */
#define MASS_CARDS 4 /* and on two nodes at least */

struct judge {
	struct sn_health *h;
	struct sn_cohort *c;
	const struct sn_row *row;
	const struct sn_metric *metric;
	struct sn_lore *lore;
	double now;
	struct sn_health_actions *actions;
	double *excess; /* [row->n] */
	double *scratch; /* [row->n] */
	uint32_t peers; /* cards that the statistics are made of */
	bool all; /* marked ones too, as others are too few */
	double median; /* of the values */
	double sigma; /* of the excesses of this row */
};

static bool counts(const struct judge *j, uint32_t i)
{
	const struct sn_entry *e = &j->row->entry[i];

	return j->all || !sn_card_marked(sn_health_peek(j->h, e->node, e->card));
}

static int make_room(struct sn_health *h, uint32_t n, struct sn_err *err)
{
	double *grown;

	if (n <= h->size_scratch)
		return 0;
	grown = realloc(h->scratch, n * sizeof(*grown));
	if (!grown)
		return sn_health_no_memory(err);
	h->scratch = grown;
	grown = realloc(h->excess, n * sizeof(*grown));
	if (!grown)
		return sn_health_no_memory(err);
	h->excess = grown;
	h->size_scratch = n;
	return 0;
}

/* Values that count into scratch; how many they are. */
static uint32_t gather(struct judge *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->row->n; i++)
		if (counts(j, i))
			j->scratch[n++] = j->row->entry[i].value;
	return n;
}

static void find_excess(struct judge *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->row->n; i++) {
		double v = j->row->entry[i].value;
		double e = (j->metric->low ? j->median / v : v / j->median) - 1;

		j->excess[i] = e < EXCESS_MAX ? e : EXCESS_MAX;
		if (counts(j, i))
			j->scratch[n++] = j->excess[i];
	}
	j->sigma = sn_stat_spread(j->scratch, n, 0);
}

/* The spread that counts: what it was in many rows, unless it grew. Values that
 * are all the same, or nearly, are no reason to mark at the first deviation. */
static double pool(struct judge *j, int w, double here, double floor)
{
	struct sn_lore *l = j->lore;
	double n = ++l->n_sigma[w] < 64 ? l->n_sigma[w] : 64;

	l->sigma[w] += (here - l->sigma[w]) / n;
	here *= 0.85;
	if (here < l->sigma[w])
		here = l->sigma[w];
	return here > floor ? here : floor;
}

/* ---- units ------------------------------------------------------------------- */

struct member { uint32_t unit, at; };

static int by_unit(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->unit != y->unit ? (x->unit < y->unit ? -1 : 1) :
		x->at < y->at ? -1 : x->at > y->at;
}

static void one_unit(struct judge *j, const struct member *m, uint32_t n)
{
	double u, root = 1;
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (counts(j, m[i].at))
			j->scratch[k++] = j->excess[m[i].at];
	if (k <= j->h->conf.peers)
		return;
	u = sn_stat_median(j->scratch, k);
	while (root * root < k)
		root++;
	if (u < j->h->conf.domain_slow / 2 || u < 4 * j->sigma / root)
		u = 0;
	for (uint32_t i = 0; u > 0 && i < n; i++)
		j->excess[m[i].at] -= u;
	sn_domain_unit(j->h, j->c, m->unit, u, k, j->now, j->actions);
}

static int take_units_out(struct judge *j, struct sn_err *err)
{
	const struct sn_topo *topo = j->h->topo;
	struct member *m;
	uint32_t n = 0;

	if (!j->h->n_units)
		return 0;
	m = malloc(j->row->n * sizeof(*m));
	if (!m)
		return sn_health_no_memory(err);
	for (uint32_t i = 0; i < j->row->n; i++) {
		uint32_t unit = topo->node[j->row->entry[i].node].unit;

		if (unit != SN_NONE)
			m[n++] = (struct member){ unit, i };
	}
	qsort(m, n, sizeof(*m), by_unit);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && m[k].unit == m[i].unit;)
			k++;
		if (k - i < j->row->n) /* else it is the whole row's own */
			one_unit(j, m + i, k - i);
	}
	free(m);
	return 0;
}

/* ---- cards ------------------------------------------------------------------- */

static bool many_slow(struct judge *j, uint32_t *ret_slow)
{
	uint32_t slow = 0, nodes = 0, last = SN_NONE;

	for (uint32_t i = 0; i < j->row->n; i++) {
		const struct sn_entry *e = &j->row->entry[i];

		if (!counts(j, i) || j->excess[i] < j->h->conf.slow ||
		    j->excess[i] < 2 * j->sigma)
			continue;
		slow++;
		nodes += e->node != last; /* twice the same does no harm */
		last = e->node;
	}
	*ret_slow = slow;
	return slow >= MASS_CARDS && nodes >= 2 && slow * 4 > j->peers;
}

static void mark(struct judge *j, const struct sn_entry *e, int w, double mean,
		 double z)
{
	const uint32_t width = sn_stat_width[w];
	char why[SN_HEALTH_WHY_SIZE], of[32] = "the last sample";
	struct sn_anomaly a = {
		.effect = sn_health_effect(SN_LEVEL_SUB_HEALTH), .why = why,
		.metric = j->c->metric, .job = j->c->job,
		.hint = j->c->hint, .by = e->series->by,
	};

	if (width > 1)
		snprintf(of, sizeof(of), "%u samples", width);
	sn_health_why(why, "%s %.0f%% worse than %u peers over %s: %.4g, median %.4g, %.1f sigma",
		      j->metric->name, mean * 100, j->peers - 1, of, e->value,
		      j->median, z);
	/* There is memory for it: room was made before. */
	sn_anomaly(j->h, e->node, e->card, &a, j->now, j->actions, NULL);
}

/* The limit for means of w samples. Few peers tell little of the spread. */
static double limit_of(const struct judge *j, int w)
{
	double limit = j->h->conf.score *
		(1 + 1.0 / j->peers + 6.0 / (j->peers * (double)j->lore->n_sigma[w]));
	double raised = limit * sn_tail_factor(&j->lore->tail[w]);
	double cap = 0.95 * SN_STAT_CLIP * sn_stat_root[w];

	if (w == SN_WIN_1) {
		/* One sample alone must be what was never seen before, and for
		 * that something must have been seen. */
		if (j->lore->tail[w].n < GROSS_AFTER)
			return 1e300;
		cap = 1.1 * sn_tail_seen(&j->lore->tail[w]);
		return raised > cap ? raised : cap;
	}
	return raised < cap ? raised : cap > limit ? cap : limit;
}

/* Means of the last w samples: how they spread, and who stands out. */
static void judge_window(struct judge *j, int w)
{
	const struct sn_health_conf *conf = &j->h->conf;
	const uint32_t width = sn_stat_width[w];
	double sigma, clip, limit, least = w == SN_WIN_1 ? conf->gross : conf->slow;
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->row->n; i++)
		if (counts(j, i) && j->row->entry[i].series->ring.n >= width)
			j->scratch[n++] = sn_ring_mean(&j->row->entry[i].series->ring,
						       width, EXCESS_MAX);
	if (n <= conf->peers)
		return;
	sigma = pool(j, w, sn_stat_spread(j->scratch, n, 0),
		     conf->slow / 10 / sn_stat_root[w]);
	clip = w == SN_WIN_1 ? EXCESS_MAX : SN_STAT_CLIP * sn_stat_root[w] * sigma;
	limit = limit_of(j, w);
	for (uint32_t i = 0; i < j->row->n; i++) {
		const struct sn_entry *e = &j->row->entry[i];
		double mean, z;

		if (e->series->ring.n < width)
			continue;
		mean = sn_ring_mean(&e->series->ring, width, clip);
		z = mean / sigma;
		if (counts(j, i))
			sn_tail_add(&j->lore->tail[w], z);
		if (z < limit || least <= 0)
			continue;
		/* By so much it must be slower than the peers, not than usual. */
		mean = sn_ring_mean(&e->series->ring, width, EXCESS_MAX) +
			(double)e->series->ring.usual;
		if (mean >= least)
			mark(j, e, w, mean, z);
	}
}

static void judge_cards(struct judge *j)
{
	for (uint32_t i = 0; i < j->row->n; i++)
		sn_ring_push(&j->row->entry[i].series->ring, j->excess[i]);
	for (int w = SN_WIN_1; w < SN_WINS; w++)
		judge_window(j, w);
	for (uint32_t i = 0; i < j->row->n; i++) {
		const struct sn_entry *e = &j->row->entry[i];
		struct sn_hcard *card = sn_health_peek(j->h, e->node, e->card);

		if (!sn_card_marked(card))
			sn_ring_learn(&e->series->ring, j->excess[i], j->sigma,
				      j->h->conf.slow / 2);
		else if (!j->c->hint)
			sn_card_good(j->h, card->mark, j->c->metric, j->c->job,
				     j->excess[i] < j->h->conf.slow / 2, j->now,
				     j->actions);
	}
}

/* Everything that could fail, before anything is changed. */
static int prepare(struct judge *j, struct sn_err *err)
{
	struct sn_health *h = j->h;
	int rc = make_room(h, j->row->n, err);

	if (!rc)
		rc = sn_health_reserve(j->actions, j->row->n *
				       (size_t)(SN_ANOMALY_ACTIONS + 2) + 4, err);
	if (!rc && !j->c->lore) {
		j->c->lore = calloc(1, sizeof(*j->c->lore));
		rc = j->c->lore ? 0 : sn_health_no_memory(err);
	}
	if (!rc)
		rc = sn_card_reserve(h, j->row->n, err);
	if (!rc && !sn_domain_get(h, SN_HEALTH_SUPERNODE, j->c->supernode))
		rc = sn_health_no_memory(err);
	for (uint32_t i = 0; !rc && i < j->row->n; i++) {
		uint32_t unit = h->topo->node[j->row->entry[i].node].unit;

		if (unit != SN_NONE && !sn_domain_get(h, SN_HEALTH_UNIT, unit))
			rc = sn_health_no_memory(err);
	}
	j->lore = j->c->lore;
	j->scratch = h->scratch;
	j->excess = h->excess;
	return rc;
}

int sn_row_judge(struct sn_health *h, struct sn_cohort *c, const struct sn_row *row,
		 double now, struct sn_health_actions *actions, struct sn_err *err)
{
	struct judge j = {
		.h = h, .c = c, .row = row, .metric = &h->conf.metric[c->metric],
		.now = now, .actions = actions,
	};
	uint32_t slow;
	bool mass;
	int rc;

	if (row->n <= h->conf.peers)
		return 0;
	rc = prepare(&j, err);
	if (rc)
		return rc;
	j.peers = gather(&j);
	if (j.peers <= h->conf.peers) {
		j.all = true;
		j.peers = gather(&j);
	}
	j.median = sn_stat_median(j.scratch, j.peers);
	find_excess(&j);
	rc = take_units_out(&j, err);
	if (rc)
		return rc;
	j.lore->rows++;
	mass = many_slow(&j, &slow);
	if (!mass)
		judge_cards(&j);
	sn_domain_row(h, c, j.metric->low ? 1 / j.median : j.median, slow, j.peers,
		      mass, now, actions);
	return 0;
}
