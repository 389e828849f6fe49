/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.h - what Slurm says of the job that snrun runs in, and the site's files.
 */
#ifndef SN_LAUNCHER_JOB_H
#define SN_LAUNCHER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/plan.h"
#include "topology/err.h"
#include "topology/hostlist.h"
#include "topology/jobspec.h"
#include "topology/policy.h"
#include "topology/topo.h"

struct sn_job {
	uint32_t id;
	struct sn_topo *topo; /* with the job's nodes that are not in the file */
	struct sn_policy policy;
	bool has_spec; /* it has options of ours */
	struct sn_jobspec spec;
	uint32_t cpus;
	/* s since 1970; came (or was last requeued), could have run, runs; 0: not
	 * known */
	int64_t submitted, eligible, started;
	/* What it holds now, nodes in the order of Slurm's node table, which is
	 * also that of a step's list. */
	struct sn_plan_offer *offer;
	uint32_t n_nodes;
	char **text; /* names and addresses that offer points to */
	uint32_t *card;
};

/* topology.conf, supernode.conf and the job. -ESRCH there is no such job, or it
 * does not run; -EIO slurmctld does not answer; what the files say is wrong. */
int sn_job_load(uint32_t id, struct sn_job *ret, struct sn_err *err);
/* supernode.conf alone; what is wrong with it leaves the defaults. */
void sn_job_policy(struct sn_policy *ret);
void sn_job_done(struct sn_job *job);
/* Forget what it holds, but keep the rest. */
void sn_job_drop_offers(struct sn_job *job);

/* What it holds now, for the nodes and cards that it held when it was loaded. On
 * failure all stays. */
int sn_job_reload(struct sn_job *job, struct sn_err *err);

enum sn_job_phase { SN_JOB_PENDING, SN_JOB_RUNS, SN_JOB_ENDED };

struct sn_jobview {
	enum sn_job_phase phase;
	bool cancelled; /* ENDED: by scancel */
	uint32_t restarts; /* requeues so far */
	int64_t submitted; /* as struct sn_job's; 0: not known */
	bool preempted; /* RUNS, but only for its GraceTime */
	bool headless; /* RUNS, but its batch host is lost: no script is there */
	struct sn_names names; /* RUNS: its nodes */
};
/* How a job is, for polling; ENDED also where Slurm knows none any more. -EIO:
 * slurmctld does not say. */
int sn_job_look(uint32_t id, struct sn_jobview *ret, struct sn_err *err);

/* Only the names of its nodes at present. -ESRCH: it has ended. */
int sn_job_nodes(uint32_t id, struct sn_names *ret, struct sn_err *err);

/* The step that the srun of that process number has started, as seen from this
 * host. -ENOENT: there is none (yet, or any more). */
int sn_job_find_step(uint32_t id, uint32_t srun_pid, const char *host,
		     uint32_t *ret_step);
int sn_job_signal_step(uint32_t id, uint32_t step, int sig);

#endif
