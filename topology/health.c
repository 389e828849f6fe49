/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health.c - samples and faults in, what is due when.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

#define CLEAN_EVERY 60.0 /* s */

int sn_health_no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory for the health of cards");
}

/* ---- actions ------------------------------------------------------------------ */

int sn_health_reserve(struct sn_health_actions *actions, size_t more,
		      struct sn_err *err)
{
	size_t size = actions->size ? actions->size : 16;
	struct sn_health_action *grown;

	if (actions->n + more <= actions->size)
		return 0;
	while (size < actions->n + more)
		size *= 2;
	grown = realloc(actions->action, size * sizeof(*grown));
	if (!grown)
		return sn_health_no_memory(err);
	actions->action = grown;
	actions->size = size;
	return 0;
}

/* The text may be a user's: sn_err_set makes it fit for a log line. */
void sn_health_why(char why[SN_HEALTH_WHY_SIZE], const char *fmt, ...)
{
	char text[512];
	struct sn_err clean;
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sn_err_set(&clean, 0, "%s", text);
	n = strlen(clean.text);
	if (n >= SN_HEALTH_WHY_SIZE)
		for (n = SN_HEALTH_WHY_SIZE - 1;
		     n && ((unsigned char)clean.text[n] & 0xc0) == 0x80;)
			n--;
	memcpy(why, clean.text, n);
	why[n] = '\0';
}

struct sn_health_action *sn_health_put(struct sn_health_actions *actions,
				       enum sn_health_kind kind, uint32_t node,
				       uint32_t card, double now, const char *why)
{
	struct sn_health_action *a = &actions->action[actions->n++];

	memset(a, 0, sizeof(*a));
	a->kind = kind;
	a->node = node;
	a->card = card;
	a->index = SN_NONE;
	a->at = now;
	if (why)
		snprintf(a->why, sizeof(a->why), "%s", why);
	return a;
}

void sn_health_actions_done(struct sn_health_actions *actions)
{
	free(actions->action);
	memset(actions, 0, sizeof(*actions));
}

/* ---- the engine's life ---------------------------------------------------------- */

int sn_health_create(const struct sn_topo *topo, const struct sn_health_conf *conf,
		     const struct sn_health_codes *codes, struct sn_health **ret,
		     struct sn_err *err)
{
	struct sn_health *h = calloc(1, sizeof(*h));

	if (!h)
		return sn_health_no_memory(err);
	h->topo = topo;
	h->n_nodes = topo->n_nodes;
	h->n_supernodes = topo->n_supernodes;
	h->n_units = topo->n_units;
	h->conf = *conf;
	h->codes = codes;
	h->n_hash = 1024;
	h->node = calloc(topo->n_nodes + 1u, sizeof(*h->node));
	h->domain = calloc((size_t)topo->n_supernodes + topo->n_units + 1,
			   sizeof(*h->domain));
	h->hash = calloc(h->n_hash, sizeof(*h->hash));
	if (!h->node || !h->domain || !h->hash) {
		sn_health_destroy(h);
		return sn_health_no_memory(err);
	}
	*ret = h;
	return 0;
}

static void free_card(struct sn_hcard *card)
{
	struct sn_series *s = card->series, *next;

	for (; s; s = next) {
		next = s->next;
		free(s);
	}
	card->series = NULL;
}

void sn_health_destroy(struct sn_health *h)
{
	if (!h)
		return;
	while (h->n_cohorts)
		sn_cohort_drop(h, h->cohort[h->n_cohorts - 1]);
	for (uint32_t i = 0; h->node && i < h->n_nodes; i++) {
		for (uint32_t k = 0; k < h->node[i].n; k++)
			free_card(&h->node[i].card[k]);
		free(h->node[i].card);
	}
	for (uint32_t i = 0; i < h->n_marks; i++)
		free(h->mark[i]);
	for (uint32_t i = 0; i < h->n_spare; i++)
		free(h->spare[i]);
	free(h->spare);
	for (uint32_t i = 0; h->domain && i < h->n_supernodes + h->n_units; i++)
		free(h->domain[i]);
	free(h->node);
	free(h->mark);
	free(h->domain);
	free(h->cohort);
	free(h->waiting);
	free(h->hash);
	free(h->scratch);
	free(h->excess);
	free(h);
}

/* Metrics may have other numbers now: series and cohorts begin anew, marks stay. */
void sn_health_reload(struct sn_health *h, const struct sn_health_conf *conf,
		      const struct sn_health_codes *codes)
{
	h->codes = codes;
	if (conf->n_metrics != h->conf.n_metrics ||
	    memcmp(conf->metric, h->conf.metric, sizeof(conf->metric))) {
		while (h->n_cohorts)
			sn_cohort_drop(h, h->cohort[h->n_cohorts - 1]);
		for (uint32_t i = 0; i < h->n_nodes; i++)
			for (uint32_t k = 0; k < h->node[i].n; k++)
				free_card(&h->node[i].card[k]);
		h->stats.series = 0;
		for (uint32_t i = 0; i < h->n_marks; i++)
			h->mark[i]->metric = SN_METRICS_MAX;
		for (uint32_t i = 0; i < h->n_supernodes + h->n_units; i++)
			if (h->domain[i]) {
				h->domain[i]->metric = SN_METRICS_MAX;
				h->domain[i]->past = 0;
			}
	}
	h->conf = *conf;
}

/* ---- cards ---------------------------------------------------------------------- */

struct sn_hcard *sn_health_peek(const struct sn_health *h, uint32_t node,
				uint32_t card)
{
	if (node >= h->n_nodes || card >= h->node[node].n)
		return NULL;
	return &h->node[node].card[card];
}

int sn_health_find_card(struct sn_health *h, uint32_t node, uint32_t card,
			struct sn_hcard **ret, struct sn_err *err)
{
	struct sn_hnode *n;

	if (node >= h->n_nodes)
		return sn_err_set(err, -EINVAL, "node number %u of %u", node,
				  h->n_nodes);
	if (card >= SN_HEALTH_CARDS_MAX)
		return sn_err_set(err, -EINVAL,
				  "card %u of node %s: numbers of cards are below %d",
				  card, h->topo->node[node].name, SN_HEALTH_CARDS_MAX);
	n = &h->node[node];
	if (card >= n->n) {
		/* Most have 8 or 16; to the power of two it is one allocation. */
		uint32_t size = 8;
		struct sn_hcard *grown;

		while (size <= card)
			size *= 2;
		grown = realloc(n->card, size * sizeof(*grown));
		if (!grown)
			return sn_health_no_memory(err);
		memset(grown + n->n, 0, (size - n->n) * sizeof(*grown));
		n->card = grown;
		h->stats.cards += size - n->n;
		n->n = size;
	}
	*ret = &n->card[card];
	return 0;
}

/* What it did before it was repaired says nothing of it now. What is usual for it
 * stays: the spread of the peers is what remains without that. */
void sn_health_forget_series(struct sn_health *h, struct sn_hcard *card)
{
	(void)h;
	for (struct sn_series *s = card->series; s; s = s->next)
		s->ring.n = s->ring.pos = 0;
}

/* ---- samples ----------------------------------------------------------------- */

static bool is_finite(double v)
{
	return v - v == 0; /* neither NaN nor an infinity */
}

static int unknown_metric(const struct sn_health *h, const char *metric,
			  struct sn_err *err)
{
	const char *name[SN_METRICS_MAX], *near;
	char shown[48];

	for (uint32_t i = 0; i < h->conf.n_metrics; i++)
		name[i] = h->conf.metric[i].name;
	near = sn_text_nearest(metric, name, h->conf.n_metrics);
	return sn_err_set(err, -EINVAL,
			  "\"%s\": no such metric%s%s; a site's own are named in supernode.conf's HealthMetrics",
			  sn_text_clip(metric, shown, sizeof(shown)),
			  near ? ", did you mean " : "", near ? near : "");
}

/* Limits and counters need no peers. */
static int judge_alone(struct sn_health *h, struct sn_hcard *card,
		       const struct sn_metric *metric, uint32_t number,
		       const struct sn_health_sample *sample, double now,
		       struct sn_health_actions *actions, struct sn_err *err)
{
	struct sn_anomaly a = {
		.effect = sn_health_effect(SN_LEVEL_SUB_HEALTH),
		.metric = SN_METRICS_MAX, .hint = sample->hint, .by = sample->by,
	};
	double limit = metric->limit, value = sample->value, before;
	char why[SN_HEALTH_WHY_SIZE];
	struct sn_series *s;
	bool first;
	int rc;

	if (metric->kind == SN_METRIC_LIMIT) {
		if (metric->low ? value > limit : value < limit)
			return 0;
		sn_health_why(why, "%s %g is %s the limit %g", metric->name, value,
			      value == limit ? "at" : metric->low ? "below" : "over",
			      limit);
	} else {
		rc = sn_series_find(h, card, number, 0, sample->hint, now, &s, err);
		if (rc)
			return rc;
		before = s->last;
		first = !s->any;
		s->any = true;
		s->last = value;
		if (first || value - before < limit)
			return 0;
		sn_health_why(why, "%s rose by %g to %g; the limit is %g",
			      metric->name, value - before, value, limit);
	}
	a.why = why;
	return sn_anomaly(h, sample->node, sample->card, &a, now, actions, err);
}

int sn_health_sample(struct sn_health *h, const struct sn_health_sample *sample,
		     double now, struct sn_health_actions *actions,
		     struct sn_err *err)
{
	uint32_t number = sn_health_metric(&h->conf, sample->metric);
	const struct sn_metric *metric;
	struct sn_health_sample believed;
	struct sn_hcard *card;
	int rc;

	if (number == SN_METRICS_MAX)
		return unknown_metric(h, sample->metric, err);
	metric = &h->conf.metric[number];
	if (!is_finite(sample->value) || !is_finite(now) ||
	    (metric->kind == SN_METRIC_PEERS && sample->value <= 0)) {
		h->stats.bad++;
		return sn_err_set(err, -EINVAL, "%s=%g: want a %snumber",
				  metric->name, sample->value,
				  metric->kind == SN_METRIC_PEERS ? "positive " : "");
	}
	rc = sn_health_find_card(h, sample->node, sample->card, &card, err);
	if (!rc)
		rc = sn_health_reserve(actions, SN_ANOMALY_ACTIONS, err);
	if (rc)
		return rc;
	h->stats.samples++;
	if (sample->hint && h->conf.trust_jobs) {
		believed = *sample;
		believed.hint = false;
		sample = &believed;
	}
	if (metric->kind == SN_METRIC_PEERS)
		return sn_row_take(h, card, number, sample, now, actions, err);
	h->stats.judged++;
	return judge_alone(h, card, metric, number, sample, now, actions, err);
}

/* ---- time ---------------------------------------------------------------------- */

int sn_health_job_done(struct sn_health *h, uint32_t job, double now,
		       struct sn_health_actions *actions, struct sn_err *err)
{
	for (uint32_t i = h->n_cohorts; job && i-- > 0;) {
		int rc;

		if (h->cohort[i]->job != job)
			continue;
		rc = sn_rows_due(h, h->cohort[i], true, now, actions, err);
		if (rc)
			return rc;
		sn_cohort_drop(h, h->cohort[i]);
	}
	return 0;
}

/* What nobody has used for long, so that memory is bounded by what is going on. */
static void clean(struct sn_health *h, double now)
{
	double idle = h->conf.domain_hold > 10 * h->conf.window ?
		h->conf.domain_hold : 10 * h->conf.window;

	if (now >= h->cleaned && now - h->cleaned < CLEAN_EVERY)
		return;
	h->cleaned = now;
	for (uint32_t i = h->n_cohorts; i-- > 0;) {
		struct sn_cohort *c = h->cohort[i];

		if (c->used > now)
			c->used = now; /* the clock went back */
		if (!c->n_rows && now - c->used > idle)
			sn_cohort_drop(h, c);
	}
	for (uint32_t i = h->n_marks; i-- > 0;)
		if (sn_card_forgotten(h, h->mark[i], now))
			sn_card_drop(h, i);
}

int sn_health_tick(struct sn_health *h, double now,
		   struct sn_health_actions *actions, struct sn_err *err)
{
	int rc;

	if (!is_finite(now))
		return sn_err_set(err, -EINVAL, "the time is no number");
	/* From the end: one whose last row is judged leaves its place to the last. */
	for (uint32_t i = h->n_waiting; i-- > 0;) {
		rc = sn_rows_due(h, h->waiting[i], false, now, actions, err);
		if (rc)
			return rc;
	}
	for (uint32_t i = 0; i < h->n_marks; i++) {
		rc = sn_health_reserve(actions, SN_ANOMALY_ACTIONS, err);
		if (rc)
			return rc;
		sn_card_due(h, h->mark[i], now, actions);
	}
	rc = sn_health_reserve(actions, sn_domains_degraded(h), err);
	if (rc)
		return rc;
	sn_domains_due(h, now, actions);
	clean(h, now);
	return 0;
}

double sn_health_next(const struct sn_health *h, double now)
{
	double next = now + CLEAN_EVERY;

	for (uint32_t i = 0; i < h->n_waiting; i++) {
		double at = sn_rows_next(h, h->waiting[i]);

		next = at < next ? at : next;
	}
	for (uint32_t i = 0; i < h->n_marks; i++) {
		double at = sn_card_next(h, h->mark[i]);

		next = at < next ? at : next;
	}
	return next > now ? next : now;
}

void sn_health_stats(const struct sn_health *h, struct sn_health_stats *ret)
{
	*ret = h->stats;
	ret->cohorts = h->n_cohorts;
	ret->bytes = sizeof(*h) + h->n_nodes * sizeof(*h->node) +
		ret->cards * sizeof(struct sn_hcard) +
		ret->series * sizeof(struct sn_series) +
		((size_t)h->n_entries[0] + h->n_entries[1]) * sizeof(struct sn_entry) +
		(h->n_marks + h->n_spare) * sizeof(struct sn_mark) +
		h->n_hash * sizeof(*h->hash) +
		2ul * h->size_scratch * sizeof(double);
	for (uint32_t i = 0; i < h->n_cohorts; i++)
		ret->bytes += sizeof(struct sn_cohort) +
			(h->cohort[i]->lore ? sizeof(struct sn_lore) : 0);
}
