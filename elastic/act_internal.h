/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act_internal.h - the parts of act*.c among themselves.
 *
 *	act.c		the way of an action
 *	actlist.c	those that are not ended
 *	actkeep.c	its lines in the journal
 *	actfollow.c	holes in the views, and what has ended of late
 *	actslurm.c	what Slurm is asked and told; in a thread; actregion.c: of regions
 *	acttext.c	words
 */
#ifndef SN_ELASTIC_ACT_INTERNAL_H
#define SN_ELASTIC_ACT_INTERNAL_H

#include "elastic/act.h"
#include "elastic/daemon.h"
#include "elastic/journal.h"
#include "topology/elasticpolicy.h"

enum act_state {
	ACT_WANTED, /* to be journalled */
	ACT_BEGUN, /* in the journal, to be done */
	ACT_HELD, /* in the journal, and done only when act_let() says so */
	ACT_DOING, /* a thread has it, or the job's snrun */
	ACT_ENDED, /* its end is to be journalled */
	ACT_PARKED, /* of an earlier daemon, and this one is in dry-run */
};

struct act_entry {
	struct sn_act act;
	enum act_state state;
	bool keeping; /* the disk's thread has its line */
	bool taken_up; /* from an earlier daemon */
	bool told; /* that it waits */
	uint32_t tries;
	int64_t next_try, since; /* ms */
	enum sn_act_end end;
	char text[SN_ACT_WHY];
	struct sn_request *request; /* answered when it is begun */
	struct sn_act_watch watch;
	struct act_entry *next, *prev; /* by id */
	struct act_entry *other; /* of the same bucket */
};

/* One that has ended of late. */
struct act_recent {
	struct sn_act act;
	uint32_t other; /* of the same bucket, and 1 more; 0: none */
	enum sn_act_end end;
	uint32_t times; /* in a row */
	int64_t at, not_before; /* ms */
};

/* Thousands of holes may be there at once, and are found again at each look. */
#define ACT_BUCKETS 4096u /* by kind, and job or node */

struct sn_acts {
	struct act_entry *first, *last; /* by id */
	struct act_entry *bucket[ACT_BUCKETS];
	uint32_t n;
	uint64_t next_id;
	bool ready; /* the journal has been read */
	bool running; /* Slurm's thread has one */
	bool busy; /* act_go_on() */
	struct sn_timer *timer;
	int64_t wake_at; /* 0: off */

	/* actkeep.c */
	struct sn_journal journal; /* of the disk's thread while keeping */
	bool keeping, anew; /* anew: the file is to be written as a whole */
	bool loading;
	uint32_t failures; /* to write it, in a row */
	int64_t keep_at; /* ms, not before */

	/* actfollow.c */
	struct act_recent *recent;
	uint32_t n_recent, max_recent;
	uint32_t recent_bucket[ACT_BUCKETS]; /* the first of it, and 1 more; 0: none */
	bool looked, holes; /* at the views; there were some */
	struct sn_elastic_policy policy; /* of policy_text */
	char policy_text[SN_POLICY_TEXT_MAX];
};

/* act.c */
void act_go_on(struct sn_daemon *d);
void act_wake(struct sn_daemon *d, int64_t in_ms);
int64_t act_retry_in(uint32_t tries);
void act_finish(struct sn_daemon *d, struct act_entry *e, enum sn_act_end end, const char *text);
void act_begun(struct sn_daemon *d, struct act_entry *e); /* it is in the journal */

/* actlist.c */
void act_forget(struct sn_acts *a, struct act_entry *e);
void act_settled(struct sn_daemon *d, struct act_entry *e); /* its end is in the journal */
struct act_entry *act_add(struct sn_acts *a, const struct sn_act *act, enum act_state state);
struct act_entry *act_of(struct sn_acts *a, uint64_t id);
uint32_t act_bucket(const struct sn_act *act); /* of all that are the same */

/* actkeep.c: write what is to be written. */
void act_keep(struct sn_daemon *d);
void act_load(struct sn_daemon *d); /* read it, once in charge */

/* actfollow.c */
void act_recent_add(struct sn_acts *a, const struct sn_act *act, enum sn_act_end end);
/* Not again yet: it has just ended, or after what was seen (ms), or was refused. */
bool act_recent_wait(const struct sn_acts *a, const struct sn_act *act, int64_t seen);

#endif
