/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account.c - snrun's account of the job's time and card-seconds.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/accountjson.h"
#include "launcher/snrun.h"
#include "launcher/writefile.h"

#define OPENING_MS 500 /* between two looks until there is a first step */
#define WORK_MS 2000 /* and then */
/* A marker is seen a little later than it was written, over a network file system so
 * much; where its time says more, the clock that wrote it is wrong. */
#define LATE_S 90

static double wall_of(const struct snrun *run, int64_t ms)
{
	return run->account.wall + (double)(ms - run->account.mono) / 1000;
}

static double now_s(const struct snrun *run)
{
	return wall_of(run, snrun_now_ms());
}

static void event(struct snrun *run, const struct sn_ettr_event *e)
{
	struct sn_err err;

	if (sn_ettr_event(&run->account.sum, e, &err))
		snrun_say("the account of the job's time: %s", err.text);
}

static void event_now(struct snrun *run, enum sn_ettr_kind kind)
{
	event(run, &(struct sn_ettr_event){ .kind = kind, .at = now_s(run) });
}

static void save(struct snrun *run)
{
	struct snrun_account *account = &run->account;
	const struct sn_account_file file = {
		.job = run->job.id, .requeues = run->state.requeues, .account = account->sum,
	};
	char *text = sn_account_format(&file);
	struct sn_err err = { "no memory" };

	account->saved = snrun_now_ms();
	account->unsaved = false;
	if ((!text || sn_write_file(run->dir, SN_ACCOUNT_FILE, text, strlen(text), &err)) &&
	    !account->unwritable) {
		account->unwritable = true;
		snrun_say("the account of the job's time is kept in memory alone: %s", err.text);
	}
	free(text);
}

/* ---- cards ---- */

static bool is_lost(const struct snrun *run, const bool *lost, const char *name)
{
	for (uint32_t i = 0; lost && i < run->plan.n_nodes; i++)
		if (lost[i] && !strcmp(run->plan.node[i].name, name))
			return true;
	return false;
}

static bool is_in(const struct sn_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return true;
	return false;
}

/* Of what the job held when it was loaded, what it is known to hold. */
static uint64_t held_by(const struct snrun *run, const struct sn_job *job, const bool *lost)
{
	struct sn_jobview view;
	bool known = snrun_watch_view(job->id, &view);
	uint64_t cards = 0;

	for (uint32_t i = 0; i < job->n_nodes; i++) {
		const struct sn_plan_offer *offer = &job->offer[i];

		if (known && view.phase == SN_JOB_ENDED)
			break;
		if (known && view.phase == SN_JOB_RUNS && !is_in(&view.names, offer->name))
			continue;
		if (!is_lost(run, lost, offer->name))
			cards += offer->n_cards;
	}
	if (known)
		sn_names_done(&view.names);
	return cards;
}

/* A member that has started and was not looked at yet has what it asked for. */
static bool has_started(const struct sn_member *member)
{
	struct sn_jobview view;
	bool runs;

	if (member->phase == SN_JOB_RUNS || !snrun_watch_view(member->id, &view))
		return false;
	runs = view.phase == SN_JOB_RUNS;
	sn_names_done(&view.names);
	return runs;
}

static struct sn_ettr_event cards_now(const struct snrun *run, const bool *lost)
{
	uint64_t held = held_by(run, &run->job, lost), want = run->layout.world;

	for (uint32_t i = 0; i < run->n_members; i++) {
		const struct sn_member *member = &run->member[i];

		if (member->phase == SN_JOB_RUNS)
			held += held_by(run, &member->job, lost);
		else if (has_started(member))
			held += sn_sizes_ranks(&run->sizes, member->dp);
	}
	if (run->elastic)
		want = sn_sizes_ranks(&run->sizes, run->want);
	return (struct sn_ettr_event){
		.kind = SN_ETTR_CARDS, .at = now_s(run),
		.held = held > UINT32_MAX ? UINT32_MAX : (uint32_t)held,
		.ranks = run->layout.world,
		.want = want > UINT32_MAX ? UINT32_MAX : (uint32_t)want,
	};
}

void snrun_account_cards(struct snrun *run, const bool *lost)
{
	const struct sn_ettr_event e = cards_now(run, lost);

	event(run, &e);
}

/* ---- progress and safe points ---- */

/* Of the progress file alone: a program that writes none shows no steps. */
static bool has_stepped(struct snrun *run)
{
	struct stat *old = &run->account.progress, st;
	char path[PATH_MAX + 16];
	bool changed;

	snprintf(path, sizeof(path), "%s/" SN_CKPT_PROGRESS, run->dir);
	if (lstat(path, &st))
		return false;
	changed = st.st_ino != old->st_ino || st.st_size != old->st_size ||
		st.st_mtim.tv_sec != old->st_mtim.tv_sec ||
		st.st_mtim.tv_nsec != old->st_mtim.tv_nsec;
	*old = st;
	return changed;
}

static double covers(const struct snrun *run)
{
	const struct sn_ckpt_mark *mark = &run->ckpt.mark;
	double written = (double)mark->sec + mark->nsec / 1e9;
	double seen = wall_of(run, run->ckpt.durable);

	return written <= seen && written > seen - LATE_S ? written : seen;
}

void snrun_account_look(struct snrun *run, bool force)
{
	struct snrun_account *account = &run->account;
	int64_t ms = snrun_now_ms();

	if (!force && ms < account->look_at)
		return;
	account->look_at = ms + (account->sum.phase == SN_ETTR_OPENING ? OPENING_MS : WORK_MS);
	if (sn_ettr_wants_steps(&account->sum) && has_stepped(run))
		event_now(run, SN_ETTR_STEP);
	sn_ckptwatch_look(&run->ckpt, run->dir, ms);
	if (run->ckpt.durable != account->durable) {
		account->durable = run->ckpt.durable;
		event(run, &(struct sn_ettr_event){
			.kind = SN_ETTR_SAFE, .at = now_s(run),
			.covers = covers(run), .ends = account->asked,
		});
		account->unsaved = true;
	}
	sn_ettr_pass(&account->sum, now_s(run));
	if (ms - account->saved >= (account->unsaved ? SN_ACCOUNT_SAFE_MS : SN_ACCOUNT_SAVE_MS))
		save(run);
}

/* ---- generations ---- */

void snrun_account_to(struct snrun *run, enum sn_ettr_kind kind)
{
	event_now(run, kind);
	if (kind == SN_ETTR_TO_PAUSE)
		save(run);
}

void snrun_account_start(struct snrun *run, const bool *lost)
{
	run->account.progress = run->ckpt.progress; /* of before */
	run->account.asked = false;
	run->account.look_at = 0;
	snrun_account_cards(run, lost);
	event_now(run, SN_ETTR_START);
	save(run);
}

void snrun_account_ask(struct snrun *run)
{
	snrun_account_look(run, true);
	run->account.asked = true;
	run->account.look_at = 0;
	event_now(run, SN_ETTR_ASK);
}

void snrun_account_fail(struct snrun *run, enum sn_ettr_fail fail, const bool *lost)
{
	snrun_account_look(run, true);
	event(run, &(struct sn_ettr_event){
		.kind = SN_ETTR_FAIL, .at = now_s(run), .fail = fail,
	});
	snrun_account_cards(run, lost);
}

void snrun_account_end(struct snrun *run)
{
	snrun_account_look(run, true);
	event_now(run, SN_ETTR_END);
}

void snrun_account_done(struct snrun *run, bool well)
{
	char line[SN_ETTR_LINE];

	snrun_account_look(run, true);
	event(run, &(struct sn_ettr_event){
		.kind = SN_ETTR_DONE, .at = now_s(run), .well = well,
	});
	save(run);
	if (!run->elastic && !run->state.restarts)
		return;
	sn_ettr_say(&run->account.sum, line, sizeof(line));
	snrun_say("%s", line);
}

/* ---- what came before ---- */

/* A job's first snrun: it waited in the queue, and then its script ran. */
static void begin_anew(struct snrun *run, double now)
{
	double started = (double)run->job.started, eligible = (double)run->job.eligible;

	if (!(started > 0 && started <= now))
		started = now;
	if (!(eligible > 0 && eligible <= started))
		eligible = started;
	sn_ettr_init(&run->account.sum, eligible);
	event(run, &(struct sn_ettr_event){ .kind = SN_ETTR_TO_QUEUE, .at = eligible });
	event(run, &(struct sn_ettr_event){ .kind = SN_ETTR_TO_SCRIPT, .at = started });
}

/* What stood open when the last snrun ended, if it did not end by itself. */
static void close_open(struct snrun *run, enum sn_ettr_fail fail)
{
	struct sn_ettr *sum = &run->account.sum;
	struct sn_ckpt_mark mark;
	double at = sum->at, mtime;

	if (sum->phase == SN_ETTR_SCRIPT)
		return;
	event(run, &(struct sn_ettr_event){ .kind = SN_ETTR_FAIL, .at = at, .fail = fail });
	/* Its ranks may have come to a checkpoint that it did not see any more. */
	sn_ckptfile_look(&run->ckpt.ckpt, run->dir, &mark);
	mtime = (double)mark.sec + mark.nsec / 1e9;
	if (mark.there && mtime > sum->safe && mtime > sum->segment)
		event(run, &(struct sn_ettr_event){
			.kind = SN_ETTR_SAFE, .at = at, .covers = mtime, .ends = true,
		});
}

static void go_on(struct snrun *run, const struct sn_account_file *file)
{
	run->account.sum = file->account;
	if (file->requeues == run->state.requeues) {
		close_open(run, SN_ETTR_FAIL_SNRUN);
		return;
	}
	close_open(run, SN_ETTR_FAIL_REQUEUE);
	event(run, &(struct sn_ettr_event){ .kind = SN_ETTR_TO_QUEUE, .at = file->account.at });
	event(run, &(struct sn_ettr_event){
		.kind = SN_ETTR_TO_SCRIPT, .at = (double)run->job.started,
	});
}

void snrun_account_begin(struct snrun *run)
{
	struct snrun_account *account = &run->account;
	struct sn_ettr_event cards;
	struct sn_account_file file;
	struct timespec ts;
	struct sn_err err;
	char *text;
	size_t len;
	int rc;

	clock_gettime(CLOCK_REALTIME, &ts);
	account->wall = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
	account->mono = snrun_now_ms();
	rc = sn_read_file(run->dir, SN_ACCOUNT_FILE, SN_ACCOUNT_MAX, &text, &len, &err);
	if (!rc) {
		rc = sn_account_parse(text, &file, &err);
		free(text);
	}
	if (rc && rc != -ENOENT)
		snrun_say("%s/" SN_ACCOUNT_FILE ": %s; the account of the job's time begins anew",
			  run->dir, err.text);
	if (rc || file.job != run->job.id)
		begin_anew(run, account->wall);
	else
		go_on(run, &file);
	/* Since the job, or this run of it, has started it has held them. */
	cards = cards_now(run, NULL);
	cards.at = account->sum.at;
	event(run, &cards);
	event_now(run, SN_ETTR_TO_RESTART);
}

/* ---- looking in ---- */

static struct sn_ettr as_of_now(const struct snrun *run)
{
	struct sn_ettr sum = run->account.sum;

	sn_ettr_pass(&sum, now_s(run));
	return sum;
}

json_object *snrun_account_json(const struct snrun *run)
{
	const struct sn_ettr sum = as_of_now(run);

	return sn_account_json(&sum);
}

double snrun_account_at_risk(const struct snrun *run)
{
	const struct sn_ettr sum = as_of_now(run);

	return sn_ettr_open(&sum.wall);
}
