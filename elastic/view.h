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

struct sn_view_node {
	char *name, *address, *host, *extra; /* never NULL */
	uint32_t state; /* NODE_STATE_* */
	uint64_t cards; /* configured, as bits */
};

struct sn_view_nodes {
	uint32_t users; /* atomic */
	uint32_t n;
	struct sn_view_node *node; /* in Slurm's order */
	uint32_t *by_name; /* sorted */
};

struct sn_view_job {
	uint32_t id, uid;
	uint32_t state; /* JOB_* */
	bool running; /* holds nodes */
	uint32_t n_nodes;
	uint32_t *node; /* of sn_view_nodes, Slurm's order */
	uint64_t *cards; /* bits, of each */
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

/* The state between two loads, of the loading thread. */
struct sn_view_since {
	time_t nodes, jobs;
	uint32_t n_nodes;
};

/* What has changed since the last call (0: nothing was loaded): *ret is NULL where
 * nothing has. card_gres: what a card is. -EIO: slurmctld does not tell. */
int sn_view_load_nodes(struct sn_view_since *since, const char *card_gres,
		       struct sn_view_nodes **ret, struct sn_err *err);
int sn_view_load_jobs(struct sn_view_since *since, const char *card_gres,
		      struct sn_view_jobs **ret, struct sn_err *err);

/* For tests: tables of n, to be filled in by the caller, then sealed. */
struct sn_view_nodes *sn_view_nodes_new(uint32_t n);
int sn_view_nodes_seal(struct sn_view_nodes *nodes);
struct sn_view_jobs *sn_view_jobs_new(uint32_t n);

#endif
