/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthrow.c - the samples of one step brought together.
 *
 * Reporters are not in step: one node may send ten steps at once before the next
 * sends its first. So a cohort keeps several rows open, and judges them in order,
 * each when all have reported who did so the last time, or when nothing more has
 * come for HealthSettle and at least half are there, or after HealthWindow.
 *
 * Samples without a step make one row at a time: the next sample of a card that is
 * in it already begins another.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

/* ---- cohorts ------------------------------------------------------------------- */

static uint32_t hash_of(const struct sn_health *h, uint32_t supernode,
			uint32_t job, uint32_t metric, bool hint)
{
	uint64_t x = ((uint64_t)supernode << 32 | job) * 0x9e3779b97f4a7c15u +
		metric * 2u + hint;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x >> 32) & (h->n_hash - 1);
}

static void free_row(struct sn_health *h, const struct sn_cohort *c,
		     struct sn_row *row)
{
	for (uint32_t i = 0; i < row->n; i++)
		row->entry[i].series->open--;
	h->n_entries[c->hint] -= row->n;
	free(row->entry);
	free(row);
}

static void stop_waiting(struct sn_health *h, struct sn_cohort *c)
{
	h->waiting[c->waits_at] = h->waiting[--h->n_waiting];
	h->waiting[c->waits_at]->waits_at = c->waits_at;
}

void sn_cohort_drop(struct sn_health *h, struct sn_cohort *c)
{
	struct sn_cohort **at = &h->hash[hash_of(h, c->supernode, c->job, c->metric,
						 c->hint)];

	if (c->n_rows)
		stop_waiting(h, c);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	h->cohort[c->place] = h->cohort[--h->n_cohorts];
	h->cohort[c->place]->place = c->place;
	h->n_of[c->hint]--;
	for (uint32_t i = 0; i < c->n_rows; i++)
		free_row(h, c, c->row[i]);
	free(c->lore);
	free(c);
}

/* Without memory the table stays as it is, only slower. */
static void grow_hash(struct sn_health *h)
{
	struct sn_cohort **grown = calloc(h->n_hash * 2ul, sizeof(*grown));

	if (!grown)
		return;
	free(h->hash);
	h->hash = grown;
	h->n_hash *= 2;
	for (uint32_t i = 0; i < h->n_cohorts; i++) {
		struct sn_cohort *c = h->cohort[i];
		uint32_t at = hash_of(h, c->supernode, c->job, c->metric, c->hint);

		c->next = grown[at];
		grown[at] = c;
	}
}

static int find_cohort(struct sn_health *h, uint32_t supernode, uint32_t job,
		       uint32_t metric, bool hint, uint32_t gen,
		       struct sn_cohort **ret,
		       struct sn_err *err)
{
	uint32_t at = hash_of(h, supernode, job, metric, hint);
	struct sn_cohort *c;

	for (c = h->hash[at]; c; c = c->next)
		if (c->supernode == supernode && c->job == job &&
		    c->metric == metric && c->hint == hint) {
			*ret = c;
			return 0;
		}
	if (h->n_of[hint] == SN_COHORTS_MAX)
		return sn_err_set(err, -ENOMEM,
				  "samples of more than %u jobs and metrics at a time",
				  SN_COHORTS_MAX);
	if (h->n_cohorts == h->size_cohorts) {
		uint32_t size = h->size_cohorts ? h->size_cohorts * 2 : 64;
		struct sn_cohort **grown = realloc(h->cohort, size * sizeof(*grown));

		if (!grown)
			return sn_health_no_memory(err);
		h->cohort = grown;
		grown = realloc(h->waiting, size * sizeof(*grown));
		if (!grown)
			return sn_health_no_memory(err);
		h->waiting = grown;
		h->size_cohorts = size;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return sn_health_no_memory(err);
	c->supernode = supernode;
	c->job = job;
	c->metric = metric;
	c->hint = hint;
	c->gen = gen;
	c->serial = 1;
	c->place = h->n_cohorts;
	c->next = h->hash[at];
	h->hash[at] = c;
	h->cohort[h->n_cohorts++] = c;
	h->n_of[hint]++;
	if (h->n_cohorts > h->n_hash)
		grow_hash(h);
	*ret = c;
	return 0;
}

/* ---- series --------------------------------------------------------------------- */

int sn_series_find(struct sn_health *h, struct sn_hcard *card, uint32_t metric,
		   uint32_t job, bool hint, double now, struct sn_series **ret,
		   struct sn_err *err)
{
	struct sn_series *s, *oldest = NULL;
	uint32_t n = 0;

	for (s = card->series; s; s = s->next) {
		if (s->hint != hint)
			continue;
		n++;
		if (s->metric == metric && s->job == job) {
			s->used = now;
			*ret = s;
			return 0;
		}
		if (!s->open && (!oldest || s->used < oldest->used))
			oldest = s;
	}
	if (n < SN_SERIES_MAX) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return sn_health_no_memory(err);
		s->next = card->series;
		card->series = s;
		h->stats.series++;
	} else if (oldest) {
		struct sn_series *next = oldest->next;

		s = oldest;
		memset(s, 0, sizeof(*s));
		s->next = next;
	} else {
		return sn_err_set(err, -EINVAL,
				  "the card reports more than %d metrics and jobs at a time",
				  SN_SERIES_MAX);
	}
	s->metric = metric;
	s->job = job;
	s->hint = hint;
	s->used = now;
	*ret = s;
	return 0;
}

/* Reported before: by its step, or it is as old as what came since. A step that
 * comes again at a later time is none: the job went back to a checkpoint. */
static bool had_step(const struct sn_series *s, uint64_t step, double time)
{
	if (!s->any || step > s->step || time > s->time)
		return false;
	return s->step - step >= 64 || s->steps >> (s->step - step) & 1;
}

static void note_step(struct sn_series *s, uint64_t step, double time)
{
	if (!s->any || step > s->step) {
		uint64_t on = s->any ? step - s->step : 64;

		s->steps = (on < 64 ? s->steps << on : 0) | 1;
		s->step = step;
		s->time = time;
	} else if (s->step - step < 64) {
		s->steps |= 1ull << (s->step - step);
	}
	s->any = true;
}

/* ---- rows ------------------------------------------------------------------------- */

static int close_first(struct sn_health *h, struct sn_cohort *c, double now,
		       struct sn_health_actions *actions, struct sn_err *err)
{
	struct sn_row *row = c->row[0];
	int rc = sn_row_judge(h, c, row, now, actions, err);

	if (rc)
		return rc;
	h->stats.judged += row->n;
	if (!c->closed_any || row->step > c->closed)
		c->closed = row->step;
	c->closed_any = true;
	c->expected = row->n;
	c->n_rows--;
	memmove(&c->row[0], &c->row[1], c->n_rows * sizeof(c->row[0]));
	if (!c->n_rows)
		stop_waiting(h, c);
	free_row(h, c, row);
	return 0;
}

static int close_through(struct sn_health *h, struct sn_cohort *c,
			 const struct sn_row *row, double now,
			 struct sn_health_actions *actions, struct sn_err *err)
{
	bool last;
	int rc;

	do {
		last = c->row[0] == row;
		rc = close_first(h, c, now, actions, err);
	} while (!rc && !last);
	return rc;
}

/* When row i need not be waited for any longer. */
static double row_due(const struct sn_health *h, const struct sn_cohort *c,
		      const struct sn_row *row)
{
	double end = row->first + h->conf.window, settled = row->last + h->conf.settle;
	uint32_t half = c->expected ? (c->expected + 1) / 2 : h->conf.peers + 1;

	return row->n >= half && settled < end ? settled : end;
}

int sn_rows_due(struct sn_health *h, struct sn_cohort *c, bool all, double now,
		struct sn_health_actions *actions, struct sn_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->n_rows; i++) {
		if (c->row[i]->first > now) /* the clock went back */
			c->row[i]->first = now;
		if (c->row[i]->last > now)
			c->row[i]->last = now;
	}
	/* A later row that is due takes those before it along. */
	for (uint32_t i = c->n_rows; !rc && i-- > 0;)
		if (all || row_due(h, c, c->row[i]) <= now) {
			rc = close_through(h, c, c->row[i], now, actions, err);
			break;
		}
	return rc;
}

double sn_rows_next(const struct sn_health *h, const struct sn_cohort *c)
{
	double next = 1e300;

	for (uint32_t i = 0; i < c->n_rows; i++) {
		double at = row_due(h, c, c->row[i]);

		next = at < next ? at : next;
	}
	return next;
}

static int find_row(struct sn_health *h, struct sn_cohort *c, uint64_t step,
		    double now, struct sn_health_actions *actions,
		    struct sn_row **ret, struct sn_err *err)
{
	struct sn_row *row;
	uint32_t at = c->n_rows;
	int rc;

	while (at && c->row[at - 1]->step > step)
		at--;
	if (at && c->row[at - 1]->step == step) {
		*ret = c->row[at - 1];
		return 0;
	}
	if (c->n_rows == SN_ROWS_MAX) {
		rc = close_first(h, c, now, actions, err);
		if (rc)
			return rc;
		at -= at > 0;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return sn_health_no_memory(err);
	row->step = step;
	row->serial = c->serial++;
	row->first = row->last = now;
	memmove(&c->row[at + 1], &c->row[at], (c->n_rows - at) * sizeof(c->row[0]));
	c->row[at] = row;
	if (!c->n_rows++) {
		c->waits_at = h->n_waiting;
		h->waiting[h->n_waiting++] = c;
	}
	*ret = row;
	return 0;
}

static int add_entry(struct sn_health *h, struct sn_row *row, struct sn_series *s,
		     const struct sn_health_sample *sample, double now,
		     struct sn_err *err)
{
	if (row->n == row->size) {
		uint32_t size = row->size ? row->size * 2 : 16;
		struct sn_entry *grown = realloc(row->entry, size * sizeof(*grown));

		if (!grown)
			return sn_health_no_memory(err);
		row->entry = grown;
		row->size = size;
	}
	row->entry[row->n++] = (struct sn_entry){ s, sample->value, sample->node,
						  sample->card };
	row->last = now;
	h->n_entries[s->hint]++;
	s->open++;
	return 0;
}

/* The job has begun anew, by its generation or by its steps: what is open is
 * judged, and numbers may be small again. */
static int begin_anew(struct sn_health *h, struct sn_cohort *c, uint32_t gen,
		      double now, struct sn_health_actions *actions,
		      struct sn_err *err)
{
	int rc = sn_rows_due(h, c, true, now, actions, err);

	if (rc)
		return rc;
	c->gen = gen;
	c->closed_any = false;
	c->late = 0;
	return 0;
}

/* A step that is judged already. If nothing else comes any more, the job has gone
 * back to a checkpoint without saying so. */
static bool is_late(struct sn_cohort *c, uint64_t step, uint32_t peers)
{
	if (!c->closed_any || step > c->closed) {
		c->late = 0;
		return false;
	}
	if (step == c->closed && c->late < c->expected) {
		c->expected++; /* there are more than reported before */
		return true;
	}
	c->late++;
	if (c->late <= c->expected || c->late <= peers)
		return true;
	return false;
}

static int check_step(struct sn_health *h, struct sn_cohort *c, struct sn_series *s,
		      const struct sn_health_sample *sample, double now,
		      struct sn_health_actions *actions, bool *ret_skip,
		      struct sn_err *err)
{
	int rc;

	if (had_step(s, sample->step, sample->time)) {
		h->stats.doubles++;
		*ret_skip = true;
		return 0;
	}
	if (is_late(c, sample->step, h->conf.peers)) {
		h->stats.late++;
		*ret_skip = true;
		return 0;
	}
	if (!c->late)
		return 0;
	rc = begin_anew(h, c, sample->gen, now, actions, err);
	if (!rc)
		s->any = false;
	return rc;
}

static int begin_row(struct sn_health *h, struct sn_cohort *c, struct sn_series *s,
		     double time, double now, struct sn_health_actions *actions,
		     bool *ret_skip, struct sn_err *err)
{
	c->closed_any = false;
	if (s->any && s->time == time) { /* false for NaN */
		h->stats.doubles++;
		*ret_skip = true;
		return 0;
	}
	if (!c->n_rows || s->serial != c->row[0]->serial)
		return 0;
	if (c->row[0]->n * 2 < c->expected) {
		h->stats.doubles++;
		*ret_skip = true;
		return 0;
	}
	return close_first(h, c, now, actions, err);
}

int sn_row_take(struct sn_health *h, struct sn_hcard *card, uint32_t metric,
		const struct sn_health_sample *sample, double now,
		struct sn_health_actions *actions, struct sn_err *err)
{
	bool stepless = sample->step == SN_HEALTH_NO_STEP;
	uint64_t step = stepless ? 0 : sample->step;
	struct sn_cohort *c = NULL;
	struct sn_series *s = NULL;
	struct sn_row *row = NULL;
	bool skip = false;
	int rc;

	rc = find_cohort(h, h->topo->node[sample->node].supernode, sample->job,
			 metric, sample->hint, sample->gen, &c, err);
	if (!rc)
		rc = sn_series_find(h, card, metric, sample->job, sample->hint, now,
				    &s, err);
	if (rc)
		return rc;
	c->used = now;
	if (sample->gen < c->gen) {
		h->stats.late++;
		return 0;
	}
	if (sample->gen > c->gen) {
		rc = begin_anew(h, c, sample->gen, now, actions, err);
		if (rc)
			return rc;
	}
	if (s->gen != sample->gen) {
		s->gen = sample->gen;
		s->any = false;
	}
	rc = stepless ? begin_row(h, c, s, sample->time, now, actions, &skip, err) :
		check_step(h, c, s, sample, now, actions, &skip, err);
	if (rc || skip)
		return rc;
	if (h->n_entries[c->hint] >= SN_ENTRIES_MAX && c->n_rows) {
		rc = sn_rows_due(h, c, true, now, actions, err);
		if (rc)
			return rc;
	}
	rc = find_row(h, c, step, now, actions, &row, err);
	if (!rc)
		rc = add_entry(h, row, s, sample, now, err);
	if (rc)
		return rc;
	note_step(s, step, sample->time);
	if (stepless)
		s->time = sample->time;
	s->serial = row->serial;
	s->by = sample->by;
	if (c->expected && row->n >= c->expected)
		rc = close_through(h, c, row, now, actions, err);
	return rc;
}
