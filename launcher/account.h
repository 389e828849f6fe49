/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account.h - snrun's account of the job's time and card-seconds (topology/ettr.h).
 *
 * It is the job's, not this snrun's: account.json in the job directory carries it over
 * a requeue, a killed snrun, and from one program of the script to the next. What is
 * not known, such as when a killed snrun's ranks ended, is taken as of the file's last
 * writing, at most SN_ACCOUNT_SAVE_MS before.
 *
 * Nothing here fails: an account that cannot be kept is said once and goes on in memory.
 */
#ifndef SN_LAUNCHER_ACCOUNT_H
#define SN_LAUNCHER_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "topology/ettr.h"

#define SN_ACCOUNT_SAVE_MS 30000
#define SN_ACCOUNT_SAFE_MS 5000 /* the least between two writings for safe points */

struct snrun;

struct snrun_account {
	struct sn_ettr sum;
	double wall; /* s since 1970, when */
	int64_t mono; /* snrun_now_ms() was so much: a jump of the clock is none here */
	int64_t saved, look_at; /* ms */
	struct stat progress; /* of its file, as it was last */
	int64_t durable; /* ms, of the latest safe point that it knows */
	bool asked; /* the ranks have been asked to save and end */
	bool unsaved; /* a safe point */
	bool unwritable; /* and that was said */
};

/* The job's account so far, and what came before this snrun. */
void snrun_account_begin(struct snrun *run);
/* SN_ETTR_TO_WAIT and the like. */
void snrun_account_to(struct snrun *run, enum sn_ettr_kind kind);
/* The plan's ranks are started. lost[i]: what is lost of the plan's nodes. */
void snrun_account_start(struct snrun *run, const bool *lost);
void snrun_account_ask(struct snrun *run);
/* Look for progress and for the marker of a checkpoint. Cheap; force: now. */
void snrun_account_look(struct snrun *run, bool force);
/* The job holds something else than before. */
void snrun_account_cards(struct snrun *run, const bool *lost);
void snrun_account_fail(struct snrun *run, enum sn_ettr_fail fail, const bool *lost);
void snrun_account_end(struct snrun *run); /* on purpose */
/* snrun ends; a line of it for jobs that are elastic or were restarted. */
void snrun_account_done(struct snrun *run, bool well);

/* As of now; yours to put. */
json_object *snrun_account_json(const struct snrun *run);
/* Seconds of work that would be lost now. */
double snrun_account_at_risk(const struct snrun *run);

#endif
