/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ettr.h - what became of a job's time and card-seconds: the useful and the lost, by
 * cause. Pure: events in the order of their time in, sums out.
 *
 * ETTR, the effective training time ratio, is as in Kokolis et al., "Revisiting
 * Reliability in Large-Scale Machine Learning Research Clusters" (HPCA 2025, arXiv
 * 2410.21680): productive time by available wall-clock time of a job run, which is all
 * of its Slurm jobs and requeues together. Available is the time in which the job
 * was running or was waiting in the queue and could have run. Productive is not: starting
 * up, saving on request, work that a failure undid, restarts, waiting, pauses.
 *
 * So work is *provisional* until a safe point (a durable checkpoint) or the good end of
 * the program covers it; then it is useful. A failure makes it lost. While a job
 * runs, the ratio counts as productive what is settled, and provisional work is shown
 * apart.
 *
 * The same is kept in card-seconds, over the cards held. Cards that are held and have
 * no ranks (spares, members not yet taken in) are idle. Always
 *
 *	held = useful + provisional + idle + the sum of lost
 *	wall = the same without idle
 *
 * Cards that the job would like to have and does not hold are missing, beside that sum.
 *
 * A generation is opening until its first step is seen. Where a program shows no steps
 * (it writes no progress file), a generation's time counts as work from its start, and
 * a recovery ends when ranks are started again. Some programs show a step only with each
 * checkpoint: so what the opening was is settled by the second step, whose distance from
 * the first (if more than SN_ETTR_LONG seconds) was work before the first, too.
 */
#ifndef SN_TOPOLOGY_ETTR_H
#define SN_TOPOLOGY_ETTR_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

/* What time is lost to. */
enum sn_lost {
	SN_LOST_STARTUP, /* from the start of ranks to their first step; before the first
			  * generation also what is done to get ready for it */
	SN_LOST_CHECKPOINT, /* from the request for one until the ranks have ended or go on */
	SN_LOST_REDONE, /* work that no safe point covered when it failed */
	SN_LOST_RESTART, /* between two generations */
	SN_LOST_WAIT, /* for nodes and members, in the queue too */
	SN_LOST_PAUSE, /* a user's */
	SN_LOST_SCRIPT, /* what the job's script does beside snrun */
	SN_LOST_KINDS
};
const char *sn_lost_name(enum sn_lost lost); /* "startup", … */
const char *sn_lost_help(enum sn_lost lost); /* a clause */

/* What made a generation fail. */
enum sn_ettr_fail {
	SN_ETTR_FAIL_NODE, /* a node was lost */
	SN_ETTR_FAIL_RANK, /* a rank failed */
	SN_ETTR_FAIL_MEMBER, /* a member job ended */
	SN_ETTR_FAIL_SNRUN, /* snrun itself was killed */
	SN_ETTR_FAIL_REQUEUE, /* the job was requeued and could not save */
	SN_ETTR_FAIL_OTHER,
	SN_ETTR_FAILS
};
const char *sn_ettr_fail_name(enum sn_ettr_fail fail);

enum sn_ettr_phase {
	SN_ETTR_SCRIPT, /* no snrun */
	SN_ETTR_QUEUE, /* no job runs */
	SN_ETTR_WAIT,
	SN_ETTR_PAUSE,
	SN_ETTR_RESTART, /* getting ready for the next generation */
	SN_ETTR_OPENING, /* ranks are started */
	SN_ETTR_WORK,
	SN_ETTR_CHECKPOINT,
	SN_ETTR_PHASES
};
const char *sn_ettr_phase_name(enum sn_ettr_phase phase);
int sn_ettr_phase_find(const char *word); /* -1: there is no such word */

struct sn_ettr_sum { /* seconds, or card-seconds */
	double useful, provisional;
	double opening; /* of the generation at hand, until its first step; provisional */
	double lost[SN_LOST_KINDS];
};

/* Recoveries by their seconds, from a failure to the first step after it: those of at
 * most bound[i], and in the last all the longer ones. Not cumulative. */
#define SN_RECOVERY_BOUNDS 12
extern const double sn_recovery_bound[SN_RECOVERY_BOUNDS];
struct sn_recoveries {
	uint64_t n[SN_RECOVERY_BOUNDS + 1];
	double sum, last;
};

struct sn_ettr {
	double began, at; /* s since 1970; of the first and of the latest event */
	enum sn_ettr_phase phase;
	uint32_t held, ranks, want; /* cards: held, with ranks, that it would have */
	bool stepped; /* this generation has shown a step */
	bool shows_steps; /* some generation has */
	bool pending; /* the first step is seen, and the opening not settled */
	bool recovering;
	double started; /* the generation at hand */
	double first; /* pending: its first step */
	double interval; /* s between two steps; 0: not known */
	double segment; /* since when the work at hand goes on without a break */
	double worked; /* when the latest work ended */
	uint32_t workers; /* on how many cards it was */
	double failed; /* recovering: since when */
	double safe; /* up to when a safe point reaches; 0: there was none */
	struct sn_ettr_sum wall, cards;
	double held_sum, idle, missing; /* card-seconds */
	uint32_t generations, safe_points;
	uint32_t fails[SN_ETTR_FAILS];
	struct sn_recoveries recoveries;
};

enum sn_ettr_kind {
	SN_ETTR_CARDS, /* held, ranks, want */
	SN_ETTR_TO_SCRIPT, SN_ETTR_TO_QUEUE, SN_ETTR_TO_WAIT, SN_ETTR_TO_PAUSE,
	SN_ETTR_TO_RESTART,
	SN_ETTR_START, /* a generation's ranks are started */
	SN_ETTR_STEP, /* progress was seen */
	SN_ETTR_ASK, /* ranks are asked to save */
	SN_ETTR_SAFE, /* a checkpoint has become durable: covers, took */
	SN_ETTR_FAIL, /* fail: the generation has failed */
	SN_ETTR_END, /* it was ended on purpose */
	SN_ETTR_DONE, /* the program has ended: well */
	SN_ETTR_KINDS
};

struct sn_ettr_event {
	enum sn_ettr_kind kind;
	double at; /* s since 1970; before the latest event it counts as then */
	uint32_t held, ranks, want;
	double covers; /* the moment whose work it holds; 0: that of the event */
	double took; /* s in which the ranks did nothing but save; 0: not known */
	bool ends; /* ASK: ranks end when they have saved */
	bool well; /* DONE: with success */
	enum sn_ettr_fail fail;
};

/* An account that begins now, in the job's script, without cards. */
void sn_ettr_init(struct sn_ettr *account, double now);
/* Time passes, and then the event. -EINVAL, and nothing has changed: times that are no
 * numbers, kinds out of range. */
int sn_ettr_event(struct sn_ettr *account, const struct sn_ettr_event *event,
		  struct sn_err *err);
/* As of now, without an event: for showing it. */
void sn_ettr_pass(struct sn_ettr *account, double now);

double sn_ettr_wall(const struct sn_ettr *account); /* s, available so far */
double sn_ettr_lost(const struct sn_ettr_sum *sum); /* all causes */
double sn_ettr_open(const struct sn_ettr_sum *sum); /* provisional with opening */
/* Settled productive time by all time; 0 before there is any. */
double sn_ettr_ratio(const struct sn_ettr *account);
/* The same if all provisional work were safe. */
double sn_ettr_ratio_open(const struct sn_ettr *account);
uint64_t sn_recoveries_count(const struct sn_recoveries *recoveries);

/* Is this an account that can be? For one that was read. -EINVAL with a clause. */
int sn_ettr_check(const struct sn_ettr *account, struct sn_err *err);

#define SN_ETTR_LONG 10
/* Is it to be told of steps? */
bool sn_ettr_wants_steps(const struct sn_ettr *account);

#define SN_ETTR_LINE 400
/* One sentence of the whole, for a job's end. */
void sn_ettr_say(const struct sn_ettr *account, char *ret, uint32_t size);

#endif
