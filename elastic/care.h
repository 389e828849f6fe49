/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * care.h - which running jobs with a layout have lost something, and what to do for
 * them: from the tables of nodes and jobs, the health engine's marks and what the
 * jobs' snruns say, by the ladder (topology/ladder.h). No Slurm, no I/O; caredo.c
 * carries it out.
 *
 * A job is decided for once for each set of failures that stand: when the set has
 * changed, when its snrun refused the order (at once, by the next means that comes to
 * another order; where there is none, again a while later, and later each time), or when an order or a repair of snrun's own has come to nothing for long.
 * What snrun has dealt with already, as its ranks are elsewhere, is no failure. Jobs
 * that one thing hits are decided for in the order of their priority, each with what
 * the ones before left.
 *
 * A look costs a glance at each job of ours and each node; only jobs that are hit cost
 * more.
 */
#ifndef SN_ELASTIC_CARE_H
#define SN_ELASTIC_CARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elastic/attach.h"
#include "elastic/view.h"
#include "launcher/control.h"
#include "topology/elasticpolicy.h"
#include "topology/health.h"
#include "topology/ladder.h"
#include "topology/topo.h"

struct sn_care_conf { /* of supernode.conf */
	struct sn_ladder_costs costs;
	struct sn_elastic_policy policy;
	bool members; /* elastic jobs get nodes by member jobs */
	double order_wait; /* s that an order may take till it shows */
};

/* What there is to be seen; borrowed for one look. */
struct sn_care_eyes {
	const struct sn_topo *topo;
	const struct sn_view_nodes *nodes;
	const struct sn_view_jobs *jobs;
	/* Changes when topo or the numbers of nodes in the table are others. */
	uint64_t numbering;
	const struct sn_health_action *mark; /* sn_health_wanted() */
	size_t n_marks;
	const uint32_t *gone; /* of nodes; slurmctld may not know it yet */
	size_t n_gone;
	const struct sn_attach *(*attach)(void *arg, uint32_t job);
	void *arg;
	double now; /* s since 1970 */
	int64_t ms; /* of the monotonic clock */
};

enum sn_care_how {
	SN_CARE_NOTHING, /* there is nothing to be done */
	SN_CARE_ALONE, /* snrun does it by itself */
	SN_CARE_TELL, /* orders to snrun */
	SN_CARE_REQUEUE, /* by the daemon, as there is no snrun */
};

#define SN_CARE_ORDERS 4 /* in one decision; the next come with the next */

struct sn_care_decision {
	uint32_t job, restarts, uid;
	uint64_t number; /* of the decision; for sn_care_told() */
	const struct sn_ladder_plan *plan;
	enum sn_care_how how;
	struct sn_control order[SN_CARE_ORDERS];
	uint32_t n_orders;
	char node[64]; /* the gravest failure's, or a supernode's; "" */
	uint32_t card; /* SN_NONE */
	bool again; /* the same failures as before, and the same means */
};

/* A failure is over: the job's ranks are where nothing is wrong. */
struct sn_care_relief {
	uint32_t job;
	char node[64];
	enum sn_means means;
	double seconds; /* since it was decided */
	uint32_t generation, dp; /* now */
};

struct sn_care_calls {
	void (*decided)(void *arg, const struct sn_care_decision *decision);
	void (*relieved)(void *arg, const struct sn_care_relief *relief);
	/* A job of ours that cannot be decided for, and why; once for each. */
	void (*puzzled)(void *arg, uint32_t job, const char *why);
	void *arg;
};

struct sn_care;
int sn_care_create(struct sn_care **ret, struct sn_err *err);
void sn_care_destroy(struct sn_care *care); /* NULL is fine */

/* -ENOMEM: it is incomplete; once more at the next. */
int sn_care_look(struct sn_care *care, const struct sn_care_conf *conf,
		 const struct sn_care_eyes *eyes, const struct sn_care_calls *calls,
		 struct sn_err *err);
/* When (ms) to look again even if nothing changes; INT64_MAX: not. */
int64_t sn_care_next(const struct sn_care *care);
/* Do failures of the job stand? */
bool sn_care_waits(const struct sn_care *care, uint32_t job);
/* What its ranks do now; returns what they did when this was last asked. */
enum sn_attach_phase sn_care_phase(struct sn_care *care, uint32_t job, enum sn_attach_phase now);
/* What came of the orders of a decision: rc as attach_tell()'s. */
void sn_care_told(struct sn_care *care, uint32_t job, uint64_t number, int rc, int64_t ms);

/* ---- looking in ---- */

#define SN_CARE_PAST 8

struct sn_care_past { /* a decision */
	double at;
	enum sn_means means;
	enum sn_care_how how;
	char why[SN_LADDER_WHY];
};

struct sn_care_row {
	uint32_t job, uid;
	const char *account;
	bool elastic, off; /* off: by ElasticPolicy */
	uint32_t dp, min, want, max; /* dp: as submitted where there is no snrun */
	const struct sn_attach *attach; /* NULL: it has never been heard of */
	double since_safe; /* < 0: not known */
	uint32_t failures; /* that stand */
	const struct sn_care_past *past; /* the latest first */
	uint32_t n_past, decisions; /* decisions: all so far */
};
/* Each running job with a layout, by id; as of the last look. eyes: for attach. */
void sn_care_each(const struct sn_care *care, const struct sn_care_conf *conf,
		  const struct sn_care_eyes *eyes,
		  void (*fn)(void *arg, const struct sn_care_row *row), void *arg);

#endif
