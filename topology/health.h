/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health.h - which cards and domains are sick, from samples and faults: pure.
 *
 * What goes in: samples (a metric of a card), faults (a code of a card), what
 * came of probes, an administrator's releases, and the time. What comes out: an
 * append-only list of actions for the one who writes the masks. The engine has
 * no clock and does no I/O; `now` is the caller's clock in seconds (UNIX time)
 * and may jump either way: a jump costs accuracy of a waiting time, never a
 * wrong state. Samples carry the reporter's time only to tell doubles apart.
 *
 *	           anomaly            probe begins        passed
 *	HEALTHY ------------> SUSPECT ------------> PROBING ------> HEALTHY
 *	   ^   MASK, PROBE       ^    no answer        |
 *	   |                     +---------------------+ failed, or no answer
 *	   | passed, after HealthHold                  v HealthProbeTries times
 *	   +-------------------------------------- QUARANTINED
 *	   | sn_health_release() only
 *	   +---- MANUAL <---- the HealthEscalate-th anomaly in HealthEscalateTime,
 *	                      or a fault of level ManuallySeparateNPU
 *
 * In all states but HEALTHY the card is masked for new work. A fault of a level
 * that isolates goes to QUARANTINED from anywhere but MANUAL. A SUSPECT card
 * whose samples are in order HealthRecover times in a row goes back by itself
 * (its node may never be idle enough to be probed). A hint (a report of a job's
 * owner) masks nothing: it asks for a probe, and only if that fails, or if
 * another reporter hints at the same card, is the card marked; by hints no more
 * than SUSPECT, whatever the fault's level. Hints are judged
 * among themselves: they change nothing of how believed samples are judged.
 *
 * What is an anomaly: healthstat.h and docs/health.md. In short: a card is held
 * against the cards of the same supernode, metric and job at the same step. A
 * whole supernode or unit that is slow, or many of its cards at once, is no
 * card's fault: the domain is DEGRADEd.
 */
#ifndef SN_TOPOLOGY_HEALTH_H
#define SN_TOPOLOGY_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/healthcode.h"
#include "topology/healthconf.h"
#include "topology/topo.h"

#define SN_HEALTH_CARDS_MAX 1024 /* numbers of cards on a node: below it */
#define SN_HEALTH_WHY_SIZE 101 /* one printable line, with the NUL */
#define SN_HEALTH_TIMES_MAX 8 /* HealthEscalate is at most this */
#define SN_HEALTH_NO_STEP UINT64_MAX

enum sn_health_state {
	SN_HEALTH_HEALTHY, SN_HEALTH_SUSPECT, SN_HEALTH_PROBING,
	SN_HEALTH_QUARANTINED, SN_HEALTH_MANUAL, SN_HEALTH_STATES
};
/* "healthy", "suspect", "probing", "quarantined", "manual" */
const char *sn_health_state_name(enum sn_health_state state);
/* -1: there is no such word. */
int sn_health_state_find(const char *word);

enum sn_health_kind {
	SN_HEALTH_MASK, /* write mark "suspect" for the card */
	SN_HEALTH_PROBE, /* have the card probed; then sn_health_probe_started() */
	SN_HEALTH_MARK_PROBING, /* write mark "probing" */
	SN_HEALTH_QUARANTINE, /* write mark "quarantined" */
	SN_HEALTH_NEEDS_RELEASE, /* write mark "manual" */
	SN_HEALTH_UNMASK, /* take the health mark away */
	SN_HEALTH_DEGRADE, /* write "degraded" for the domain */
	SN_HEALTH_RESTORE, /* take it away */
	SN_HEALTH_NOTE, /* for the history only */
	SN_HEALTH_KINDS
};
const char *sn_health_kind_name(enum sn_health_kind kind); /* "mask", … */

enum sn_health_domain { SN_HEALTH_SUPERNODE, SN_HEALTH_UNIT };

/*
 * Idempotent: each says what shall be, not what shall change, so that it may be
 * applied twice or again after a crash. Later actions win over earlier ones.
 */
struct sn_health_action {
	enum sn_health_kind kind;
	uint32_t node, card; /* of the topology; SN_NONE for a domain's */
	enum sn_health_domain domain; /* DEGRADE, RESTORE, and their NOTEs */
	uint32_t index; /* of the supernode or unit; SN_NONE for a card's */
	enum sn_health_reset reset; /* PROBE: what the fault's level wants before */
	bool leave; /* running work should leave the card, not only new work */
	double at;
	char why[SN_HEALTH_WHY_SIZE];
};

struct sn_health_actions {
	struct sn_health_action *action;
	size_t n, size;
};
void sn_health_actions_done(struct sn_health_actions *actions); /* and empty */

struct sn_health_sample {
	uint32_t node, card; /* node: of the topology */
	const char *metric; /* of healthconf.h's table or HealthMetrics */
	double value;
	double time; /* the reporter's clock; NaN: not said */
	uint64_t step; /* SN_HEALTH_NO_STEP: none, time windows are compared */
	uint32_t gen; /* of the job, counts restarts; 0 if not known */
	uint32_t job; /* 0: of no job. Peers are cards of the same job. */
	uint32_t by; /* who reports, for hints: a uid */
	bool hint; /* of a job's owner */
};

struct sn_health_fault {
	uint32_t node, card;
	const char *code; /* of the site's table, or a built-in one (healthcode.h) */
	const char *text; /* NULL or "": the table's */
	uint32_t job, by;
	bool hint;
};

struct sn_health; /* opaque */

/*
 * topo and codes are borrowed and must outlive it; conf is copied. codes may be
 * NULL: the built-in ones. Loose nodes that are added to topo later are unknown to
 * this engine. After a reconfigure make a new one for the new
 * topology and carry the state over with export and import. -ENOMEM.
 */
int sn_health_create(const struct sn_topo *topo, const struct sn_health_conf *conf,
		     const struct sn_health_codes *codes, struct sn_health **ret,
		     struct sn_err *err);
void sn_health_destroy(struct sn_health *h); /* NULL is fine */
/* New thresholds (a reload of supernode.conf), and codes as above. */
void sn_health_reload(struct sn_health *h, const struct sn_health_conf *conf,
		      const struct sn_health_codes *codes);

/*
 * All of these append to actions (which the caller empties) and return 0,
 * -EINVAL (nothing changed; a sentence about what came in: an unknown node,
 * card or metric, a value that is no number) or -ENOMEM.
 *
 * A sample that was reported before, or is for a step that is judged already,
 * is passed over (0). Metrics with limits are judged at once; those held
 * against peers when all peers of that step have reported, or HealthSettle
 * after the last of them, or when HealthWindow is over: see sn_health_next().
 */
int sn_health_sample(struct sn_health *h, const struct sn_health_sample *sample,
		     double now, struct sn_health_actions *actions,
		     struct sn_err *err);
int sn_health_fault(struct sn_health *h, const struct sn_health_fault *fault,
		    double now, struct sn_health_actions *actions,
		    struct sn_err *err);
/* A probe of the card began. Passed over unless one was wanted. */
int sn_health_probe_started(struct sn_health *h, uint32_t node, uint32_t card,
			    double now, struct sn_health_actions *actions,
			    struct sn_err *err);
/* What came of it; text says what failed. One that was not announced counts too: a
 * failed one quarantines, a passed one lets a SUSPECT card go (but not one that is
 * suspect for being slow), and a QUARANTINED one after HealthHold. */
int sn_health_probe_done(struct sn_health *h, uint32_t node, uint32_t card,
			 bool passed, const char *text, double now,
			 struct sn_health_actions *actions, struct sn_err *err);
/* An administrator's word: healthy from any state, its history forgotten. */
int sn_health_release(struct sn_health *h, uint32_t node, uint32_t card,
		      const char *who, double now,
		      struct sn_health_actions *actions, struct sn_err *err);
/* The same for a domain, and to degrade one by hand (then only this ends it). */
int sn_health_set_domain(struct sn_health *h, enum sn_health_domain domain,
			 uint32_t index, bool degraded, const char *why,
			 double now, struct sn_health_actions *actions,
			 struct sn_err *err);
/* A job has ended: its open samples are judged and its baselines forgotten. */
int sn_health_job_done(struct sn_health *h, uint32_t job, double now,
		       struct sn_health_actions *actions, struct sn_err *err);

/* Do what is due. Call it at sn_health_next(), or more often. */
int sn_health_tick(struct sn_health *h, double now,
		   struct sn_health_actions *actions, struct sn_err *err);
/* When tick has something to do; never later than now + 60. */
double sn_health_next(const struct sn_health *h, double now);

/* ---- looking in ---- */

struct sn_health_card_info {
	enum sn_health_state state;
	double since;
	char why[SN_HEALTH_WHY_SIZE];
	uint32_t n_times; /* marks that count for escalation */
	double time[SN_HEALTH_TIMES_MAX]; /* the latest first */
	uint32_t probes; /* without an answer so far */
	bool hinted; /* by one reporter so far */
	uint32_t hint_by;
	double hint_at;
};
/* A card that nothing is known of is healthy. */
void sn_health_card(const struct sn_health *h, uint32_t node, uint32_t card,
		    struct sn_health_card_info *ret);
bool sn_health_degraded(const struct sn_health *h, enum sn_health_domain domain,
			uint32_t index, double *ret_since,
			char ret_why[SN_HEALTH_WHY_SIZE]);

struct sn_health_stats {
	uint64_t samples, judged, marks, doubles, late, bad; /* since create */
	uint32_t cards, series, cohorts;
	size_t bytes; /* of memory */
};
void sn_health_stats(const struct sn_health *h, struct sn_health_stats *ret);

/* ---- saving and restoring: plain structs, for JSON ----
 *
 * Only what must not be lost: marks, their history, degraded domains, and the
 * past that domains are held against. Windows of samples fill again in seconds.
 */
struct sn_health_saved {
	enum { SN_HEALTH_SAVED_CARD, SN_HEALTH_SAVED_DOMAIN, SN_HEALTH_SAVED_PAST } what;
	const char *name; /* of the node, supernode or unit; borrowed */
	uint32_t card;
	enum sn_health_domain domain;
	struct sn_health_card_info info; /* CARD; DOMAIN: since and why */
	bool by_hand; /* DOMAIN */
	const char *metric; /* PAST; borrowed */
	uint32_t job;
	double value; /* PAST: the median that was usual */
};
/* Calls fn for each thing to save; what it returns, if not 0, ends it. */
int sn_health_export(const struct sn_health *h,
		     int (*fn)(void *arg, const struct sn_health_saved *saved),
		     void *arg);
/*
 * One of them back, also out of the marks in the nodes' records. No actions; an
 * own newer state stands. A name that the topology does not have: -ENOENT, to be
 * passed over. A PROBING card comes back as SUSPECT, and is asked for again at
 * the next tick, as is a probe that a hint has asked for. -EINVAL what cannot be, such as a state out of range.
 */
int sn_health_import(struct sn_health *h, const struct sn_health_saved *saved,
		     double now, struct sn_err *err);
/* What the records should say now: a MASK, MARK_PROBING, QUARANTINE or
 * NEEDS_RELEASE for each card that is marked, a DEGRADE for each domain. */
int sn_health_wanted(const struct sn_health *h, struct sn_health_actions *actions,
		     struct sn_err *err);

#endif
