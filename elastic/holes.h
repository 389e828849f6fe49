/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holes.h - what Slurm leaves undone for jobs with --parallel, found in the views.
 * Pure.
 *
 *	The batch host of a running job is lost (--no-kill): no script is there any
 *	more, and the job would stay till its time limit. REQUEUE.
 *	A member whose base has ended or was requeued; one that pends at once, one that
 *	runs when the base has let go of its own nodes. CANCEL.
 *	A requeued job that has let go of its nodes, waits two minutes for nothing, or
 *	must have a node (-w) that is gone. START. Not one that is held, and not one
 *	that waits because its user has said so (--begin).
 *	slurmctld was killed before it had saved that it started a job, started it once
 *	more on nodes that had it still, and holds it now as its launch has failed.
 *	RELEASE, twice in a job's life. Long after slurmctld's start a failed launch is
 *	something else, which people are to look at: it drains nodes.
 *
 * ElasticPolicy's off leaves an account's jobs alone, no-requeue those that have lost
 * their batch host.
 *
 * A node that is set down and comes back is none of these: see SN_ACT_NODE_OUT.
 */
#ifndef SN_ELASTIC_HOLES_H
#define SN_ELASTIC_HOLES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "elastic/act.h"
#include "elastic/view.h"
#include "topology/elasticpolicy.h"
#include "topology/err.h"

/* Is it a job with --parallel, as its admin_comment, which users cannot set, says? */
bool sn_holes_is_parallel(const char *options);
/* Does a pending job wait as it was requeued, and not because somebody wants it to?
 * requeue_wait: what slurmctld gives it, in seconds. */
bool sn_holes_is_requeue_wait(time_t submit, time_t begin, time_t now, uint32_t requeue_wait);
/* The first node of the hostlist that is gone, for sentences; false: all are there. */
bool sn_holes_gone(const struct sn_view_nodes *nodes, const char *required, char *ret,
		   size_t size);

#define SN_HOLES_RELEASES 2 /* of a job, in its life */
/* How long (s) after it was held a job with so many failed launches is released. */
uint32_t sn_holes_release_wait(uint32_t failures);

/* All that there are, by policy (NULL: everything is allowed): *ret (free), *ret_n. booted:
 * slurmctld; 0: not known. -ENOMEM. */
int sn_holes_find(const struct sn_view_nodes *nodes, const struct sn_view_jobs *jobs,
		  const struct sn_elastic_policy *policy, time_t now,
		  uint32_t requeue_wait, time_t booted, struct sn_act **ret, uint32_t *ret_n,
		  struct sn_err *err);

#endif
