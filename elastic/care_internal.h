/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * care_internal.h - the parts of care among themselves: careworld.c, nodes and what is
 * free; carejob.c, one job and what it has lost; care.c, whom to decide for;
 * caredecide.c, what is to be done.
 */
#ifndef SN_ELASTIC_CARE_INTERNAL_H
#define SN_ELASTIC_CARE_INTERNAL_H

#include "elastic/care.h"
#include "topology/jobspec.h"
#include "topology/sizes.h"

#define CARE_LOSSES 8 /* of a node that are kept */
#define CARE_LATE 3600 /* s that a loss counts as one of late */

/* ---- careworld.c: nodes, by their number in the table ---- */

struct care_node {
	uint32_t topo; /* SN_NONE: none of the topology's */
	bool lost, silent;
	bool failing; /* ranks should leave it: state=fail, or it comes and goes */
	uint32_t times; /* lost of late */
	uint64_t suspect, sick, gone; /* cards */
	uint32_t loss[CARE_LOSSES]; /* s, the latest first; 0: none */
};

struct care_world {
	uint64_t numbering;
	bool numbered;
	struct care_node *node;
	uint32_t n;
	uint32_t *supernode_left; /* [topo->n_supernodes] nodes that are not lost */
	/* Made when somebody needs it; for one look. */
	bool has_room;
	uint32_t *spare_nodes; /* [n_supernodes] free whole nodes */
	uint32_t *free_cards; /* [n_supernodes] for members, without SpareNodes */
	uint32_t wanted; /* the highest priority of jobs that wait for cards */
};

void care_world_done(struct care_world *w);
/* The nodes as they are now; *ret_renumbered where numbers are others than before. */
int care_world_see(struct care_world *w, const struct sn_care_conf *conf,
		   const struct sn_care_eyes *eyes, bool *ret_renumbered, struct sn_err *err);
int care_world_room(struct care_world *w, const struct sn_care_eyes *eyes, struct sn_err *err);

/* ---- carejob.c: a job ---- */

struct care_at { /* a node that it has ranks on, or could have */
	uint32_t node; /* of the table */
	uint32_t domain; /* of the job's */
	uint32_t ranks, first; /* first: the lowest rank */
	uint64_t cards; /* that the ranks are on */
	bool spare;
};

struct care_name { char node[72]; uint32_t card; }; /* of a failure; SN_NONE */
struct care_took { uint32_t supernode, spare_nodes, cards; };

struct care_job {
	uint32_t id, uid, restarts;
	struct sn_view_ours *ours; /* counted */
	const struct sn_view_job *is; /* of the table of this look */
	bool good; /* its options could be read */
	struct sn_jobspec spec;
	struct sn_sizes sizes;
	/* Where it is, as its snrun said at `heard`. */
	bool placed, attached;
	int64_t heard;
	const struct sn_view_hold *hold; /* compared only */
	struct care_at *at;
	uint32_t n_at, max_at;
	uint32_t *supernode; /* [n_domains] that it is in */
	uint32_t n_domains;
	/* What it has lost, and what was decided about it. */
	struct sn_failure *failure;
	struct care_name *name; /* the same number */
	uint32_t n_failures, max_failures;
	enum sn_attach_phase phase; /* for sn_care_phase() alone */
	uint64_t stands; /* the key of those to decide for */
	uint64_t key; /* of the failures decided for; 0: none stand */
	uint64_t ignored; /* the last key that was */
	uint64_t number;
	enum sn_care_how how;
	enum sn_means means;
	double decided; /* s */
	int64_t due; /* ms: decide again if nothing has come of it; INT64_MAX */
	uint32_t tries;
	uint32_t can; /* means that were possible, as bits */
	uint32_t refused; /* that snrun has refused for these failures */
	bool at_once; /* another instead, without waiting */
	bool stuck; /* its snrun was, when it was decided for */
	bool comes; /* its snrun had members that waited */
	char node[64]; /* what it was about */
	struct { uint32_t node; uint64_t cards; } told[16];
	uint32_t n_told;
	struct care_took took[SN_CARE_ORDERS * 2];
	uint32_t n_took;
	bool puzzled;
	struct sn_care_past *past; /* [SN_CARE_PAST]; NULL: none */
	uint32_t n_past, decisions;
};

void care_job_free(struct care_job *job); /* NULL is fine */
/* Its options, if they are others than before. */
void care_job_take(struct care_job *job, const struct sn_view_job *is);
/* Is it hit by anything? ret_key 0: no. Else job->failure has what. */
int care_job_failures(struct care_job *job, const struct care_world *w,
		      const struct sn_care_eyes *eyes, const struct sn_attach *attach,
		      uint64_t *ret_key, struct sn_err *err);
/* [job->n_domains] (free) for the ladder. */
int care_job_domains(const struct care_job *job, const struct care_world *w,
		     const struct sn_care_eyes *eyes, struct sn_ladder_domain **ret,
		     struct sn_err *err);
/* < 0: no checkpoint in memory. */
double care_since_memory(const struct sn_attach *attach, const struct sn_care_eyes *eyes);
double care_since_safe(const struct care_job *job, const struct sn_attach *attach,
		       const struct sn_care_eyes *eyes);

/* ---- care.c: all of them ---- */

struct sn_care {
	struct care_world world;
	struct sn_view_jobs *jobs; /* counted: the table that job is of */
	struct care_job **job; /* by id */
	uint32_t n;
	uint64_t numbers; /* of decisions */
	int64_t next;
	/* Of this look. */
	const struct sn_care_conf *conf;
	const struct sn_care_eyes *eyes;
	const struct sn_care_calls *calls;
	uint32_t *hit; /* jobs to decide for */
	uint32_t n_hit, max_hit;
};

void care_puzzled(struct sn_care *care, struct care_job *job, const char *why);
int64_t care_retry_ms(const struct care_job *job); /* longer each time */
/* Means that come to the same order to snrun as this one, with it, as bits; 0: to none. */
uint32_t care_same_order(enum sn_means means);

/* ---- caredecide.c: what is to be done about job->failure ---- */

int care_decide(struct sn_care *care, struct care_job *job, struct sn_err *err);

#endif
