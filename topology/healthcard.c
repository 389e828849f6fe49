/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthcard.c - a card's states, and what moves it between them.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

/* How many anomalies are in the time that counts; older ones are forgotten. Those
 * of the future, after a clock went back, count. */
static uint32_t recent(struct sn_health *h, struct sn_mark *m, double now)
{
	while (m->n_times &&
	       sn_elapsed(m->time[m->n_times - 1], now) >= h->conf.escalate_time)
		m->n_times--;
	return m->n_times;
}

static void enter(struct sn_mark *m, enum sn_health_state state, double now,
		  const char *why)
{
	m->state = state;
	m->since = now;
	if (why)
		snprintf(m->why, sizeof(m->why), "%s", why);
}

static void put(struct sn_health_actions *actions, const struct sn_mark *m,
		enum sn_health_kind kind, double now, const char *why)
{
	struct sn_health_action *a = sn_health_put(actions, kind, m->node, m->card,
						   now, why ? why : m->why);

	a->leave = m->leave;
	a->reset = m->reset;
}

static void ask(const struct sn_health *h, struct sn_mark *m, double now,
		struct sn_health_actions *actions)
{
	m->ask_at = now + h->conf.probe_retry;
	put(actions, m, SN_HEALTH_PROBE, now, NULL);
}

static void quarantine(struct sn_health *h, struct sn_mark *m, double now,
		       const char *why, struct sn_health_actions *actions)
{
	enter(m, SN_HEALTH_QUARANTINED, now, why);
	m->tries = 0;
	m->probe_at = SN_HEALTH_NEVER;
	m->ask_at = now + h->conf.hold;
	put(actions, m, SN_HEALTH_QUARANTINE, now, NULL);
}

static void to_manual(struct sn_mark *m, double now, const char *why,
		      struct sn_health_actions *actions)
{
	enter(m, SN_HEALTH_MANUAL, now, why);
	m->ask_at = m->probe_at = SN_HEALTH_NEVER;
	put(actions, m, SN_HEALTH_NEEDS_RELEASE, now, NULL);
}

static void to_healthy(struct sn_health *h, struct sn_mark *m, double now,
		       const char *why, struct sn_health_actions *actions)
{
	put(actions, m, SN_HEALTH_UNMASK, now, why);
	enter(m, SN_HEALTH_HEALTHY, now, why);
	m->ask_at = m->probe_at = SN_HEALTH_NEVER;
	m->tries = m->good = 0;
	m->dirty = m->leave = m->hinted = false;
	m->reset = SN_RESET_NONE;
	m->metric = SN_METRICS_MAX;
	sn_health_forget_series(h, sn_health_peek(h, m->node, m->card));
}

/* ---- anomalies --------------------------------------------------------------------- */

/* A hint masks nothing unless another reporter says the same. */
static bool only_a_hint(struct sn_health *h, struct sn_mark *m,
			const struct sn_anomaly *a, double now,
			struct sn_health_actions *actions)
{
	bool before = m->hinted &&
		sn_elapsed(m->hint_at, now) < h->conf.escalate_time;
	char why[SN_HEALTH_WHY_SIZE];

	if (m->state != SN_HEALTH_HEALTHY || !a->effect->suspect)
		return true;
	if (before && m->hint_by != a->by)
		return false;
	if (before && sn_elapsed(m->hint_at, now) < h->conf.probe_retry)
		return true;
	m->hinted = true;
	m->hint_by = a->by;
	m->hint_at = now;
	sn_health_why(why, "hint: %s", a->why);
	snprintf(m->why, sizeof(m->why), "%s", why);
	put(actions, m, SN_HEALTH_PROBE, now, why);
	return true;
}

static void suspect(struct sn_health *h, struct sn_mark *m,
		    const struct sn_anomaly *a, double now,
		    struct sn_health_actions *actions)
{
	enter(m, SN_HEALTH_SUSPECT, now, a->why);
	put(actions, m, SN_HEALTH_MASK, now, NULL);
	ask(h, m, now, actions);
}

static void begin(struct sn_mark *m, const struct sn_anomaly *a)
{
	m->metric = a->metric;
	m->job = a->job;
	m->good = m->tries = 0;
	m->dirty = m->probe_at >= 0;
}

/* Two accounts are cheap: whatever they say, no more than a probe comes of it, which
 * then judges. Nor does it count for escalation, move work or reset the card. */
static void confirmed_hint(struct sn_health *h, struct sn_mark *m,
			   const struct sn_anomaly *a, double now,
			   struct sn_health_actions *actions)
{
	h->stats.marks++;
	m->leave = false;
	m->reset = SN_RESET_NONE;
	begin(m, a);
	suspect(h, m, a, now, actions);
}

static bool worse(const struct sn_mark *m, const struct sn_anomaly *a)
{
	return a->effect->manual ? m->state != SN_HEALTH_MANUAL :
		a->effect->isolate && (m->state == SN_HEALTH_SUSPECT ||
				       m->state == SN_HEALTH_PROBING);
}

/* A card that is marked already: only what is worse matters, and that the probe
 * that runs may have seen the card before this. */
static void again(struct sn_health *h, struct sn_mark *m,
		  const struct sn_anomaly *a, double now,
		  struct sn_health_actions *actions)
{
	m->dirty = true;
	m->good = 0;
	if (!a->effect->suspect || m->state == SN_HEALTH_MANUAL)
		return;
	if (a->metric == SN_METRICS_MAX)
		m->metric = SN_METRICS_MAX; /* samples cannot free it any more */
	if (a->effect->reset > m->reset)
		m->reset = a->effect->reset;
	m->leave |= a->effect->leave;
	if (!worse(m, a))
		return;
	if (a->effect->manual)
		to_manual(m, now, a->why, actions);
	else
		quarantine(h, m, now, a->why, actions);
}

int sn_anomaly(struct sn_health *h, uint32_t node, uint32_t card,
	       const struct sn_anomaly *a, double now,
	       struct sn_health_actions *actions, struct sn_err *err)
{
	char why[SN_HEALTH_WHY_SIZE];
	struct sn_mark *m;
	uint32_t n;
	int rc = sn_card_mark(h, node, card, &m, err);

	if (rc)
		return rc;
	if (a->hint && !h->conf.trust_jobs) {
		if (!only_a_hint(h, m, a, now, actions))
			confirmed_hint(h, m, a, now, actions);
		return 0;
	}
	if (m->state != SN_HEALTH_HEALTHY) {
		again(h, m, a, now, actions);
		return 0;
	}
	if (!a->effect->counts && !a->effect->suspect) {
		put(actions, m, SN_HEALTH_NOTE, now, a->why);
		return 0;
	}
	sn_card_remember(m, now);
	n = recent(h, m, now);
	h->stats.marks += a->effect->suspect;
	m->leave = a->effect->leave;
	m->reset = a->effect->reset;
	begin(m, a);
	if (a->effect->manual) {
		to_manual(m, now, a->why, actions);
	} else if (h->conf.escalate && n >= h->conf.escalate) {
		sn_health_why(why, "%u in %.0f h: %s", n,
			      h->conf.escalate_time / 3600, a->why);
		to_manual(m, now, why, actions);
	} else if (a->effect->isolate) {
		quarantine(h, m, now, a->why, actions);
	} else if (a->effect->suspect) {
		suspect(h, m, a, now, actions);
	} else {
		put(actions, m, SN_HEALTH_NOTE, now, a->why);
	}
	return 0;
}

int sn_health_fault(struct sn_health *h, const struct sn_health_fault *fault,
		    double now, struct sn_health_actions *actions,
		    struct sn_err *err)
{
	struct sn_anomaly a = {
		.metric = SN_METRICS_MAX, .job = fault->job,
		.hint = fault->hint, .by = fault->by,
	};
	char why[SN_HEALTH_WHY_SIZE];
	const char *text;
	enum sn_health_level level;
	struct sn_hcard *card;
	int rc;

	if (!fault->code || !*fault->code)
		return sn_err_set(err, -EINVAL, "a fault without a code");
	if (now - now != 0)
		return sn_err_set(err, -EINVAL, "the time is no number");
	rc = sn_health_find_card(h, fault->node, fault->card, &card, err);
	if (!rc)
		rc = sn_health_reserve(actions, SN_ANOMALY_ACTIONS, err);
	if (rc)
		return rc;
	level = sn_health_code_level(h->codes, fault->code, h->conf.unknown, &text);
	a.effect = sn_health_effect(level);
	if (fault->text && *fault->text)
		text = fault->text;
	sn_health_why(why, "fault %.40s (%s)%s%s", fault->code,
		      sn_health_level_name(level), *text ? ": " : "", text);
	a.why = why;
	return sn_anomaly(h, fault->node, fault->card, &a, now, actions, err);
}

void sn_card_good(struct sn_health *h, struct sn_mark *m, uint32_t metric,
		  uint32_t job, bool good, double now,
		  struct sn_health_actions *actions)
{
	char why[SN_HEALTH_WHY_SIZE];

	if (m->metric != metric || m->job != job || m->state != SN_HEALTH_SUSPECT)
		return;
	m->good = good ? m->good + 1 : 0;
	if (!h->conf.recover || m->good < h->conf.recover)
		return;
	sn_health_why(why, "the last %u samples of %s were in order", m->good,
		      h->conf.metric[metric].name);
	to_healthy(h, m, now, why, actions);
}

/* ---- probes --------------------------------------------------------------------- */

int sn_health_probe_started(struct sn_health *h, uint32_t node, uint32_t card,
			    double now, struct sn_health_actions *actions,
			    struct sn_err *err)
{
	struct sn_hcard *c = sn_health_peek(h, node, card);
	struct sn_mark *m = c ? c->mark : NULL;
	int rc;

	if (!m || m->state == SN_HEALTH_MANUAL || m->probe_at >= 0 ||
	    (m->state == SN_HEALTH_HEALTHY && !m->hinted))
		return 0;
	rc = sn_health_reserve(actions, 1, err);
	if (rc)
		return rc;
	m->probe_at = now;
	m->dirty = false;
	if (m->state == SN_HEALTH_SUSPECT) {
		enter(m, SN_HEALTH_PROBING, now, NULL);
		m->ask_at = SN_HEALTH_NEVER;
		put(actions, m, SN_HEALTH_MARK_PROBING, now, NULL);
	}
	return 0;
}

static void passed_probe(struct sn_health *h, struct sn_mark *m, double now,
			 const char *text, struct sn_health_actions *actions)
{
	char why[SN_HEALTH_WHY_SIZE];
	bool dirty = m->dirty && m->probe_at >= 0;

	m->probe_at = SN_HEALTH_NEVER;
	m->tries = 0;
	m->dirty = false;
	sn_health_why(why, "the probe passed%s%s", text && *text ? ": " : "",
		      text ? text : "");
	switch (m->state) {
	case SN_HEALTH_PROBING:
		if (dirty) {
			enter(m, SN_HEALTH_SUSPECT, now, NULL);
			put(actions, m, SN_HEALTH_MASK, now, NULL);
			ask(h, m, now, actions);
			return;
		}
		to_healthy(h, m, now, why, actions);
		return;
	case SN_HEALTH_SUSPECT:
		/* It was not asked for, and a look at the device says nothing
		 * of how fast it is. */
		if (m->metric == SN_METRICS_MAX)
			to_healthy(h, m, now, why, actions);
		return;
	case SN_HEALTH_QUARANTINED:
		/* Not if it is sick since the probe began, nor too early. */
		if (!dirty && (sn_elapsed(m->since, now) >= h->conf.hold))
			to_healthy(h, m, now, why, actions);
		return;
	default:
		return;
	}
}

/* Also one that was not asked for: HealthCheckProgram runs it every so often. */
static int failed_probe(struct sn_health *h, uint32_t node, uint32_t card,
			double now, const char *text,
			struct sn_health_actions *actions, struct sn_err *err)
{
	struct sn_anomaly a = {
		.effect = sn_health_effect(SN_LEVEL_PRE_SEPARATE),
		.metric = SN_METRICS_MAX,
	};
	char why[SN_HEALTH_WHY_SIZE];
	struct sn_hcard *c = sn_health_peek(h, node, card);

	sn_health_why(why, "the probe failed%s%s", text && *text ? ": " : "",
		      text ? text : "");
	if (c && c->mark)
		c->mark->probe_at = SN_HEALTH_NEVER;
	if (c && c->mark && c->mark->state == SN_HEALTH_QUARANTINED) {
		quarantine(h, c->mark, now, why, actions); /* its time begins anew */
		return 0;
	}
	a.why = why;
	return sn_anomaly(h, node, card, &a, now, actions, err);
}

int sn_health_probe_done(struct sn_health *h, uint32_t node, uint32_t card,
			 bool passed, const char *text, double now,
			 struct sn_health_actions *actions, struct sn_err *err)
{
	struct sn_hcard *c;
	int rc = sn_health_find_card(h, node, card, &c, err);

	if (!rc)
		rc = sn_health_reserve(actions, SN_ANOMALY_ACTIONS, err);
	if (rc)
		return rc;
	if (!passed)
		return failed_probe(h, node, card, now, text, actions, err);
	if (c->mark)
		passed_probe(h, c->mark, now, text, actions);
	return 0;
}

int sn_health_release(struct sn_health *h, uint32_t node, uint32_t card,
		      const char *who, double now,
		      struct sn_health_actions *actions, struct sn_err *err)
{
	char why[SN_HEALTH_WHY_SIZE];
	struct sn_hcard *c;
	int rc = sn_health_find_card(h, node, card, &c, err);

	if (!rc)
		rc = sn_health_reserve(actions, 1, err);
	if (rc || !c->mark)
		return rc;
	sn_health_why(why, "released by %s", who && *who ? who : "an administrator");
	if (c->mark->state != SN_HEALTH_HEALTHY)
		to_healthy(h, c->mark, now, why, actions);
	c->mark->n_times = 0;
	c->mark->hinted = false;
	c->mark->probe_at = SN_HEALTH_NEVER;
	return 0;
}

/* ---- time --------------------------------------------------------------------------- */

double sn_card_next(const struct sn_health *h, const struct sn_mark *m)
{
	if (m->probe_at >= 0)
		return m->probe_at + h->conf.probe_timeout;
	if (m->ask_at >= 0 && (m->state != SN_HEALTH_HEALTHY || m->hinted))
		return m->ask_at;
	return 1e300;
}

static void no_answer(struct sn_health *h, struct sn_mark *m, double now,
		      struct sn_health_actions *actions)
{
	char why[SN_HEALTH_WHY_SIZE];

	m->probe_at = SN_HEALTH_NEVER;
	m->tries++;
	if (m->state == SN_HEALTH_QUARANTINED) {
		m->ask_at = now + h->conf.probe_retry;
	} else if (m->state == SN_HEALTH_PROBING && m->tries >= h->conf.probe_tries) {
		sn_health_why(why, "no answer from %u probes; %s", m->tries, m->why);
		quarantine(h, m, now, why, actions);
	} else if (m->state == SN_HEALTH_PROBING) {
		enter(m, SN_HEALTH_SUSPECT, now, NULL);
		put(actions, m, SN_HEALTH_MASK, now, NULL);
		ask(h, m, now, actions);
	}
}

void sn_card_due(struct sn_health *h, struct sn_mark *m, double now,
		 struct sn_health_actions *actions)
{
	/* After a clock that went back, waiting begins anew from now. */
	if (m->probe_at > now)
		m->probe_at = now;
	if (m->since > now)
		m->since = now;
	if (m->ask_at > now + (h->conf.hold > h->conf.probe_retry ?
			       h->conf.hold : h->conf.probe_retry))
		m->ask_at = now + h->conf.probe_retry;
	if (m->probe_at >= 0) {
		if (now - m->probe_at >= h->conf.probe_timeout)
			no_answer(h, m, now, actions);
		return;
	}
	if (m->ask_at < 0 || now < m->ask_at)
		return;
	if (m->state == SN_HEALTH_SUSPECT || m->state == SN_HEALTH_QUARANTINED) {
		ask(h, m, now, actions);
	} else if (m->state == SN_HEALTH_HEALTHY && m->hinted) {
		ask(h, m, now, actions);
		m->ask_at = SN_HEALTH_NEVER; /* once, as the hint itself did */
	}
}
