/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - one snapshot of a running cluster, through libslurm's public API.
 */
#ifndef SNCTL_LIVE_H
#define SNCTL_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "topology/err.h"
#include "topology/joblost.h"
#include "topology/jobspec.h"
#include "topology/place.h"
#include "topology/policy.h"
#include "topology/poolleft.h"
#include "topology/topo.h"

struct live_node {
	const node_info_t *info; /* NULL: Slurm does not know it */
	uint64_t cards; /* configured, bit c = card c */
	uint64_t used; /* by jobs, as slurmctld counts */
	uint64_t counted; /* so many are in use, it says, and not which; else 0 */
	uint64_t masked; /* no job that starts gets them */
	uint32_t cpus_free;
	bool up; /* takes new work now or once it is powered up */
	bool silent; /* not up only as slurmctld does not hear, or has not yet heard, of it */
	bool late; /* powered down or rebooting */
	bool taken; /* by another part of the job that is looked at */
};

/* What a running job holds of one supernode's pool. */
struct live_share {
	uint32_t supernode;
	struct sn_poolleft_share share;
};

/* A job that holds cards or wants some. */
struct live_job {
	const slurm_job_info_t *info;
	bool running; /* holds nodes */
	bool has_spec; /* its options are known */
	struct sn_jobspec spec;
	char symbol; /* in pictures, running jobs only */
	uint32_t *node; /* [n_nodes], numbers of the model */
	uint64_t *node_cards; /* [n_nodes], bits of the cards it holds there */
	bool *spare; /* [n_nodes] no rank runs there; NULL: none is */
	uint32_t n_nodes, n_spares;
	uint32_t cards; /* of spares, too */
	struct live_share *pool; /* [n_pool] supernodes that it is in */
	uint32_t n_pool;
	struct sn_joblost lost; /* nodes it began with and has no more */
};

struct live {
	char *config; /* the topology.conf that was read */
	struct sn_policy policy;
	struct sn_topo *topo; /* with a loose node for each that is not in the file */
	struct live_node *node; /* [topo->n_nodes] */
	uint32_t most_cards; /* of any node */
	uint32_t cards; /* the commonest number of cards, for tp_within */
	struct live_job *job; /* in order of job id; running and pending ones */
	uint32_t n_jobs;
	node_info_msg_t *nodes;
	job_info_msg_t *jobs;
	partition_info_msg_t *partitions;
};

/* config NULL: beside slurm.conf. Owned by the caller (live_done). */
int live_load(const char *config, struct live *ret, struct sn_err *err);
void live_done(struct live *live);

/* Fill job->spare of a running job with spares; read_jobs() does. */
int live_find_spares(const struct live *live, struct live_job *job,
		     struct sn_err *err);
/* The nodes of supernode s that are held back as SpareNodes now, as a hostlist (free);
 * NULL: none. */
char *live_held_nodes(const struct live *live, uint32_t s);
/* Fill job->pool and job->lost of a running job; read_jobs() does. */
int live_find_pool(const struct live *live, struct live_job *job,
		   struct sn_err *err);

/* What the engine would see for a job; *ret_node [topo->n_nodes] and
 * *ret_supernode [topo->n_supernodes] are owned by the caller (free). */
int live_state(const struct live *live, struct sn_place_node **ret_node,
	       struct sn_place_supernode **ret_supernode, struct sn_err *err);

uint64_t live_free(const struct live_node *node);
/* node->masked, from its record; read_node() does. */
void live_read_masks(struct live_node *node);
/* node->used of nodes with cards that are counted only, from the jobs. */
void live_find_used(struct live *live);
/* The cards that the job holds on node n of the model. */
uint64_t live_job_cards(const struct live_job *job, uint32_t n);
/* The job that holds that card, or NULL. */
const struct live_job *live_card_job(const struct live *live, uint32_t n,
				     uint64_t bit);
void live_free_conf(slurm_conf_t *conf);
const char *live_state_word(const struct live_node *node);

/* job's options from its record; false if it has none of ours. */
bool live_jobspec(const slurm_job_info_t *info, uint32_t cards,
		  struct sn_jobspec *ret);

/* The most nodes with ranks that a --parallel job may have: its -N, which Slurm
 * shows with room for spares. 0: no bound is known. */
uint32_t live_most_nodes(const struct live *live, const struct live_job *job);

/* What the engine is asked for: by --parallel, else by --gres and the like.
 * False: it asks for no cards. */
bool live_request(const struct live *live, const struct live_job *job,
		  struct sn_place_request *ret);

/* Pool memory and bandwidth that a running job takes from supernode s. */
void live_pool_use(const struct live_job *job, uint32_t s, uint64_t *ret_bytes,
		   uint64_t *ret_bandwidth);
/* PoolMemory of supernode s without the parts of nodes that are gone. */
uint64_t live_pool_memory(const struct live *live, uint32_t s);
/* What the pools have left, [n_supernodes]; without the jobs that are gone[n_jobs]
 * (NULL: none). */
void live_pools(const struct live *live, const bool *gone,
		struct sn_place_supernode *ret);

#endif
