/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.h - what snelasticd knows of the nodes and jobs of the cluster.
 *
 * Loaded through libslurm's public API, in a thread; slurmctld is asked only for
 * what has changed since. The tables are immutable and counted, so that threads
 * and the loop share them without locks.
 */
#ifndef SN_ELASTIC_VIEW_H
#define SN_ELASTIC_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "topology/err.h"

struct sn_view_text;
struct sn_view_node {
	const char *name, *address, *host, *extra; /* never NULL once it is set */
	struct sn_view_text *text; /* where they are; of all tables that have the same */
	uint32_t state; /* NODE_STATE_* */
	/* What of it matters, in words. */
	bool down; /* gone: nothing runs there */
	bool silent; /* slurmd does not respond at present */
	bool drained; /* state=drain */
	bool unkilled; /* by slurmd, as what a step had started did not end when it was killed */
	bool failing; /* state=fail: an administrator expects it to fail */
	bool closed; /* it takes no new work, for whatever reason */
	uint16_t port; /* slurmd's; 0: not known */
	uint64_t cards; /* configured, as bits */
};

struct sn_view_nodes {
	uint32_t users; /* atomic */
	uint32_t n;
	struct sn_view_node *node; /* in Slurm's order */
	uint32_t *by_name; /* sorted */
	/* The most cards of a node, those from SN_CARDS_MAX on too, and which it is. */
	uint64_t most_cards;
	uint32_t most_at;
};

/*
 * What is known of a job with options of ours, and of a member job (docs/elastic.md),
 * and of no other: there may be thousands of those. Immutable, counted, and shared
 * by tables for as long as nothing of it changes.
 */
struct sn_view_ours {
	uint32_t users; /* atomic */
	/* Never NULL. */
	char *account, *user, *partition, *comment;
	char *options; /* its admin_comment: topology/jobcomment.h */
	char *batch_host; /* "": it has none, or does not run */
	char *required; /* nodes that it must have (-w) */
	bool batch, requeue; /* it has a script; it may be requeued */
	bool bound; /* not any node would do for it: -w, -x, features, a reservation, or a
		     * partition without all nodes */
	uint32_t member_of, member_restarts; /* of its base, as its comment says; 0: no member */
	uint32_t restarts; /* requeues so far */
	uint32_t priority, reason; /* reason: enum job_state_reason, while it pends */
	/* Held by slurmctld itself, as so many launches of it have failed; else 0. */
	uint32_t launch_failures;
	uint32_t time_limit; /* minutes; INFINITE, NO_VAL */
	time_t submit, begin, start, end; /* begin: not before it, while it pends */
};

struct sn_view_job {
	uint32_t id, uid;
	uint32_t state; /* JOB_* */
	bool running; /* holds nodes */
	uint32_t priority; /* while it pends; 0: held */
	bool pending, completing; /* both: requeued, and not all of it has ended */
	uint32_t n_nodes;
	uint32_t *node; /* of sn_view_nodes, Slurm's order */
	uint64_t *cards; /* bits, of each */
	struct sn_view_hold *hold; /* where they are; of all tables that have the same */
	struct sn_view_ours *ours; /* NULL: it is none of ours */
};

struct sn_view_jobs {
	uint32_t users;
	uint32_t n;
	struct sn_view_job *job; /* by id */
};

struct sn_view_nodes *sn_view_nodes_use(struct sn_view_nodes *nodes); /* NULL is fine */
void sn_view_nodes_free(struct sn_view_nodes *nodes); /* the same */
struct sn_view_jobs *sn_view_jobs_use(struct sn_view_jobs *jobs);
void sn_view_jobs_free(struct sn_view_jobs *jobs);

/* NULL: there is none. */
const struct sn_view_node *sn_view_node(const struct sn_view_nodes *nodes, const char *name);
const struct sn_view_job *sn_view_job(const struct sn_view_jobs *jobs, uint32_t id);
/* The bits of the cards that a job holds on a node. */
uint64_t sn_view_job_cards(const struct sn_view_nodes *nodes, const struct sn_view_job *job,
			   const char *node);

/* A member's comment is SN_VIEW_MEMBER "BASE:RESTARTS". 0: it is none. */
#define SN_VIEW_MEMBER "supernode:member="
uint32_t sn_view_member_of(const char *comment, uint32_t *ret_restarts);
/* Of a job that pends, by what slurmctld says of it; held_user: its reason is
 * WAIT_HELD_USER. */
uint32_t sn_view_launch_failures(uint32_t priority, bool held_user, const char *state_desc,
				 uint32_t batch_flag);
struct sn_view_ours *sn_view_ours_use(struct sn_view_ours *ours); /* NULL is fine */
void sn_view_ours_free(struct sn_view_ours *ours); /* the same */

/* The state between two loads, of the loading thread. */
struct sn_view_since {
	time_t nodes, jobs, partitions;
	char whole[1024]; /* partitions that have all nodes, " a b ", as far as they go */
	uint32_t n_nodes;
	uint32_t requeue_wait; /* s that slurmctld has a requeued job wait for nothing; 0: it
				* does not, or it is not known yet */
	time_t booted; /* slurmctld; 0: it is not known yet */
	int64_t requeue_wait_at; /* ms, when it was asked for; 0: it was not */
};

/*
 * What has changed since the last call (0: nothing was loaded): *ret is NULL where
 * nothing has. old: the table before, NULL: none; slurmctld sends all of a table when
 * anything of it has changed, and what is as it was is not made anew. card_gres: what
 * a card is. -EIO: slurmctld does not tell.
 */
int sn_view_load_nodes(struct sn_view_since *since, const char *card_gres,
		       const struct sn_view_nodes *old, struct sn_view_nodes **ret,
		       struct sn_err *err);
int sn_view_load_jobs(struct sn_view_since *since, const char *card_gres,
		      const struct sn_view_jobs *old, struct sn_view_jobs **ret,
		      struct sn_err *err);

/* How long slurmctld has a requeued job wait, and since when it runs; asked for now and
 * then, and when a job's launch has failed. */
void sn_view_load_requeue_wait(struct sn_view_since *since, int64_t now_ms);

/* To make tables: of n, to be filled in by the caller, then sealed. -ENOMEM. */
struct sn_view_nodes *sn_view_nodes_new(uint32_t n);
/* The texts; those of `old` (may be NULL) if they are the same. */
int sn_view_node_set(struct sn_view_node *node, const char *name, const char *address,
		     const char *host, const char *extra, const struct sn_view_node *old);
int sn_view_nodes_seal(struct sn_view_nodes *nodes);
struct sn_view_jobs *sn_view_jobs_new(uint32_t n);
/* Room for n nodes, zeroed. mark: what they were made from, as a hash. */
int sn_view_job_hold(struct sn_view_job *job, uint32_t n, uint64_t mark);
/* The nodes of old, if they were made from the same. */
bool sn_view_job_same(struct sn_view_job *job, const struct sn_view_job *old, uint64_t mark);
void sn_view_jobs_seal(struct sn_view_jobs *jobs); /* in any order before it */

#endif
