/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health_internal.h - how the parts of the health engine fit; private to health*.c.
 *
 *	health.c	samples in, the engine's life, what is due when
 *	healthrow.c	samples of one step brought together: cohorts and rows
 *	healthjudge.c	a whole row judged, card by card
 *	healthdomain.c	the row as a whole: is the unit or supernode slow?
 *	healthcard.c	a card's states; what anomalies, faults, probes do
 *	healthmark.c	what is kept of a card that has been noticed
 *	healthstate.c	saving, restoring, looking in
 */
#ifndef SN_TOPOLOGY_HEALTH_INTERNAL_H
#define SN_TOPOLOGY_HEALTH_INTERNAL_H

#include "topology/health.h"
#include "topology/healthstat.h"

#define SN_HEALTH_NEVER (-1.0) /* a time */
#define SN_SERIES_MAX 8 /* metrics and jobs of a card at a time, and of hints */
#define SN_ROWS_MAX 64 /* steps of a cohort that are open */
#define SN_ENTRIES_MAX (2u << 20) /* samples in open rows; and hints */
#define SN_COHORTS_MAX (1u << 18) /* and as many of hints */
#define SN_DOMAIN_ROWS 5 /* the median of so many is what a domain does now */
#define SN_DOMAIN_PAST 8 /* rows until it is known what is usual */

/* What is known of a card that is, or was, no plain healthy one. */
struct sn_mark {
	uint32_t node, card;
	enum sn_health_state state;
	double since;
	char why[SN_HEALTH_WHY_SIZE];
	double time[SN_HEALTH_TIMES_MAX]; /* of anomalies; the latest first */
	uint32_t n_times;
	uint32_t tries; /* probes without an answer */
	double ask_at; /* when a probe is to be asked for; < 0: not */
	double probe_at; /* when the one that runs began; < 0: none does */
	bool dirty; /* an anomaly since then */
	bool leave;
	enum sn_health_reset reset;
	uint32_t metric, job; /* whose samples may free it; SN_METRICS_MAX: none */
	uint32_t good; /* of them in a row */
	bool hinted;
	uint32_t hint_by;
	double hint_at;
};

/* A metric of a card in a job; one that is believed, or hints. */
struct sn_series {
	struct sn_series *next; /* of the card */
	uint32_t metric, job, gen;
	uint32_t open; /* rows that it is in */
	uint64_t step; /* the latest; with a bit for each of the 64 up to it */
	uint64_t steps;
	double time; /* the reporter's, of the latest */
	double last; /* RISE: the counter */
	double used; /* now, for eviction */
	uint64_t serial; /* of the stepless row that it is in */
	struct sn_ring ring;
	bool any, hint;
	uint32_t by;
};

struct sn_hcard {
	struct sn_mark *mark;
	struct sn_series *series;
};

struct sn_entry {
	struct sn_series *series;
	double value;
	uint32_t node, card;
};

/* The samples of one step. */
struct sn_row {
	uint64_t step;
	uint64_t serial;
	double first, last; /* when samples came */
	struct sn_entry *entry;
	uint32_t n, size;
};

/* What many rows of a cohort have taught. */
struct sn_lore {
	uint32_t rows; /* judged */
	double sigma[SN_WINS]; /* spread of the means of the windows */
	uint32_t n_sigma[SN_WINS]; /* rows in it */
	struct sn_tail tail[SN_WINS];
	/* The domain: medians, high is bad. */
	double recent[SN_DOMAIN_PAST];
	uint32_t n_recent, at_recent;
	double usual; /* 0: not known yet */
	double noise; /* of the medians, a fraction */
	uint32_t slow, fine, mass, calm, fast; /* rows in a row */
	double now; /* the median of the last SN_DOMAIN_ROWS; 0: not known */
	uint32_t unit, unit_slow; /* hints: rows in a row of one unit at a time */
};

/*
 * The cards of a job in a supernode that report a metric. Hints have cohorts and
 * series of their own, with limits of their own: nothing that a user says can move
 * a median, a step or a generation that believed samples are judged by, nor
 * take their place.
 */
struct sn_cohort {
	struct sn_cohort *next; /* of the hash */
	uint32_t supernode, job, metric, gen;
	uint32_t place; /* in h->cohort[] */
	bool hint;
	uint32_t waits_at; /* in h->waiting[], with open rows */
	bool closed_any;
	uint64_t closed; /* steps up to here are judged */
	uint32_t expected; /* samples that make a row whole; 0: not known */
	uint32_t late; /* late samples in a row */
	uint64_t serial; /* of the next row */
	double used;
	struct sn_row *row[SN_ROWS_MAX]; /* ascending by step */
	uint32_t n_rows;
	struct sn_lore *lore;
};

struct sn_hdomain {
	bool degraded, by_hand;
	bool mass; /* for many slow cards, not for a slow median */
	double since, seen;
	char why[SN_HEALTH_WHY_SIZE];
	uint32_t job, metric; /* that it was degraded by; SN_METRICS_MAX: none */
	uint32_t slow, fine; /* units: rows in a row */
	double past; /* imported: what was usual in (past_job, past_metric) */
	uint32_t past_job, past_metric;
};

struct sn_hnode {
	struct sn_hcard *card;
	uint32_t n;
};

struct sn_health {
	const struct sn_topo *topo;
	uint32_t n_nodes, n_supernodes, n_units; /* of it when the engine was made */
	struct sn_health_conf conf;
	const struct sn_health_codes *codes;
	struct sn_hnode *node; /* [topo->n_nodes] */
	struct sn_mark **mark; /* all that there are */
	uint32_t n_marks, size_marks;
	struct sn_mark **spare; /* so that judging a row cannot run out of memory */
	uint32_t n_spare, size_spare;
	struct sn_cohort **cohort, **hash;
	struct sn_cohort **waiting; /* those with open rows; of size_cohorts */
	uint32_t n_waiting;
	uint32_t n_cohorts, size_cohorts, n_hash;
	uint32_t n_of[2]; /* cohorts: believed, of hints */
	struct sn_hdomain **domain; /* [supernodes + units]; NULL: nothing known */
	uint32_t n_entries[2]; /* the same */
	double cleaned; /* when old things were last thrown away */
	struct sn_health_stats stats;
	/* For healthjudge.c, as large as the largest row. */
	double *scratch, *excess;
	uint32_t size_scratch;
};

/* One that saw `then` cannot trust the difference if the clock went back. */
static inline double sn_elapsed(double then, double now)
{
	return now > then ? now - then : 0;
}

/* ---- health.c ---- */
int sn_health_reserve(struct sn_health_actions *actions, size_t more,
		      struct sn_err *err);
/* Room must be reserved. why may be NULL. */
struct sn_health_action *sn_health_put(struct sn_health_actions *actions,
				       enum sn_health_kind kind, uint32_t node,
				       uint32_t card, double now, const char *why);
int sn_health_find_card(struct sn_health *h, uint32_t node, uint32_t card,
			struct sn_hcard **ret, struct sn_err *err);
struct sn_hcard *sn_health_peek(const struct sn_health *h, uint32_t node,
				uint32_t card); /* NULL: never heard of */
void sn_health_forget_series(struct sn_health *h, struct sn_hcard *card);
void sn_health_why(char why[SN_HEALTH_WHY_SIZE], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int sn_health_no_memory(struct sn_err *err);

/* ---- healthcard.c ---- */
struct sn_anomaly {
	const struct sn_health_effect *effect;
	const char *why;
	uint32_t metric, job; /* SN_METRICS_MAX: samples cannot free it */
	bool hint;
	uint32_t by;
};
#define SN_ANOMALY_ACTIONS 4 /* the most that one makes */
int sn_anomaly(struct sn_health *h, uint32_t node, uint32_t card,
	       const struct sn_anomaly *a, double now,
	       struct sn_health_actions *actions, struct sn_err *err);
/* A good sample of a card that is marked. */
void sn_card_good(struct sn_health *h, struct sn_mark *mark, uint32_t metric,
		  uint32_t job, bool good, double now,
		  struct sn_health_actions *actions);
/* What is due; room for SN_ANOMALY_ACTIONS is reserved. */
void sn_card_due(struct sn_health *h, struct sn_mark *mark, double now,
		 struct sn_health_actions *actions);
double sn_card_next(const struct sn_health *h, const struct sn_mark *mark);

/* ---- healthmark.c ---- */
int sn_card_mark(struct sn_health *h, uint32_t node, uint32_t card,
		 struct sn_mark **ret, struct sn_err *err);
/* Marks for n more cards. */
int sn_card_reserve(struct sn_health *h, uint32_t n, struct sn_err *err);
void sn_card_remember(struct sn_mark *m, double now); /* an anomaly that counts */
/* Nothing worth keeping. */
bool sn_card_forgotten(const struct sn_health *h, const struct sn_mark *mark,
		       double now);
void sn_card_drop(struct sn_health *h, uint32_t at);
static inline bool sn_card_marked(const struct sn_hcard *card)
{
	return card && card->mark && card->mark->state != SN_HEALTH_HEALTHY;
}

/* ---- healthrow.c ---- */
int sn_row_take(struct sn_health *h, struct sn_hcard *card, uint32_t metric,
		const struct sn_health_sample *sample, double now,
		struct sn_health_actions *actions, struct sn_err *err);
int sn_series_find(struct sn_health *h, struct sn_hcard *card, uint32_t metric,
		   uint32_t job, bool hint, double now, struct sn_series **ret,
		   struct sn_err *err);
/* Judge what need not be waited for any longer. */
int sn_rows_due(struct sn_health *h, struct sn_cohort *c, bool all, double now,
		struct sn_health_actions *actions, struct sn_err *err);
double sn_rows_next(const struct sn_health *h, const struct sn_cohort *c);
void sn_cohort_drop(struct sn_health *h, struct sn_cohort *c);

/* ---- healthjudge.c ---- */
/* Judge and leave the row to the caller. -ENOMEM: it was not judged. */
int sn_row_judge(struct sn_health *h, struct sn_cohort *c, const struct sn_row *row,
		 double now, struct sn_health_actions *actions, struct sn_err *err);

/* ---- healthdomain.c ---- */
struct sn_hdomain *sn_domain_get(struct sn_health *h, enum sn_health_domain domain,
				 uint32_t index); /* NULL: no memory */
struct sn_hdomain *sn_domain_peek(const struct sn_health *h,
				  enum sn_health_domain domain, uint32_t index);
/* Both of a domain that sn_domain_get() has made.
 * A row's median (high is bad), and whether too many of its cards are slow. Room
 * for two actions is reserved. Rows of hints neither degrade nor restore, and
 * leave the domain as it is: they make notes. */
void sn_domain_row(struct sn_health *h, struct sn_cohort *c, double median,
		   uint32_t slow_cards, uint32_t cards, bool mass, double now,
		   struct sn_health_actions *actions);
/* A unit's median excess in a row; room for one action is reserved. */
void sn_domain_unit(struct sn_health *h, struct sn_cohort *c, uint32_t unit,
		    double excess, uint32_t cards, double now,
		    struct sn_health_actions *actions);
void sn_domains_due(struct sn_health *h, double now,
		    struct sn_health_actions *actions); /* room for all degraded */
uint32_t sn_domains_degraded(const struct sn_health *h);

#endif
