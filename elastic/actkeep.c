/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actkeep.c - actions and the journal.
 *
 * What is to be written is written at once, for all that wait together. If that
 * fails nothing has changed: what was to begin has not, and an end is only asked of
 * Slurm once more by a daemon that has to.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act_internal.h"

#define LOAD_RETRY_MS 5000

/* A line to be written. */
struct keep_line {
	struct sn_act act;
	enum { LINE_BEGIN, LINE_DRY, LINE_END } what;
	enum sn_act_end end;
	char text[SN_ACT_WHY];
};

struct keep_work {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead;
	struct sn_journal journal;
	/* As numbers: thousands of lines are made in the thread. */
	bool anew;
	struct sn_act *open; /* [n_open], if anew */
	uint32_t n_open;
	uint64_t next_id;
	struct keep_line *line; /* [n] */
	uint32_t n, max;
	int rc;
	struct sn_err err;
};

static void free_keep(struct keep_work *k)
{
	free(k->open);
	free(k->line);
	free(k);
}

/* Takes the line. */
static int join(char **text, size_t *len, char *line, struct sn_err *err)
{
	size_t more = strlen(line);
	char *grown = realloc(*text, *len + more + 1);

	if (grown) {
		*text = grown;
		memcpy(grown + *len, line, more + 1);
		*len += more;
	}
	free(line);
	return grown ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

static int make_text(struct keep_work *k, char **ret, size_t *ret_len)
{
	char *line;
	int rc = 0;

	if (k->anew)
		rc = sn_journal_text(k->open, k->n_open, k->next_id, ret, ret_len, &k->err);
	for (uint32_t i = 0; i < k->n && !rc; i++) {
		const struct keep_line *l = &k->line[i];

		if (l->what == LINE_END)
			rc = sn_journal_end(l->act.id, l->end, l->text, &line, &k->err);
		else
			rc = sn_journal_begin(&l->act, l->what == LINE_DRY, &line, &k->err);
		if (!rc)
			rc = join(ret, ret_len, line, &k->err);
	}
	return rc;
}

static void keep_run(struct sn_work *work)
{
	struct keep_work *k = (struct keep_work *)work;
	char *text = NULL;
	size_t len = 0;

	/* Not into what another, who has taken over, goes by. */
	k->rc = sn_lead_check(&k->lead, &k->err);
	if (!k->rc)
		k->rc = make_text(k, &text, &len);
	if (!k->rc)
		k->rc = k->anew ? sn_journal_rewrite(&k->journal, text, len, k->n_open + 1 + k->n, &k->err) :
			sn_journal_append(&k->journal, text, k->n, &k->err);
	free(text);
}

static void say_failure(struct sn_daemon *d, const struct keep_work *k)
{
	sn_log_limited(SN_LOG_ERROR, "the journal cannot be written, and no action is begun till it is: %s",
		       k->err.text);
	if (d->acts->failures == 1)
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE,
			     "the journal cannot be written, and no action is begun till it is: %s",
			     k->err.text);
}

/* What was written, or was not. */
static void settle(struct sn_daemon *d, bool written)
{
	struct act_entry *e, *next;

	for (e = d->acts->first; e; e = next) {
		next = e->next;
		if (!e->keeping)
			continue;
		e->keeping = false;
		if (!written)
			continue;
		if (e->state == ACT_ENDED)
			act_settled(d, e);
		else if (e->state == ACT_WANTED)
			act_begun(d, e);
	}
}

static void keep_done(struct sn_work *work)
{
	struct keep_work *k = (struct keep_work *)work;
	struct sn_daemon *d = k->d;
	struct sn_acts *a = d->acts;

	a->keeping = false;
	a->journal = k->journal;
	if (d->stopping || k->rc == -ECANCELED) {
		/* the next daemon will see */
	} else if (!k->rc) {
		if (a->failures)
			sn_log_info("the journal is written again");
		a->failures = 0;
		a->anew = false;
		settle(d, true);
	} else {
		a->failures++;
		a->anew = true;
		a->keep_at = sn_loop_now() + act_retry_in(a->failures);
		settle(d, false);
		say_failure(d, k);
	}
	free_keep(k);
	act_go_on(d);
}

static struct keep_line *add_line(struct keep_work *k)
{
	struct keep_line *more;

	if (k->n == k->max) {
		more = realloc(k->line, ((size_t)k->max * 2 + 4) * sizeof(*more));
		if (!more)
			return NULL;
		k->line = more;
		k->max = k->max * 2 + 4;
	}
	return &k->line[k->n++];
}

/* The lines that wait; false: there is no memory. */
static bool gather(struct sn_daemon *d, struct keep_work *k)
{
	for (struct act_entry *e = d->acts->first; e; e = e->next) {
		struct keep_line *l;

		if (e->state != ACT_WANTED && e->state != ACT_ENDED)
			continue;
		l = add_line(k);
		if (!l)
			return false;
		l->act = e->act;
		l->what = e->state == ACT_ENDED ? LINE_END : d->options.dry_run ? LINE_DRY : LINE_BEGIN;
		l->end = e->end;
		strcpy(l->text, e->text);
		e->keeping = true;
	}
	return true;
}

/* All that is open, as a new file. */
static bool gather_all(struct sn_daemon *d, struct keep_work *k)
{
	struct sn_acts *a = d->acts;

	k->open = calloc((size_t)a->n + 1, sizeof(*k->open));
	if (!k->open)
		return false;
	for (struct act_entry *e = a->first; e; e = e->next) {
		e->keeping = e->state == ACT_WANTED || e->state == ACT_ENDED;
		if (e->state != ACT_ENDED && !(e->state == ACT_WANTED && d->options.dry_run))
			k->open[k->n_open++] = e->act;
	}
	k->next_id = a->next_id;
	return !d->options.dry_run || gather(d, k);
}

/* In dry-run an action has its end before it has a line. */
static void end_dry(struct sn_daemon *d)
{
	for (struct act_entry *e = d->acts->first; e; e = e->next)
		if (e->state == ACT_BEGUN)
			act_finish(d, e, SN_ACT_DRY, "");
}

void act_keep(struct sn_daemon *d)
{
	struct sn_acts *a = d->acts;
	struct keep_work *k;
	int64_t now = sn_loop_now();
	bool any = a->anew;

	if (!a->ready || a->keeping)
		return;
	if (d->options.dry_run)
		end_dry(d);
	for (struct act_entry *e = a->first; e; e = e->next)
		any |= e->state == ACT_WANTED || e->state == ACT_ENDED;
	if (!any)
		return;
	if (a->keep_at > now) {
		act_wake(d, a->keep_at - now);
		return;
	}
	k = calloc(1, sizeof(*k));
	if (!k) {
		act_wake(d, LOAD_RETRY_MS);
		return;
	}
	/* What is open stays in it; so it is worth it only when there is as much again. */
	k->anew = a->anew || a->journal.fd < 0 ||
		a->journal.lines > SN_JOURNAL_LINES + 2 * (uint64_t)a->n;
	k->work = (struct sn_work){ keep_run, keep_done, NULL };
	k->d = d;
	k->lead = d->lead;
	k->journal = a->journal;
	k->rc = -ECANCELED;
	if (!(k->anew ? gather_all(d, k) : gather(d, k))) {
		settle(d, false);
		free_keep(k);
		act_wake(d, LOAD_RETRY_MS);
		return;
	}
	a->keeping = true;
	sn_pool_give(d->disk, &k->work);
}

/* ---- taking charge ---------------------------------------------------------------------- */

struct load_work {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_journal journal;
	struct sn_journal_state state;
	int rc;
	struct sn_err err, note;
};

static void load_run(struct sn_work *work)
{
	struct load_work *l = (struct load_work *)work;

	l->rc = sn_journal_load(&l->journal, &l->state, &l->note, &l->err);
}

static int take_up(struct sn_daemon *d, const struct sn_journal_state *state)
{
	struct sn_acts *a = d->acts;
	struct act_entry *e;

	/* Its line may be read and not yet be on disk, so it is written anew as well. */
	for (uint32_t i = 0; i < state->n; i++) {
		e = act_add(a, &state->open[i], d->options.dry_run ? ACT_PARKED : ACT_WANTED);
		if (!e)
			return -ENOMEM;
		e->taken_up = true;
	}
	/* Never an id twice: where the last is not known, one that none can have been. */
	a->next_id = state->next ? state->next : (uint64_t)(sn_daemon_now() * 1000);
	if (state->n) {
		sn_log_info("%u action%s of an earlier daemon %s", state->n, state->n == 1 ? "" : "s",
			    d->options.dry_run ? "not ended: left alone in dry-run" : "begun and not ended: looked at again");
		daemon_event(d, "elastic", NULL, SN_NONE, 0, SN_NONE, "%u action%s of an earlier daemon %s",
			     state->n, state->n == 1 ? "" : "s",
			     d->options.dry_run ? "not ended: left alone in dry-run" : "begun and not ended: looked at again");
	}
	return 0;
}

static void load_done(struct sn_work *work)
{
	struct load_work *l = (struct load_work *)work;
	struct sn_daemon *d = l->d;
	struct sn_acts *a = d->acts;

	a->loading = false;
	if (d->stopping || l->rc == -ECANCELED || d->duty != SN_DUTY_IN_CHARGE) {
		/* nobody asks any more */
	} else if (l->rc || take_up(d, &l->state)) {
		/* It may be whole, so it is not written over; till it can be read nothing is done. */
		while (a->first)
			act_forget(a, a->first);
		sn_log_limited(SN_LOG_ERROR, "the journal cannot be read, and no action is begun till it is: %s",
			       l->rc ? l->err.text : "no memory");
		if (!a->failures++)
			daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE,
				     "the journal cannot be read, and no action is begun till it is: %s",
				     l->rc ? l->err.text : "no memory");
		act_wake(d, LOAD_RETRY_MS);
	} else {
		if (*l->note.text) {
			sn_log_error("%s", l->note.text);
			daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "%s", l->note.text);
		}
		a->failures = 0;
		a->ready = a->anew = true;
		act_go_on(d);
	}
	sn_journal_state_done(&l->state);
	free(l);
}

void act_load(struct sn_daemon *d)
{
	struct sn_acts *a = d->acts;
	struct load_work *l;

	if (a->ready || a->loading || d->duty != SN_DUTY_IN_CHARGE)
		return;
	l = calloc(1, sizeof(*l));
	if (!l) {
		act_wake(d, LOAD_RETRY_MS);
		return;
	}
	sn_journal_init(&a->journal, d->lead.dir);
	l->journal = a->journal;
	l->work = (struct sn_work){ load_run, load_done, NULL };
	l->d = d;
	l->rc = -ECANCELED;
	a->loading = true;
	sn_pool_give(d->disk, &l->work);
}
