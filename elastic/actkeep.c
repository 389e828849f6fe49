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

struct keep_work {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead;
	struct sn_journal journal;
	bool anew;
	char *text;
	size_t len;
	uint32_t lines;
	int rc;
	struct sn_err err;
};

static void keep_run(struct sn_work *work)
{
	struct keep_work *k = (struct keep_work *)work;

	/* Not into what another, who has taken over, goes by. */
	k->rc = sn_lead_check(&k->lead, &k->err);
	if (k->rc)
		return;
	k->rc = k->anew ? sn_journal_rewrite(&k->journal, k->text, k->len, k->lines, &k->err) :
		sn_journal_append(&k->journal, k->text, k->lines, &k->err);
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
			act_forget(d->acts, e);
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
	free(k->text);
	free(k);
	act_go_on(d);
}

/* The lines that wait; false: none does, or there is no memory. */
static bool gather(struct sn_daemon *d, struct keep_work *k)
{
	struct sn_acts *a = d->acts;
	size_t add;
	char *line, *more;
	int rc;

	for (struct act_entry *e = a->first; e; e = e->next) {
		if (e->state != ACT_WANTED && e->state != ACT_ENDED)
			continue;
		if (e->state == ACT_WANTED && d->options.dry_run) {
			rc = sn_journal_begin(&e->act, true, &line, NULL);
		} else if (e->state == ACT_WANTED) {
			rc = sn_journal_begin(&e->act, false, &line, NULL);
		} else {
			rc = sn_journal_end(e->act.id, e->end, e->text, &line, NULL);
		}
		if (rc)
			return false;
		add = strlen(line);
		more = realloc(k->text, k->len + add + 1);
		if (more) {
			k->text = more;
			memcpy(more + k->len, line, add + 1);
			k->len += add;
			k->lines++;
			e->keeping = true;
		}
		free(line);
		if (!more)
			return false;
	}
	return k->lines > 0;
}

/* All that is open, as a new file. */
static bool gather_all(struct sn_daemon *d, struct keep_work *k)
{
	struct sn_acts *a = d->acts;
	struct sn_act *open = calloc((size_t)a->n + 1, sizeof(*open));
	uint32_t n = 0;
	int rc;

	if (!open)
		return false;
	for (struct act_entry *e = a->first; e; e = e->next) {
		e->keeping = e->state == ACT_WANTED || e->state == ACT_ENDED;
		if (e->state != ACT_ENDED && !(e->state == ACT_WANTED && d->options.dry_run))
			open[n++] = e->act;
	}
	rc = sn_journal_text(open, n, a->next_id, &k->text, &k->len, NULL);
	free(open);
	k->lines = n + 1;
	if (!rc && d->options.dry_run)
		(void)gather(d, k);
	return !rc;
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
	k->anew = a->anew || a->journal.fd < 0 ||
		(a->journal.lines > SN_JOURNAL_LINES && a->n < SN_JOURNAL_LINES / 2);
	k->work = (struct sn_work){ keep_run, keep_done, NULL };
	k->d = d;
	k->lead = d->lead;
	k->journal = a->journal;
	k->rc = -ECANCELED;
	if (!(k->anew ? gather_all(d, k) : gather(d, k))) {
		settle(d, false);
		free(k->text);
		free(k);
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
