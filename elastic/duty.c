/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * duty.c - who is in charge: standing by, taking over, stepping down.
 *
 * A daemon that stands by listens too, where the port is free, so that clients are
 * told and go on to the next host at once. One that loses charge ends: its service
 * manager starts it again, and it stands by with nothing in memory that is old.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act.h"
#include "elastic/daemon.h"
#include "elastic/healthfile.h"
#include "launcher/writefile.h"

#define STANDBY_MS 500
#define CHECK_MS 2000

struct take {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead; /* a copy: the loop's stays as it is till then */
	char *text; /* of the health file */
	size_t len;
	struct sn_history *history;
	uint64_t last;
	int rc, history_rc, text_rc;
	struct sn_err err, note, history_err, text_err;
};

static void take_run(struct sn_work *work)
{
	struct take *t = (struct take *)work;

	t->rc = sn_lead_take(&t->lead, &t->err);
	if (t->rc)
		return;
	t->text_rc = sn_read_file(t->lead.dir, SN_HEALTHFILE, SN_HEALTHFILE_MAX, &t->text,
				  &t->len, &t->text_err);
	t->history_rc = sn_history_open(t->lead.dir, &t->history, &t->last, &t->note,
					&t->history_err);
}

static void listen_unix(struct sn_daemon *d)
{
	struct sn_err err;

	if (d->listens_unix || !*d->conf.where.socket)
		return;
	if (sn_server_listen_unix(d->server, d->conf.where.socket, &err))
		sn_log_limited(SN_LOG_ERROR, "%s; clients of this host use TCP", err.text);
	else
		d->listens_unix = true;
}

static void listen_tcp(struct sn_daemon *d)
{
	struct sn_err err;
	int rc;

	if (d->listens_tcp)
		return;
	rc = sn_server_listen_tcp(d->server, d->conf.where.port, &err);
	d->listens_tcp = !rc;
	/* While another daemon of this host is in charge it has the port. */
	if (rc && (rc != -EADDRINUSE || d->duty != SN_DUTY_STANDBY))
		sn_log_limited(SN_LOG_ERROR, "%s; trying again", err.text);
}

static void say_history(struct sn_daemon *d, struct take *t)
{
	if (*t->note.text) {
		sn_log_error("%s", t->note.text);
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "%s", t->note.text);
	}
	if (!t->history_rc)
		return;
	sn_log_error("%s; going on without", t->history_err.text);
	daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "%s; going on without",
		     t->history_err.text);
}

/* Ids go on where the history ends; without it, or where it was damaged and what it had
 * is not known, where none can have been. */
static int start_events(struct sn_daemon *d, const struct take *t, struct sn_err *err)
{
	bool known = !t->history_rc && !*t->note.text;
	uint64_t first = known ? t->last + 1 : (uint64_t)(sn_daemon_now() * 1000);
	int rc = sn_events_init(&d->events, first, err);

	d->history_next = first;
	return rc;
}

/* What was there and cannot be read is kept aside; the marks in the nodes' records
 * are then all that is known. */
static int start_engine(struct sn_daemon *d, struct take *t, struct sn_err *err)
{
	int rc = engine_make(d, t->text, t->len, err);

	if (rc != -EINVAL)
		return rc;
	sn_log_error("%s: the health state is damaged and goes to " SN_HEALTHFILE ".bad; what the nodes' records say stays", err->text);
	daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "the health state was damaged: %s", err->text);
	(void)sn_write_file(d->lead.dir, SN_HEALTHFILE ".bad", t->text, t->len, NULL);
	return engine_make(d, NULL, 0, err);
}

static int take_charge(struct sn_daemon *d, struct take *t, struct sn_err *err)
{
	int rc;

	d->lead = t->lead;
	d->since = sn_daemon_now();
	d->clock_offset = d->since - (double)sn_loop_now() / 1000;
	d->history = t->history;
	d->history_good = !t->history_rc;
	t->history = NULL;
	rc = start_events(d, t, err);
	if (!rc) {
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE,
			     "snelasticd on %s is in charge (term %llu)%s", d->host,
			     (unsigned long long)d->lead.term,
			     d->options.dry_run ? ", in dry-run" : "");
		say_history(d, t);
		if (t->text_rc && t->text_rc != -ENOENT) {
			/* Not to be overwritten: it may be whole. */
			rc = sn_err_set(err, t->text_rc, "%s", t->text_err.text);
		}
	}
	if (!rc)
		rc = start_engine(d, t, err);
	if (rc)
		return rc;
	d->duty = SN_DUTY_IN_CHARGE;
	care_take_charge(d);
	sn_log_info("in charge (term %llu), state in %s%s", (unsigned long long)d->lead.term,
		    d->lead.dir, d->options.dry_run ? ", dry-run: nothing is written to Slurm" : "");
	listen_tcp(d);
	listen_unix(d);
	engine_wake(d);
	act_take_charge(d);
	follow_poll(d);
	keep_events(d);
	sn_timer_set(d->duty_timer, CHECK_MS);
	return 0;
}

static void take_done(struct sn_work *work)
{
	struct take *t = (struct take *)work;
	struct sn_daemon *d = t->d;
	struct sn_err err;

	if (t->rc || d->stopping) {
		if (t->rc && t->rc != -EBUSY && strcmp(d->other, t->err.text))
			sn_log_error("cannot be in charge: %s", t->err.text);
		else if (t->rc && strcmp(d->other, t->err.text))
			sn_log_info("standing by: %s", t->err.text);
		if (t->rc)
			memcpy(d->other, t->err.text, sizeof(d->other));
		else
			sn_lead_give(&t->lead);
		d->duty = SN_DUTY_STANDBY;
		listen_tcp(d);
		if (!d->stopping)
			sn_timer_set(d->duty_timer, STANDBY_MS);
	} else if (take_charge(d, t, &err)) {
		sn_log_error("%s", err.text);
		sn_daemon_stop(d, 1);
	}
	sn_history_close(t->history);
	free(t->text);
	free(t);
}

/* ---- still in charge? ------------------------------------------------------------------ */

struct check {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead;
	int rc;
	struct sn_err err;
};

static void check_run(struct sn_work *work)
{
	struct check *c = (struct check *)work;

	c->rc = sn_lead_check(&c->lead, &c->err);
}

static void check_done(struct sn_work *work)
{
	struct check *c = (struct check *)work;
	struct sn_daemon *d = c->d;

	d->checking = false;
	if (c->rc == -ESTALE && !d->stopping) {
		sn_log_error("no longer in charge: %s; ending", c->err.text);
		d->duty = SN_DUTY_STANDBY;
		sn_daemon_stop(d, 1);
	} else if (c->rc) {
		sn_log_limited(SN_LOG_ERROR, "whether this daemon is still in charge cannot be told: %s",
			       c->err.text);
	}
	free(c);
}

static void on_duty(void *ctx)
{
	struct sn_daemon *d = ctx;
	struct take *t = NULL;
	struct check *c = NULL;

	/* Who was in charge here before may not have let go of it yet. */
	if (d->duty == SN_DUTY_IN_CHARGE) {
		listen_tcp(d);
		listen_unix(d);
	}
	sn_timer_set(d->duty_timer, d->duty == SN_DUTY_IN_CHARGE ? CHECK_MS : STANDBY_MS);
	if (d->duty == SN_DUTY_STANDBY && (t = calloc(1, sizeof(*t)))) {
		d->duty = SN_DUTY_TAKING;
		t->work = (struct sn_work){ take_run, take_done, NULL };
		t->d = d;
		t->lead = d->lead;
		t->rc = -ECANCELED;
		sn_timer_off(d->duty_timer);
		sn_pool_give(d->disk, &t->work);
	} else if (d->duty == SN_DUTY_IN_CHARGE && !d->checking && (c = calloc(1, sizeof(*c)))) {
		d->checking = true;
		c->work = (struct sn_work){ check_run, check_done, NULL };
		c->d = d;
		c->lead = d->lead;
		sn_pool_give(d->disk, &c->work);
	}
}

int duty_start(struct sn_daemon *d, struct sn_err *err)
{
	int rc = sn_loop_timer(d->loop, on_duty, d, &d->duty_timer, err);

	sn_lead_init(&d->lead, d->conf.where.state_dir, d->host);
	if (!rc)
		sn_timer_set(d->duty_timer, 0);
	return rc;
}

void duty_end(struct sn_daemon *d)
{
	sn_lead_give(&d->lead);
}
